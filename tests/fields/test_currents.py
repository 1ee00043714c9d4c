"""Induced currents and shieldings: matrices against PySCF, currents against another way to form them, invariances."""

from dataclasses import replace
from importlib.resources import files
from tempfile import TemporaryDirectory

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.currents import bond_currents, rings_of
from orbitile.base.errors import FieldError
from orbitile.fields import unavailable
from orbitile.fields.currents import AMPERE, is_uncoupled, normal, why_not
from orbitile.gaussians.overlap import momentum_matrices

pytest.importorskip("pyscf", reason="PySCF (extra scf) is not installed")
from pyscf import dft, gto
from pyscf.tools import molden

POINTS = np.random.default_rng(5).normal(size=(40, 3)) * 2


def converged(atoms, basis="6-31g", spin=0, xc="pbe"):
    """A wavefunction of PySCF's, and the object that has it."""
    molecule = gto.M(atom=atoms, basis=basis, spin=spin, verbose=0)
    field = (dft.UKS if spin else dft.RKS)(molecule, xc=xc).density_fit()
    field.grids.level = 1
    field.kernel()
    with TemporaryDirectory() as folder:
        molden.from_scf(field, f"{folder}/it.molden")
        return ob.load(f"{folder}/it.molden"), field


@pytest.fixture(scope="module")
def water():
    return converged("O 0.3 0.1 0.2; H 0.1 1.2 -0.3; H -0.9 -0.4 0.5")


@pytest.fixture(scope="module")
def radical():
    return converged("O 0 0 0; H 0.1 0.2 0.95", spin=1)


def dense(wavefunction, field, axis, points):
    """The current by values of all basis functions, and matrices of PySCF."""
    molecule = field.mol
    with molecule.with_common_origin((0, 0, 0)):
        angular = molecule.intor("int1e_cg_irxp", comp=3)
    linear = -molecule.intor("int1e_ipovlp", comp=3)
    atom = gto.M(atom="O 0 0 0", basis="sto-3g", verbose=0)
    angular = -np.sign(atom.intor("int1e_cg_irxp", comp=3)[2][3, 2]) * angular
    values = dft.numint.eval_ao(molecule, points, deriv=1)
    total = np.zeros((len(points), 3))
    shape = (1, -1) if np.ndim(field.mo_occ) == 1 else (2, -1)
    coefficients = np.reshape(field.mo_coeff, (shape[0], *np.shape(field.mo_coeff)[-2:]))
    spins = zip(coefficients, np.reshape(field.mo_energy, shape), np.reshape(field.mo_occ, shape), strict=True)
    for orbitals, energies, occupations in spins:
        here, there = orbitals[:, occupations > 0.5], orbitals[:, occupations < 0.5]
        gaps = energies[occupations < 0.5][:, None] - energies[occupations > 0.5][None]
        by = [there.T @ m @ here / (2 * gaps) for m in (np.tensordot(axis, angular, 1), *linear)]
        o, v = values @ here, values @ there
        across = np.cross(axis, points)

        def eta(k):
            return v[k] @ by[0] - sum(across[:, m, None] * (v[k] @ by[1 + m]) for m in range(3))  # noqa: B023  it is called within the turn

        weight = occupations[occupations > 0.5]
        total += np.array([((eta(0) * o[k] - o[0] * eta(k)) * weight).sum(axis=1) for k in (1, 2, 3)]).T
    return total


def at(wavefunction, axis, points):
    names = [f"current:{axis}:{k}" for k in "xyz"]
    return np.array([ob.evaluate(wavefunction, name, points, precision="double") for name in names]).T


def test_momenta_are_those_of_pyscf(radical):
    wavefunction, field = radical
    origin = np.array([0.4, -0.3, 0.7])
    linear, angular = momentum_matrices(wavefunction, origin)
    np.testing.assert_allclose(linear, -field.mol.intor("int1e_ipovlp", comp=3), atol=1e-12)
    with field.mol.with_common_origin(origin):
        np.testing.assert_allclose(np.abs(angular), np.abs(field.mol.intor("int1e_cg_irxp", comp=3)), atol=1e-12)
    np.testing.assert_allclose(angular, -angular.transpose(0, 2, 1), atol=1e-14)


@pytest.mark.parametrize("name", ["water", "radical"])
def test_currents_are_those_of_dense_matrices(name, request):
    wavefunction, field = request.getfixturevalue(name)
    expected = AMPERE * dense(wavefunction, field, np.array([0.0, 1.0, 0.0]), POINTS)
    np.testing.assert_allclose(at(wavefunction, "y", POINTS), expected, atol=1e-7 * np.abs(expected).max())


def test_components_make_up_the_magnitude_and_any_device_has_it(water, device):
    wavefunction, _ = water
    along = [ob.evaluate(wavefunction, f"current:x:{k}", POINTS, device=device) for k in "xyz"]
    found = ob.evaluate(wavefunction, "current:x", POINTS, device=device)
    np.testing.assert_allclose(found, np.linalg.norm(along, axis=0), atol=2e-4)


def test_nothing_depends_on_where_a_molecule_is(water):
    wavefunction, _ = water
    shift = np.array([30.0, -20.0, 10.0])
    moved = replace(wavefunction, positions=wavefunction.positions + shift)
    before, after = at(wavefunction, "z", POINTS), at(moved, "z", POINTS + shift)
    np.testing.assert_allclose(after, before, atol=1e-7)
    far, near = (ob.evaluate(w, "shielding", p) for w, p in ((moved, POINTS + shift), (wavefunction, POINTS)))
    np.testing.assert_allclose(far, near, atol=0.02)


