"""Copies of large arrays from a device: by several threads from CUDA."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from taichi_kernels.arrays import allocate, to_numpy
from taichi_kernels.session import session


@pytest.fixture(params=[pytest.param("cuda", marks=pytest.mark.cuda), pytest.param("vulkan", marks=pytest.mark.vulkan)])
def held(request):
    with session(request.param):
        yield request.param


@pytest.mark.parametrize("shape", [(5,), (2_500_001,), (301, 100, 101)], ids=str)
def test_values_are_copied_whatever_their_number(held, shape):
    values = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    array = allocate(shape, np.float32)
    array.from_numpy(values)
    assert np.array_equal(array.to_numpy(), values)
    into = np.zeros((shape[0] + 1, *shape[1:]), np.float32)
    assert to_numpy(array, into[1:]) is not None
    assert np.array_equal(into[1:], values)
    assert not into[0].any()
    wide = np.zeros((2, *shape), np.float64)[1]
    to_numpy(array, wide)
    assert np.array_equal(wide, values)


@pytest.mark.cuda
def test_threads_may_copy_at_once():
    values = np.random.default_rng(2).normal(size=(3, 1 << 22)).astype(np.float32)
    with session("cuda"):
        arrays = [allocate(one.shape, np.float32) for one in values]
        for array, one in zip(arrays, values, strict=True):
            array.from_numpy(one)
        with ThreadPoolExecutor(3) as threads:
            for copied, one in zip(threads.map(to_numpy, arrays), values, strict=True):
                assert np.array_equal(copied, one)
