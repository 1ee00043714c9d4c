"""Orbitile's own volumes: NumPy archives (.npz) that keep every digit, quantity and unit.

Entries: `values` (nx, ny, nz); `origin` (3,) and `axes` (3, 3) in bohr; `quantity`, `unit` text; `atomic_numbers` (n,),
`core_charges` (n,), `positions` (n, 3) in bohr, with n = 0 where no atoms were given.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import FileError
from ..files.plain import check_expansion
from ..files.reading import check_room
from ..model.volume import Volume
from ._formats import lattice_of_file, require_finite

DESCRIPTION = "Orbitile volumes (NumPy archives)"
PATTERNS = ("*.npz",)
KIND = "volume"
BINARY = True


def read(path: Path) -> tuple[Volume, ...]:
    """Read a volume as it was saved."""
    path = Path(path)
    name = path.name
    try:
        with zipfile.ZipFile(path) as archive:
            values = _array(archive, "values", name)
            origin, axes = _array(archive, "origin", name), _array(archive, "axes", name)
            quantity, unit = (str(_array(archive, key, name)) for key in ("quantity", "unit"))
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or error})") from error
    except MemoryError as error:
        raise FileError(f"{name}: too large for the memory of this machine") from error
    except (ValueError, TypeError, LookupError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise FileError(f"{name}: not an Orbitile .npz file, or a damaged one ({str(error)[:80]!r})") from error
    if values.ndim != 3 or values.dtype not in (np.float32, np.float64):
        got = f"shape {values.shape} of {values.dtype}"
        raise FileError(f"{name}: expected values of three dimensions in float32 or float64, got {got}")
    require_finite(values, name)
    nx, ny, nz = values.shape
    lattice = lattice_of_file(name, origin, axes, (nx, ny, nz))
    return (Volume(np.ascontiguousarray(values), lattice, quantity, unit),)


def _array(archive: zipfile.ZipFile, key: str, name: str) -> NDArray[Any]:
    """One array, after a check that it is as large as its header says."""
    member = f"{key}.npy"
    if member not in archive.namelist():
        raise FileError(f"{name}: expected an array {key!r} in it, got none; not an Orbitile .npz file")
    with archive.open(member) as stream:
        is_first = np.lib.format.read_magic(stream) == (1, 0)
        read_header = np.lib.format.read_array_header_1_0 if is_first else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(stream)
        n_values = math.prod(map(int, shape))
        check_room(name, n_values, archive.getinfo(member).file_size, max(dtype.itemsize, 1), f"numbers in {key!r}")
        check_expansion(name, Path(str(archive.filename)).stat().st_size, n_values * dtype.itemsize)
    with archive.open(member) as stream:
        array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array
