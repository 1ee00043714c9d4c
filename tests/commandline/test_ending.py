"""How processes end: told to by signals, real ones."""

import contextlib
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from orbitile.commandline._console import ended_in_order
from tests.conftest import SAMPLES

_CLEANING = """
import signal, sys, time
from pathlib import Path
from tempfile import TemporaryDirectory
from orbitile.commandline._console import Terminated, ended_in_order
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests may run where it is ignored
for name in sys.argv[1:]:
    signal.signal(signal.Signals[name], signal.SIG_IGN)
try:
    with ended_in_order(), TemporaryDirectory() as folder:
        try:
            print(folder, flush=True)
            time.sleep(20)
        finally:
            print("cleaning up", flush=True)
            time.sleep(0.1)
except Terminated as error:
    sys.exit(error.status)
"""


def started(*ignored: str) -> tuple[subprocess.Popen, Path]:
    command = [sys.executable, "-c", _CLEANING, *ignored]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return process, Path(process.stdout.readline().strip())


@pytest.mark.linux
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("ignored", [(), ("SIGINT",)])
def test_signals_clean_up(number, ignored):
    process, folder = started(*ignored)
    assert folder.is_dir()
    process.send_signal(number)
    assert process.stdout.readline() == "cleaning up\n"
    for one in (signal.SIGTERM, signal.SIGHUP):  # as a terminal does that is closed
        process.send_signal(one)
    _, err = process.communicate(timeout=20)
    assert not folder.exists()
    assert process.returncode == 128 + number, err
    assert err == ""


@pytest.mark.linux
def test_what_is_ignored_stays_so():
    process, folder = started("SIGHUP")
    process.send_signal(signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.2)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    assert process.returncode == 128 + signal.SIGTERM
    assert not folder.exists()


@pytest.fixture
def heeding_ctrl_c():
    """As at a terminal: what a shell starts in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeding_ctrl_c")
def test_ctrl_c_that_an_import_has_made_something_else_of():
    def interrupted_import():
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise ImportError("numpy.core.multiarray failed to import")

    with pytest.raises(KeyboardInterrupt), ended_in_order():
        interrupted_import()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


_ALL_CLOSED = "<&- >&- 2>&-"


@pytest.mark.linux
@pytest.mark.parametrize(
    ("command", "closed"),
    [
        *(("info water.fchk", closed) for closed in ("<&-", ">&-", "2>&-", _ALL_CLOSED)),
        *((command, _ALL_CLOSED) for command in ("render water.fchk homo --size 40x30 -o a.png", "serve")),
    ],
)
def test_streams_that_are_closed(command, closed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copy(SAMPLES / "h2o_sto3g.fchk", "water.fchk")
    line = f"{shlex.quote(sys.executable)} -m orbitile {command} </dev/null {closed}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout or ">&-" in closed.replace("2>&-", "") or "<&- >&-" in closed
    assert (tmp_path / "a.png").exists() or "render" not in command
