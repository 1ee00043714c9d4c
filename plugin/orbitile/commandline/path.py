"""`orbitile path`: from one structure to another over the saddle point between them."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..base.arguments import number
from ._arguments import CommandParser, add_calculation, read_calculation
from ._console import note, progress_bar, stoppable, tell

HELP = "find the path of lowest energy between two structures, and its saddle point (needs ase, h5py)"
PRIORITY = 88


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""

    def known_formats() -> str:
        from ..readers import descriptions

        return "first structure: " + "; ".join([*descriptions("geometries"), "any file with a wavefunction"])

    parser.add_argument_of_formats("geometries", metavar="FIRST", help=known_formats)
    parser.add_argument("last", metavar="LAST", help="last structure: the same atoms in the same order")
    add_calculation(parser, "pbe")
    parser.add_argument(
        "--images", type=int, default=9, metavar="N", help="structures along the path, both ends included (default: 9)"
    )
    parser.add_argument(
        "--fixed-ends", action="store_true", help="take both structures as they are; otherwise they are first optimised"
    )
    parser.add_argument(
        "--fmax",
        type=number,
        default=0.02,
        metavar="F",
        help="largest force on an atom at both ends and the saddle point, in eV/Angstrom; 2.5 times as much across the "
        "path (default: 0.02)",
    )
    parser.add_argument(
        "--steps",
        type=int,
        default=300,
        metavar="N",
        help="largest number of steps of each optimisation (default: 300)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="H5",
        required=True,
        help="series file for the path; H5 with -mode in its name gets the imaginary vibration of the saddle point; "
        "the same command continues an interrupted search",
    )


def run(options: argparse.Namespace) -> None:
    """Search the path, and print its energies."""
    from ..model.units import angstrom, electronvolt
    from ..scf.engines import told_engine
    from ..scf.path import energy_table, reaction_path

    options.topology = None
    calculation = read_calculation(options, "pbe")
    try:
        with stoppable() as cancelled, progress_bar(options, str(calculation)) as progress:
            found = reaction_path(
                options.geometries,
                options.last,
                options.output,
                calculation,
                images=options.images,
                relax=not options.fixed_ends,
                largest_force=options.fmax * electronvolt / angstrom,
                steps=options.steps,
                engine=options.engine,
                device=options.device,
                precision=options.precision,
                progress=progress,
                cancelled=cancelled,
                report=lambda line: note(options, line),
            )
    except KeyboardInterrupt:
        if Path(f"{options.output}.parts").expanduser().exists():
            tell(f"{options.output}.parts keeps what was found; the same command continues from there")
        raise
    print(energy_table(found))
    by = told_engine(options.engine, found.trajectory[0], calculation)
    print(f"{options.output}: {len(found.trajectory)} structures, {calculation}, by {by}")
