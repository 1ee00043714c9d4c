"""Commands that are made of analyses: `orb_charges` and its like, one an analysis."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from warnings import warn

from ...analysis.presentation import FORMATS, as_text, check_tables, draw_plots, write_tables
from ...analysis.reports import FILE_KINDS, Analysis, analyses
from ...base.arguments import FLAG, PATH, TEXT, Argument
from ...base.errors import OrbitileError
from ...files.writing import checked_target
from ..analysing import order_of
from ..declaration import Answer, Command
from ..session import Session
from ._arguments import OBJECT
from .loading import orb_load
from .vibrations import COMPUTED, compute

TOPIC, PRIORITY = "analyses", 20

_ROWS = 30
"""Rows of a table that are told at a prompt."""

_FILE = Argument(
    "filename", PATH, "file to write the tables (.csv, .json) or the plots (.svg, .png, .pdf) to", None, "none"
)
_DRAW = Argument("draw", FLAG, "draw the result at the molecule; 0 removes the drawing", True, "1")


def command_of(name: str, module: Analysis) -> Command:
    """The command of an analysis."""
    is_of_file = module.KIND in FILE_KINDS
    any_object = Argument("name", TEXT, "an object", otherwise="the only one with orbitals", completes="molecules")
    subject = any_object if module.KIND == "atoms" else OBJECT
    if is_of_file:
        subject = replace(OBJECT, help="an object loaded by orb_load, or a file")
    # parameters are read with the molecule at hand, which may name atoms; none is required behind a name that is not
    parameters = [
        replace(parameter, kind=replace(parameter.kind, read=TEXT.read), default="", required=False)
        for parameter in module.PARAMETERS
    ]

    def run(session: Session, molecule: str, *values: Any) -> Answer:
        *texts, filename, draw = values[: len(parameters) + 2]
        if any(value is not None for value in values[len(parameters) + 2 :]):
            return compute(session, molecule, filename, *values[len(parameters) + 2 :])
        if is_of_file and molecule not in session.host.molecules() and os.path.isfile(os.path.expanduser(molecule)):
            molecule = orb_load.run(session, [molecule]).value or molecule
        given = {one.name: text for one, text in zip(module.PARAMETERS, texts, strict=True) if text != ""}
        return _analyse(session, name, molecule, given, filename, draw)

    more = (_FILE, _DRAW, *(COMPUTED if name == "vibrations" else ()))
    summary = f"{module.HELP[0].upper()}{module.HELP[1:]}."
    related = tuple(f"orb_{other}" for other in analyses() if other != name)[:4]
    return Command(f"orb_{name}", summary, (subject, *parameters, *more), module.EXAMPLES, related, True, run)


def _analyse(
    session: Session, name: str, molecule: str, given: dict[str, Any], filename: Path | None, draw: bool
) -> Answer:
    is_plot = filename is not None and filename.suffix.lower() in FORMATS
    if filename is not None:
        checked_target(filename) if is_plot else check_tables(filename)
    known = session.host.molecules()
    if not (molecule and molecule not in known and molecule in session.host.objects()):
        molecule = session.molecule(molecule)
    order = order_of(session.host, name, molecule, given, session.computing.device)
    report = session.computing.report(order)
    session.draw(molecule, order, report.drawings if draw else ())
    text = as_text(report, _ROWS)
    if filename is not None:
        written = draw_plots(report, filename) if is_plot else write_tables(report, filename)
        text += "\n" + "\n".join(map(str, written))
    return Answer(None, text)


def _all() -> tuple[Command, ...]:
    try:
        return tuple(command_of(name, module) for name, module in analyses().items())
    except OrbitileError as error:  # one of another distribution does not serve: all else is to go on
        warn(f"no analyses: {error}", stacklevel=2)
        return ()


MADE: tuple[Command, ...] = _all()
"""The commands of all analyses."""
