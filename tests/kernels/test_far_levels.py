"""What is far from groups of points: as the sum over all sites says, and in single precision never more."""

import numpy as np
import pytest

from taichi_kernels.cells import split_position
from taichi_kernels.electrostatics import Levels, level_kernel, level_tables
from taichi_kernels.electrostatics_kernels import TOGETHER
from taichi_kernels.session import session
from taichi_kernels.target import Target

DISTANCES = np.geomspace(0.25, 120.0, 80)


def expected_rows(low, high, levels):
    """The rule of `electrostatics`, for all boxes at once."""
    n_sites, n_levels = levels.bounds.shape[:2]
    sites = np.arange(n_sites)
    outside = np.maximum(np.maximum(low[:, None] - levels.sites, levels.sites - high[:, None]), 0.0)
    place = np.searchsorted(levels.distances, np.linalg.norm(outside, axis=2), side="right") - 1
    padded = np.concatenate([np.zeros((n_sites, 1, len(levels.distances))), levels.bounds], axis=1)
    number = np.zeros(place.shape, int)
    left, limit = np.arange(len(low)), levels.tolerance
    while len(left) and limit > 0:
        within = (levels.bounds <= limit).sum(axis=1)
        some = np.where(place[left] >= 0, within[sites, place[left]], 0)
        good = padded[sites, some, place[left]].sum(axis=1) <= levels.tolerance
        good |= limit <= levels.tolerance / n_sites
        number[left[good]] = some[good]
        left, limit = left[~good], limit / 2
    return number + sites * (n_levels + 1)


def rows_on(device, points, levels, sums=np.float64):
    """Rows and work of groups of points, one piece after another."""
    n_rows = levels.bounds.shape[0] * (levels.bounds.shape[1] + 1)
    tables = level_tables(levels, np.arange(n_rows, dtype=float), np.dtype(sums))
    together = TOGETHER[device]
    n_groups = len(points) // together
    rows, work = np.empty((n_groups, tables["n_sites"]), np.int32), np.empty(n_groups, np.float32)
    order = np.random.default_rng(1).permutation(len(points))
    slots = np.argsort(order).astype(np.int32)
    slots[::3] = -1 - slots[::3]  # as what fills up a group
    whole, rest = (part.reshape(-1) for part in split_position(np.ascontiguousarray(points[order].T)))
    with session(device):
        kernel = level_kernel(Target(device, "single"), np.dtype(sums))
        for begin, n in ((0, 5), (5, n_groups - 5)):
            # a device need not have what an array of NumPy held that it writes to
            some_rows, some_work = np.empty_like(rows), np.empty_like(work)
            where = {"n_points": len(points), "points": slots, "whole": whole, "rest": rest.astype(np.float32)}
            kernel(begin=begin, n=n, **where, **tables, rows=some_rows, work=some_work)
            rows[begin : begin + n], work[begin : begin + n] = (
                some_rows[begin : begin + n],
                some_work[begin : begin + n],
            )
    return rows, work


def some_levels(tolerance, n_sites=23, seed=0):
    rng = np.random.default_rng(seed)
    steps = rng.exponential(size=(n_sites, 17, 1)) * 1e-6 * np.geomspace(1, 1e4, 17)[:, None]
    bounds = steps.cumsum(axis=1) / DISTANCES**3
    bounds[:, 12:, :20] = np.inf
    return Levels(rng.uniform(-12, 12, (n_sites, 3)), DISTANCES, bounds, tolerance)


def groups(device, n=400):
    """Points of groups, and the corners of boxes about them; coordinates that single precision has."""
    rng = np.random.default_rng(7)
    points = rng.uniform(-20, 20, (n, 1, 3)) + rng.uniform(0, 1, (n, TOGETHER[device], 3))
    points = np.round(points * 4096) / 4096
    return points.reshape(-1, 3), points.min(axis=1), points.max(axis=1)


@pytest.mark.parametrize("tolerance", [0.0, 1e-10, 1e-6, 1e-5, 1e-3])
def test_rows_are_those_of_the_rule(device, tolerance):
    levels, (points, low, high) = some_levels(tolerance), groups(device)
    expected = expected_rows(low, high, levels)
    rows, work = rows_on(device, points, levels)
    assert np.array_equal(rows, expected)
    assert work == pytest.approx(expected.sum(axis=1), rel=1e-6)
    number = expected - np.arange(23) * 18
    assert number.max() == 0 if tolerance == 0 else tolerance < 1e-6 or len(np.unique(number)) > 5


def test_sums_in_single_precision_make_no_more_far():
    levels, (points, low, high) = some_levels(1e-5), groups("cpu")
    rows, _ = rows_on("cpu", points, levels, np.float32)
    expected = expected_rows(low, high, levels)
    error = np.concatenate([np.zeros((23, 1, 80)), levels.bounds], axis=1).reshape(-1, 80)
    outside = np.maximum(np.maximum(low[:, None] - levels.sites, levels.sites - high[:, None]), 0.0)
    place = np.searchsorted(DISTANCES, np.linalg.norm(outside, axis=2), side="right") - 1
    within = np.where(place >= 0, error[rows, place], 0.0).sum(axis=1)
    assert within.max() <= 1e-5
    assert (rows == expected).mean() > 0.98  # and hardly less


def test_one_site_has_the_whole_tolerance(device):
    levels, (points, low, high) = some_levels(1e-6, n_sites=1), groups(device, 40)
    assert np.array_equal(rows_on(device, points, levels)[0], expected_rows(low, high, levels))
