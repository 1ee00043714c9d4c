"""PyMOL's own ways of opening a file, for the files that Orbitile reads.

PyMOL finds the function that loads a format in a table, by the ending of the file: `load`, `loadall` and its command
line come by there. What is opened by hand in its window, by File > Open, from its recent files or dropped onto its
viewport, comes by one method of that window, and goes on to ours.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import signature
from pathlib import Path, PurePath
from typing import Any

from pymol import CmdException, importing, internal
from pymol.constants import _loadable

from ... import readers
from ...base.errors import FileError
from ...files.plain import beginning

_MACROMODEL = re.compile(r"\s*\d+.*\n\s*\d+(\s+\d+){12}(\s+-?\d+\.\d+){3}")
"""How MacroModel's files begin: the number of atoms; type, six neighbours with orders of bonds, and place of the first.
Programs of quantum chemistry give their logs the same endings, .out and .dat."""
_CUBES = ("cube", "cub")
_VOLUMES = (*_CUBES, "npz")
"""Volumes of quantum chemistry; PyMOL asks how to load those of crystallography."""
_ARCHIVES = (".zip", ".tar", ".tgz")


def add_formats(orb_load: Callable[..., Any], show_volume: Callable[..., Any]) -> None:
    """Have PyMOL leave files of wavefunctions to the command `orb_load`, which is called as PyMOL's commands are.

    A cube file becomes a map, as it always did in PyMOL, and then `show_volume` is told of it: the file, the object.
    """
    table = importing.loadfunctions
    opened = _opener(orb_load)
    for format in (*_formats(), "npz"):
        if format not in table:
            table[format] = _unless_macromodel(opened) if format == "mmod" else opened
    for format in _CUBES:
        table.setdefault(format, _as_map_too(show_volume))


def take_what_is_opened(window: Any, open_file: Callable[[str], None]) -> None:
    """Have files that the user opens in PyMOL's window, and that Orbitile reads, go elsewhere."""
    by_pymol = window.load_dialog

    def load_dialog(filename: str, **options: Any) -> Any:
        if not _is_ours(filename):
            return by_pymol(filename, **options)
        window.initialdir = str(PurePath(filename).parent)
        window.recent_filenames_add(filename)
        open_file(filename)
        return True  # or else PyMOL opens no more of several files

    window.load_dialog = load_dialog


def _is_ours(filename: str) -> bool:
    """Whether a file is left to Orbitile by its name; of MacroModel's, by what it holds. Folders and archives are."""
    format = importing.filename_to_format(filename)[2]
    if "://" in filename:
        return False
    path = PurePath(filename)
    if Path(filename).is_dir() or path.name in _names() or path.suffix.lower() in _ARCHIVES:
        return True
    return format in _VOLUMES or (format in _formats() and not (format == "mmod" and _is_macromodel(Path(filename))))


def _names() -> set[str]:
    """Names that files of wavefunctions have as a whole."""
    return {pattern for pattern in readers.patterns("wavefunction", "trajectory") if "*" not in pattern}


def _formats() -> set[str]:
    """What PyMOL calls the formats of wavefunctions, compressed or not, by the endings of their files."""
    endings = {PurePath(p).suffix for p in readers.patterns("wavefunction", "trajectory") if p not in _names()}
    return {importing.filename_to_format(f"file{ending}")[2] for ending in endings | {".xz"}}


def _opener(orb_load: Callable[..., Any]) -> Callable[..., Any]:
    """What PyMOL calls to load a wavefunction; it gives those of its arguments that are named."""

    def load(filename: str, object: str, state: int, quiet: int, zoom: int, _self: Any) -> Any:
        if state > 1:
            raise CmdException(
                f"state: expected 1, since {PurePath(filename).name} becomes an object of its own, got {state}; to "
                "load several files as the frames of one object: orb_load scan/*.molden"
            )
        given = "" if object == importing.filename_to_format(filename)[0] else object
        view = {-1: "", 0: "nothing"}.get(zoom, "zoom")
        return orb_load(filename, given, view=view, quiet=quiet, _self=_self)

    return load


def _as_map_too(show_volume: Callable[..., Any]) -> Callable[..., Any]:
    """What PyMOL calls to load a cube file: scripts go on with its map, and a user sees what is in it."""

    def load(**arguments: Any) -> Any:
        # what PyMOL itself finds where it knows no function for a format
        arguments["ftype"] = _loadable.plugin
        arguments["plugin"] = importing._cmd.find_molfile_plugin(arguments["_self"]._COb, _CUBES[0])
        result = internal._load(**{name: arguments[name] for name in signature(internal._load).parameters})
        show_volume(arguments["filename"], arguments["object"], _self=arguments["_self"])
        return result

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
