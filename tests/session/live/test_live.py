"""A live molecule in a viewer whose atoms the test moves, and whose loop it turns."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from orbitile.base.errors import OrbitileError
from orbitile.model.geometry import Geometry
from orbitile.model.units import angstrom
from orbitile.scf.calculation import Calculation
from orbitile.scf.engines import engine_of
from orbitile.session.commands import orb_color, orb_delete, orb_field, orb_iso, orb_live, orb_mo, orb_settle
from orbitile.session.live.order import Level
from orbitile.session.session import Session
from orbitile.session.source import OneFile
from tests.session.live.moving_viewer import MovingViewer, atoms_of, live_session, tick_until

pytest.importorskip("pyscf", reason="basis sets and Hartree-Fock are PySCF's (extra scf)")
pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")

HF = Calculation("hf", "sto-3g")
"""By PySCF, which has no kernels to compile."""

WATER = "O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587"
METHYL = "C 0 0 0; H 1.079 0 0; H -0.54 0.934 0; H -0.54 -0.934 0"
HYDROGEN = "H 0 0 0; H 0 0 0.74"
SHIFT = np.array([0.0, 0.0, 0.15])


@pytest.fixture(scope="module", autouse=True)
def environment():
    """Threads take longer to meet than these molecules to compute."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        patch.setenv("ORBITILE_DEVICE", "cpu")
        yield


@pytest.fixture(scope="module")
def session(environment):
    """One for all tests, whose molecules have one process after the other: it takes seconds to start."""
    session = Session(MovingViewer())
    yield session
    close(session)


@pytest.fixture
def water(session):
    """A session with one live molecule, "m", of which the HOMO is shown."""
    begin(session, WATER, Level(HF, "pyscf", "cpu"))
    assert session.live.settle().stage == "converged"
    return session


def begin(session: Session, text: str, level: Level) -> None:
    """Have one live molecule, "m", and nothing else."""
    for name in list(session.shelf):
        session.shelf.remove(name)
    session.host.atoms = {"m": atoms_of(text)}
    session.host.told.clear()
    session.host.dragging = False
    session.live.begin("m", level)


def close(session: Session) -> None:
    session.live.end()
    session.player.close()
    session.computing.close()


def moved(session: Session, shift=SHIFT, atom: int = 1):
    """Where the atoms are after one of them was moved by so much in bohr."""
    positions = session.host.positions("m").copy()
    positions[atom] += shift
    session.host.place(positions)
    return positions


def fresh_energy(session: Session) -> float:
    """Of the geometry that is there, begun from atoms."""
    numbers, positions = session.host.atoms["m"]
    geometry, calculation = Geometry(numbers, positions), session.live.now.level.calculation
    engine = engine_of(session.live.now.level.engine, geometry, calculation)
    return engine.solve(geometry, calculation, (), "cpu", session.live.now.level.precision).energy


def has_converged(session: Session):
    """What `tick_until` waits for: a wavefunction of where the atoms are."""
    return lambda: (
        session.live.now.found is not None
        and np.array_equal(session.live.now.found.positions, session.host.positions(session.live.now.molecule))
    )


# ---- what is shown


def test_of_a_molecule_without_surfaces_the_homo_is_shown(water):
    assert set(water.host.surfaces) == {"m_mo5"}
    assert water.host.transparencies["m_mo5"] == water.shelf["m_mo5"].look.transparency
    assert water.shelf["m_mo5"].request.path == water.live.now.found.source == water.host.molecules()["m"]
    assert water.live.settle().text.startswith(f"{water.live.now.found.energy:.7f} hartree")


def test_while_it_converges_the_surface_is_moved_along_and_paler(water):
    before, look = water.host.surfaces["m_mo5"], water.shelf["m_mo5"].look
    water.host.place(water.host.positions("m") + SHIFT)  # the whole molecule
    water.host.dragging = True
    tick_until(water, lambda: water.host.surfaces["m_mo5"] is not before)
    np.testing.assert_allclose(water.host.surfaces["m_mo5"].vertices, before.vertices + SHIFT, atol=1e-4)
    assert water.host.transparencies["m_mo5"] == pytest.approx(look.transparency + 0.3)
    assert water.live.now.status.stage == "converging"
    assert "moved with the atoms" in water.live.now.status.text
    water.host.dragging = False
    water.live.settle()
    assert water.host.transparencies["m_mo5"] == look.transparency
    assert water.live.now.status.stage == "converged"


