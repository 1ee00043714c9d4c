"""What the device can do at best: bytes copied and multiply-adds a second, by kernels that do nothing else.

Both are written as the kernels of orbitals are, with vectors as elements of arrays, so that they are the peak of what
Taichi makes of a device and not that of a data sheet.
"""

import time
from functools import lru_cache

import numpy as np

from taichi_kernels._taichi import number, ti
from taichi_kernels.arrays import array_of
from taichi_kernels.launching import synchronise
from taichi_kernels.session import running

_LANES = {"cpu": 8, "cuda": 1, "vulkan": 1}
"""Numbers of a vector: one register of a CPU with AVX2 in single precision; a thread of a GPU works on numbers."""

_CHAINS = 10
"""Sums in the kernel that do not depend on each other, written out so that they stay in registers: a multiply-add takes
some four cycles and a core starts two in each."""

_ROUNDS = 7


def copied_bytes_per_second(precision: str = "single", megabytes: int = 256) -> float:
    """Bytes read plus bytes written, a second, of a copy between arrays of this size each; the best of several.

    Inside a `session`.
    """
    element, size = number(precision), np.dtype(precision).itemsize
    lanes = 4
    n = (megabytes << 20) // (lanes * size)
    source, target = (array_of(ti.types.vector(lanes, element), n) for _ in range(2))
    source.fill(1.0)
    copy = _copy(precision, lanes)
    return 2.0 * n * lanes * size / _least(lambda: copy(source, target))


def multiply_adds_per_second(precision: str = "single", share: float = 1.0) -> float:
    """Multiply-adds a second, of sums that stay in registers; the best of several. Each is two operations.

    Inside a `session`. A share of the usual work is less exact and done sooner.
    """
    element = number(precision)
    on_cpu = running() == "cpu"
    lanes = _LANES[running() or "cpu"]
    tasks, steps = (1 << 8, 1 << 14) if on_cpu else (1 << 20, 1 << 9)
    tasks = max(1, int(tasks * share))
    out = array_of(ti.types.vector(lanes, element) if lanes > 1 else element, tasks)
    kernel = _multiply_add(precision, lanes)
    seconds = _least(lambda: kernel(tasks, steps, 0.999, 1e-3, out))
    return float(tasks) * steps * _CHAINS * lanes / seconds


def _least(call: object) -> float:
    """Least time of a kernel, in seconds, after one that compiles."""
    times = []
    for _ in range(_ROUNDS + 1):
        begin = time.perf_counter()
        call()
        synchronise()
        times.append(time.perf_counter() - begin)
    return min(times[1:])


@lru_cache
def _copy(precision: str, lanes: int) -> object:
    Array = ti.types.ndarray(ti.types.vector(lanes, number(precision)), 1)

    @ti.kernel
    def copy(source: Array, target: Array):
        for i in range(source.shape[0]):
            target[i] = source[i]

    return copy


@lru_cache
def _multiply_add(precision: str, lanes: int) -> object:
    real = number(precision)
    value = ti.types.vector(lanes, real) if lanes > 1 else real
    Array = ti.types.ndarray(value, 1)

    @ti.kernel
    def multiply_add(tasks: ti.i32, steps: ti.i32, factor: real, addend: real, out: Array):
        for task in range(tasks):
            c0 = value(0.1)
            c1 = value(0.2)
            c2 = value(0.3)
            c3 = value(0.4)
            c4 = value(0.5)
            c5 = value(0.6)
            c6 = value(0.7)
            c7 = value(0.8)
            c8 = value(0.9)
            c9 = value(1.0)
            a = value(factor)
            b = value(addend)
            for _ in range(steps):
                c0 = c0 * a + b
                c1 = c1 * a + b
                c2 = c2 * a + b
                c3 = c3 * a + b
                c4 = c4 * a + b
                c5 = c5 * a + b
                c6 = c6 * a + b
                c7 = c7 * a + b
                c8 = c8 * a + b
                c9 = c9 * a + b
            out[task] = c0 + c1 + c2 + c3 + c4 + c5 + c6 + c7 + c8 + c9

    return multiply_add
