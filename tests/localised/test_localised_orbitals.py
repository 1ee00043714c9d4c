"""Localised orbitals against PySCF's optima and its intrinsic atomic orbitals, and against what must hold anyhow."""

from dataclasses import replace

import numpy as np
import pytest

from orbitile import Orbitals, OrbitileError
from orbitile.analysis.charges import intrinsic_orbitals
from orbitile.fields import field_names, resolve, unavailable
from orbitile.fields.orbital import name_in_family, names_orbital
from orbitile.gaussians.localised.intrinsic_atomic_orbitals import (
    in_intrinsic,
    intrinsic_atomic_orbitals,
    minimal_basis,
    n_functions,
)
from orbitile.gaussians.localised.localisation import SCHEMES, count_of, localisation, localised, seconds_for, why_not
from orbitile.gaussians.localised.maximisation import Centres, Populations, maximised
from orbitile.gaussians.overlap import centres_and_spreads, own_overlap, position_integrals
from orbitile.pictures.orbitals import largest, number_titles
from orbitile.scf.engines.pyscf import wavefunction_of

from ..molecules import gto, lib, scf

WATER = "O 0 0 0.1173; H 0 0.7572 -0.4692; H 0 -0.7572 -0.4692"
FORMAMIDE = "C 0 0.42 0; O 1.197 0.16 0; N -0.96 -0.5 0; H -0.4 1.45 0; H -1.93 -0.2 0; H -0.72 -1.48 0"
METHYL = "C 0 0 0; H 1.079 0 0; H -0.5395 0.9344 0; H -0.5395 -0.9344 0"


def solved(atoms, basis="6-31g", **stated):
    with lib.with_omp_threads(1):
        field = scf.HF(gto.M(atom=atoms, basis=basis, verbose=0, **stated))
        field = field if not stated.get("spin") else scf.UHF(field.mol)
        field.conv_tol = 1e-11
        field.kernel()
    return field, wavefunction_of(field.mol, field.mo_coeff, field.mo_occ, field.mo_energy)


@pytest.fixture(scope="module")
def water():
    return solved(WATER)


@pytest.fixture(scope="module")
def methyl():
    return solved(METHYL, spin=1)


def iao_populations(wavefunction) -> list[np.ndarray]:
    return [intrinsic_orbitals(wavefunction, spin).populations for spin in ("alpha", "beta")]


def iao_charges(wavefunction) -> np.ndarray:
    return wavefunction.core_charges - sum(iao_populations(wavefunction))


def pyscf_charges(field, **minimal) -> np.ndarray:
    from pyscf.lo import iao, orth

    mol = field.mol
    overlap = mol.intor("int1e_ovlp")
    coefficients, occupations = np.atleast_3d(field.mo_coeff.T).T, np.atleast_2d(field.mo_occ)
    coefficients = field.mo_coeff[None] if field.mo_coeff.ndim == 2 else field.mo_coeff
    electrons = np.zeros(mol.natm)
    for orbitals, occupation in zip(coefficients, occupations, strict=True):
        occupied = orbitals[:, occupation > 0]
        atomic = orth.vec_lowdin(iao.iao(mol, occupied, **minimal), overlap)
        parts = atomic.T @ overlap @ occupied
        slices = iao.reference_mol(mol, **minimal).offset_nr_by_atom()
        weights = occupation[occupation > 0]
        electrons += [np.sum(weights * parts[first:last] ** 2) for *_, first, last in slices]
    return mol.atom_charges() - electrons


def test_charges_are_those_of_pyscf(water, methyl):
    for field, wavefunction in (water, methyl):
        charges = iao_charges(wavefunction)
        np.testing.assert_allclose(charges, pyscf_charges(field), atol=1e-9)
        assert charges.sum() == pytest.approx(wavefunction.charge, abs=1e-10)
    alpha, beta = iao_populations(methyl[1])
    assert (alpha - beta).sum() == pytest.approx(1, abs=1e-10)
    assert alpha[0] - beta[0] > 0.9  # the electron of a methyl radical is at its carbon


