"""Aromaticity: indices against sums over all permutations of PySCF's matrices, ESIpy's values, and lengths by hand."""

import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.aromaticity import (
    _OSCILLATORS,
    homa_of,
    multicentre_index,
    ring_index,
    shared_electrons,
)
from orbitile.analysis.currents import rings_of
from orbitile.base.errors import OrbitileError
from orbitile.gaussians.promolecule import promolecule
from orbitile.model.geometry import Geometry
from orbitile.model.units import angstrom

from ..molecules import gto, lib, scf


def ring(lengths, numbers=None):
    """A flat ring of sides of some lengths in Angstrom, whose corners are on a circle."""
    radius = np.sum(lengths) / (2 * np.pi)
    for _ in range(200):
        radius *= np.sum(np.arcsin(np.array(lengths) / (2 * radius))) / np.pi
    angles = np.concatenate([[0], np.cumsum(2 * np.arcsin(np.array(lengths) / (2 * radius)))[:-1]])
    places = radius * np.array([np.cos(angles), np.sin(angles), 0 * angles]).T
    return Geometry(np.array(numbers or [6] * len(lengths)), places * angstrom)


def homa(geometry):
    (only,) = rings_of(geometry)
    return homa_of(geometry, only)


def test_homa_is_one_at_the_optimal_lengths_and_zero_for_a_kekule_structure():
    assert homa(ring([1.388] * 6)).value == pytest.approx(1.0, abs=1e-9)
    kekule = homa(ring([1.467, 1.349] * 3))
    assert kekule.value == pytest.approx(0.0, abs=2e-4)  # of alpha with four digits
    assert kekule.value + kekule.elongation + kekule.alternation == pytest.approx(1.0, abs=1e-12)
    assert homa(ring([1.397] * 6)).value == pytest.approx(0.9791, abs=1e-4)  # benzene: M. K. Cyranski's 0.979
    assert homa(ring([1.53] * 6)).value < -4  # cyclohexane


def test_parameters_follow_from_single_and_double_bonds():
    """Krygowski 1993: alpha makes HOMA 0 for as many single as double bonds, and c is their difference over ln 2."""
    for kind, one in _OSCILLATORS.items():
        double = one.single - one.c * math.log(2)
        alpha = 2 / ((one.single - one.optimal) ** 2 + (double - one.optimal) ** 2)
        assert alpha == pytest.approx(one.alpha, rel=2e-3), kind


def test_parts_of_pyridine_are_those_of_esipy():
    """By ESIpy (revision 40d646a of github.com/jgrebol/ESIpy), for these atoms."""
    flat = [(0, 1.4), (1.14, 0.7), (1.19, -0.69), (0, -1.4), (-1.19, -0.69), (-1.14, 0.7)]
    geometry = Geometry(np.array([7, 6, 6, 6, 6, 6]), np.array([(x, y, 0) for x, y in flat]) * angstrom)
    found = homa(geometry)
    assert (found.elongation, found.alternation) == pytest.approx((0.000264, 0.001412), abs=1e-6)
    assert found.value == pytest.approx(1 - 0.000264 - 0.001412, abs=1e-4)


def test_geometry_alone_does_and_what_has_no_parameters_is_told():
    report = ob.aromaticity(ring([1.39] * 6))
    (table,) = report.tables
    assert [column.name for column in table.columns] == ["ring", "atoms", "homa", "en", "geo"]
    assert "no wavefunction" in report.remarks[0]
    (points,) = report.drawings
    assert points.labels == ("1.00",)
    borazine = ob.aromaticity(ring([1.43] * 6, [5, 7] * 3))
    assert math.isnan(borazine.table("rings")["homa"][0])
    assert "B-N" in borazine.remarks[1]
    with pytest.raises(OrbitileError, match="name atoms"):
        ob.aromaticity(Geometry(np.array([8, 1, 1]), np.array([[0, 0, 0], [1.8, 0, 0], [-0.5, 1.7, 0]])))
    with pytest.raises(OrbitileError, match="no wavefunction"):
        ob.aromaticity(ring([1.39] * 6), atoms="1,2,3")


def test_three_protons_share_a_pair():
    """Each pair of functions has T = 1/3 by symmetry in a minimal basis, so that I = 2^2 * 2 / 27."""
    cation = gto.M(atom="H 0 0 0; H 0.87 0 0; H 0.435 0.7534 0", charge=1, basis="sto-3g", verbose=0)
    wavefunction = _wavefunction(scf.RHF(cation).run())
    for scheme in ("iao", "loewdin", "mulliken"):
        table = ob.aromaticity(wavefunction, scheme=scheme, atoms="1 2 3").table("centres")
        assert (table["mci"][0], table["i_ring"][0]) == pytest.approx((8 / 27, 8 / 27), abs=1e-4)


