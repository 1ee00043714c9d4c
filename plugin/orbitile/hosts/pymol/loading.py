"""PyMOL's own ways of opening a file, for the files that Orbitile reads.

PyMOL finds the function that loads a format in a table, by the ending of the file. `load`, `loadall`, File > Open, its
recent files, its command line and files that are dropped onto its viewport all come by there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import signature
from pathlib import Path, PurePath
from typing import Any

from pymol import CmdException, importing, internal

from ... import readers
from ...errors import FileError
from ...files.plain import beginning

_MACROMODEL = re.compile(r"\s*\d+.*\n\s*\d+(\s+\d+){12}(\s+-?\d+\.\d+){3}")
"""How MacroModel's files begin: the number of atoms; type, six neighbours with orders of bonds, and place of the first.
Programs of quantum chemistry give their logs the same endings, .out and .dat."""


def add_formats(orb_load: Callable[..., Any]) -> None:
    """Have PyMOL leave files of wavefunctions to the command `orb_load`, which is called as PyMOL's commands are."""
    table = importing.loadfunctions
    opened = _opener(orb_load)
    for format in _formats():
        if format not in table:
            table[format] = _unless_macromodel(opened) if format == "mmod" else opened


def _formats() -> set[str]:
    """What PyMOL calls the formats of wavefunctions, compressed or not, by the names of their files."""
    endings = {PurePath(pattern).suffix for pattern in readers.patterns("wavefunction", "trajectory")}
    return {importing.filename_to_format(f"file{ending}")[2] for ending in endings | {".xz"}}


def _opener(orb_load: Callable[..., Any]) -> Callable[..., Any]:
    """What PyMOL calls to load a wavefunction; it gives those of its arguments that are named."""

    def load(filename: str, object: str, state: int, quiet: int, zoom: int, _self: Any) -> Any:
        if state > 1:
            raise CmdException(
                f"state: {PurePath(filename).name} becomes an object of its own, got state {state}; the frames of "
                "one object come by orb_load scan/*.molden"
            )
        given = "" if object == importing.filename_to_format(filename)[0] else object
        view = {-1: "", 0: "nothing"}.get(zoom, "zoom")
        return orb_load(filename, given, view=view, quiet=quiet, _self=_self)

    return load


def _unless_macromodel(opened: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a format that PyMOL reads itself, and in which files of its own kind stay with it."""

    def load(**arguments: Any) -> Any:
        chosen = internal._load if _is_macromodel(Path(arguments["finfo"])) else opened
        return chosen(**{name: arguments[name] for name in signature(chosen).parameters if name in arguments})

    return load


def _is_macromodel(file: Path) -> bool:
    try:
        return _MACROMODEL.match(beginning(file).decode("utf-8", errors="replace")) is not None
    except FileError:  # for who opens it to say
        return False
