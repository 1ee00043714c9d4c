"""Natural population analysis against NBO, from the same geometries and basis sets."""

from functools import cache

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
FORMAMIDE = (
    "N -.2823 .7627 -.0683; C -.3036 .2664 -1.3354; O -.3467 .9389 -2.3428; H -.3224 1.7608 .0737; H -.2401 "
    ".1547 .7334; H -.2676 -.8398 -1.3567"
)
TRYPTOPHAN = (
    "N -0.06998 0.3322 0.28213; C 1.3728 0.09707 -0.01296; C 2.09693 -0.05236 1.36827; O 3.13825 -0.65637 "
    "1.53802; C 1.95297 1.31361 -0.7956; H 1.84427 2.20506 -0.18016; H 1.34559 1.45949 -1.68857; C 3.40536 "
    "1.12706 -1.19181; C 4.48452 1.6235 -0.55989; N 5.65091 1.23793 -1.22846; H 6.60093 1.41124 -0.90286; C "
    "5.29216 0.43563 -2.31316; C 3.8942 0.3558 -2.32633; C 3.26592 -0.38326 -3.34313; H 2.18643 -0.45771 "
    "-3.38159; C 4.03818 -1.00875 -4.2871; H 3.56969 -1.58248 -5.07556; C 5.44452 -0.91949 -4.2519; H 6.02299 "
    "-1.4278 -5.013; C 6.08696 -0.2024 -3.27677; H 7.16567 -0.12878 -3.24587; H 4.54576 2.24253 0.3254; H "
    "-0.51598 0.74789 -0.54877; H 1.54205 -0.81439 -0.59355; H -0.53023 -0.5824 0.40845; O 1.45758 0.59969 "
    "2.40935; H 0.599 0.88424 2.00478"
)
DIVINYLBENZENE = (
    "C -1.41525 0.23022 0; C 1.41525 -0.23022 0; C -0.49513 1.31446 0; C 0.49513 -1.31446 0; C 0.88941 1.09095 "
    "0; C -0.88941 -1.09095 0; H -0.87955 2.34373 0; H 0.87955 -2.34373 0; H 1.5779 1.94501 0; H -1.5779 "
    "-1.94501 0; C 2.88458 -0.52109 0; C -2.88458 0.52109 0; H 3.14034 -1.59196 0; H -3.14034 1.59196 0; C "
    "3.88004 0.38225 0; C -3.88004 -0.38225 0; H 3.69468 1.46244 0; H -3.69468 -1.46244 0; H 4.93165 0.0711 0; "
    "H -4.93165 -0.0711 0"
)
COPPER = ("Cu 0 .818925 0; C .337904 -1.110731 0; O -.253428 -2.135554 0", "lanl2dz", 1, "lanl2dz")


@cache
def kohn_sham(atoms, basis, spin=0, ecp="", charge=0, xc="b3lyp"):
    """Kohn and Sham's orbitals by PySCF, on a coarse grid."""
    from pyscf import dft

    with lib.with_omp_threads(1):
        molecule = gto.M(atom=atoms, basis=basis, charge=charge, spin=spin, ecp=ecp or {}, verbose=0)
        field = dft.UKS(molecule, xc=xc).newton() if spin else dft.RKS(molecule, xc=xc)
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


def test_water_and_its_cation():
    """HF/STO-3G by Gaussian 16 with NBO 3.1: first steps of water_neutral_nbo_opt.out and its cation, cclib-data."""
    atoms = "O 0 0 .119159; H 0 .790649 -.476637; H 0 -.790649 -.476637"
    found = atomic_charges(solved(atoms)[1], "npa")
    assert found.charges == pytest.approx([-0.37667, 0.18833, 0.18833], abs=2e-5)
    found = atomic_charges(solved(atoms, "sto-3g", 1, 1)[1], "npa")
    assert found.charges == pytest.approx([0.13548, 0.43226, 0.43226], abs=2e-5)


