"""Bricks of a lattice, and how the tables and rows of a sum of Gaussians are numbered; see `orbital_lattice`."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .orders import PLAIN, Orders

BX, BY, BZ = BRICK = (8, 8, 16)
"""Points of a brick along x, y and z."""


@dataclass(frozen=True, eq=False)
class Layout:
    """What the kernels must know of a set of primitives, whatever their positions and coefficients.

    Attributes
    ----------
    rows : ndarray of int32, shape (n_rows, 4)
        For each row: its table along z, its first table along x, how many it has, its first table along y.
    tables_x : ndarray of int32, shape (n_tables_x, 2)
        For each table along x: first polynomial coefficient and number of coefficients.
    products : ndarray of int32, shape (n_tables_x, 4)
        The same, and where the factors along y and z that it is multiplied by begin: the number of the table times 2
        (a GPU keeps tables in parts of 4 points along y) and times 16.
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
    rows, products = np.empty((first[-1], 4), np.int32), np.empty((first_x[-1], 4), np.int32)
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
    arrays = [rows, products[:, :2].copy(), products, first.astype(np.int32), first_x.astype(np.int32)]
    for array in arrays:
        array.setflags(write=False)  # sent to the device once
    return Layout(*arrays)
