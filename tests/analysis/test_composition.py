"""Shares of atoms and angular momenta in orbitals."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.charges import overlap_root
from orbitile.analysis.composition import coefficients_of, composition, orbitals_of
from orbitile.base.arguments import fragments_in
from orbitile.base.errors import OrbitileError
from tests.analysis.samples import BENZENE, dihydrogen, hydrogen_atom


@pytest.fixture(scope="module")
def benzene() -> ob.Wavefunction:
    return ob.load(BENZENE)


@pytest.mark.parametrize("scheme", ["mulliken", "loewdin"])
def test_shares_add_up_and_obey_symmetry(benzene, scheme):
    found = composition(benzene, orbitals_of(benzene, "mo:1-31"), scheme)
    assert found.atoms.sum(axis=0) == pytest.approx(np.ones(31), abs=1e-6)
    assert found.momenta.sum(axis=1) == pytest.approx(found.atoms)
    pi = found.momenta[:6, 1].sum(axis=0)[[19, 20]]  # the HOMOs
    assert pi == pytest.approx(pi[::-1], abs=1e-6)
    assert pi.min() > 0.95
    assert found.momenta[:, 0, [19, 20]] == pytest.approx(0, abs=1e-8)
    if scheme == "loewdin":
        assert found.atoms.min() >= 0


def test_intrinsic_orbitals_span_what_is_occupied(benzene):
    orbitals = orbitals_of(benzene, "homo-2,homo,lumo,mo:31,ibo:7")
    found = composition(benzene, orbitals, "iao")
    sums = found.atoms.sum(axis=0)
    assert sums[[0, 1, 4]] == pytest.approx(1, abs=1e-8)
    assert sums[3] < 0.6
    assert found.momenta[:, 0, 1] == pytest.approx(0, abs=1e-8)
    table = ob.analyse(benzene, "composition", orbitals="homo,lumo", scheme="iao").table("orbitals")
    assert table["elsewhere"] == pytest.approx(1 - found.atoms[:, [1, 2]].sum(axis=0), abs=1e-9)
    assert table.closures[0].holds


def test_schemes_are_those_of_their_formulas(benzene):
    orbitals = orbitals_of(benzene, "homo,lumo+1")
    c, s = coefficients_of(orbitals), ob.overlap_matrix(benzene).toarray()
    of_atom = np.repeat([shell.atom for shell in benzene.shells], [shell.n_functions for shell in benzene.shells])
    root = overlap_root(benzene)
    assert root @ root == pytest.approx(s, abs=1e-10)
    for scheme, shares in (("mulliken", c * (s @ c)), ("loewdin", (root @ c) ** 2)):
        expected = [shares[of_atom == atom].sum(axis=0) for atom in range(benzene.n_atoms)]
        assert composition(benzene, orbitals, scheme).atoms == pytest.approx(np.array(expected))


@pytest.mark.slow
def test_agrees_with_pyscf(tmp_path):
    gto, scf = pytest.importorskip("pyscf.gto"), pytest.importorskip("pyscf.scf")
    from pyscf.tools import molden

    mol = gto.M(atom="O 0 0 0.1; C 0 0 2.4; H 1.7 0 3.5; H -1.7 0 3.5", unit="B", basis="6-31g*", verbose=0)
    field = scf.RHF(mol).run()
    s, c = mol.intor("int1e_ovlp"), field.mo_coeff
    values, axes = np.linalg.eigh(s)
    root = axes * np.sqrt(values) @ axes.T
    molden.from_scf(field, str(tmp_path / "formaldehyde.molden"))
    wavefunction = ob.load(tmp_path / "formaldehyde.molden")
    for scheme, shares in (("mulliken", c * (s @ c)), ("loewdin", (root @ c) ** 2)):
        expected = [shares[first:last].sum(axis=0) for _, _, first, last in mol.aoslice_by_atom()]
        found = composition(wavefunction, orbitals_of(wavefunction, f"mo:1-{c.shape[1]}"), scheme).atoms
        assert found == pytest.approx(np.array(expected), abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["hirshfeld", "becke"])
def test_cells_share_out_whole_orbitals(benzene, scheme):
    """The occupied ones are all of the electrons."""
    found = composition(benzene, orbitals_of(benzene, "mo:1-21"), scheme, "cpu")
    assert found.atoms.sum(axis=0) == pytest.approx(np.ones(21), abs=1e-4)
    assert found.momenta.shape == (12, 0, 21)
    assert found.atoms.min() > 0
    charges = ob.analyse(benzene, "charges", scheme=scheme, device="cpu").table("atoms")["charge"]
    assert benzene.core_charges - 2 * found.atoms.sum(axis=1) == pytest.approx(charges, abs=1e-3)


def test_orbitals_around_the_gap_are_those_that_there_are():
    assert [orbital.name for orbital in orbitals_of(dihydrogen())] == ["mo:1", "mo:2"]
    assert [orbital.name for orbital in orbitals_of(hydrogen_atom())] == ["mo:1:alpha", "mo:1:beta"]


def test_report(benzene):
    report = ob.analyse(benzene, "composition", orbitals="homo-1..lumo", fragments="ring=1-6", scheme="mulliken")
    fragments = report.table("fragments")
    assert fragments["ring"] + fragments["rest"] == pytest.approx(1)
    assert report.table("orbitals").fields == ("mo:20", "mo:21", "mo:22")
    assert all(closure.holds for table in report.tables for closure in table.closures)
    listed = ob.analyse(benzene, "composition", orbitals="homo", least=0).table("atoms")
    assert len(listed) == 12
    assert listed["share"].sum() == pytest.approx(1)
    negative = ob.analyse(benzene, "composition", orbitals="lumo+4", scheme="mulliken")
    assert "negative shares" in " ".join(negative.remarks)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"orbitals": "density"}, "expected names such as homo"),
        ({"orbitals": "homo-99"}, "no such orbital"),
        ({"fragments": "1-13"}, "expected atoms from 1 to 12, got 13"),
        ({"scheme": "magic"}, "scheme: expected mulliken"),
    ],
)
def test_what_is_wrong_is_said(benzene, parameters, said):
    with pytest.raises(OrbitileError, match=said):
        ob.analyse(benzene, "composition", **parameters)


def test_an_atom_is_all_there_is():
    found = composition(hydrogen_atom(), orbitals_of(hydrogen_atom()))
    assert found.atoms == pytest.approx(1)
    assert fragments_in("fragments", "1")[0].atoms == (0,)