def test_the_direction_across_a_molecule_turns_with_it():
    """Of one plane and another; where atoms lie on a line, it is z."""
    benzene = ob.load(str(files("orbitile") / "data" / "benzene.molden"))
    turned = replace(benzene, positions=benzene.positions[:, [1, 2, 0]])
    np.testing.assert_allclose(normal(benzene), (0, 0, 1), atol=1e-4)
    np.testing.assert_allclose(normal(turned), (0, 1, 0), atol=1e-4)
    line = replace(benzene, positions=benzene.positions * (1, 0, 0))
    np.testing.assert_allclose(normal(line), (0, 0, 1))


def test_shielding_is_the_field_of_the_current(water):
    """By Biot and Savart, with the current integrated by another quadrature, at a point beyond most of it."""
    wavefunction, field = water
    point, grid = np.array([0.5, 9.0, 1.0]), dft.gen_grid.Grids(field.mol)
    grid.build()
    away = point - grid.coords
    induced = np.cross(at(wavefunction, "z", grid.coords) / AMPERE, away)[:, 2] / np.linalg.norm(away, axis=1) ** 3
    expected = -1e6 * 7.2973525693e-3**2 * induced @ grid.weights
    found = ob.evaluate(wavefunction, "shielding:z", [point], precision="double")[0]
    assert found == pytest.approx(expected, rel=1e-3)


def test_what_lacks_orbitals_or_names_no_functional_says_so(water):
    wavefunction, _ = water
    parts = ("coefficients", "occupations", "energies")
    few = replace(
        wavefunction.alpha, **{name: getattr(wavefunction.alpha, name)[..., :6] for name in parts}, irreps=(), labels=()
    )
    cut = replace(wavefunction, alpha=few)
    assert "6 of 13 orbitals" in why_not(cut)
    with pytest.raises(FieldError, match="unoccupied ones too"):
        ob.evaluate(cut, "current", POINTS)
    for method, expected in (
        ("PBE/6-31G", False),
        ("RB3LYP/6-31G*", False),
        ("RPBEPBE", False),
        ("RHF", False),
        ("RM062X", True),
        ("B2PLYP", True),
        ("", True),
    ):
        assert is_uncoupled(replace(wavefunction, method=method)) == expected
    assert "canonical" in why_not(replace(wavefunction, localised="boys"))
    assert "canonical" in unavailable(replace(wavefunction, unordered=True))["stm:-2"]


def test_rings_are_the_small_ones_and_each_is_found_once():
    def sizes(atoms):
        wavefunction = ob.Wavefunction(
            np.array([gto.charge(symbol) for symbol, _ in atoms]),
            np.array([place for _, place in atoms]) * 1.8897261,
            shells=(ob.Shell(0, 0, False, np.array([1.0]), np.array([1.0])),),
            alpha=ob.Orbitals(np.ones((1, 1)), np.array([2.0])),
        )
        return [len(ring.atoms) for ring in rings_of(wavefunction)]

    corners = [np.array([i, j, k]) * 0.785 for i in (1, -1) for j in (1, -1) for k in (1, -1)]
    cube = [*(("C", corner) for corner in corners), *(("H", 1.8 * corner) for corner in corners)]
    assert sizes(cube) == [4] * 6
    half = 1.40 * np.sqrt(3) / 2
    rows = [(-2 * half, 0.7), (-2 * half, -0.7), (-half, 1.4), (-half, -1.4), (0, 0.7), (0, -0.7)]
    naphthalene = [("C", (x, y, 0)) for x, y in {*rows, *((-x, y) for x, y in rows)}]
    assert sizes(naphthalene) == [6, 6]
    assert sizes([("O", (0, 0, 0)), ("H", (0, 0.8, 0.6)), ("H", (0, -0.8, 0.6))]) == []


@pytest.mark.slow
def test_cubane_has_equal_currents_in_the_faces_across_the_field():
    """By symmetry; they are paratropic, and nothing of one face is counted in the opposite one."""
    corners = np.array([(x, y, z) for x in (1, -1) for y in (1, -1) for z in (1, -1)])
    atoms = [*(("C", place) for place in 0.78 * corners), *(("H", place) for place in 1.41 * corners)]
    wavefunction, _ = converged(atoms, "sto-3g")
    rings = rings_of(wavefunction)
    assert [len(found.atoms) for found in rings] == [4] * 6
    currents = bond_currents(wavefunction, rings, np.array([0.0, 0.0, 1.0]))
    assert len(currents) == 8
    assert all(abs(rings[found.ring].normal[2]) > 0.99 for found in currents)
    strengths = np.array([found.strength for found in currents])
    np.testing.assert_allclose(strengths, strengths.mean(), atol=1e-3)
    assert strengths.mean() < -0.5


@pytest.mark.slow
def test_benzene_has_the_current_that_is_known():
    """PBE/6-31G**: 11.36 nA/T by the same formula with dense matrices of PySCF."""
    angles = np.pi / 3 * np.arange(6)
    ring = np.array([np.cos(angles), np.sin(angles), 0 * angles]).T
    atoms = [*(("C", place) for place in 1.3915 * ring), *(("H", place) for place in 2.4765 * ring)]
    wavefunction, _ = converged(atoms, "6-31g**")
    rings = rings_of(wavefunction)
    assert [len(found.atoms) for found in rings] == [6]
    currents = bond_currents(wavefunction, rings, np.array([0.0, 0.0, 1.0]))
    np.testing.assert_allclose([found.strength for found in currents], 11.36, atol=0.02)
    pair = currents[0].by_orbital[-2:]
    assert pair.sum() > 12
