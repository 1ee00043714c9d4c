"""Forces on atoms that a user moves as well: to the minimum, around what is held, and never against a drag."""

from __future__ import annotations

import sys
import time

import numpy as np
import pytest

pytest.importorskip("ase", reason="ASE (extra optimisation) is not installed")
pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")

import orbitile as ob
from orbitile.base.errors import OrbitileError
from orbitile.model.geometry import Geometry
from orbitile.model.units import angstrom
from orbitile.scf.optimisation import LARGEST_FORCE
from orbitile.session.commands import orb_path, orb_relax, orb_undo
from orbitile.session.live import calculating, live
from orbitile.session.live.live import Pulling
from orbitile.session.live.order import Converged, Level, Order, Relaxation
from orbitile.session.live.relaxing import LARGEST_STEP, Relaxer, inner_forces
from orbitile.session.session import Session
from tests.session.live.moving_viewer import MovingViewer, live_session, tick_until

WATER = "O 0 0 0; H 0 0.95 0.5; H 0 -0.75 0.7"
HF = ob.Calculation("hf", "sto-3g")

rng = np.random.default_rng(7)
PLACES = rng.normal(size=(5, 3)) * 3
PULL = rng.normal(size=(5, 3))


class Springs:
    """Atoms on springs between all pairs: energies and forces that take no time, wrong as those of a quadrature are."""

    def __init__(self, lengths, wrong=0.0):
        self.lengths, self.wrong = lengths, wrong

    def forces(self, positions):
        arms = positions[:, None] - positions
        distances = np.linalg.norm(arms, axis=2) + np.eye(len(positions))
        strengths = (self.lengths / distances - 1) * (1 - np.eye(len(positions)))
        return (strengths[:, :, None] * arms).sum(axis=1) + self.wrong


def relaxed(relaxer, positions, springs, relaxation, steps=100):
    """Where springs take atoms that a viewer keeps in single precision, and how many steps that takes."""
    numbers = np.ones(len(positions), int)
    for n in range(steps):
        largest, there = relaxer.step(Geometry(numbers, positions), springs.forces(positions), relaxation)
        if largest < LARGEST_FORCE:
            return there, n
        positions = there.astype(np.float32).astype(float)
    raise AssertionError(f"no minimum, {largest}")


def springs(wrong=0.0):
    """Springs that are at rest in the shape of `PLACES`."""
    return Springs(np.linalg.norm(PLACES[:, None] - PLACES, axis=2), wrong)


