"""`orbitile optimise`: from a geometry to a minimum of the energy."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..base.arguments import number
from ._arguments import CommandParser, add_calculation, add_geometries, read_calculation
from ._console import note, progress_bar, stoppable, tell

HELP = "move the atoms to a minimum of the energy, with the orbitals of each step (needs ase, h5py)"
PRIORITY = 89


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    add_geometries(parser)
    parser.add_argument(
        "--frame", type=int, metavar="N", help="geometry to start from, if the file has several, counted from 1"
    )
    add_calculation(parser, "pbe")
    parser.add_argument(
        "--fmax",
        type=number,
        default=0.02,
        metavar="F",
        help="stop when no force on an atom exceeds this, in eV/Angstrom (default: 0.02)",
    )
    parser.add_argument("--steps", type=int, default=200, metavar="N", help="largest number of steps (default: 200)")
    parser.add_argument(
        "-o", "--output", metavar="H5", required=True, help="series file; steps that it has are not computed again"
    )


def run(options: argparse.Namespace) -> None:
    """Take the steps that the series file lacks, and print how many it has."""
    from ..model.units import angstrom, electronvolt
    from ..scf.engines import told_engine
    from ..scf.optimisation import optimise

    calculation = read_calculation(options, "pbe")
    try:
        with stoppable() as cancelled, progress_bar(options, str(calculation)) as progress:
            trajectory = optimise(
                options.geometries,
                options.output,
                calculation,
                frame=None if options.frame is None else options.frame - 1,
                topology=options.topology,
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
        if Path(options.output).expanduser().exists():
            tell(f"{options.output} keeps the steps that were taken; the same command continues from there")
        raise
    by = told_engine(options.engine, trajectory[0], calculation)
    print(f"{options.output}: {len(trajectory)} steps to the minimum, {calculation}, by {by}")
