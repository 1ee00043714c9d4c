"""Atoms without a wavefunction, as free atoms whose densities add up.

A text file of our own: `orbitile promolecule` in the first line, then an element and its place in Angstrom in each.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..base.errors import FileError, OrbitileError
from ..gaussians.promolecule import promolecule
from ..model.elements import SYMBOLS
from ..model.geometry import Geometry
from ..model.units import angstrom
from ..model.wavefunction import Wavefunction

DESCRIPTION = "promolecules (superposed free atoms)"
PATTERNS = ("*.promolecule",)
KIND = "wavefunction"

_HEAD = "orbitile promolecule"


def recognises(head: str) -> bool:
    """By its first line."""
    return head.startswith((f"{_HEAD}\n", f"{_HEAD}\r\n"))


def write_promolecule(path: Path, geometry: Geometry) -> None:
    """Write atoms as a file that is read as free atoms.

    Raises
    ------
    OSError
        When it cannot be written.
    """
    rows = zip(geometry.atomic_numbers.tolist(), (geometry.positions / angstrom).tolist(), strict=True)
    lines = [f"{SYMBOLS[number]} {x:.8f} {y:.8f} {z:.8f}" for number, (x, y, z) in rows]
    path.write_text("\n".join([_HEAD, *lines, ""]), encoding="ascii")


def read(path: Path) -> Wavefunction:
    """Read free atoms.

    Raises
    ------
    FileError
        When a line names no element or place, or an element has no free atom in our table.
    """
    numbers, positions = [], []
    with path.open(encoding="ascii", errors="replace") as stream:
        next(stream, "")
        for number, line in enumerate(stream, 2):
            words = line.split()
            if not words:
                continue
            try:
                element, (x, y, z) = SYMBOLS.index(words[0]), map(float, words[1:])
            except ValueError:
                raise FileError(
                    f"{path.name}, line {number}: expected an element and x y z in Angstrom, got {line.strip()[:40]!r}"
                ) from None
            numbers.append(element)
            positions.append((x, y, z))
    try:
        places = np.array(positions, np.float64).reshape(-1, 3) * angstrom
        return promolecule(Geometry(np.array(numbers, np.int64), places), source=str(path))
    except OrbitileError as error:
        raise FileError(f"{path.name}: {error}") from error
