"""How processes end: told to by signals, real ones."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

_CLEANING = """
import signal, sys, time
from pathlib import Path
from tempfile import TemporaryDirectory
from orbitile.workers.processes import Terminated, ended_in_order
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
