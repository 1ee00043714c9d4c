"""Derivatives of sums of Gaussians on lattices, which share their work, against plain sums of derived polynomials."""

import numpy as np
import pytest

import taichi_kernels.orbital_lattice
from orbitile.evaluation.devices import device_session
from orbitile.gaussians.expansion import (
    GaussianExpansion,
    bounds_of_derivatives,
    derivative,
    origin_of,
    reach,
    starts,
    term_counts,
)
from taichi_kernels.layout import GRADIENT, layout
from taichi_kernels.orbital_lattice import orbital_on_lattice
from tests.gaussians.sums import value_at

HESSIAN = ((0, 0, 0), (2, 0, 0), (0, 2, 0), (0, 0, 2), (1, 1, 0), (1, 0, 1), (0, 1, 1))
SHAPE, SPACING = (10, 9, 19), (0.21, 0.27, 0.13)


def some_expansion(n: int, seed: int = 1) -> GaussianExpansion:
    random = np.random.default_rng(seed)
    degree = random.integers(0, 5, n).astype(np.int32)
    terms = random.normal(size=int(term_counts(degree).sum()))
    return GaussianExpansion(
        random.uniform(0, 2, (n, 3)), random.uniform(0.3, 3, n), degree, starts(term_counts(degree)), terms
    )


def derived(expansion: GaussianExpansion, order: tuple[int, int, int]) -> GaussianExpansion:
    for axis, times in enumerate(order):
        for _ in range(times):
            expansion = derivative(expansion, axis)
    return expansion


def on_lattice(expansion, orders, tolerance, device, precision) -> np.ndarray:
    """Shape (n_orders, nx, ny, nz)."""
    with device_session(device, precision) as target:
        out = target.empty((len(orders) * SHAPE[0], *SHAPE[1:]))
        e = expansion
        args = (layout(e.degree), e.centre, e.exponent, e.terms, SPACING, SHAPE, 0, tolerance, target, out)
        orbital_on_lattice(*args, orders=orders)
        values = out if isinstance(out, np.ndarray) else out.to_numpy()
    return values.reshape(-1, *SHAPE)


def expected(expansion, orders) -> np.ndarray:
    points = np.stack(np.meshgrid(*(h * np.arange(n) for n, h in zip(SHAPE, SPACING, strict=True)), indexing="ij"), -1)
    values = [value_at(derived(expansion, order), points.reshape(-1, 3)) for order in orders]
    return np.reshape(values, (-1, *SHAPE))


@pytest.mark.parametrize(
    ("orders", "many"),
    [(GRADIENT, False), (GRADIENT, True), pytest.param(HESSIAN, False, marks=pytest.mark.slow_on("vulkan"))],
)
def test_against_plain_sums(orders, many, device, precision, monkeypatch):
    """Also as if there were so many rows that lists have parts, which a GPU keeps apart."""
    if many:
        monkeypatch.setattr(taichi_kernels.orbital_lattice, "_MANY_ROWS", 0)
    expansion = some_expansion(6)
    values = on_lattice(expansion, orders, 1e-7 if precision == "single" else 1e-13, device, precision)
    wanted = expected(expansion, orders)
    limit = {"single": 2e-6, "double": 1e-13}[precision]
    for value, reference in zip(values, wanted, strict=True):
        assert np.abs(value - reference).max() < limit * max(1.0, np.abs(reference).max())


@pytest.mark.slow
@pytest.mark.parametrize("tolerance", [1e-1, 1e-3])
def test_screening_keeps_its_bound_for_each_derivative(tolerance):
    """Many small Gaussians, of which a good part is left out: the error is seen, and within the bound."""
    expansion = some_expansion(400, seed=3).scaled(1e-2)
    errors = on_lattice(expansion, HESSIAN, tolerance, "cpu", "double") - expected(expansion, HESSIAN)
    largest = np.abs(errors).max(axis=(1, 2, 3))
    assert (largest < tolerance).all()
    assert largest.max() > 1e-3 * tolerance


@pytest.mark.parametrize("order", [0, 1, 2])
def test_bounds_of_derivatives_hold_at_every_distance(order):
    random = np.random.default_rng(order)
    for seed in range(5):
        expansion = some_expansion(1, seed)
        bounds = bounds_of_derivatives(expansion, order)[0]
        directions = random.normal(size=(200, 3))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        orders = [one for one in np.ndindex(3, 3, 3) if sum(one) == order]
        limit = 1e-6
        far = reach(expansion, limit, order)[0]
        for distance in (0.1, 0.7, 1.5, 3.0, far):
            points = expansion.centre + distance * directions
            largest = max(np.abs(value_at(derived(expansion, one), points)).max() for one in orders)
            bound = (bounds * distance ** np.arange(len(bounds))).sum() * np.exp(-expansion.exponent[0] * distance**2)
            assert largest <= bound * (1 + 1e-12)
        assert largest <= limit * (1 + 1e-3)


def test_derivatives_know_where_they_come_from():
    expansion = some_expansion(2)
    mixed = derivative(derivative(expansion, 0), 2)
    assert origin_of(mixed).expansion is expansion
    assert origin_of(mixed).order == (1, 0, 1)
    assert origin_of(mixed.scaled(2.0)).order == (0, 0, 0)


def test_a_sheared_lattice_has_no_shared_derivatives():
    e = some_expansion(2)
    with device_session("cpu", "single") as target:
        out = target.empty((4 * SHAPE[0], *SHAPE[1:]))
        args = (layout(e.degree), e.centre, e.exponent, e.terms, SPACING, SHAPE, 0, 1e-6, target, out, 0.1)
        with pytest.raises(ValueError, match="orthogonal axes"):
            orbital_on_lattice(*args, orders=GRADIENT)
