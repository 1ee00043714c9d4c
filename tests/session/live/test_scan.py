"""Scans by hand: what is computed ahead, what is shown without a calculation."""

import time

import numpy as np
import pytest

from orbitile import OrbitileError, load, load_trajectory
from orbitile.base import caches
from orbitile.model.geometry import Geometry
from orbitile.model.units import angstrom
from orbitile.pictures.request import Request
from orbitile.scf.calculation import Calculation
from orbitile.scf.engines import engine_of
from orbitile.session import commands
from orbitile.session.live.order import Converged, Level, Order
from orbitile.session.live.path import LivePath
from orbitile.session.live.scan import KnownGeometries, RunningScan, dihedral, scan_of
from orbitile.session.session import Session
from orbitile.trajectories.tracking import DEGENERACY, step_to
from tests.session.live.moving_viewer import MovingViewer, atoms_of, live_session, tick_until

PEROXIDE = "O 0 0.73 -0.05; O 0 -0.73 -0.05; H 0.8 0.9 0.4; H -0.8 -0.9 0.4"
TWIST = (2, 0, 1, 3)
HOMO, LUMO = Request("", "mo:9"), Request("", "mo:10")


class SinglePrecision(MovingViewer):
    """Holds positions as PyMOL and VMD do: in Angstrom, in single precision."""

    def as_held(self, positions):
        return (positions / angstrom).astype(np.float32).astype(np.float64) * angstrom

    def place(self, positions, name=""):
        super().place(self.as_held(np.asarray(positions)), name)


def _scan(first=-180.0, last=180.0, n_values=25, as_held=lambda positions: positions):
    numbers, positions = atoms_of(PEROXIDE)
    return scan_of(numbers, positions, TWIST, first, last, n_values, as_held)


def _converged(positions, wavefunction, source="", energy=-1.0):
    return Converged(positions, wavefunction, source, {}, energy, 5, 0.1)


def _taken(running, positions, wavefunction, fields=(), source="", energy=-1.0, **more):
    """Have a running scan take what has converged; says whether it is a geometry of it."""
    order = Order(
        "key", Level(Calculation("pbe", "sto-3g")), np.array([8, 8, 1, 1]), positions, "m", "", fields, **more
    )
    return running.take(_converged(positions, wavefunction, source, energy), order)


def _index(scan, positions):
    return int(np.flatnonzero(np.all(scan.geometries == positions, axis=(1, 2)))[0])


# ---- nouns


def test_the_geometries_have_the_values():
    scan = _scan()
    assert scan.kind == "dihedral"
    assert scan.name == "dihedral 3-1-2-4"
    assert scan.shown_values == pytest.approx(np.arange(-180, 181, 15))
    found = [dihedral(geometry, TWIST) for geometry in scan.geometries]
    assert np.exp(1j * np.array(found)) == pytest.approx(np.exp(1j * scan.values))
    assert [scan.index_of(value) for value in scan.shown_values] == list(range(25))


@pytest.mark.parametrize(
    ("atoms", "n", "first", "last"),
    [((0, 1), 21, 0.75 * 1.46, 2 * 1.46), ((2, 0, 1), 21, None, None), (TWIST, 37, -180, 180)],
)
def test_a_scan_has_values_where_nobody_gives_them(atoms, n, first, last):
    scan = scan_of(*atoms_of(PEROXIDE), atoms, None, None, None, np.asarray)
    assert len(scan) == n
    if first is not None:
        assert scan.shown_values[0] == pytest.approx(first)
        assert scan.shown_values[-1] == pytest.approx(last)


def test_the_nearest_value_of_a_dihedral_may_be_round_the_corner():
    scan = _scan(-170, 170, 35)
    assert scan.index_of(-169) == 0
    assert scan.index_of(181) == 0
    assert scan.index_of(179) == 34
    assert scan.index_of(12) == scan.index_of(12 + 360) == 18


