r"""Between matrices over primitives and Hermite Gaussians: a linear map and its adjoint, in double precision.

For a pair of primitives at rows s and columns t of a matrix D,

.. math::  H_n = \sum_{st} D_{st} E^x_{st,n} E^y_{st,n} E^z_{st,n}, \qquad
    M_{st} = \sum_n v_n E^x_{st,n} E^y_{st,n} E^z_{st,n}

Both go through the same table of entries, which is made for each pair of degrees.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from ._taichi import quick, ti
from .arrays import send, to_numpy
from .devices import probe
from .kept_arrays import KeptArrays
from .launching import Checkpoint, synchronise
from .target import Target


def read_only(arrays: object) -> None:
    """Make the arrays among the attributes of an object read-only: then they are sent to a device once."""
    for array in vars(arrays).values():
        if isinstance(array, np.ndarray):
            array.setflags(write=False)


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

    def __post_init__(self) -> None:
        read_only(self)


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

    def __post_init__(self) -> None:
        read_only(self)


@dataclass(frozen=True, eq=False)
class Sparse:
    """A sparse matrix, row by row.

    Attributes
    ----------
    first : ndarray of int32, shape (n_rows + 1,)
        Range of the elements of each row.
    column : ndarray of int32, shape (n_elements,)
    value : ndarray of float64, shape (n_elements,)
    """

    first: np.ndarray
    column: np.ndarray
    value: np.ndarray

    def __post_init__(self) -> None:
        read_only(self)

    def __len__(self) -> int:
        return len(self.first) - 1

    def dense(self, n_columns: int) -> np.ndarray:
        """The matrix with its zeros."""
        result = np.zeros((len(self), n_columns))
        result[np.repeat(np.arange(len(self)), np.diff(self.first)), self.column] = self.value
        return result


@dataclass(frozen=True, eq=False)
class Run:
    """Rows of the matrix over the terms of all primitives that are held at once.

    Attributes
    ----------
    first_row : int
    from_basis : Sparse
        Those terms (rows) in terms of basis functions (columns).
    to_basis : Sparse
        Its transpose.
    chosen : list of slice
        Of each block, the pairs that have their rows here.
    """

    first_row: int
    from_basis: Sparse
    to_basis: Sparse
    chosen: list[slice]


class HermiteMap:
    """The map for the pairs of one molecule; it keeps on the device what does not change with the matrix.

    Parameters
    ----------
    blocks
        The pairs, in the order of the Hermite Gaussians.
    runs
        All terms, in runs.
    from_basis, to_basis
        All terms in terms of basis functions, and the transpose.
    """

    def __init__(self, blocks: list[PairBlock], runs: list[Run], from_basis: Sparse, to_basis: Sparse) -> None:
        self._blocks, self._runs = blocks, runs
        self._from_basis, self._to_basis = from_basis, to_basis
        self._kept = KeptArrays()
        self._host: dict[str, np.ndarray] = {}
        sizes = [len(block.row) * block.n_orders for block in blocks]
        self._first = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])

    def to_hermite(self, matrix: np.ndarray, target: Target, checkpoint: Checkpoint) -> np.ndarray:
        """Coefficients of all pairs.

        Parameters
        ----------
        matrix : ndarray of float64, shape (n_basis, n_basis)
            Symmetric.
        target
            The device of the current session; in double precision whatever it says.
        checkpoint
            Called between runs with the share that is done; what it raises ends the work.

        Returns
        -------
        ndarray of float64, shape (n_coefficients,)
        """
        out = np.empty(int(self._first[-1]))
        if not probe(target.device).double:
            self._on_host_to_hermite(matrix, out, checkpoint)
            return out
        kernels, n_terms = _kernels(), len(self._from_basis)
        given = self._given("matrix", matrix, target)
        orders = out if target.on_host else self._space("orders", out.shape, target)
        for n, run in enumerate(self._runs):
            checkpoint(n / len(self._runs))
            n_rows = len(run.from_basis)
            half = self._space("half", (n_rows, len(matrix)), target)
            rows = self._space("rows", (n_rows, n_terms), target)
            left = self._sparse(f"from basis {n}", run.from_basis, target)
            kernels.clear(rows=n_rows, columns=len(matrix), matrix=half)
            kernels.add_from_left(rows=n_rows, columns=len(matrix), **left, matrix=given, out=half)
            right = self._sparse("from basis", self._from_basis, target)
            kernels.from_right(rows=n_rows, columns=n_terms, **right, matrix=half, out=rows)
            for m, block, some in self._parts(run):
                pairs = self._pairs(m, block, some, run.first_row, target)
                table = self._table(m, "orders", block.to_orders, target)
                kernels.to_orders(**pairs, **table, matrix=rows, out=orders)
        self._back(orders, out)
        return out

    def to_matrix(self, values: np.ndarray, target: Target, checkpoint: Checkpoint) -> np.ndarray:
        """The adjoint: what is known of each Hermite Gaussian, as a matrix over basis functions.

        Parameters
        ----------
        values : ndarray of float64, shape (n_coefficients,)
            Of all pairs.
        target, checkpoint
            As above.

        Returns
        -------
        ndarray of float64, shape (n_basis, n_basis)
            Symmetric.
        """
        n_basis, n_terms = len(self._to_basis), len(self._from_basis)
        result = np.empty((n_basis, n_basis))
        if not probe(target.device).double:
            result[...] = 0
            self._on_host_to_matrix(values, result, checkpoint)
            return result + result.T
        kernels = _kernels()
        sums = self._space("sums", result.shape, target)
        kernels.clear(rows=n_basis, columns=n_basis, matrix=sums)
        given = self._given("values", values, target)
        for n, run in enumerate(self._runs):
            checkpoint(n / len(self._runs))
            n_rows = len(run.from_basis)
            half = self._space("half", (n_rows, n_basis), target)
            rows = self._space("rows", (n_rows, n_terms), target)
            kernels.clear(rows=n_rows, columns=n_terms, matrix=rows)
            for m, block, some in self._parts(run):
                pairs = self._pairs(m, block, some, run.first_row, target)
                table = self._table(m, "block", block.to_block, target)
                shape = {"n_rows": block.n_rows, "n_columns": block.n_columns}
                kernels.to_block(**pairs, **shape, **table, values=given, out=rows)
            right = self._sparse("to basis", self._to_basis, target)
            kernels.from_right(rows=n_rows, columns=n_basis, **right, matrix=rows, out=half)
            left = self._sparse(f"to basis {n}", run.to_basis, target)
            kernels.add_from_left(rows=n_basis, columns=n_basis, **left, matrix=half, out=sums)
        both = result if target.on_host else self._space("both", result.shape, target)
        kernels.add_transpose(n=n_basis, matrix=sums, out=both)
        self._back(both, result)
        return result

    def _on_host_to_hermite(self, matrix: np.ndarray, out: np.ndarray, checkpoint: Checkpoint) -> None:
        """The same in NumPy, where the device has no double precision."""
        everything = self._from_basis.dense(len(matrix))
        for n, run in enumerate(self._runs):
            checkpoint(n / len(self._runs))
            rows = run.from_basis.dense(len(matrix)) @ matrix @ everything.T
            for m, block, some in self._parts(run):
                row, column = block.row[some] - run.first_row, block.column[some]
                sums = _summed(block, some, block.to_orders, lambda s, t, r=row, c=column, a=rows: a[r + s, c + t])
                out[self._coefficients(m, some)] = (sums * block.weight[some, None]).reshape(-1)

    def _on_host_to_matrix(self, values: np.ndarray, result: np.ndarray, checkpoint: Checkpoint) -> None:
        everything = self._from_basis.dense(len(result))
        for n, run in enumerate(self._runs):
            checkpoint(n / len(self._runs))
            rows = np.zeros((len(run.from_basis), len(everything)))
            for m, block, some in self._parts(run):
                here = values[self._coefficients(m, some)].reshape(-1, block.n_orders)
                sums = _summed(block, some, block.to_block, lambda s, t, h=here: h[:, s]) * 0.5
                row, column = block.row[some] - run.first_row, block.column[some]
                for k in range(sums.shape[1]):
                    at = row + k // block.n_columns, column + k % block.n_columns
                    rows[at] = sums[:, k] * block.weight[some]
            result += run.from_basis.dense(len(result)).T @ (rows @ everything)

    def _parts(self, run: Run) -> "list[tuple[int, PairBlock, slice]]":
        parts = enumerate(zip(self._blocks, run.chosen, strict=True))
        return [(m, block, some) for m, (block, some) in parts if some.stop > some.start]

    def _coefficients(self, m: int, some: slice) -> slice:
        first, size = int(self._first[m]), self._blocks[m].n_orders
        return slice(first + some.start * size, first + some.stop * size)

    def _pairs(self, m: int, block: PairBlock, some: slice, first_row: int, target: Target) -> "dict[str, Any]":
        """Some pairs of a block as arguments of kernels, of which the first row has a number."""
        keep = self._kept.operand
        return {
            "begin": some.start,
            "end": some.stop,
            "first_value": int(self._first[m]),
            "n_orders": block.n_orders,
            "first_row": first_row,
            "row": keep(target, f"row {m}", block.row, np.int32),
            "column": keep(target, f"column {m}", block.column, np.int32),
            "weight": keep(target, f"weight {m}", block.weight, np.float64),
            "along": keep(target, f"coefficients {m}", block.coefficients, np.float64),
        }

    def _table(self, m: int, name: str, entries: Entries, target: Target) -> "dict[str, Any]":
        keep = self._kept.operand
        return {
            "first": keep(target, f"first of {name} {m}", entries.first, np.int32),
            "entry": keep(target, f"entries of {name} {m}", entries.entry, np.int32),
        }

    def _sparse(self, name: str, matrix: Sparse, target: Target) -> "dict[str, Any]":
        keep = self._kept.operand
        return {
            "first": keep(target, f"first of {name}", matrix.first, np.int32),
            "column": keep(target, f"columns of {name}", matrix.column, np.int32),
            "value": keep(target, f"values of {name}", matrix.value, np.float64),
        }

    def _given(self, name: str, values: np.ndarray, target: Target) -> object:
        values = np.ascontiguousarray(values, np.float64)
        if target.on_host:
            return values
        there = self._kept.array(name, ti.f64, values.shape)
        send(there, values)
        return there

    def _space(self, name: str, shape: "tuple[int, ...]", target: Target) -> Any:
        if not target.on_host:
            return self._kept.array(name, ti.f64, shape)
        held = self._host.get(name)
        if held is None or held.shape[1:] != shape[1:] or len(held) < shape[0]:
            held = self._host[name] = np.empty(shape)  # kept, since a first touch of its pages takes longer than a sum
        return held

    def _back(self, space: Any, out: np.ndarray) -> None:
        if space is out:
            synchronise()
        else:
            to_numpy(space, out)


def _summed(
    block: PairBlock, some: slice, entries: Entries, value_of: "Callable[[int, int], np.ndarray]"
) -> np.ndarray:
    """Sums of products for each pair and each result, shape (n, n_results), in NumPy."""
    along = block.coefficients[some]
    result = np.zeros((len(along), len(entries.first) - 1))
    for n, (first, last) in enumerate(zip(entries.first[:-1], entries.first[1:], strict=True)):
        for s, t, x, y, z in entries.entry[first:last].tolist():
            result[:, n] += value_of(s, t) * along[:, 0, x] * along[:, 1, y] * along[:, 2, z]
    return result


@lru_cache
def _kernels() -> SimpleNamespace:
    """Products with sparse matrices; the sums of the map and of its adjoint."""
    I1, I2 = ti.types.ndarray(ti.i32, 1), ti.types.ndarray(ti.i32, 2)
    R1, R2, R3 = (ti.types.ndarray(ti.f64, n) for n in (1, 2, 3))

    @ti.kernel
    def clear(rows: ti.i32, columns: ti.i32, matrix: R2):
        for i, j in ti.ndrange(rows, columns):
            matrix[i, j] = 0.0

    @ti.kernel
    def add_transpose(n: ti.i32, matrix: R2, out: R2):
        for i, j in ti.ndrange(n, n):
            out[i, j] = matrix[i, j] + matrix[j, i]

    @ti.kernel
    def add_from_left(rows: ti.i32, columns: ti.i32, first: I1, column: I1, value: R1, matrix: R2, out: R2):
        """The product of a sparse matrix and another one."""
        for i, j in ti.ndrange(rows, columns):
            total = out[i, j]
            for k in range(first[i], first[i + 1]):
                total += value[k] * matrix[column[k], j]
            out[i, j] = total

    @ti.kernel
    def from_right(rows: ti.i32, columns: ti.i32, first: I1, column: I1, value: R1, matrix: R2, out: R2):
        """The product of a matrix and the transpose of a sparse one."""
        for i, j in ti.ndrange(rows, columns):
            total = ti.cast(0.0, ti.f64)
            for k in range(first[j], first[j + 1]):
                total += value[k] * matrix[i, column[k]]
            out[i, j] = total

    @ti.kernel
    def to_orders(
        begin: ti.i32, end: ti.i32, first_value: ti.i32, n_orders: ti.i32, first_row: ti.i32, row: I1, column: I1,
        weight: R1, along: R3, first: I1, entry: I2, matrix: R2, out: R1,
    ):  # fmt: skip
        for i in range((end - begin) * n_orders):
            p = begin + i // n_orders
            n = i % n_orders
            total = ti.cast(0.0, ti.f64)
            for e in range(first[n], first[n + 1]):
                element = matrix[row[p] - first_row + entry[e, 0], column[p] + entry[e, 1]]
                total += element * along[p, 0, entry[e, 2]] * along[p, 1, entry[e, 3]] * along[p, 2, entry[e, 4]]
            out[first_value + p * n_orders + n] = weight[p] * total

    @ti.kernel
    def to_block(
        begin: ti.i32, end: ti.i32, first_value: ti.i32, n_orders: ti.i32, n_rows: ti.i32, n_columns: ti.i32,
        first_row: ti.i32, row: I1, column: I1, weight: R1, along: R3, first: I1, entry: I2, values: R1, out: R2,
    ):  # fmt: skip
        for i in range((end - begin) * n_rows * n_columns):
            p = begin + i // (n_rows * n_columns)
            n = i % (n_rows * n_columns)
            total = ti.cast(0.0, ti.f64)
            for e in range(first[n], first[n + 1]):
                value = values[first_value + p * n_orders + entry[e, 0]]
                total += value * along[p, 0, entry[e, 2]] * along[p, 1, entry[e, 3]] * along[p, 2, entry[e, 4]]
            out[row[p] - first_row + n // n_columns, column[p] + n % n_columns] = 0.5 * weight[p] * total

    return SimpleNamespace(
        clear=quick(clear),
        add_transpose=quick(add_transpose),
        add_from_left=quick(add_from_left),
        from_right=quick(from_right),
        to_orders=quick(to_orders),
        to_block=quick(to_block),
    )
