"""The geometries that a live molecule came through: back and back again, bounded, and written as a series."""

from __future__ import annotations

import threading

import numpy as np
import pytest

pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")

import orbitile as ob
from orbitile.base.errors import FileError, OrbitileError
from orbitile.exporters._series import SeriesWriter
from orbitile.session.live import path as live_path
from orbitile.session.live.order import Converged
from orbitile.session.live.path import LivePath
from orbitile.session.source import OneFile

NOWHERE = np.full((3, 3), 9.0)


@pytest.fixture
def path():
    made = LivePath()
    yield made
    made.close()


def reached(path: LivePath, x: float, energy: float = -1.0) -> Converged:
    """A geometry that has converged with its first atom at x, written as the process of the calculation does."""
    positions = np.array([[x, 0, 0], [0, 2, 0], [0, 0, 2]], float)
    shell = ob.Shell(0, 0, True, np.array([0.5]), np.array([1.0]))
    orbitals = ob.Orbitals(np.ones((1, 1)), np.array([2.0]), np.array([-0.5]))
    wavefunction = ob.Wavefunction(np.array([2, 1, 1]), positions, (shell,), orbitals)
    file = path.folder / f"{len(list(path.folder.iterdir()))}-{x}.series.h5"
    with SeriesWriter(file, settings="test", most=1) as writer:
        writer.append(wavefunction)
    found = Converged(positions, wavefunction, str(OneFile(str(file)).noted()), {}, energy, 3, 0.1)
    path.add(found)
    return found


def test_only_what_is_shown_stays_after_the_end(path):
    found = [reached(path, x) for x in (0.0, 0.5, 1.0)]
    path.close()
    assert path.clear({found[1].source, "elsewhere"})
    assert [str(file) for file in path.folder.iterdir()] == [OneFile.read(found[1].source).path]
    assert path.clear({found[1].source})
    assert not path.clear({"elsewhere"})
    assert not path.folder.exists()


def test_undo_after_undo_goes_back_to_the_beginning(path):
    first = reached(path, 0.0).positions
    for x in (0.5, 1.0, 1.5):
        found = reached(path, x)
        if x != 0.5:
            path.rest()
    visited, positions = [], found.positions
    while (before := path.before(positions)) is not None:
        path.go_back(before)
        visited.append(before.positions[0, 0])
        positions = before.positions.astype(np.float32).astype(float)  # as a viewer gives them
        path.add(Converged(positions, found.wavefunction, found.source, {}, -1.0, 1, 0.1))
        path.rest()
    assert visited == [1.0, 0.0]  # not where the atoms were only passing
    assert path.before(NOWHERE).is_at(first)
    assert len(path) == 6  # what was left is kept, in order of time


def test_from_somewhere_else_one_goes_to_the_last_rest(path):
    reached(path, 0.0)
    last = reached(path, 1.0)
    path.rest()
    assert path.before(NOWHERE).is_at(last.positions)
    path.go_back(path.before(NOWHERE))
    assert path.before(last.positions).positions[0, 0] == 0.0


def test_nothing_to_go_back_to(path):
    assert path.before(NOWHERE) is None
    found = reached(path, 0.0)
    assert path.before(found.positions) is None


def test_of_too_many_those_that_were_only_passed_go_first(path, monkeypatch):
    monkeypatch.setattr(live_path, "MOST", 12)
    monkeypatch.setattr(live_path, "LAST", 3)
    found = []
    for n in range(20):
        found.append(reached(path, n / 10))
        if n in (2, 5):
            path.rest()
    assert len(path) == len(path.energies) == 12
    assert len(list(path.folder.iterdir())) == 12
    kept = [found[n].source for n in (0, 2, 5, 17, 18, 19)]
    assert all(ob.load(OneFile.read(source).path) for source in kept)


def test_files_that_are_too_large_go_but_for_the_last(path, monkeypatch):
    monkeypatch.setattr(live_path, "_BYTES", 1)
    monkeypatch.setattr(live_path, "LAST", 6)
    for n in range(15):
        reached(path, n / 10)
    assert len(path) == len(list(path.folder.iterdir())) == live_path.LAST


def test_written_it_plays_in_order_of_time(path, tmp_path):
    for n in range(4):
        reached(path, n / 10)
    assert path.write(tmp_path / "kept.h5", "test") == 4
    written = ob.load_trajectory(tmp_path / "kept.h5")
    assert [wavefunction.positions[0, 0] for wavefunction in written] == [0.0, 0.1, 0.2, 0.3]
    path.close()
    assert path.write(tmp_path / "kept.h5", "test") == 4  # a series that is there is replaced
    assert sorted(tmp_path.iterdir()) == [tmp_path / "kept.h5"]


def test_what_is_read_is_not_removed(path, tmp_path, monkeypatch):
    for n in range(6):
        reached(path, n / 10)
    monkeypatch.setattr(live_path, "MOST", 4)
    monkeypatch.setattr(live_path, "LAST", 2)
    begun, go_on = threading.Event(), threading.Event()
    load = live_path.load

    def slowly(file):
        begun.set()
        assert go_on.wait(30)
        return load(file)

    monkeypatch.setattr(live_path, "load", slowly)
    numbers = []
    writer = threading.Thread(target=lambda: numbers.append(path.write(tmp_path / "kept.h5", "test")))
    writer.start()
    assert begun.wait(30)
    reached(path, 1.0)
    reached(path, 1.1)
    assert len(path) == 8
    go_on.set()
    writer.join()
    assert numbers == [6]
    reached(path, 1.2)
    assert len(path) == 4


def test_refusals(path, tmp_path):
    with pytest.raises(OrbitileError, match="no geometry has converged yet"):
        path.write(tmp_path / "kept.h5", "test")
    reached(path, 0.0)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match="is no series file; choose another name"):
        path.write(tmp_path / "notes.txt", "test")
    with pytest.raises(FileError, match="there is no folder"):
        path.write(tmp_path / "missing" / "kept.h5", "test")
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert len(list(path.folder.iterdir())) == 1
