"""Orbitals on a lattice by the direct sum, with operands in shared memory.

The tiled-shared kernel of Stone et al. (GPGPU 2009, section 4, doi 10.1145/1513895.1513897): the threads of a block
together load a tile of operands into the memory that they share, wait for each other, and each evaluates all of the
tile at its own points.

Operands form one stream of *segments*: up to sixteen primitives of one shell on one atom, its coefficients, and a
header. A tile is a run of whole segments that fits. A contraction that is longer than a segment is cut into several, so
its length has no limit; shells go up to angular momentum 8, whose 45 coefficients fit in a segment.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .._taichi import number, ti
from ..arrays import DeviceArray
from ..kept_arrays import KeptArrays
from ..launching import launch
from ..target import Target
from .radial.exact import operands, power_of_two
from .shells import LANES, Place, Shells

BLOCK = 128
"""Threads of a block."""

NUMBERS = 1024
"""Numbers of a tile: 4 kB of shared memory in single precision, 8 kB in double."""

_HEADERS = 64
"""Segments of a tile, at most."""

_PRIMITIVES = 16
"""Primitives of a segment."""

HIGHEST = 8
"""Highest angular momentum."""

_FIELDS = 7  # of a header: angular momentum, primitives, first number, atom, and its lattice steps

_held = KeptArrays()


def shared_memory_on_lattice(
    shells: Shells,
    coefficient: np.ndarray,
    shell_reach: np.ndarray,
    place: Place,
    target: Target,
    out: "np.ndarray | DeviceArray",
) -> None:
    """Evaluate an orbital on a slab of a lattice; parameters as for `direct.direct_on_lattice`, device a GPU.

    Raises
    ------
    ValueError
        For a shell of angular momentum beyond `HIGHEST`.
    """
    if shells.shell_angular_momentum.max() > HIGHEST:
        raise ValueError(f"angular momentum: expected {HIGHEST} at most, got {shells.shell_angular_momentum.max()}")
    headers, numbers, tiles = _tiles(shells, coefficient, shell_reach, place, target.precision)
    lanes = LANES[target.device, target.precision]
    nx, ny, nz = place.shape
    tasks = nx * ny * -(-nz // lanes)
    launch(
        _kernel(target, out.dtype),
        nx=nx,
        ny=ny,
        nz=nz,
        n_threads=-(-tasks // BLOCK) * BLOCK,
        n_tiles=len(tiles),
        **place.steps(target),
        headers=_held.operand(target, "headers", headers, np.int32),
        numbers=_held.operand(target, "numbers", numbers, target.dtype),
        tiles=_held.operand(target, "tiles", tiles, np.int32),
        out=out,
    )


@dataclass(frozen=True, eq=False)
class _Stream:
    """Where the numbers of each segment come from, and how segments make tiles: the same for all orbitals.

    Attributes
    ----------
    headers : ndarray of int32, shape (segments, 7)
        Without the lattice steps.
    source : ndarray of int, shape (numbers,)
        Places in the atoms, the squared reaches, the coefficients, the exponents and the contraction coefficients, one
        after the other.
    tiles : ndarray of int32, shape (tiles, 3)
        First header, number of headers, first number.
    """

    headers: np.ndarray
    source: np.ndarray
    tiles: np.ndarray


def _stream(shells: Shells, n_reaches: int, n_coefficients: int) -> _Stream:
    n_atoms, n_primitives = len(shells.atom_basis), len(shells.exponent)
    reaches = 3 * n_atoms
    coefficients = reaches + n_reaches
    exponents = coefficients + n_coefficients
    headers: list[list[int]] = []
    sources: list[np.ndarray] = []
    tiles = [[0, 0, 0]]
    filled = total = 0
    for atom, basis in enumerate(shells.atom_basis):
        at = coefficients + shells.atom_first_coefficient[atom]
        begin = shells.basis_first_shell[basis]
        for shell in range(begin, shells.basis_first_shell[basis + 1]):
            l = int(shells.shell_angular_momentum[shell])
            size = (l + 1) * (l + 2) // 2
            reach = reaches + shells.atom_first_shell[atom] + shell - begin
            first, end = shells.shell_first_primitive[shell : shell + 2].tolist()
            for p in range(first, end, _PRIMITIVES):
                some = exponents + np.arange(p, min(p + _PRIMITIVES, end))
                segment = np.concatenate(
                    [3 * atom + np.arange(3), [reach], at + np.arange(size), some, some + n_primitives]
                )
                if filled + len(segment) > NUMBERS or tiles[-1][1] == _HEADERS:
                    tiles.append([len(headers), 0, total])
                    filled = 0
                headers.append([l, len(some), filled, atom, 0, 0, 0])
                sources.append(segment)
                tiles[-1][1] += 1
                filled += len(segment)
                total += len(segment)
            at += size
    return _Stream(np.array(headers, np.int32), np.concatenate(sources), np.array(tiles, np.int32))


def _tiles(shells, coefficient, shell_reach, place, precision):
    """Headers, numbers and tiles for one orbital and one slab, with room so that every tile loads at full length."""
    if "stream" not in shells.cache:
        shells.cache["stream"] = _stream(shells, len(shell_reach), len(coefficient))
    stream = shells.cache["stream"]
    step, rest = place.of_atoms(shells.atom_position)
    _, zeta, weight = operands(shells, precision)
    pool = np.concatenate([rest.ravel(), shell_reach**2, coefficient, zeta, weight])
    headers = np.zeros((len(stream.headers) + _HEADERS, _FIELDS), np.int32)
    headers[: len(stream.headers)] = stream.headers
    headers[: len(stream.headers), 4:] = step[stream.headers[:, 3]]
    return headers.ravel(), np.append(pool[stream.source], np.zeros(NUMBERS)), stream.tiles


@lru_cache
def _kernel(target: Target, result: "np.dtype[np.floating]") -> object:
    real, kept = number(target.dtype), number(result)
    lanes = LANES[target.device, target.precision]
    L, V3 = ti.types.vector(lanes, real), ti.types.vector(3, real)
    I1, I2, R1 = ti.types.ndarray(ti.i32, 1), ti.types.ndarray(ti.i32, 2), ti.types.ndarray(real, 1)
    Result = ti.types.ndarray(kept, 3)
    power = power_of_two(target.precision)
    ramp = [float(n) for n in range(lanes)]
    n_headers = _HEADERS * _FIELDS

    @ti.kernel
    def on_lattice(
        nx: ti.i32,
        ny: ti.i32,
        nz: ti.i32,
        n_threads: ti.i32,  # a multiple of the block
        n_tiles: ti.i32,
        along_x: V3,  # steps of the lattice, bohr
        along_y: V3,
        along_z: V3,
        headers: I1,
        numbers: R1,
        tiles: I2,  # (tiles, 3) first header, number of headers, first number
        out: Result,  # (nx, ny, nz)
    ):
        ti.loop_config(block_dim=BLOCK)
        for thread in range(n_threads):
            header = ti.simt.block.SharedArray((n_headers,), ti.i32)
            number = ti.simt.block.SharedArray((NUMBERS,), real)
            member = thread % BLOCK
            groups = (nz + lanes - 1) // lanes
            k = thread % groups * lanes
            j = thread // groups % ny
            i = thread // groups // ny
            along = L(ramp)
            total = L(0.0)
            for tile in range(n_tiles):
                ti.simt.block.sync()  # the last tile has been used
                for n in range((n_headers + BLOCK - 1) // BLOCK):
                    if n * BLOCK + member < n_headers:
                        header[n * BLOCK + member] = headers[tiles[tile, 0] * _FIELDS + n * BLOCK + member]
                for n in range(NUMBERS // BLOCK):
                    number[n * BLOCK + member] = numbers[tiles[tile, 2] + n * BLOCK + member]
                ti.simt.block.sync()
                atom = -1
                x, y, z, square = L(0.0), L(0.0), L(0.0), L(0.0)
                nearest = real(0.0)
                for segment in range(tiles[tile, 1]):
                    h = segment * _FIELDS
                    l = header[h]
                    at = header[h + 2]
                    if header[h + 3] != atom:
                        atom = header[h + 3]
                        n0 = ti.cast(i - header[h + 4], real)
                        n1 = ti.cast(j - header[h + 5], real)
                        n2 = ti.cast(k - header[h + 6], real)
                        d = n0 * along_x + n1 * along_y + n2 * along_z
                        x = d[0] - number[at] + along * along_z[0]
                        y = d[1] - number[at + 1] + along * along_z[1]
                        z = d[2] - number[at + 2] + along * along_z[2]
                        square = x * x + y * y + z * z
                        nearest = square.min()
                    if nearest < number[at + 3]:
                        c = at + 4
                        angular = L(0.0)
                        for m in range(l + 1):  # Horner's rule in x and, within, in y
                            inner = L(0.0)
                            height = L(1.0)
                            for _ in range(m + 1):
                                inner = inner * y + number[c] * height
                                height *= z
                                c += 1
                            angular = angular * x + inner
                        radial = L(0.0)
                        count = header[h + 1]
                        for p in range(c, c + count):
                            radial += number[p + count] * power(number[p] * square)
                        total += angular * radial
            if i < nx:
                for s in ti.static(range(lanes)):
                    if k + s < nz:
                        out[i, j, k + s] = ti.cast(total[s], kept)

    return on_lattice