@pytest.mark.parametrize(
    ("atoms", "first", "last", "n", "reason"),
    [
        ((0, 4), None, None, None, "two, three or four of 1 to 4"),
        ((0, 0), None, None, None, "each once"),
        ((0,), None, None, None, "two, three or four"),
        ((0, 1), 1.0, 1.0, 5, "values that differ"),
        ((0, 1), 1.0, 2.0, 1, "2 to 361"),
        ((0, 1), 1.0, 2.0, 1000, "2 to 361"),
        ((0, 1), -1.0, 2.0, 5, "more than 0"),
    ],
)
def test_what_cannot_be_scanned_is_refused(atoms, first, last, n, reason):
    with pytest.raises(OrbitileError, match=reason):
        scan_of(*atoms_of(PEROXIDE), atoms, first, last, n, np.asarray)


# ---- what comes next


def test_geometries_are_computed_outwards_of_both_sides_in_turn(benzene):
    scan = _scan(-60, 60, 7)
    running = RunningScan(scan, scan.geometries[3])
    order, before = [], []
    while not (ahead := running.next(scan.geometries[3], [HOMO])).compares:
        assert ahead.fields == (HOMO,)
        order.append(_index(scan, ahead.positions))
        before.append(None if ahead.beside is None else _index(scan, ahead.beside))
        assert _taken(running, ahead.positions, benzene, ahead.fields, f"{order[-1]}", -1.0 * order[-1])
    assert order == [3, 2, 4, 1, 5, 0, 6]
    assert before == [None, 3, 3, 2, 4, 1, 5]
    status = running.status(scan.geometries[3])
    assert all(status.known)
    assert status.index == 3
    assert status.energies == tuple(-float(n) for n in range(7))
    assert running.sources == tuple("0123456")

    order = []
    while (ahead := running.next(scan.geometries[3], [HOMO])) is not None:
        assert ahead.compares
        order.append(_index(scan, ahead.positions))
        assert _taken(running, ahead.positions, benzene, (), f"{order[-1]}", -1.0 * order[-1], compares=True)
    assert order == [3, 2, 4, 1, 5, 0, 6]


def test_fields_of_a_lower_state_are_computed_anew(benzene):
    scan = _scan(-60, 60, 2)
    running = RunningScan(scan, scan.geometries[0])
    for n in (0, 1):
        _taken(running, scan.geometries[n], benzene, (HOMO,), f"{n}")
    assert running.next(scan.geometries[0], [HOMO]).compares
    _taken(running, scan.geometries[0], benzene, (), "lower", -2.0, compares=True)
    ahead = running.next(scan.geometries[0], [HOMO])
    assert _index(scan, ahead.positions) == 0
    assert ahead.fields == (HOMO,)
    assert running.status(scan.geometries[0]).energies == (-2.0, -1.0)


def test_another_field_is_computed_where_the_orbitals_are_known(benzene):
    scan = _scan(-60, 60, 3)
    running = RunningScan(scan, scan.geometries[1])
    for geometry in scan.geometries:
        _taken(running, geometry, benzene, (HOMO,), compares=True)
    assert running.next(scan.geometries[1], [HOMO]) is None
    assert running.next(scan.geometries[1], [HOMO, LUMO]).fields == (LUMO,)


def test_what_does_not_converge_is_left_out_and_told(benzene):
    scan = _scan(-60, 60, 3)
    running = RunningScan(scan, scan.geometries[1])
    _taken(running, scan.geometries[1], benzene, (), compares=True)
    running.refuse(scan.geometries[0], "not converged after 50 iterations")
    ahead = running.next(scan.geometries[1], [])
    assert np.array_equal(ahead.positions, scan.geometries[2])
    _taken(running, ahead.positions, benzene, (), compares=True)
    assert running.next(scan.geometries[1], []) is None
    status = running.status(scan.geometries[1])
    assert status.text == "scan: 2 of 3 computed, 1 failed"
    assert "not converged after 50 iterations" in status.table


def test_ends_of_a_full_circle_are_told_apart(benzene):
    viewer = SinglePrecision(m=PEROXIDE)
    scan = _scan(as_held=viewer.as_held)
    one, other = scan.geometries[0], scan.geometries[-1]
    assert not np.array_equal(one, other)
    assert one == pytest.approx(other, abs=1e-6)
    assert np.array_equal(viewer.as_held(other), other)
    running = RunningScan(scan, scan.geometries[12])
    _taken(running, one, benzene, (), compares=True)
    assert running.status(one).known == (True, *(False,) * 24)
    for index in (0, 24):
        running.index = index
        assert running.status(one).index == index


