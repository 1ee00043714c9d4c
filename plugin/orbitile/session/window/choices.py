"""What a user sets in a window, and how it is kept from one run to the next."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ...model.lattice import QUALITIES
from ...pictures.look import STYLES, Look
from ...pictures.orbitals import ENERGY_UNITS
from ..shown import are_rows, is_number

TWO_COLOURS = "two colours"
"""What a window offers in place of a second field."""


@dataclass(frozen=True)
class Choices:
    """What is set in the window, for what is shown next.

    Attributes
    ----------
    quality : str
    automatic : bool
        Each orbital gets the isovalue whose surface encloses 90 % of its density, in place of `isovalue`.
    isovalue : float
        Of orbitals. All other fields begin with their own.
    look : Look
    rate : int
        Frames of a trajectory a second, at most, when it is played.
    unit : str
        Of the energies of orbitals, one of `ENERGY_UNITS`.
    """

    quality: str = "medium"
    automatic: bool = True
    isovalue: float = 0.03
    look: Look = field(default_factory=Look)
    rate: int = 10
    unit: str = "eV"


def choices_of(settings: dict[str, Any]) -> Choices:
    """What was set the last time, as kept by `settings_of`; what is damaged is as at first."""
    pair = [settings.get(name) for name in ("positive", "negative")]
    colours: Any = tuple(tuple(colour) if isinstance(colour, list | tuple) else colour for colour in pair)
    quality, rate, unit, style = (settings.get(name) for name in ("quality", "rate", "unit", "style"))
    transparency: Any = settings.get("transparency")
    choices, look = Choices(), Look()
    if isinstance(quality, str) and quality in QUALITIES:
        choices = replace(choices, quality=quality)
    if isinstance(rate, int) and is_number(rate, 1, 1000):
        choices = replace(choices, rate=rate)
    if isinstance(unit, str) and unit in ENERGY_UNITS:
        choices = replace(choices, unit=unit)
    if are_rows(colours, 0.0, 1.0):
        look = replace(look, colours=colours)
    if is_number(transparency, 0, 100):
        look = replace(look, transparency=transparency / 100)
    if style in STYLES:
        look = replace(look, style=style)
    return replace(choices, look=look)


def settings_of(choices: Choices) -> dict[str, Any]:
    """Those of the choices that are kept, in plain types."""
    return {
        "quality": choices.quality,
        "positive": list(choices.look.colours[0]),
        "negative": list(choices.look.colours[1]),
        "transparency": round(100 * choices.look.transparency),
        "style": choices.look.style,
        "rate": choices.rate,
        "unit": choices.unit,
    }
