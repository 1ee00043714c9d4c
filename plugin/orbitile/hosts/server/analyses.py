"""Analyses as they are told to a viewer at the other end of a pipe: which there are, what was found, what to draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...analysis.presentation import as_text
from ...base.arguments import FLAG, Argument
from ...model.report import AtomValues, Drawing, Paths, Points
from ...model.units import angstrom
from ...session.window.analysing import OfferedAnalysis
from ...session.window.view import Finding
from ...surfaces.colour_maps import colours_along, rounded_up

_ROWS = 500
"""Rows of a table that are told at most; files have all."""
_DIGITS = 5
"""Of places in Angstrom."""


def offered_message(groups: Sequence[tuple[str, Sequence[OfferedAnalysis]]]) -> dict[str, Any]:
    """Analyses in groups, with their parameters, and the reason for those that the molecule does not have."""
    return {
        "groups": [
            {
                "title": title,
                "analyses": [
                    {
                        "name": one.name,
                        "title": one.module.TITLE,
                        "help": one.module.HELP,
                        "reason": one.reason,
                        "parameters": list(map(_parameter, one.module.PARAMETERS)),
                    }
                    for one in those
                ],
            }
            for title, those in groups
        ]
    }


def _parameter(parameter: Argument) -> dict[str, Any]:
    choices = ["0", "1"] if parameter.kind is FLAG else list(parameter.kind.choices)
    default = str(int(parameter.default)) if parameter.kind is FLAG else str(parameter.default)
    return {
        "name": parameter.name,
        "kind": parameter.kind.name,
        "help": parameter.help,
        "choices": choices,
        "default": default if choices else parameter.otherwise,
    }


def finding_message(finding: Finding) -> dict[str, Any]:
    """How it is with an analysis that was asked for, and what it found as text."""
    return {
        "name": finding.order.name,
        "molecule": finding.molecule,
        "running": finding.is_running,
        "problem": finding.problem,
        "stale": finding.is_stale,
        "text": "" if finding.report is None else as_text(finding.report, _ROWS),
        "has_surfaces": finding.report is not None and bool(finding.report.surfaces),
    }


def drawings_message(drawings: Sequence[Drawing]) -> dict[str, Any]:
    """What is to be drawn, in Angstrom: balls, lines, and a label and a colour for each atom."""
    balls = [one for one in drawings if isinstance(one, Points)]
    lines = [one for one in drawings if isinstance(one, Paths)]
    values = next((one for one in drawings if isinstance(one, AtomValues)), None)
    return {
        "balls": [
            {
                "places": _in_angstrom(one.positions),
                "labels": list(one.labels),
                "colour": one.colour,
                "radius": round(one.radius / angstrom, _DIGITS),
            }
            for one in balls
        ],
        "lines": [
            {
                "lines": [_in_angstrom(line) for line in one.lines],
                "heads": one.heads,
                "colour": one.colour,
                "radius": round(one.radius / angstrom, _DIGITS),
            }
            for one in lines
        ],
        "atoms": [] if values is None else _atom_labels(values),
    }


def _in_angstrom(places: Any) -> list[list[float]]:
    return np.round(np.asarray(places) / angstrom, _DIGITS).tolist()


def _atom_labels(drawing: AtomValues) -> list[dict[str, Any]]:
    """A label and a colour for each atom; an empty label for atoms without a value."""
    values = np.array(drawing.values, np.float64)
    limit = rounded_up(float(np.nanmax(np.abs(values), initial=0.0)))
    inks = np.round(colours_along("signed", (np.clip(np.nan_to_num(values) / limit, -1, 1) + 1) / 2), 3).tolist()
    return [{"label": label, "colour": ink} for label, ink in zip(drawing.labels, inks, strict=True)]
