"""Atoms as text that every viewer reads."""

from __future__ import annotations

from ..model.elements import SYMBOLS
from ..model.units import angstrom
from ..model.wavefunction import Wavefunction

GHOST = SYMBOLS[0]
"""Element, and name, of a ghost atom in all viewers."""


def xyz_of(wavefunction: Wavefunction) -> str:
    """All geometries of a molecule in XYZ format, in Angstrom; ghosts are atoms of the element X."""
    symbols = [SYMBOLS[n] for n in wavefunction.atomic_numbers]
    title = " ".join(wavefunction.title.split())
    lines: list[str] = []
    for positions in wavefunction.geometries / angstrom:
        lines += [str(len(symbols)), title]
        lines += [f"{s} {x:.8f} {y:.8f} {z:.8f}" for s, (x, y, z) in zip(symbols, positions, strict=True)]
    return "\n".join(lines) + "\n"
