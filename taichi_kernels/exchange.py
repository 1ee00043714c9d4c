r"""Semi-numerical exchange: one electron of each integral at the points of a grid, the other one exactly.

.. math::  F_{lg} = \sum_k D_{lk} X_{kg}, \qquad G_{jg} = \sum_l A_{jl}(r_g) F_{lg}, \qquad
    P_{ij} = \sum_g w_g X_{ig} G_{jg}

with values X of basis functions at points g of weight w, and the potential A of each product of two of them (chain of
spheres: F. Neese, F. Wennmohs, A. Hansen, U. Becker, Chem. Phys. 2009, 356, 98). Points are worked on in batches: of a
batch there are a few arrays of (terms of primitives x points of the batch), whose size is bounded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import send, to_numpy
from .cells import CELL
from .coulomb_kernels import table_of
from .exchange_kernels import PAIR_NUMBERS, Terms, degree_of, largest_kernel, pairs_kernel, rows_kernel, terms_kernel
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
    """Pairs of primitives of which the left ones have the same terms, and the right ones.

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
        As `coefficients_of` has them, times :math:`\\pi^{3/2} / z`.
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


@dataclass(frozen=True)
class Interaction:
    """What stands in place of 1/r: full / r + long_range erf(omega r) / r, omega in bohr^-1."""

    full: float = 1.0
    long_range: float = 0.0
    omega: float = 0.0