@pytest.mark.slow
@pytest.mark.parametrize(
    ("atoms", "basis", "stated"),
    [
        (FORMAMIDE, "def2-tzvp", {}),
        ("Fe 0 0 0; C 0 0 1.8; O 0 0 2.95", "6-31g", {"charge": 2}),
        ("Br 0 0 0; H 0 0 1.41", "cc-pvdz", {}),
        ("O 0 0 0; O 0 0 1.21", "aug-cc-pvdz", {"spin": 2}),
        ("Ca 0 0 0; O 0 0 1.82", "6-31g", {}),
    ],
)
def test_charges_of_many_elements_are_those_of_pyscf(atoms, basis, stated):
    field, wavefunction = solved(atoms, basis, **stated)
    np.testing.assert_allclose(iao_charges(wavefunction), pyscf_charges(field), atol=1e-8)


@pytest.mark.slow
def test_charges_with_core_potentials_are_those_of_pyscf():
    """With our minimal basis: PySCF's own has other contractions for transition metals."""
    for heavy, distance, functions in (("I", 1.61, 13 + 1), ("Au", 1.52, 10 + 1)):
        field, wavefunction = solved(f"{heavy} 0 0 0; H 0 0 {distance}", "def2-svp", ecp={heavy: "def2-svp"})
        assert n_functions(wavefunction) == functions
        minimal = minimal_basis(wavefunction)
        table = {
            field.mol.atom_symbol(atom): [
                [shell.angular_momentum, *zip(shell.exponents, shell.coefficients, strict=True)]
                for shell in minimal.shells
                if shell.atom == atom
            ]
            for atom in range(2)
        }
        np.testing.assert_allclose(iao_charges(wavefunction), pyscf_charges(field, minao=table), atol=1e-8)


def test_intrinsic_orbitals_are_orthonormal_and_hold_all_electrons(water):
    wavefunction = water[1]
    atomic = intrinsic_atomic_orbitals(wavefunction)
    gram = atomic.coefficients.T @ own_overlap(wavefunction) @ atomic.coefficients
    np.testing.assert_allclose(gram, np.eye(7), atol=1e-12)
    occupied = wavefunction.alpha.coefficients[:, wavefunction.alpha.occupations > 0]
    parts = in_intrinsic(wavefunction, atomic, occupied)
    np.testing.assert_allclose(parts.T @ parts, np.eye(5), atol=1e-12)
    assert atomic.is_core.sum() == 1
    assert intrinsic_atomic_orbitals(wavefunction) is atomic


def test_position_integrals_are_those_of_pyscf():
    with lib.with_omp_threads(1):
        for cartesian in (False, True):
            mol = gto.M(atom="C 0 0.4 9; Zn 1 2 3; H -2 0 1; H 0 1 0", basis="def2-tzvp", verbose=0, cart=cartesian)
            values, axes = np.linalg.eigh(mol.intor("int1e_ovlp"))
            orbitals = (axes / np.sqrt(values))[:, -8:] @ np.linalg.qr(np.random.default_rng(1).random((8, 8)))[0]
            positions = orbitals.T @ mol.intor("int1e_r") @ orbitals
            squares = np.einsum("mi,mn,ni->i", orbitals, mol.intor("int1e_r2"), orbitals)
            wavefunction = wavefunction_of(mol, orbitals, np.zeros(8), np.zeros(8))
            ours = wavefunction.alpha.coefficients
            np.testing.assert_allclose(position_integrals(wavefunction, ours), positions, atol=1e-10)
            centres, spreads = centres_and_spreads(wavefunction, ours)
            expected = np.einsum("xii->ix", positions)
            np.testing.assert_allclose(centres, expected, atol=1e-10)
            np.testing.assert_allclose(spreads, np.sqrt(squares - np.sum(expected**2, axis=1)), atol=1e-9)


def made_up(name: str):
    generator = np.random.default_rng(3)
    if name == "centres":
        matrices = generator.standard_normal((3, 6, 6))
        return Centres(matrices + matrices.transpose(0, 2, 1))
    orbitals = np.linalg.qr(generator.standard_normal((9, 6)))[0]
    return Populations(orbitals, 4 if name == "fourth" else 2, np.array([2, 3, 4]))


