"""Natural population analysis against NBO, from the same geometries and basis sets."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.charges import atomic_charges
from orbitile.analysis.natural_populations import natural_shells
from orbitile.scf.engines.pyscf import wavefunction_of

from .samples import METHYL, WATER, gto, lib, scf, solved

METHYLAMINE = (
    "C 0 0 0; N 0 0 1.47; H 1.027662 0 -.363333; H -.513831 -.889981 -.363333; H -.513831 .889981 -.363333; "
    "H .476119 .824662 1.806667; H .476119 -.824662 1.806667"
)
FORMALDEHYDE = "C 0 0 0; O 0 0 1.21672286; H .92643794 0 -.59560234; H -.92643794 0 -.59560234"
COPPER = ("Cu 0 .818925 0; C .337904 -1.110731 0; O -.253428 -2.135554 0", "lanl2dz", 1, "lanl2dz")


def kohn_sham(atoms, basis, spin, ecp=""):
    """UB3LYP by PySCF, on a coarse grid."""
    from pyscf import dft

    with lib.with_omp_threads(1):
        molecule = gto.M(atom=atoms, basis=basis, spin=spin, ecp=ecp or {}, verbose=0)
        field = dft.UKS(molecule, xc="b3lyp").newton()
        field.grids.level = 1
        field.run(conv_tol=1e-8)
    return wavefunction_of(molecule, field.mo_coeff, field.mo_occ, field.mo_energy)


def electrons(shells, atom, name):
    """Of one kind of shell: 2p."""
    letters = "spdf"
    chosen = [
        n
        for n, (a, level, l) in enumerate(zip(shells.atoms, shells.levels, shells.angular_momenta, strict=True))
        if a == atom and f"{level}{letters[l]}" == name
    ]
    (only,) = chosen
    return shells.electrons[0, only], shells.kinds[only]


def test_formaldehyde():
    """HF/STO-3G by Gaussian with NBO 3.1: www.schulz.chemie.uni-rostock.de, Computerchemie 3, npa1.html."""
    shells = natural_shells(solved(FORMALDEHYDE)[1])
    expected = {
        (0, "1s"): (2.00000, "core"),
        (0, "2s"): (1.08461, "valence"),
        (0, "2p"): (0.90165 + 0.99304 + 0.85379, "valence"),
        (1, "1s"): (1.99999, "core"),
        (1, "2s"): (1.79982, "valence"),
        (1, "2p"): (1.09835 + 1.91857 + 1.37055, "valence"),
        (2, "1s"): (0.98982, "valence"),
    }
    for (atom, name), (occupancy, kind) in expected.items():
        assert electrons(shells, atom, name) == (pytest.approx(occupancy, abs=3e-5), kind)


def test_hydrogens():
    """H3 with UB3LYP/6-31G(d) by Gaussian 16 with NBO 3.1: H3_natcharge.log in the data of cclib."""
    found = atomic_charges(kohn_sham("H 0 0 .931748; H 0 0 0; H 0 0 -.931748", "6-31g*", 1), "npa")
    assert found.charges == pytest.approx([0.07210, -0.14420, 0.07210], abs=5e-5)
    assert found.spins.sum() == pytest.approx(1, abs=1e-9)


def test_with_cores_first():
    """Methylamine, RHF/3-21G, by NBO 7.0.9."""
    found = atomic_charges(solved(METHYLAMINE, "3-21g")[1], "npa7")
    assert found.charges == pytest.approx([-0.44582, -0.89897, 0.18546, 0.21885, 0.21885, 0.36082, 0.36082], abs=2e-5)


def test_hydrogen_bonded_waters():
    """RHF/4-31G, by NBO 7.0.4."""
    atoms = (
        "O -.004158 -1.4257 0; H .498701 -1.716026 -.75946; H .498701 -1.716026 .75946; O -.004158 1.5543 0; "
        "H -.926714 1.804953 0; H -.004158 .5983 0"
    )
    found = atomic_charges(solved(atoms, "4-31g")[1], "npa7")
    assert found.charges == pytest.approx([-0.96510, 0.49018, 0.49018, -0.98262, 0.46610, 0.50126], abs=2e-5)


def test_spins_of_cartesian_functions():
    """The methyl radical, UHF/6-31G(d) with Cartesian functions, by NBO 7.0.9."""
    with lib.with_omp_threads(1):
        atoms = "C 0 0 0; H 0 1.0736 0; H .929765 -.5368 0; H -.929765 -.5368 0"
        molecule = gto.M(atom=atoms, basis="6-31g*", spin=1, cart=True, verbose=0)
        field = scf.UHF(molecule).run(conv_tol=1e-11)
    wavefunction = wavefunction_of(molecule, field.mo_coeff, field.mo_occ, field.mo_energy)
    found = atomic_charges(wavefunction, "npa7")
    assert found.charges == pytest.approx([-0.51255, 0.17085, 0.17085, 0.17085], abs=2e-5)
    assert found.spins == pytest.approx([1.16072, -0.05357, -0.05357, -0.05357], abs=2e-5)


@pytest.mark.slow
def test_core_potential_and_spin():
    """CuCO, UB3LYP/LANL2DZ, by NBO 7.0.9."""
    wavefunction = kohn_sham(*COPPER)
    found = atomic_charges(wavefunction, "npa7")
    assert found.charges == pytest.approx([0.23660, 0.21496, -0.45157], abs=1e-4)
    assert found.spins == pytest.approx([0.63814, 0.27701, 0.08485], abs=1e-4)
    assert electrons(found.shells, 0, "3s") == (pytest.approx(2.0, abs=1e-4), "core")
    assert electrons(found.shells, 0, "3d") == (pytest.approx(9.85831, abs=1e-4), "valence")
    assert electrons(found.shells, 0, "4p")[1] == "Rydberg"


def turned(cartesian, angle):
    """Water with d and f functions, turned about an axis that is none of its own."""
    turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    tilt = np.array([[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]])
    places = np.array([[0, 0, 0.11], [0, 0.76, -0.48], [0, -0.76, -0.48]]) @ (turn @ tilt).T
    atoms = list(zip("OHH", places.tolist(), strict=True))
    with lib.with_omp_threads(1):
        molecule = gto.M(atom=atoms, basis={"O": "cc-pvtz", "H": "3-21g"}, cart=cartesian, verbose=0)
        field = scf.RHF(molecule).run(conv_tol=1e-11)
    return wavefunction_of(molecule, field.mo_coeff, field.mo_occ, field.mo_energy)


@pytest.mark.parametrize("cartesian", [False, True])
def test_rotation(cartesian):
    """Averages over the components of each shell do not depend on the axes."""
    first, second = (natural_shells(turned(cartesian, angle)) for angle in (0.0, 0.7))
    assert second.electrons == pytest.approx(first.electrons, abs=1e-6)
    assert first.electrons.sum() == pytest.approx(10, abs=1e-9)


def test_spins_and_closures():
    found = atomic_charges(solved(METHYL, "6-31g*", 0, 1)[1], "npa")
    assert found.charges.sum() == pytest.approx(0, abs=1e-9)
    assert found.spins.sum() == pytest.approx(1, abs=1e-9)
    assert 0.9 < found.spins[0] < 1.2


def test_functions_that_depend_on_others():
    """The same shell twice: half of them are left out, and the electrons are all there."""
    basis = gto.basis.load("6-31g", "O")
    twice = {"O": basis + basis[-1:], "H": "6-31g"}
    molecule = gto.M(atom=WATER, basis="6-31g", verbose=0)
    field = scf.RHF(molecule).run()
    wavefunction = wavefunction_of(molecule, field.mo_coeff, field.mo_occ, field.mo_energy)
    doubled = gto.M(atom=WATER, basis=twice, verbose=0)
    coefficients = np.zeros((doubled.nao, molecule.nao))
    labels = molecule.ao_labels()
    rows, seen = [], set()
    for row, label in enumerate(doubled.ao_labels()):
        if label in labels and label not in seen:
            rows.append(row)
            seen.add(label)
    coefficients[rows] = field.mo_coeff
    again = wavefunction_of(doubled, coefficients, field.mo_occ, field.mo_energy)
    expected = atomic_charges(wavefunction, "npa").charges
    assert atomic_charges(again, "npa").charges == pytest.approx(expected, abs=1e-6)


def test_ghosts_keep_the_electrons_of_their_functions():
    shells = natural_shells(solved(f"{WATER}; ghost-O 0 0 2", "6-31g")[1])
    assert {kind for atom, kind in zip(shells.atoms, shells.kinds, strict=True) if atom == 3} == {"Rydberg"}
    assert shells.electrons.sum() == pytest.approx(10, abs=1e-9)


def test_the_report():
    report = ob.charges(solved(METHYL, "6-31g*", 0, 1)[1], scheme="npa")
    table = report.table("shells")
    assert table["shell"][:5].tolist() == ["1s", "2s", "s", "2p", "p"]
    assert table["kind"][:5].tolist() == ["core", "valence", "Rydberg", "valence", "Rydberg"]
    held = np.bincount(table["atom"] - 1, table["electrons"])
    assert report.table("atoms")["charge"] == pytest.approx([6, 1, 1, 1] - held, abs=1e-9)
    assert np.bincount(table["atom"] - 1, table["spin"]) == pytest.approx(report.table("spins")["spin"], abs=1e-9)
