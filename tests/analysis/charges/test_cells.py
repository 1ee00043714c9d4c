"""Becke's, Hirshfeld's and CM5 charges against PySCF's quadrature with the same free atoms; MBIS against denspart."""

import sys
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import orbitile as ob
from orbitile.analysis import reports
from orbitile.analysis.charges import (
    _shared_by_ions,
    _Table,
    atomic_charges,
    charges_by_schemes,
    cm5_corrections,
    hirshfeld_i_populations,
    hirshfeld_populations,
    mbis_shells,
    sampled_density,
)
from orbitile.analysis.reports import charges as charges_report
from orbitile.gaussians.promolecule import promolecule
from orbitile.model.elements import SYMBOLS
from orbitile.model.free_atoms import free_atom, free_ion
from orbitile.model.geometry import Geometry
from orbitile.model.units import angstrom

from .samples import FORMATE, METHYL, WATER, density_matrices, solved

CASES = {
    "water": (WATER,),
    "anion": (FORMATE, "6-31+g*", -1),
    "radical": (METHYL, "6-31g*", 0, 1),
    "triplet": ("O 0 0 0; O 0 0.2 1.2", "6-31g", 0, 2),
    "core potential": ("Au 0 0 0; Cl 0 0 2.25", "lanl2dz", 0, 0, "lanl2dz"),
    "heavy": ("H 0 0 1.609; I 0 0 0", "sto-3g"),
}
ALL = [pytest.param(case, id=name, marks=[pytest.mark.slow] * (name != "water")) for name, case in CASES.items()]


