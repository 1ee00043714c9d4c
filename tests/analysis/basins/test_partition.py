"""Basins of fields that are known: on lattices, along paths, and along rays."""

import numpy as np
import pytest

from orbitile.analysis.elf_basins import partition
from orbitile.analysis.qtaim import (
    EMPTY,
    MIXED,
    _goes_on,
    attractors_of,
    cells_of,
    directions_of,
    led_to,
    maxima,
    quick_paths,
    rays_of,
)
from orbitile.analysis.topology import Spheres
from orbitile.evaluation.devices import device_session
from orbitile.model.lattice import Lattice
from orbitile.model.volume import Volume
from taichi_kernels.arrays import to_numpy
from taichi_kernels.ascent import BETWEEN, INSIDE, OUTSIDE, UNCLEAR, splines_of, steepest

CENTRES = np.array([[-1.1, 0.2, -0.3], [1.1, -0.2, 0.3]])
SPHERES = Spheres(CENTRES, np.array([0.5, 0.5]))


def peaks(points):
    """Two Gaussians, each the mirror image of the other: the plane between them is the border."""
    away = points[:, None] - CENTRES
    each = np.exp(-(away**2).sum(axis=2))
    return each.sum(axis=1), -2 * np.einsum("nk,nki->ni", each, away)


def test_paths_end_at_the_peak_of_their_side():
    points = np.random.default_rng(1).normal(size=(500, 3))
    side = points @ (CENTRES[1] - CENTRES[0])
    clear = np.abs(side) > 1e-3
    assert np.array_equal(attractors_of(points, peaks, SPHERES)[clear], (side > 0)[clear].astype(int))


def test_paths_begin_again_without_waiting_for_others():
    points = np.array([[-2.0, 0, 0], [2.0, 0, 0], [0.5, 1.0, 0]])
    turns = []

    def again(some, ends):
        turns.extend(some.tolist())
        left = some[np.array([turns.count(n) < 2 for n in some.tolist()], bool)]
        return left, -points[left]

    assert attractors_of(points, peaks, SPHERES, again).tolist() == [1, 0, 0]
    assert sorted(turns) == [0, 0, 1, 1, 2, 2]


def test_coefficients_of_splines_are_those_of_scipy(device):
    from scipy.ndimage import spline_filter

    values = [np.random.default_rng(n).normal(size=shape) for n, shape in enumerate(((4, 33, 7), (300, 5, 19)))]
    with device_session(device, "single") as target:
        found = splines_of([(each.astype(np.float32), np.zeros(3), 0.1) for each in values], target)
        coefficient = found.coefficient if isinstance(found.coefficient, np.ndarray) else to_numpy(found.coefficient)
    for each, begin in zip(values, found.begins, strict=True):
        own = coefficient[begin : begin + each.size].reshape(each.shape)
        np.testing.assert_allclose(own, spline_filter(each, 3, mode="mirror"), atol=2e-5)


def test_the_steepest_way_is_that_to_the_neighbour_with_the_largest_slope(device):
    values = np.random.default_rng(2).normal(size=(5, 3, 6)).astype(np.float32)
    at = np.stack(np.unravel_index(np.arange(values.size), values.shape), axis=1)
    away = at[:, None] - at
    beside = (np.abs(away).max(axis=2) == 1).astype(float)
    rise = values.reshape(-1) - values.reshape(-1, 1)
    slope = np.where(beside > 0, rise / np.maximum(np.linalg.norm(away, axis=2), 1), 0)
    expected = np.where(slope.max(axis=1) > 0, slope.argmax(axis=1), np.arange(values.size))
    with device_session(device, "single"):
        assert np.array_equal(steepest(values), expected)


def test_quick_paths_lead_where_exact_ones_do(device):
    lattice = Lattice.box([-3.5] * 3, [3.5] * 3, 0.12)
    density = Volume(peaks(lattice.points())[0].reshape(lattice.shape), lattice)
    points = np.random.default_rng(3).normal(size=(2000, 3))
    points = points[np.linalg.norm(points, axis=1) < 3]
    with device_session(device, "single") as target:
        found = quick_paths([density], SPHERES, target).ends(points)
    side = points @ (CENTRES[1] - CENTRES[0])
    clear = np.abs(side) > 1e-3
    assert np.array_equal(found[clear], (side > 0)[clear].astype(int))


def density_on_lattice(spacing):
    lattice = Lattice.box([-5.0] * 3, [5.0] * 3, spacing)
    return Volume(peaks(lattice.points())[0].reshape(lattice.shape), lattice)


def lattice_basins(spacing):
    density = density_on_lattice(spacing)
    lattice, values = density.lattice, density.values
    sources = SPHERES.around(lattice.points()).astype(np.int32)
    found = maxima(values, 1e-9)
    assert len(found) == 2
    assert (sources[found] >= 0).all()
    return lattice, values, partition(values, lattice, 1e-9, sources)


def test_a_lattice_is_shared_out_completely_and_equally():
    lattice, values, shares = lattice_basins(0.25)
    inside = values.reshape(-1) > 1e-9
    assert shares.share.sum(axis=1)[inside] == pytest.approx(1, abs=1e-5)
    assert not shares.share[~inside].any()
    content = [(shares.share * (shares.basin == n)).sum(axis=1) @ values.reshape(-1) for n in (0, 1)]
    assert np.array(content) * lattice.cell_volume == pytest.approx(np.pi**1.5, rel=1e-3)
    points = np.random.default_rng(2).normal(size=(1000, 3))
    side = points @ (CENTRES[1] - CENTRES[0]) / np.linalg.norm(CENTRES[1] - CENTRES[0])
    clear = np.abs(side) > 0.5
    assert np.array_equal(shares.largest(points)[clear], (side > 0)[clear].astype(int))


