"""Cubic cells: positions as cells and remainders, and points sorted into cells, so that neighbours share lists."""

from dataclasses import dataclass

import numpy as np

CELL = 0.0625
"""Edge in bohr of the cells that positions are counted in; a power of two, so that multiples of it are exact."""


def split_position(position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions (bohr, float64) as whole cells (int32) and remainders (float64)."""
    cell = position * (1 / CELL)
    np.floor(cell, out=cell)
    return cell.astype(np.int32), position - cell * CELL


def places_in_order(keys: np.ndarray) -> np.ndarray:
    """Where the smallest key is, then the next one, and so on; of equal ones the first. Keys are integers from 0 on."""
    order = np.argsort(keys.astype(np.uint16), kind="stable")  # by the lowest digit, in a tenth of the time for all
    for shift in range(16, int(keys.max()).bit_length(), 16):
        order = order[np.argsort((keys >> shift).astype(np.uint16)[order], kind="stable")]
    return order


def grid_of_cells(
    points: np.ndarray, low: np.ndarray, edge: float
) -> tuple[np.ndarray, tuple[int, int, int], np.ndarray, np.ndarray]:
    """Points in all cells of a grid, empty ones too, so that a cell is found by its place.

    Parameters
    ----------
    points : ndarray of float64, shape (n_points, 3)
        One or more, in bohr.
    low : ndarray, shape (3,)
        Corner of the first cell, in bohr.
    edge
        Of the cells, in bohr.

    Returns
    -------
    tuple
        The cell of each point along x, y and z; how many cells there are along these; the points in the order of the
        cells, by z, then y, then x; where those of each cell begin, int32.
    """
    place = np.floor((points - low) / edge).astype(np.int64)
    x, y, z = (int(n) for n in place.max(axis=0) + 1)
    key = (place[:, 0] * y + place[:, 1]) * z + place[:, 2]
    order = places_in_order(key)
    return place, (x, y, z), order, np.searchsorted(key[order], np.arange(x * y * z + 1)).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Cells:
    """Points by cells.

    Attributes
    ----------
    placed : ndarray of int, shape (n_slots,)
        The point in each slot. Slots of a cell follow one another; the first point of the cell fills up the rest.
    slot : ndarray of int, shape (n_points,)
        One slot of each point, ordered as `order`.
    order : ndarray of int, shape (n_points,)
        Points, cell by cell.
    first_slot : ndarray of int, shape (n_cells + 1,)
        Slots of each cell.
    low, high : ndarray, shape (n_cells, 3)
        Corners of the box about the points of each cell, in bohr.
    """

    placed: np.ndarray
    slot: np.ndarray
    order: np.ndarray
    first_slot: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def __len__(self) -> int:
        return len(self.first_slot) - 1

    def of_slots(self, together: int = 1) -> np.ndarray:
        """The cell of each run of slots, int32."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.first_slot) // together)

    def by_point(self, values: np.ndarray) -> np.ndarray:
        """Values of slots, in the order in which the points were given."""
        result = np.empty(len(self.order), values.dtype)
        result[self.order] = values[self.slot]
        return result


def sorted_into_cells(points: np.ndarray, edge: float, points_a_cell: int, together: int) -> Cells:
    """Sort points into cells.

    Parameters
    ----------
    points : ndarray of float64, shape (n_points, 3)
        One or more, in bohr.
    edge
        Of the cells, in bohr; doubled until there are several points a cell.
    points_a_cell
        How many there should be, on average.
    together
        The slots of a cell are filled up to a multiple.
    """
    columns = np.ascontiguousarray(points.T)  # the smallest of many short rows takes longer than that
    columns = columns - columns.min(axis=1)[:, None]
    edge = max(edge, float(columns.max()) * 2.0**-20)  # keys of 63 bits
    while True:
        # one key a point: sorting rows takes ten times as long
        x, y, z = np.floor(columns / edge).astype(np.int64)
        key = (x * (y.max() + 1) + y) * (z.max() + 1) + z
        order = places_in_order(key)
        ordered = key[order]
        begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
        if len(begins) * points_a_cell <= max(len(points), 64) or len(begins) == 1:
            break
        edge *= 2
    counts = np.diff(np.concatenate([begins, [len(points)]]))
    slots = -(-counts // together) * together
    first_slot = np.concatenate([[0], np.cumsum(slots)])
    slot = np.arange(len(points)) + np.repeat(first_slot[:-1] - begins, counts)
    placed = np.repeat(order[begins], slots)
    placed[slot] = order
    low, high = np.empty((2, len(begins), 3))
    for axis, column in enumerate(points.T):  # rows of three take ten times as long
        by_cell = column[order]
        low[:, axis], high[:, axis] = np.minimum.reduceat(by_cell, begins), np.maximum.reduceat(by_cell, begins)
    return Cells(placed, slot, order, first_slot, low, high)
