"""`orbitile jmol`: a molecule in Jmol, whose console then has `orb("homo")`."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from ._arguments import CommandParser

HELP = "show a molecule and its orbitals in Jmol, see docs/jmol.md"
PRIORITY = 35


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    parser.add_argument("file", type=Path, help="file of the wavefunction")
    parser.add_argument("field", nargs="?", default="homo", help="field that is shown first (homo)")
    parser.add_argument(
        "--command",
        default="jmol -I -o",
        help="how Jmol is started; it has to read standard input and print (jmol -I -o)",
    )
    parser.add_argument(
        "--script", action="append", default=[], help="script for Jmol, when the field is shown; may be repeated"
    )


def run(options: argparse.Namespace) -> None:
    """Show it until Jmol ends."""
    from ..hosts.jmol.driving import drive

    drive(shlex.split(options.command), options.file, options.field, options.script)
