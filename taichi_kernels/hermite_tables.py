"""Tables for the potential of Hermite Gaussians: their orders, the recurrence over these, and Boys functions."""

from functools import lru_cache

import numpy as np

HIGHEST = 16
"""Degree of a product of two functions with angular momentum 8."""

STEP = 0.1
"""Between two points of a table of Boys functions."""

TABLE_END = {"single": 26.0, "double": 44.0}
"""Beyond it exp(-T) does not matter beside the Boys functions, which fall with powers of T."""

TAYLOR = {"single": 4, "double": 7}
"""Terms of the Taylor series from one of its points."""


@lru_cache
def powers_of(degree: int) -> tuple[tuple[int, int, int], ...]:
    """Orders (t, u, v) of the Hermite Gaussians up to a degree, those of low degree first."""
    return tuple((t, n - t - v, v) for n in range(degree + 1) for v in range(n + 1) for t in range(n - v, -1, -1))


def boys_function(degree: int, t: np.ndarray) -> np.ndarray:
    """F_degree(T) for T below 100, by the series exp(-T) sum_i (2T)^i / ((2m + 1)(2m + 3) ... (2m + 2i + 1))."""
    term = np.full(len(t), 1.0 / (2 * degree + 1))
    series = term.copy()
    for i in range(1, 400):
        term = term * 2 * t / (2 * degree + 2 * i + 1)
        series += term
    return np.exp(-t) * series


@lru_cache
def boys_table(precision: str, degree: int) -> np.ndarray:
    """F_degree(T), those above that its Taylor series needs, and exp(-T), on the grid; shape (points, n)."""
    end, highest = TABLE_END[precision], degree + TAYLOR[precision]
    t = np.arange(0, round(end / STEP) + 2) * STEP
    decay = np.exp(-t)
    columns = [decay, boys_function(highest, t)]
    for m in range(highest, degree, -1):
        columns.append((2 * t * columns[-1] + decay) / (2 * m - 1))
    return np.ascontiguousarray(np.stack(columns[::-1], axis=1), np.dtype(precision))


@lru_cache
def recurrence(degree: int) -> np.ndarray:
    """For each order: places of the two it is made of, the axis, and the factor of the second; shape (orders, 4)."""
    powers = powers_of(degree)
    place = {p: n for n, p in enumerate(powers)}
    rows = []
    for p in powers:
        axis = next((n for n in range(3) if p[n] > 0), 0)
        once = tuple(q - (n == axis) for n, q in enumerate(p))
        twice = tuple(q - 2 * (n == axis) for n, q in enumerate(p))
        rows.append((place.get(once, 0), place.get(twice, 0), axis, max(p[axis] - 1, 0)))
    return np.array(rows, np.int32)