def test_while_atoms_move_less_will_do_and_what_rests_takes_its_place(water):
    live, host = water.live.now, water.host
    n = len(live.path)
    host.dragging = True
    host.place(host.positions("m") + SHIFT * np.eye(3)[1][:, None])
    tick_until(water, lambda: np.array_equal(live.found.positions, host.positions("m")))
    assert live.found.is_rough
    assert live.status.stage == "converging"
    for _ in range(30):  # it is not computed again and again
        live.tick()
        time.sleep(0.01)
    assert len(live.path) == n + 1
    host.dragging = False
    assert water.live.settle().stage == "converged"
    assert not live.found.is_rough
    assert len(live.path) == n + 1


def test_what_is_shown_for_good_is_the_field_of_the_geometry_as_finely_as_it_was_asked_for(water):
    orb_iso.run(water, [0.07, "m_mo5"])
    positions = moved(water)
    water.live.settle()
    shown = water.shelf["m_mo5"]
    assert np.array_equal(water.live.now.found.positions, positions)
    assert water.live.now.found.energy == pytest.approx(fresh_energy(water), abs=1e-7)
    assert shown.isovalue == 0.07
    assert shown.request.quality == "medium"
    again = water.computing.sample(shown.request)
    assert len(again.surface.faces) == len(water.host.surfaces["m_mo5"].faces)
    np.testing.assert_allclose(water.host.volumes["m_mo5"].values, again.volume.values, atol=1e-6)


@pytest.mark.slow
def test_several_fields_follow_with_their_colours(water):
    density = orb_field.run(water, ["m", "density", 0.01, "coarse", "esp"]).value
    colours = water.host.colourings[density].values
    moved(water)
    orb_settle.run(water)
    assert {"m_mo5", density} == set(water.host.surfaces)
    colouring = water.host.colourings[density]
    assert colouring.quantity == "electrostatic potential"
    assert len(colouring.values) == len(water.host.surfaces[density].vertices)
    assert len(colouring.values) != len(colours) or not np.allclose(colouring.values, colours)
    for name in ("m_mo5", density):
        assert water.shelf[name].request.path == water.live.now.found.source


def test_other_commands_find_the_newest_wavefunction(water):
    moved(water)
    water.live.settle()
    name = orb_mo.run(water, ["m", "lumo", "", "coarse"]).value
    assert water.shelf[name].request.path == water.live.now.found.source
    assert np.array_equal(water.wavefunction("m").positions, water.host.positions("m"))


# ---- the newest geometry


def test_the_newest_geometry_is_the_next(water):
    asked = []
    submit = water.live.now._asking.submit

    def note(order, *arguments, **keywords):
        asked.append(order.positions)
        return submit(order, *arguments, **keywords)

    water.live.now._asking.submit = note
    places = []
    for _ in range(40):
        places.append(moved(water, 0.1 * SHIFT))
        water.live.now.tick()
    tick_until(water, has_converged(water))
    assert 1 < len({place.tobytes() for place in asked}) < 40, "one after the other, and not all of them"
    assert np.array_equal(asked[-1], places[-1])


@pytest.mark.slow
def test_a_long_calculation_gives_way_to_a_newer_geometry():
    session = live_session(HYDROGEN, Calculation("hf", "cc-pv5z"))  # PySCF takes seconds for the first geometry
    try:
        tick_until(session, lambda: session.live.now.process_id is not None)
        first = session.live.now._asking.asked
        time.sleep(1.0)
        moved(session)
        tick_until(session, lambda: session.live.now._asking.asked is not first)
        assert first.job.cancelled() or first.job.done()
    finally:
        close(session)


# ---- what the user does meanwhile


def test_surfaces_may_be_deleted_and_changed(water):
    name = orb_mo.run(water, ["m", "homo-1", "", "coarse"]).value
    moved(water)
    water.live.now.tick()
    orb_color.run(water, ["green", "red", 0.5, name])
    orb_delete.run(water, ["m_mo5"])
    water.live.settle()
    assert set(water.host.surfaces) == {name}
    assert water.host.transparencies[name] == 0.5
    assert water.shelf[name].request.path == water.live.now.found.source
    orb_delete.run(water, [name])
    moved(water)
    assert water.live.settle().stage == "converged"
    assert not water.host.surfaces


def test_a_surface_may_be_renamed(water):
    host = water.host
    host.surfaces["mine"] = host.surfaces.pop("m_mo5")
    host.transparencies["mine"] = host.transparencies.pop("m_mo5")
    water.shelf.rename("m_mo5", "mine")
    moved(water)
    water.live.settle()
    assert set(host.surfaces) == {"mine"}
    assert water.shelf["mine"].request.path == water.live.now.found.source


