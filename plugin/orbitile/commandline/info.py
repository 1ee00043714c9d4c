"""`orbitile info`: what is in a file."""

from __future__ import annotations

import argparse

from ._arguments import CommandParser, add_file
from ._input import load_frame

HELP = "show what is in a file: atoms, basis, method, orbitals"
PRIORITY = 160


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    add_file(parser)
    parser.add_argument("--json", action="store_true", help="everything, for programs")
    parser.add_argument("--all", action="store_true", help="all orbitals, not only those near the HOMO")


def run(options: argparse.Namespace) -> None:
    """Print atoms, basis set, method and orbitals, for people or as JSON."""
    import json

    from ..analysis.information import as_dictionary, as_text

    wavefunction = load_frame(options)
    if options.json:
        print(json.dumps(as_dictionary(wavefunction), indent=1))
    else:
        print(as_text(wavefunction, everything=options.all))
