"""What a soak calls growth, and a short one of each viewer."""

import os
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from .measuring import Usage, descendants, trends, usage_of

pytestmark = pytest.mark.linux

LEVEL = Usage(300.0, 200.0, 40, 60, 12, 3, 1, 30, 70, 20, 400_000)


def test_growth_is_told_from_noise():
    rng = np.random.default_rng(1)
    commands = list(range(100, 10_001, 100))
    usages = [
        replace(
            LEVEL,
            memory=300 + 0.002 * done + rng.normal(),  # 2 MB in a thousand commands
            descendants_memory=200 + 20 * (done < 2000) + 5 * rng.normal(),  # a cache that has to fill
            handles=40 + int(rng.integers(0, 4)),
            descendants_handles=60 + done // 1000,
        )
        for done in commands
    ]
    found = {trend.quantity: trend for trend in trends(commands, usages)}
    assert {name for name, trend in found.items() if trend.grows} == {"memory", "descendants_handles"}
    assert found["memory"].slope == pytest.approx(2, abs=0.2)
    assert found["descendants_handles"].slope == pytest.approx(1, abs=0.1)


def test_what_processes_hold(tmp_path):
    def usage():
        return usage_of(os.getpid(), set(), tmp_path, tmp_path, 3, 5)

    shown = tmp_path / "shown"
    shown.write_bytes(b"y" * 40_000_000)
    child = f"""import mmap, os
held = [open(os.devnull) for _ in range(9)], b'x' * 10_000_000
shown = mmap.mmap(os.open({str(shown)!r}, os.O_RDONLY), 0, access=mmap.ACCESS_READ)
shown.find(b'z')  # all of it is in memory
print(flush=True)
input()"""
    before = usage()
    (tmp_path / "left").touch()
    with (
        open(os.devnull),
        subprocess.Popen([sys.executable, "-c", child], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process,
    ):
        process.stdout.readline()
        now = usage()
        assert process.pid in descendants(os.getpid())
        process.communicate(b"\n")
    assert now.processes == before.processes + 1
    assert now.temporary_files == before.temporary_files + 1
    assert now.handles == before.handles + 3  # the file, and the ends of two pipes
    assert now.descendants_handles >= before.descendants_handles + 12
    assert before.descendants_memory + 10 < now.descendants_memory < before.descendants_memory + 40
    assert now.objects == 3
    assert usage().processes == before.processes


def test_a_soak_that_is_killed_leaves_no_process(tmp_path):
    command = [sys.executable, "-m", "tests.soak", "1000", "--viewer", "server"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as soak:
        _until(lambda: [*tmp_path.glob("soak-*/tmp")])
        started = descendants(soak.pid)
        assert started
        soak.kill()
    _until(lambda: not any(os.path.exists(f"/proc/{process}") for process in started))


def _until(is_so, seconds=60.0):
    """Wait for something that another process does."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("viewer", ["pymol", "server"])
def test_a_short_one(viewer):
    """Nothing is refused that should not be, nothing is left behind, and the last request is right."""
    if viewer == "pymol":
        pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")
    pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")
    pytest.importorskip("pyscf", reason="PySCF (extra scf) is not installed")
    command = [sys.executable, "-m", "tests.soak", "60", "--viewer", viewer, "--seed", "3", "--every", "20"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "the next request: right" in done.stdout
