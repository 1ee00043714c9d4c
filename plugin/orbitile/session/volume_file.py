"""Files of volumes: fields that somebody else has sampled, shown as they are with the atoms that the file names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..base.errors import OrbitileError
from ..base.memory import available_memory
from ..model.volume import Volume
from ..readers import holds_volumes, load_atoms, load_volumes, open_volume
from .source import OneFile, is_trajectory

MOST_SHOWN = 1 << 30
"""Bytes of a volume that is shown, at most: 645^3 points in single precision."""

_ROOM = 6
"""How many times as much memory as its values a volume needs while it is shown: copies, and surfaces."""

VALUES = "values"
"""Name of the field that such a file holds; of several, `values:2` is the second."""


@dataclass(frozen=True, eq=False)
class Sampled:
    """The atoms of a file of volumes, as a viewer shows those of a wavefunction.

    Attributes
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
    geometries : ndarray, shape (1, n_atoms, 3)
        In bohr.
    source : str
        The file, as `OneFile` as text.
    title : str
    """

    atomic_numbers: NDArray[np.int64]
    geometries: NDArray[np.float64]
    source: str
    title: str

    @property
    def is_ghost(self) -> NDArray[np.bool_]:
        """Which atoms are ghosts, as of a wavefunction."""
        return np.equal(self.atomic_numbers, 0)


def is_volume_file(source: str) -> bool:
    """Whether a source, as text, is a file of volumes."""
    return not is_trajectory(source) and holds_volumes(OneFile.read(source).path)


def volumes_of(path: str) -> tuple[Volume, ...]:
    """The volumes in a file as far as they can be shown: of a large store the finest level that fits, which says so.

    Raises
    ------
    OrbitileError
        When the file cannot be read.
    """
    if not Path(path).expanduser().is_dir():
        return load_volumes(path)
    stored = open_volume(path)
    room = available_memory()
    level = stored.within(MOST_SHOWN if room is None else min(MOST_SHOWN, room // _ROOM))
    volume = level.whole()
    if level.first:
        said = f"level {level.first} of its pyramid, {volume.values.shape} of {stored.header.lattice.shape} points"
        volume = replace(volume, quantity=f"{volume.quantity} ({said})")
    return (volume,)


def atoms_of(source: str, volume: Volume) -> Sampled:
    """The atoms of a file of volumes; where it names none, a ghost in the middle of the volume stands for them.

    Raises
    ------
    OrbitileError
        When the file cannot be read.
    """
    geometry = load_atoms(OneFile.read(source).path)
    if geometry is not None:
        return Sampled(geometry.atomic_numbers, geometry.positions[None], source, volume.quantity)
    lattice = volume.lattice
    middle = lattice.origin + (np.array(lattice.shape) - 1) / 2 @ lattice.axes
    return Sampled(np.zeros(1, np.int64), middle[None, None], source, volume.quantity)


def chosen(volumes: Sequence[Volume], field: str, source: str) -> Volume:
    """The volume that a field names.

    Raises
    ------
    OrbitileError
        When there is none of this name.
    """
    found = re.fullmatch(rf"{VALUES}(?::(\d{{1,6}}))?", field.strip().lower())
    number = int(found[1] or 1) if found else 0
    if not 1 <= number <= len(volumes):
        known = VALUES if len(volumes) == 1 else f"{VALUES}:1 to {VALUES}:{len(volumes)}"
        raise OrbitileError(
            f"{OneFile.read(source).path}: holds values on a lattice and no orbitals to compute others from; "
            f"expected {known}, got {field[:80]!r}"
        )
    return volumes[number - 1]
