"""Diagrams, as analyses find them: curves with their axes, for whoever draws them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


def _nothing() -> Reals:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class Curve:
    """One curve of a plot.

    Attributes
    ----------
    name : str
        For the legend, where curves of one name are one, and of one colour; empty for none.
    x, y : ndarray, shape (n,)
    style : str
        line; filled, down to zero; sticks, from zero; points.
    values : ndarray, shape (n,)
        What colours points, of either sign about zero; empty for one colour.
    fields : tuple of str
        Name of the field that each of its points stands for; a click shows it. Empty for none.
    """

    name: str
    x: Reals
    y: Reals
    style: str = "line"
    values: Reals = field(default_factory=_nothing)
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plot:
    """A diagram.

    Attributes
    ----------
    name : str
        Part of the name of a file.
    title, x_label, y_label : str
        For people, units included.
    curves : tuple of Curve
        The first is drawn first.
    lines : tuple of (float, str)
        Places on the x axis that are marked, each with what it is, as the HOMO.
    x_range, y_range : tuple of float, optional
        What is shown first; all of it where not stated.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    lines: tuple[tuple[float, str], ...] = ()
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
