"""What a user sets in a window, and how it is kept from one run to the next."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..model.lattice import QUALITIES
from .host import Colour
from .shown import NEGATIVE, POSITIVE, are_rows, is_number

TWO_COLOURS = "two colours"
"""What a window offers in place of a second field."""


@dataclass(frozen=True)
class Choices:
    """What is set in the window.

    Attributes
    ----------
    quality : str
    isovalue : float
    automatic : bool
        Each orbital gets the isovalue whose surface encloses 90 % of its density, in place of `isovalue`.
    color_by : str
        Second field, empty for two colours.
    colours : pair of (red, green, blue)
        Of the positive and of the negative phase.
    transparency : float
    keep : bool
        What is shown stays, and the next is shown beside it.
    rate : int
        Frames of a trajectory a second, at most, when it is played.
    """

    quality: str = "medium"
    isovalue: float = 0.03
    automatic: bool = True
    color_by: str = ""
    colours: tuple[Colour, Colour] = (POSITIVE, NEGATIVE)
    transparency: float = 0.35
    keep: bool = False
    rate: int = 10


def choices_of(settings: dict[str, Any]) -> Choices:
    """What was set the last time, as kept by `settings_of`; what is damaged is as at first."""
    colours = tuple(settings.get(name) for name in ("positive", "negative"))
    colours = tuple(tuple(colour) if isinstance(colour, list | tuple) else colour for colour in colours)
    quality, rate = settings.get("quality"), settings.get("rate")
    transparency: Any = settings.get("transparency")
    sound: dict[str, Any] = {}
    if isinstance(quality, str) and quality in QUALITIES:
        sound["quality"] = quality
    if are_rows(colours, 0.0, 1.0):
        sound["colours"] = colours
    if is_number(transparency, 0, 100):
        sound["transparency"] = transparency / 100
    if isinstance(rate, int) and is_number(rate, 1, 1000):
        sound["rate"] = rate
    return replace(Choices(), **sound)


def settings_of(choices: Choices) -> dict[str, Any]:
    """Those of the choices that are kept, in plain types."""
    return {
        "quality": choices.quality,
        "positive": list(choices.colours[0]),
        "negative": list(choices.colours[1]),
        "transparency": round(100 * choices.transparency),
        "rate": choices.rate,
    }
