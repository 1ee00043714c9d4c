"""Charges from the potential, against fits of PySCF's potential that share nothing with ours."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

import orbitile as ob
from orbitile.analysis.charges import (
    POINTS_AN_AREA,
    chelpg_points,
    equal_atoms,
    equivalent_atoms,
    in_methyl_or_methylene,
    merz_kollman_points,
    potential_charges,
)
from orbitile.base.errors import OrbitileError
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
    """The points of CHELPG in bohr, and the parts of their cubes that count, by 27 parts of every cube."""
    coordinates = molecule.atom_coords()
    radii = [RADII[molecule.atom_symbol(n)] * angstrom for n in range(molecule.natm)]
    middle = (coordinates.max(axis=0) + coordinates.min(axis=0)) / 2
    half = (coordinates.max(axis=0) - coordinates.min(axis=0)) / 2 + 2.8 * angstrom
    step = 0.3 * angstrom
    ticks = [np.arange(-40, 41) * step for _ in range(3)]
    ticks = [axis[np.abs(axis) < edge + step] for axis, edge in zip(ticks, half, strict=True)]
    places = middle + np.array(list(product(*ticks)))
    counted, sums = np.zeros(len(places)), np.zeros(places.shape)
    for part in product((-step / 3, 0, step / 3), repeat=3):
        distances = np.linalg.norm(places[:, None] + part - coordinates, axis=2)
        counts = (distances.min(axis=1) <= 2.8 * angstrom) & np.all(distances >= radii, axis=1)
        counted += counts
        sums += counts[:, None] * np.array(part)
    there = counted > 0
    return places[there] + sums[there] / counted[there, None], counted[there] / 27


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


def fitted(field, points, weights):
    """Least squares with the last charge put in terms of the others."""
    values, inverse = potential(field, points)
    roots = np.sqrt(weights)
    values, inverse = values * roots, inverse * roots[:, None]
    columns = inverse[:, :-1] - inverse[:, -1:]
    others = np.linalg.lstsq(columns, values - field.mol.charge * inverse[:, -1], rcond=None)[0]
    charges = np.append(others, field.mol.charge - others.sum())
    return charges, np.sqrt(np.sum((values - inverse @ charges) ** 2) / weights.sum())


@pytest.mark.parametrize("case", ALL)
def test_chelpg(case):
    field, wavefunction = solved(*case)
    points = lattice(field.mol)
    expected, rms = fitted(field, *points)
    found = potential_charges(wavefunction, "chelpg", device="cpu")
    assert found.n_points == len(points[0])
    assert found.charges == pytest.approx(expected, abs=1e-6)
    assert found.rms_error == pytest.approx(rms, rel=1e-5)
    assert found.charges.sum() == pytest.approx(field.mol.charge, abs=1e-12)


@pytest.mark.parametrize("case", ALL)
def test_merz_kollman(case):
    field, wavefunction = solved(*case)
    points = merz_kollman_points(wavefunction.atomic_numbers, wavefunction.positions)
    found = potential_charges(wavefunction, "mk", device="cpu")
    assert found.charges == pytest.approx(fitted(field, *points)[0], abs=1e-6)


def restrained(field, points, classes, free, start, strength):
    """The minimum of Bayly's functional by a general minimiser: a charge for each class of free atoms."""
    values, inverse = potential(field, points[0])
    roots = np.sqrt(points[1])
    values, inverse = values * roots, inverse * roots[:, None]
    numbers = field.mol.atom_charges()
    names = sorted({classes[n] for n in np.flatnonzero(free)})
    spread = np.array([[float(free[n] and classes[n] == name) for name in names] for n in range(len(classes))])
    kept = np.where(free, 0.0, start)

    def functional(some):
        charges = kept + spread @ some
        hyperbola = np.sqrt(charges**2 + 0.01) - 0.1
        left = values - inverse @ charges
        return left @ left + 2 * strength * hyperbola[numbers > 1].sum()

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
    found = potential_charges(wavefunction, "resp", device="cpu")
    assert found.charges == pytest.approx(charges, abs=5e-5)
    assert found.charges.sum() == pytest.approx(field.mol.charge, abs=1e-12)


@pytest.mark.slow
def test_alike_atoms_have_equal_charges():
    charges = potential_charges(solved(*CASES["alcohol"])[1], "resp", device="cpu").charges
    assert charges[3:6] == pytest.approx(np.full(3, charges[3]), abs=1e-12)
    assert charges[6] == pytest.approx(charges[7], abs=1e-12)
    assert charges[0] != pytest.approx(charges[1], abs=0.01)


def test_dipole_moments():
    """With its constraint the charges have that of the molecule; one atom cannot."""
    field, wavefunction = solved(*CASES["water"])
    exact = field.dip_moment(unit="AU", verbose=0)
    held = potential_charges(wavefunction, "chelpg", dipole=True, device="cpu").charges
    assert held @ wavefunction.positions == pytest.approx(exact, abs=1e-7)
    assert held.sum() == pytest.approx(0, abs=1e-10)
    free = potential_charges(wavefunction, "chelpg", device="cpu").charges
    assert np.abs(free @ wavefunction.positions - exact).max() > 1e-3


