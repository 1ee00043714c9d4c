"""Orbitals of a trajectory in rows: the same bits whoever computes them, and whoever is killed meanwhile."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future
from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import Cancelled, FileError, OrbitileError
from orbitile.model.units import angstrom
from orbitile.readers.series import SeriesFrames
from orbitile.scf import series
from orbitile.scf.calculation import Calculation, NotConverged
from orbitile.scf.engines import pyscf as engine
from orbitile.scf.series import compute_series, folder_of_parts
from orbitile.workers import WorkerEnded, local_workers
from tests.scf.test_scf import STO, write_water, written
from tests.soak.measuring import descendants
from tests.trajectories.test_series import assert_same

pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")


class Here(Executor):
    """Runs what is submitted in this process, at once; counts the calls of a function."""

    width = 2

    def __init__(self):
        self.calls = []

    def submit(self, function, /, *arguments, **keywords):
        self.calls.append(function.__name__)
        return self.run(function, arguments)

    def run(self, function, arguments):
        future = Future()
        try:
            future.set_result(function(*arguments))
        except OrbitileError as error:
            future.set_exception(error)
        return future


@pytest.fixture(autouse=True)
def one_thread():
    """As in workers: on several threads sums are in no order."""
    library = pytest.importorskip("pyscf.lib", reason="PySCF (extra scf) computes what is looked at here")
    n = library.num_threads()
    library.num_threads(1)
    yield
    library.num_threads(n)


@pytest.fixture
def geometries(tmp_path):
    return write_water(tmp_path / "water.xyz", 7)


@pytest.fixture
def solved(monkeypatch):
    """Which frames are computed, from 0; which do not converge."""
    original, found, broken = engine.solve, [], []

    def solve(geometry, *arguments, **keywords):
        found.append(round((geometry.positions[-1, 2] / (0.61 * angstrom) - 0.85) / 0.03))
        if found[-1] in broken:
            raise NotConverged("it oscillates")
        return original(geometry, *arguments, **keywords)

    monkeypatch.setattr(engine, "solve", solve)
    return found, broken


def numbers(path):
    frames = SeriesFrames(path)
    return [frames.number(index) for index in range(len(frames))]


def assert_same_series(one, other):
    assert numbers(one) == numbers(other)
    for a, b in zip(ob.load_trajectory(one), ob.load_trajectory(other), strict=True):
        assert_same(a, b)


def test_rows_are_those_of_the_whole_within_convergence(tmp_path, geometries, monkeypatch):
    """Whether frames come back one by one or all together, and in whatever order rows are done."""
    compute_series(geometries, whole := tmp_path / "whole.h5", STO)
    compute_series(geometries, tmp_path / "a.h5", STO, executor=(here := Here()), row=3)
    assert here.calls == ["chosen_engine", *3 * ["solve_stretch"]]
    monkeypatch.setattr(series, "_SECONDS", 0.0)
    compute_series(geometries, tmp_path / "b.h5", STO, executor=(here := Here()), row=3)
    assert here.calls == ["chosen_engine", *7 * ["solve_stretch"]]
    assert_same_series(tmp_path / "a.h5", tmp_path / "b.h5")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.h5", "b.h5", "water.xyz", "whole.h5"]
    pairs = list(zip(ob.load_trajectory(whole), ob.load_trajectory(tmp_path / "a.h5"), strict=True))
    for index, (a, b) in enumerate(pairs):
        np.testing.assert_allclose(a.alpha.energies, b.alpha.energies, atol=5e-5)
        assert index >= 3 or np.array_equal(a.alpha.energies, b.alpha.energies)  # the first row begins as the whole


@pytest.mark.slow
def test_rows_are_continued_and_nothing_else_is(tmp_path, geometries, solved):
    text = geometries.read_text().splitlines(keepends=True)
    geometries.write_text("".join(text[:20]))
    compute_series(geometries, series := tmp_path / "s.h5", STO, executor=Here(), row=3)
    geometries.write_text("".join(text))  # it has grown, in the middle of a row
    solved[0].clear()
    compute_series(geometries, series, STO, executor=Here())
    assert solved[0] == [4, 5, 6]
    compute_series(geometries, tmp_path / "t.h5", STO, executor=Here(), row=3)
    assert_same_series(series, tmp_path / "t.h5")
    with pytest.raises(FileError, match=r"other settings .*rows of 3 frames\), expected .*rows of 2 frames"):
        compute_series(geometries, series, STO, executor=Here(), row=2)
    compute_series(geometries, tmp_path / "one.h5", STO)
    with pytest.raises(FileError, match=r"other settings .*, expected .*rows of 32 frames"):
        compute_series(geometries, tmp_path / "one.h5", STO, executor=Here())
    with pytest.raises(OrbitileError, match="expected frames of a row, 1 or more, got 0"):
        compute_series(geometries, tmp_path / "none.h5", STO, row=0)


def test_frames_that_are_left_out(tmp_path, geometries, solved):
    """One does not converge, one has its atoms at one place, one has others: their row goes on without them."""
    lines = geometries.read_text().splitlines()
    solved[1].append(2)
    lines[3 * 5 + 4] = lines[3 * 5 + 3]
    lines[5 * 5 + 2] = lines[5 * 5 + 2].replace("O", "S")
    geometries.write_text("\n".join(lines) + "\n")
    told = []
    compute_series(geometries, tmp_path / "s.h5", STO, executor=Here(), row=3, report=told.append)
    assert numbers(tmp_path / "s.h5") == [0, 1, 4, 6]
    assert sorted(line.partition(":")[0] for line in told) == [f"frame {n} left out" for n in (3, 4, 6)]
    assert any("it oscillates" in line for line in told)


@pytest.mark.slow
def test_no_frame_at_all(tmp_path, geometries, solved):
    solved[1].extend(range(7))
    with pytest.raises(OrbitileError, match="no frame could be computed"):
        compute_series(geometries, tmp_path / "s.h5", STO, executor=Here(), row=3)
    assert [path.name for path in tmp_path.iterdir()] == ["water.xyz"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("atoms", "calculation"),
    [
        (("H 0 0 0",), Calculation("hf", "sto-3g", 0, 1)),
        (("O 0 0 0", "H 0 0 0.97"), Calculation("rohf", "sto-3g", 0, 1)),
        (("O 0 0 0", "H 0 0 0.97"), Calculation("hf", "sto-3g", -1)),
    ],
    ids=["atom", "radical", "anion"],
)
def test_rows_of_one_frame(tmp_path, atoms, calculation):
    path = written(tmp_path / "m.xyz", *atoms)
    path.write_text(path.read_text() * 2)
    one, other = compute_series(path, tmp_path / "m.h5", calculation, executor=Here(), row=1)
    assert one.n_unpaired == calculation.unpaired
    assert_same(one, replace(other, source=one.source))


class Deadly(Here):
    """Its processes end at some of the calls, counted from 1."""

    def __init__(self, *deaths):
        super().__init__()
        self.deaths = deaths

    def run(self, function, arguments):
        future = super().run(function, arguments)
        if len(self.calls) in self.deaths:
            future = Future()
            future.set_exception(WorkerEnded("worker 1 ended"))
        return future


@pytest.mark.slow
def test_what_was_done_when_a_process_ended_is_kept(tmp_path, geometries, solved, monkeypatch):
    compute_series(geometries, tmp_path / "s.h5", STO, executor=Here(), row=3)
    compute_series(geometries, tmp_path / "t.h5", STO, executor=(deadly := Deadly(3, 6)), row=3)
    assert_same_series(tmp_path / "s.h5", tmp_path / "t.h5")
    assert len(deadly.calls) > 4
    monkeypatch.setattr(series, "_SECONDS", 0.0)
    with pytest.raises(WorkerEnded, match=r"frame \d: worker 1 ended; the same call continues from there"):
        compute_series(geometries, tmp_path / "u.h5", STO, executor=Deadly(*range(5, 99)), row=3)
    parts = folder_of_parts(tmp_path / "u.h5")
    assert sorted(path.name for path in parts.glob("*.h5")) == [f"0000000{n}.h5" for n in (1, 4, 7)]
    with pytest.raises(FileError, match="holds frames that were computed with other settings"):
        compute_series(geometries, tmp_path / "u.h5", STO, executor=Here(), row=4)
    solved[0].clear()
    compute_series(geometries, tmp_path / "u.h5", STO, executor=Here())  # with the rows that were begun
    assert len(solved[0]) == 7 - 3
    assert_same_series(tmp_path / "s.h5", tmp_path / "u.h5")
    assert not parts.exists()


@pytest.mark.slow
def test_withdrawn_it_keeps_what_is_done(tmp_path, geometries, monkeypatch):
    monkeypatch.setattr(series, "_SECONDS", 0.0)
    shares = []
    with pytest.raises(Cancelled):
        compute_series(
            geometries, s := tmp_path / "s.h5", STO, executor=Here(), row=4, progress=shares.append,
            cancelled=lambda: len(shares) > 4,
        )  # fmt: skip
    done = sum(len(SeriesFrames(path)) for path in (s, *folder_of_parts(s).glob("*.h5")) if path.exists())
    assert 0 < done < 7
    compute_series(geometries, s, STO, executor=Here(), progress=shares.append)
    assert shares[-1] == 1
    assert numbers(s) == list(range(7))


def test_one_computes_at_a_time(tmp_path, geometries):
    class Second(Here):
        def run(self, function, arguments):
            with pytest.raises(FileError, match=r"s\.h5\.lock: another process is writing it"):
                compute_series(geometries, tmp_path / "s.h5", STO, executor=Here(), row=3)
            return super().run(function, arguments)

    compute_series(geometries, tmp_path / "s.h5", STO, executor=Second(), row=3)


# ---- processes that are killed

WORK = (
    "import sys; from orbitile.scf.calculation import *; from orbitile.scf.series import *; "
    "from orbitile.workers import local_workers; import orbitile.scf.series;"
    "orbitile.scf.series._SECONDS = 0.05\n"
    "with local_workers(int(sys.argv[3])) as workers: "
    "compute_series(sys.argv[1], sys.argv[2], Calculation('hf', '6-31g*'), executor=workers, row=5, "
    "progress=lambda share: print(share, flush=True))"
)


@pytest.mark.linux
@pytest.mark.slow
def test_kills_at_any_moment_change_nothing(tmp_path):
    """Workers and the process itself, again and again; the series is that of one worker left alone."""
    geometries = write_water(tmp_path / "water.xyz", 20)

    def run(name, n):
        arguments = [sys.executable, "-c", WORK, str(geometries), str(tmp_path / name), str(n)]
        return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)

    alone = run("alone.h5", 1)
    alone.communicate()
    assert alone.returncode == 0
    chance = random.Random(21)
    kills = done = 0
    for attempt in range(15):
        process = run("killed.h5", 2)
        begin, patience = time.monotonic(), 2 + chance.uniform(0, 3)
        while process.poll() is None and attempt < 10:
            time.sleep(chance.uniform(0.05, 0.8))
            if time.monotonic() - begin > patience:
                process.kill()
                kills += 1
            elif chance.random() < 0.3 and (workers := descendants(process.pid)):
                os.kill(chance.choice(workers), signal.SIGKILL)
                kills += 1
        shares = [float(line) for line in process.communicate()[0].split()]
        if shares:
            assert shares[0] > done  # nothing is begun again
            done = shares[-1]
        if process.returncode == 0:
            break
    assert process.returncode == 0
    assert kills > 2
    assert_same_series(tmp_path / "alone.h5", tmp_path / "killed.h5")
    assert not folder_of_parts(tmp_path / "killed.h5").exists()
    assert [path.name for path in tmp_path.glob(".orbitile-*")] == []


@pytest.mark.slow
def test_a_cluster_computes_the_same(tmp_path):
    distributed = pytest.importorskip("distributed", reason="the package distributed (extra cluster) is not installed")
    from orbitile.workers.dask import dask_executor

    geometries = write_water(tmp_path / "water.xyz", 12)
    with local_workers(2) as workers:
        compute_series(geometries, tmp_path / "a.h5", STO, executor=workers, row=4)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        dask_executor(client) as executor,
    ):
        compute_series(geometries, tmp_path / "b.h5", STO, executor=executor, row=4)
    assert_same_series(tmp_path / "a.h5", tmp_path / "b.h5")
