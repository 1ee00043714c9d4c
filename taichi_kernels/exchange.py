r"""Semi-numerical exchange: one electron of each integral at the points of a grid, the other one exactly.

.. math::  F_{lg} = \sum_k D_{lk} X_{kg}, \qquad G_{jg} = \sum_l A_{jl}(r_g) F_{lg}, \qquad
    P_{ij} = \sum_g w_g X_{ig} G_{jg}

with values X of basis functions at points g of weight w, and the potential A of each product of two of them (chain of
spheres: F. Neese, F. Wennmohs, A. Hansen, U. Becker, Chem. Phys. 2009, 356, 98). Points are worked on in batches: of a
batch there are a few arrays of (terms of primitives x points of the batch), whose size is bounded.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ._taichi import fill, number
from .arrays import send, to_numpy
from .cells import CELL
from .coulomb_kernels import table_of
from .devices import probe
from .exchange_kernels import Terms, degree_of, pairs_kernel, product_kernel, small_kernels, terms_kernel
from .hermite_map import Sparse, read_only
from .kept_arrays import KeptArrays
from .launching import Checkpoint, synchronise
from .quadrature_kernels import POINTS, threads_of
from .quadrature_lists import PointCells
from .target import Target


@dataclass(frozen=True, eq=False)
class Primitives:
    """Primitives with the same terms.

    Attributes
    ----------
    terms : Terms
    offsets : ndarray of int32, shape (n_terms,)
        Rows of the terms, counted from the first row of a primitive.
    rows : ndarray of int32, shape (n,)
        First row of each.
    centre, exponent : ndarray, shape (n, 3) and (n,)
        In bohr and bohr^-2.
    """

    terms: Terms
    offsets: np.ndarray
    rows: np.ndarray
    centre: np.ndarray
    exponent: np.ndarray

    def __post_init__(self) -> None:
        read_only(self)


@dataclass(frozen=True, eq=False)
class PairGroup:
    r"""Pairs of primitives of which the left ones have the same terms, and the right ones.

    Attributes
    ----------
    left, right : Primitives
        Of which kind they are; only their terms and offsets are looked at.
    lefts : ndarray of int32, shape (n_lefts, 4)
        Row and number of each left primitive, its first pair, and the one behind its last.
    rights : ndarray of int32, shape (n, 2)
        Row and number of the right primitive.
    centre, exponent : ndarray, shape (n, 3) and (n,)
    bound : ndarray, shape (n,)
        What the potential of a product of two basis functions that is in the pair does not exceed, in hartree.
    coefficients : ndarray, shape (n, products)
        As `coefficients_of` has them, times :math:`\pi^{3/2} / z`.
    """

    left: Primitives
    right: Primitives
    lefts: np.ndarray
    rights: np.ndarray
    centre: np.ndarray
    exponent: np.ndarray
    bound: np.ndarray
    coefficients: np.ndarray

    def __post_init__(self) -> None:
        read_only(self)


@dataclass(frozen=True, eq=False)
class Functions:
    """Basis functions, or their derivatives, in terms of primitives.

    Attributes
    ----------
    primitives : sequence of Primitives
        All of them, by their terms.
    n_terms : int
        Rows of all their terms.
    to_basis : Sparse
        Basis functions (rows) in terms of the terms (columns).
    """

    primitives: Sequence[Primitives]
    n_terms: int
    to_basis: Sparse


class Interaction(Protocol):
    """What stands in place of 1/r: full / r + long_range erf(omega r) / r, omega in bohr^-1."""

    @property
    def full(self) -> float:
        """Share of 1/r."""
        ...

    @property
    def long_range(self) -> float:
        """Share of what is attenuated."""
        ...

    @property
    def omega(self) -> float:
        """What attenuates it."""
        ...


class ExchangeSums:
    """Points, basis functions and pairs of a molecule on a device.

    Parameters
    ----------
    cells : PointCells
    weights : ndarray, shape (n_slots,)
        Of the points in the order of the cells, in bohr^3.
    functions : Functions
        The basis functions.
    from_basis : Sparse
        Terms (rows) in terms of basis functions (columns): the transpose of `functions.to_basis`.
    of_primitives : Sparse
        Basis functions (columns) that have a part in each primitive (rows).
    pairs : sequence of PairGroup
    centre, reach : ndarray, shape (n_basis, 3) and (n_basis,)
        Of each basis function, and how far it reaches, in bohr.
    batch : int
        Points that are worked on at once.
    target : Target
        The device of the current session, and the precision of all but the sum over batches, which is in double.

    Attributes
    ----------
    overlap : ndarray, shape (n_basis, n_basis), optional
        Overlaps of the basis functions as the grid has them, which the first matrices bring along.
    """

    def __init__(
        self,
        cells: PointCells,
        weights: np.ndarray,
        functions: Functions,
        from_basis: Sparse,
        of_primitives: Sparse,
        pairs: Sequence[PairGroup],
        centre: np.ndarray,
        reach: np.ndarray,
        batch: int,
        target: Target,
    ) -> None:
        self._cells, self._functions, self._pairs, self._target = cells, functions, pairs, target
        self.overlap: np.ndarray | None = None
        self._centre, self._reach, self._step = centre, reach, max(batch // POINTS, 1)
        self._n_terms, self._n_primitives = functions.n_terms, len(of_primitives)
        self._kept = KeptArrays()
        self._host: dict[str, np.ndarray] = {}
        self._arrays: dict[str, np.ndarray] = {}
        self._keep(
            origin=cells.origin,
            points=cells.rest.reshape(-1),
            boxes=np.hstack([cells.low - cells.origin, cells.high - cells.origin]),
            weights=weights,
        )
        self._keep_matrix("from", from_basis)
        self._keep_matrix("of", of_primitives)
        self._keep_functions("", functions)
        for n, pair in enumerate(pairs):
            whole = np.rint(pair.centre / CELL) * CELL
            named = {
                "pairs": np.column_stack([whole, pair.centre - whole, pair.exponent, 1 / pair.exponent]),
                "lefts": pair.lefts,
                "rights": pair.rights,
                "bounds": pair.bound,
                "coefficients": pair.coefficients.reshape(-1),
                "left_terms": pair.left.offsets,
                "right_terms": pair.right.offsets,
            }
            self._keep(**{f"{name} {n}": array for name, array in named.items()})

    @property
    def n_basis(self) -> int:
        """Number of basis functions."""
        return len(self._functions.to_basis)

    def matrices(
        self, densities: np.ndarray, interaction: Interaction, limit: float, checkpoint: Checkpoint | None
    ) -> np.ndarray:
        """P for some density matrices, not symmetric yet.

        Parameters
        ----------
        densities : ndarray, shape (1 or 2, n_basis, n_basis)
        interaction
            In place of 1/r.
        limit
            Pairs that add less to an element from the points of a cell are left out there, in hartree.
        checkpoint
            Called between batches with the share that is done; what it raises ends it.
        """
        result = np.zeros(densities.shape)
        is_first = self.overlap is None
        overlap = np.zeros(densities.shape[1:])
        for cells, near in self._batches(checkpoint):
            values = self._values(cells, near)
            if is_first:
                overlap[np.ix_(near, near)] += self._integrals(cells, values, len(near), values, len(near))
            potentials = self._potentials(cells, near, values, densities, interaction, limit)
            for k, matrix in enumerate(result):
                some = self._rows_of(potentials, k * self.n_basis, self.n_basis, cells)
                matrix[near] += self._integrals(cells, values, len(near), some, self.n_basis)
        if is_first:
            self.overlap = overlap
        return result

    def gradient(
        self,
        densities: np.ndarray,
        interaction: Interaction,
        limit: float,
        derivatives: Functions,
        checkpoint: Checkpoint | None,
    ) -> np.ndarray:
        r"""Sums :math:`\sum_g w_g \nabla\chi_i(r_g) \sum_j D_{ij} G_{jg}` over the densities, shape (3, n_basis).

        Parameters
        ----------
        densities, interaction, limit, checkpoint
            As for `matrices`.
        derivatives
            Of all basis functions along x, then along y, then along z.
        """
        n_basis = self.n_basis
        self._keep_functions(" of derivatives", derivatives)
        result = np.zeros((3, n_basis))
        for cells, near in self._batches(checkpoint):
            values = self._values(cells, near)
            potentials = self._potentials(cells, near, values, densities, interaction, limit)
            n_cells = cells.stop - cells.start
            chosen = np.concatenate([near + k * n_basis for k in range(3)]).astype(np.int32)
            slopes = self._values(cells, chosen, " of derivatives", derivatives)
            for k, density in enumerate(densities):
                some = self._rows_of(potentials, k * n_basis, n_basis, cells)
                others = self._space("others", len(near) * n_cells * POINTS)
                self._multiply(density[near], some, others, n_cells * POINTS)
                sums = self._space("sums of cells", len(chosen) * n_cells)
                small_kernels(self._target).dots(
                    n_rows=len(chosen),
                    n_functions=len(near),
                    n_cells=n_cells,
                    begin=cells.start,
                    stride=n_cells * POINTS,
                    values=slopes,
                    others=others,
                    out=sums,
                    **self._given("weights"),
                )
                result[:, near] += self._numbers(sums, (3, len(near), n_cells)).sum(axis=2, dtype=np.float64)
        return result

    def _batches(self, checkpoint: Checkpoint | None) -> Iterator[tuple[slice, np.ndarray]]:
        """Ranges of cells, and the basis functions that reach any of them."""
        n = len(self._cells)
        for first in range(0, n, self._step):
            cells = slice(first, min(first + self._step, n))
            low, high = self._cells.low[cells], self._cells.high[cells]
            places, which = np.unique(self._centre, axis=0, return_inverse=True)
            apart = np.maximum(low[:, None] - places, places - high[:, None]).clip(0.0)
            nearest = np.sqrt((apart**2).sum(axis=2).min(axis=0))
            near = np.flatnonzero(nearest[which.reshape(-1)] < self._reach).astype(np.int32)
            if len(near):
                yield cells, near
            if checkpoint is not None:
                checkpoint(cells.stop / n)

    def _values(self, cells: slice, chosen: np.ndarray, suffix: str = "", functions: Functions | None = None) -> Any:
        """Values of some functions at the points of some cells, shape (n_chosen, n)."""
        functions = functions or self._functions
        n = (cells.stop - cells.start) * POINTS
        terms = self._space(f"terms{suffix}", functions.n_terms * n)
        for k, group in enumerate(functions.primitives):
            terms_kernel(self._target, group.terms)(
                n=(cells.stop - cells.start) * threads_of(self._target),
                zero=0,
                begin=cells.start,
                stride=n,
                n_points=len(self._cells.order),
                n_primitives=len(group.rows),
                out=terms,
                **self._given("origin", "points"),
                **self._given("rows", "terms", "gaussian", suffix=f" {k}{suffix}"),
            )
        values = self._space(f"values{suffix}", len(chosen) * n)
        self._rows(f"to{suffix}", chosen, n, terms, 0, values, 0)
        return values

    def _potentials(
        self,
        cells: slice,
        near: np.ndarray,
        values: Any,
        densities: np.ndarray,
        interaction: Interaction,
        limit: float,
    ) -> Any:
        """G at the points of some cells, shape (n_sets * n_basis, n)."""
        target, n_basis, n_terms, n_sets = self._target, self.n_basis, self._n_terms, len(densities)
        n_cells, small = cells.stop - cells.start, small_kernels(self._target)
        n, all_functions, all_terms = n_cells * POINTS, np.arange(n_basis), np.arange(n_terms)
        of_basis = self._space("of basis", n_sets * n_basis * n)
        given, sums = (self._space(name, n_sets * n_terms * n) for name in ("given", "sums"))
        self._multiply(densities[:, :, near].reshape(-1, len(near)), values, of_basis, n)
        for k in range(n_sets):
            self._rows("from", all_terms, n, of_basis, k * n_basis, given, k * n_terms)
        self._clear(sums)
        of_cells = self._space("of cells", n_cells)
        largest = self._space("largest", self._n_primitives * n_cells)
        small.cells(
            n_cells=n_cells,
            begin=cells.start,
            n_rows=len(near),
            stride=n,
            values=values,
            out=of_cells,
            **self._given("weights"),
        )
        matrix = self._given("of first", "of column")
        small.largest(
            n_primitives=self._n_primitives,
            n_cells=n_cells,
            n_rows=n_basis,
            n_sets=n_sets,
            stride=n,
            first=matrix["of first"],
            column=matrix["of column"],
            of_cells=of_cells,
            values=of_basis,
            out=largest,
        )
        for k, pair in enumerate(self._pairs):
            around = self._space("around", len(pair.lefts) * n_cells)
            some = {"n_lefts": len(pair.lefts), "n_cells": n_cells, "largest": largest}
            some |= self._given("lefts", "rights", "bounds", suffix=f" {k}")
            small.around(**some, out=around)
            degree = degree_of(pair.left.terms) + degree_of(pair.right.terms)
            pairs_kernel(target, pair.left.terms, pair.right.terms, n_sets, interaction.long_range != 0)(
                n=n_cells * threads_of(target),
                begin=cells.start,
                stride=n,
                n_points=len(self._cells.order),
                n_rows=n_terms,
                limit=limit,
                full=interaction.full,
                beyond=interaction.long_range,
                omega=interaction.omega,
                table=self._there(f"table {degree}", table_of(target.precision, degree)),
                around=around,
                given=given,
                sums=sums,
                **some,
                **self._given("origin", "boxes", "points"),
                **self._given("left_terms", "right_terms", "pairs", "coefficients", suffix=f" {k}"),
            )
        for k in range(n_sets):
            self._rows("to", all_functions, n, sums, k * n_terms, of_basis, k * n_basis)
        return of_basis

    def _rows(
        self, name: str, chosen: np.ndarray, n: int, given: Any, begin_given: int, out: Any, begin_out: int
    ) -> None:
        """Multiply some rows of one of the sparse matrices and rows of numbers."""
        matrix = {part: self._there(f"{name} {part}", self._arrays[f"{name} {part}"]) for part in _PARTS}
        small_kernels(self._target).rows(
            n_rows=len(chosen),
            n_pieces=n // POINTS * threads_of(self._target),
            stride=n,
            chosen=self._sent(f"chosen {name}", np.ascontiguousarray(chosen, np.int32)),
            given=given,
            begin_given=begin_given,
            out=out,
            begin_out=begin_out,
            **matrix,
        )

    def _rows_of(self, array: Any, first: int, n_rows: int, cells: slice) -> Any:
        """Some rows of an array by themselves."""
        n = (cells.stop - cells.start) * POINTS
        if self._target.on_host:
            return array[first * n : (first + n_rows) * n]
        if first == 0:
            return array
        out = self._space("of one set", n_rows * n)
        small_kernels(self._target).copied(n=n_rows * n, first=first * n, given=array, out=out)
        return out

    def _multiply(self, matrix: np.ndarray, rows: Any, out: Any, n: int) -> None:
        """Multiply a matrix of the host and rows of numbers."""
        matrix = np.ascontiguousarray(matrix, self._target.dtype)
        m, k = matrix.shape
        if self._target.on_host:
            synchronise()
            np.matmul(matrix, rows[: k * n].reshape(k, n), out=out[: m * n].reshape(m, n))
            return
        product_kernel(self._target, False)(
            m=m, n=n, k=k, n_chunks=1, begin=0, a=self._sent("factor", matrix.reshape(-1)), b=rows, out=out,
            **self._given("weights"),
        )  # fmt: skip

    def _integrals(self, cells: slice, left: Any, m: int, right: Any, n: int) -> np.ndarray:
        """Sums over the points of some cells of the weight, a row and another row, shape (m, n)."""
        k, begin = (cells.stop - cells.start) * POINTS, cells.start * POINTS
        if self._target.on_host:
            synchronise()
            weighted = left[: m * k].reshape(m, k) * self._arrays["weights"][begin : begin + k].astype(np.float64)
            product: np.ndarray = weighted @ right[: n * k].reshape(n, k).T.astype(np.float64)
            return product
        n_chunks = -(-k // _CHUNK)
        wide = number(np.float64 if probe(self._target.device).double else self._target.dtype)
        parts = self._kept.array("parts", wide, (n_chunks * m * n,))
        product_kernel(self._target, True)(
            m=m, n=n, k=k, n_chunks=n_chunks, begin=begin, a=left, b=right, out=parts, **self._given("weights")
        )
        return self._numbers(parts, (n_chunks, m, n)).sum(axis=0, dtype=np.float64)

    def _keep(self, **arrays: np.ndarray) -> None:
        """Take arrays that do not change; they are sent to the device once."""
        for name, array in arrays.items():
            kind = np.int32 if array.dtype.kind == "i" else self._target.dtype
            self._arrays[name] = np.array(array, kind, order="C")
            self._arrays[name].setflags(write=False)

    def _keep_matrix(self, name: str, matrix: Sparse) -> None:
        self._keep(**{f"{name} {part}": getattr(matrix, part) for part in _PARTS})

    def _keep_functions(self, suffix: str, functions: Functions) -> None:
        if f"to{suffix} first" in self._arrays:
            return
        self._keep_matrix(f"to{suffix}", functions.to_basis)
        for n, group in enumerate(functions.primitives):
            whole = np.rint(group.centre / CELL) * CELL
            power = -np.log2(np.e) * group.exponent
            high = power.astype(self._target.dtype).astype(np.float64)
            gaussian = np.column_stack([whole, group.centre - whole, high, power - high])
            named = {"rows": group.rows, "terms": group.offsets, "gaussian": gaussian}
            self._keep(**{f"{name} {n}{suffix}": array for name, array in named.items()})

    def _given(self, *names: str, suffix: str = "") -> dict[str, Any]:
        """Arrays on the device by name."""
        return {name: self._there(name + suffix, self._arrays[name + suffix]) for name in names}

    def _there(self, name: str, array: np.ndarray) -> Any:
        return self._kept.operand(self._target, name, array, array.dtype.type)

    def _sent(self, name: str, values: np.ndarray) -> Any:
        """Values of this call on the device."""
        if self._target.on_host:
            return values
        there = self._kept.exactly(name, number(values.dtype), values.shape)
        send(there, values)
        return there

    def _space(self, name: str, n: int) -> Any:
        """Room for so many numbers, or more."""
        if not self._target.on_host:
            return self._kept.array(name, number(self._target.dtype), (n,))
        held = self._host.get(name)
        if held is None or held.size < n:
            held = self._host[name] = np.empty(n, self._target.dtype)
        return held

    def _clear(self, array: Any) -> None:
        if self._target.on_host:
            array[...] = 0
        else:
            fill(array, 0.0)

    def _numbers(self, array: Any, shape: tuple[int, ...]) -> np.ndarray:
        """The first numbers of an array on the host, when kernels have filled it."""
        synchronise()
        values = array if self._target.on_host else to_numpy(array)
        return values[: int(np.prod(shape))].reshape(shape)


_PARTS = ("first", "column", "value")
"""Of a sparse matrix."""

_CHUNK = 4096
"""Points over which a block of threads adds up integrals."""
