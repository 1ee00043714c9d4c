"""Gaussian cube files.

Format: https://gaussian.com/cubegen. Lengths in bohr; the core charges stand in the second column of the atoms.

Without a wavefunction one dummy atom is written, with atomic number and charge 0, in the middle of the lattice. VMD
(and PyMOL, which reads cubes by VMD's plugin) takes zero atoms for the sign of an orbital file and would swallow the
first values as identifiers of data sets; qc-iodata, ASE, cclib, VMD and PyMOL all read the dummy atom.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..base.arrays import Reals
from ..files.encodings import plain
from ..files.writing import write_numbers
from ..model.volume import Volume, VolumeHeader
from ..model.wavefunction import Wavefunction
from . import Slabs

DESCRIPTION = "Gaussian cube file"
PATTERNS = ("*.cube", "*.cub")
KIND = "volume"

_SMALLEST = 1e-99
"""Smaller magnitudes become zero: a third digit of the exponent would make neighbouring numbers touch."""


def write(volume: Volume, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a volume on any lattice as one data set, with six digits, and the atoms."""
    write_slabs(volume.header, [volume.values], path, wavefunction)


def write_slabs(header: VolumeHeader, slabs: Slabs, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a volume as `write` does, slab by slab."""
    lattice = header.lattice
    if wavefunction is None:
        middle = lattice.origin + (np.array(lattice.shape) - 1) / 2 @ lattice.axes
        atoms = np.array([[0.0, 0.0, *middle]])
    else:
        atoms = np.column_stack(
            [wavefunction.atomic_numbers, np.asarray(wavefunction.core_charges), wavefunction.positions]
        )
    title = " ".join(f"{plain(header.quantity) or 'volume'}{f' [{header.unit}]' if header.unit else ''}".split())
    with path.open("wb") as stream:
        lines = [title[:200], "written by Orbitile; lengths in bohr", _row(len(atoms), lattice.origin)]
        lines += [_row(n, axis) for n, axis in zip(lattice.shape, lattice.axes, strict=True)]
        lines += [_row(int(atom[0]), atom[1:]) for atom in atoms]
        stream.write(("\n".join(lines) + "\n").encode(errors="replace"))
        for slab in slabs:
            values = np.where(np.abs(slab) < _SMALLEST, 0.0, slab)
            write_numbers(stream, values.reshape(-1, lattice.shape[2]), "%13.5E", 6)


def largest_size(header: VolumeHeader) -> int:
    """Bytes that the values take, at most."""
    nx, ny, nz = header.lattice.shape
    return nx * ny * (13 * nz + -(-nz // 6))


def _row(first: int, numbers: Reals) -> str:
    return f"{first:5d}" + "".join(f" {number:11.6f}" for number in numbers)
