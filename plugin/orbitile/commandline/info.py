"""`orbitile info`: what is in a file."""

from __future__ import annotations

import argparse

from ._arguments import CommandParser, add_any_file
from ._files import information_on_volumes, is_sampled, load_frame, volumes_as_text

HELP = "show what is in a file: atoms, basis, method, orbitals; of a cube or map, its lattice and values"
PRIORITY = 160


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    add_any_file(parser)
    parser.add_argument("--json", action="store_true", help="everything, for programs")
    parser.add_argument("--all", action="store_true", help="all orbitals, not only those near the HOMO")


def run(options: argparse.Namespace) -> None:
    """Print atoms, basis set, method and orbitals, or lattice and values of volumes, for people or as JSON."""
    import json

    from ..analysis.information import as_dictionary, as_text

    if is_sampled(options):
        found = information_on_volumes(options)
        print(json.dumps(found, indent=1) if options.json else volumes_as_text(found))
        return
    wavefunction = load_frame(options)
    if options.json:
        print(json.dumps(as_dictionary(wavefunction), indent=1))
    else:
        print(as_text(wavefunction, everything=options.all))
