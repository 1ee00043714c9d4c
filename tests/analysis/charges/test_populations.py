"""Populations of basis functions and bond orders against what PySCF's matrices give."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import sqrtm

import orbitile as ob
from orbitile.analysis.charges import atomic_charges, bond_orders, bonds_of, charges_by_schemes, mulliken_orbitals

from .samples import FORMATE, METHYL, WATER, by_atoms, density_matrices, gto, solved

CASES = {
    "anion": (FORMATE, "6-31g*", -1, 0, ""),
    "radical": (METHYL, "6-31g*", 0, 1, ""),
    "core potential": ("Au 0 0 0; Cl 0 0 2.25", "lanl2dz", 0, 0, "lanl2dz"),
    "triplet": ("O 0 0 0; O 0 0.2 1.2", "sto-3g", 0, 2, ""),
    "one atom": ("Ne 0 0 0", "sto-3g", 0, 0, ""),
}


@pytest.fixture(params=CASES.values(), ids=CASES.keys())
def case(request):
    return solved(*request.param)


def orthogonal(field):
    """Overlap, and the density matrices as they are times the overlap, and between its roots."""
    overlap = field.mol.intor("int1e_ovlp")
    root = sqrtm(overlap).real
    matrices = density_matrices(field)
    return [one @ overlap for one in matrices], [root @ one @ root for one in matrices]


def test_populations(case):
    field, wavefunction = case
    for scheme, (total, spin) in zip(("mulliken", "loewdin"), orthogonal(field), strict=True):
        found = atomic_charges(wavefunction, scheme)
        expected = field.mol.atom_charges() - by_atoms(field.mol, np.diag(total))
        assert found.charges == pytest.approx(expected, abs=1e-8)
        assert found.charges.sum() == pytest.approx(field.mol.charge, abs=1e-9)
        if field.mol.spin:
            assert found.spins == pytest.approx(by_atoms(field.mol, np.diag(spin)), abs=1e-8)
        else:
            assert len(found.spins) == 0


def test_bond_orders(case):
    field, wavefunction = case
    bonds = bonds_of(wavefunction)
    for scheme, (total, spin) in zip(("mayer", "wiberg"), orthogonal(field), strict=True):
        expected = by_atoms(field.mol, total * total.T + spin * spin.T)
        kept = np.diag(expected) / 2
        np.fill_diagonal(expected, 0)
        assert bonds.orders[scheme].orders == pytest.approx(expected, abs=1e-8)
        assert bonds.orders[scheme].localised == pytest.approx(kept, abs=1e-8)
        assert bonds.orders[scheme].electrons == pytest.approx(field.mol.nelectron, abs=1e-8)
    total = orthogonal(field)[0][0]
    expected = by_atoms(field.mol, 2 * np.diag(total)) - np.diag(by_atoms(field.mol, total * total.T))
    assert bonds.valences == pytest.approx(expected, abs=1e-8)


def test_pieces_of_the_matrices_do_not_matter(monkeypatch):
    _, wavefunction = solved(*CASES["radical"])
    whole = bond_orders(mulliken_orbitals(wavefunction)).orders
    monkeypatch.setattr("orbitile.analysis.charges._MATRIX_ELEMENTS", 7 * wavefunction.n_basis)
    assert bond_orders(mulliken_orbitals(wavefunction)).orders == pytest.approx(whole, abs=1e-12)


def test_sparse_overlaps_give_the_same(monkeypatch):
    _, wavefunction = solved(*CASES["anion"])
    dense = atomic_charges(wavefunction, "loewdin").charges, bonds_of(wavefunction).orders["mayer"].orders
    monkeypatch.setattr("orbitile.gaussians.overlap._DENSE", 0)
    again = replace(wavefunction)
    assert atomic_charges(again, "loewdin").charges == pytest.approx(dense[0], abs=1e-12)
    assert bonds_of(again).orders["mayer"].orders == pytest.approx(dense[1], abs=1e-12)


@pytest.mark.parametrize("scheme", ["mayer", "wiberg", "wiberg_iao"])
def test_the_bond_of_hydrogen_is_one(scheme):
    _, wavefunction = solved("H 0 0 0; H 0 0.1 .74", "6-31g**")
    assert bonds_of(wavefunction).orders[scheme].orders[0, 1] == pytest.approx(1, abs=1e-10)


def test_free_valences_are_those_of_unpaired_electrons():
    """A radical has about one, at carbon; where electrons are paired there is none."""
    report = ob.bonds(solved(*CASES["radical"])[1])
    free = report.table("atoms")["free_valence"]
    assert 0.9 < free[0] < 1.1
    assert free[1:] == pytest.approx(np.zeros(3), abs=0.03)
    assert not np.any(ob.bonds(solved(*CASES["anion"])[1]).table("atoms")["free_valence"])


def test_the_report_on_bonds():
    wavefunction = solved(*CASES["anion"])[1]
    report = ob.bonds(wavefunction, threshold=0.5)
    bonds = report.table("bonds")
    assert bonds.atoms == ((0, 1), (0, 2), (0, 3))
    assert bonds["distance"][1] == pytest.approx(np.linalg.norm([0.05, 1.13, 0.5]), abs=1e-4)
    assert all(closure.holds and closure.expected == 24 for table in report.tables for closure in table.closures)
    assert len(report.drawings[0].positions) == len(report.drawings[0].labels) == 3
    assert len(ob.bonds(wavefunction, threshold=1e-9).table("bonds")) == 6
    assert len(ob.bonds(solved(*CASES["one atom"])[1]).table("bonds")) == 0


def test_intrinsic_spins():
    _, wavefunction = solved(*CASES["radical"])
    found = atomic_charges(wavefunction, "iao")
    assert found.charges.sum() == pytest.approx(0, abs=1e-8)
    assert found.spins.sum() == pytest.approx(1, abs=1e-8)
    assert 0.9 < found.spins[0] < 1.3


def test_ghosts_keep_the_electrons_of_their_functions():
    molecule_field, wavefunction = solved(f"{WATER}; ghost-O 0 0 2", "6-31g")
    charges = atomic_charges(wavefunction, "mulliken").charges
    overlap = molecule_field.mol.intor("int1e_ovlp")
    held = by_atoms(molecule_field.mol, np.einsum("ij,ji->i", molecule_field.make_rdm1(), overlap))
    assert charges[3] == pytest.approx(-held[3], abs=1e-8)
    assert abs(held[3]) > 1e-3
    assert charges.sum() == pytest.approx(0, abs=1e-8)
    assert "ghost atoms" in ob.charges(wavefunction, scheme="mulliken").remarks[0]


def test_natural_orbitals_of_both_spins():
    """Their density matrix has charges; spins they do not tell apart, and nothing is a determinant."""
    _, wavefunction = solved(WATER)
    occupations = wavefunction.alpha.occupations.copy()
    occupations[3:6] = [1.9, 1.6, 0.5]
    natural = replace(wavefunction, alpha=replace(wavefunction.alpha, occupations=occupations), natural=True)
    found, missing = charges_by_schemes(natural, ["mulliken", "iao"])
    assert [one.scheme for one in found] == ["mulliken"]
    assert "iao is left out" in missing[0]
    report = ob.bonds(natural)
    assert report.table("bonds").closures == ()
    assert any("not tell apart" in remark for remark in report.remarks)


def test_a_density_matrix_is_meant_where_there_is_one():
    _, wavefunction = solved(WATER)
    matrix = 1.01 * np.eye(wavefunction.n_basis)
    correlated = replace(wavefunction, density_matrix=matrix)
    held = by_atoms(gto.M(atom=WATER, basis="sto-3g"), np.full(wavefunction.n_basis, 1.01))
    assert atomic_charges(correlated, "mulliken").charges == pytest.approx([8, 1, 1] - held, abs=1e-8)
    with pytest.raises(ob.errors.OrbitileError, match="correlated"):
        atomic_charges(correlated, "iao")
