"""Basins of fields that are known: on lattices, along paths, and along rays."""

import numpy as np
import pytest

from orbitile.analysis.basins.ascent import Spheres, attractors_of
from orbitile.analysis.basins.partition import maxima, partition
from orbitile.analysis.basins.rays import BorderSearch
from orbitile.model.lattice import Lattice

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


def lattice_basins(spacing):
    lattice = Lattice.box([-5.0] * 3, [5.0] * 3, spacing)
    values = peaks(lattice.points())[0].reshape(lattice.shape)
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


@pytest.mark.parametrize("leaves", [True, False])
def test_borders_are_found_from_guesses_that_are_far_off(leaves):
    rng = np.random.default_rng(3)
    border = rng.uniform(2, 4, 200)
    width = rng.uniform(1e-4, 1e-2, 200)
    search = BorderSearch(border + rng.normal(scale=0.4, size=200), np.full(200, 0.5), np.full(200, leaves), width)
    some = np.arange(200)
    while len(some):
        some = search.learn(some, (search.radius[some] < border[some]) == leaves)
    assert np.all(np.abs(search.place - border) <= width)


def test_a_border_that_is_not_there_stays_where_it_was_thought():
    search = BorderSearch(np.array([2.0]), np.array([0.5]), np.array([True]), np.array([1e-3]))
    some = np.arange(1)
    while len(some):
        some = search.learn(some, np.ones(len(some), bool))
    assert search.place == pytest.approx(2.0)


@pytest.mark.parametrize(("least", "guess"), [(0.5, 0.6), (0.5, 40.0)])
def test_a_ray_ends_where_another_basin_is_known_to_be(least, guess):
    """At the surface of its sphere, or far from where the basin ended without anybody noticing."""
    search = BorderSearch(np.array([guess]), np.array([least]), np.array([True]), np.array([1e-3]))
    some = np.arange(1)
    while len(some):
        some = search.learn(some, np.zeros(len(some), bool))
    assert search.found.all()
    assert least <= search.place[0] <= guess
