"""What a view in a browser shows: scenes, what is written beside them, and what can be chosen.

Lengths in bohr, energies in hartree. All texts are plain: the viewer puts them in as text, never as markup.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import RenderError
from ..model.surface import Surface
from ..scenes import Scene
from ..surfaces.colour_maps import RGB, colours_along, tick_labels, ticks

_STOPS = 17
"""Colours of a scale; the browser blends between them."""


@dataclass(frozen=True)
class Choice:
    """Something that can be chosen: an orbital, or another field.

    Attributes
    ----------
    field, color_by : str
        Names as for `orbitile.compute`; the second is empty for the colours of phases.
    title : str
        For people: HOMO-1, density coloured by electrostatic potential.
    number : int
        Of an orbital, from 1, in the order of the file; 0 for other fields.
    spin : str
        alpha or beta where they differ, otherwise empty.
    energy : float
        Of an orbital, in hartree; NaN where there is none.
    occupation : float
    label : str
        Symmetry, or what the file calls the orbital.
    """

    field: str
    color_by: str = ""
    title: str = ""
    number: int = 0
    spin: str = ""
    energy: float = math.nan
    occupation: float = 0.0
    label: str = ""


@dataclass(frozen=True)
class Legend:
    """What colours stand for.

    Attributes
    ----------
    heading : str
        Quantity, unit.
    patches : tuple of (str, str)
        Colour as #rrggbb, and what it stands for; empty where there is a scale.
    scale : tuple of str
        Colours from the low end to the high one.
    ticks : tuple of (float, str)
        Place on the scale from 0 to 1, and what stands there.
    """

    heading: str
    patches: tuple[tuple[str, str], ...] = ()
    scale: tuple[str, ...] = ()
    ticks: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Slide:
    """One picture that can be turned.

    Attributes
    ----------
    scene : Scene
    field, color_by : str
        What was chosen, as in a `Choice`.
    title : str
        For people.
    isovalue : float
        In atomic units; 0 where there is no isosurface.
    range : (float, float)
        Isovalues that may be asked for in its place; equal where there are no others.
    frame : int
        Of a trajectory, from 0.
    legends : tuple of Legend
    remark : str
        What has to be known of it, in a line: why there is no surface.
    """

    scene: Scene
    field: str = ""
    color_by: str = ""
    title: str = ""
    isovalue: float = 0.0
    range: tuple[float, float] = (0.0, 0.0)
    frame: int = 0
    legends: tuple[Legend, ...] = ()
    remark: str = ""


@dataclass(frozen=True, eq=False)
class Document:
    """All that a view shows.

    Attributes
    ----------
    title : str
    slides : tuple of Slide
        The first is shown first.
    choices : tuple of Choice
    atoms : tuple of str
        What the atoms are called, as C1; empty where they are not to be labelled.
    n_frames : int
    rotation : ndarray, shape (3, 3)
        Rows: the directions in space that point right, up, and towards the viewer at first.
    middle : ndarray, shape (3,)
        A place in the middle of it all; positions are packed relative to it.
    """

    title: str = ""
    slides: tuple[Slide, ...] = ()
    choices: tuple[Choice, ...] = ()
    atoms: tuple[str, ...] = ()
    n_frames: int = 1
    rotation: NDArray[np.float64] = field(default_factory=lambda: np.eye(3))
    middle: NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))

    def __post_init__(self) -> None:
        for name, shape in (("rotation", (3, 3)), ("middle", (3,))):
            array = np.asarray(getattr(self, name), np.float64)
            if array.shape != shape or not np.isfinite(array).all():
                raise RenderError(f"{name} of a view: expected finite numbers of shape {shape}, got {array.tolist()}")
            object.__setattr__(self, name, array)
        for slide in self.slides:
            if not 0 <= slide.frame < self.n_frames:
                raise RenderError(f"frame of a slide: expected 0 to {self.n_frames - 1}, got {slide.frame}")


def legend_of(surface: Surface, pair: tuple[RGB, RGB]) -> Legend:
    """What the colours of a surface stand for; the pair is for its positive and its negative part."""
    colouring, unit = surface.colouring, f" {surface.unit}" if surface.unit else ""
    if colouring is None:
        signs = [phase for phase in (1, -1) if np.any(surface.phases == phase)]
        plus = "+" if len(signs) == 2 else ""
        patches = tuple(
            (_hexadecimal(pair[phase < 0]), f"{'−' if phase < 0 else plus}{surface.isovalue:.3g}{unit}")
            for phase in signs
        )
        return Legend(surface.quantity, patches)
    low, high = colouring.low, colouring.high
    marks = ticks(low, high, 5)
    colours = colours_along(colouring.colour_map, np.linspace(0, 1, _STOPS))
    places = ((marks - low) / (high - low)).tolist()
    return Legend(
        f"{colouring.quantity} ({colouring.unit})" if colouring.unit else colouring.quantity,
        scale=tuple(_hexadecimal(colour) for colour in colours.tolist()),
        ticks=tuple(zip(places, tick_labels(marks), strict=True)),
    )


def _hexadecimal(colour: RGB) -> str:
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in colour)