@pytest.mark.parametrize("name", ["squares", "fourth", "centres"])
def test_gradient_and_curvature_are_those_of_finite_differences(name):
    from scipy.linalg import expm

    functional = made_up(name)
    turn = np.random.default_rng(4).standard_normal((6, 6))
    turn -= turn.T
    h = 1e-3
    left2, left, right, right2 = (functional.rotated(expm(h * step * turn)).value for step in (-2, -1, 1, 2))
    slope = (left2 - 8 * left + 8 * right - right2) / (12 * h)
    bend = (-left2 + 16 * left - 30 * functional.value + 16 * right - right2) / (12 * h**2)
    assert np.sum(functional.gradient * turn) == pytest.approx(slope, rel=1e-6)
    assert np.sum(functional.curved(turn) * turn) == pytest.approx(bend, rel=1e-4)


@pytest.mark.parametrize("name", ["squares", "fourth", "centres"])
def test_what_is_found_is_a_maximum_for_every_pair(name):
    functional = made_up(name)
    found = maximised(functional, np.random.default_rng(5).standard_normal((9, 6)))
    np.testing.assert_allclose(found.rotation.T @ found.rotation, np.eye(6), atol=1e-12)
    assert found.gradient_norm < 1e-6 * found.functional.value
    for i in range(6):
        for j in range(i):
            pair = np.zeros((6, 6))
            pair[i, j], pair[j, i] = 1, -1
            assert np.sum(found.functional.curved(pair) * pair) < 1e-8
            for angle in np.linspace(0.1, np.pi, 20):
                turn = np.eye(6)
                turn[[i, j], [i, j]] = np.cos(angle)
                turn[i, j], turn[j, i] = np.sin(angle), -np.sin(angle)
                assert found.functional.rotated(turn).value < found.functional.value + 1e-9


def pyscf_optimum(field, wavefunction, scheme: str, start: np.ndarray) -> float:
    """Our functional at the orbitals that PySCF finds from some orbitals."""
    from pyscf import lo
    from pyscf.lo import iao, ibo, orth

    mol, overlap = field.mol, field.mol.intor("int1e_ovlp")
    occupied = field.mo_coeff[:, field.mo_occ > 0]
    if scheme == "boys":
        search = lo.Boys(mol, start)
    elif scheme == "pm":
        search = lo.PM(mol, start)
        root = orth.lowdin(overlap) @ overlap

        def populations(mol, orbitals, method=None, kpt=None, proj_data=None, mode=None, verbose=None):
            parts = [(root @ orbitals)[first:last] for *_, first, last in mol.offset_nr_by_atom()]
            return np.array([np.sum(p**2, axis=0) if mode == "pop" else p.T @ p for p in parts])

        search.pop_method, search.atomic_pops = None, populations
    else:
        atomic = orth.vec_lowdin(iao.iao(mol, occupied), overlap)
        search = ibo.PM(mol, start, iaos=atomic, s=overlap, exponent=4 if scheme == "ibo" else 2)
    search.conv_tol, search.max_cycle, search.verbose, search.init_guess = 1e-10, 60, 0, None
    with lib.with_omp_threads(1):
        rotation = occupied.T @ overlap @ search.kernel()
    return localisation_value(wavefunction, scheme, rotation)


def localisation_value(wavefunction, scheme: str, rotation: np.ndarray) -> float:
    """The functional at a rotation of the canonical occupied orbitals, from the integrals themselves."""
    orbitals = wavefunction.alpha.coefficients[:, wavefunction.alpha.occupations > 0] @ rotation
    if scheme == "boys":
        centres = np.einsum("xii->ix", position_integrals(wavefunction, orbitals))
        return float(np.sum((centres - centres.mean(axis=0)) ** 2))
    if scheme == "pm":
        values, axes = np.linalg.eigh(own_overlap(wavefunction))
        parts = (axes * np.sqrt(values)) @ axes.T @ orbitals
        atoms = np.repeat([s.atom for s in wavefunction.shells], [s.n_functions for s in wavefunction.shells])
    else:
        atomic = intrinsic_atomic_orbitals(wavefunction)
        parts, atoms = in_intrinsic(wavefunction, atomic, orbitals), atomic.atoms
    shares = np.stack([np.sum(parts[atoms == atom] ** 2, axis=0) for atom in range(wavefunction.n_atoms)])
    return float(np.sum(shares ** (4 if scheme == "ibo" else 2)))


