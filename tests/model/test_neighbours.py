"""Neighbours of a few places, from all distances, are those that a tree finds among many."""

import numpy as np
import pytest

from orbitile.model import neighbours


@pytest.fixture
def places():
    return np.random.default_rng(0).normal(scale=3.0, size=(2, 60, 3))


@pytest.mark.parametrize("at_once", [1 << 18, 500])
@pytest.mark.parametrize("reach", [2.0, 0.0, 100.0, np.linspace(0, 4, 60)])
def test_pairs_are_those_of_the_tree(monkeypatch, places, reach, at_once):
    monkeypatch.setattr(neighbours, "_AT_ONCE", at_once)
    few = neighbours.pairs_within(*places, reach)
    monkeypatch.setattr(neighbours, "_MOST", 0)
    for one, other in zip(few, neighbours.pairs_within(*places, reach), strict=True):
        np.testing.assert_array_equal(one, other)
    assert np.all(np.linalg.norm(places[0][few[0]] - places[1][few[1]], axis=1) <= np.broadcast_to(reach, 60)[few[0]])


def test_pairs_among_places_are_told_once(places):
    first, second = neighbours.pairs_among(places[0], 2.5)
    assert np.all(first < second)
    assert 2 * len(first) + 60 == len(neighbours.pairs_within(places[0], places[0], 2.5)[0])


@pytest.mark.parametrize("at_once", [1 << 18, 500])
def test_the_nearest_is_that_of_the_tree(monkeypatch, places, at_once):
    monkeypatch.setattr(neighbours, "_AT_ONCE", at_once)
    few = neighbours.nearest(*places)
    monkeypatch.setattr(neighbours, "_MOST", 0)
    distances, numbers = neighbours.nearest(*places)
    np.testing.assert_array_equal(few[1], numbers)
    assert few[0] == pytest.approx(distances, rel=1e-14)


def test_of_nothing_there_are_no_pairs():
    nothing = np.empty((0, 3))
    assert [len(part) for part in neighbours.pairs_within(nothing, nothing, 1.0)] == [0, 0]
