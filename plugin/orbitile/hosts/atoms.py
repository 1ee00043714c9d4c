"""Atoms as text that every viewer reads."""

from __future__ import annotations

from ..elements import SYMBOLS
from ..units import angstrom
from ..wavefunction import Wavefunction


def xyz_of(wavefunction: Wavefunction) -> str:
    """All geometries of a molecule in XYZ format, in Angstrom, without ghost atoms."""
    real = wavefunction.atomic_numbers > 0
    symbols = [SYMBOLS[n] for n in wavefunction.atomic_numbers[real]]
    title = " ".join(wavefunction.title.split())
    lines: list[str] = []
    for positions in wavefunction.geometries[:, real] / angstrom:
        lines += [str(len(symbols)), title]
        lines += [f"{s} {x:.8f} {y:.8f} {z:.8f}" for s, (x, y, z) in zip(symbols, positions, strict=True)]
    return "\n".join(lines) + "\n"
