r"""The potential of many charges at points on a CPU: near ones one by one, far ones by a mesh.

.. math::  \frac1d = \Bigl(\frac1d - \gamma(d)\Bigr) + \gamma(d), \qquad
    \gamma(d) = \frac1a \sum_{k=0}^{4} \binom{-1/2}{k} \Bigl(\frac{d^2}{a^2} - 1\Bigr)^k \;\; (d < a), \qquad
    \gamma(d) = \frac1d \;\; (d \ge a)

The difference is zero beyond the distance a. The rest is smooth: it is interpolated between nodes of a mesh with
polynomials of degree 7, from the charges to the nodes and from there to the points, and between nodes it is a
convolution, without periodic images (the splitting of multilevel summation: R. D. Skeel, I. Tezcan and D. J. Hardy,
J. Comput. Chem. 2002, 23, 673; with the Fourier transform of a mesh of twice the edge: R. W. Hockney and
J. W. Eastwood, Computer Simulation Using Particles, 1988).

With a spacing h of the nodes, a = 8 h, interpolation changes the potential of a unit charge by 4e-5 / a at most,
wherever it and the point are: half as much again as the largest that a search finds, see the tests.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import prod
from types import SimpleNamespace

import numpy as np

from ._taichi import number, ti
from .cells import grid_of_cells
from .hilbert import hilbert_order
from .launching import Checkpoint, launch, pace_of

_SPACINGS_A_RADIUS = 8
_CELLS_A_RADIUS = 4
_ORDER = 8
"""Nodes along each axis that a charge is spread over."""

_BINOMIAL = (1.0, -1 / 2, 3 / 8, -5 / 16, 35 / 128)

_LANES = 8
"""Points that a CPU takes at once."""

MARGIN = 12.0
"""Distance in bohr from the outermost charges up to which a mesh reaches that is meant for their surface."""

_STEP, _WIDEST = 0.25, 64.0
"""Spacings are multiples of this, in bohr, so that multiples of an edge of a cell are exact; and the widest."""

_NODE, _NEAR, _DIRECT, _POINTS = 250.0, 0.8, 2.1, 50_000
"""Nanoseconds of a core for a node, for a charge near a point, and for one without a mesh; and the points that the
spacing is chosen for."""

_MOST_NODES = 1 << 21
"""Nodes of a mesh at most; the Fourier transform is of eight times as many, and takes 400 MB."""

_SMALLEST = 1e-6
"""Distance in bohr that stands for 0: the potential stays finite at a point charge."""


@dataclass(frozen=True, eq=False)
class ChargeMesh:
    """Charges by cells, and the smooth part of their potential on a mesh.

    Attributes
    ----------
    spacing : float
        Of the nodes in bohr.
    low : ndarray, shape (3,)
        First node, and first corner of the cells, in bohr.
    cells : tuple of int
        Along x, y and z.
    first : ndarray of int32, shape (n_cells + 1,)
        Where the charges of each cell begin, ordered by z, then y, then x.
    charge : ndarray of float32, shape (n, 4)
        Places relative to the corners of their cells in bohr, and charges in e.
    radius : float
        Of the charges, in bohr.
    values : ndarray of float32, shape (nodes along x, y and z)
        Smooth part of the potential in hartree/e.
    """

    spacing: float
    low: np.ndarray
    cells: tuple[int, int, int]
    first: np.ndarray
    charge: np.ndarray
    radius: float
    values: np.ndarray

    def holds(self, points: np.ndarray) -> np.ndarray:
        """Which points, shape (n, 3) in bohr, the mesh reaches."""
        nodes = (points - self.low) / self.spacing
        half = _ORDER // 2
        return ((nodes >= half) & (nodes <= np.array(self.values.shape) - half - 1)).all(axis=1)


def spacing_for(position: np.ndarray) -> float:
    """Spacing in bohr with which charges, shape (n, 3) in bohr, take least time; 0 where a mesh is no help."""
    extent = np.ptp(position, axis=0) + 2 * MARGIN
    density = len(position) / prod(np.maximum(extent - MARGIN, 1.0).tolist())
    best, least = 0.0, len(position) * _DIRECT * _POINTS
    for spacing in np.arange(1.0, _WIDEST, _STEP).tolist():
        nodes = prod((extent / spacing + _ORDER).tolist())
        near = min(density * 8 * (_SPACINGS_A_RADIUS * spacing) ** 3, len(position))
        time = _NODE * nodes + _NEAR * near * _POINTS
        if nodes <= _MOST_NODES and time < least:
            best, least = spacing, time
    return best


def mesh_of(
    position: np.ndarray, charge: np.ndarray, radius: float, spacing: float, margin: float = MARGIN
) -> ChargeMesh:
    """Spread charges over a mesh, inside a session of a CPU.

    Parameters
    ----------
    position : ndarray of float64, shape (n, 3)
        In bohr.
    charge : ndarray of float64, shape (n,)
        In e.
    radius : float
        Radius in bohr of the balls that they fill evenly, no more than four spacings.
    spacing : float
        From `spacing_for`, or a wider one.
    margin : float
        Distance in bohr from the outermost charges up to which the mesh is to reach.
    """
    from scipy import fft

    low = position.min(axis=0) - margin - _ORDER * spacing
    extent = position.max(axis=0) + margin + _ORDER * spacing - low
    nodes = [fft.next_fast_len(int(np.ceil(edge / spacing)) + 1, real=True) for edge in extent]
    spread = np.zeros(nodes)
    where = {"n": len(charge), **_stencil(position, low, spacing, np.float64)}
    launch(_kernels().spread, **where, charge=charge.astype(np.float64), out=spread)
    squares = [(np.arange(n + 1) * spacing) ** 2 for n in nodes]
    distance = np.sqrt(squares[0][:, None, None] + squares[1][:, None] + squares[2])
    spectrum = fft.dctn(_smooth(distance, _SPACINGS_A_RADIUS * spacing), type=1, overwrite_x=True)
    del distance
    twice = [2 * n for n in nodes]
    transformed = fft.rfftn(spread, twice, overwrite_x=True)
    for half in (slice(0, nodes[0] + 1), slice(nodes[0] + 1, None)):  # the spectrum is even along each axis
        for other in (slice(0, nodes[1] + 1), slice(nodes[1] + 1, None)):
            x = spectrum if half.start == 0 else spectrum[-2:0:-1]
            transformed[half, other] *= x if other.start == 0 else x[:, -2:0:-1]
    values = fft.irfftn(transformed, twice, overwrite_x=True)[: nodes[0], : nodes[1], : nodes[2]].astype(np.float32)
    edge = spacing * _SPACINGS_A_RADIUS / _CELLS_A_RADIUS
    place, cells, order, first = grid_of_cells(position, low, edge)
    rows = np.column_stack([position - low - place * edge, charge]).astype(np.float32)[order]
    return ChargeMesh(spacing, low, cells, first, rows, radius, values)


def potential_by_mesh(points: np.ndarray, mesh: ChargeMesh, checkpoint: Checkpoint | None = None) -> np.ndarray:
    """Potential of charges at points that their mesh holds.

    Parameters
    ----------
    points : ndarray of float64, shape (n_points, 3)
        In bohr.
    mesh : ChargeMesh
    checkpoint
        Called between pieces of the work with the share that is done.

    Returns
    -------
    ndarray of float64, shape (n_points,)
        In hartree/e.
    """
    n = len(points)
    if n == 0:
        return np.zeros(0)
    order = hilbert_order(points)
    blocks = -(-n // _LANES)
    ordered = points[order[np.minimum(np.arange(blocks * _LANES), n - 1)]]
    where = _stencil(ordered, mesh.low, mesh.spacing, np.float32)
    edge = mesh.spacing * _SPACINGS_A_RADIUS / _CELLS_A_RADIUS
    of_block = (ordered - mesh.low).reshape(blocks, _LANES, 3)
    corner = np.floor(of_block[:, 0] / edge).astype(np.int32)
    lanes = np.ascontiguousarray((of_block - corner[:, None] * edge).transpose(0, 2, 1), np.float32)
    reach = mesh.spacing * _SPACINGS_A_RADIUS
    low, high = (np.floor(end / edge).astype(np.int32) for end in (of_block.min(1) - reach, of_block.max(1) + reach))
    out = np.zeros((blocks, _LANES))
    kernels = _kernels()

    def some(begin: int, end: int) -> None:
        part, slots = slice(begin, end), slice(begin * _LANES, end * _LANES)
        launch(
            kernels.add_near,
            n_blocks=end - begin,
            n_y=mesh.cells[1],
            n_z=mesh.cells[2],
            edge=edge,
            reach=reach,
            smallest=max(mesh.radius, _SMALLEST) ** 2,
            point=lanes[part],
            corner=corner[part],
            low=np.maximum(low[part], 0),
            high=np.minimum(high[part], np.array(mesh.cells, np.int32) - 1),
            first=mesh.first,
            charge=mesh.charge,
            out=out[part],
        )
        here = {"n": (end - begin) * _LANES, "node": where["node"][slots], "weight": where["weight"][slots]}
        launch(kernels.gather, **here, values=mesh.values, out=out.reshape(-1)[slots])

    pace_of(1 << 10, "charges near points").run(np.ones(blocks), some, checkpoint)
    values = np.empty(n)
    values[order] = out.reshape(-1)[:n]
    return values


def _smooth(distance: np.ndarray, reach: float) -> np.ndarray:
    u = np.minimum(distance * (1 / reach), 1.0) ** 2 - 1
    inner = np.zeros_like(u)
    for factor in reversed(_BINOMIAL):
        inner = inner * u + factor
    return np.where(distance < reach, inner / reach, 1 / np.maximum(distance, reach))


def _stencil(points: np.ndarray, low: np.ndarray, spacing: float, dtype: type) -> dict[str, np.ndarray]:
    """The first of the nodes that points are interpolated from along each axis, and Lagrange's weights of all."""
    nodes = (points - low) / spacing
    whole = np.floor(nodes)
    place = [nodes - whole - (k - _ORDER // 2 + 1) for k in range(_ORDER)]
    weight = np.empty((len(points), 3, _ORDER), dtype)
    for k in range(_ORDER):
        others = [m for m in range(_ORDER) if m != k]
        weight[:, :, k] = prod(place[m] for m in others) / prod(k - m for m in others)
    return {"node": whole.astype(np.int32) - (_ORDER // 2 - 1), "weight": weight}


@lru_cache
def _kernels() -> SimpleNamespace:
    f32 = number(np.dtype(np.float32))
    I1, I2, F2 = ti.types.ndarray(ti.i32, 1), ti.types.ndarray(ti.i32, 2), ti.types.ndarray(f32, 2)
    F3, D1, D2 = ti.types.ndarray(f32, 3), ti.types.ndarray(ti.f64, 1), ti.types.ndarray(ti.f64, 2)
    D3, lanes = ti.types.ndarray(ti.f64, 3), ti.types.vector(_LANES, f32)
    L2 = ti.types.ndarray(lanes, 2)

    @ti.kernel
    def spread(n: ti.i32, node: I2, weight: D3, charge: D1, out: D3):
        ti.loop_config(serialize=True)  # the order of sums decides on last bits
        for m in range(n):
            for i in range(_ORDER):
                for j in range(_ORDER):
                    factor = charge[m] * weight[m, 0, i] * weight[m, 1, j]
                    for k in range(_ORDER):
                        out[node[m, 0] + i, node[m, 1] + j, node[m, 2] + k] += factor * weight[m, 2, k]

    @ti.kernel
    def gather(n: ti.i32, node: I2, weight: F3, values: F3, out: D1):
        ti.loop_config(block_dim=64)
        for m in range(n):
            total = ti.cast(0.0, f32)
            for i in range(_ORDER):
                for j in range(_ORDER):
                    line = ti.cast(0.0, f32)
                    for k in ti.static(range(_ORDER)):
                        line += weight[m, 2, k] * values[node[m, 0] + i, node[m, 1] + j, node[m, 2] + k]
                    total += weight[m, 0, i] * weight[m, 1, j] * line
            out[m] += total

    @ti.kernel
    def add_near(
        n_blocks: ti.i32,
        n_y: ti.i32,
        n_z: ti.i32,
        edge: f32,  # bohr
        reach: f32,  # bohr
        smallest: f32,  # bohr^2
        point: L2,  # (blocks, 3) bohr from the corner of a cell
        corner: I2,  # (blocks, 3) that cell
        low: I2,  # (blocks, 3) first and last cells with charges near
        high: I2,
        first: I1,  # (cells and one)
        charge: F2,  # (charges, 4) bohr from the corners of their cells, and e
        out: D2,  # (blocks, lanes)
    ):
        ti.loop_config(block_dim=64)
        for b in range(n_blocks):
            total = ti.types.vector(_LANES, ti.f64)(0.0)
            px, py, pz = point[b, 0], point[b, 1], point[b, 2]
            inverse = 1 / (reach * reach)
            for cx in range(low[b, 0], high[b, 0] + 1):
                sx = ti.cast(cx - corner[b, 0], f32) * edge
                for cy in range(low[b, 1], high[b, 1] + 1):
                    sy = ti.cast(cy - corner[b, 1], f32) * edge
                    for cz in range(low[b, 2], high[b, 2] + 1):
                        sz = ti.cast(cz - corner[b, 2], f32) * edge
                        cell = (cx * n_y + cy) * n_z + cz
                        of_cell = lanes(0.0)
                        for m in range(first[cell], first[cell + 1]):
                            x, y, z = px - (sx + charge[m, 0]), py - (sy + charge[m, 1]), pz - (sz + charge[m, 2])
                            square = x * x + y * y + z * z
                            larger = ti.max(square, smallest)
                            u = ti.rsqrt(larger)
                            s = ti.min(square * inverse, f32(1.0)) - f32(1.0)
                            smooth = lanes(0.0)
                            for factor in ti.static(_BINOMIAL[::-1]):
                                smooth = smooth * s + f32(factor)
                            term = u * (f32(1.5) - f32(0.5) * square * u * u) - smooth / reach
                            of_cell += charge[m, 3] * ti.select(square < reach * reach, term, f32(0.0))
                        total += ti.cast(of_cell, ti.f64)
            for lane in ti.static(range(_LANES)):
                out[b, lane] += total[lane]

    return SimpleNamespace(spread=spread, gather=gather, add_near=add_near)