def _wavefunction(field):
    from orbitile.scf.engines.pyscf import wavefunction_of

    return wavefunction_of(field.mol, field.mo_coeff, field.mo_occ, field.mo_energy)


def by_permutations(matrices, parts, atoms):
    """Both indices of matrices P S of each spin, by the formula as it is written."""

    def along(order):
        total = 0.0
        for matrix in matrices:
            product = np.eye(len(parts[order[0]]))
            for one, other in zip(order, (*order[1:], order[0]), strict=True):
                product = product @ matrix[np.ix_(parts[one], parts[other])]
            total += np.trace(product)
        return 2 ** (len(order) - 1) * total

    n = len(atoms)
    return (along(atoms) + along(atoms[::-1])) / 2, sum(map(along, permutations(atoms))) / (2 * n)


@pytest.mark.parametrize("spin", [0, 1])
def test_indices_are_sums_over_all_permutations(spin):
    """Of a bent C3H4 and its cation, which have no symmetry, by Mulliken and by Loewdin."""
    atoms = "C -1.19 0.02 0.1; C 0 0.45 0; C 1.22 -0.2 0; H 0 1.5 0.2; H -1.3 -1.1 0; H -2.1 0.6 0; H 1.3 -1.2 0.1"
    molecule = gto.M(atom=atoms, basis="sto-3g", charge=spin, spin=spin, verbose=0)
    with lib.with_omp_threads(1):
        field = (scf.UHF if spin else scf.RHF)(molecule).run(conv_tol=1e-10)
    wavefunction = _wavefunction(field)
    overlap = molecule.intor("int1e_ovlp")
    values, axes = np.linalg.eigh(overlap)
    root = (axes * np.sqrt(values)) @ axes.T
    density = np.asarray(field.make_rdm1())
    spins = density if spin else np.stack([density, density]) / 2
    parts = {n: np.arange(*molecule.aoslice_by_atom()[n, 2:]) for n in range(molecule.natm)}
    for scheme, matrices in (("mulliken", spins @ overlap), ("loewdin", root @ spins @ root)):
        shared = shared_electrons(wavefunction, scheme)
        for chosen in ([0, 1, 2], [2, 0, 3, 1], [4, 0, 1, 3, 2]):
            found = ring_index(shared, chosen), multicentre_index(shared, chosen)
            assert found == pytest.approx(by_permutations(matrices, parts, chosen), abs=1e-8)


EXPECTED = {
    "iao": (0.088283, 0.132127, 0.113278),
    "loewdin": (0.088425, 0.132116, 0.116795),
    "mulliken": (0.088444, 0.132157, 0.116630),
}
"""Iring, MCI and PDI of benzene in the tests of ESIpy (github.com/jgrebol/ESIpy), by B3LYP and STO-3G."""


@pytest.mark.slow
def test_benzene_has_the_indices_that_esipy_gives_it():
    from pyscf import dft

    angles = np.pi / 3 * np.arange(6)
    places = np.array([np.cos(angles), np.sin(angles), 0 * angles]).T
    atoms = [*(("C", place) for place in 1.393096 * places), *(("H", place) for place in 2.483127 * places)]
    wavefunction = _wavefunction(dft.RKS(gto.M(atom=atoms, basis="sto-3g", verbose=0), xc="b3lyp").run(conv_tol=1e-10))
    for scheme, expected in EXPECTED.items():
        table = ob.aromaticity(wavefunction, scheme=scheme).table("rings")
        found = [table[name][0] for name in ("i_ring", "mci", "pdi")]
        assert found == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("scheme", ["iao", "loewdin", "mulliken"])
def test_the_reference_of_fluctuations_is_benzene_by_hartree_fock(scheme, benzene):
    """What the example file is of; by another basis set, of which Loewdin's orders depend."""
    table = ob.aromaticity(benzene, scheme=scheme).table("rings")
    assert table["flu"][0] == pytest.approx(0, abs=5e-5)


def test_a_report_without_a_determinant_has_lengths_only(benzene):
    half = replace(benzene.alpha, occupations=np.linspace(1.9, 0.1, len(benzene.alpha)))
    for other in (replace(benzene, alpha=half, natural=True), promolecule(Geometry(*_atoms(benzene)))):
        report = ob.aromaticity(other)
        assert "flu" not in [column.name for column in report.table("rings").columns]
        assert "are left out" in report.remarks[0]


def _atoms(molecule):
    return molecule.atomic_numbers, molecule.positions
