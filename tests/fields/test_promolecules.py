"""Fields of free atoms, and between fragments, against plain sums."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import FieldError, FileError
from orbitile.evaluation.requests import field_of
from orbitile.fields import as_drawn
from orbitile.gaussians.promolecule import promolecule
from orbitile.model.free_atoms import free_atom
from orbitile.model.geometry import Geometry
from orbitile.model.units import angstrom
from orbitile.readers.promolecule import write_promolecule

WATERS = np.array([
    [0, 0, 0], [0.76, 0.59, 0], [-0.76, 0.59, 0], [0, -2.9, 0], [0, -1.95, 0.1], [0.5, -3.2, 0.8]
]) * angstrom  # fmt: skip
NUMBERS = np.array([8, 1, 1, 8, 1, 1])
POINTS = np.random.default_rng(5).normal(size=(300, 3)) * 3 + WATERS.mean(axis=0)


def plain(numbers, positions, points):
    """Density and gradient of free atoms, with loops."""
    density, gradient = np.zeros(len(points)), np.zeros((len(points), 3))
    for number, position in zip(numbers, positions, strict=True):
        atom = free_atom(int(number))
        for a, n in zip(atom.exponents, atom.electrons, strict=True):
            apart = points - position
            value = n * (a / np.pi) ** 1.5 * np.exp(-a * (apart**2).sum(axis=1))
            density += value
            gradient += -2 * a * value[:, None] * apart
    return density, gradient


def lost(one, other):
    length = np.linalg.norm
    return length(one, axis=1) + length(other, axis=1) - length(one + other, axis=1)


@pytest.fixture(scope="module")
def dimer():
    return promolecule(Geometry(NUMBERS, WATERS))


def value(wavefunction, field, points=POINTS):
    return ob.evaluate(wavefunction, field, points, device="cpu", precision="double")


def test_a_promolecule_has_the_density_of_its_atoms(dimer):
    density, gradient = plain(NUMBERS, WATERS, POINTS)
    assert np.allclose(value(dimer, "density"), density, atol=1e-9)
    assert np.allclose(value(dimer, "gradient:y"), gradient[:, 1], atol=1e-9)
    assert (dimer.n_electrons, dimer.charge) == (20, 0)


def test_on_a_lattice_a_density_comes_from_tables():
    numbers = np.array([8, 1, 1, 16, 1, 55])
    atoms = promolecule(Geometry(numbers, WATERS))
    lattice = ob.enclosing_lattice(atoms, "density", 1e-4, spacing=0.9)
    volume = ob.compute(atoms, "density", lattice, device="cpu")
    expected = plain(numbers, WATERS, lattice.points())[0].reshape(lattice.shape)
    assert np.all(np.abs(volume.values - expected) < 2e-7 + 2e-6 * expected)
    assert max(np.delete(expected, np.s_[1:-1], axis).max() for axis in range(3)) < 1e-4


def test_the_potential_of_partial_charges(tmp_path, dimer):
    charges = np.array([-0.8, 0.4, 0.4, -0.8, 0.4, 0.5])
    write_promolecule(tmp_path / "dimer.promolecule", Geometry(NUMBERS, WATERS), charges)
    atoms = ob.load(tmp_path / "dimer.promolecule")
    expected = (charges / np.linalg.norm(POINTS[:, None] - WATERS, axis=2)).sum(axis=1)
    assert np.allclose(value(atoms, "esp"), expected, rtol=1e-6)
    (tmp_path / "one.xyzq").write_text("0 0 0 2\n")
    assert np.allclose(value(dimer, f"esp:{tmp_path}/one.xyzq"), 2 / np.linalg.norm(POINTS, axis=1))
    with pytest.raises(FieldError, match=r"partial charges.*PDB2PQR"):
        value(dimer, "esp")


def test_of_a_large_structure_what_is_near_counts(dimer):
    far = np.random.default_rng(2).uniform(60, 90, (500, 3))
    large = promolecule(Geometry(np.append(NUMBERS, np.full(500, 6)), np.concatenate([WATERS, far])))
    for field in ("igm:1-3", "rdg:1-3", "nci:1-3"):
        assert len(field_of(large, field).parts[0]) == len(field_of(dimer, field).parts[0])
        assert np.allclose(value(large, field), value(dimer, field))


def test_igm_is_what_gradients_take_from_each_other(dimer):
    expected = lost(plain(NUMBERS[:3], WATERS[:3], POINTS)[1], plain(NUMBERS[3:], WATERS[3:], POINTS)[1])
    assert expected.max() > 0.01
    assert np.allclose(value(dimer, "igm:1-3"), expected, atol=1e-6)
    assert np.allclose(value(dimer, "igm:4-6"), expected, atol=1e-6)
    assert np.allclose(value(dimer, "igmh:1-3"), expected, atol=1e-6)  # free atoms share as they are


def test_igmh_shares_out_the_density_of_the_molecule(benzene):
    points = POINTS / 2 + benzene.positions.mean(axis=0)
    density = value(benzene, "density", points)
    slope = np.stack([value(benzene, f"gradient:{axis}", points) for axis in "xyz"], axis=1)
    one = plain(benzene.atomic_numbers[:3], benzene.positions[:3], points)
    rest = plain(benzene.atomic_numbers[3:], benzene.positions[3:], points)
    total, total_slope = one[0] + rest[0], one[1] + rest[1]
    share = one[0] / total
    change = (one[1] - share[:, None] * total_slope) / total[:, None]
    first = share[:, None] * slope + density[:, None] * change
    expected = lost(first, slope - first)
    assert np.allclose(value(benzene, "igmh:1-3", points), expected, atol=1e-6 * max(1.0, expected.max()))


def test_nothing_is_between_what_is_far_apart():
    pair = promolecule(Geometry(np.array([2, 10]), np.array([[0, 0, 0], [40.0, 0, 0]])))
    line = np.linspace(0.5, 39.5, 50)[:, None] * np.array([[1.0, 0, 0]])
    assert np.abs(value(pair, "igm:1", line)).max() < 1e-9
    assert value(pair, "rdg:1", line).min() > 0.5


def test_two_atoms_cancel_in_the_middle():
    pair = promolecule(Geometry(np.array([18, 18]), np.array([[0, 0, -3.0], [0, 0, 3.0]])))
    middle = np.zeros((1, 3))
    slope = np.linalg.norm(plain([18], np.array([[0, 0, 3.0]]), middle)[1])
    assert value(pair, "igm:1", middle)[0] == pytest.approx(2 * slope, abs=1e-9)
    assert value(pair, "rdg", middle)[0] < 1e-3 or value(pair, "density", middle)[0] > 0.05
    assert value(pair, "nci:1", middle)[0] < 0  # the middle eigenvalue of a closed-shell contact is negative


def test_reduced_gradient_between_fragments_leaves_out_what_is_within_one(dimer):
    near_bond = WATERS[0] + (WATERS[1] - WATERS[0]) * np.linspace(0.2, 1.5, 30)[:, None]
    assert value(dimer, "rdg:1-3", near_bond).min() >= value(dimer, "rdg", near_bond).min()
    between = WATERS[0] + (WATERS[4] - WATERS[0]) * np.linspace(0.4, 0.8, 40)[:, None]
    assert np.allclose(value(dimer, "rdg:1-3", between).min(), value(dimer, "rdg", between).min(), atol=1e-6)


def test_the_box_between_fragments_holds_the_surface(dimer):
    field = field_of(dimer, "igm:1-3")
    low, high = field.enclosing_box(0.005)
    outside = np.any((low > POINTS) | (high < POINTS), axis=1)
    assert outside.any()
    assert value(dimer, field)[outside].max() < 0.005


def test_convention_of_colours():
    assert as_drawn("nci:1-3") == ("rdg:1-3", "nci:1-3")
    assert as_drawn("igm:1-3") == ("igm:1-3", "nci:1-3")
    assert as_drawn("igm:1-3", "esp") == ("igm:1-3", "esp")
    assert as_drawn("density", "esp") == ("density", "esp")


@pytest.mark.parametrize("field", ["igm:1-6", "igm:", "igm:0", "igmh:7", "rdg:x", "nci:1-6", "igm"])
def test_fragments_that_are_none_are_refused(dimer, field):
    with pytest.raises(FieldError, match="expected"):
        field_of(dimer, field)


@pytest.mark.parametrize("field", ["homo", "mo:1", "spin", "density:alpha", "elf", "kinetic", "ionisation"])
def test_free_atoms_have_no_orbitals(dimer, field):
    with pytest.raises(FieldError):
        value(dimer, field)


def test_ghosts_are_no_free_atoms():
    atoms = promolecule(Geometry(np.array([0, 8]), np.array([[0, 0, 0.0], [0, 0, 3.0]])))
    assert atoms.n_electrons == 8
    with pytest.raises(FieldError, match="no nucleus"):
        field_of(atoms, "igm:1")


def test_a_file_of_free_atoms_is_loaded(tmp_path, dimer):
    write_promolecule(tmp_path / "dimer.promolecule", Geometry(NUMBERS, WATERS))
    again = ob.load(tmp_path / "dimer.promolecule")
    assert again.promolecule
    assert np.allclose(again.positions, WATERS, atol=1e-7)
    assert np.allclose(value(again, "density"), value(dimer, "density"), atol=1e-6)


@pytest.mark.parametrize("line", ["O 0 0", "O 0 0 0 0.5", "Qq 0 0 0", "O 0 0 zero", "O 0 0 nan", "Rf 0 0 0"])
def test_damaged_files_of_free_atoms_are_refused(tmp_path, line):
    path = tmp_path / "bad.promolecule"
    path.write_text(f"orbitile promolecule\nH 0 0 5\n{line}\n")
    with pytest.raises(FileError):
        ob.load(path)
