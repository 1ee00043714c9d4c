"""Orbitile's own volumes: NumPy archives (.npz) that keep every digit, quantity and unit.

Entries as listed in `orbitile.readers.npz`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..volume import Volume
from ..wavefunction import Wavefunction

DESCRIPTION = "Orbitile volume (NumPy archive)"
PATTERNS = ("*.npz",)
KIND = "volume"


def write(volume: Volume, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a volume as a NumPy archive.

    Parameters
    ----------
    volume : Volume
        Any lattice; values in their own precision, lengths in bohr.
    path
        The file.
    wavefunction : Wavefunction, optional
        Its atoms stand in the file.
    """
    atoms = {"atomic_numbers": np.zeros(0, np.int64), "core_charges": np.zeros(0), "positions": np.zeros((0, 3))}
    if wavefunction is not None:
        atoms = {key: np.asarray(getattr(wavefunction, key)) for key in atoms}
    with path.open("wb") as stream:
        np.savez(
            stream,
            values=volume.values,
            origin=volume.lattice.origin,
            axes=volume.lattice.axes,
            quantity=np.array(volume.quantity),
            unit=np.array(volume.unit),
            atomic_numbers=atoms["atomic_numbers"],
            core_charges=atoms["core_charges"],
            positions=atoms["positions"],
        )