TEN = ("C6H6", "C2H4", "CH3OH", "HCN", "C4H4O", "CH3CHO", "SO2", "N2O", "CH3Cl", "PH3")


@pytest.mark.slow
@pytest.mark.parametrize("name", TEN)
def test_functionals_reach_the_optimum_of_pyscf(name):
    """From canonical orbitals, from PySCF's own guess, and from ours, perturbed: nothing larger is there."""
    build = pytest.importorskip("ase.build")
    molecule = build.molecule(name)
    atoms = list(zip(molecule.get_chemical_symbols(), molecule.positions, strict=True))
    field, wavefunction = solved(atoms, "def2-svp")
    occupied = field.mo_coeff[:, field.mo_occ > 0]
    generator = np.random.default_rng(0)
    n = occupied.shape[1]
    for scheme in SCHEMES:
        (found,) = localisation(wavefunction, scheme).sets
        made = localised(wavefunction, scheme).alpha.coefficients
        canonical = wavefunction.alpha.coefficients[:, :n]
        rotation = canonical.T @ own_overlap(wavefunction) @ made
        assert found.value == pytest.approx(localisation_value(wavefunction, scheme, rotation), abs=1e-9)
        for start in (
            np.eye(n),
            np.linalg.qr(generator.standard_normal((n, n)))[0],
            np.linalg.qr(rotation + 0.05 * generator.standard_normal((n, n)))[0],
        ):
            assert found.value > pyscf_optimum(field, wavefunction, scheme, occupied @ start) - 1e-8


@pytest.mark.parametrize("scheme", SCHEMES)
def test_localised_orbitals_span_the_occupied_ones(water, scheme):
    wavefunction = water[1]
    made = localised(wavefunction, scheme)
    assert made is localised(wavefunction, scheme)
    n = int(np.sum(wavefunction.alpha.occupations > 0))
    overlap = own_overlap(wavefunction)
    canonical = wavefunction.alpha.coefficients[:, :n]
    rotation = canonical.T @ overlap @ made.alpha.coefficients
    np.testing.assert_allclose(rotation.T @ rotation, np.eye(n), atol=1e-10)
    expected = np.einsum("ki,k,ki->i", rotation, wavefunction.alpha.energies[:n], rotation)
    np.testing.assert_allclose(made.alpha.energies, expected, atol=1e-10)
    assert np.all(np.diff(made.alpha.energies) > -1e-6)
    assert made.alpha.occupations.tolist() == [2.0] * n


def test_names_tell_what_orbitals_are(water, methyl, benzene):
    assert sorted(localised(water[1]).alpha.irreps) == [
        "O1 core",
        "O1 lone pair",
        "O1 lone pair",
        "O1-H2 sigma",
        "O1-H3 sigma",
    ]
    assert {"O1-H2 sigma*", "O1-H3 sigma*"} <= set(localised(water[1], which="all").alpha.irreps)
    radical = localised(methyl[1])
    assert radical.alpha.irreps[-1] == "C1 unpaired"
    assert "C1 unpaired" not in radical.beta.irreps
    kinds = [name.split()[-1] for name in localised(benzene).alpha.irreps]
    assert (kinds.count("core"), kinds.count("sigma"), kinds.count("pi")) == (6, 12, 3)
    boys = [name.split()[-1] for name in localised(benzene, "boys").alpha.irreps]
    assert boys.count("bent") == 6  # two for each of three double bonds


