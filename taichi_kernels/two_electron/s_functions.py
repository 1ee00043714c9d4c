r"""Integrals over contracted s functions, in the three ways that Ufimtsev and Martinez map them to a GPU.

(J. Chem. Theory Comput. 2008, 4, 222, doi 10.1021/ct700268q.) A contracted integral is a sum over the products of
primitives of its two pairs of functions,

.. math::  (ij|kl) = \sum_{p \in ij} \sum_{q \in kl} \frac{c_p c_q}{\sqrt{p + q}}\, F_0\Big(\frac{pq}{p+q} R_{pq}^2\Big)

with :math:`c_p = \sqrt{2}\, \pi^{5/4}\, d_i d_j K_{ij} / p`, all of which is computed once for each pair. A block of
threads can have a contracted integral (1B1CI), or a thread (1T1CI), or a thread has a primitive integral and another
kernel adds them up (1T1PI). On a CPU a vector stands for the block, or for as many threads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from .._taichi import number
from ..arrays import to_numpy
from ..kept_arrays import KeptArrays
from ..launching import launch
from ..pace import Checkpoint, Pace
from ..target import Target
from .s_kernels import GROUP, boys_fit, s_kernels

MAPPINGS = {"1B1CI": "per_block", "1T1CI": "per_contracted", "1T1PI": "per_primitive"}
"""The mappings by their names in the paper, and our kernels."""

_PARTS = {"cpu": 1 << 20, "cuda": 1 << 26, "vulkan": 1 << 24}
"""Primitive integrals that are held at once."""

_held = KeptArrays()


@dataclass(frozen=True, eq=False)
class ContractedPairs:
    r"""Pairs of contracted s functions; those in a group of `GROUP` have about as many products of primitives.

    Attributes
    ----------
    begin : ndarray of int32, shape (n_pairs + 1,)
        Products of each pair; the number of pairs is a multiple of `GROUP`, the last ones may have none.
    products : ndarray of float64, shape (n_products, 5)
        Centre in bohr, exponent in bohr^-2, coefficient c.
    row_begin : ndarray of int32, shape (n_groups + 1,)
        Rows of each group.
    rows : ndarray of float64, shape (n_rows, 5, GROUP)
        The same products: row by row, one of each pair in a group, with a coefficient of zero where it has no more.
    bound : ndarray of float64, shape (n_groups,)
        Largest Schwarz bound :math:`\sqrt{(ij|ij)}` of a group, in hartree^(1/2).
    """

    begin: np.ndarray
    products: np.ndarray
    row_begin: np.ndarray
    rows: np.ndarray
    bound: np.ndarray

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.bound)


def grouped(products: np.ndarray, counts: np.ndarray, bound: np.ndarray) -> ContractedPairs:
    """Pairs in the order in which they are given, in groups.

    Parameters
    ----------
    products : ndarray, shape (n_pairs, most, 5)
        As in `ContractedPairs`, those that count first.
    counts : ndarray of int, shape (n_pairs,)
        How many count.
    bound : ndarray, shape (n_pairs,)
    """
    n_groups = -(-len(counts) // GROUP)
    padding = n_groups * GROUP - len(counts)
    counts = np.append(counts, np.zeros(padding, int))
    products = np.concatenate([products, np.zeros((padding, *products.shape[1:]))])
    counted = np.arange(products.shape[1]) < counts[:, None]
    n_rows = counts.reshape(-1, GROUP).max(axis=1)
    blank = np.where(counted[:, :, None], products, 0.0).reshape(n_groups, GROUP, -1, 5)
    used = np.arange(products.shape[1]) < n_rows[:, None]
    arrays = (
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
        products[counted],
        np.concatenate([[0], np.cumsum(n_rows)]).astype(np.int32),
        np.ascontiguousarray(blank.transpose(0, 2, 3, 1)[used]),
        np.append(bound, np.zeros(padding)).reshape(-1, GROUP).max(axis=1),
    )
    for array in arrays:
        array.setflags(write=False)
    return ContractedPairs(*arrays)


def integrals_of_s_functions(
    pairs: ContractedPairs,
    first: int,
    last: int,
    mapping: str,
    threshold: float,
    target: Target,
    checkpoint: Checkpoint | None = None,
) -> Callable[[], np.ndarray]:
    """Integrals (bra|ket) of some pairs as bras with all that do not come after them.

    Parameters
    ----------
    pairs
    first, last
        The bras, groups of pairs; the kets are the groups before `last`.
    mapping
        One of `MAPPINGS`.
    threshold
        In hartree: integrals of groups whose bound is below are zero.
    target
        The device of the current session, and the precision.
    checkpoint
        Called between pieces with the share that is done; what it raises ends the work.

    Returns
    -------
    callable
        Copies the integrals from the device, before the next ones are computed: shape (bras, kets), zero where the ket
        comes after the bra. Memory is that of the result, and 4 MB to 512 MB for primitive integrals of 1T1PI.
    """
    real, width = target.dtype, last * GROUP
    n = (last - first) * GROUP
    kernel = getattr(s_kernels(target), MAPPINGS[mapping])
    operands = [
        _held.operand(target, f"{name} of pairs", getattr(pairs, name), dtype)
        for name, dtype in (
            ("begin", np.int32),
            ("products", real),
            ("row_begin", np.int32),
            ("rows", real),
            ("bound", real),
        )
    ]
    operands.append(_held.operand(target, "coefficients of h", np.array(boys_fit(target.precision)[2]), real))

    def numbers(name: str, size: int) -> Any:
        """Uninitialised; a vector is an element on a CPU, but where a vector has one integral."""
        if target.on_host:
            return np.empty(size if mapping == "1B1CI" else (size // GROUP, GROUP), real)
        return _held.array(f"{name}, {real}", number(real), (size,))

    out = numbers("integrals", n * width)
    ends = pairs.begin[first * GROUP : last * GROUP + 1].astype(np.int64)
    parts: tuple[Any, ...] = ()
    of_product, most = int(pairs.row_begin[last]) * GROUP, n
    if mapping == "1T1PI":
        largest = max(1, int(np.diff(ends).max()))
        most = max(1, _PARTS[target.device] // (of_product * largest))
        parts = (numbers("primitive integrals", most * of_product * largest),)

    def some(begin: int, end: int) -> None:
        for bra in range(begin, end, most):
            count = min(most, end - bra)
            launch(kernel, first * GROUP + bra, count, bra * width, last, threshold, *operands, out, *parts)

    work = np.maximum(np.diff(ends), 1) * float(of_product)
    _pace(mapping, target).run(work, some, checkpoint)
    if target.on_host:
        return lambda: out.reshape(n, width)
    return lambda: to_numpy(out, np.empty(n * width, real)).reshape(n, width)


@lru_cache
def _pace(mapping: str, target: Target) -> Pace:
    """How many primitive integrals make a piece."""
    return Pace(1 << 22)
