r"""Integrals over contracted s functions, in the three ways that Ufimtsev and Martinez map them to a GPU.

(J. Chem. Theory Comput. 2008, 4, 222, doi 10.1021/ct700268q.) A contracted integral is a sum over the products of
primitives of its two pairs of functions,

.. math::  (ij|kl) = \sum_{p \in ij} \sum_{q \in kl} \frac{c_p c_q}{\sqrt{p + q}}\, F_0\Big(\frac{pq}{p+q} R_{pq}^2\Big)

with :math:`c_p = \sqrt{2}\, \pi^{5/4}\, d_i d_j K_{ij} / p`, all of which is computed once for each pair. A block of
threads can have a contracted integral (1B1CI), or a thread (1T1CI), or a thread has a primitive integral and another
kernel adds them up (1T1PI). On a CPU a vector stands for the block, or for as many threads.

With the Boys function :math:`F_0(T) = (4T/\pi + h(T))^{-1/2}`, in which h falls from 1 to 0 as T grows, a primitive
integral is

.. math::  [ss|ss] = \frac{c_p c_q}{\sqrt{p + q}}\, F_0\Big(\frac{pq}{p+q} R^2\Big)
    = \frac{c_p c_q}{\sqrt{(4/\pi)\, X + (p + q)\, h}}, \qquad X = pq R^2

h is a polynomial in T / (T + a) = X / (X + a (p + q)): no table is looked up, and nothing branches.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import erf, erfc, pi, sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from .._taichi import number, ti
from ..arrays import to_numpy
from ..kept_arrays import KeptArrays
from ..launching import Checkpoint, launch, pace_of
from ..target import Target

MAPPINGS = {"1B1CI": "per_block", "1T1CI": "per_contracted", "1T1PI": "per_primitive"}
"""The mappings by their names in the paper, and our kernels."""

GROUP = 16
"""Contracted pairs that stand side by side: the vector of a CPU, what neighbouring threads of a GPU read at once."""

BLOCK = 64
"""Threads that share an integral where a block of them does."""

_FITS = {"single": (17.0, 8.0, 13), "double": (36.0, 10.0, 32)}
"""End of the range of T, a, and degree of the polynomial: F_0 is right within 2e-8 and 1e-14 of itself."""

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
    kernel = getattr(_kernels(target), MAPPINGS[mapping])
    operands = {
        "begin": _held.operand(target, "begin of pairs", pairs.begin, np.int32),
        "bra": _held.operand(target, "products of pairs", pairs.products, real),
        "row_begin": _held.operand(target, "row_begin of pairs", pairs.row_begin, np.int32),
        "ket": _held.operand(target, "rows of pairs", pairs.rows, real),
        "bound": _held.operand(target, "bound of pairs", pairs.bound, real),
        "fit": _held.operand(target, "coefficients of h", np.array(boys_fit(target.precision)[2]), real),
    }

    def numbers(name: str, size: int) -> Any:
        """Uninitialised; a vector is an element on a CPU, but where a vector has one integral."""
        if target.on_host:
            return np.empty(size if mapping == "1B1CI" else (size // GROUP, GROUP), real)
        return _held.array(f"{name}, {real}", number(real), (size,))

    out = operands["out"] = numbers("integrals", n * width)
    ends = pairs.begin[first * GROUP : last * GROUP + 1].astype(np.int64)
    of_product, most = int(pairs.row_begin[last]) * GROUP, n
    if mapping == "1T1PI":
        largest = max(1, int(np.diff(ends).max()))
        most = max(1, _PARTS[target.device] // (of_product * largest))
        operands["parts"] = numbers("primitive integrals", most * of_product * largest)

    def some(begin: int, end: int) -> None:
        for bra in range(begin, end, most):
            count = min(most, end - bra)
            where = {"first": first * GROUP + bra, "n": count, "place": bra * width, "groups": last}
            launch(kernel, **where, threshold=threshold, **operands)

    work = np.maximum(np.diff(ends), 1) * float(of_product)
    pace_of(1 << 22, "primitive integrals", mapping, target).run(work, some, checkpoint)
    if target.on_host:
        return lambda: out.reshape(n, width)
    return lambda: to_numpy(out, np.empty(n * width, real)).reshape(n, width)


@lru_cache
def boys_fit(precision: str) -> tuple[float, float, tuple[float, ...]]:
    """a, the largest T / (T + a), and the coefficients of h by falling powers of T / (T + a) scaled to -1 ... 1."""
    end, shift, degree = _FITS[precision]
    top = end / (end + shift)

    def h(x: np.ndarray) -> np.ndarray:
        share = (x + 1) / 2 * top
        t = shift * share / (1 - share)
        return np.array([(4 * T / pi) * erfc(sqrt(T)) * (2 - erfc(sqrt(T))) / erf(sqrt(T)) ** 2 for T in t])

    fitted = chebyshev.cheb2poly(chebyshev.chebinterpolate(h, degree))
    return shift, top, tuple(fitted[::-1].tolist())


@lru_cache
def _kernels(target: Target) -> SimpleNamespace:
    """Kernels of the three mappings for one target, `per_block`, `per_contracted` and `per_primitive`.

    On a GPU a thread has one integral, on a CPU a vector has `GROUP`. All have the same arguments, but for where
    `per_primitive` keeps the primitive integrals.
    """
    real, vectors = number(target.dtype), target.on_host
    L = ti.types.vector(GROUP, real) if vectors else real
    I1, R1, R2 = ti.types.ndarray(ti.i32, 1), ti.types.ndarray(real, 1), ti.types.ndarray(real, 2)
    Kets = ti.types.ndarray(L, 2) if vectors else ti.types.ndarray(real, 3)
    Values = ti.types.ndarray(L, 1)
    lanes = GROUP if vectors else 1
    tasks = GROUP // lanes  # that a group of kets makes
    block = 4 if vectors else BLOCK
    halvings = BLOCK.bit_length() - 1  # until the sums of a block are one
    shift, top, series = boys_fit(target.precision)

    @ti.func
    def primitive(ax, ay, az, a, bx, by, bz, b, fit: ti.template()):
        """[ss|ss] without the coefficients of the products."""
        x, y, z = ax - bx, ay - by, az - bz
        both = a + b
        scaled, shifted = a * b * (x * x + y * y + z * z), real(shift) * both
        # T / (T + a) from -1 to 1
        u = ti.min((real(2 / top - 1) * scaled - shifted) / (scaled + shifted), real(1.0))
        h = u * real(series[0]) + real(series[1])
        if ti.static(vectors):
            for n in range(2, fit.shape[0]):  # written out it is no SIMD code: LLVM follows twelve operations
                h = h * u + fit[n]
        else:
            for n in ti.static(range(2, len(series))):
                h = h * u + real(series[n])
        return ti.rsqrt(real(4 / pi) * scaled + both * h)

    @ti.func
    def read(ket: ti.template(), row: ti.i32, lane: ti.i32, field: ti.template()):
        value = L(0.0)
        if ti.static(vectors):
            value = ket[row, field]
        else:
            value = ket[row, field, lane]
        return value

    @ti.func
    def with_ket(e: ti.i32, row: ti.i32, lane: ti.i32, bra: ti.template(), ket: ti.template(), fit: ti.template()):
        """[ss|ss] of a product of a bra and one, or a vector of them, of a ket, with the coefficient of the latter."""
        return read(ket, row, lane, 4) * primitive(
            bra[e, 0], bra[e, 1], bra[e, 2], bra[e, 3],
            read(ket, row, lane, 0), read(ket, row, lane, 1), read(ket, row, lane, 2), read(ket, row, lane, 3),
            fit,
        )  # fmt: skip

    @ti.kernel
    def per_contracted(
        first: ti.i32,  # of the bras
        n: ti.i32,  # bras
        place: ti.i32,  # of the first integral in the result
        groups: ti.i32,  # of kets, from the first one on
        threshold: real,  # hartree
        begin: I1,  # (pairs + 1) products of each
        bra: R2,  # (products, 5)
        row_begin: I1,  # (groups + 1) rows of each
        ket: Kets,  # (rows, 5, GROUP)
        bound: R1,  # (groups) largest Schwarz bound
        fit: R1,  # coefficients of h
        out: Values,  # (n, groups, GROUP)
    ):
        ti.loop_config(block_dim=block)
        for task in range(n * groups * tasks):
            b, k = first + task // (groups * tasks), task % (groups * tasks) * lanes
            group, lane = k // GROUP, k % GROUP
            total = L(0.0)
            if k <= b and bound[b // GROUP] * bound[group] >= threshold:
                for e in range(begin[b], begin[b + 1]):
                    part = L(0.0)
                    for row in range(row_begin[group], row_begin[group + 1]):
                        part += with_ket(e, row, lane, bra, ket, fit)
                    total += bra[e, 4] * part
            out[place // lanes + task] = total

    @ti.kernel
    def per_primitive(
        first: ti.i32,
        n: ti.i32,
        place: ti.i32,
        groups: ti.i32,
        threshold: real,
        begin: I1,
        bra: R2,
        row_begin: I1,
        ket: Kets,
        bound: R1,
        fit: R1,
        out: Values,
        parts: Values,  # (products of the bras, rows of the groups, GROUP)
    ):
        ti.loop_config(block_dim=block)
        for task in range((begin[first + n] - begin[first]) * row_begin[groups] * tasks):
            across = row_begin[groups] * tasks
            e, f = begin[first] + task // across, task % across
            parts[task] = bra[e, 4] * with_ket(e, f // tasks, f % tasks, bra, ket, fit)

        ti.loop_config(block_dim=block)
        for task in range(n * groups * tasks):
            across = row_begin[groups] * tasks
            b, k = first + task // (groups * tasks), task % (groups * tasks) * lanes
            group = k // GROUP
            total = L(0.0)
            if k <= b and bound[b // GROUP] * bound[group] >= threshold:
                for e in range(begin[b] - begin[first], begin[b + 1] - begin[first]):
                    part = L(0.0)
                    for row in range(row_begin[group], row_begin[group + 1]):
                        part += parts[e * across + row * tasks + k % GROUP // lanes]
                    total += part
            out[place // lanes + task] = total

    if vectors:

        @ti.kernel
        def per_block(
            first: ti.i32,
            n: ti.i32,
            place: ti.i32,
            groups: ti.i32,
            threshold: real,
            begin: I1,
            bra: R2,
            row_begin: I1,
            ket: Kets,
            bound: R1,
            fit: R1,
            out: R1,  # (n, groups, GROUP)
        ):
            ti.loop_config(block_dim=block)
            for integral in range(n * groups * GROUP):
                b, k = first + integral // (groups * GROUP), integral % (groups * GROUP)
                total = L(0.0)
                if k <= b and bound[b // GROUP] * bound[k // GROUP] >= threshold:
                    of_ket = begin[k + 1] - begin[k]
                    count = (begin[b + 1] - begin[b]) * of_ket
                    for step in range((count + GROUP - 1) // GROUP):
                        ax, ay, az, a, bx, by, bz = L(0.0), L(0.0), L(0.0), L(1.0), L(0.0), L(0.0), L(0.0)
                        b_, c = L(1.0), L(0.0)
                        for s in range(GROUP):
                            p = step * GROUP + s
                            if p < count:
                                e, f = begin[b] + p // of_ket, begin[k] + p % of_ket
                                ax[s], ay[s], az[s], a[s] = bra[e, 0], bra[e, 1], bra[e, 2], bra[e, 3]
                                bx[s], by[s], bz[s], b_[s] = bra[f, 0], bra[f, 1], bra[f, 2], bra[f, 3]
                                c[s] = bra[e, 4] * bra[f, 4]
                        total += c * primitive(ax, ay, az, a, bx, by, bz, b_, fit)
                out[place + integral] = total.sum()

    else:

        @ti.kernel
        def per_block(
            first: ti.i32,
            n: ti.i32,
            place: ti.i32,
            groups: ti.i32,
            threshold: real,
            begin: I1,
            bra: R2,
            row_begin: I1,
            ket: Kets,
            bound: R1,
            fit: R1,
            out: R1,
        ):
            ti.loop_config(block_dim=BLOCK)
            for thread in range(n * groups * GROUP * BLOCK):
                shared = ti.simt.block.SharedArray((BLOCK,), real)
                integral, member = thread // BLOCK, thread % BLOCK
                b, k = first + integral // (groups * GROUP), integral % (groups * GROUP)
                count, of_ket = 0, begin[k + 1] - begin[k]
                if k <= b and bound[b // GROUP] * bound[k // GROUP] >= threshold:
                    count = (begin[b + 1] - begin[b]) * of_ket
                total = real(0.0)
                for step in range((count - member + BLOCK - 1) // BLOCK):
                    p = step * BLOCK + member
                    e, f = begin[b] + p // of_ket, begin[k] + p % of_ket
                    total += bra[e, 4] * bra[f, 4] * primitive(
                        bra[e, 0], bra[e, 1], bra[e, 2], bra[e, 3], bra[f, 0], bra[f, 1], bra[f, 2], bra[f, 3],
                        fit,
                    )  # fmt: skip
                shared[member] = total
                ti.simt.block.sync()
                for halving in ti.static(range(halvings)):
                    if member < (BLOCK >> (halving + 1)):
                        shared[member] = shared[member] + shared[member + (BLOCK >> (halving + 1))]
                    ti.simt.block.sync()
                if member == 0:
                    out[place + integral] = shared[0]

    return SimpleNamespace(per_block=per_block, per_contracted=per_contracted, per_primitive=per_primitive)