class ExchangeSums:
    """Points, primitives and pairs of a molecule on a device.

    Parameters
    ----------
    cells : PointCells
    weights : ndarray, shape (n_slots,)
        Of the points in the order of the cells, in bohr^3.
    primitives : sequence of Primitives
    pairs : sequence of PairGroup
    from_basis, to_basis : Sparse
        Terms (rows) in terms of basis functions (columns), and the transpose.
    of_primitives : Sparse
        Basis functions (columns) that have a part in each primitive (rows).
    batch : int
        Points that are worked on at once, a multiple of `POINTS`.
    target : Target
    """

    def __init__(
        self,
        cells: PointCells,
        weights: np.ndarray,
        primitives: Sequence[Primitives],
        pairs: Sequence[PairGroup],
        from_basis: Sparse,
        to_basis: Sparse,
        of_primitives: Sparse,
        batch: int,
        target: Target,
    ) -> None:
        self._cells, self._weights, self._target, self._batch = cells, weights, target, batch
        self._primitives, self._pairs = primitives, pairs
        self._from_basis, self._to_basis, self._of_primitives = from_basis, to_basis, of_primitives
        self._kept = KeptArrays()
        self._host: dict[str, np.ndarray] = {}
        real = target.dtype
        self._arrays: dict[str, np.ndarray] = {
            "origin": np.ascontiguousarray(cells.origin, real),
            "points": np.ascontiguousarray(cells.rest.reshape(-1), real),
            "boxes": np.hstack([cells.low - cells.origin, cells.high - cells.origin]).astype(real),
        }
        for name, matrix in (("from", from_basis), ("to", to_basis), ("of", of_primitives)):
            self._arrays |= {f"{name} first": matrix.first, f"{name} column": matrix.column}
            self._arrays[f"{name} value"] = matrix.value.astype(real)
        for n, group in enumerate(primitives):
            whole = np.rint(group.centre / CELL) * CELL
            power = -np.log2(np.e) * group.exponent
            high = power.astype(real).astype(np.float64)
            gaussian = np.column_stack([whole, group.centre - whole, high, power - high])
            self._arrays |= {f"rows {n}": group.rows, f"offsets {n}": group.offsets}
            self._arrays[f"gaussian {n}"] = gaussian.astype(real)
        for n, pair in enumerate(pairs):
            whole = np.rint(pair.centre / CELL) * CELL
            numbers = np.column_stack([whole, pair.centre - whole, pair.exponent, 1 / pair.exponent])
            assert numbers.shape[1] == PAIR_NUMBERS
            self._arrays |= {
                f"pairs {n}": numbers.astype(real),
                f"lefts {n}": pair.lefts,
                f"rights {n}": pair.rights,
                f"bounds {n}": pair.bound.astype(real),
                f"coefficients {n}": pair.coefficients.astype(real).reshape(-1),
                f"left terms {n}": pair.left.offsets,
                f"right terms {n}": pair.right.offsets,
            }
        for array in self._arrays.values():
            array.setflags(write=False)  # sent to the device once

    def overlap(self, checkpoint: Checkpoint | None) -> np.ndarray:
        """Overlaps of the basis functions as the grid has them, shape (n_basis, n_basis)."""
        n = len(self._to_basis)
        result = np.zeros((n, n))
        for cells in self._batches(checkpoint):
            values, weights = self._values(cells)
            near = self._near(values, weights)
            some = values[near]
            result[np.ix_(near, near)] += some @ (some * weights).T
        return result

    def matrices(
        self, densities: np.ndarray, interaction: Interaction, limit: float, checkpoint: Checkpoint | None
    ) -> np.ndarray:
        """P for some density matrices, not symmetric yet.

        Parameters
        ----------
        densities : ndarray, shape (1 or 2, n_basis, n_basis)
        interaction : Interaction
        limit : float
            Pairs that add less to an element from the points of a cell are left out there, in hartree.
        checkpoint
            Called between batches with the share that is done; what it raises ends it.
        """
        densities = np.ascontiguousarray(densities, self._target.dtype)
        result = np.zeros(densities.shape)
        for cells in self._batches(checkpoint):
            values, weights = self._values(cells)
            near = self._near(values, weights)
            some = np.ascontiguousarray(values[near])
            potentials = self._potentials(cells, some, weights, densities[:, :, near], interaction, limit)
            some *= weights
            for matrix, potential in zip(result, potentials, strict=True):
                matrix[near] += some @ potential.T
        return result

    def _batches(self, checkpoint: Checkpoint | None) -> Any:
        """Ranges of cells."""
        n = len(self._cells)
        step = self._batch // POINTS
        for first in range(0, n, step):
            yield slice(first, min(first + step, n))
            if checkpoint is not None:
                checkpoint(min(first + step, n) / n)

    def _values(self, cells: slice) -> tuple[np.ndarray, np.ndarray]:
        """Values of basis functions at the points of some cells, shape (n_basis, n), and weights."""
        n = (cells.stop - cells.start) * POINTS
        terms = self._space("terms", (len(self._from_basis) * n,))
        for k, group in enumerate(self._primitives):
            terms_kernel(self._target, group.terms)(
                n=(cells.stop - cells.start) * threads_of(self._target),
                zero=0,
                begin=cells.start,
                stride=n,
                n_points=len(self._cells.order),
                n_primitives=len(group.rows),
                out=terms,
                **self._given(origin="origin", points="points"),
                **self._given(rows=f"rows {k}", terms=f"offsets {k}", gaussian=f"gaussian {k}"),
            )
        values = self._space("values", (len(self._to_basis) * n,))
        self._multiply("to", len(self._to_basis), n, terms, values)
        synchronise()
        weights = self._weights[cells.start * POINTS : cells.stop * POINTS].astype(self._target.dtype)
        return values.reshape(-1, n), weights

    def _near(self, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Basis functions that are there."""
        return np.flatnonzero(np.abs(values).max(axis=1, initial=0.0) > 1e-7)

    def _potentials(
        self,
        cells: slice,
        values: np.ndarray,
        weights: np.ndarray,
        densities: np.ndarray,
        interaction: Interaction,
        limit: float,
    ) -> np.ndarray:
        """G at the points of some cells, shape (n_sets, n_basis, n)."""
        n, n_cells, n_sets = values.shape[1], cells.stop - cells.start, len(densities)
        n_basis, n_terms = len(self._to_basis), len(self._from_basis)
        of_basis = self._space("of basis", (n_sets * n_basis * n,))
        f, g = (self._space(name, (n_sets * n_terms * n,)) for name in "fg")
        for k, density in enumerate(densities):
            here = of_basis.reshape(n_sets, n_basis, n)[k]
            np.matmul(density, values, out=here)
        for k in range(n_sets):
            some, to = (array.reshape(n_sets, -1)[k] for array in (of_basis, f))
            self._multiply("from", n_terms, n, some, to)
        g[...] = 0
        of_cells = (np.abs(values).max(axis=0, initial=0.0) * np.abs(weights)).reshape(-1, POINTS).sum(axis=1)
        largest = self._space("largest", (len(self._of_primitives) * n_cells,))
        largest_kernel(self._target)(
            n_primitives=len(self._of_primitives),
            n_cells=n_cells,
            n_rows=n_basis,
            n_sets=n_sets,
            stride=n,
            weight=of_cells,
            f=of_basis,
            out=largest,
            **self._given(first="of first", column="of column"),
        )
        for k, pair in enumerate(self._pairs):
            kernel = pairs_kernel(
                self._target, pair.left.terms, pair.right.terms, n_sets, interaction.long_range != 0
            )
            degree = degree_of(pair.left.terms) + degree_of(pair.right.terms)
            kernel(
                n=n_cells * threads_of(self._target),
                begin=cells.start,
                stride=n,
                n_points=len(self._cells.order),
                n_cells=n_cells,
                n_rows=n_terms,
                n_lefts=len(pair.lefts),
                limit=limit,
                full=interaction.full,
                beyond=interaction.long_range,
                omega=interaction.omega,
                table=self._there(f"table {degree}", table_of(self._target.precision, degree)),
                largest=largest,
                given=f,
                sums=g,
                **self._given(origin="origin", boxes="boxes", points="points"),
                **self._given(
                    lefts=f"lefts {k}",
                    rights=f"rights {k}",
                    left_terms=f"left terms {k}",
                    right_terms=f"right terms {k}",
                    pairs=f"pairs {k}",
                    bounds=f"bounds {k}",
                    coefficients=f"coefficients {k}",
                ),
            )
        for k in range(n_sets):
            some, to = (array.reshape(n_sets, -1)[k] for array in (g, of_basis))
            self._multiply("to", n_basis, n, some, to)
        synchronise()
        return of_basis.reshape(n_sets, n_basis, n)

    def _multiply(self, name: str, n_rows: int, n: int, given: Any, out: Any) -> None:
        """Multiply one of the sparse matrices and rows of numbers."""
        matrix = self._given(first=f"{name} first", column=f"{name} column", value=f"{name} value")
        n_pieces = n // POINTS * threads_of(self._target)
        rows_kernel(self._target)(n_rows=n_rows, n_pieces=n_pieces, stride=n, given=given, out=out, **matrix)

    def _given(self, **names: str) -> dict[str, Any]:
        return {name: self._there(held, self._arrays[held]) for name, held in names.items()}

    def _there(self, name: str, array: np.ndarray) -> Any:
        return self._kept.operand(self._target, name, array, array.dtype.type)

    def _space(self, name: str, shape: tuple[int, ...]) -> Any:
        held = self._host.get(name)
        if held is None or held.size < shape[0]:
            held = self._host[name] = np.empty(shape, self._target.dtype)
        return held[: shape[0]]
