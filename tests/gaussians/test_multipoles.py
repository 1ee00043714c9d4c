"""The far field: against the direct sum, and within its bound."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.fields.electrostatic_potential import ElectrostaticPotential
from orbitile.gaussians.multipoles import DISTANCES, RADII, Class, far_field, harmonics
from taichi_kernels.electrostatics import Levels
from taichi_kernels.hermite_tables import powers_of
from tests.conftest import random_wavefunction
from tests.kernels.test_far_levels import expected_rows


def irregular(r, order):
    """Solid harmonics from SciPy's associated Legendre functions, in the order of `harmonics`."""
    from scipy.special import factorial, lpmv

    x, y, z = r.T
    distance = np.linalg.norm(r, axis=1)
    angle = np.arctan2(y, x)
    columns = []
    for l, m, part in harmonics(order):
        legendre = (-1) ** m * lpmv(m, l, z / distance)  # without the phase of Condon and Shortley
        wave = np.cos(m * angle) if part == 0 else np.sin(m * angle)
        columns.append(factorial(l - m) * legendre * wave / distance ** (l + 1))
    return np.stack(columns, axis=1)


def some_charges(degree, n=40, seed=0):
    rng = np.random.default_rng(seed)
    orders = powers_of(degree)
    exponent = np.exp(rng.uniform(-1, 4, n))
    hermite = rng.normal(size=(n, len(orders))) * exponent[:, None] ** -np.array([sum(o) / 2 for o in orders])
    return Class(degree, rng.uniform(-2, 2, (n, 3)), exponent, hermite, orders)


def derivative_of_inverse_distance(d, t, u, v, m=0):
    """With respect to the centre, d = centre - point, by the recurrence of McMurchie and Davidson."""
    for axis, n in enumerate((t, u, v)):
        if n:
            once, twice = ([(t, u, v)[k] - step * (k == axis) for k in range(3)] for step in (1, 2))
            value = d[axis] * derivative_of_inverse_distance(d, *once, m + 1)
            return value + (n - 1) * derivative_of_inverse_distance(d, *twice, m + 1) if n > 1 else value
    return (-1) ** m * np.prod(np.arange(2 * m - 1, 0, -2)) / np.linalg.norm(d, axis=0) ** (2 * m + 1)


def point_multipoles(one, points):
    """Potential of the distributions as if they were points."""
    total = np.zeros(len(points))
    for n, order in enumerate(one.orders):
        for centre, exponent, hermite in zip(one.centre, one.exponent, one.hermite, strict=True):
            value = derivative_of_inverse_distance((centre - points).T, *order)
            total += hermite[n] * 0.5 * np.sqrt(np.pi / exponent) * value
    return total


@pytest.mark.parametrize("degree", [0, 1, 2, 4])
def test_moments_have_the_potential_of_what_they_stand_for(degree):
    one = some_charges(degree)
    sites = np.array([[0.5, 0.3, -0.2], [-1.0, 1.0, 1.0]])
    order = 14
    field = far_field([one], sites, order, 1e2)
    rng = np.random.default_rng(1)
    points = rng.normal(size=(30, 3))
    points *= (40 / np.linalg.norm(points, axis=1))[:, None]
    rows = expected_rows(points, points, Levels(sites, DISTANCES, field.bounds, 1.0))
    assert all(field.ranges[0][row, 0] == field.ranges[0][row, 1] for row in rows.flat)  # everything is far
    value = sum(
        (field.moments[rows[:, site]] * irregular(points - sites[site], order)).sum(axis=1)
        for site in range(len(sites))
    )
    assert value == pytest.approx(point_multipoles(one, points), rel=1e-9, abs=1e-9)


def test_every_distribution_is_near_or_far_and_never_both():
    one = some_charges(2, 300)
    field = far_field([one], np.array([[0.0, 0, 0], [2.0, 0, 0]]), 8, 1e-6)
    rows = len(RADII) + 1
    for site in range(2):
        begins, ends = field.ranges[0][site * rows : (site + 1) * rows].T
        assert np.all(np.diff(begins) >= 0)
        assert np.all(ends == ends[0])
        assert np.all(field.moments[site * rows] == 0)
    assert field.ranges[0][0, 0] == 0
    assert field.ranges[0][rows, 0] == field.ranges[0][0, 1]
    assert field.ranges[0][-1, 1] == 300


