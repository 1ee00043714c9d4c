"""Charges from the potential, against fits of PySCF's potential that share nothing with ours."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

import orbitile as ob
from orbitile.analysis.charges import potential_fit
from orbitile.analysis.charges.equivalence import equivalent_atoms, in_methyl_or_methylene
from orbitile.analysis.charges.potential_fit import chelpg_charges, merz_kollman_charges, resp_charges
from orbitile.analysis.charges.potential_points import POINTS_AN_AREA, chelpg_points, merz_kollman_points
from orbitile.errors import OrbitileError
from orbitile.model.units import angstrom

from .samples import ETHANOL, FORMATE, METHYL, WATER, density_matrices, solved

NITRITE = "N 0 0 0; O 0 1.05 .57; O .1 -1.05 .57"
CASES = {
    "water": (WATER,),
    "anion": (FORMATE, "6-31g*", -1),
    "nitrite": (NITRITE, "6-31g*", -1),
    "radical": (METHYL, "6-31g", 0, 1),
    "alcohol": (ETHANOL, "6-31g*"),
}
ALL = [pytest.param(case, id=name, marks=[pytest.mark.slow] * (name != "water")) for name, case in CASES.items()]
RADII = {"H": 1.45, "C": 1.5, "N": 1.7, "O": 1.7}


def lattice(molecule):
    """The points of CHELPG, one after the other, in bohr."""
    coordinates = molecule.atom_coords()
    radii = [RADII[molecule.atom_symbol(n)] * angstrom for n in range(molecule.natm)]
    middle = (coordinates.max(axis=0) + coordinates.min(axis=0)) / 2
    half = (coordinates.max(axis=0) - coordinates.min(axis=0)) / 2 + 2.8 * angstrom
    step = 0.3 * angstrom
    ticks = [np.arange(-40, 41) * step for _ in range(3)]
    ticks = [axis[np.abs(axis) < edge + step] for axis, edge in zip(ticks, half, strict=True)]
    places = middle + np.array(list(product(*ticks)))
    distances = np.linalg.norm(places[:, None] - coordinates, axis=2)
    return places[(distances.min(axis=1) <= 2.8 * angstrom) & np.all(distances >= radii, axis=1)]


def potential(field, points):
    """Of nuclei and electrons, by PySCF's integrals."""
    molecule = field.mol
    distances = np.linalg.norm(points[:, None] - molecule.atom_coords(), axis=2)
    values = (molecule.atom_charges() / distances).sum(axis=1)
    matrix = density_matrices(field)[0]
    for first in range(0, len(points), 500):
        integrals = molecule.intor("int1e_grids", grids=points[first : first + 500])
        values[first : first + 500] -= np.einsum("gij,ij->g", integrals, matrix)
    return values, 1 / distances


def fitted(field, points):
    """Least squares with the last charge put in terms of the others."""
    values, inverse = potential(field, points)
    columns = inverse[:, :-1] - inverse[:, -1:]
    others = np.linalg.lstsq(columns, values - field.mol.charge * inverse[:, -1], rcond=None)[0]
    charges = np.append(others, field.mol.charge - others.sum())
    return charges, np.sqrt(np.mean((values - inverse @ charges) ** 2))


@pytest.mark.parametrize("case", ALL)
def test_chelpg(case):
    field, wavefunction = solved(*case)
    points = lattice(field.mol)
    expected, rms = fitted(field, points)
    found = chelpg_charges(wavefunction, device="cpu")
    assert found.n_points == len(points)
    assert found.charges == pytest.approx(expected, abs=1e-6)
    assert found.rms_error == pytest.approx(rms, rel=1e-5)
    assert found.charges.sum() == pytest.approx(field.mol.charge, abs=1e-12)


@pytest.mark.parametrize("case", ALL)
def test_merz_kollman(case):
    field, wavefunction = solved(*case)
    points = merz_kollman_points(wavefunction.atomic_numbers, wavefunction.positions)
    found = merz_kollman_charges(wavefunction, device="cpu")
    assert found.charges == pytest.approx(fitted(field, points)[0], abs=1e-6)


def restrained(field, points, classes, free, start, strength):
    """The minimum of Bayly's functional by a general minimiser: a charge for each class of free atoms."""
    values, inverse = potential(field, points)
    numbers = field.mol.atom_charges()
    names = sorted({classes[n] for n in np.flatnonzero(free)})
    spread = np.array([[float(free[n] and classes[n] == name) for name in names] for n in range(len(classes))])
    kept = np.where(free, 0.0, start)

    def functional(some):
        charges = kept + spread @ some
        hyperbola = np.sqrt(charges**2 + 0.01) - 0.1
        left = values - inverse @ charges
        return left @ left / POINTS_AN_AREA + 2 * strength * hyperbola[numbers > 1].sum()

    whole = {"type": "eq", "fun": lambda some: (kept + spread @ some).sum() - field.mol.charge}
    options = {"maxiter": 1000, "ftol": 1e-15}
    found = minimize(functional, spread.T @ start / spread.sum(axis=0), constraints=[whole], options=options)
    return kept + spread @ found.x


@pytest.mark.parametrize(
    "case", [CASES["water"], pytest.param(CASES["alcohol"], marks=pytest.mark.slow)], ids=["water", "alcohol"]
)
def test_resp(case):
    """Both stages by a general minimiser, with atoms that are alike written down by hand."""
    field, wavefunction = solved(*case)
    points = merz_kollman_points(wavefunction.atomic_numbers, wavefunction.positions)
    n_atoms = wavefunction.n_atoms
    charges = np.full(n_atoms, field.mol.charge / n_atoms)
    alone = {"water": (0, 1, 1), "alcohol": range(9)}["water" if n_atoms == 3 else "alcohol"]
    charges = restrained(field, points, list(alone), np.ones(n_atoms, bool), charges, 0.0005)
    if n_atoms == 9:
        groups = np.array([1, 1, 0, 1, 1, 1, 1, 1, 0], bool)
        charges = restrained(field, points, [0, 1, 2, 3, 3, 3, 4, 4, 5], groups, charges, 0.001)
    found = resp_charges(wavefunction, device="cpu")
    assert found.charges == pytest.approx(charges, abs=5e-5)
    assert found.charges.sum() == pytest.approx(field.mol.charge, abs=1e-12)


