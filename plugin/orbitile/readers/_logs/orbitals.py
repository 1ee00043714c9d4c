"""Orbitals in logs: coefficients as they are printed, energies, symmetries and occupations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import FileError
from .parsing import ELECTRONVOLT
from .programs import Program, missing_error


def columns_of(data: Any, program: Program, path: Path) -> tuple[list[NDArray[np.float64]], bool]:
    """Coefficients by spin, orbitals in rows, and whether they are natural orbitals."""
    for name in ("mocoeffs", "nocoeffs", "nsocoeffs"):
        blocks = getattr(data, name, None)
        if blocks is None or len(blocks) == 0:
            continue
        natural = name != "mocoeffs"
        spins = [np.asarray(blocks, float)] if name == "nocoeffs" else [np.asarray(block, float) for block in blocks]
        if not natural:  # NWChem logs may hold several sets, the last of which counts
            spins = spins[-1 if len(getattr(data, "homos", (0,))) == 1 else -2 :]
            if len(spins) < len(getattr(data, "moenergies", ())):
                raise FileError(f"{path.name}: energies of two spins, but orbitals of one: cut off")
        return spins, natural
    raise missing_error(data, program, path, "orbital coefficients", program.coefficients)


def is_complete(block: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which orbitals have all their coefficients: others are left at NaN or zero by cclib."""
    complete: NDArray[np.bool_] = np.isfinite(block).all(axis=1) & np.any(block != 0, axis=1)
    return complete


def energies_of(data: Any, spin: int, n: int) -> NDArray[np.float64]:
    """Energies in hartree as the log printed them; NaN for those that it does not print."""
    energies = np.full(n, np.nan)
    printed = getattr(data, "moenergies", ())
    if spin < len(printed):
        values = np.array([np.nan if e is None else e for e in printed[spin]], float)[:n]
        energies[: len(values)] = values / ELECTRONVOLT
    return energies


def irreps_of(data: Any, spin: int, n: int) -> list[str]:
    printed = getattr(data, "mosyms", ())
    labels = [] if spin >= len(printed) else [str(label or "") for label in printed[spin]]
    return labels if len(labels) == n else [""] * n


def occupations_of(
    data: Any, columns: Sequence[NDArray[np.float64]], natural: bool, core_charge: float
) -> tuple[list[NDArray[np.float64]], str]:
    """Occupations by spin, and a note where they are not those that the log states."""
    if natural:
        numbers = data.nooccnos if len(columns) == 1 and hasattr(data, "nooccnos") else data.nsooccnos
        spins = [numbers] if len(columns) == 1 else numbers
        return [np.asarray(spin, float) for spin in spins], ""
    homos = [int(homo) + 1 for homo in getattr(data, "homos", ())]
    counts = (homos[0], homos[-1]) if homos else None
    note = ""
    if hasattr(data, "charge") and hasattr(data, "mult"):
        electrons, unpaired = round(core_charge - float(data.charge)), int(data.mult) - 1
        stated = ((electrons + unpaired) // 2, (electrons - unpaired) // 2)
        if counts is None or sum(counts) != electrons:
            counts, note = stated, "occupations from charge and multiplicity"
    if counts is None:
        raise ValueError("number of electrons not found")
    each = [(np.arange(len(block)) < n).astype(float) for block, n in zip(columns, counts, strict=False)]
    if len(columns) == 1:
        n = len(columns[0])
        each = [(np.arange(n) < counts[0]).astype(float) + (np.arange(n) < counts[1])]
    return each, note