def test_points_of_equal_value_belong_to_one_of_them():
    values = np.zeros((5, 5, 5))
    values[1:4, 2, 2] = 1.0
    assert maxima(values, 0.5).tolist() == [np.ravel_multi_index((1, 2, 2), values.shape)]


def test_steepest_ways_over_points_lead_to_the_nearer_peak():
    density = density_on_lattice(0.25)
    with device_session("cpu", "single"):
        basin = led_to(density, SPHERES, peaks)
    side = (density.lattice.points() @ (CENTRES[1] - CENTRES[0])).reshape(basin.shape)
    inside = density.values > 1e-5
    assert np.all(basin[~(density.values > 1e-6)] == EMPTY)
    assert set(basin[inside].tolist()) == {0, 1}
    wrong = inside & (basin != (side > 0))
    assert np.count_nonzero(wrong) < 0.05 * np.count_nonzero(inside)
    assert np.all(np.abs(side[wrong]) < 1.5)


def test_cells_that_are_whole_in_a_basin_are_on_its_side_of_the_plane():
    density = density_on_lattice(0.25)
    with device_session("cpu", "single"):
        cells = cells_of(led_to(density, SPHERES, peaks), density, peaks, SPHERES)
    middles = Lattice.box([-4.5] * 3, [4.5] * 3, 0.25).points() + 0.1
    middles = middles[peaks(middles)[0] > 1e-4]  # borders are about right only below a tenth of it, a cell away
    basin = cells.around(middles)
    side = middles @ (CENTRES[1] - CENTRES[0]) / np.linalg.norm(CENTRES[1] - CENTRES[0])
    assert set(basin) <= {0, 1, EMPTY, MIXED}
    assert np.all(side[basin == 0] < 0.25)
    assert np.all(side[basin == 1] > -0.25)
    assert np.all(np.abs(side[basin == MIXED]) < 0.5)
    near = np.linalg.norm(middles, axis=1) < 2
    assert np.all(basin[near & (np.abs(side) > 0.5)] >= 0)
    assert cells.around(np.array([[9.0, 0, 0]])) == EMPTY


@pytest.mark.parametrize("quickly", [False, True])
def test_rays_end_at_the_plane_or_never(quickly, device):
    density = density_on_lattice(0.25)
    rule = directions_of(17)
    with device_session(device, "single") as target:
        quick = quick_paths([density], SPHERES, target) if quickly else None
        cells = cells_of(led_to(density, SPHERES, peaks), density, peaks, SPHERES, quick)
        quick = quick.ending_in(cells) if quickly else None
        found = rays_of([0, 1], SPHERES, cells, peaks, [rule, rule], quick)
    for attractor, rays in enumerate(found):
        axis = CENTRES[1 - attractor] - CENTRES[attractor]
        expected = (axis @ axis / 2) / np.maximum(rays.directions @ axis, 1e-9)
        assert np.bincount(rays.ray).max() == 1
        near = expected < 3
        assert near.sum() > 20
        density = peaks(CENTRES[attractor] + expected[near, None] * rays.directions[near])[0]
        error = np.abs(rays.end[near] - expected[near])
        assert np.all(error < np.maximum(2e-3 / (density * expected[near] ** 2), 1e-3))
        assert np.all(np.isinf(rays.end[expected > 20]))
        assert np.all(rays.begin == SPHERES.radius[attractor])


def wave(y):
    return 0.6 * np.cos(3 * y) - 0.6


def beside_a_wave(points):
    """Directions of paths to two points, one on each side of a border that is a wave."""
    x, y, z = points.T
    side = x - wave(y)
    along = side * (1 - side**2) + 1.8 * np.sin(3 * y) * y
    return np.exp(-np.linalg.norm(points, axis=1) / 2), np.stack([along, -y, -z], axis=1)


def test_rays_come_back_where_a_border_is_a_wave():
    lattice = Lattice.box([-3.0] * 3, [3.0] * 3, 0.15)
    points = lattice.points()
    basin = (points[:, 0] > wave(points[:, 1])).astype(np.int32).reshape(lattice.shape)
    spheres = Spheres(np.array([[-1.0, 0, 0], [1.0, 0, 0]]), np.array([0.3, 0.3]))
    angle = np.linspace(1.2, 1.6, 41)
    directions = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    density = Volume(beside_a_wave(points)[0].reshape(lattice.shape), lattice)
    with device_session("cpu", "single"):
        cells = cells_of(basin, density, beside_a_wave, spheres)
        rays = rays_of([0], spheres, cells, beside_a_wave, [(directions, np.ones(41))])[0]
    radius = np.arange(0.3, 2.9, 1e-4)
    back = 0
    for ray, direction in enumerate(directions):
        x, y, _ = spheres.centre[0, :, None] + radius * direction[:, None]
        crossings = radius[1:][np.diff(x > wave(y))]
        if len(crossings) > 1 and np.diff(crossings).min() < 0.1:
            continue
        mine = rays.ray == ray
        found = np.sort(np.concatenate([rays.begin[mine][1:], rays.end[mine]]))
        found = found[found < 2.7]
        assert found == pytest.approx(crossings[crossings < 2.7][: len(found)], abs=0.02)
        assert len(found) >= np.count_nonzero(crossings < 2.5)
        back += mine.sum() > 1
    assert back > 10


def test_a_basin_may_go_on_where_a_border_of_others_follows_it():
    state = np.array(
        [
            [INSIDE, BETWEEN, UNCLEAR, BETWEEN, OUTSIDE, BETWEEN],
            [INSIDE, OUTSIDE, BETWEEN, BETWEEN, INSIDE, BETWEEN],
        ]
    )
    expected = [[False, True, False, True, False, False], [False, False, False, False, False, True]]
    assert _goes_on(state).tolist() == expected