def test_dipoles_that_no_charges_have():
    """Functions of a ghost draw electrons out of the plane of the nuclei."""
    _, wavefunction = solved("O 0 0 0; H 0 .76 -.48; H 0 -.76 -.48; ghost-H .9 0 0", "6-31g")
    with pytest.raises(OrbitileError, match="cannot have the dipole moment"):
        potential_charges(wavefunction, "mk", dipole=True, device="cpu")


@pytest.mark.parametrize("atoms", ["Ne 0 0 0", "He 0.3 0.1 0.2"])
def test_one_atom(atoms):
    for scheme in ("chelpg", "mk", "resp"):
        assert potential_charges(solved(atoms)[1], scheme, device="cpu").charges == pytest.approx([0], abs=1e-12)


def test_ghosts_have_no_charge():
    _, wavefunction = solved("H 0 0 0; F 0 0 .92; ghost-H 0 0 2.5")
    found = potential_charges(wavefunction, "resp", device="cpu")
    assert found.charges[2] == 0
    assert found.charges[0] == pytest.approx(-found.charges[1], abs=1e-12)
    assert found.charges[0] > 0.2


def test_only_ghosts():
    _, wavefunction = solved("He 0 0 0")
    ghost = replace(wavefunction, atomic_numbers=np.array([0]), core_charges=np.array([0.0]))
    with pytest.raises(OrbitileError, match="not a ghost"):
        potential_charges(ghost, "chelpg", device="cpu")


def test_hyperbolas_that_do_not_settle(monkeypatch):
    monkeypatch.setattr("orbitile.analysis.charges._MOST_ROUNDS", 1)
    with pytest.raises(OrbitileError, match="did not converge"):
        potential_charges(solved(*CASES["water"])[1], "resp", device="cpu")


# Points and equivalent atoms --------------------------------------------------------------------------------------


def test_points_are_where_they_are_said_to_be():
    numbers, positions = np.array([92, 8, 1]), np.array([[0, 0, 0], [0, 0, 3.4], [1.5, 0, 4.5]])
    for points, weights in (chelpg_points(numbers, positions), merz_kollman_points(numbers, positions)):
        distances = np.linalg.norm(points[:, None] - positions, axis=2) / angstrom
        assert np.all(distances >= np.array([2.7, 1.39, 1.19]) - 0.05)  # middles of what is left of cells
        assert np.average(np.any(distances < [2.7, 1.39, 1.19], axis=1), weights=weights) < 0.002
        assert len(points) > 1000
    points, weights = chelpg_points(numbers, positions)
    assert np.linalg.norm(points[:, None] - positions, axis=2).min(axis=1).max() <= 2.81 * angstrom
    assert weights.max() == 1.0
    once, twice = (merz_kollman_points(numbers, positions, n * POINTS_AN_AREA) for n in (1, 2))
    assert len(twice[0]) == pytest.approx(2 * len(once[0]), rel=0.05)
    assert twice[1].sum() == pytest.approx(once[1].sum(), rel=1e-3)


def test_weights_are_areas_and_volumes():
    """Of two spheres that cut each other, outside of each other."""
    numbers, distance = np.array([1, 1]), 1.2
    positions = np.array([[0, 0, 0], [0, 0, distance * angstrom]])
    radii = 1.2 * np.array([1.4, 1.6, 1.8, 2.0])
    exposed = 2 * (2 * np.pi * radii * (radii + distance / 2)).sum()
    assert merz_kollman_points(numbers, positions)[1].sum() == pytest.approx(exposed, rel=1e-3)

    def both(radius):  # the volume of two balls
        cap = radius - distance / 2
        return 2 * (4 / 3 * np.pi * radius**3 - np.pi * cap**2 * (3 * radius - cap) / 3)

    assert chelpg_points(numbers, positions)[1].sum() * 0.3**3 == pytest.approx(both(2.8) - both(1.45), rel=3e-3)


@pytest.mark.parametrize(("scheme", "limit"), [("mk", 2e-3), pytest.param("chelpg", 8e-3, marks=pytest.mark.slow)])
def test_equal_atoms_have_equal_charges_however_they_lie(scheme, limit):
    """The anion of cyclopentadiene."""
    angles = 2 * np.pi * np.arange(5) / 5 + 0.3
    ring = "; ".join(f"{s} {r * np.cos(t)} {r * np.sin(t)} 0" for t in angles for s, r in (("C", 1.21), ("H", 2.29)))
    found = potential_charges(solved(ring, "sto-3g", -1)[1], scheme, device="cpu")
    carbons, hydrogens = found.charges[::2], found.charges[1::2]
    assert np.ptp(carbons) < limit
    assert np.ptp(hydrogens) < limit / 2
    assert found.spread == pytest.approx(max(np.ptp(carbons), np.ptp(hydrogens)), abs=1e-12)


def test_equal_atoms():
    _, wavefunction = solved(ETHANOL)
    assert len(set(equal_atoms(wavefunction.atomic_numbers, wavefunction.positions).tolist())) == 9
    numbers = np.array([8, 1, 1, 1])
    positions = np.array([[0, 0, 0], [1.8, 0, 0], [-1.8, 0, 0], [0, 0, 1.8]])
    assert equal_atoms(numbers, positions).tolist() == [0, 1, 1, 2]


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
    assert report.table("fit")["spread"][0] < 2e-3
    assert report.drawings[0].values == tuple(report.table("atoms")["charge"])
    with pytest.raises(OrbitileError, match="dipole: expected 0"):
        ob.charges(wavefunction, scheme="resp", dipole=True)