def test_what_is_at_one_place_all_the_same_is_known_together(benzene):
    scan = _scan(as_held=lambda positions: np.round(positions, 4))
    assert np.array_equal(scan.geometries[0], scan.geometries[-1])
    running = RunningScan(scan, scan.geometries[12])
    _taken(running, scan.geometries[0], benzene, (), compares=True)
    assert running.status(scan.geometries[12]).known == (True, *(False,) * 23, True)


# ---- what is kept


def test_known_geometries_are_found_where_they_are(benzene, tmp_path):
    file = tmp_path / "a.h5"
    file.touch()
    known, one, other = KnownGeometries(), benzene.positions, benzene.positions + 0.5
    known.add(_converged(one, benzene, str(file)))
    assert known.at(one.copy()).source == str(file)
    assert known.at(other) is None
    assert known.nearest(other, None).source == str(file)
    assert known.nearest(other, _converged(other, benzene, "here")).source == "here"
    file.unlink()
    assert known.at(one) is None


def test_the_oldest_known_geometries_are_forgotten(benzene, monkeypatch):
    known = KnownGeometries()
    account = caches._accounts["geometries of live molecules"]
    monkeypatch.setattr(account, "n_bytes", 2 * (benzene.alpha.coefficients.nbytes + caches._ENTRY))
    for n in range(4):
        known.add(_converged(benzene.positions + n, benzene, __file__))
    assert [known.at(benzene.positions + n) is not None for n in range(4)] == [False, False, True, True]


def test_files_that_are_held_stay(benzene, monkeypatch):
    from orbitile.session.live import path as module

    monkeypatch.setattr(module, "MOST", module.LAST)
    path = LivePath()
    files = [path.folder / f"{n}.h5" for n in range(module.LAST + 2)]
    for file in files:
        file.touch()
    try:
        path.hold([str(files[0])])
        for file in files:
            path.add(_converged(benzene.positions, benzene, str(file)))
        assert [file.exists() for file in files[:3]] == [True, False, True]
        path.hold([str(files[2])])
        path.hold(())
        assert [file.exists() for file in files[:3]] == [False, False, True]  # the last one is on the way
    finally:
        path.close()


# ---- the whole of it


def _counted(session: Session, monkeypatch) -> list:
    """Orders that go to the process from now on."""
    orders, submit = [], session.live.now._asking.submit

    def counted(order, *arguments, **keywords):
        orders.append(order)
        submit(order, *arguments, **keywords)

    monkeypatch.setattr(session.live.now._asking, "submit", counted)
    return orders


@pytest.mark.slow
def test_a_dihedral_all_the_way_round(monkeypatch, tmp_path):
    session = Session(SinglePrecision(m=PEROXIDE))
    session.host.place(session.host.atoms["m"][1])
    calculation = Calculation("pbe", "sto-3g")
    session.live.begin("m", Level(calculation, "orbitile", "cpu", "double"))
    session.live.settle()
    answer = commands.orb_scan.run(session, ["3-1-2-4", -180, 180, 13])  # a script waits
    live = session.live.now
    status = live.status.scan
    assert all(status.known)
    assert "13 of 13 computed" in answer.text
    energies = np.array(status.energies)
    assert energies == pytest.approx(energies[::-1], abs=1e-6)

    # it is served at once, there and back
    orders = _counted(session, monkeypatch)
    for index in [*range(13), *reversed(range(13))]:
        live.scan_to(index)
        live.tick()
        assert live.status.stage == "converged"
        assert live.status.scan.index == index
        assert live.found.energy == pytest.approx(energies[index], abs=1e-12)
    session.live.settle()
    assert not orders
    name = session.shelf.last_of("m")
    assert session.host.transparencies[name] == session.shelf[name].look.transparency  # it is not moved along

    # as fresh ones
    numbers, _ = session.host.atoms["m"]
    for index in (0, 3, 7, 12):
        geometry = Geometry(numbers, live.scan.scan.geometries[index])
        fresh = engine_of("orbitile", geometry, calculation).solve(geometry, calculation, (), "cpu", "double")
        assert energies[index] == pytest.approx(fresh.energy, abs=1e-7)

    # phases are continuous along the values
    file = tmp_path / "scan.h5"
    commands.orb_scan_save.run(session, [str(file)])
    frames = load_trajectory(file)
    assert len(frames) == 13
    reference = step_to(None, 0, frames[0], DEGENERACY).reference
    for n in range(1, 13):
        assert np.array_equal(frames[n].positions, live.scan.scan.geometries[n])
        step = step_to(reference, n, frames[n], DEGENERACY)
        rotation = step.match.alpha.rotation.toarray()
        largest = np.take_along_axis(rotation, np.abs(rotation).argmax(axis=0)[None], axis=0)
        assert np.all(largest > 0.5), n
        reference = step_to(None, n, frames[n], DEGENERACY).reference

    answer = commands.orb_scan.run(session)
    assert "has ended" in answer.text
    assert live.status.scan is None
    session.live.end()


