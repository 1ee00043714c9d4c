r"""Coulomb sums of Hermite Gaussians against quadrature, one pair at a time, on every device.

With :math:`F_0(T) = \int_0^1 e^{-T s^2} ds` an integral is that of a product of Hermite functions along the axes.
"""

import numpy as np
import pytest
from numpy.polynomial.hermite import hermval

from taichi_kernels import coulomb
from taichi_kernels.coulomb import Gaussians, coulomb_sums
from taichi_kernels.coulomb_kernels import is_written_out
from taichi_kernels.hermite_tables import powers_of
from taichi_kernels.launching import Pace
from taichi_kernels.session import session
from taichi_kernels.target import Target

pytestmark = pytest.mark.slow_on("vulkan")

LIMIT = {"single": 3e-6, "double": 2e-14}
"""Error as a share of the sum of the magnitudes of all terms."""


@pytest.fixture(autouse=True)
def everything_is_worth_a_launch(monkeypatch):
    monkeypatch.setattr(coulomb, "_FEW", dict.fromkeys(coulomb._FEW, 0))


NODES, WEIGHTS = np.polynomial.legendre.leggauss(120)


def integrals(bras: Gaussians, kets: Gaussians) -> np.ndarray:
    """Integrals of all orders, shape (n_bras, orders, n_kets, orders)."""
    z, y = bras.exponent[:, None], kets.exponent[None, :]
    alpha, distance = z * y / (z + y), bras.centre[:, None] - kets.centre[None, :]
    end = np.minimum(1, 7 / np.sqrt(alpha * (distance**2).sum(axis=2) + 1e-300))  # there is nothing beyond
    s = 0.5 * end[..., None] * (NODES + 1)
    root = np.sqrt(alpha)[..., None] * s
    along = []
    for axis in range(3):
        x = root * distance[:, :, axis, None]
        orders = [
            (-root) ** k * hermval(x, np.eye(k + 1)[k]) * np.exp(-(x**2)) for k in range(bras.degree + kets.degree + 1)
        ]
        along.append(np.array(orders))
    front = (2 * np.pi**2.5 / (z * y * np.sqrt(z + y)))[..., None] * 0.5 * end[..., None] * WEIGHTS
    n, m = np.array(powers_of(bras.degree)), np.array(powers_of(kets.degree))
    result = np.empty((len(z), len(n), y.shape[1], len(m)))
    for i, p in enumerate(n):
        for j, q in enumerate(m):
            product = front * (-1.0) ** q.sum()
            for axis in range(3):
                product = product * along[axis][p[axis] + q[axis]]
            result[:, i, :, j] = product.sum(axis=2)
    return result


def gaussians(degree: int, n: int, seed: int, shift: float = 0.0) -> Gaussians:
    rng = np.random.default_rng(seed)
    return Gaussians(degree, rng.normal(size=(n, 3)) * 2 + shift, np.exp(rng.uniform(-2, 3, n)))


def computed(device, precision, bras, kets, coefficients, counted=None, exact=0):
    counted = np.full(len(bras.exponent), len(kets.exponent)) if counted is None else counted
    with session(device, precision):
        ends = np.asarray(counted), np.full(len(bras.exponent), exact)
        target = Target(device, precision)
        return coulomb_sums([bras], [kets], [coefficients], lambda b, k: ends, target)[0]


def assert_right(values, bras, kets, coefficients, limit):
    every = integrals(bras, kets)
    scale = np.einsum("pnqm,qm->pn", np.abs(every), np.abs(coefficients))
    total = np.array(powers_of(bras.degree)).sum(axis=1)
    for n in range(bras.degree + 1):  # an order is made of others of the same sum
        scale[:, total == n] = scale[:, total == n].max(axis=1, keepdims=True)
    assert np.all(np.abs(values - np.einsum("pnqm,qm->pn", every, coefficients)) <= limit * scale)


@pytest.mark.parametrize(("bra", "ket"), [(0, 0), (2, 1), (1, 3)])
def test_written_out(device, precision, bra, ket, monkeypatch):
    monkeypatch.setattr(coulomb, "_LITTLE", 0)
    bras, kets = gaussians(bra, 21, 1, shift=300.0), gaussians(ket, 150, 2, shift=300.0)
    coefficients = np.random.default_rng(3).normal(size=(150, len(powers_of(ket))))
    values = computed(device, precision, bras, kets, coefficients)
    assert_right(values, bras, kets, coefficients, LIMIT[precision])
    assert np.array_equal(values, computed(device, precision, bras, kets, coefficients))


@pytest.mark.parametrize(("bra", "ket"), [(0, 0), (2, 3), (5, 2), (4, 6)])
def test_loops(device, precision, bra, ket):
    bras, kets = gaussians(bra, 5, 1), gaussians(ket, 37, 2)
    coefficients = np.random.default_rng(3).normal(size=(37, len(powers_of(ket))))
    values = computed(device, precision, bras, kets, coefficients)
    assert_right(values, bras, kets, coefficients, LIMIT[precision] * (1 + bra + ket))


