"""MRC2014 and CCP4 maps, through mrcfile.

Format: https://www.ccpem.ac.uk/mrc-format/mrc2014. Values in float32 (mode 2), lengths in Angstrom, the first point in
ORIGIN. A file called `.ccp4` says it a second time as a CCP4 skew transformation (no rotation, a translation), because
PyMOL reads only that one there.
"""

from __future__ import annotations

import importlib
import struct
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError
from ..units import angstrom
from ..volume import Volume
from ..wavefunction import Wavefunction

DESCRIPTION = "MRC/CCP4 map"
PATTERNS = ("*.mrc", "*.map", "*.ccp4")
KIND = "volume"


def write(volume: Volume, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a volume as an MRC2014 map.

    Parameters
    ----------
    volume : Volume
        Its axes run along x, y and z in any order and direction, or the first along x and the second in the xy plane
        with a right-handed third: the format knows a cell by lengths and angles only.
    path
        The file.
    wavefunction : Wavefunction, optional
        Not used: the format has no room for atoms.

    Raises
    ------
    FileError
        When the lattice is turned otherwise against x, y and z, or a value is beyond float32.
    """
    mrcfile: Any = importlib.import_module("mrcfile")  # imported here because it is not needed for anything else
    values, origin, axes = _standard(volume)
    with np.errstate(over="ignore", under="ignore"):
        # Sections are along z, rows along y, columns along x: the transpose of ours.
        data = np.ascontiguousarray(values.T, dtype=np.float32)
    if not np.isfinite(data).all():
        raise FileError("an MRC/CCP4 map holds float32, but the volume has values beyond 3.4e38; use a cube file")
    lengths = np.linalg.norm(axes, axis=1) * np.array(values.shape) / angstrom
    origin = origin / angstrom
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with mrcfile.new(str(path), overwrite=True) as file:
            file.set_data(data)
            file.set_volume()
            file.header.mx, file.header.my, file.header.mz = values.shape
            file.header.cella = tuple(lengths)
            file.header.cellb = tuple(_angles(axes))
            file.header.ispg = 1
            file.header.origin = tuple(origin)
            for label in ("written by Orbitile", f"quantity: {volume.quantity}", f"unit: {volume.unit}"):
                file.add_label("".join(c if c.isascii() and c.isprintable() else "?" for c in label)[:80])
            if path.suffix.lower() == ".ccp4" and np.any(origin):
                extra = struct.pack("=i9f3f", 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, *origin)  # LSKFLG, SKWMAT, SKWTRN
                extra = extra.ljust(100, b"\0")
                file.header.extra1 = np.void(extra[:8])
                file.header.exttyp, file.header.nversion = b"", 0  # taken up by zeros of the matrix
                file.header.extra2 = np.void(extra[16:100])


def _standard(volume: Volume) -> tuple[NDArray[np.floating], NDArray[np.float64], NDArray[np.float64]]:
    """Values, origin and axes with the first axis along x and the second in the xy plane."""
    values, origin, axes = volume.values, volume.lattice.origin, volume.lattice.axes
    small = 1e-6 * volume.lattice.spacings[:, None]
    along = np.abs(axes) > small
    if np.all(along.sum(axis=0) == 1) and np.all(along.sum(axis=1) == 1):
        order = [int(np.flatnonzero(along[:, direction])[0]) for direction in range(3)]
        values, axes = values.transpose(order), axes[order]
        backward = [n for n in range(3) if axes[n, n] < 0]
        for n in backward:
            origin = origin + (values.shape[n] - 1) * axes[n]
        signs = np.where(np.diag(axes) < 0, -1.0, 1.0)
        return np.flip(values, tuple(backward)), origin, axes * signs[:, None]
    upper = np.triu(np.ones((3, 3), dtype=bool), 1)
    if np.any(along & upper) or np.any(np.diag(axes) <= 0):
        raise FileError(
            "an MRC/CCP4 map holds only lattices whose first axis runs along x and whose second lies in the xy plane "
            f"(or axes along x, y and z), got axes {np.round(axes, 6).tolist()}; use a cube file"
        )
    return values, origin, axes


def _angles(axes: NDArray[np.float64]) -> list[float]:
    """Alpha, beta and gamma in degrees."""
    unit = axes / np.linalg.norm(axes, axis=1)[:, None]
    return [float(np.degrees(np.arccos(np.clip(unit[i] @ unit[j], -1, 1)))) for i, j in ((1, 2), (0, 2), (0, 1))]