def test_a_molecule_that_is_renamed_stays_live(water):
    water.host.rename("m", "other")
    water.shelf.follow()
    positions = water.host.positions("other") + SHIFT
    water.host.place(positions, "other")
    assert water.live.settle().molecule == "other"
    assert np.array_equal(water.live.now.found.positions, positions)
    assert water.shelf["m_mo5"].molecule == "other"


# ---- what fails


def test_a_geometry_that_fails_leaves_the_picture_as_it_was_and_dragging_back_recovers(water):
    before, energy, positions = water.host.surfaces["m_mo5"], water.live.now.found.energy, water.host.positions("m")
    clash = positions.copy()
    clash[1] = clash[2]
    water.host.place(clash)
    status = water.live.settle()
    assert status.stage == "failed"
    assert "atoms 2 and 3 are at one place" in status.text
    assert "last converged" in status.text
    assert water.host.told[-1] == "m: atoms 2 and 3 are at one place"
    np.testing.assert_allclose(water.host.surfaces["m_mo5"].vertices, before.vertices)
    assert water.live.now.found.energy == energy
    water.host.place(positions + 0.01 * SHIFT)
    assert water.live.settle().stage == "converged"
    assert water.live.now.found.energy == pytest.approx(energy, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("calculation", "engine", "what"),
    [
        (Calculation("hf", "sto-4711"), "auto", "basis set 'sto-4711'"),
        (Calculation("p8e", "sto-3g"), "auto", "p8e"),
        (Calculation("wb97x-v", "sto-3g"), "orbitile", "engine orbitile"),
        (HF, "gpu4pyscf", "engine gpu4pyscf"),
    ],
)
def test_what_cannot_be_computed_at_all_is_told_in_a_line_and_ends(calculation, engine, what):
    session = live_session(WATER, calculation, engine)
    try:
        with pytest.raises(OrbitileError, match=what) as told:
            session.live.settle()
        assert "\n" not in str(told.value)
        assert session.live.now is None
    finally:
        close(session)


def test_it_is_refused_at_once_where_there_are_no_basis_sets(monkeypatch):
    session = Session(MovingViewer(m=WATER))
    monkeypatch.setattr("orbitile.session.calculation.find_spec", lambda name: None)
    with pytest.raises(OrbitileError, match="pip install"):
        orb_live.run(session, ["m"])
    assert session.live.now is None
    monkeypatch.setenv("ORBITILE_PYTHON", "/no/such/python")
    orb_live.run(session, ["m"])
    with pytest.raises(OrbitileError, match="/no/such/python"):
        session.live.settle()
    assert session.live.now is None
    session.computing.close()


def test_electrons_have_to_go_with_the_atoms():
    session = Session(MovingViewer(m="C 0 0 0; H 0 0 1.1"))
    with pytest.raises(OrbitileError, match="h_add"):
        orb_live.run(session, ["m"])


@pytest.mark.linux
@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.slow
def test_a_process_that_is_killed_is_replaced(water):
    kept = water.live.now.found.first_names
    os.kill(water.live.now.process_id, signal.SIGKILL)
    moved(water)
    assert water.live.settle().stage == "converged"
    assert water.live.now.found.first_names == kept
    assert water.live.now.found.energy == pytest.approx(fresh_energy(water), abs=1e-7)


# ---- the end


def test_a_molecule_that_is_deleted_is_live_no_longer(water):
    water.host.delete("m")
    water.live._look()
    assert water.live.now is None
    assert "deleted" in water.host.told[-1]


@pytest.mark.slow
def test_nothing_is_left(water):
    moved(water)
    water.live.settle()
    process, folder, live = water.live.now.process_id, water.live.now.path.folder, water.live.now
    orb_live.run(water)
    assert water.live.now is None
    assert process is not None
    until = time.monotonic() + 20
    while is_running(process) or any(t.name.startswith("orbitile-live") for t in threading.enumerate()):
        assert time.monotonic() < until
        time.sleep(0.02)
    assert not any(observer is live.following for observer in water.shelf._observers)
    assert len(list(folder.iterdir())) < len(live.path) + 2
    assert Path(OneFile.read(water.host.molecules()["m"]).path).exists(), "the molecule is one of these files"
    assert set(water.host.surfaces) == {"m_mo5"}


@pytest.mark.slow
def test_files_of_those_that_were_live_before_go(water):
    """But for what is still shown of them, of which there is no more than is shown."""
    folders = []
    for _ in range(3):
        moved(water)
        water.live.settle()
        folders.append(water.live.now.path.folder)
        orb_live.run(water)
        water.live.begin("m", Level(HF, "pyscf", "cpu"))
    water.live.settle()
    shown = {Path(OneFile.read(source).path) for source in water.host.molecules().values()}
    water.live.end()
    water.live.begin("m", Level(HF, "pyscf", "cpu"))
    assert {file for folder in folders if folder.exists() for file in folder.iterdir()} <= shown


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


