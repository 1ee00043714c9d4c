"""OpenVDB files, what Blender shows as clouds, through OpenVDB's own Python, which Blender brings; lengths in Angstrom.

The values are a grid called "density", which is what Blender's volumes look for, whatever the field; its metadata tell
what it is. The format is that of https://www.openvdb.org/documentation/.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import FileError
from ..files.encodings import plain
from ..model.units import angstrom
from ..model.volume import Volume
from ..model.wavefunction import Wavefunction

DESCRIPTION = "OpenVDB volume"
PATTERNS = ("*.vdb",)
KIND = "volume"

_GRID = "density"


def write(volume: Volume, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write the values in single precision; the lattice may have any axes.

    Raises
    ------
    FileError
        Where there is no OpenVDB for this Python, or values are too large for single precision.
    """
    try:
        openvdb: Any = importlib.import_module("openvdb")
    except ImportError as error:
        raise FileError(
            "VDB files need OpenVDB's own Python, which PyPI does not have: use Blender's (orb_export), openvdb of "
            "conda-forge or python3-openvdb of Debian; or write a .cube or .mrc file"
        ) from error
    if float(np.abs(volume.values).max(initial=0)) > np.finfo(np.float32).max:
        raise FileError(f"{path.name}: values beyond single precision (float32), which this format has")
    lattice = volume.lattice
    placed = np.eye(4)  # for rows of coordinates
    placed[:3, :3], placed[3, :3] = lattice.axes / angstrom, lattice.origin / angstrom
    grid = openvdb.FloatGrid()
    grid.copyFromArray(np.ascontiguousarray(volume.values, np.float32))
    grid.transform = openvdb.createLinearTransform(placed.tolist())
    grid.name, grid.gridClass = _GRID, openvdb.GridClass.FOG_VOLUME
    grid.updateMetadata({"quantity": plain(volume.quantity), "unit": plain(volume.unit), "length_unit": "angstrom"})
    openvdb.write(str(path), grids=[grid])
