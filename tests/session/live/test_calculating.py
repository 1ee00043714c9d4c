"""What the process of a live molecule computes, called in this one."""

import threading
import time

import numpy as np
import pytest

from orbitile.base.errors import Cancelled, OrbitileError
from orbitile.base.watch import watched
from orbitile.gaussians.overlap import overlap_matrix
from orbitile.model.geometry import Geometry
from orbitile.pictures.request import Request
from orbitile.readers import load
from orbitile.scf.calculation import Calculation, NotConverged
from orbitile.scf.engines import engine_of
from orbitile.session.live.calculating import converged
from orbitile.session.live.order import Level, Order, Relaxation, energy_text
from orbitile.session.source import OneFile
from tests.molecules import lib
from tests.session.live.moving_viewer import atoms_of

WATER = "O 0 0 0; H 0 0.757 0.587; H 0 -0.757 0.587"
STO = Calculation("hf", "sto-3g")


@pytest.fixture(autouse=True)
def one_thread():
    """Threads take longer to meet than these molecules to compute."""
    with lib.with_omp_threads(1):
        yield


def ordered(tmp_path, text=WATER, calculation=STO, **more):
    numbers, positions = atoms_of(text)
    level = Level(calculation, "pyscf", "cpu")
    return converged(Order(str(tmp_path), level, numbers, positions, "m", str(tmp_path), **more))


def energy_of(text, calculation):
    """Begun from atoms."""
    geometry = Geometry(*atoms_of(text))
    return engine_of("pyscf", geometry, calculation).solve(geometry, calculation).energy


def hcn(angle):
    """The hydrogen atom on a circle about the middle of C and N, at 180 on the side of the carbon."""
    x, y = 1.6 * np.cos(np.radians(angle)), 1.6 * np.sin(np.radians(angle))
    return f"C -0.58 0 0; N 0.58 0 0; H {x:.6f} {y:.6f} 0"


def test_parts_of_the_energy_are_told_and_its_forces_have_them(tmp_path):
    pytest.importorskip("ase", reason="ASE is not installed")
    pytest.importorskip("dftd3", reason="dftd3 is not installed (extra dispersion)")
    calculation = Calculation("hf-d3bj", "sto-3g", solvent="water", smearing=5000)
    found = ordered(tmp_path, calculation=calculation, relaxation=Relaxation(1.0))
    assert sorted(found.parts) == ["dispersion", "smearing", "solvation"]
    solver = engine_of("pyscf", Geometry(*atoms_of(WATER)), calculation)
    gradient = solver.gradient(found.wavefunction, calculation)
    assert found.largest_force == pytest.approx(np.linalg.norm(gradient, axis=1).max(), abs=1e-6)
    told = ", ".join(f"{name} {found.parts[name]:.7f}" for name in ("solvation", "smearing"))
    text = energy_text(found.energy, found.parts)
    assert text == f"{found.energy:.7f} hartree ({told}, dispersion -0.0045089)"


@pytest.mark.parametrize("engine", ["pyscf", "orbitile"])
def test_where_atoms_are_passed_less_will_do(tmp_path, engine):
    calculation = Calculation("pbe", "sto-3g")
    numbers, positions = atoms_of(WATER)

    def at(shift, **more):
        there = positions + shift * np.array([[0, 0, 0], [0, 0.3, 0], [0, 0, 0]])
        level = Level(calculation, engine, "cpu")
        return converged(Order(str(tmp_path), level, numbers, there, "m", str(tmp_path), **more))

    first = at(0.0)
    passed = at(1.0, after=first, rough=True)
    assert passed.is_rough
    again = at(1.0, after=passed, rough=True)
    assert again.source == passed.source, "it is there"
    rested = at(1.0, after=passed)
    assert not rested.is_rough
    assert rested.source != passed.source
    assert 1e-7 < abs(rested.energy - passed.energy) < 1e-3
    geometry = Geometry(numbers, rested.positions)
    exact = engine_of(engine, geometry, calculation).solve(geometry, calculation).energy
    assert rested.energy == pytest.approx(exact, abs=1e-7)


def test_a_geometry_is_written_to_a_file_that_all_else_reads(tmp_path):
    found = ordered(tmp_path)
    assert found.energy == pytest.approx(energy_of(WATER, STO), abs=1e-7)
    assert found.is_compared, "it was begun from atoms"
    read = load(OneFile.read(found.source).path)
    np.testing.assert_allclose(read.alpha.coefficients, found.wavefunction.alpha.coefficients, atol=1e-12)
    assert np.all(np.diff(found.wavefunction.alpha.energies) >= 0)
    assert found.first_names["mo:3"] == "mo:3"