@pytest.mark.slow
def test_another_molecule_takes_over():
    session = Session(MovingViewer(m=WATER, n=HYDROGEN))
    try:
        session.live.begin("m", Level(HF, "pyscf", "cpu"))
        session.live.settle()
        session.live.begin("n", Level(HF, "pyscf", "cpu"))
        session.live.settle()
        assert set(session.host.surfaces) == {"m_mo5", "n_mo1"}
        there = session.host.surfaces["m_mo5"]
        session.host.place(session.host.positions("m") + SHIFT, "m")
        session.host.place(session.host.positions("n") * 1.1, "n")
        assert session.live.settle().molecule == "n"
        assert session.host.surfaces["m_mo5"] is there
    finally:
        close(session)


# ---- chemistry


def test_an_orbital_that_the_basis_set_does_not_have_is_told_and_the_others_follow(session, water):
    lumo = orb_mo.run(session, ["m", "lumo+1", "", "coarse"]).value
    session.host.atoms["m"] = atoms_of(HYDROGEN)  # other atoms: it begins anew, and has two orbitals
    status = session.live.settle()
    assert status.stage == "converged"
    assert session.shelf["m_mo5"].request.field == "mo:1"  # the HOMO, as before
    assert any("homo-0 to lumo+0" in text for text in session.host.told)
    session.shelf.remove(lumo)


def test_an_orbital_keeps_its_character_where_it_crosses_another(session, water):
    """Two hydrogen molecules: the bond of one is shorter than that of the other at first, and longer then."""
    session.shelf.remove("m_mo5")
    session.host.atoms["m"] = atoms_of(two_hydrogens(0.6))
    session.live.begin("m", Level(HF, "pyscf", "cpu"))
    session.live.settle()
    (surface,) = [orb_mo.run(session, ["m", "mo:1", "", "coarse"]).value]
    for length, expected in ((0.65, "mo:1"), (0.70, "mo:1"), (0.78, "mo:2"), (0.84, "mo:2")):
        session.host.place(atoms_of(two_hydrogens(length))[1])
        session.live.settle()
        assert session.shelf[surface].request.field == expected
        where = session.host.surfaces[surface].vertices.mean(axis=0)
        assert where[0] > 5 * angstrom, "it is the bond of the other molecule"
        assert set(session.host.surfaces[surface].phases) == {1}, "its phase has changed"


def two_hydrogens(length: float) -> str:
    return f"H 0 0 0; H 0 0 0.74; H 6 0 0; H 6 0 {length}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "calculation", "atom", "step"),
    [
        (WATER, Calculation("pbe", "6-31g*"), 1, (0, 0.02, 0.01)),
        (WATER, Calculation("pbe", "6-31g*", cartesian=True), 1, (0, 0.02, 0.01)),
        (WATER, Calculation("b3lyp", "def2-svp"), 1, (0, 0.02, 0.01)),
        (
            "C 0 0 0; H 1.079 0 0; H -0.54 0.934 0; H -0.54 -0.934 0",
            Calculation("pbe", "sto-3g", 0, 1),
            1,
            (0.03, 0, 0.03),
        ),
        ("O 0 0 0; O 0 0 1.21", Calculation("pbe", "sto-3g", 0, 2), 1, (0, 0, 0.03)),
        ("O 0 0 0; H 0 0 0.97", Calculation("pbe", "6-31g*", -1), 1, (0, 0, 0.02)),
        ("I 0 0 0; H 0 0 1.61", Calculation("pbe", "def2-svp"), 1, (0, 0, 0.02)),
        ("He 0 0 0", Calculation("pbe", "def2-svp"), 0, (0, 0, 0.1)),
        (HYDROGEN, Calculation("pbe", "sto-3g"), 1, (0, 0, 0.3)),
        (HYDROGEN, Calculation("upbe", "sto-3g"), 1, (0, 0, 0.15)),
    ],
    ids=["water", "cartesian", "hybrid", "radical", "triplet", "anion", "core potential", "atom", "torn", "torn-spins"],
)
def test_after_a_drag_energies_are_those_of_a_fresh_calculation(session, text, calculation, atom, step):
    begin(session, text, Level(calculation, "auto", "cpu"))
    session.live.settle()
    for _ in range(30):
        moved(session, np.array(step, float), atom)
        for _ in range(5):
            session.live.now.tick()
            time.sleep(0.02)
    assert session.live.settle().stage == "converged"
    assert session.live.now.found.energy == pytest.approx(fresh_energy(session), abs=1e-7)
