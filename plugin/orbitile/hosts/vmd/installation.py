"""Installing Orbitile into VMD: a few lines in the user's start-up file; `orbitile.hosts.Installation` says more."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ...base.errors import OrbitileError
from ...base.imports import isolated, program
from ...files.writing import read_settings, replace_settings
from ...session.commands import COMMANDS
from ...session.declaration import tcl_word

_BEGIN = "# Orbitile: written by `orbitile install vmd`, removed by `orbitile install vmd --uninstall`"
_END = "# end of Orbitile"


def find() -> str:
    """Where the program `vmd` is; empty where it is not found."""
    return program("vmd")


def status() -> str:
    """The start-up file, if it has our lines; otherwise empty."""
    path = startup_file()
    return str(path) if _BEGIN in read_settings(path).splitlines() else ""


def startup_file() -> Path:
    """The file that VMD reads when it starts: ~/.vmdrc, on Windows vmd.rc in the home folder."""
    return Path.home() / ("vmd.rc" if os.name == "nt" else ".vmdrc")


def install(python: str | None = None) -> list[str]:
    """Add lines to the start-up file, in place of those of an earlier installation; see `Installation`."""
    path = startup_file()
    others = _without_ours(path)
    folder = Path(__file__).parent
    server = isolated(python or sys.executable, "from orbitile.commandline import main; sys.exit(main())", "serve")
    commands = " ".join(command.name for command in COMMANDS)
    lines = [
        _BEGIN,
        "if {[catch {",
        f"    lappend auto_path {tcl_word(folder.as_posix())}",
        "    package require orbitile",
        f"    orbitile::register {{{' '.join(map(tcl_word, server))}}} {{{commands}}}",
        '} problem]} { puts "Orbitile) $problem" }',
        *([] if any(line.split() == ["menu", "main", "on"] for line in others) else ["menu main on"]),
        _END,
    ]
    _write(path, [*others, *lines])
    return [
        f"wrote {path}",
        "start VMD again: Extensions > Visualization > Orbitile, and commands that begin with orb_",
    ]


def uninstall() -> list[str]:
    """Remove the lines; see `Installation`."""
    path = startup_file()
    others = _without_ours(path)
    if not path.exists() or others == read_settings(path).splitlines():
        return [f"nothing to remove: {path} says nothing of Orbitile"]
    _write(path, others)
    return [f"removed Orbitile from {path}"]


def _without_ours(path: Path) -> list[str]:
    lines = read_settings(path).splitlines()
    if _BEGIN not in lines:
        return lines
    if _END not in lines[lines.index(_BEGIN) :]:
        raise OrbitileError(f"{path}: expected {_END!r} after {_BEGIN!r}; put it back, or remove the lines of Orbitile")
    begin = lines.index(_BEGIN)
    return lines[:begin] + lines[lines.index(_END, begin) + 1 :]


def _write(path: Path, lines: list[str]) -> None:
    """Replace the file at once, or remove it where nothing is left."""
    if lines:
        replace_settings(path, "\n".join(lines) + "\n")
        return
    try:
        path.unlink()
    except OSError as error:
        raise OrbitileError(f"{path} cannot be removed: {error.strerror}") from error
