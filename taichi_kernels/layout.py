"""Bricks of a lattice, how the tables and rows of a sum of Gaussians are numbered, and those of its derivatives.

A row of `orbital_lattice` is a product of three functions of one coordinate each, so a derivative of it is the product
of their derivatives. A sum and derivatives of it share Gaussians, rows and lists: what differs is which of two or three
tables along an axis is taken.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

BX, BY, BZ = BRICK = (8, 8, 16)
"""Points of a brick along x, y and z."""

Orders = tuple[tuple[int, int, int], ...]
"""Of derivatives along x, y and z, each 0, 1 or 2."""

PLAIN: Orders = ((0, 0, 0),)
"""A sum alone."""

GRADIENT: Orders = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
"""A sum and its gradient, as most fields want them."""

HESSIAN: Orders = ((0, 0, 0), (2, 0, 0), (0, 2, 0), (0, 0, 2), (1, 1, 0), (1, 0, 1), (0, 1, 1))
"""A sum and its second derivatives, as the sign of weak interactions wants them."""


@dataclass(frozen=True)
class Pair:
    """Tables along x and y that are multiplied by each other, and those along z by which the product is."""

    x: int
    y: int
    z: tuple[int, ...]


class Families:
    """Families of tables that some derivatives take: one for each order that there is along an axis.

    Attributes
    ----------
    x, y, z : tuple of int
        Orders of the families along each axis.
    places : tuple of (int, int, int)
        For each derivative, its families.
    pairs : tuple of Pair
        Those products that bound all of them.
    """

    def __init__(self, orders: Orders) -> None:
        self.x, self.y, self.z = (tuple(sorted({order[axis] for order in orders})) for axis in range(3))
        self.places = tuple((self.x.index(i), self.y.index(j), self.z.index(k)) for i, j, k in orders)
        self.pairs = tuple(
            Pair(i, j, tuple(sorted({place[2] for place in self.places if place[:2] == (i, j)})))
            for i, j in sorted({place[:2] for place in self.places})
        )

    def of_results(self, n_sums: int) -> np.ndarray:
        """For each derivative of each sum, the families of tables that it is made of, shape (n_results, 4).

        Sums have tables along x of their own, those of one after those of the one before. The last number is not used.
        """
        places = np.zeros((n_sums, len(self.places), 4), np.int32)
        places[:, :, :3] = self.places
        places[:, :, 0] += len(self.x) * np.arange(n_sums)[:, None]
        return places.reshape(-1, 4)


@dataclass(frozen=True, eq=False)
class Layout:
    """What the kernels must know of a set of primitives, whatever their positions and coefficients.

    Attributes
    ----------
    rows : ndarray of int32, shape (n_rows, 4)
        For each row: its table along z, its first table along x, how many it has, its first table along y.
    tables_x : ndarray of int32, shape (n_tables_x, 2)
        For each table along x: first polynomial coefficient and number of coefficients.
    products : ndarray of int32, shape (n_tables_x + n_primitives + 1, 4)
        For each table along x the same, and where the factors along y and z that it is multiplied by begin: the number
        of the table times 2 (a GPU keeps tables in parts of 4 points along y) and times 16. Behind them `first_table`
        and `first_table_x` of each primitive: one array travels to a GPU in less time than three.
    first_table : ndarray of int32, shape (n_primitives + 1,)
        Range of tables of each primitive along y, and along z.
    first_table_x : ndarray of int32, shape (n_primitives + 1,)
        Range of tables of each primitive along x.
    """

    rows: np.ndarray
    tables_x: np.ndarray
    products: np.ndarray
    first_table: np.ndarray
    first_table_x: np.ndarray


@dataclass(frozen=True, eq=False)
class PackedSums:
    """Sums of the same Gaussians on a slab of a lattice, as the kernels take them.

    Attributes
    ----------
    plan : Layout
    primitives : ndarray, shape (n_primitives, 8)
        Exponent; lattice point nearest to the centre less the centre; index of that point, counted from the slab; bound
        on the factors along y and z, if sheared.
    terms : ndarray, shape (n_terms,) or (n_sums, n_terms)
        Polynomial coefficients.
    spacing : tuple of float
        In bohr.
    shape : tuple of int
        Points of the slab.
    orders : tuple of (int, int, int)
        Derivatives along x, y and z of each sum that are wanted.
    """

    plan: Layout
    primitives: np.ndarray
    terms: np.ndarray
    spacing: tuple[float, float, float]
    shape: tuple[int, int, int]
    orders: Orders = PLAIN


def layout(degrees: np.ndarray) -> Layout:
    """Layout for primitives whose polynomials have these degrees, terms ordered k slowest, then j, i fastest."""
    return _layout(np.ascontiguousarray(degrees, np.int32).tobytes())


@lru_cache(maxsize=32)
def _layout(degrees: bytes) -> Layout:
    degree = np.frombuffer(degrees, np.int32).astype(np.int64)
    first = np.concatenate([[0], np.cumsum(degree + 1)])
    first_x = np.concatenate([[0], np.cumsum((degree + 1) * (degree + 2) // 2)])
    first_term = np.concatenate([[0], np.cumsum((degree + 1) * (degree + 2) * (degree + 3) // 6)])
    rows, products = np.empty((first[-1], 4), np.int32), np.zeros((first_x[-1] + len(first), 4), np.int32)
    products[first_x[-1] :, :2] = np.stack([first, first_x], axis=1)
    for d in np.unique(degree).tolist():
        which = np.flatnonzero(degree == d)[:, None]
        count = d + 1 - np.arange(d + 1)  # tables along x of each row
        before = np.cumsum(count) - count
        block = np.stack(np.broadcast_arrays(
            first[which] + np.arange(d + 1), first_x[which] + before, count, first[which]
        ), axis=-1)  # fmt: skip
        rows[first[which] + np.arange(d + 1)] = block
        size = np.concatenate([np.arange(d - k + 1, 0, -1) for k in range(d + 1)])  # coefficients of each table
        terms = first_term[which] + np.cumsum(size) - size
        j = np.concatenate([np.arange(n) for n in count])
        k = np.repeat(np.arange(d + 1), count)
        products[first_x[which] + np.arange(len(size))] = np.stack(
            np.broadcast_arrays(terms, size, (BX // 4) * (first[which] + j), BZ * (first[which] + k)), axis=-1
        )
    # rows with equally many tables stand together, so that the branch on their number is predicted
    rows = rows[np.argsort(rows[:, 2], kind="stable")]
    arrays = [rows, products[: first_x[-1], :2].copy(), products, first.astype(np.int32), first_x.astype(np.int32)]
    for array in arrays:
        array.setflags(write=False)  # sent to the device once
    return Layout(*arrays)
