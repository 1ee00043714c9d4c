"""Which Gaussians reach which cells: nothing is missing, and both sides agree."""

import numpy as np

from orbitile.evaluation.devices import device_session
from taichi_kernels.hilbert import hilbert_order
from taichi_kernels.quadrature_kernels import GROUP, POINTS
from taichi_kernels.quadrature_lists import cells_of, groups_of, lists_of


def test_the_curve_meets_each_point_once_and_goes_to_neighbours():
    lattice = np.stack(np.meshgrid(*[np.arange(16.0)] * 3), axis=-1).reshape(-1, 3)
    with device_session("cpu", "single"):
        order = hilbert_order(lattice)
        assert len(hilbert_order(np.zeros((0, 3)))) == 0
        assert hilbert_order(np.zeros((1, 3))).tolist() == [0]
    assert sorted(order) == list(range(len(lattice)))
    assert np.linalg.norm(np.diff(lattice[order], axis=0), axis=1).max() < 3


def test_nothing_that_reaches_a_point_is_missing(device):
    rng = np.random.default_rng(0)
    points, centre = rng.normal(size=(700, 3)) * 3, rng.normal(size=(1500, 3)) * 2
    degree = rng.integers(0, 3, len(centre)).astype(np.int32)
    exponent, reach = rng.uniform(0.5, 5, len(centre)), rng.uniform(0, 3, len(centre)) * (rng.random(len(centre)) > 0.2)
    with device_session(device, "single"):
        cells = cells_of(points)
        fewer = rng.uniform(0, 2, len(cells))
        groups = groups_of(centre, degree, reach)
        lists = lists_of(cells, groups, centre, exponent, reach, fewer)
    place = (cells.rest.reshape(3, -1, POINTS) + cells.origin.T[:, :, None]).reshape(3, -1).T
    np.testing.assert_allclose(place, points[cells.order], atol=1e-12)

    from_cells = np.zeros((len(cells), len(groups.row)), bool)
    n_degrees = len(groups.degrees)
    for cell in range(len(cells)):
        for last in lists.listed[lists.starts[cell * n_degrees] : lists.starts[(cell + 1) * n_degrees]]:
            from_cells[cell, last // GROUP * GROUP : last + 1] = True
    from_gaussians = np.zeros_like(from_cells)
    bounds, cells_of_slots = lists.from_slots
    for slot, (begin, end) in enumerate(bounds):
        from_gaussians[cells_of_slots[begin:end], slot] = True
    assert np.array_equal(from_cells, from_gaussians)

    for slot, row in enumerate(groups.row):
        if row >= 0:
            square = ((place - centre[row]) ** 2).sum(axis=1).reshape(-1, POINTS).min(axis=1)
            reached = square < reach[row] ** 2 - fewer / exponent[row]
            assert np.all(from_cells[reached, slot])
    assert set(groups.row[groups.row >= 0]) == set(np.flatnonzero(reach > 0))
    assert not from_cells[:, groups.row < 0].any()
    assert from_cells.mean() < 0.9