def test_forces_of_the_whole_are_removed():
    inner = inner_forces(PULL, PLACES, [])
    np.testing.assert_allclose(inner.sum(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.cross(PLACES, inner).sum(axis=0), 0, atol=1e-12)
    stretching = springs().forces(PLACES * 1.1)
    np.testing.assert_allclose(inner_forces(stretching, PLACES * 1.1, []), stretching, atol=1e-12)


@pytest.mark.parametrize("held", [[1], [0, 3], [0, 1, 2]])
def test_about_held_atoms_nothing_turns(held):
    inner = inner_forces(PULL, PLACES, held)
    assert not inner[held].any()
    axes = np.eye(3) if len(held) == 1 else [PLACES[held[1]] - PLACES[held[0]]]
    if len(held) < 3:
        for axis in axes:
            assert np.sum(np.cross(axis, PLACES - PLACES[held[0]]) * inner) == pytest.approx(0, abs=1e-10)
    else:
        free = [n for n in range(5) if n not in held]
        np.testing.assert_array_equal(inner[free], PULL[free])


def test_linear_molecules_and_single_atoms():
    line = np.array([[0, 0, -2.0], [0, 0, 0], [0, 0, 2.5]])
    along = np.array([[0, 0, 1.0], [0, 0, -3.0], [0, 0, 2.0]])
    np.testing.assert_allclose(inner_forces(along, line, []), along, atol=1e-12)
    np.testing.assert_allclose(inner_forces(along, line, [0, 1])[2], along[2], atol=1e-12)
    np.testing.assert_allclose(inner_forces(np.ones((1, 3)), np.zeros((1, 3)), []), 0, atol=1e-12)


def test_springs_come_to_rest_and_do_not_wander():
    start = PLACES + 0.3 * PULL
    there, n = relaxed(Relaxer(), start, springs(wrong=[2e-2, -1e-2, 0]), Relaxation(1.0))
    assert n < 40
    np.testing.assert_allclose(
        np.linalg.norm(there[:, None] - there, axis=2), np.linalg.norm(PLACES[:, None] - PLACES, axis=2), atol=2e-3
    )
    np.testing.assert_allclose(there.mean(axis=0), start.mean(axis=0), atol=1e-4)


def test_held_atoms_stay_to_the_bit_and_others_follow_them():
    start = (PLACES + np.outer([0, 0, 1, 0, 0], [1.5, 1.5, 1.5])).astype(np.float32).astype(float)
    there, _ = relaxed(Relaxer(), start, springs(), Relaxation(1.0, (2,)))
    np.testing.assert_array_equal(there[2], start[2])
    assert np.abs(there - start).max() > 0.5
    np.testing.assert_allclose(
        np.linalg.norm(there[:, None] - there, axis=2), np.linalg.norm(PLACES[:, None] - PLACES, axis=2), atol=2e-3
    )


@pytest.mark.parametrize("hardness", [0.0, 0.25, 1.0])
def test_hardness_bounds_the_step(hardness):
    start = PLACES + PULL
    geometry = Geometry(np.ones(5, int), start)
    _, there = Relaxer().step(geometry, springs().forces(start), Relaxation(hardness))
    longest = np.linalg.norm(there - start, axis=1).max()
    assert longest == pytest.approx(hardness * LARGEST_STEP * angstrom, abs=1e-12)


def test_what_was_learnt_is_forgotten_when_atoms_are_elsewhere():
    """The same geometry has the same step, wherever it came from."""
    elsewhere = Geometry(np.ones(5, int), PLACES + 0.2 * PULL[::-1])
    forces = springs().forces(elsewhere.positions)
    _, expected = Relaxer().step(elsewhere, forces, Relaxation(1.0))
    relaxer = Relaxer()
    relaxed(relaxer, PLACES + 0.3 * PULL, springs(), Relaxation(1.0))
    _, there = relaxer.step(elsewhere, forces, Relaxation(1.0))
    np.testing.assert_array_equal(there, expected)
    _, there = relaxer.step(elsewhere, forces, Relaxation(1.0, (1,)))
    _, expected = Relaxer().step(elsewhere, forces, Relaxation(1.0, (1,)))
    np.testing.assert_array_equal(there, expected)


def test_what_was_learnt_serves_while_the_held_atom_is_dragged():
    relaxer, held = Relaxer(), Relaxation(1.0, (2,))
    there, _ = relaxed(relaxer, PLACES + 0.2 * PULL * (np.arange(5)[:, None] != 2), springs(), held)
    dragged = there.astype(np.float32).astype(float)
    dragged[2] += 0.2
    _, n = relaxed(relaxer, dragged, springs(), held)
    _, anew = relaxed(Relaxer(), dragged, springs(), held)
    assert n < anew


# ---- what the user holds


class Clock:
    """Time that a test lets pass."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(live, "time", made)
    return made


@pytest.fixture
def viewer():
    """One that shows atoms at `PLACES`."""
    made = MovingViewer(m="; ".join(["H 0 0 0"] * 5))
    made.place(PLACES)
    return made


@pytest.fixture
def pulls(clock, viewer):
    made = Pulling(viewer)
    made.begin("m", PLACES, HF, 0.5)
    return made


def answer(positions, relaxed, relaxation=Relaxation(0.5)):  # noqa: B008  it is frozen
    """An order for a geometry, and what came of it."""
    order = Order("key", Level(HF), np.ones(5, int), positions, "m", "", relaxation=relaxation)
    return order, Converged(positions, None, f"file {positions.sum()}", {}, -1.0, 3, 0.1, (), 0.01, relaxed)


def test_atoms_that_are_dragged_stay_with_the_mouse(clock, viewer, pulls):
    order, found = answer(PLACES, PLACES + 0.1)
    dragged = PLACES.copy()
    dragged[3] += 0.4
    viewer.dragging = True
    pulls.look(dragged)
    target = pulls.target(dragged, order, found)
    np.testing.assert_array_equal(target[3], dragged[3])
    np.testing.assert_array_equal(np.delete(target, 3, 0), np.delete(PLACES + 0.1, 3, 0))
    assert pulls.wanted("").held == (3,)
    clock.now += 60
    pulls.look(target.astype(np.float32).astype(float))  # held still, and rounded by the viewer
    assert pulls.wanted("").held == (3,)
    viewer.dragging = False
    clock.now += 0.4
    pulls.look(target)
    assert pulls.wanted("").held == (3,)
    clock.now += 0.2
    pulls.look(target)
    assert pulls.wanted("").held == ()


def test_what_was_moved_since_the_order_is_not_overwritten_however_long_that_takes(clock, pulls):
    order, found = answer(PLACES, PLACES + 0.1)
    moved = PLACES.copy()
    moved[0] -= 1
    pulls.look(moved)
    clock.now += 10
    pulls.look(moved)
    assert pulls.wanted("").held == ()
    target = pulls.target(moved, order, found)
    np.testing.assert_array_equal(target[0], moved[0])
    np.testing.assert_array_equal(target[1:], PLACES[1:] + 0.1)


def test_slow_drags_are_seen(pulls):
    positions = PLACES.copy()
    for _ in range(10):
        positions = positions + np.outer([2e-5, 0, 0, 0, 0], [1, 0, 0])
        pulls.look(positions)
    assert pulls.wanted("").held == (0,)


def test_nothing_is_asked_twice_and_nothing_of_a_molecule_that_is_held_as_a_whole(pulls):
    order, found = answer(PLACES, PLACES)
    assert pulls.wanted(found.source) == Relaxation(0.5)
    assert pulls.target(PLACES, order, found) is None
    assert pulls.wanted(found.source) is None
    assert pulls.is_done(found)
    pulls.begin("m", PLACES, HF, 1.0)
    assert pulls.wanted(found.source) == Relaxation(1.0)
    pulls.look(PLACES + 1)
    assert pulls.wanted("") is None
    assert not pulls.is_done(found)


def test_it_ends_where_there_is_no_minimum(clock, viewer, pulls, monkeypatch):
    monkeypatch.setattr(live, "_STEPS", 5)
    positions = PLACES
    for _ in range(5):
        assert pulls.pull("m", positions, *answer(positions, positions + 0.1))
        positions = viewer.positions("m")
    moved = positions + 1  # by the user, after which it may go on
    pulls.look(moved)
    clock.now += 1
    pulls.look(moved)
    for _ in range(5):
        assert pulls.pull("m", moved, *answer(moved, moved + 0.1))
        moved = viewer.positions("m")
    assert not pulls.pull("m", moved, *answer(moved, moved + 0.1))
    assert not pulls.is_on
    assert viewer.told == ["m no longer relaxes: no minimum after 5 steps"]
    np.testing.assert_array_equal(viewer.positions("m"), moved)


# ---- refusals


def test_refusals(monkeypatch):
    session = live_session("H 0 0 0; H 0 0 0.74", HF)
    with pytest.raises(OrbitileError, match="hardness: expected 0 to 1, got 2"):
        session.live.now.relax(2.0)
    with pytest.raises(OrbitileError, match="there is no geometry to go back to"):
        session.live.now.undo()
    monkeypatch.setitem(sys.modules, "ase", None)
    with pytest.raises(OrbitileError, match=r"-m pip install '?ase"):
        session.live.now.relax(0.5)
    assert not session.live.now.status.relaxes
    session.live.end()
    monkeypatch.undo()


def test_commands_say_what_is_missing(tmp_path):
    session = Session(MovingViewer(m="H 0 0 0; H 0 0 0.74"))
    for command, arguments in ((orb_relax, []), (orb_undo, []), (orb_path, [str(tmp_path / "p.h5")])):
        with pytest.raises(OrbitileError, match="no molecule is live: orb_live makes one live"):
            command.run(session, arguments)
    session.live.begin("m", Level(HF))
    assert orb_relax.run(session, ["on", "0.3"]).value == "on"
    assert (session.live.now.status.relaxes, session.live.now.status.hardness) == (True, 0.3)
    assert orb_relax.run(session, ["off"]).value == "off"
    assert orb_relax.run(session).text.startswith("m: forces move its atoms")
    assert session.live.now.status.hardness == 0.3
    with pytest.raises(OrbitileError, match="hardness: expected"):
        orb_relax.run(session, ["on", "1.5"])
    with pytest.raises(OrbitileError, match="no geometry to go back to"):
        orb_undo.run(session)
    with pytest.raises(OrbitileError, match="no geometry has converged yet"):
        orb_path.run(session, [str(tmp_path / "p.h5")])
    session.live.end()


def test_a_viewer_that_cannot_move_atoms_says_so():
    class Still(MovingViewer):
        def move(self, molecule, positions):
            raise OrbitileError("this viewer cannot move atoms")

    session = Session(Still(m="H 0 0 0; H 0 0 0.74"))
    session.live.begin("m", Level(HF))
    with pytest.raises(OrbitileError, match="cannot move atoms"):
        session.live.now.relax(0.5)
    assert not session.live.now.status.relaxes
    session.live.end()


def test_where_the_process_lacks_ase_the_energy_comes_with_the_reason(monkeypatch, tmp_path):
    pytest.importorskip("pyscf", reason="PySCF (extra scf) is not installed")
    monkeypatch.setattr(calculating, "_known", calculating._Known(""))
    positions = np.array([[0, 0, 0], [0, 0, 1.6]])
    viewer = MovingViewer(m="H 0 0 0; H 0 0 1")
    pulls = Pulling(viewer)
    pulls.begin("m", positions, HF, 0.5)
    monkeypatch.setitem(sys.modules, "ase", None)
    monkeypatch.delitem(sys.modules, "orbitile.scf.ase_calculator", raising=False)
    order = Order("k", Level(HF, "pyscf"), np.array([1, 1]), positions, "m", str(tmp_path), relaxation=Relaxation(0.5))
    found = calculating.converged(order)
    assert found.energy == pytest.approx(-1.1, abs=0.05)
    assert "pip install" in str(found.relaxed)
    assert not pulls.pull("m", positions, order, found)
    assert "m no longer relaxes: forces need the package ase" in viewer.told[0]


# ---- in a session


def settled(session, seconds=120.0):
    session.live.now.tick()  # it looks where the atoms are
    tick_until(session, session.live.now.at_rest, seconds)
    return session.live.now.status


def distances(positions):
    return np.linalg.norm(positions[:, None] - positions, axis=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("atoms", "calculation"),
    [
        (WATER, ob.Calculation("pbe", "sto-3g")),
        ("C 0 0 0; O 0 0 1.27; H 0.93 0.05 -0.6; H -0.97 0 -0.57", ob.Calculation("pbe", "sto-3g")),
        ("O 0 0 0; H 0 0.1 1.1", ob.Calculation("pbe", "6-31g*", -1)),
    ],
    ids=["water", "formaldehyde", "anion"],
)
def test_the_minimum_is_that_of_an_optimisation(tmp_path, atoms, calculation):
    session = live_session(atoms, calculation)
    viewer, live = session.host, session.live.now
    start = viewer.positions("m")
    live.relax(1.0)
    status = settled(session)
    assert (status.stage, status.relaxes) == ("converged", True)
    assert "relaxed, largest force 0.0" in status.text
    (tmp_path / "m.xyz").write_text(f"{len(start)}\n\n" + "\n".join(atom.strip() for atom in atoms.split(";")))
    expected = ob.optimise(tmp_path / "m.xyz", tmp_path / "m.h5", calculation, device="cpu")[-1]
    np.testing.assert_allclose(distances(viewer.positions("m")), distances(expected.positions), atol=2e-3)
    np.testing.assert_allclose(viewer.positions("m").mean(axis=0), start.mean(axis=0), atol=1e-3)
    energies = [energy for _, energy in status.energies]
    assert energies[-1] == min(energies) == live.found.energy
    n = live.path.write(tmp_path / "path.h5", str(calculation))
    assert n == len(energies) == len(ob.load_trajectory(tmp_path / "path.h5"))
    np.testing.assert_allclose(ob.load_trajectory(tmp_path / "path.h5")[0].positions, start, atol=1e-9)
    live.undo()
    settled(session)
    np.testing.assert_array_equal(viewer.positions("m"), start)
    assert not live.status.relaxes
    session.live.end()


@pytest.mark.slow
def test_a_drag_while_it_relaxes_is_not_overwritten():
    """Each place of the mouse is what the viewer shows, and the others follow; let go, all of them relax."""
    session = live_session(WATER)
    viewer, live = session.host, session.live.now
    live.relax(1.0)
    settled(session)
    bonds = distances(viewer.positions("m"))
    viewer.dragging, wanted = True, viewer.positions("m")[1].copy()
    begin, others = time.monotonic(), viewer.positions("m")[[0, 2]]
    n = len(live.path)
    while len(live.path) < n + 5 and time.monotonic() - begin < 60:
        wanted = wanted + np.array([0.01, 0, 0.01])
        positions = viewer.positions("m").copy()
        positions[1] = wanted
        viewer.place(positions)
        for _ in range(5):
            live.tick()
            np.testing.assert_array_equal(viewer.positions("m")[1], wanted)
            time.sleep(0.005)
    assert np.abs(viewer.positions("m")[[0, 2]] - others).max() > 0.05
    assert live.status.stage in ("converging", "converged")
    until = time.monotonic() + 2  # held without being moved
    while time.monotonic() < until:
        live.tick()
        np.testing.assert_array_equal(viewer.positions("m")[1], wanted)
    viewer.dragging = False
    status = settled(session)
    assert "relaxed" in status.text
    np.testing.assert_allclose(distances(viewer.positions("m")), bonds, atol=4e-3)
    session.live.end()


@pytest.mark.slow
def test_where_there_is_no_field_it_waits_and_goes_on_when_atoms_are_put_back():
    session = live_session("H 0 0 0; H 0 0 0.8")
    viewer, live = session.host, session.live.now
    live.relax(0.5)
    settled(session)
    bond = distances(viewer.positions("m"))[0, 1]
    viewer.place(np.zeros((2, 3)))
    status = settled(session)
    assert status.stage == "failed"
    assert "at one place" in status.text
    for _ in range(100):
        live.tick()
        time.sleep(0.01)
    assert not viewer.positions("m").any()
    viewer.place([[0, 0, 0], [0, 0, 4.0]])
    tick_until(session, lambda: live.status.stage == "failed" or "relaxed" in live.status.text)
    viewer.place([[0, 0, 0], [0, 0, 1.7]])
    assert "relaxed" in settled(session).text
    assert distances(viewer.positions("m"))[0, 1] == pytest.approx(bond, abs=4e-3)
    session.live.end()
