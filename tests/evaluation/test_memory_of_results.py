"""Memory of results: pages made present, and slabs gathered from a ring."""

import numpy as np
import pytest

from orbitile.evaluation.lattices import made_present
from orbitile.evaluation.several_devices import Ring, gather


@pytest.mark.parametrize("first", [0, 1, 1024, 5000])
def test_pages_are_made_present_and_values_stay(first):
    values = np.arange(6 << 20, dtype=np.float32)
    with made_present(values[first:]):
        values[::1000] = -1.0
    expected = np.arange(6 << 20, dtype=np.float32)
    expected[::1000] = -1.0
    assert np.array_equal(values, expected)


@pytest.mark.parametrize("values", [np.ones(3), np.ones((4096, 4096), np.float32)[:, 1::2], np.ones((0, 5))])
def test_small_and_scattered_arrays_are_left_alone(values):
    with made_present(values):
        pass
    assert np.all(values == 1.0)


@pytest.mark.parametrize("planes", [(3, 3, 1), (8, 8, 8), (1,), ()])
def test_slabs_are_gathered_one_behind_the_other(planes):
    slabs = [np.full((n, 5, 7), k, np.float32) for k, n in enumerate(planes)]
    values = np.empty((sum(planes), 5, 7), np.float32)
    gather(slabs, values)
    assert not planes or np.array_equal(values, np.concatenate(slabs))


def test_a_ring_is_the_same_memory_until_something_fails():
    ring = Ring(1 << 20)
    with ring.array((2, 3, 4), np.float64) as first:
        first[...] = 1.0
    with ring.array((4,), np.float32) as second:
        assert np.shares_memory(first, second)
    with ring.array((1 << 19,), np.float32) as large:
        assert not np.shares_memory(large, ring.memory)
    with pytest.raises(ValueError, match="nothing"), ring.array((4,), np.float32) as third:
        raise ValueError("nothing")
    assert ring.memory is None
    with ring.array((4,), np.float32) as fourth:
        assert not np.shares_memory(third, fourth)
    ring.close()
