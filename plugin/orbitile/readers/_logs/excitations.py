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

_DEEXCITATION = re.compile(r"\s+(\d+)([AB]?)\s*<-\s*(\d+)([AB]?)\s+(-?\d*\.\d+)\s*$")


def with_deexcitations(data: Any, program: Program, path: Path) -> Any:
    """Excited states as Gaussian prints them, with the de-excitations that cclib leaves out of them."""
    if program.name != "Gaussian" or not getattr(data, "etsecs", ()):
        return data
    states: list[list[Any]] = []
    number = 0
    factor = np.sqrt(2) if len(data.homos) == 1 else 1.0  # as cclib scales the others where spins share orbitals
    for raw in complete_lines(path, 0):
        line = raw.decode("latin-1")
        if line.startswith(" Excited State"):
            before, number = number, int(float(line.split()[2].rstrip(":")))
            states = [*(states if number > before else []), []]
        elif states and "<-" in line and (match := _DEEXCITATION.match(line)):
            low, low_spin, high, high_spin, amplitude = match.groups()
            occupied, unoccupied = (int(low) - 1, int(low_spin == "B")), (int(high) - 1, int(high_spin == "B"))
            states[-1].append([unoccupied, occupied, factor * float(amplitude)])
    if len(states) == len(data.etsecs):
        data.etsecs = [[*first, *more] for first, more in zip(data.etsecs, states, strict=True)]
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
        if square <= 0 or n >= len(getattr(data, "etenergies", ())):
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
