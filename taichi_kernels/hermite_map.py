r"""Between matrices over primitives and Hermite Gaussians: a linear map and its adjoint, in double precision.

For a pair of primitives at rows s and columns t of a matrix D,

.. math::  H_n = \sum_{st} D_{st} E^x_{st,n} E^y_{st,n} E^z_{st,n}, \qquad
    M_{st} = \sum_n v_n E^x_{st,n} E^y_{st,n} E^z_{st,n}

Both go through the same table of entries, which is made for each pair of degrees.
"""

from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace

import numpy as np

from ._taichi import ti
from .arrays import to_numpy
from .devices import probe
from .kept_arrays import KeptArrays
from .launching import synchronise
from .target import Target


@dataclass(frozen=True, eq=False)
class Entries:
    """Products that are added up, grouped by what they are added to.

    Attributes
    ----------
    first : ndarray of int32, shape (n_results + 1,)
        Range of the entries of each result.
    entry : ndarray of int32, shape (n_entries, 5)
        Two places in what is summed over (row and column of the matrix, or the order and nothing), and the places of
        the coefficients along x, y and z.
    """

    first: np.ndarray
    entry: np.ndarray


@dataclass(frozen=True, eq=False)
class PairBlock:
    """Pairs of one pair of degrees, and what does not change with the matrix.

    Attributes
    ----------
    row, column : ndarray of int32, shape (n,)
        First row and column of each pair in the matrix over primitives.
    weight : ndarray of float64, shape (n,)
        1 for a primitive with itself, 2 for two of them.
    coefficients : ndarray of float64, shape (n, 3, size)
        Along the axes.
    n_orders, n_rows, n_columns : int
        Hermite Gaussians a pair; the shape of its block in the matrix.
    to_orders, to_block : Entries
        Tables of the map and of its adjoint.
    """

    row: np.ndarray
    column: np.ndarray
    weight: np.ndarray
    coefficients: np.ndarray
    n_orders: int
    n_rows: int
    n_columns: int
    to_orders: Entries
    to_block: Entries


class HermiteMap:
    """The map for the pairs of one molecule; it keeps on the device what does not change with the matrix.

    Parameters
    ----------
    blocks
        The pairs, in the order of the Hermite Gaussians.
    """

    def __init__(self, blocks: list[PairBlock]) -> None:
        self._blocks = blocks
        self._kept = KeptArrays()
        sizes = [len(block.row) * block.n_orders for block in blocks]
        self._first = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])

    def to_hermite(
        self, matrix: np.ndarray, first_row: int, chosen: "list[slice]", out: np.ndarray, target: Target
    ) -> None:
        """Coefficients of some pairs.

        Parameters
        ----------
        matrix : ndarray of float64, shape (n_rows, n_terms)
            Rows of the matrix over the primitives, from `first_row` on.
        first_row
        chosen
            Of each block, the pairs whose rows are in the matrix.
        out : ndarray of float64, shape (n_coefficients,)
            All coefficients; those of the chosen pairs are set.
        target
            The device of the current session; in double precision whatever it says.
        """
        if not probe(target.device).double:
            for n, block, some in self._parts(chosen):
                at = self._coefficients(n, some)
                out[at] = _orders_on_host(block, some, matrix, first_row).reshape(-1)
            return
        kernels, there = _kernels(), self._kept.operand(target, "matrix", matrix, np.float64)
        for n, block, some in self._parts(chosen):
            result = np.empty((some.stop - some.start) * block.n_orders)
            arrays = self._of_block(n, block, target)
            space = result if target.on_host else self._kept.array("orders", ti.f64, result.shape)
            kernels.to_orders(
                some.start, some.stop, block.n_orders, first_row, *arrays[:4],
                *self._table(n, "orders", block.to_orders, target), there, space,
            )  # fmt: skip
            out[self._coefficients(n, some)] = self._back(space, result)

    def to_matrix(
        self, values: np.ndarray, first_row: int, chosen: "list[slice]", out: np.ndarray, target: Target
    ) -> None:
        """Blocks of some pairs: the adjoint of `to_hermite` without its weights, but half for a primitive with itself.

        Parameters
        ----------
        values : ndarray of float64, shape (n_coefficients,)
            Of all pairs.
        first_row, chosen, target
            As above.
        out : ndarray of float64, shape (n_rows, n_terms)
            The blocks of the chosen pairs are set.
        """
        if not probe(target.device).double:
            for n, block, some in self._parts(chosen):
                _blocks_on_host(block, some, values[self._coefficients(n, some)], first_row, out)
            return
        kernels = _kernels()
        space = out if target.on_host else self._kept.array("blocks", ti.f64, out.shape)
        if not target.on_host:
            kernels.clear(*out.shape, space)
        for n, block, some in self._parts(chosen):
            arrays = self._of_block(n, block, target)
            here = self._kept.operand(target, "values", values[self._coefficients(n, some)], np.float64)
            kernels.to_block(
                some.start, some.stop, block.n_orders, block.n_rows, block.n_columns, first_row, *arrays[:4],
                *self._table(n, "block", block.to_block, target), here, space,
            )  # fmt: skip
        if target.on_host:
            synchronise()
        else:
            to_numpy(space, out)

    def _parts(self, chosen: "list[slice]") -> "list[tuple[int, PairBlock, slice]]":
        parts = enumerate(zip(self._blocks, chosen, strict=True))
        return [(n, block, some) for n, (block, some) in parts if some.stop > some.start]

    def _coefficients(self, n: int, some: slice) -> slice:
        first, size = int(self._first[n]), self._blocks[n].n_orders
        return slice(first + some.start * size, first + some.stop * size)

    def _of_block(self, n: int, block: PairBlock, target: Target) -> "list[object]":
        keep = self._kept.operand
        return [
            keep(target, f"row {n}", block.row, np.int32),
            keep(target, f"column {n}", block.column, np.int32),
            keep(target, f"weight {n}", block.weight, np.float64),
            keep(target, f"coefficients {n}", block.coefficients, np.float64),
        ]

    def _table(self, n: int, name: str, entries: Entries, target: Target) -> "list[object]":
        keep = self._kept.operand
        return [
            keep(target, f"first of {name} {n}", entries.first, np.int32),
            keep(target, f"entries of {name} {n}", entries.entry, np.int32),
        ]

    def _back(self, space: object, result: np.ndarray) -> np.ndarray:
        if space is result:
            synchronise()
            return result
        return to_numpy(space, result)


