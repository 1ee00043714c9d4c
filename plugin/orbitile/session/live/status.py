"""What a window tells of a live molecule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .scan import ScanStatus

Stage = Literal["starting", "converging", "converged", "failed"]


@dataclass(frozen=True)
class LiveStatus:
    """What there is to say of a live molecule.

    Attributes
    ----------
    molecule : str
    calculation : str
        Method and basis set.
    stage : str
        "starting" until the first field has converged; "converging" while what is shown is moved along with its atoms;
        "converged" when what is shown is the field of the geometry that is shown; "failed" when that has none.
    text : str
        The same with energy, iterations and time, or the reason, in one line.
    energies : tuple of (float, float)
        Seconds since the beginning, and total energy in hartree, of the last converged geometries.
    relaxes : bool
        Whether forces move the atoms.
    hardness : float
        How hard, from 0 to 1.
    can_undo : bool
        Whether there is a geometry to go back to.
    scan : ScanStatus or None
        What is scanned.
    """

    molecule: str
    calculation: str
    stage: Stage
    text: str
    energies: tuple[tuple[float, float], ...] = ()
    relaxes: bool = False
    hardness: float = 0.5
    can_undo: bool = False
    scan: ScanStatus | None = None
