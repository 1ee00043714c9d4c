"""Sums of functions of the distance from atoms, on a lattice along x, y and z, by tables: the density of free atoms.

The lattice is cut into bricks. For each, the atoms that reach it are looked for in cells, and each adds its function to
the points of the brick: cubic polynomials between the nodes of a table, one for each kind of atom.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ._taichi import number, ti
from .cells import grid_of_cells
from .launching import Checkpoint, idle, launch, pace_of, turns_of
from .target import Target

_BRICK = 8
"""Points of a brick along each axis."""

_CELL = 6.0
"""Edge of the cells that atoms are sorted into, in bohr."""

_MOST_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class SphericalAtoms:
    """Atoms by cells.

    Attributes
    ----------
    low : ndarray, shape (3,)
        First corner of the cells in bohr.
    edge : float
        Of the cells in bohr.
    cells : tuple of int
        Along x, y and z.
    first : ndarray of int32
        Where the atoms of each cell begin, ordered by z, then y, then x.
    position : ndarray, shape (n, 3)
        In bohr.
    kind : ndarray of int32, shape (n,)
        Which of the tables.
    cut : ndarray, shape (n_kinds,)
        Distance in bohr beyond which nothing is added.
    table : ndarray of float32, shape (n_kinds, n_intervals, 4)
        Coefficients of the polynomials of the share of an interval, up to the distance of each cut.
    """

    low: np.ndarray
    edge: float
    cells: tuple[int, int, int]
    first: np.ndarray
    position: np.ndarray
    kind: np.ndarray
    cut: np.ndarray
    table: np.ndarray


def sorted_atoms(
    position: np.ndarray, kind: np.ndarray, cut: np.ndarray, values: np.ndarray, slopes: np.ndarray
) -> SphericalAtoms:
    """Sort atoms into cells.

    Parameters
    ----------
    position : ndarray of float64, shape (n, 3)
        In bohr; one atom or more.
    kind : ndarray of int, shape (n,)
        Of each atom.
    cut : ndarray, shape (n_kinds,)
        Distance in bohr beyond which nothing is added.
    values, slopes : ndarray, shape (n_kinds, n_nodes)
        The function and its derivative with the distance, at equal distances from 0 to the cut.
    """
    step = (cut / (values.shape[1] - 1))[:, None]
    rise, begin, end = np.diff(values), slopes[:, :-1] * step, slopes[:, 1:] * step
    table = np.stack([values[:, :-1], begin, 3 * rise - 2 * begin - end, begin + end - 2 * rise], axis=2)
    low = position.min(axis=0)
    extent = position.max(axis=0) - low
    edge = max(_CELL, float(np.prod(extent + _CELL) / _MOST_CELLS) ** (1 / 3))
    _, cells, order, first = grid_of_cells(position, low, edge)
    sorted_kind = kind[order].astype(np.int32)
    return SphericalAtoms(
        low, edge, cells, first, position[order], sorted_kind, cut.astype(np.float32), table.astype(np.float32)
    )


def add_atoms(
    atoms: SphericalAtoms,
    origin: np.ndarray,
    spacing: np.ndarray,
    start: int,
    target: Target,
    out: np.ndarray,
    checkpoint: Checkpoint | None = None,
) -> None:
    """Write the sum on some planes of a lattice, inside a session of a CPU.

    Parameters
    ----------
    atoms : SphericalAtoms
    origin, spacing : ndarray, shape (3,)
        Of the lattice along x, y and z, in bohr.
    start
        The first of the planes.
    target
        The CPU.
    out : ndarray of float32, shape (planes, ny, nz)
        Receives the values.
    checkpoint
        Called between pieces of the work with the share that is done.
    """
    planes, ny, nz = out.shape
    layers = -(-planes // _BRICK)
    position = atoms.position - origin
    low = atoms.low - origin
    out[...] = 0

    def some(begin: int, end: int) -> None:
        launch(
            _kernel(target),
            layers=end - begin,
            layer=begin,
            start=start,
            n_x=planes,
            n_y=ny,
            n_z=nz,
            h_x=spacing[0],
            h_y=spacing[1],
            h_z=spacing[2],
            edge=atoms.edge,
            low=low,
            cells=np.array(atoms.cells, np.int32),
            first=atoms.first,
            position=position,
            kind=atoms.kind,
            cut=atoms.cut,
            largest=float(atoms.cut.max()),
            table=atoms.table,
            out=out,
        )

    pace_of(1, "layers of spherical atoms").run(np.ones(layers), some, checkpoint)


@lru_cache
def _kernel(target: Target) -> Any:
    f32, vector = number(np.dtype(np.float32)), ti.types.vector
    I1, F1, F3 = ti.types.ndarray(ti.i32, 1), ti.types.ndarray(f32, 1), ti.types.ndarray(f32, 3)
    D1, D2 = ti.types.ndarray(ti.f64, 1), ti.types.ndarray(ti.f64, 2)
    turns, V = turns_of(target, 2), vector(3, ti.f64)

    @ti.kernel
    def add(
        layers: ti.i32,
        layer: ti.i32,  # the first one
        start: ti.i32,  # plane of the lattice that is the first of `out`
        n_x: ti.i32,
        n_y: ti.i32,
        n_z: ti.i32,
        h_x: ti.f64,  # bohr
        h_y: ti.f64,
        h_z: ti.f64,
        edge: ti.f64,  # bohr
        low: D1,  # bohr, from the first point of the lattice
        cells: I1,
        first: I1,  # (cells and one)
        position: D2,  # (atoms, 3) bohr, from the first point of the lattice
        kind: I1,  # (atoms)
        cut: F1,  # (kinds) bohr
        largest: ti.f64,  # bohr
        table: F3,  # (kinds, intervals, 4)
        out: F3,  # (planes, ny, nz)
    ):
        rows, columns = (n_y + _BRICK - 1) // _BRICK, (n_z + _BRICK - 1) // _BRICK
        spacing = V(h_x, h_y, h_z)
        hx, hy, hz = ti.cast(h_x, f32), ti.cast(h_y, f32), ti.cast(h_z, f32)
        ti.loop_config(block_dim=512)
        for turn in range(layers * rows * columns * turns):
            if idle(turn, turns):
                continue
            task = turn // turns
            i = (layer + task // (rows * columns)) * _BRICK
            j, k = task // columns % rows * _BRICK, task % columns * _BRICK
            count = ti.min(ti.Vector([_BRICK, _BRICK, _BRICK]), ti.Vector([n_x - i, n_y - j, n_z - k]))
            corner = V(i + start, j, k) * spacing
            end = corner + ti.cast(count - 1, ti.f64) * spacing
            shift = V(low[0], low[1], low[2])
            begins = ti.max(ti.cast(ti.floor((corner - largest - shift) / edge), ti.i32), 0)
            ends = ti.min(
                ti.cast(ti.floor((end + largest - shift) / edge), ti.i32), ti.Vector([cells[0], cells[1], cells[2]]) - 1
            )
            for cx in range(begins[0], ends[0] + 1):
                for cy in range(begins[1], ends[1] + 1):
                    row = (cx * cells[1] + cy) * cells[2]
                    if begins[2] <= ends[2]:
                        for m in range(first[row + begins[2]], first[row + ends[2] + 1]):
                            at = V(position[m, 0], position[m, 1], position[m, 2])
                            which = kind[m]
                            reach = cut[which]
                            outside = ti.max(ti.max(corner - at, at - end), 0.0)
                            if outside.dot(outside) < reach * reach:
                                d = ti.cast(corner - at, f32)
                                per_bohr = ti.cast(table.shape[1], f32) / reach
                                for a in range(count[0]):
                                    x = d[0] + ti.cast(a, f32) * hx
                                    for b in range(count[1]):
                                        y = d[1] + ti.cast(b, f32) * hy
                                        across = x * x + y * y
                                        if across < reach * reach:
                                            for c in range(count[2]):
                                                z = d[2] + ti.cast(c, f32) * hz
                                                square = across + z * z
                                                if square < reach * reach:
                                                    place = ti.sqrt(square) * per_bohr
                                                    n = ti.min(ti.cast(place, ti.i32), table.shape[1] - 1)
                                                    t = place - ti.cast(n, f32)
                                                    value = table[which, n, 2] + t * table[which, n, 3]
                                                    value = table[which, n, 1] + t * value
                                                    out[i + a, j + b, k + c] += table[which, n, 0] + t * value

    return add
