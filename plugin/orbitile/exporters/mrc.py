"""MRC2014 and CCP4 maps.

Format: https://www.ccpem.ac.uk/mrc-format/mrc2014. Values in float32 (mode 2), lengths in Angstrom, the first point in
ORIGIN. A file called `.ccp4` says it a second time as a CCP4 skew transformation (no rotation, a translation), because
PyMOL reads only that one there.
"""

from __future__ import annotations

import importlib
import struct
import sys
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import FileError
from ..files.encodings import plain
from ..model.lattice import Lattice
from ..model.units import angstrom
from ..model.volume import Volume, VolumeHeader
from ..model.wavefunction import Wavefunction
from . import Slabs

DESCRIPTION = "MRC/CCP4 map"
PATTERNS = ("*.mrc", "*.map", "*.ccp4")
KIND = "volume"


def write(volume: Volume, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a volume, x fastest and z slowest: for readers that look no further.

    Its axes run along x, y and z in any order and direction, or one along x and another in the xy plane: the format
    knows a cell by lengths and angles only, and has no room for atoms.

    Raises
    ------
    FileError
        When the lattice is turned otherwise against x, y and z, or a value is beyond float32.
    """
    order = _cell_order(volume.lattice)[::-1]
    axes, shape = volume.lattice.axes[order], np.array(volume.lattice.shape)[order]
    turned = VolumeHeader(
        Lattice(volume.lattice.origin, axes, tuple(shape.tolist())), volume.values.dtype, volume.quantity, volume.unit
    )
    write_slabs(turned, [volume.values.transpose(order)], path, wavefunction)


def write_slabs(header: VolumeHeader, slabs: Slabs, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a volume whose values come slab by slab along the first axis: these are the sections of the file.

    Its last axis becomes the columns. MAPC, MAPR and MAPS of the header say which of x, y and z these are.
    """
    lattice = header.lattice
    order = _cell_order(lattice)
    backward = [n for n in range(3) if lattice.axes[order[n], n] < -_SMALL * lattice.spacings[order[n]]]
    flipped = tuple(order[n] for n in backward)
    origin = lattice.origin + sum(((lattice.shape[i] - 1) * lattice.axes[i] for i in flipped), np.zeros(3))
    signs = np.array([-1.0 if n in backward else 1.0 for n in range(3)])
    shape = np.array(lattice.shape)
    statistics = _Statistics()
    with path.open("wb") as stream:
        done = 0
        for slab in slabs:
            first = shape[0] - done - len(slab) if 0 in flipped else done
            stream.seek(1024 + 4 * int(first) * int(shape[1]) * int(shape[2]))
            with np.errstate(over="ignore", under="ignore"):
                values = np.ascontiguousarray(np.flip(slab, flipped), dtype=np.float32)
            statistics.take(values)
            stream.write(values.data)
            done += len(slab)
        stream.seek(0)
        place = {index: n + 1 for n, index in enumerate(order)}
        stream.write(
            _header(
                shape,
                (place[2], place[1], place[0]),
                shape[order],
                lattice.axes[order] * signs[:, None] / angstrom,
                origin / angstrom,
                statistics,
                ("written by Orbitile", f"quantity: {header.quantity}", f"unit: {header.unit}"),
                skew=path.suffix.lower() == ".ccp4",
            )
        )


def largest_size(header: VolumeHeader) -> int:
    """Bytes that the values take, at most."""
    return 4 * header.lattice.n_points


class _Statistics:
    """Smallest, largest and mean value and the deviation from it, gathered slab by slab."""

    def __init__(self) -> None:
        self.least, self.most, self.count, self.sum, self.squares = np.inf, -np.inf, 0, 0.0, 0.0

    def take(self, values: NDArray[np.float32]) -> None:
        self.least, self.most = min(self.least, float(values.min())), max(self.most, float(values.max()))
        if not np.isfinite([self.least, self.most]).all():
            raise FileError("an MRC/CCP4 map holds float32, but the volume has values beyond 3.4e38; use a cube file")
        self.count += values.size
        for plane in values:  # in double precision, without a copy of all
            exact = plane.ravel().astype(np.float64)
            self.sum += float(exact.sum())
            self.squares += float(exact @ exact)

    @property
    def mean(self) -> float:
        return self.sum / self.count

    @property
    def deviation(self) -> float:
        return float(np.sqrt(max(self.squares / self.count - self.mean**2, 0.0)))


def _header(
    shape: NDArray[np.int64],
    map_order: tuple[int, int, int],
    intervals: NDArray[np.int64],
    axes: Reals,
    origin: Reals,
    statistics: _Statistics,
    labels: tuple[str, ...],
    skew: bool,
) -> bytes:
    """The 1024 bytes before the values; axes (of the cell, one interval each) and origin in Angstrom."""
    dtypes: Any = importlib.import_module("mrcfile.dtypes")  # imported here because it is not needed for anything else
    record = np.zeros((), dtypes.HEADER_DTYPE)
    record["nz"], record["ny"], record["nx"] = shape
    record["mode"] = 2
    record["mx"], record["my"], record["mz"] = intervals
    record["cella"] = tuple(np.linalg.norm(axes, axis=1) * intervals)
    record["cellb"] = tuple(_angles(axes))
    record["mapc"], record["mapr"], record["maps"] = map_order
    record["dmin"], record["dmax"], record["dmean"] = statistics.least, statistics.most, statistics.mean
    record["rms"] = statistics.deviation
    record["ispg"], record["nversion"] = 1, 20140
    record["origin"] = tuple(origin)
    record["map"] = b"MAP "
    record["machst"] = [0x44, 0x44, 0, 0] if sys.byteorder == "little" else [0x11, 0x11, 0, 0]
    record["nlabl"] = len(labels)
    for n, label in enumerate(labels):
        record["label"][n] = "".join(c if c.isascii() and c.isprintable() else "?" for c in plain(label))[:80].encode()
    if skew and np.any(origin):
        extra = struct.pack("=i9f3f", 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, *origin)  # LSKFLG, SKWMAT, SKWTRN
        extra = extra.ljust(100, b"\0")
        record["extra1"] = np.void(extra[:8])
        record["exttyp"], record["nversion"] = b"", 0  # taken up by zeros of the matrix
        record["extra2"] = np.void(extra[16:100])
    return record.tobytes()


_SMALL = 1e-6
"""Part of a step that is taken for rounding of an axis."""


def _cell_order(lattice: Lattice) -> list[int]:
    """Which of our axes are the first, second and third of a cell with a along x and b in the xy plane.

    They may run backward: then the file holds the values in reverse.
    """
    along = np.abs(lattice.axes) > _SMALL * lattice.spacings[:, None]
    for order in permutations(range(3)):
        if not np.any(np.triu(along[list(order)], 1)):
            return list(order)
    raise FileError(
        "an MRC/CCP4 map holds only lattices whose first axis runs along x and whose second lies in the xy plane "
        f"(or axes along x, y and z), got axes {np.round(lattice.axes, 6).tolist()}; use a cube file"
    )


def _angles(axes: Reals) -> list[float]:
    """Alpha, beta and gamma in degrees."""
    unit = axes / np.linalg.norm(axes, axis=1)[:, None]
    return [float(np.degrees(np.arccos(np.clip(unit[i] @ unit[j], -1, 1)))) for i, j in ((1, 2), (0, 2), (0, 1))]