@pytest.mark.slow
def test_the_slider_goes_before_what_is_computed_ahead(monkeypatch):
    session = live_session(PEROXIDE)
    session.live.settle()
    live = session.live.now
    live.begin_scan(TWIST, -180, 180, 13)
    orders = _counted(session, monkeypatch)
    tick_until(session, lambda: sum(live.status.scan.known) == 2)
    assert "2 of 13 computed" in live.status.text
    tick_until(session, lambda: live._asking.asked is not None)
    there = live.scan.scan.geometries[0]
    ahead = orders[-1]
    assert not np.array_equal(ahead.positions, there)
    live.scan_to(0)
    begin = len(orders)
    tick_until(session, lambda: len(orders) > begin)
    assert np.array_equal(orders[begin].positions, there)
    tick_until(session, lambda: live.status.stage == "converged")
    assert live.status.scan.known[0]

    # a field that is shown meanwhile is computed of all of them, without a self-consistent field of those known
    name = session.shelf.last_of("m")
    session.live.settle(scanned=True)
    n_sources = set(live.scan.sources)
    commands.orb_mo.run(session, ["m", "lumo"])
    begin = time.monotonic()
    session.live.settle(scanned=True)
    assert set(live.scan.sources) == n_sources
    assert not any(live.status.scan.problems), live.status.scan.table
    orders.clear()
    live.scan_to(6)
    session.live.settle()
    assert not orders
    assert len(session.host.surfaces) == 2
    assert name in session.host.surfaces
    assert time.monotonic() - begin < 60

    # what was held for the scan goes with it
    files = set(live.path.folder.glob("*.h5"))
    live.end_scan()
    left = set(live.path.folder.glob("*.h5"))
    assert left < files
    assert load(session.host.molecules()["m"].partition(": ")[2]) is not None
    session.live.end()


def test_commands_say_what_is_missing():
    session = Session(MovingViewer(m=PEROXIDE))
    for command, arguments in (
        (commands.orb_scan, ["1-2"]),
        (commands.orb_scan_to, [1]),
        (commands.orb_scan_save, ["a"]),
    ):
        with pytest.raises(OrbitileError, match="no molecule is live"):
            command.run(session, arguments)
    session = live_session(PEROXIDE)
    try:
        with pytest.raises(OrbitileError, match="no scan is running"):
            commands.orb_scan_to.run(session, [1])
        with pytest.raises(OrbitileError, match="no scan is running"):
            commands.orb_scan_save.run(session, ["a.h5"])
        with pytest.raises(OrbitileError, match="knows no atom called 'pk1'"):
            commands.orb_scan.run(session, ["pk1 pk2"])
        with pytest.raises(OrbitileError, match="pick two, three or four atoms first"):
            commands.orb_scan.run(session)
        with pytest.raises(OrbitileError, match="to 4, each once"):
            commands.orb_scan.run(session, ["1-2-3-9"])
        with pytest.raises(OrbitileError, match="no scan is running"):
            session.live.now.scan_to(0)
    finally:
        session.live.end()
