"""Decimal numbers in lines that are all as long, read column by column: some ten times as fast as one by one.

Programs that print with fixed formats put the n-th digit of all numbers of a block at the same place, or at one of few.
The digits of one place are then a column of a table of bytes, and arithmetic with columns makes numbers of them. The
number is the one that `float` gives: digits are added up as whole numbers without rounding; powers of ten have twice
the digits of a double, and so has the quotient or product with them before it is rounded (T. J. Dekker, Numer. Math.
1971, 18, 224).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals

Bytes = NDArray[np.uint8]

_SHAPE = (
    bytes(
        ord("0") if chr(n).isdigit() else ord("E") if chr(n) in "eE" else ord(" ") if chr(n) in " +-" else n
        for n in range(128)
    )
    + b"?" * 128
)
"""Takes a line to its shape: a zero for each digit, a blank for each sign."""

_NUMBER = re.compile(rb"( *)(0*\.0*)(?:E( ?)(0{1,3}))? *")
_MOST_DIGITS = 18
_LOW = 9
"""Digits that are added up apart from those above them: sums of so many are whole numbers that a double holds."""

_GREATEST = 250
"""Powers of ten beyond this are left to `float`, where results may have fewer digits than a double has."""

_HIGH_OF_POWER = np.array([float(10**n) for n in range(_GREATEST + 1)])
_LOW_OF_POWER = np.array([float(10**n - int(float(10**n))) for n in range(_GREATEST + 1)])
_MOST_SHAPES = 16

_AT_ONCE = 512
"""Lines whose digits are added up at once: for large arrays the system is asked for memory, each time anew."""


@dataclass(frozen=True, eq=False)
class _Layout:
    """Where the parts of a number are in lines of one shape.

    Attributes
    ----------
    first, end : int
        Columns of the digits, from the first one to behind the last one of the exponent.
    weights : ndarray, shape (3, end - first)
        What a digit counts in the upper part of the digits, in the lower part, and in the exponent.
    zero : ndarray, shape (3, 1)
        What these sums are where all digits are the letter 0.
    sign, exponent_sign : int
        Their columns, -1 where there is none.
    blanks : ndarray of int
        Columns in which there must be blanks.
    n_decimals : int
        Digits behind the point.
    """

    first: int
    end: int
    weights: Reals
    zero: Reals
    sign: int
    exponent_sign: int
    blanks: NDArray[np.intp]
    n_decimals: int


@lru_cache(maxsize=256)
def _layout(shape: bytes) -> _Layout | None:
    """The layout of lines of such a shape; None where it is not that of a number with a point."""
    found = _NUMBER.fullmatch(shape)
    digits = 0 if found is None else len(found[2]) - 1
    if found is None or not 1 <= digits <= _MOST_DIGITS:
        return None
    first, point, end = found.start(2), shape.index(b"."), found.end(2) if found[4] is None else found.end(4)
    weights = np.zeros((3, end - first))
    places = [n for n in range(first, found.end(2)) if n != point]
    for power, place in enumerate(reversed(places)):
        weights[int(power < _LOW), place - first] = 10.0 ** (power % _LOW)
    if found[4] is not None:
        weights[2, found.start(4) - first : found.end(4) - first] = 10.0 ** np.arange(len(found[4]))[::-1]
    sign = first - 1
    exponent_sign = found.start(3) if found[3] else -1
    blanks = [n for n, letter in enumerate(shape) if letter == ord(" ") and n not in (sign, exponent_sign)]
    return _Layout(
        first,
        end,
        weights,
        ord("0") * weights.sum(axis=1, keepdims=True),
        sign,
        exponent_sign,
        np.array(blanks, np.intp),
        found.end(2) - point - 1,
    )


def decimals(lines: Bytes) -> Reals | None:
    """One number in each line, as `float` gives them; None where there is not one number with a point in each.

    Parameters
    ----------
    lines : ndarray of uint8, shape (n, width)
        Text in ASCII, with blanks before and behind the numbers.

    Returns
    -------
    ndarray, shape (n,)
    """
    n, width = lines.shape
    shapes = np.frombuffer(lines.tobytes().translate(_SHAPE), f"S{width}")
    values, left = np.empty(n), np.ones(n, np.bool_)
    for _ in range(_MOST_SHAPES):
        shape = shapes[int(np.argmax(left))]
        layout, alike = _layout(bytes(shape)), shapes == shape
        found = None if layout is None else _values(lines if alike.all() else lines[alike], layout)
        if found is None:
            return None
        values[alike] = found
        left &= ~alike
        if not left.any():
            return values
    return None


def _values(lines: Bytes, layout: _Layout) -> Reals | None:
    """Numbers of lines of one layout; None where something stands at places of blanks and signs that must not."""
    blank, minus, plus = b" -+"
    signs = lines[:, layout.sign] if layout.sign >= 0 else np.full(len(lines), blank, np.uint8)
    if np.any(lines[:, layout.blanks] != blank):
        return None
    sums, columns = np.empty((3, len(lines))), lines[:, layout.first : layout.end]
    for first in range(0, len(lines), _AT_ONCE):
        some = slice(first, first + _AT_ONCE)
        np.matmul(layout.weights, columns[some].astype(np.float64).T, out=sums[:, some])
    upper, lower, exponents = np.subtract(sums, layout.zero, out=sums)
    if layout.exponent_sign >= 0:
        of_exponents = lines[:, layout.exponent_sign]
        if not np.all((of_exponents == minus) | (of_exponents == plus)):
            return None
        exponents = np.where(of_exponents == minus, -exponents, exponents)
    powers = exponents.astype(np.intp) - layout.n_decimals
    values = _scaled(upper * 10.0**_LOW, lower, np.clip(powers, -_GREATEST, _GREATEST))
    for n in np.flatnonzero(np.abs(powers) > _GREATEST).tolist():
        values[n] = abs(float(lines[n].tobytes()))
    return np.where(signs == minus, -values, values)


def _scaled(upper: Reals, lower: Reals, powers: NDArray[np.intp]) -> Reals:
    """(upper + lower) * 10^powers of whole numbers, rounded once."""
    whole = upper + lower
    of_lower = whole - upper
    rest = (upper - (whole - of_lower)) + (lower - of_lower)
    high, low = _HIGH_OF_POWER[np.abs(powers)], _LOW_OF_POWER[np.abs(powers)]
    quotient = whole / high
    product, error = _product(quotient, high)
    result = quotient + ((whole - product - error) + (rest - quotient * low)) / high
    if np.any(ahead := powers > 0):
        product, error = _product(whole[ahead], high[ahead])
        result[ahead] = product + (error + (whole[ahead] * low[ahead] + rest[ahead] * high[ahead]))
    return result


def _product(one: Reals, other: Reals) -> tuple[Reals, Reals]:
    """The product of two numbers, and what rounding took from it."""
    product = one * other
    (a, b), (c, d) = (_halves(number) for number in (one, other))
    return product, ((a * c - product) + a * d + b * c) + b * d


def _halves(number: Reals) -> tuple[Reals, Reals]:
    """Two numbers of half as many digits whose sum this is."""
    large = number * 134217729.0  # 2^27 + 1
    high = large - (large - number)
    return high, number - high
