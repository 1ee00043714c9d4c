"""Colours of the window's own marks, which are read on light and on dark grounds."""

from __future__ import annotations

from typing import Any

from pymol.Qt import QtGui

_MARKS = {"HOMO": ("#1f5fa8", "#7fb8f5"), "LUMO": ("#b4540a", "#f2a65e")}
"""On a light ground, and on a dark one."""

_STAGES = {
    "converging": ("#b4540a", "#f2a65e"),
    "converged": ("#1a7f37", "#5dd27a"),
    "failed": ("#b2182b", "#ff7b72"),
}
"""The same for stages of a live molecule."""


def stage_colour(stage: str, palette: Any) -> Any:
    """Colour of a stage of a live molecule."""
    return QtGui.QColor(_STAGES[stage][is_dark(palette)]) if stage in _STAGES else faded(palette)


def mark_colour(mark: str, palette: Any) -> Any:
    """Colour of HOMO or LUMO on the ground of lists."""
    return QtGui.QColor(_MARKS[mark][is_dark(palette)])


def is_dark(palette: Any) -> bool:
    """Whether lists have a dark ground."""
    lightness: int = palette.color(QtGui.QPalette.Base).lightness()
    return lightness < 128


def faded(palette: Any) -> Any:
    """Half-way between text and ground: for what matters less."""
    text, ground = palette.color(QtGui.QPalette.Text), palette.color(QtGui.QPalette.Base)
    return QtGui.QColor(*((9 * a + 7 * b) // 16 for a, b in zip(text.getRgb()[:3], ground.getRgb()[:3], strict=True)))