@lru_cache
def _kernels() -> SimpleNamespace:
    I1, I2 = ti.types.ndarray(ti.i32, 1), ti.types.ndarray(ti.i32, 2)
    R1, R2, R3 = (ti.types.ndarray(ti.f64, n) for n in (1, 2, 3))

    @ti.kernel
    def clear(rows: ti.i32, columns: ti.i32, matrix: R2):
        for i, j in ti.ndrange(rows, columns):
            matrix[i, j] = 0.0

    @ti.kernel
    def to_orders(
        begin: ti.i32, end: ti.i32, n_orders: ti.i32, first_row: ti.i32, row: I1, column: I1, weight: R1, along: R3,
        first: I1, entry: I2, matrix: R2, out: R1,
    ):  # fmt: skip
        for i in range((end - begin) * n_orders):
            p = begin + i // n_orders
            n = i % n_orders
            total = ti.cast(0.0, ti.f64)
            for e in range(first[n], first[n + 1]):
                element = matrix[row[p] - first_row + entry[e, 0], column[p] + entry[e, 1]]
                total += element * along[p, 0, entry[e, 2]] * along[p, 1, entry[e, 3]] * along[p, 2, entry[e, 4]]
            out[i] = weight[p] * total

    @ti.kernel
    def to_block(
        begin: ti.i32, end: ti.i32, n_orders: ti.i32, n_rows: ti.i32, n_columns: ti.i32, first_row: ti.i32, row: I1,
        column: I1, weight: R1, along: R3, first: I1, entry: I2, values: R1, out: R2,
    ):  # fmt: skip
        for i in range((end - begin) * n_rows * n_columns):
            p = begin + i // (n_rows * n_columns)
            n = i % (n_rows * n_columns)
            total = ti.cast(0.0, ti.f64)
            for e in range(first[n], first[n + 1]):
                value = values[(p - begin) * n_orders + entry[e, 0]]
                total += value * along[p, 0, entry[e, 2]] * along[p, 1, entry[e, 3]] * along[p, 2, entry[e, 4]]
            out[row[p] - first_row + n // n_columns, column[p] + n % n_columns] = 0.5 * weight[p] * total

    return SimpleNamespace(clear=clear, to_orders=to_orders, to_block=to_block)


def _products(block: PairBlock, some: slice, entry: np.ndarray) -> np.ndarray:
    along = block.coefficients[some]
    product: np.ndarray = along[:, 0, entry[2]] * along[:, 1, entry[3]] * along[:, 2, entry[4]]
    return product


def _orders_on_host(block: PairBlock, some: slice, matrix: np.ndarray, first_row: int) -> np.ndarray:
    row, column = block.row[some] - first_row, block.column[some]
    result = np.zeros((len(row), block.n_orders))
    for n in range(block.n_orders):
        for entry in block.to_orders.entry[block.to_orders.first[n] : block.to_orders.first[n + 1]]:
            result[:, n] += matrix[row + entry[0], column + entry[1]] * _products(block, some, entry)
    return result * block.weight[some, None]


def _blocks_on_host(block: PairBlock, some: slice, values: np.ndarray, first_row: int, out: np.ndarray) -> None:
    row, column = block.row[some] - first_row, block.column[some]
    values = values.reshape(len(row), block.n_orders)
    for n in range(block.n_rows * block.n_columns):
        total = np.zeros(len(row))
        for entry in block.to_block.entry[block.to_block.first[n] : block.to_block.first[n + 1]]:
            total += values[:, entry[0]] * _products(block, some, entry)
        out[row + n // block.n_columns, column + n % block.n_columns] = 0.5 * block.weight[some] * total
