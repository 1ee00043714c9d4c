"""How a surface looks, apart from where it is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ..base.arguments import SHARE, one_of
from ..model.surface import Colouring
from ..scenes.scene import OPACITY
from ..scenes.scene import VOLUME_STYLES as VOLUME_STYLES
from ..surfaces.colour_maps import NEGATIVE, PAIRS, POSITIVE, RGB
from .request import Option

STYLES = ("surface", "two-sided", "mesh", "dots")
"""What a surface can be drawn as: its triangles, lit from outside or from both sides, their edges, or their corners.

The inside is seen where a surface is cut; lighting it takes time where a processor draws.
"""

STYLE = Option("style", one_of(*STYLES), "triangles, lit from outside or from both sides; edges; corners", "surface")
TRANSPARENCY = Option("transparency", SHARE, "0 opaque to 1 invisible", 1 - OPACITY)


@dataclass(frozen=True)
class Look:
    """How a surface is drawn.

    Attributes
    ----------
    colours : pair of (red, green, blue)
        Of the positive and of the negative phase, from 0 to 1; they do not count where a second field colours it.
    transparency : float
        0 opaque, 1 invisible.
    style : str
        One of `STYLES`, or of `VOLUME_STYLES`.
    """

    colours: tuple[RGB, RGB] = (POSITIVE, NEGATIVE)
    transparency: float = TRANSPARENCY.default
    style: str = STYLE.default


def apart_from(look: Look, others: Iterable[Look]) -> Look:
    """A look whose colours are not those of others that are seen with it, as long as there are pairs of colours."""
    taken = {other.colours for other in others}
    free = (pair for pair in (look.colours, *PAIRS.values()) if pair not in taken)
    return replace(look, colours=next(free, look.colours))


@dataclass(frozen=True)
class Scale:
    """What the colours of a surface mean that a second field colours.

    Attributes
    ----------
    low, high : float
        Values at both ends of the colours.
    quantity, unit : str
        Of the second field, for people.
    colour_map : str
        Name of the colours, see `orbitile.surfaces.colour_maps`.
    """

    low: float
    high: float
    quantity: str
    unit: str
    colour_map: str


def scale_of(colouring: Colouring | None) -> Scale | None:
    """The scale of a colouring, without its values."""
    if colouring is None:
        return None
    low, high = float(colouring.low), float(colouring.high)
    return Scale(low, high, colouring.quantity, colouring.unit, colouring.colour_map)
