"""The list of Hermite Gaussians, the map between it and matrices, and what follows without further kernels."""

import numpy as np
import pytest

from orbitile.evaluation.devices import device_session
from orbitile.gaussians.overlap import kinetic_matrix
from orbitile.integrals.forces import to_gradient
from orbitile.integrals.hermite_list import HermiteList
from orbitile.integrals.one_electron import overlap
from orbitile.integrals.pairs import pairs_of, to_hermite, to_matrix
from taichi_kernels import hermite_map

from .references import basis_of, molecule, ours, random_matrix

pytestmark = pytest.mark.slow_on("vulkan")

MOLECULES = {
    "water": ("O 0 0 0; H 0 0.8 0.6; H 0 -0.8 0.6", "cc-pvtz"),
    "water, Cartesian g": ("O 0 0 0; H 0 0.8 0.6; H 0 -0.8 0.6", "cc-pvqz", True),
    "hydrogen far apart": ("H 0 0 0; H 0 0 50", "aug-cc-pvdz"),
    "krypton": ("Kr 0.1 0.2 0.3", "sto-3g"),
    "hydrogen iodide": ("I 0 0 0; H 0 0 1.6", "sto-3g", True),
}


@pytest.mark.parametrize("name", MOLECULES)
def test_one_electron_matrices_are_those_of_pyscf(name, device):
    mol = molecule(*MOLECULES[name])
    basis = basis_of(mol)
    with device_session(device, "double") as target:
        pairs = pairs_of(basis)
        np.testing.assert_allclose(overlap(pairs, target), ours(mol, mol.intor("int1e_ovlp")), atol=2e-11)
        np.testing.assert_allclose(kinetic_matrix(basis), ours(mol, mol.intor("int1e_kin")), atol=2e-11, rtol=1e-12)


@pytest.mark.parametrize("name", MOLECULES)
def test_the_way_back_is_the_adjoint(name, device):
    mol = molecule(*MOLECULES[name])
    pairs = pairs_of(basis_of(mol))
    matrix = random_matrix(mol.nao)
    values = np.random.default_rng(1).normal(size=pairs.list.n_coefficients)
    with device_session(device, "double") as target:
        there, back = to_hermite(pairs, matrix, target), to_matrix(pairs, values, target)
    assert there @ values == pytest.approx((matrix * back).sum(), rel=1e-9)


def test_rows_in_several_runs_and_without_double_precision(monkeypatch):
    mol = molecule(*MOLECULES["water"])
    matrix = random_matrix(mol.nao)
    with device_session("cpu", "double") as target:
        whole = pairs_of(basis_of(mol))
        values = np.random.default_rng(1).normal(size=whole.list.n_coefficients)
        expected = to_hermite(whole, matrix, target), to_matrix(whole, values, target)
        monkeypatch.setattr("orbitile.integrals.pairs._ELEMENTS", 1 << 10)
        pieces = pairs_of(basis_of(mol))
        np.testing.assert_allclose(to_hermite(pieces, matrix, target), expected[0], rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(to_matrix(pieces, values, target), expected[1], rtol=1e-13, atol=1e-13)

        class Single:
            double = False

        monkeypatch.setattr(hermite_map, "probe", lambda device: Single)
        np.testing.assert_allclose(to_hermite(pieces, matrix, target), expected[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(to_matrix(pieces, values, target), expected[1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", MOLECULES)
def test_bounds_hold_and_pairs_left_out_do_not_matter(name):
    mol = molecule(*MOLECULES[name])
    pairs, few = pairs_of(basis_of(mol)), pairs_of(basis_of(mol), 1e-6)
    assert len(few.list) <= len(pairs.list)
    assert few.bound.min() > 1e-6
    # the Coulomb norm of a product of two functions is at most what its pairs of primitives have together
    repulsion = mol.intor("int2e") if mol.nao < 60 else None
    if repulsion is not None:
        diagonal = ours(mol, np.einsum("ijij->ij", repulsion))
        assert np.sqrt(diagonal).max() <= pairs.bound.sum()


def integrals_with_gaussian(gaussians: HermiteList, centre, exponent: float) -> np.ndarray:
    """Integral of each Hermite Gaussian times a Gaussian: derivatives of a Gaussian of the distance."""
    values = np.zeros(gaussians.n_coefficients)
    for block in gaussians.blocks:
        z = gaussians.exponent[block.rows]
        a, d = z * exponent / (z + exponent), gaussians.centre[block.rows] - centre
        lines = np.zeros((3, block.degree + 2, len(z)))
        lines[:, 0] = np.exp(-a * d.T**2)
        for t in range(block.degree + 1):
            before = t * lines[:, t - 1] if t else 0
            lines[:, t + 1] = -2 * a * (d.T * lines[:, t] + before)
        x, y, w = lines
        column = [(np.pi / (z + exponent)) ** 1.5 * x[i] * y[j] * w[k] for i, j, k in block.orders]
        block.of(values)[:] = np.stack(column, axis=1)
    return values


@pytest.mark.parametrize("cartesian", [False, True])
def test_gradient_is_that_of_finite_differences(cartesian):
    mol = molecule("O 0 0 0; H 0 0.8 0.6; C 0 -0.8 0.9", "def2-svp", cartesian, unpaired=1)
    matrix = random_matrix(mol.nao)
    field = np.array([0.3, -0.2, 0.5]), 0.7
    start = mol.atom_coords()
    with device_session("cpu", "double") as target:

        def value(positions) -> float:
            pairs = pairs_of(basis_of(mol, positions), 1e-14)
            return float(to_hermite(pairs, matrix, target) @ integrals_with_gaussian(pairs.list, *field))

        pairs = pairs_of(basis_of(mol), 1e-14)
        gradient = to_gradient(pairs, matrix, integrals_with_gaussian(pairs.list.raised, *field))
        for atom, axis in ((0, 1), (1, 0), (2, 2)):
            step = np.zeros_like(start)
            step[atom, axis] = 1e-3
            far, near = value(start + 2 * step) - value(start - 2 * step), value(start + step) - value(start - step)
            assert gradient[atom, axis] == pytest.approx((8 * near - far) / 12e-3, abs=1e-8)