@pytest.mark.slow
def test_names_of_many_kinds():
    nitrogen = localised(solved("N 0 0 0; N 0 0 1.1")[1], which="all").alpha.irreps
    assert sorted(nitrogen) == sorted(
        ["N1 core", "N2 core", "N1 lone pair", "N2 lone pair", "N1-N2 sigma", "N1-N2 sigma*"]
        + ["N1-N2 pi"] * 2
        + ["N1-N2 pi*"] * 2
    )
    diborane = (
        "B 0 0 .88; B 0 0 -.88; H 0 1.04 1.45; H 0 -1.04 1.45; H 0 1.04 -1.45; H 0 -1.04 -1.45; H .98 0 0; H -.98 0 0"
    )
    assert {"B1-B2-H7 sigma", "B1-B2-H8 sigma"} <= set(localised(solved(diborane)[1]).alpha.irreps)
    oxide = localised(solved("N 0 0 0; O 0 0 1.15", spin=1)[1])
    assert [sum("pi" in name for name in spin.irreps) for spin in (oxide.alpha, oxide.beta)] == [1, 2]


def test_atoms_and_what_has_no_electrons_of_a_spin():
    helium = localised(solved("He 0 0 0")[1], which="all")
    assert helium.alpha.irreps == ("He1 lone pair",)
    hydrogen = solved("H 0 0 0", spin=1)[1]
    made = localised(hydrogen)
    assert len(made.alpha) == 1
    assert len(made.beta) == 0
    np.testing.assert_allclose(iao_charges(hydrogen), 0, atol=1e-10)
    neon = solved("Ne 0 0 0")[1]
    for scheme in ("ibo", "pm"):  # no measure tells orbitals of one atom apart: they stay canonical
        np.testing.assert_allclose(localised(neon, scheme).alpha.energies, neon.alpha.energies[:5], atol=1e-8)


def test_what_cannot_be_localised_is_refused(water):
    wavefunction = water[1]
    orbitals = wavefunction.alpha
    fractions = np.where(np.arange(len(orbitals)) < 5, 1.9, 0.05)
    natural = replace(wavefunction, alpha=Orbitals(orbitals.coefficients, fractions, orbitals.energies), natural=True)
    with pytest.raises(OrbitileError, match="fractional occupations"):
        localised(natural)
    assert "fractional" in why_not(natural, "ibo")
    assert set(unavailable(natural)) >= {"ibo:N", "boys:N"}
    with pytest.raises(OrbitileError, match="expected a scheme"):
        localised(wavefunction, "nbo")
    odd = replace(wavefunction, core_charges=wavefunction.atomic_numbers - [3.0, 0, 0])
    with pytest.raises(OrbitileError, match="core potential of"):
        localised(odd)
    assert len(localised(odd, "boys").alpha) == 5  # which needs no minimal basis
    assert not why_not(odd, "pm")
    with pytest.raises(OrbitileError, match="there are orbitals 1 to 7"):
        resolve(wavefunction, "ibo:8", None)


def test_fields_of_localised_orbitals(water, methyl):
    wavefunction = water[1]
    names = {name for name, _ in field_names()}
    assert {"ibo:N", "pm:N", "pm_iao:N", "boys:N"} <= names
    first = resolve(wavefunction, "IBO:1", None)
    assert (first.name, first.neighbour(1)) == ("ibo:1", "ibo:2")
    assert first.quantity == "IBO 1: O1 core"
    assert first.degenerate == (0,)
    assert first.with_kernel("direct").name == "ibo:1"
    assert resolve(wavefunction, "ibo:6", None).quantity.endswith("*")
    with pytest.raises(OrbitileError, match="1 to 7"):
        resolve(wavefunction, "ibo:7", None).neighbour(1)
    assert resolve(methyl[1], "pm:1:b", None).name == name_in_family(methyl[1], "pm", 0, "beta") == "pm:1:beta"
    assert names_orbital("boys:3")
    assert largest("ibo:N", wavefunction) == count_of(wavefunction, "ibo")[1] == 7
    assert largest("boys:N", wavefunction) == len(wavefunction.alpha)
    assert number_titles("ibo:N:alpha") == ("Localised orbital",)


def test_long_localisations_are_foreseen(water):
    assert seconds_for(water[1], "ibo") == 0  # it is done
    assert seconds_for(replace(water[1], title="another"), "ibo") < 1
