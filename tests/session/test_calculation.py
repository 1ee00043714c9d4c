"""Orbitals computed in a process of their own: cancelled, taken up, refused."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyscf", reason="PySCF (extra scf) is not installed")
pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")

from orbitile.base.errors import Cancelled, OrbitileError
from orbitile.readers.series import SeriesFrames
from orbitile.scf.calculation import Calculation
from orbitile.session.calculation import RunningCalculation

WATER = np.array([8, 1, 1])


def waters(n):
    """A stretched water molecule, in bohr."""
    shape = np.array([[0, 0, 0], [0, 1.43, 1.1], [0, -1.43, 1.1]])
    return np.array([shape * r for r in np.linspace(1, 1.2, n)])


def ended(calculation, seconds=60):
    end = time.monotonic() + seconds
    while calculation.running():
        assert time.monotonic() < end
        time.sleep(0.02)
    return calculation.finish()


def process_of(calculation):
    end = time.monotonic() + 60
    while calculation.process_id is None:
        assert time.monotonic() < end
        time.sleep(0.02)
    return calculation.process_id


@pytest.mark.slow
def test_cancelled_and_taken_up(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    target = tmp_path / "water.h5"
    settings = Calculation("hf", "cc-pvdz")
    first = RunningCalculation("water", WATER, waters(40), settings, target)
    end = time.monotonic() + 60
    while first.done < 2:
        assert time.monotonic() < end
        time.sleep(0.02)
    first.cancel()
    assert not first.running()
    with pytest.raises(Cancelled):
        first.finish()
    kept = first.done
    assert 2 <= kept < 40
    second = RunningCalculation("water", WATER, waters(40), settings, target)
    assert second.done >= kept  # what is there stays
    assert ended(second) == ""
    assert second.done == 40


@pytest.mark.slow
def test_it_computes_what_it_is_told(tmp_path):
    settings = Calculation("rohf", "6-31g*", 1, 1, cartesian=True)
    assert ended(RunningCalculation("cation", WATER, waters(1), settings, tmp_path / "cation.h5")) == ""
    series = SeriesFrames(tmp_path / "cation.h5")
    assert series.settings == str(settings)
    assert (series.read(0).kind, series.read(0).n_basis) == ("restricted open-shell", 19)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (Calculation("hf", "none-such"), "basis set"),
        (Calculation("gibberish", "sto-3g"), "functional that PySCF knows"),
    ],
)
def test_refused_in_one_line(tmp_path, settings, words):
    calculation = RunningCalculation("water", WATER, waters(1), settings, tmp_path / "water.h5")
    with pytest.raises(OrbitileError, match=words) as refused:
        ended(calculation)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "water.h5").exists()


@pytest.mark.linux
def test_cancelled_where_it_stands_still(tmp_path):
    calculation = RunningCalculation("water", WATER, waters(40), Calculation("hf", "cc-pvdz"), tmp_path / "water.h5")
    os.kill(process_of(calculation), signal.SIGSTOP)
    begin = time.monotonic()
    calculation.cancel()
    assert time.monotonic() - begin < 2
    assert not calculation.running()
    with pytest.raises(Cancelled):
        calculation.finish()


_HOST = """
import sys, time
from pathlib import Path
from tests.session.test_calculation import WATER, waters
from orbitile.scf.calculation import Calculation
from orbitile.session.calculation import RunningCalculation
one = RunningCalculation("water", WATER, waters(400), Calculation("hf", "cc-pvdz"), Path(sys.argv[1]))
while one.done < 1:
    time.sleep(0.05)
print(one.process_id, flush=True)
time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.linux
@pytest.mark.parametrize("both", [False, True])
def test_it_ends_with_a_host_that_is_killed(tmp_path, both):
    target = tmp_path / "water.h5"
    with subprocess.Popen([sys.executable, "-c", _HOST, str(target)], stdout=subprocess.PIPE, text=True) as host:
        number = host.stdout.readline().strip()
        process = Path("/proc", number)
        assert process.exists()
        if both:
            os.kill(int(number), signal.SIGKILL)
        host.kill()
    until = time.monotonic() + 4  # 1.5 s, and what a busy machine takes
    while process.exists() and time.monotonic() < until:
        time.sleep(0.02)
    assert not process.exists()
    assert len(SeriesFrames(target)) >= 1
