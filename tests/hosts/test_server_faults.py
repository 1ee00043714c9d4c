"""The server without room on the disk, without memory, without its worker: it says so, lives, and is right again."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tests.hosts.test_server import Server
from tests.soak.measuring import command_line, descendants

pytestmark = [pytest.mark.linux, pytest.mark.slow]

BENZENE = str(files("orbitile") / "data" / "benzene.molden")
WATER = str(SAMPLES / "h2o_sto3g.fchk")


@contextmanager
def limited(process: int, what: int, n_bytes: int) -> Iterator[None]:
    """A limit of a process that runs, lifted again."""
    before = resource.prlimit(process, what, (n_bytes, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        resource.prlimit(process, what, before)


def address_space(process: int) -> int:
    return int(Path(f"/proc/{process}/statm").read_text().split()[0]) * resource.getpagesize()


def left(server: Server) -> list[str]:
    """What nobody was told of in the folder of the server."""
    return [name for name in os.listdir(server.folder) if name.startswith(".")]


@pytest.fixture(scope="module")
def server():
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONDONTWRITEBYTECODE", "1")  # else Python keeps the first part of what it compiles
        one = Server()
    one.ask("orb_load", [BENZENE])
    yield one
    one.close()


@pytest.fixture
def volume(server):
    """What the HOMO is; any fault is to leave the next one as it was."""

    def asked():
        events, answer = server.ask("orb_mo", ["benzene", "homo", 0.05, "coarse"], objects=["benzene"])
        assert answer["value"] == "benzene_homo"
        return Path(events["volume"]["file"]).read_bytes()

    expected = asked()
    yield expected
    assert asked() == expected
    assert left(server) == []


def test_a_full_disk_under_a_volume(server, volume):
    with limited(server.process.pid, resource.RLIMIT_FSIZE, 1000):
        _, answer = server.ask("orb_mo", ["benzene", "lumo", 0.05, "coarse"], objects=["benzene"])
    assert "cannot be written" in answer["error"]


def test_a_full_disk_under_a_molecule(server, volume):
    with limited(server.process.pid, resource.RLIMIT_FSIZE, 10):
        _, answer = server.ask("orb_load", [WATER, "water"], objects=["benzene"])
    assert "cannot be written" in answer["error"]
    events, answer = server.ask("orb_load", [WATER, "water"], objects=["benzene"])
    assert (answer["value"], events["molecule"]["name"]) == ("water", "water")


@pytest.mark.parametrize("command", ["orb_export", "orb_picture", "orb_film", "orb_charges", "orb_path"])
def test_a_full_disk_under_what_is_saved(server, volume, tmp_path, command):
    """The file that was there stays, and nothing beside it."""
    suffix = {"orb_picture": "png", "orb_film": "gif", "orb_charges": "csv", "orb_path": "h5"}.get(command, "cube")
    path = tmp_path / f"a.{suffix}"
    if command == "orb_charges":
        arguments = ["benzene", "mulliken", "", str(path)]
    elif command == "orb_film":
        arguments = [str(path), "64", "48", "10", "90", "3"]
    else:
        arguments = [str(path)]
    if command == "orb_path":
        server.ask("orb_load", [WATER, "wet"], objects=["benzene"])
        server.ask("orb_live", ["wet"], objects=["benzene", "wet"])
        server.ask("orb_settle")
    else:
        path.write_text("what was there")
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    server.ask("orb_mo", ["benzene", "homo", 0.05, "coarse"], objects=["benzene", "benzene_homo", "wet"])
    with limited(server.process.pid, resource.RLIMIT_FSIZE, 20):
        events, answer = server.ask(command, arguments)
        if command == "orb_film":  # drawn in the background, by a process that has this limit from its beginning
            while not (events.get("message") or {"text": ""})["text"].startswith(str(path)):
                event = server.read()
                events = {event["event"]: event}
            answer = {"error": events["message"]["text"]}
    for child in children(server.process.pid):  # they have the limit from their beginning
        os.kill(child, signal.SIGKILL)
    if command == "orb_path":
        server.ask("orb_live")
    assert "error" in answer, answer
    assert "internal error" not in answer["error"]
    assert "\n" not in answer["error"]
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_no_memory_is_left(server, volume):
    server.ask("orb_load", [BENZENE, "fresh"], objects=["benzene"])
    process = server.process.pid
    for room in (1 << 20, 8 << 20, 24 << 20):
        with limited(process, resource.RLIMIT_AS, address_space(process) + room):
            _, answer = server.ask("orb_mo", ["fresh", "density", 0.01, "fine"], objects=["benzene", "fresh"])
        if "error" in answer:
            assert "memory" in answer["error"]
            assert "internal error" not in answer["error"]


def test_the_process_that_draws_is_killed(server, volume, tmp_path):
    """While it draws, and while it has nothing to do: the next picture is drawn by another one."""
    path = tmp_path / "a.png"
    shown = ["benzene", "benzene_homo"]
    server.ask("orb_mo", ["benzene", "homo", 0.05, "coarse"], objects=["benzene"])
    assert server.ask("orb_picture", [str(path), "80", "60"], objects=shown)[1]["value"] == str(path)
    expected = path.read_bytes()
    (drawer,) = children(server.process.pid)
    os.kill(drawer, signal.SIGKILL)
    assert server.ask("orb_picture", [str(path), "80", "60"], objects=shown)[1]["value"] == str(path)
    (drawer,) = children(server.process.pid)
    os.kill(drawer, signal.SIGSTOP)  # so that it is there when it is killed
    server.write(
        b'{"id": "killed", "command": "orb_picture", "arguments": ["%s", "2000", "1500"]}\n' % str(path).encode()
    )
    time.sleep(0.3)
    os.kill(drawer, signal.SIGKILL)
    while "event" in (answer := server.read()):
        pass
    assert answer["id"] == "killed"
    assert "signal 9" in answer.get("error", "signal 9")  # or another one has drawn it: it had not begun
    assert server.ask("orb_picture", [str(path), "80", "60"], objects=shown)[1]["value"] == str(path)
    assert path.read_bytes() == expected
    assert os.listdir(tmp_path) == ["a.png"]


def children(process: int) -> list[int]:
    """Workers of a process."""
    return [found for found in descendants(process) if "orbitile.workers" in command_line(found)]
