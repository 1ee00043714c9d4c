"""`orbitile info`: what is in a file."""

from __future__ import annotations

import argparse

from ..base.errors import FileError
from ._arguments import CommandParser, add_any_file
from ._files import information_on_volumes, is_sampled, load_frame, volumes_as_text

HELP = "show what is in a file: atoms, basis, method, orbitals, vibrations; of a cube or map, its lattice and values"
PRIORITY = 160


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    add_any_file(parser)
    parser.add_argument("--json", action="store_true", help="everything, for programs")
    parser.add_argument("--all", action="store_true", help="all orbitals, not only those near the HOMO")


def run(options: argparse.Namespace) -> None:
    """Print atoms, basis set, method, orbitals and vibrations, or lattice and values of volumes; or all as JSON."""
    import json

    from ..analysis.information import as_dictionary, as_text, vibrations_as_dictionary, vibrations_as_text
    from ..readers import vibrations_in

    if is_sampled(options):
        found = information_on_volumes(options)
        print(json.dumps(found, indent=1) if options.json else volumes_as_text(found))
        return
    vibrations = vibrations_in(options.file)
    try:
        wavefunction = load_frame(options)
    except FileError as error:
        if vibrations is None or options.frame is not None:
            raise
        found = {"vibrations": vibrations_as_dictionary(vibrations), "problem": str(error)}
        told = f"orbitile vibrations {options.file} shows the modes; orbitals: {error}"
        print(json.dumps(found, indent=1) if options.json else f"{vibrations_as_text(vibrations)}\n{told}")
        return
    if options.json:
        more = {} if vibrations is None else {"vibrations": vibrations_as_dictionary(vibrations)}
        print(json.dumps(as_dictionary(wavefunction) | more, indent=1))
        return
    print(as_text(wavefunction, everything=options.all))
    if vibrations is not None:
        print(f"\n{vibrations_as_text(vibrations)}")