def test_methylamine():
    """RHF/3-21G, the example of the manual: charges of methyl hydrogens at nbo6.chem.wisc.edu/nch3.html (NBO 5.0)."""
    found = atomic_charges(solved(METHYLAMINE, "3-21g")[1], "npa")
    assert found.charges[2:5] == pytest.approx([0.184, 0.217, 0.217], abs=5e-4)


def test_with_cores_first():
    """Water, HF/STO-3G by ORCA 5 with NBO 7.0.10: water_mp2.nbo.out in the data of cclib."""
    atoms = "O 1.784914 1.262422 .511985; H 2.648237 1.072929 .131631; H 1.183168 1.256816 -.238835"
    found = atomic_charges(solved(atoms)[1], "npa7")
    assert found.charges == pytest.approx([-0.39652, 0.19826, 0.19826], abs=2e-5)


@pytest.mark.slow
def test_formamide():
    """Twisted, B3LYP/6-311++G(d,p) by NBO 6.0: NBO/data.nbo in the data of cclib, with the distances of its atoms."""
    wavefunction = kohn_sham(FORMAMIDE, "6-311++g**", xc="b3lypg")
    found = atomic_charges(wavefunction, "npa")
    assert found.charges == pytest.approx([-0.81065, 0.53097, -0.60150, 0.39410, 0.38834, 0.09875], abs=1e-4)


@pytest.mark.slow
def test_tryptophan():
    """HF/STO-3G by ORCA 5 with NBO 7.0.10: Trp_polar.nbo.out in the data of cclib."""
    expected = """
        -.40182 .04775 .37862 -.29548 -.07418 .04532 .04045 -.05476 .08468 -.29993 .21315 .12771 -.04380 -.03411
        .03128 -.05892 .03343 -.03042 .03569 -.07662 .03913 .04508 .16026 .03362 .15840 -.35155 .24703
    """
    found = atomic_charges(solved(TRYPTOPHAN)[1], "npa7")
    assert found.charges == pytest.approx([float(word) for word in expected.split()], abs=2e-5)


@pytest.mark.slow
def test_divinylbenzene_and_its_cation():
    """B3LYP/STO-3G by ORCA 5 with NBO 7.0.10: dvb_sp.nbo.out and dvb_sp_un.nbo.out in the data of cclib."""
    alike = [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9]
    found = atomic_charges(kohn_sham(DIVINYLBENZENE, "sto-3g", xc="b3lyp5"), "npa7")
    expected = [0.00535, -0.05385, -0.05386, 0.05145, 0.05256, -0.04897, 0.04977, -0.10592, 0.05006, 0.05341]
    assert found.charges == pytest.approx(np.take(expected, alike), abs=3e-4)
    found = atomic_charges(kohn_sham(DIVINYLBENZENE, "sto-3g", 1, charge=1, xc="b3lyp5"), "npa7")
    expected = [0.08999, -0.01772, -0.01818, 0.09377, 0.08973, -0.02399, 0.09041, 0.00932, 0.08460, 0.10208]
    assert found.charges == pytest.approx(np.take(expected, alike), abs=3e-4)
    expected = [0.20361, 0.02089, 0.02982, -0.00092, -0.00120, -0.04549, 0.00156, 0.31319, -0.01056, -0.01092]
    assert found.spins == pytest.approx(np.take(expected, alike), abs=3e-4)


@pytest.mark.slow
def test_core_potential():
    """CuCO, LANL2DZ: shells that the core potential leaves, and Rydberg ones beyond those of the free atom."""
    found = atomic_charges(kohn_sham(*COPPER), "npa7")
    assert found.charges.sum() == pytest.approx(0, abs=1e-6)
    assert found.spins.sum() == pytest.approx(1, abs=1e-6)
    assert electrons(found.shells, 0, "3s") == (pytest.approx(2.0, abs=1e-3), "core")
    assert electrons(found.shells, 0, "3d")[1] == "valence"
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
