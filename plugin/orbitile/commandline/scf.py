"""`orbitile scf`: orbitals along a trajectory of geometries."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._arguments import CommandParser, add_calculation, add_geometries, read_calculation
from ._console import progress_bar, stoppable, tell

HELP = "compute orbitals along a trajectory of geometries (needs h5py)"
PRIORITY = 90


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    add_geometries(parser)
    add_calculation(parser, "hf")
    parser.add_argument(
        "-o", "--output", metavar="H5", required=True, help="series file; what it has is not done again"
    )


def run(options: argparse.Namespace) -> None:
    """Compute the frames that the series file lacks, and print how many it has."""
    from ..scf.series import compute_series

    calculation = read_calculation(options)
    try:
        with stoppable() as cancelled, progress_bar(options, str(calculation)) as progress:
            trajectory = compute_series(
                options.geometries,
                options.output,
                calculation,
                topology=options.topology,
                engine=options.engine,
                device=options.device,
                precision=options.precision,
                progress=progress,
                cancelled=cancelled,
                report=tell,
            )
    except KeyboardInterrupt:
        if Path(options.output).expanduser().exists():
            tell(f"{options.output} keeps the frames that are done; the same command goes on from there")
        raise
    print(f"{options.output}: {len(trajectory)} frames, by {trajectory[0].program}")
