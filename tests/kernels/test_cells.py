"""Positions as cells and remainders, and orders."""

import numpy as np
import pytest

from taichi_kernels.cells import CELL, places_in_order, split_position


@pytest.mark.parametrize("bits", [0, 1, 15, 16, 17, 33, 62])
def test_the_order_is_that_of_the_keys_and_equal_ones_stay_as_they_are(bits):
    keys = np.random.default_rng(bits).integers(0, 1 << bits, 5000)
    keys[::7] = keys[0]
    assert np.array_equal(places_in_order(keys), np.argsort(keys, kind="stable"))
    assert places_in_order(keys[:1]).tolist() == [0]


def test_cells_and_remainders_are_the_positions():
    position = np.concatenate([np.random.default_rng(0).uniform(-1e7, 1e7, 1000), [0.0, -0.0, CELL, -CELL]])
    cell, rest = split_position(position)
    assert np.array_equal(cell * CELL + rest, position)
    assert np.all((rest >= 0) & (rest <= CELL))