@pytest.mark.parametrize("tolerance", [1e-3, 1e-5, 1e-8])
@pytest.mark.parametrize("degree", [0, 2, 4])
def test_the_error_stays_within_its_bound(degree, tolerance):
    """Of each level alone, at the distances for which the bound is known; the direct sum is in double precision."""
    from taichi_kernels import electrostatics
    from taichi_kernels.session import session
    from taichi_kernels.target import Target

    one = some_charges(degree, 30, seed=degree)
    one = one.chosen(np.linalg.norm(one.centre, axis=1) < 1.8)
    site = np.zeros((1, 3))
    field = far_field([one], site, 10, tolerance)
    rng = np.random.default_rng(3)
    directions = rng.normal(size=(20, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    near = [
        electrostatics.Distributions(
            degree, *(getattr(field.classes[0], n) for n in ("centre", "exponent", "hermite")), field.ranges[0]
        )
    ]
    multipoles = electrostatics.Multipoles(10, np.repeat(site, len(field.moments), axis=0), field.moments)
    checked, target = 0, Target("cpu", "double")

    def with_far(number):
        """With so many levels far, wherever a point is."""
        bounds = np.where(np.arange(len(RADII)) < number, 0.0, np.inf)[None, :, None]
        return electrostatics.send_sources(near, multipoles, Levels(site, np.zeros(1), bounds, 1.0), target)

    with session("cpu", "double"):
        direct = with_far(0)
        for number in range(1, len(RADII) + 1):
            partly = with_far(number)
            for place in np.flatnonzero(field.bounds[0, number - 1] < 0.1)[::4]:
                points = directions * (DISTANCES[place] * (1 + 1e-9))
                values = [electrostatics.potential_at_points(points, sources) for sources in (direct, partly)]
                error = np.abs(values[1] - values[0]).max()
                assert error <= field.bounds[0, number - 1, place] + 1e-12
                checked += error > 1e-12
    assert checked > 10


@pytest.mark.slow_on("vulkan")
@pytest.mark.parametrize("tolerance", [1e-3, 1e-6])
def test_potential_of_a_molecule_within_the_tolerance(benzene, device, tolerance):
    rng = np.random.default_rng(5)
    points = rng.uniform(-9, 9, (800, 3))
    field = ElectrostaticPotential(benzene, tolerance=tolerance)
    exact = ob.evaluate(
        benzene, ElectrostaticPotential(benzene, far_field=False), points, device="cpu", precision="double"
    )
    error = np.abs(ob.evaluate(benzene, field, points, device=device, precision="double") - exact).max()
    assert 1e-14 < error < tolerance


def test_parts_for_which_there_is_memory_have_the_potential_of_the_whole(benzene, device, monkeypatch):
    from taichi_kernels import electrostatics

    points = np.random.default_rng(6).uniform(-9, 9, (900, 3))
    shares: list[float] = []
    whole = ob.evaluate(benzene, "esp", points, device=device)
    monkeypatch.setattr(electrostatics, "_ROWS", 100)
    tolerance = 1e-5
    parts = ob.evaluate(benzene, "esp", points, device=device, cancelled=lambda: bool(shares.append(0.0)))
    assert np.abs(parts - whole).max() < 2 * tolerance
    assert len(shares) > 4  # of a part each, at least


@pytest.mark.slow
@pytest.mark.not_in_software
def test_high_angular_momenta_are_summed_up_directly(device):
    """Their degree exceeds the order of the multipoles."""
    wavefunction = random_wavefunction(2, (6,), n_atoms=2, n_primitives=1)
    points = wavefunction.positions.mean(axis=0) + np.random.default_rng(0).uniform(-8, 8, (40, 3))
    direct = ElectrostaticPotential(wavefunction, far_field=False)
    exact = ob.evaluate(wavefunction, direct, points, device="cpu", precision="double")
    values = ob.evaluate(wavefunction, "esp", points, device=device)
    assert values == pytest.approx(exact, abs=1e-4 * np.abs(exact).max())


def test_sites_without_distributions_have_neither_near_nor_far_ones():
    one = some_charges(1, 5)
    sites = np.vstack([[[50.0, 0, 0]], np.zeros((1, 3)), [[-50.0, 0, 0]]])
    field = far_field([one], sites, 6, 1e-5)
    n_rows = len(RADII) + 1
    counts = np.diff(field.ranges[0], axis=1).reshape(3, n_rows)
    assert counts[1, 0] == 5
    assert np.all(counts[[0, 2]] == 0)
    assert np.all(field.moments.reshape(3, n_rows, -1)[[0, 2]] == 0)
