"""Excited states in logs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...files.reading import complete_lines
from ...model.units import wavenumber
from ...model.wavefunction import Excitation
from .programs import Program

_ROWS = {
    "Gaussian": re.compile(r"\s+(\d+)([AB]?)\s*(<-)\s*(\d+)([AB]?)\s+(-?\d*\.\d+)\s*$"),
    "ORCA": re.compile(r"\s*(\d+)([ab])\s+(->|<-)\s+(\d+)([ab])\s+:\s+\d+\.\d+ \(c=\s*(-?\d+\.\d+)\)\s*$"),
    "GAMESS": re.compile(r"\s+(\d+)()\s+()(\d+)()\s+-?\d+\.\d+\s+(-?\d+\.\d+)\s*$"),
}
"""Lines of excited states: an occupied orbital and its spin, the direction, an unoccupied one, the amplitude."""

_STATES = {
    "Gaussian": re.compile(r" Excited State\s+(\d+)"),
    "ORCA": re.compile(r"STATE\s+(\d+):"),
    "GAMESS": re.compile(r" STATE #\s*(\d+)  ENERGY"),
}
"""Lines above them."""


def with_deexcitations(data: Any, program: Program, path: Path) -> Any:
    """Excited states with the de-excitations that cclib leaves out (Gaussian, GAMESS) or turns round (ORCA)."""
    if program.name not in _STATES or not getattr(data, "etsecs", ()):
        return data
    heading, row = _STATES[program.name], _ROWS[program.name]
    first = 0 if program.name == "ORCA" else 1  # which counts orbitals from 0
    states: list[list[Any]] = []
    number, table = 0, False
    # Gaussian's and ours differ where spins share orbitals, as cclib knows of the others
    factor = np.sqrt(2) if program.name == "Gaussian" and len(data.homos) == 1 else 1.0
    for raw in complete_lines(path, 0):
        line = raw.decode("latin-1")
        if state := heading.match(line):
            before, number = number, int(state[1])
            again = number <= before and not (program.name == "ORCA" and len(states) < len(data.etsecs))
            states, table = [*([] if again else states), []], True
        elif table and (match := row.match(line)):
            low, low_spin, direction, high, high_spin, amplitude = match.groups()
            occupied = int(low) - first, int(low_spin in ("B", "b"))
            unoccupied = int(high) - first, int(high_spin in ("B", "b"))
            ends = (occupied, unoccupied) if direction == "->" else (unoccupied, occupied)
            states[-1].append([*ends, factor * float(amplitude)])
        elif program.name != "Gaussian" and not line.strip():
            table = False
    if len(states) == len(data.etsecs):
        own = program.name == "ORCA"
        data.etsecs = [more if own else [*given, *more] for given, more in zip(data.etsecs, states, strict=True)]
    return data


def excitations_of(data: Any, kept: list[NDArray[np.bool_]]) -> tuple[Excitation, ...]:
    """Excited states; those with orbitals whose coefficients are not printed are left out."""
    place = [np.where(chosen, np.cumsum(chosen) - 1, -1) for chosen in kept]
    result = []
    for n, transitions in enumerate(getattr(data, "etsecs", ())):
        rows = [(s, t, spin, a) for (s, spin), (t, other), a in transitions if spin == other and spin < len(place)]
        inside = all(0 <= s < len(place[spin]) and 0 <= t < len(place[spin]) for s, t, spin, _ in rows)
        mapped = [(place[spin][s], place[spin][t], spin, a) for s, t, spin, a in rows] if inside else []
        if not mapped or len(rows) < len(transitions) or min(min(row[:2]) for row in mapped) < 0:
            continue
        source, target, spins, amplitudes = (np.array(column) for column in zip(*mapped, strict=True))
        # X^2 - Y^2: eigenvectors of the response equations are normalised so (occupied orbitals stand first in a log)
        square = float(np.sum(np.where(source < target, 1, -1) * amplitudes**2))
        if not square > 0 or n >= len(getattr(data, "etenergies", ())):
            continue
        strengths, labels = getattr(data, "etoscs", ()), getattr(data, "etsyms", ())
        result.append(
            Excitation(
                source,
                target,
                spins,
                amplitudes / np.sqrt(square),
                float(data.etenergies[n]) * wavenumber,
                float(strengths[n]) if n < len(strengths) else float("nan"),
                str(labels[n]) if n < len(labels) else "",
                square,
            )
        )
    return tuple(result)
