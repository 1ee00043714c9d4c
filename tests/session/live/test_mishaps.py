"""What goes wrong while a molecule is live: it is told, what is shown stays, and it goes on when it can."""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import OrbitileError
from orbitile.scf.calculation import Calculation
from orbitile.session.commands import orb_iso, orb_live, orb_mo
from orbitile.session.live import live
from orbitile.session.live.order import Level
from orbitile.session.source import OneFile
from tests.session.live.moving_viewer import atoms_of, live_session, tick_until

pytest.importorskip("pyscf", reason="basis sets and Hartree-Fock are PySCF's (extra scf)")
pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")

pytestmark = pytest.mark.slow  # a process of its own, and atoms that have to come to rest

HF = Calculation("hf", "sto-3g")
"""By PySCF, which has no kernels to compile."""

WATER = "O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587"
HYDROGEN = "H 0 0 0; H 0 0 0.74"


@pytest.fixture(scope="module")
def session():
    """One for all tests: another molecule takes over the process, which takes long to start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")  # threads take longer to meet than these molecules to compute
        patch.setenv("ORBITILE_DEVICE", "cpu")
        session = live_session(WATER, HF)
        yield session
        session.live.end()
        session.player.close()
        session.computing.close()


@pytest.fixture
def water(session):
    return begun(session, WATER)


def begun(session, text):
    """The session with a molecule that has just become live, and nothing of those before."""
    for name in session.shelf.present():
        session.shelf.remove(name)
    session.host.told.clear()
    session.host.atoms["m"] = atoms_of(text)
    session.live.begin("m", Level(HF, device="cpu"))
    assert session.live.settle().stage == "converged"
    return session


def moved(session, x=0.0, y=0.0, z=0.15, atom=1):
    """Move one atom, by so much in bohr."""
    positions = session.host.positions("m").copy()
    positions[atom] += x, y, z
    session.host.place(positions)
    return positions


def shown(session):
    """What the only surface shows."""
    (name,) = session.shelf
    return session.shelf[name]


def test_a_field_that_has_no_such_surface_any_more_is_told_once_and_can_be_changed(session, monkeypatch):
    begun(session, HYDROGEN)
    session.shelf.remove(*session.shelf)
    name = orb_mo.run(session, ["m", "lumo"]).value
    largest = np.abs(session.computing.sampled(shown(session).request).volume.values).max()
    orb_iso.run(session, [f"{0.93 * largest}"])
    orders = []
    submit = session.live.now._asking.submit
    monkeypatch.setattr(
        session.live.now._asking, "submit", lambda *given, **more: orders.append(submit(*given, **more))
    )
    before = session.host.surfaces[name]
    moved(session, z=1.5)  # the orbital is spread out, and less anywhere
    assert session.live.settle().stage == "converged"
    assert len(orders) <= 3  # one while it moves, one when it rests, one that is compared
    assert sum("nothing has this value" in text for text in session.host.told) == 1
    assert session.host.transparencies[name] > shown(session).look.transparency
    assert shown(session).request.path == session.live.now.found.source
    orb_iso.run(session, ["0.05"])
    assert session.host.surfaces[name] is not before
    moved(session)
    session.live.settle()
    assert shown(session).isovalue == 0.05
    assert session.host.transparencies[name] == shown(session).look.transparency


def test_other_elements_begin_anew_in_the_same_process(water):
    process, first = water.live.now.process_id, water.live.now
    positions = water.host.positions("m")
    water.host.atoms["m"] = np.array([16, 1, 1]), positions
    moved(water, z=0.3)
    assert water.live.settle().stage == "converged"
    assert water.live.now is not first
    assert water.live.now.process_id == process
    assert water.live.now.found.energy < -390  # sulphur
    assert any("no longer the same" in text for text in water.host.told)
    water.host.atoms["m"] = atoms_of(f"{WATER}; H 0 0 3; H 0 0 3.74")
    assert water.live.settle().stage == "converged"
    assert len(water.live.now.found.wavefunction.atomic_numbers) == 5


def test_atoms_that_are_added_and_removed_begin_anew_with_electrons_that_can_be(water):
    numbers, positions = water.host.atoms["m"]
    energy, (name,) = water.live.now.found.energy, water.shelf
    assert shown(water).request.field == "mo:5"
    water.host.atoms["m"] = numbers[:2], positions[:2]
    assert water.live.settle().stage == "converged"
    assert water.live.now.level.calculation == replace(HF, unpaired=1)
    assert sum("unpaired electrons 1 (0 before)" in text for text in water.host.told) == 1
    radical = water.live.now.found.wavefunction
    assert shown(water).isovalue == pytest.approx(ob.default_isovalue(radical, shown(water).request.field), rel=1e-3)
    orb_iso.run(water, ["0.06"])
    water.host.atoms["m"] = numbers, positions
    assert water.live.settle().stage == "converged"
    assert water.live.now.level.calculation == HF
    assert water.live.now.found.energy == pytest.approx(energy, abs=1e-7)
    assert (list(water.shelf), shown(water).request.field, shown(water).isovalue) == ([name], "mo:5", 0.06)
    water.host.atoms["m"] = np.array([100, 1, 1]), positions  # the basis set does not have it
    assert "fm" in water.live.settle().text.lower()
    water.host.atoms["m"] = numbers, positions
    assert water.live.settle().stage == "converged"  # it goes on where it can


def test_a_failure_is_told_once_and_moving_back_recovers(water):
    there = water.host.positions("m").copy()
    energy = water.live.now.found.energy
    for shift in (0.0, 0.2, 0.4):
        water.host.place(np.array([there[0], there[0] + (0, 0, shift), there[0] + (0, 0, shift)]))
        assert water.live.settle().stage == "failed"
    assert sum("at one place" in text for text in water.host.told) == 1
    water.host.place(there)
    assert water.live.settle().stage == "converged"
    assert water.live.now.found.energy == pytest.approx(energy, abs=1e-7)
    assert water.live.now.at_rest()


def test_what_failed_at_first_does_not_tell_of_a_geometry_before(water):
    water.host.place(0 * water.host.positions("m"))
    water.live.begin("m", water.live.now.level)
    text = water.live.settle().text
    assert "one place" in text
    assert "last converged" not in text


@pytest.mark.linux
@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_process_that_is_killed_is_replaced_without_anybody_moving_an_atom(water, monkeypatch):
    submit = water.live.now._asking.submit

    def killed(*given, **more):
        submit(*given, **more)
        monkeypatch.undo()
        os.kill(water.live.now.process_id, signal.SIGKILL)

    monkeypatch.setattr(water.live.now._asking, "submit", killed)
    process = water.live.now.process_id
    positions = moved(water)
    assert water.live.settle().stage == "converged"
    assert water.live.now.process_id != process
    assert np.array_equal(water.live.now.found.positions, positions)


def test_what_is_asked_for_while_atoms_move_is_shown_and_follows(water):
    request = water.request("m", "lumo")
    moved(water)
    tick_until(water, lambda: water.host.molecules()["m"] != request.path)
    found = water.computing.sampled(request)
    name = water.show(replace(shown(water), request=request, isovalue=found.isovalue), found)
    water.live.settle()
    assert water.shelf[name].request.path == water.live.now.found.source
    assert water.shelf[name].request.field == "mo:6"


@pytest.mark.slow
def test_the_same_molecule_at_another_level_goes_on_and_at_the_same_ends(water):
    orb_live.run(water, ["m", "3-21g", "hf"])
    assert water.live.settle().stage == "converged"
    assert water.live.now.level.calculation.basis == "3-21g"
    assert orb_live.run(water, ["m", "3-21g", "hf"]).text == "m is no longer live"
    assert water.live.now is None


def test_without_a_folder_nothing_changes(water, monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    monkeypatch.setattr("orbitile.base.temporary._own", None)
    before = water.live.now
    with pytest.raises(OrbitileError, match="TMPDIR"):
        water.live.begin("m", Level(Calculation("hf", "3-21g"), device="cpu"))
    monkeypatch.undo()
    assert water.live.now is before
    moved(water)
    assert water.live.settle().stage == "converged"


@pytest.mark.linux
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="open files are counted as Linux does")
def test_many_geometries_leave_small_files_and_few_open_ones(session, monkeypatch):
    begun(session, HYDROGEN)
    monkeypatch.setattr(live, "_REST", 0.0)
    monkeypatch.setattr(session.computing.samples._held._values, "_most", 10)
    n_open = []
    for n in range(40):
        moved(session, z=0.01 * (-1) ** n)
        session.live.settle()
        n_open.append(len(os.listdir("/proc/self/fd")))
    size = Path(OneFile.read(session.live.now.found.source).path).stat().st_size
    assert max(n_open[20:]) <= max(n_open[10:20])
    assert size < 40_000
