"""Temporary folders: for their user alone, and gone with their process, however that ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from orbitile.workers import Worker, environment, pack, shared_array

pytestmark = pytest.mark.linux

PROGRAM = """
import os, sys, time
from orbitile.base.temporary import own_folder
from orbitile.workers import Worker
from tests.workers import jobs
worker = Worker("the worker")
worker.call(jobs.leave_a_file)
(own_folder() / "copy").write_text("of a file")
print(worker.process_id, flush=True)
if sys.argv[1] == "waits":
    time.sleep(60)
elif sys.argv[1] == "exits":
    os._exit(0)
"""


def started(how, tmp_path):
    command = [sys.executable, "-c", PROGRAM, how]
    settings = {**environment(), "TMPDIR": str(tmp_path)}
    return subprocess.Popen(command, env=settings, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])


def left_in(folder, seconds=10.0):
    until = time.monotonic() + seconds
    while (found := os.listdir(folder)) and time.monotonic() < until:
        time.sleep(0.05)
    return found


@pytest.mark.parametrize("how", ["ends", "exits", "waits"])
def test_nothing_is_left_of_a_process(how, tmp_path):
    with started(how, tmp_path) as process:
        assert process.stdout.readline()
        if how == "waits":
            process.kill()
    assert left_in(tmp_path) == []


def test_what_is_left_is_removed_by_the_next_one(tmp_path):
    with started("waits", tmp_path) as process, started("waits", tmp_path) as living:
        worker = int(process.stdout.readline())
        living.stdout.readline()
        os.killpg(worker, signal.SIGKILL)  # with its guard
        process.kill()
        process.wait()
        (tmp_path / "orbitile-of-somebody").mkdir()
        (tmp_path / "orbitile-link").symlink_to(tmp_path / "orbitile-of-somebody")
        assert len(os.listdir(tmp_path)) == 4
        for folder in tmp_path.iterdir():
            os.utime(folder, (0, 0))
        with started("ends", tmp_path) as last:
            assert last.stdout.readline()
        assert len(os.listdir(tmp_path)) == 3
        living.kill()
    until = time.monotonic() + 10
    while len(os.listdir(tmp_path)) > 2 and time.monotonic() < until:
        time.sleep(0.05)
    assert set(os.listdir(tmp_path)) == {"orbitile-of-somebody", "orbitile-link"}


def test_what_lies_about_is_for_its_user_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("orbitile.base.temporary._own", None)
    monkeypatch.setattr("orbitile.base.temporary._held", -1)
    before = os.umask(0)
    try:
        worker = Worker("the worker")
        worker.call(os.getpid)
        folders = [path.stat().st_mode & 0o777 for path in tmp_path.rglob("*") if path.is_dir()]
        packed, memory = pack(np.zeros(1 << 17))
        assert packed.segment is not None
        with shared_array((1000,), "f8"):
            segments = [path for path in Path("/dev/shm").glob("orbitile*") if path.stat().st_uid == os.getuid()]
            assert packed.segment.name in {path.name for path in segments}
            modes = {path.stat().st_mode & 0o777 for path in segments}
        packed.remove()
        del memory
        worker.end()
    finally:
        os.umask(before)
    assert modes == {0o600}
    assert folders == [0o700, 0o700]
