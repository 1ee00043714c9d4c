"""Geometries in XYZ format, in Angstrom; ghosts are atoms of the element X."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..model.elements import SYMBOLS
from ..model.geometry import Molecule
from ..model.units import angstrom
from ..model.wavefunction import Wavefunction

DESCRIPTION = "XYZ file"
PATTERNS = ("*.xyz",)
KIND = "geometry"


def write(molecule: Molecule, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write all geometries of a molecule."""
    path.write_text(xyz_of(molecule), encoding="utf-8")


def xyz_of(molecule: Molecule) -> str:
    """Text of an XYZ file with all geometries of a molecule."""
    return xyz_text(molecule.atomic_numbers, molecule.geometries, molecule.title)


def xyz_text(atomic_numbers: NDArray[np.int64], geometries: Reals, title: str) -> str:
    """Text of an XYZ file, a frame for each geometry.

    Parameters
    ----------
    atomic_numbers : ndarray, shape (n_atoms,)
    geometries : ndarray, shape (n_geometries, n_atoms, 3)
        In bohr.
    title : str
        Comment of each frame.
    """
    symbols = [SYMBOLS[number] for number in atomic_numbers]
    comment = " ".join(title.split())
    lines: list[str] = []
    for positions in np.round(geometries / angstrom, 8) + 0.0:  # no -0.0
        lines += [str(len(symbols)), comment]
        lines += [f"{s:<2} {x:13.8f} {y:13.8f} {z:13.8f}" for s, (x, y, z) in zip(symbols, positions, strict=True)]
    return "\n".join(lines) + "\n"
