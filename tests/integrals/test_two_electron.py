"""Two-electron integrals: shell by shell, and those of s functions in the three mappings."""

import numpy as np
import pytest

from orbitile.base.errors import OrbitileError
from orbitile.evaluation.devices import device_session
from orbitile.integrals import two_electron
from orbitile.integrals.two_electron import (
    repulsion_integrals,
    repulsion_of_shells,
    repulsion_tensor,
    s_integrals,
    s_pairs,
)
from orbitile.model.wavefunction import Basis, Shell
from taichi_kernels.two_electron.s_functions import MAPPINGS, boys_fit, integrals_of_s_functions

from .references import basis_of, functions_of_pyscf, molecule

pytestmark = pytest.mark.slow_on("vulkan")

G = {"C": [[0, [0.5, 1.0]], [4, [0.8, 1.0]], [4, [0.3, 1.0, 0.3], [1.2, 0.4, -0.2]]]}
SYSTEMS = {
    "water": ("O 0 0 0; H 0 0.8 0.6; H 0 -0.8 0.6", "6-31g*"),
    "hydrogen fluoride, Cartesian": ("F 0 0 0; H 0.3 0.4 0.8", "cc-pvdz", True),
    "g functions, contracted generally": ("C 0.1 0.2 0.3", G),
    "hydrogen far apart": ("H 0 0 0; H 0 0 50", "cc-pvdz"),
    "hydrogen iodide": ("I 0 0 0; H 0 0 1.6", "sto-3g"),
}
SLOW = ("water", "hydrogen iodide")
LIMIT = {"double": 1e-10, "single": 3e-6}


def of_pyscf(mol) -> np.ndarray:
    """All integrals of PySCF over our basis functions."""
    rows, factors = functions_of_pyscf(mol)
    integrals = mol.intor("int2e")[np.ix_(rows, rows, rows, rows)]
    for axis in range(4):
        integrals /= factors.reshape([-1 if n == axis else 1 for n in range(4)])
    return integrals


@pytest.mark.slow_on("vulkan")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in SYSTEMS]
)
def test_integrals_are_those_of_pyscf(name, device, precision):
    mol = molecule(*SYSTEMS[name])
    expected = of_pyscf(mol)
    with device_session(device, precision) as target:
        found = repulsion_tensor(basis_of(mol), target)
    assert np.abs(found - expected).max() < LIMIT[precision] * max(1.0, expected.max())


def test_four_shells(device):
    mol = molecule("O 0 0 0; H 0 0.8 0.6", "cc-pvdz", unpaired=1)
    basis = basis_of(mol)
    expected = of_pyscf(mol)
    first = np.concatenate([[0], np.cumsum([shell.n_functions for shell in basis.shells])])
    rng = np.random.default_rng(3)
    with device_session(device, "double") as target:
        # two shells of a general contraction, in both orders, and whatever comes
        for shells in [(0, 1, 1, 0), (1, 0, 5, 5), *rng.integers(0, len(basis.shells), (4, 4)).tolist()]:
            found = repulsion_of_shells(basis, tuple(shells), target)
            chosen = np.ix_(*(np.arange(first[n], first[n + 1]) for n in shells))
            np.testing.assert_allclose(found, expected[chosen], atol=1e-12)


def test_blocks_have_every_integral(monkeypatch):
    mol = molecule(*SYSTEMS["water"])
    n = mol.nao
    seen = np.zeros((n, n, n, n), bool)
    with device_session("cpu", "double") as target:
        whole = repulsion_tensor(basis_of(mol), target)
        monkeypatch.setattr("orbitile.integrals.two_electron._ELEMENTS", 1 << 12)
        blocks = list(repulsion_integrals(basis_of(mol), target))
        assert len(blocks) > 100
        for block in blocks:
            p, q, r, s = (block.left[:, :1], block.left[:, 1:], block.right[:, 0], block.right[:, 1])
            np.testing.assert_allclose(block.values, whole[p, q, r, s], atol=1e-13)
            for a, b, c, d in ((p, q, r, s), (q, p, r, s), (p, q, s, r), (q, p, s, r)):
                seen[a, b, c, d] = seen[c, d, a, b] = True
    assert seen.all()


def hydrogens(n: int) -> Basis:
    """Atoms in a heap, each with contractions of four, two and one primitives."""
    rng = np.random.default_rng(n)
    exponents = [np.array([18.7, 2.8, 0.64, 0.16]), np.array([1.3, 0.3]), np.array([0.11])]
    shells = [Shell(atom, 0, False, e, rng.uniform(0.2, 1.0, len(e))) for atom in range(n) for e in exponents]
    return Basis(tuple(shells), rng.uniform(-3, 3, (n, 3)))


