"""The server, as a process of its own, spoken to as a viewer does."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from importlib.resources import files
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.ndimage import map_coordinates

import orbitile as ob
from orbitile.base.errors import OrbitileError
from orbitile.hosts.server.requests import restore, state
from orbitile.hosts.server.viewer import ServedViewer
from orbitile.model.units import angstrom, electronvolt
from orbitile.session import commands
from orbitile.session.commands import COMMANDS
from orbitile.session.seen import picture_of
from orbitile.session.session import Session
from tests.conftest import SAMPLES
from tests.hosts.conftest import N
from tests.hosts.test_schema import hold
from tests.soak.measuring import descendants, prefixes_of

BENZENE = str(files("orbitile") / "data" / "benzene.molden")


class Server:
    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "orbitile", "serve"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "ORBITILE_DEVICE": "cpu"},
        )
        self.ready = self.read()
        self.folder = Path(self.ready["folder"])
        self.number = 0

    def read(self):
        line = self.process.stdout.readline()
        assert line, "the server has ended"
        message = json.loads(line)
        hold(message)
        return message

    def write(self, line: bytes):
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def ask(self, command, arguments=(), **more):
        """Messages up to the answer, and the answer."""
        self.number += 1
        how = "named" if isinstance(arguments, dict) else "arguments"
        request = {"id": self.number, "command": command, how: arguments, **more}
        self.write(json.dumps(request).encode() + b"\n")
        events = []
        while "event" in (message := self.read()):
            events.append(message)
        assert message.pop("id") == self.number
        return {event["event"]: event for event in events}, message

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            self.process.wait(timeout=60)
        self.process.stdout.close()


def read_plt(path):
    """A volume, from the layout of the format as gOpenMol describes it."""
    data = Path(path).read_bytes()
    (rank, _, *shape), ends = np.frombuffer(data, "<i4", 5), np.frombuffer(data, "<f4", 6, 20).reshape(3, 2)[::-1]
    assert rank == 3
    values = np.frombuffer(data, "<f4", -1, 44).reshape(shape)  # z, y, x
    low, high = ends.astype(float).T * angstrom
    axes = np.diag((high - low) / (np.array(shape[::-1]) - 1))
    return ob.Volume(np.ascontiguousarray(values.T), ob.Lattice(low, axes, tuple(map(int, shape[::-1]))))


@pytest.fixture(scope="module")
def server():
    one = Server()
    yield one
    one.close()


def test_it_says_which_commands_there_are(server):
    told = {command["name"]: command for command in server.ready["commands"]}
    assert list(told) == [command.name for command in COMMANDS]
    assert [argument["name"] for argument in told["orb_mo"]["arguments"]] == ["name", "orbital", "isovalue", "quality"]
    assert [argument["name"] for argument in told["orb_load"]["arguments"] if argument["required"]] == ["filename"]


def test_a_volume_holds_the_orbital_where_it_says(server):
    events, answer = server.ask("orb_load", [BENZENE])
    assert answer["value"] == "benzene"
    xyz = np.loadtxt(events["molecule"]["file"], skiprows=2, usecols=(1, 2, 3))
    wavefunction = ob.load(BENZENE)
    assert xyz == pytest.approx(wavefunction.positions / angstrom, abs=1e-6)
    events, answer = server.ask("orb_mo", {"orbital": "lumo", "quality": "coarse"}, objects=["benzene"])
    assert answer["value"] == "benzene_lumo"
    assert events["surface"]["name"] == events["volume"]["name"] == "benzene_lumo"
    volume = read_plt(events["volume"]["file"])
    expected = ob.evaluate(wavefunction, "lumo", volume.lattice.points()[::97], device="cpu")
    assert volume.values.ravel()[::97] == pytest.approx(expected, abs=1e-5)
    assert np.abs(volume.values).max() > events["surface"]["isovalue"]


@pytest.mark.slow
def test_the_colours_of_a_surface_come_as_a_second_volume(server):
    server.ask("orb_load", [BENZENE])
    arguments = ["benzene", "density", 0.001, "coarse", "esp"]
    events, _ = server.ask("orb_field", arguments, objects=["benzene"])
    density, shades = read_plt(events["volume"]["file"]), read_plt(events["surface"]["shades"])
    assert events["surface"]["phases"] == [1]
    scale = events["surface"]["scale"]
    surface = ob.isosurface(density, 0.001)
    centres = surface.vertices[surface.faces].mean(axis=1)[::11].astype(float)
    expected = ob.evaluate(ob.load(BENZENE), "esp", centres, device="cpu")
    place = (centres - shades.lattice.origin) / np.diag(shades.lattice.axes)
    found = map_coordinates(shades.values, place.T, order=1)
    assert np.abs(found - expected).max() < 0.03 * (scale["high"] - scale["low"])


def test_a_volume_that_the_viewer_has_is_not_sent_again(server):
    server.ask("orb_load", [BENZENE])
    events, _ = server.ask("orb_mo", {"quality": "coarse"}, objects=["benzene"])
    assert events["volume"]["file"]
    events, _ = server.ask("orb_iso", [0.07], objects=["benzene", "benzene_homo"])
    assert events["surface"]["isovalue"] == 0.07
    assert events["volume"]["file"] is None
    server.ask("orb_device", objects=["benzene"])  # the user has deleted it
    events, _ = server.ask("orb_mo", {"quality": "coarse"}, objects=["benzene"])
    assert events["volume"]["file"]


def test_the_table_of_orbitals(server):
    server.ask("orb_load", [BENZENE])
    _, answer = server.ask("orbitals", ["benzene"], objects=["benzene"])
    wavefunction = ob.load(BENZENE)
    columns, rows = answer["value"]["columns"], answer["value"]["rows"]
    assert len(rows) == len(wavefunction.alpha)
    assert (rows[20]["field"], rows[20]["kind"]) == ("mo:21", "frontier")
    cells = dict(zip([column["what"] for column in columns], rows[20]["cells"], strict=True))
    assert (cells["number"], cells["mark"], cells["occupation"]) == ("21", "HOMO", "2")
    assert float(cells["energy"]) * electronvolt == pytest.approx(wavefunction.alpha.energies[20], abs=2e-5)
    _, answer = server.ask("orbitals", ["benzene", "hartree", "homo..lumo"])
    rows = answer["value"]["rows"]
    assert [row["field"] for row in rows] == ["mo:21", "mo:22"]
    assert float(rows[0]["cells"][1]) == pytest.approx(wavefunction.alpha.energies[20], abs=1e-5)
    _, answer = server.ask("orbitals", ["benzene", "furlong"])
    assert "expected eV or hartree" in answer["error"]


def test_what_a_later_event_adds_or_removes_is_not_taken_for_the_users_deed(tmp_path):
    """A request may have been written before the viewer has read what was told last."""
    events = []
    host = ServedViewer(events.append, tmp_path)
    session = Session(host)
    commands.orb_load.run(session, [BENZENE])
    seen = len(events)
    name = commands.orb_mo.run(session, ["benzene"], {"quality": "coarse"}).value
    host.set_there({"benzene"}, seen)
    assert host.objects() == {"benzene", name}
    host.set_there({"benzene", name}, len(events))
    session.shelf.remove(name)
    host.set_there({"benzene", name}, len(events) - 1)
    assert host.objects() == {"benzene"}
    host.set_there(set(), len(events))
    assert host.objects() == set()


def test_what_the_user_hides_is_known_and_what_is_set_aside_comes_back(tmp_path):
    events = []
    host = ServedViewer(events.append, tmp_path)
    session = Session(host)
    commands.orb_load.run(session, [BENZENE])
    name = commands.orb_mo.run(session, ["benzene"], {"quality": "coarse"}).value
    host.set_hidden({name}, len(events))
    assert "hidden" in commands.orb_surfaces.run(session).text
    commands.orb_unhide.run(session)
    assert events[-1] == {"event": "visible", "name": name, "visible": True}
    host.set_hidden({name}, len(events) - 1)  # written before the viewer had read that
    assert host.hidden({name: "benzene"}) == set()
    host.set_aside("benzene", [name])
    assert host.hidden({name: "benzene"}) == {name}
    host.set_hidden({name}, len(events))  # the user shows the molecule
    assert [(event["name"], event["visible"]) for event in events[-2:]] == [("benzene", True), (name, True)]


def test_pictures_are_seen_from_where_the_user_looks(tmp_path):
    host = ServedViewer(lambda event: None, tmp_path)
    session = Session(host)
    commands.orb_load.run(session, [BENZENE])
    host.set_directions([0, 1.0003, 0, 0, 0, 1, 1, 0, 0])
    picture, _ = picture_of(session, (40, 30), "", legend=False)
    assert np.allclose(picture.camera.rotation, [[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    for wrong in ([0.0] * 9, [1.0] * 3, [0, 1, 0, 1, 0, 0, 0, 0, 1], [float("nan")] * 9):
        with pytest.raises(OrbitileError, match="directions: expected"):
            host.set_directions(wrong)


@pytest.mark.slow
def test_a_state_is_restored_by_another_server():
    first, second = Server(), Server()
    try:
        first.ask("orb_load", [BENZENE])
        before, _ = first.ask("orb_mo", {"quality": "coarse", "isovalue": 0.04}, objects=["benzene"])
        _, answer = first.ask("state", objects=["benzene", "benzene_homo"])
        after, restored = second.ask("restore", [answer["value"]])
        assert restored["value"] is None
        assert after["molecule"]["name"] == "benzene"
        for part in ("name", "isovalue", "colours", "transparency"):
            assert after["surface"][part] == before["surface"][part]
        assert Path(after["volume"]["file"]).read_bytes() == Path(before["volume"]["file"]).read_bytes()
    finally:
        first.close()
        second.close()


@pytest.mark.parametrize(
    "state",
    [
        "",
        "3",
        "{}",
        '{"molecules": 3, "shown": {}, "hidden": []}',
        '{"molecules": {}, "shown": {}, "hidden": 3}',
        '{"molecules": {"a": 3}, "shown": {}}',
        '{"molecules": {}, "shown": {"a": {"molecule": "b"}}}',
        '{"molecules": {}, "shown": {"a": {"molecule": "b", "request": {"x": 1}, "isovalue": 1, "colours": [[], []]}}}',
    ],
)
def test_what_is_no_state_is_refused(server, state):
    events, answer = server.ask("restore", [state])
    assert events == {}
    assert "expected what `state` returned" in answer["error"]


def test_what_the_viewer_has_lost_is_known(server):
    server.ask("orb_load", [BENZENE])
    server.ask("orb_mo", {"quality": "coarse"}, objects=["benzene"])
    _, answer = server.ask("orb_next", objects=["benzene"])
    assert "no orbital is shown" in answer["error"]
    _, answer = server.ask("orb_mo", objects=[])
    assert "orb_load" in answer["error"]


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense\n",
        b"[1, 2]\n",
        b"\xff\xfe\n",
        b'{"command": 3}\n',
        b'{"command": orb_mo}\n',
        b'{"id": 1.5, "command": "orb_mo"}\n',
        b'{"command": "' + b"x" * (1 << 20) + b'"}\n',
        b'{"command": "orb_mo", "arguments": 3}\n',
        b'{"command": "orb_mo", "named": []}\n',
        b'{"command": "orb_mo", "objects": [3]}\n',
        b'{"command": "orb_mo", "hidden": "all"}\n',
        b'{"command": "orb_mo", "seen": 1.5}\n',
        b'{"id": [], "command": "orb_mo"}\n',
        b'{"token": "", "command": "orb_mo"}\n',
        b'{"positions": [[0, 0, 0]]}\n',
        b'{"positions": {"water": [[0, 0, 1e400]]}}\n',
        b'{"dragging": 1}\n',
        b'{"command": "orb_iso", "arguments": [' + b"9" * 5000 + b"]}\n",
        b"[" * 100_000 + b"\n",
        b'"' + b"x" * (3 << 20) + b'"\n',
    ],
)
def test_what_is_no_request_is_answered_and_the_next_one_served(server, line):
    """With its id, where that can be read: whoever asked waits for it."""
    lines = [(line, None)]
    if line.startswith(b"{") and b'"id"' not in line:
        lines += [(b'{"id": 7, ' + line[1:], 7), (line[:-2] + b', "id": "window"}\n', "window")]
        if (
            b"9999" in line or b": orb" in line or len(line) > 1 << 20
        ):  # no JSON at all: its beginning alone can be read
            lines.pop()
    for one, expected in lines:
        server.write(one)
        answer = server.read()
        assert answer["id"] == expected
        assert "expected" in answer["error"]
        assert len(answer["error"]) < 400
    _, answer = server.ask("orb_device")
    assert answer["value"] == "cpu"


@pytest.mark.parametrize(
    ("command", "arguments", "words"),
    [
        ("orb_nothing", [], "command: expected one of"),
        ("orb_mo", {"colour": "blue"}, "'colour' is unknown"),
        ("orb_mo", [1, 2, 3, 4, 5], "takes 4 arguments"),
        ("orb_iso", [], "isovalue: expected float, got nothing"),
        ("orb_iso", [1e400], "positive number"),
        ("orb_iso", [10**400], "expected a number"),
        ("orb_iso", [True], "expected a number"),
        ("orb_iso", [{}], "expected a number"),
        ("orb_load", [None], "filename: expected text"),
        ("orb_load", ["a\0b"], "text of one line"),
        ("orb_load", ["\ud800"], "not Unicode"),
        ("orb_load", ["~nobodyatall/x"], "home folder"),
        ("orb_load", ["x" * 100_000], "x"),
        ("orb_color", ["", "", 2], "from 0 to 1"),
    ],
)
def test_wrong_arguments_are_refused(server, command, arguments, words):
    events, answer = server.ask(command, arguments)
    assert events == {}
    assert words in answer["error"]
    assert "internal error" not in answer["error"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from([command.name for command in COMMANDS if command.name not in ("orb_export", "orb_load")])


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    command=names | st.sampled_from(["orbitals", "state", "restore", "frame", "atoms"]) | st.text(max_size=8),
    arguments=st.lists(values, max_size=5) | values,
    named=st.dictionaries(st.text(max_size=5) | st.just("name"), values, max_size=2) | values,
    objects=st.none() | values,
    positions=st.just({}) | st.dictionaries(st.text(max_size=5), values, max_size=2),
)
def test_whatever_is_asked_gets_one_answer(server, command, arguments, named, objects, positions):
    request = {"id": 7, "command": command, "arguments": arguments, "named": named, "objects": objects}
    request["positions"] = positions
    server.write(json.dumps(request).encode() + b"\n")
    while "event" in (answer := server.read()):
        pass
    assert answer["id"] == 7
    assert ("error" in answer) != ("text" in answer)
    assert "internal error" not in answer.get("error", "")


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(line=st.binary(max_size=60).map(lambda data: data.replace(b"\n", b" ")).filter(lambda data: data.strip()))
def test_whatever_bytes_come_get_one_answer(server, line):
    server.write(line + b"\n")
    assert server.read()["id"] is None


def test_a_computation_can_be_cancelled(server):
    server.ask("orb_load", [BENZENE])
    request = {
        "id": "slow",
        "command": "orb_field",
        "arguments": ["benzene", "esp", 0.02, "fine"],
        "objects": ["benzene"],
    }
    server.write(json.dumps(request).encode() + b"\n")
    answers = []
    n_stops = 0
    while "slow" not in (answer["id"] for answer in answers) or len(answers) < n_stops + 1:
        if "slow" not in (answer["id"] for answer in answers):
            server.write(b'{"id": "stop", "command": "orb_cancel"}\n')
            n_stops += 1
            time.sleep(0.05)
        while "event" in (message := server.read()):
            pass
        answers.append(message)
    assert {"id": "slow", "error": "cancelled"} in answers
    assert server.ask("orb_device")[1]["value"] == "cpu"


def film(series):
    """A server that shows an orbital of a trajectory, and what it said of it."""
    server = Server()
    server.ask("orb_load", [str(series)])
    events, _ = server.ask("orb_mo", {"quality": "coarse", "isovalue": 0.1}, objects=["water"])
    return server, events


def read_until(server, name, number=1):
    """Messages up to so many of one kind."""
    events = []
    while sum(event.get("event") == name for event in events) < number:
        events.append(server.read())
    return events


@pytest.mark.slow
def test_frames_come_unasked_each_with_its_surface_in_the_direction_of_play(series):
    server, events = film(series)
    try:
        assert (events["surface"]["frame"], events["surface"]["new"]) == (0, True)
        events = [event for event in read_until(server, "volume", N - 1) if "event" in event]
        surfaces, volumes = events[::2], events[1::2]
        assert [event["frame"] for event in surfaces] == [event["frame"] for event in volumes] == list(range(1, N))
        assert not any(event["new"] for event in surfaces)
        frames = ob.follow(ob.load_trajectory(series))
        for event in volumes:
            volume = read_plt(event["file"])
            expected = ob.evaluate(frames[event["frame"]], "mo:5", volume.lattice.points()[::97], device="cpu")
            assert volume.values.ravel()[::97] == pytest.approx(expected, abs=1e-5)
        server.ask("frame", ["water", "3"])
        events, _ = server.ask("orb_iso", [0.05])
        assert events["surface"]["frame"] == 3
        server.write(b'{"command": "frame", "arguments": ["water", "2"]}\n')  # backwards from here
        frames = [event["frame"] for event in read_until(server, "volume", N - 1) if event.get("event") == "volume"]
        assert sorted(frames) == [0, 1, 2, 4, 5]
        assert frames.index(2) <= 3  # those under way are finished first
        assert frames.index(2) < frames.index(1)
    finally:
        server.close()


@pytest.mark.slow
def test_playing_waits_until_the_viewer_has_gone_on(series):
    server, _ = film(series)
    try:
        read_until(server, "volume", N - 1)
        _, answer = server.ask("orb_play", [200])
        assert answer["value"] == "200"
        (told,) = (event for event in read_until(server, "frame") if event["event"] == "frame")
        assert (told["molecule"], told["frame"]) == ("water", 1)
        time.sleep(0.2)  # 40 frames
        events, _ = server.ask("orb_device")
        assert "frame" not in events
        server.ask("frame", ["water", "1"])
        assert read_until(server, "frame")[-1]["frame"] == 2
        server.ask("orb_play", [0])
        server.ask("frame", ["water", "2"])
        time.sleep(0.1)
        assert "frame" not in server.ask("orb_device")[0]
    finally:
        server.close()


@pytest.mark.slow
def test_what_the_viewer_deletes_is_computed_no_more(series):
    server, _ = film(series)
    try:
        server.ask("frame", ["water", "1"], objects=["water"])
        time.sleep(0.5)
        events, _ = server.ask("orb_device")
        assert "volume" not in events
        _, answer = server.ask("orb_play", [10])
        assert "no orbital of a trajectory" in answer["error"]
    finally:
        server.close()


@pytest.mark.parametrize("arguments", [[], ["nothing", "1"], ["benzene"], ["benzene", "-1"], ["benzene", "1", "2"]])
def test_a_frame_that_is_none_is_refused(server, arguments):
    server.ask("orb_load", [BENZENE])
    events, answer = server.ask("frame", arguments)
    assert events == {}
    assert "expected" in answer["error"]
    assert "internal error" not in answer["error"]


@pytest.mark.linux
@pytest.mark.parametrize(
    ("how", "computing"),
    [
        ("end of input", False),
        *(
            pytest.param(how, computing, marks=pytest.mark.slow)
            for how, computing in product(("end of input", "SIGTERM", "SIGHUP", "SIGINT"), (False, True))
            if (how, computing) != ("end of input", False)
        ),
    ],
)
def test_it_ends_with_its_viewer_and_leaves_nothing(how, computing):
    server = Server()
    server.ask("orb_load", [BENZENE])
    assert any(server.folder.iterdir())
    if computing:
        server.write(b'{"command": "orb_field", "arguments": ["benzene", "esp", 0.02, "fine"]}\n')
        while server.read().get("event") != "progress":
            pass
    if how != "end of input":
        server.process.send_signal(signal.Signals[how])
        server.process.wait(timeout=60)
    server.close()
    assert server.process.returncode == 0
    assert not server.folder.exists()


@pytest.mark.linux
@pytest.mark.slow
def test_the_worker_of_a_film_goes_with_it(series):
    server, _ = film(series)
    try:
        read_until(server, "volume")
        others = [Path("/proc", str(process)) for process in descendants(server.process.pid)]
        prefixes = tuple(prefixes_of(server.process.pid))
        assert prefixes  # of what the processes keep in shared memory

        def left() -> bool:
            return any(path.exists() for path in others) or any(
                name.startswith(prefixes) for name in os.listdir("/dev/shm")
            )

        server.process.send_signal(signal.SIGHUP)
        server.process.wait(timeout=60)
        until = time.monotonic() + 4
        while left() and time.monotonic() < until:
            time.sleep(0.02)
        assert not left()
    finally:
        server.close()


def test_it_ends_in_the_middle_of_a_computation():
    server = Server()
    server.ask("orb_load", [BENZENE])
    request = {"command": "orb_field", "arguments": ["benzene", "esp", 0.02, "fine"]}
    server.write(3 * (json.dumps(request).encode() + b"\n"))
    server.close()
    assert server.process.returncode == 0
    assert not server.folder.exists()


def test_a_file_that_changes_is_refused_until_it_is_opened_again(server, tmp_path):
    job = tmp_path / "job.molden"
    shutil.copy(SAMPLES / "nh3_molden_cart.molden", job)
    server.ask("orb_load", [str(job)], objects=[])
    server.ask("orb_mo", ["job", "homo", "", "coarse"])
    _, state = server.ask("state")
    shutil.copy(SAMPLES / "neon_turbomole_def2-qzvp.molden", job)
    events, answer = server.ask("orb_mo", ["job", "lumo", "", "coarse"])
    assert events == {}
    assert "has changed since it was loaded" in answer["error"]
    events, answer = server.ask("restore", [state["value"]])
    assert set(events) == {"message"}
    assert "job.molden has changed since this was saved" in events["message"]["text"]
    server.ask("orb_load", [str(job)], objects=[])
    second, _ = server.ask("orb_mo", ["job", "homo", "", "coarse"])
    volume = read_plt(second["volume"]["file"])
    expected = ob.evaluate(ob.load(job), "homo", volume.lattice.points()[::97], device="cpu")
    assert np.abs(volume.values.ravel()[::97] - expected).max() < 1e-5 * np.abs(expected).max() + 1e-5
    events, _ = server.ask("orb_load", [BENZENE], objects=["job_homo"])  # its molecule was deleted
    assert events["remove"]["name"] == "job_homo"


def _damaged(told, rng):
    """What `state` gave, with one part lost, replaced, or of another name."""
    told = json.loads(json.dumps(told))

    def parts(one):
        inside = one.items() if isinstance(one, dict) else enumerate(one) if isinstance(one, list) else ()
        for key, value in inside:
            yield one, key
            yield from parts(value)

    where, key = rng.choice(list(parts(told)))
    how = rng.randrange(4)
    if how == 0:
        del where[key]
    elif how == 1 and isinstance(where, dict):
        where["unknown"] = where.pop(key)
    else:
        odd = [None, True, -1, 1e400, float("nan"), "", "{", '{"files": []}', [], {}, [[0, 0, 0], [1, 1, 1]], 10**30]
        where[key] = rng.choice(odd)
    return json.dumps(told)


def test_damaged_states_are_refused_in_words(tmp_path, monkeypatch):
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    session = Session(ServedViewer(lambda message: None, tmp_path))
    commands.orb_load.run(session, [BENZENE])
    commands.orb_mo.run(session, ["benzene", "homo", "", "coarse"])
    commands.orb_field.run(session, ["benzene", "density", "0.05", "coarse", "esp"])
    told, rng, refused = json.loads(state(session)), random.Random(5), []
    for _ in range(150):
        other = Session(ServedViewer(lambda message: None, tmp_path))
        other.computing.samples = session.computing.samples
        other.computing.wavefunctions = session.computing.wavefunctions
        try:
            restore(other, _damaged(told, rng))
            commands.orb_iso.run(other, ["0.02"])
        except ob.OrbitileError as error:
            refused.append(str(error))
    assert len(refused) > 50
    assert not any("\n" in one for one in refused)