def quadrature(field, level, **cells):
    """Points, weights, total and spin density by PySCF."""
    from pyscf import dft

    grids = dft.gen_grid.Grids(field.mol)
    tables = grids.gen_atomic_grids(field.mol, level=level, prune=None)
    points, weights = grids.get_partition(field.mol, tables, concat=False, **cells)
    atom = np.repeat(np.arange(field.mol.natm), [len(one) for one in points])
    points = np.concatenate(points)
    densities = [
        np.concatenate(
            [
                dft.numint.eval_rho(field.mol, dft.numint.eval_ao(field.mol, some), matrix)
                for some in np.array_split(points, 1 + len(points) // 5000)
            ]
        )
        for matrix in density_matrices(field)
    ]
    return points, np.concatenate(weights), atom, densities


@pytest.mark.parametrize("case", ALL)
def test_hirshfeld(case):
    """The density itself, with cores of free atoms, is integrated on a fine grid, not what differs from free atoms."""
    field, wavefunction = solved(*case)
    points, weights, _, densities = quadrature(field, 5)
    molecule = field.mol
    numbers = [SYMBOLS.index(molecule.atom_pure_symbol(n)) for n in range(molecule.natm)]
    distances = [np.linalg.norm(points - place, axis=1) for place in molecule.atom_coords()]
    parts = [free_atom(number).density(away) for number, away in zip(numbers, distances, strict=True)]
    cores = [number - molecule.atom_charge(n) for n, number in enumerate(numbers)]
    for n in np.flatnonzero(cores):
        densities[0] += parts[n] - free_atom(numbers[n], cores[n]).density(distances[n])
    shares = np.array(parts) / np.maximum(np.sum(parts, axis=0), 1e-200)
    found = atomic_charges(wavefunction, "hirshfeld", device="cpu")
    assert found.charges == pytest.approx(numbers - shares @ (weights * densities[0]), abs=1e-4)
    assert found.charges.sum() == pytest.approx(molecule.charge, abs=1e-4)
    if molecule.spin:
        assert found.spins == pytest.approx(shares @ (weights * densities[1]), abs=1e-4)


@pytest.mark.parametrize("case", ALL[:-2])
def test_iterative_hirshfeld(case):
    """The shares of the free ions with the charges that are found give these charges back, on a fine grid of PySCF."""
    field, wavefunction = solved(*case)
    points, weights, _, (density, spin_density) = quadrature(field, 5)
    molecule = field.mol
    found = atomic_charges(wavefunction, "hirshfeld_i", device="cpu")
    numbers = molecule.atom_charges()
    distances = [np.linalg.norm(points - place, axis=1) for place in molecule.atom_coords()]
    parts = [
        free_ion(int(number), charge).density(away)
        for number, charge, away in zip(numbers, found.charges, distances, strict=True)
    ]
    shares = np.array(parts) / np.maximum(np.sum(parts, axis=0), 1e-200)
    assert found.charges == pytest.approx(numbers - shares @ (weights * density), abs=2e-4)
    assert found.charges.sum() == pytest.approx(molecule.charge, abs=5e-4)
    if molecule.spin:
        assert found.spins == pytest.approx(shares @ (weights * spin_density), abs=2e-4)


@cache
def small_profile(number, charge):
    """Spherical average of the density by unrestricted Hartree-Fock in STO-3G, as a function of the distance."""
    from pyscf import dft

    spin = {(1, 0): 1, (1, -1): 0, (8, 0): 2, (8, -1): 1}[number, charge]
    field = solved(f"{SYMBOLS[number]} 0 0 0", "sto-3g", charge, spin)[0]
    radii, sphere = np.linspace(0, 20, 2001), dft.gen_grid.MakeAngularGrid(26)
    points = (radii[:, None, None] * sphere[:, :3]).reshape(-1, 3)
    density = dft.numint.eval_rho(field.mol, dft.numint.eval_ao(field.mol, points), density_matrices(field)[0])
    return CubicSpline(radii, density.reshape(len(radii), -1) @ sphere[:, 3])


@dataclass(frozen=True)
class SmallIon:
    """Between two of these; a proton has no density."""

    number: int
    charge: float

    def density(self, distances):
        below = int(np.floor(self.charge))
        shares = {below: 1 - (self.charge - below), below + 1: self.charge - below}
        near = np.minimum(distances, 20)
        none = np.zeros_like(distances)
        return none + sum(
            share * small_profile(self.number, q)(near) for q, share in shares.items() if q < min(self.number, 1)
        )

    def slope(self, distances):
        return (self.density(distances + 1e-4) - self.density(np.maximum(distances - 1e-4, 0))) / (
            distances + 1e-4 - np.maximum(distances - 1e-4, 0)
        )


def test_iterative_hirshfeld_of_another_program(monkeypatch):
    """HF/STO-3G with free ions in the same basis set: charges by HiPart, from HORTON's test_hirshfeld_i.py."""
    wavefunction = solved("O 0 0 0; H 0 0 .95; H .89567 0 -.31666")[1]
    monkeypatch.setattr("orbitile.analysis.charges.free_ion", SmallIon)
    monkeypatch.setattr("orbitile.analysis.charges.free_atom", lambda number: SmallIon(number, 0))
    sampled = sampled_density(wavefunction, device="cpu")
    found = hirshfeld_i_populations(wavefunction, sampled)[0]
    assert wavefunction.core_charges - found == pytest.approx([-0.4214, 0.2107, 0.2107], abs=1e-3)


@pytest.mark.slow
def test_iterative_hirshfeld_with_a_core():
    """With a core of 28 electrons iodine has nearly the charge that it has with all of them."""
    every, outer = (
        atomic_charges(solved("H 0 0 1.609; I 0 0 0", basis, ecp=ecp)[1], "hirshfeld_i", device="cpu").charges
        for basis, ecp in (("dzp", ""), ("def2-svp", "def2-svp"))
    )
    assert outer == pytest.approx(every, abs=0.04)


@pytest.mark.parametrize(("number", "core"), [(1, 0), (8, 0), (79, 0), (53, 28)])
def test_tables_of_free_atoms(number, core):
    """From the nucleus to the end, against sums of Gaussians."""
    atom = free_atom(number, core)
    table = _Table.of(atom)
    distances = np.concatenate([np.geomspace(1e-6, 1, 997), np.linspace(1, table.end, 997)[:-1]])
    exact = np.maximum(atom.density(distances), 0)
    found = table.density(distances[:, None] * [0.6, 0, -0.8])
    assert np.all(np.abs(found - exact) < 1e-4 * exact + 1e-20)
    away = distances > 0.01
    assert np.all(np.abs(found - exact)[away] < 2e-6 * exact[away] + 1e-20)
    assert exact[distances < table.reach].min() > 1e-11
    assert table.density(np.array([[0, 1.01 * table.end, 0]]))[0] == 0


@pytest.mark.parametrize("charges", [[0.0, 0.0, 0.0], [-0.7, 0.3, 0.4]])
def test_shares_by_the_kernel_are_those_by_numpy(charges):
    """With other lists of what is near; electrons far out are shared too."""
    wavefunction = solved("O 0 0 0; H 0 0 .95; H .89567 0 -.31666", "6-31++g")[1]
    sampled = sampled_density(wavefunction, device="cpu", level=1)
    found, expected = (
        _shared_by_ions(wavefunction, replace(sampled, device=device), np.array(charges))
        for device in ("cpu", "vulkan")
    )
    assert found == pytest.approx(expected, abs=1e-7)
    assert found[0] != pytest.approx(wavefunction.core_charges - np.array(charges), abs=0.01)


def test_free_ions():
    """Electrons, a density between those of neighbours, and more beyond the last ion."""
    for charge in (-2.3, -0.4, 0, 0.25, 1, 3.6, 5):
        assert free_ion(8, charge).electrons.sum() == pytest.approx(8 - charge, abs=1e-6)
    radii = np.linspace(0.1, 6, 30)
    ends = [free_ion(17, charge).density(radii) for charge in (-1, 0)]
    assert free_ion(17, -0.75).density(radii) == pytest.approx(0.75 * ends[0] + 0.25 * ends[1], abs=1e-12)
    assert free_ion(1, 1).density(radii) == pytest.approx(0, abs=0)
    with pytest.raises(ob.errors.OrbitileError, match=r"from H \(1\) to Xe \(54\), got Au"):
        free_ion(79, 0.5)
    with pytest.raises(ob.errors.OrbitileError, match="a charge of 3 at most"):
        free_ion(3, 3.5)


def test_ions_that_do_not_converge(monkeypatch):
    monkeypatch.setattr("orbitile.analysis.charges._MOST_ROUNDS_OF_IONS", 1)
    with pytest.raises(ob.errors.OrbitileError, match="within 1 iterations"):
        atomic_charges(solved(*CASES["water"])[1], "hirshfeld_i", device="cpu")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_becke(case):
    """Over PySCF's own cells, with Becke's own shift of their borders."""
    from pyscf import dft

    field, wavefunction = solved(*case)
    cells = {"radii_adjust": dft.radi.becke_atomic_radii_adjust, "atomic_radii": dft.radi.BRAGG_RADII}
    _, weights, atom, densities = quadrature(field, 5, **cells)
    found = atomic_charges(wavefunction, "becke", device="cpu")
    assert found.charges == pytest.approx(
        field.mol.atom_charges() - np.bincount(atom, weights * densities[0]), abs=1e-4
    )
    if field.mol.spin:
        assert found.spins == pytest.approx(np.bincount(atom, weights * densities[1]), abs=1e-4)


AMMONIUM = "N 0 0 0; H .59 .59 .59; H -.59 -.59 .59; H -.59 .59 -.59; H .59 -.59 -.59"
MBIS = {
    "water": ((WATER, "6-31g*"), [-0.90516, 0.45258, 0.45258]),
    "cation": ((AMMONIUM, "6-31g*", 1), [-0.83881, 0.45971, 0.45970, 0.45970, 0.45970]),
    "radical": ((METHYL, "6-31g*", 0, 1), [-0.45835, 0.15313, 0.15210, 0.15312]),
    "heavy": (("H 0 0 1.609; I 0 0 0", "dzp"), [0.14953, -0.14953]),
}
"""Charges by denspart of September 2025 (github.com/theochem/denspart), from molden files of the same orbitals."""


@pytest.mark.parametrize(
    "case", [pytest.param(case, id=name, marks=[pytest.mark.slow] * (name != "water")) for name, case in MBIS.items()]
)
def test_mbis(case):
    molecule, expected = case
    field, wavefunction = solved(*molecule)
    found = atomic_charges(wavefunction, "mbis", device="cpu")
    assert found.charges == pytest.approx(expected, abs=3e-5)
    assert found.charges.sum() == pytest.approx(field.mol.charge, abs=1e-5)
    assert found.spins.sum() == pytest.approx(field.mol.spin, abs=1e-4)


def test_shells_of_a_free_atom():
    """STO-6G stands for the orbital exp(-1.24 r) of hydrogen: one electron, with a width of 1 / 2.48 bohr."""
    wavefunction = solved("H 0 0 0", "sto-6g", 0, 1)[1]
    shells = mbis_shells(wavefunction, sampled_density(wavefunction, device="cpu"))
    assert shells.electrons == pytest.approx([1], abs=1e-5)
    assert shells.widths == pytest.approx([1 / 2.48], abs=1e-3)


def test_shells_that_do_not_converge(monkeypatch):
    monkeypatch.setattr("orbitile.analysis.charges._MOST_CYCLES", 1)
    with pytest.raises(ob.errors.OrbitileError, match="within 3 iterations"):
        atomic_charges(solved(*CASES["water"])[1], "mbis", device="cpu")


@pytest.mark.slow
def test_the_difference_from_the_promolecule_needs_few_points():
    _, wavefunction = solved(*CASES["anion"])
    coarse, fine = (
        hirshfeld_populations(wavefunction, sampled_density(wavefunction, device="cpu", level=level))[0]
        for level in (2, 6)
    )
    assert coarse == pytest.approx(fine, abs=5e-4)


def test_a_free_atom_has_no_charge():
    charges, missing = charges_by_schemes(solved("Be 0 0 0")[1], ["hirshfeld", "cm5", "mbis", "becke"], device="cpu")
    assert missing == []
    for one in charges:
        assert one.charges == pytest.approx([0], abs=1e-4)


def test_cm5_of_water():
    """By hand: T of hydrogen and oxygen is 0.1671, their radii are 0.32 and 0.64 Angstrom; alike atoms get nothing."""
    numbers = np.array([8, 1, 1])
    positions = np.array([[0, 0, 0], [0, 0, 0.96], [0, 0.93, -0.24]]) * angstrom
    first, second = 0.1671, 0.1671 * np.exp(-2.474 * (np.hypot(0.93, 0.24) - 0.96))
    assert cm5_corrections(numbers, positions) == pytest.approx([-first - second, first, second], abs=1e-9)


@pytest.mark.parametrize(
    ("numbers", "distance", "moved"),
    [
        ([6, 8], 1.2, 0.0234 * np.exp(-2.474 * (1.2 - 0.75 - 0.64))),
        ([8, 7], 1.3, 0.0346 * np.exp(-2.474 * (1.3 - 0.64 - 0.71))),
        ([14, 9], 1.6, (-0.0790 + 0.0629) * np.exp(-2.474 * (1.6 - 1.14 - 0.60))),
        ([79, 17], 2.2, 0.0444 * np.exp(-2.474 * (2.2 - 1.30 - 1.00))),
        ([6, 6], 1.4, 0.0),
        ([0, 8], 1.0, 0.0),
    ],
    ids=["C O", "O N", "Si F", "Au Cl", "C C", "ghost"],
)
def test_cm5_of_two_atoms(numbers, distance, moved):
    added = cm5_corrections(np.array(numbers), np.array([[0, 0, 0], [0, 0, distance * angstrom]]))
    assert added == pytest.approx([moved, -moved], abs=1e-9)


def test_the_report_on_all_schemes(monkeypatch):
    """Nothing of it needs PySCF, which Windows does not have."""
    wavefunction = solved(*CASES["water"])[1]
    monkeypatch.setitem(sys.modules, "pyscf", None)
    report = ob.charges(wavefunction, scheme="all", device="cpu")
    table = report.table("atoms")
    assert [column.name for column in table.columns[2:]] == [
        "hirshfeld", "hirshfeld_i", "cm5", "mbis", "npa", "becke", "mulliken", "loewdin", "iao", "chelpg", "mk", "resp",
    ]  # fmt: skip
    assert all(closure.holds for closure in table.closures)
    assert np.all(table["cm5"][1:] > table["hirshfeld"][1:])
    assert len(report.table("fit")) == 3
    assert report.remarks == ()


@pytest.mark.slow
def test_core_potentials_hardly_matter():
    """With one of 28 electrons iodine has nearly the charge that it has with all of them."""
    for scheme, within in (("hirshfeld", 0.03), ("cm5", 0.03), ("mbis", 0.005)):
        every, outer = (
            atomic_charges(solved("H 0 0 1.609; I 0 0 0", basis, ecp=ecp)[1], scheme, device="cpu").charges
            for basis, ecp in (("dzp", ""), ("def2-svp", "def2-svp"))
        )
        assert outer == pytest.approx(every, abs=within)
        assert outer[0] > 0.02


@pytest.mark.slow
def test_charges_of_basins():
    charges = ob.charges(solved(*CASES["water"])[1], scheme="qtaim", device="cpu").table("atoms")["charge"]
    assert charges[1] > 0.4
    assert charges.sum() == pytest.approx(0, abs=5e-3)


@pytest.mark.slow
def test_the_report_on_a_radical():
    report = ob.charges(solved(*CASES["radical"])[1], scheme="all", device="cpu")
    spins = report.table("spins")
    assert [column.name for column in spins.columns[2:]] == [
        "hirshfeld",
        "hirshfeld_i",
        "mbis",
        "npa",
        "becke",
        "mulliken",
        "loewdin",
        "iao",
    ]
    assert all(closure.expected == 1 and closure.holds for closure in spins.closures)
    assert [drawing.name for drawing in report.drawings] == ["charge", "spin"]


def test_what_takes_long_says_so_and_is_left_out_of_all(monkeypatch):
    wavefunction = solved(*CASES["water"])[1]
    assert charges_report.warning(wavefunction, scheme="all") == ""
    monkeypatch.setattr(reports, "QUICK", 0.01)
    assert "hirshfeld charges of 3 atoms take about" in charges_report.warning(wavefunction, scheme="hirshfeld")
    report = ob.charges(wavefunction, scheme="all", device="cpu")
    assert [column.name for column in report.table("atoms").columns[2:]] == ["npa", "mulliken", "loewdin", "iao"]
    assert "hirshfeld is left out, since it takes" in report.remarks[0]


def test_promolecules_have_none():
    positions = np.array([[0.0, 0, 0], [0, 0, 1.4]])
    atoms = promolecule(Geometry(np.array([1, 1]), positions))
    for name in ("charges", "bonds"):
        with pytest.raises(ob.errors.OrbitileError, match="promolecule"):
            ob.analyse(atoms, name)


def test_without_electrons():
    wavefunction = solved("He 0 0 0")[1]
    empty = replace(wavefunction, alpha=replace(wavefunction.alpha, occupations=np.zeros(1)))
    for name in ("charges", "bonds"):
        with pytest.raises(ob.errors.OrbitileError, match="no occupied orbitals"):
            ob.analyse(empty, name)


def test_unknown_schemes():
    with pytest.raises(ob.errors.OrbitileError, match="expected hirshfeld"):
        atomic_charges(solved(*CASES["water"])[1], "bader")