def test_it_continues_from_the_geometry_before(tmp_path):
    first = ordered(tmp_path)
    moved = WATER.replace("0.757", "0.767")
    found = ordered(tmp_path, moved, after=first)
    assert found.energy == pytest.approx(energy_of(moved, STO), abs=1e-7)
    overlaps = orbital_overlaps(first, found)
    assert np.all(np.diag(overlaps)[:6] > 0.97), "phases are those before"
    again = ordered(tmp_path, moved, after=found, fields=(Request("", "homo", "coarse", device="cpu"),))
    assert again.source == found.source, "a field of what is known takes no other calculation"
    assert again.samples[0].request.path == found.source
    assert again.samples[0].request.field == "mo:5"


def orbital_overlaps(one, other):
    """Of orbitals of two geometries, (n, n)."""
    matrix = overlap_matrix(one.wavefunction, other.wavefunction)
    return one.wavefunction.alpha.coefficients.T @ (matrix @ other.wavefunction.alpha.coefficients)


@pytest.mark.slow
def test_orbitals_keep_their_identity_while_hydrogen_walks_from_carbon_to_nitrogen(tmp_path):
    found = ordered(tmp_path, hcn(180))
    for angle in range(172, -1, -8):
        before, found = found, ordered(tmp_path, hcn(angle), after=found)
        overlaps = orbital_overlaps(before, found)
        for name, first in before.first_names.items():
            now = next(one for one, then in found.first_names.items() if then == first)
            here, there = (int(one.removeprefix("mo:")) - 1 for one in (name, now))
            if here < 7:
                assert there < 7
                assert overlaps[here, there] > 0.7, f"{name} at {angle} degrees"


def test_fields_that_fail_are_errors_and_the_others_are_there(tmp_path):
    asked = (Request("", "mo:99", "coarse", device="cpu"), Request("", "lumo", "coarse", device="cpu"))
    missing, there = ordered(tmp_path, fields=asked).samples
    assert isinstance(missing, OrbitileError)
    assert "99" in str(missing)
    assert there.request.field == "mo:6"


def test_an_excited_state_gives_way_to_the_ground_state(tmp_path):
    """A beryllium atom put away from a hydrogen molecule: what is dragged along keeps the electrons of BeH2."""
    apart = "Be 2.1 0 0; H 0 0.39 0; H 0 -0.39 0"
    whole = ordered(tmp_path, "Be 0 0 0; H 0 1.27 0; H 0 -1.27 0")
    excited = ordered(tmp_path, apart, after=whole)
    assert not excited.is_compared
    assert excited.energy > energy_of(apart, STO) + 0.1, "it tests nothing"
    found = ordered(tmp_path, apart, after=excited, compares=True)
    assert found.energy == pytest.approx(energy_of(apart, STO), abs=1e-7)
    assert found.is_compared
    assert found.source != excited.source


def test_what_is_the_ground_state_stays(tmp_path):
    there = ordered(tmp_path)
    moved = WATER.replace("0.757", "0.8")
    found = ordered(tmp_path, moved, after=there)
    compared = ordered(tmp_path, moved, after=found, compares=True)
    assert compared.is_compared
    assert compared.source == found.source
    assert len(list(tmp_path.iterdir())) == 2
    again = ordered(tmp_path, moved, after=compared, fields=(Request("", "homo", "coarse", device="cpu"),))
    assert again.is_compared, "nobody has to compare it twice"


@pytest.mark.parametrize(
    ("text", "calculation", "what"),
    [
        ("O 0 0 0; H 0 0 0.001; H 0 0 1", STO, "atoms 1 and 2 are at one place"),
        (WATER, Calculation("hf", "sto-4711"), "sto-4711"),
        (WATER, Calculation("hf", "sto-3g", 1), "unpaired"),
    ],
)
def test_what_cannot_be_computed_is_told(tmp_path, text, calculation, what):
    with pytest.raises(OrbitileError, match=what):
        ordered(tmp_path, text, calculation)
    assert not list(tmp_path.iterdir())


def test_atoms_at_one_place_are_an_error_of_their_geometry(tmp_path):
    with pytest.raises(NotConverged):
        ordered(tmp_path, "H 0 0 0; H 0 0 0.001")


@pytest.mark.slow
def test_what_is_withdrawn_ends_at_once_and_leaves_no_thread(tmp_path):
    before, asked = threading.active_count(), []

    def is_withdrawn():
        asked.append(time.monotonic())
        return threading.active_count() > before  # PySCF has begun

    with pytest.raises(Cancelled), watched(cancelled=is_withdrawn):
        ordered(tmp_path, WATER, Calculation("hf", "cc-pvqz"))
    assert time.monotonic() - asked[-1] < 0.2
    until = time.monotonic() + 60
    while threading.active_count() > before:
        assert time.monotonic() < until, "PySCF goes on with what nobody wants"
        time.sleep(0.02)
    assert not list(tmp_path.iterdir())
