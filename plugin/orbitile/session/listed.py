"""What is shown, as a window lists it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from .look import Look, Scale
from .orbitals import Level
from .session import Session

_NEAR = 20
"""Orbitals that are counted from the frontier."""


@dataclass(frozen=True)
class Listed:
    """A surface that is shown.

    Attributes
    ----------
    name, molecule : str
        Objects of the viewer.
    text : str
        What it is, for people, such as "HOMO (orbital 21)".
    isovalue : float
    unit : str
        Of the isovalue.
    look : Look
    scale : Scale or None
        What its colours mean, where a second field colours it.
    visible : bool
    kept : bool
        Whether it stays when the next field of the molecule is shown.
    """

    name: str
    molecule: str
    text: str
    isovalue: float
    unit: str
    look: Look
    scale: Scale | None
    visible: bool
    kept: bool


def listed(session: Session) -> list[Listed]:
    """All surfaces that are there, in the order in which they were first shown."""
    shelf = session.shelf
    there = sorted(shelf.present(), key=shelf.place)
    hidden = session.host.hidden({name: shelf[name].molecule for name in there})
    rows = []
    for name in there:
        shown = shelf[name]
        rows.append(
            Listed(
                name,
                shown.molecule,
                shown.quantity or shown.request.field,
                shown.isovalue,
                shown.unit,
                shown.look,
                shown.scale,
                name not in hidden,
                shown.kept,
            )
        )
    return rows


def titled(row: Listed, level: Level | None) -> Listed:
    """A row with what an orbital is counted from the frontier, which its number does not tell, and with its colours."""
    text = row.text
    if level is not None and level.frontier_name not in text and abs(level.place) <= _NEAR:
        text = f"{level.frontier_name} ({text})"
    return replace(row, text=text if row.scale is None else f"{text}, coloured by {row.scale.quantity}")
