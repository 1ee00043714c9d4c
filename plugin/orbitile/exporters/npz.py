"""Orbitile's own volumes: NumPy archives (.npz) that keep every digit, quantity and unit.

Entries as listed in `orbitile.readers.npz`.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from ..model.volume import Volume, VolumeHeader
from ..model.wavefunction import Wavefunction
from . import Slabs

DESCRIPTION = "Orbitile volume (NumPy archive)"
PATTERNS = ("*.npz",)
KIND = "volume"


def write(volume: Volume, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a volume on any lattice, its values in their own precision, and the atoms."""
    write_slabs(volume.header, [volume.values], path, wavefunction)


def write_slabs(header: VolumeHeader, slabs: Slabs, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a volume slab by slab into an entry of the archive, then what describes it."""
    entries = {
        "origin": header.lattice.origin,
        "axes": header.lattice.axes,
        "quantity": np.array(header.quantity),
        "unit": np.array(header.unit),
        "atomic_numbers": np.zeros(0, np.int64),
        "core_charges": np.zeros(0),
        "positions": np.zeros((0, 3)),
    }
    if wavefunction is not None:
        for name in ("atomic_numbers", "core_charges", "positions"):
            entries[name] = np.asarray(getattr(wavefunction, name))
    described = {
        "descr": np.lib.format.dtype_to_descr(header.dtype),
        "fortran_order": False,
        "shape": header.lattice.shape,
    }
    with zipfile.ZipFile(path, "w") as archive:
        with archive.open("values.npy", "w", force_zip64=True) as stream:
            np.lib.format.write_array_header_1_0(stream, described)
            for slab in slabs:
                stream.write(np.ascontiguousarray(slab, header.dtype).data)
        for name, array in entries.items():
            with archive.open(f"{name}.npy", "w") as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)


def largest_size(header: VolumeHeader) -> int:
    """Bytes that the values take, at most."""
    return header.lattice.n_points * header.dtype.itemsize