@pytest.mark.parametrize(("bra", "ket"), [(17, 1), (0, 16), (9, 8)])
def test_the_highest_degrees(bra, ket):
    assert not is_written_out(17, 16)
    bras, kets = gaussians(bra, 2, 1), gaussians(ket, 3, 2)
    coefficients = np.random.default_rng(3).normal(size=(3, len(powers_of(ket))))
    assert_right(computed("cpu", "double", bras, kets, coefficients), bras, kets, coefficients, 1e-9)


@pytest.mark.parametrize("little", [0, 1e9], ids=["written out", "loops"])
def test_between_the_points_of_the_table_of_boys_functions(little, monkeypatch):
    """Against the error function: a series from any point but the nearest would be off by five times as much."""
    from scipy.special import erf

    monkeypatch.setattr(coulomb, "_LITTLE", little)
    t = np.linspace(0.001, 12.0, 640)
    bras = Gaussians(6, np.stack([np.sqrt(2 * t), 0 * t, 0 * t], axis=1), np.ones(len(t)))
    kets = Gaussians(0, np.zeros((1, 3)), np.ones(1))
    values = computed("cpu", "double", bras, kets, np.ones((1, 1)))[:, 0]
    expected = np.sqrt(2) * np.pi**2.5 * np.sqrt(np.pi / t) / 2 * erf(np.sqrt(t))
    assert np.abs(values / expected - 1).max() < 3e-15


@pytest.mark.slow
@pytest.mark.parametrize(("bra", "ket"), [(1, 12), (7, 2)])
def test_written_out_sums_of_hundreds_of_terms(bra, ket, monkeypatch):
    monkeypatch.setattr(coulomb, "_LITTLE", 0)
    assert is_written_out(bra, ket)
    bras, kets = gaussians(bra, 2, 1), gaussians(ket, 3, 2)
    coefficients = np.random.default_rng(3).normal(size=(3, len(powers_of(ket))))
    assert_right(computed("cpu", "double", bras, kets, coefficients), bras, kets, coefficients, 1e-9)


@pytest.mark.parametrize("little", [0, 1e9], ids=["written out", "loops"])
def test_each_bra_has_kets_of_its_own(device, little, monkeypatch):
    """Up to a whole tile; the first ones in double precision."""
    monkeypatch.setattr(coulomb, "_LITTLE", little)
    bras, kets = gaussians(1, 12, 5), gaussians(1, 200, 6)
    coefficients = np.random.default_rng(7).normal(size=(200, 4))
    coefficients[:64] *= 1e5
    counted = 64 + np.arange(12) % 3 * 64
    values = computed(device, "single", bras, kets, coefficients, counted, exact=64)
    every = integrals(bras, kets)
    for n, count in enumerate(counted):
        expected = np.einsum("nqm,qm->n", every[n, :, :count], coefficients[:count])
        scale = np.einsum("nqm,qm->n", np.abs(every[n, :, 64:]), np.abs(coefficients[64:]))
        assert np.all(np.abs(values[n] - expected) <= 3e-6 * scale + 1e-13 * np.abs(expected).max())


def test_point_charges_are_exact():
    """A nucleus is a Gaussian of exponent 1e16, as a ket and as a bra; two of them repel each other as points do."""
    nuclei = Gaussians(0, np.array([[0, 0, 0.0], [0, 0, 2.5]]), np.full(2, 1e16))
    charge = np.full((2, 1), (1e16 / np.pi) ** 1.5)
    only = np.array([[0.0], [1.0]])
    values = computed("cpu", "double", nuclei, nuclei, charge * only)
    assert values[0, 0] * charge[0, 0] == pytest.approx(1 / 2.5, rel=1e-14)
    bras = gaussians(1, 7, 4)
    sums = computed("cpu", "double", bras, nuclei, charge)
    assert_right(sums, bras, nuclei, charge, 1e-12)


def test_in_pieces(device, monkeypatch):
    monkeypatch.setattr(coulomb, "pace_of", lambda *_: Pace(1.0))
    bras, kets = gaussians(1, 9, 1), gaussians(0, 33, 2)
    coefficients = np.ones((33, 1))
    whole = computed(device, "single", bras, kets, coefficients)
    shares: list[float] = []
    with session(device, "single"):
        ends = np.full(9, 33), np.full(9, 0)
        target = Target(device, "single")
        pieces = coulomb_sums([bras], [kets], [coefficients], lambda b, k: ends, target, shares.append)[0]
        with pytest.raises(KeyboardInterrupt):
            coulomb_sums([bras], [kets], [coefficients], lambda b, k: ends, target, interrupted)
    assert np.array_equal(pieces, whole)
    assert len(shares) > 2
    assert shares == sorted(shares)
    assert shares[-1] < 1


def interrupted(share):
    raise KeyboardInterrupt


def test_without_double_precision(device, monkeypatch):
    class Single:
        double, software = False, True

    bras, kets = gaussians(1, 9, 1), gaussians(1, 500, 2)
    coefficients = np.random.default_rng(3).normal(size=(500, 4))
    target = Target(device, "single")
    with session(device, "single"):
        monkeypatch.setattr(coulomb, "probe", lambda name: Single)
        values = coulomb_sums([bras], [kets], [coefficients], lambda b, k: (np.full(9, 500), np.full(9, 100)), target)[
            0
        ]
    assert_right(values, bras, kets, coefficients, LIMIT["single"])