@pytest.mark.slow
def test_alike_atoms_have_equal_charges():
    charges = resp_charges(solved(*CASES["alcohol"])[1], device="cpu").charges
    assert charges[3:6] == pytest.approx(np.full(3, charges[3]), abs=1e-12)
    assert charges[6] == pytest.approx(charges[7], abs=1e-12)
    assert charges[0] != pytest.approx(charges[1], abs=0.01)


def test_dipole_moments():
    """With its constraint the charges have that of the molecule; one atom cannot."""
    field, wavefunction = solved(*CASES["water"])
    exact = field.dip_moment(unit="AU", verbose=0)
    held = chelpg_charges(wavefunction, dipole=True, device="cpu").charges
    assert held @ wavefunction.positions == pytest.approx(exact, abs=1e-7)
    assert held.sum() == pytest.approx(0, abs=1e-10)
    free = chelpg_charges(wavefunction, device="cpu").charges
    assert np.abs(free @ wavefunction.positions - exact).max() > 1e-3


def test_dipoles_that_no_charges_have():
    """Functions of a ghost draw electrons out of the plane of the nuclei."""
    _, wavefunction = solved("O 0 0 0; H 0 .76 -.48; H 0 -.76 -.48; ghost-H .9 0 0", "6-31g")
    with pytest.raises(OrbitileError, match="cannot have the dipole moment"):
        merz_kollman_charges(wavefunction, dipole=True, device="cpu")


@pytest.mark.parametrize("atoms", ["Ne 0 0 0", "He 0.3 0.1 0.2"])
def test_one_atom(atoms):
    for charges in (chelpg_charges, merz_kollman_charges, resp_charges):
        assert charges(solved(atoms)[1], device="cpu").charges == pytest.approx([0], abs=1e-12)


def test_ghosts_have_no_charge():
    _, wavefunction = solved("H 0 0 0; F 0 0 .92; ghost-H 0 0 2.5")
    found = resp_charges(wavefunction, device="cpu")
    assert found.charges[2] == 0
    assert found.charges[0] == pytest.approx(-found.charges[1], abs=1e-12)
    assert found.charges[0] > 0.2


def test_only_ghosts():
    _, wavefunction = solved("He 0 0 0")
    ghost = replace(wavefunction, atomic_numbers=np.array([0]), core_charges=np.array([0.0]))
    with pytest.raises(OrbitileError, match="no ghost"):
        chelpg_charges(ghost, device="cpu")


def test_hyperbolas_that_do_not_settle(monkeypatch):
    monkeypatch.setattr(potential_fit, "_MOST_ROUNDS", 1)
    with pytest.raises(OrbitileError, match="did not settle"):
        resp_charges(solved(*CASES["water"])[1], device="cpu")


# Points and equivalent atoms --------------------------------------------------------------------------------------


def test_points_are_where_they_are_said_to_be():
    numbers, positions = np.array([92, 8, 1]), np.array([[0, 0, 0], [0, 0, 3.4], [1.5, 0, 4.5]])
    for points in (chelpg_points(numbers, positions), merz_kollman_points(numbers, positions)):
        distances = np.linalg.norm(points[:, None] - positions, axis=2) / angstrom
        assert np.all(distances >= [2.7, 1.39, 1.19])
        assert len(points) > 1000
    lattice_points = chelpg_points(numbers, positions)
    assert np.linalg.norm(lattice_points[:, None] - positions, axis=2).min(axis=1).max() <= 2.8 * angstrom
    twice = merz_kollman_points(numbers, positions, 2 * POINTS_AN_AREA)
    assert len(twice) == pytest.approx(2 * len(merz_kollman_points(numbers, positions)), rel=0.05)


def test_equivalent_atoms():
    _, wavefunction = solved(ETHANOL)
    classes = equivalent_atoms(wavefunction.atomic_numbers, wavefunction.positions).tolist()
    assert len(set(classes)) == 6
    assert classes[3] == classes[4] == classes[5] != classes[6] == classes[7] != classes[8]
    groups = in_methyl_or_methylene(wavefunction.atomic_numbers, wavefunction.positions)
    assert groups.tolist() == [True, True, False, *[True] * 5, False]


def test_molecules_side_by_side_are_not_alike():
    numbers = np.array([8, 1, 1, 8, 1, 1])
    water = np.array([[0, 0, 0.11], [0, 0.76, -0.48], [0, -0.76, -0.48]]) * angstrom
    classes = equivalent_atoms(numbers, np.vstack([water, water + np.array([6.0, 0, 0])]))
    assert len(set(classes.tolist())) == 4
    assert classes[1] == classes[2] != classes[4] == classes[5]


def test_the_report():
    wavefunction = solved(*CASES["water"])[1]
    report = ob.charges(wavefunction, scheme="chelpg", dipole=True, device="cpu")
    (closure,) = report.table("atoms").closures
    assert closure.error == pytest.approx(0, abs=1e-10)
    assert report.table("fit")["points"][0] > 1000
    assert report.drawings[0].values == tuple(report.table("atoms")["charge"])
    with pytest.raises(OrbitileError, match="dipole: expected 0"):
        ob.charges(wavefunction, scheme="resp", dipole=True)
