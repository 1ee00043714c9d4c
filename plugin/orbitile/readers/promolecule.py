"""Atoms without a wavefunction, as free atoms whose densities add up.

A text file of our own: `orbitile promolecule` in the first line, then in each an element and its place in Angstrom, and
where there are partial charges those in e.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..base.arrays import Reals
from ..base.errors import FileError, OrbitileError
from ..gaussians.promolecule import promolecule
from ..model.elements import NUMBERS, SYMBOLS
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


def write_promolecule(path: Path, geometry: Geometry, partial_charges: Reals | None = None) -> None:
    """Write atoms as a file that is read as free atoms, with partial charges in e where there are any.

    Raises
    ------
    OSError
        When it cannot be written.
    """
    rows = zip(geometry.atomic_numbers.tolist(), (geometry.positions / angstrom).tolist(), strict=True)
    lines = [f"{SYMBOLS[number]} {x:.8f} {y:.8f} {z:.8f}" for number, (x, y, z) in rows]
    if partial_charges is not None:
        lines = [f"{line} {charge:.8g}" for line, charge in zip(lines, partial_charges.tolist(), strict=True)]
    path.write_text("\n".join([_HEAD, *lines, ""]), encoding="ascii")


def read(path: Path) -> Wavefunction:
    """Read free atoms.

    Raises
    ------
    FileError
        When a line names no element or place, or an element has no free atom in our table.
    """
    numbers: list[int] = []
    rows: list[list[float]] = []
    with path.open(encoding="ascii", errors="replace") as stream:
        next(stream, "")
        for number, line in enumerate(stream, 2):
            words = line.split()
            if not words:
                continue
            try:
                element, row = NUMBERS[words[0]], list(map(float, words[1:]))
                if len(row) != (len(rows[0]) if rows else min(max(len(row), 3), 4)):
                    raise ValueError("one charge more or less than before")
            except (ValueError, KeyError):
                raise FileError(
                    f"{path.name}, line {number}: expected an element, x y z in Angstrom and where others have one a "
                    f"charge, got {line.strip()[:40]!r}"
                ) from None
            numbers.append(element)
            rows.append(row)
    try:
        table = np.array(rows, np.float64).reshape(len(rows), -1 if rows else 3)
        geometry = Geometry(np.array(numbers, np.int64), table[:, :3] * angstrom)
        return promolecule(geometry, str(path), table[:, 3] if table.shape[1] > 3 else None)
    except OrbitileError as error:
        raise FileError(f"{path.name}: {error}") from error