def by_mapping(pairs, mapping, target, n):
    """All integrals of s functions, by symmetry from the unique ones."""
    result = np.zeros((n, n, n, n))
    for block in s_integrals(pairs, target, mapping):
        bra, ket = np.nonzero(block.values)
        (p, q), (r, s) = block.left[bra].T, block.right[ket].T
        for a, b in ((p, q), (q, p)):
            for c, d in ((r, s), (s, r)):
                result[a, b, c, d] = result[c, d, a, b] = block.values[bra, ket]
    return result


@pytest.mark.slow_on("vulkan")
@pytest.mark.parametrize("mapping", MAPPINGS)
def test_mappings_of_s_functions(mapping, device, precision, monkeypatch):
    monkeypatch.setattr(two_electron, "_LARGEST", 1 << 12)
    basis = hydrogens(5)
    with device_session(device, precision) as target:
        expected = repulsion_tensor(basis, target)
        found = by_mapping(s_pairs(basis, 1e-12), mapping, target, basis.n_basis)
        again = by_mapping(s_pairs(basis, 1e-12), mapping, target, basis.n_basis)
    assert np.abs(found - expected).max() < {"double": 2e-12, "single": 2e-6}[precision] * expected.max()
    np.testing.assert_array_equal(found, again)


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_in_pieces(mapping, device):
    pairs = s_pairs(hydrogens(5))
    shares: list[float] = []
    with device_session(device, "single") as target:
        arguments = (pairs.packed, 2, pairs.packed.n_groups, mapping, 0.0, target)
        whole = integrals_of_s_functions(*arguments)().copy()
        for _ in range(3):  # in the end every bra is a piece
            pieces = integrals_of_s_functions(*arguments, checkpoint=shares.append)()
            np.testing.assert_array_equal(whole, pieces)


def test_far_from_the_origin():
    basis = hydrogens(4)
    moved = Basis(basis.shells, basis.positions + np.array([300.0, -700, 200]))
    with device_session("cpu", "single") as target:
        here, there = (by_mapping(s_pairs(one), "1T1CI", target, basis.n_basis) for one in (basis, moved))
    assert np.abs(here - there).max() < 1e-6 * here.max()


def test_what_products_leave_out():
    basis = hydrogens(6)
    tolerance = 1e-4
    with device_session("cpu", "double") as target:
        exact, rough = (s_pairs(basis, limit) for limit in (0.0, tolerance))
        assert len(rough.packed.products) < 0.8 * len(exact.packed.products)
        found, expected = (by_mapping(pairs, "1T1CI", target, basis.n_basis) for pairs in (rough, exact))
    assert 1e-7 < np.abs(found - expected).max() < tolerance


def test_the_boys_function_of_order_zero():
    from scipy.special import erf

    t = np.concatenate([[1e-14], np.geomspace(1e-6, 1e4, 2000)])
    exact = np.sqrt(np.pi / t) / 2 * erf(np.sqrt(t))
    for precision, limit in (("single", 3e-8), ("double", 3e-14)):
        shift, top, coefficients = boys_fit(precision)
        h = np.polyval(coefficients, np.minimum(t / (t + shift), top) * 2 / top - 1)
        assert np.abs((4 * t / np.pi + h) ** -0.5 / exact - 1).max() < limit


def test_bad_input(monkeypatch):
    mol = molecule("He 0 0 0", "cc-pvdz")
    basis = basis_of(mol)
    with device_session("cpu", "double") as target:
        with pytest.raises(OrbitileError, match=r"shell: expected 0 to 2, got 3"):
            repulsion_of_shells(basis, (0, 1, 2, 3), target)
        with pytest.raises(OrbitileError, match=r"expected s shells, got angular momentum 1"):
            s_pairs(basis)
        with pytest.raises(OrbitileError, match=r"expected 1B1CI, 1T1CI, 1T1PI, got '2T'"):
            next(s_integrals(s_pairs(hydrogens(1)), target, "2T"))
        monkeypatch.setattr("orbitile.base.memory.available_memory", lambda: 10_000)
        many = basis_of(molecule("Ne 0 0 0", "6-31g"))
        with pytest.raises(OrbitileError, match=r"all integrals over 9 basis functions needs .*by blocks"):
            repulsion_tensor(many, target)
        with pytest.raises(OrbitileError, match=r"pairs of 6 s functions needs"):
            s_pairs(hydrogens(2))
