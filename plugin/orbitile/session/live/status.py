"""What a window tells of a live molecule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .order import Converged
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


def text_of(stage: Stage, found: Converged | None, forces: str, problem: str, scan: ScanStatus | None) -> str:
    """What there is to say in one line.

    Parameters
    ----------
    stage
    found
        The last converged geometry.
    forces
        What there is to say of forces there.
    problem
        Why there is no field where the atoms are, where there is none.
    scan
    """
    if found is None:
        text = problem if stage == "failed" else "the first field is computed"
    elif stage == "failed":
        text = f"{problem}; what is shown is the last converged geometry"
    else:
        text = f"{found.energy:.7f} hartree, {found.n_iterations} iterations in {found.seconds:.2f} s{forces}"
        text = f"moved along, converging; before: {text}" if stage == "converging" else text
    return f"{text}; {scan.text}" if scan is not None and not all(scan.known) else text
