"""`orbitile scf`: orbitals along a trajectory of geometries."""

from __future__ import annotations

import argparse
from pathlib import Path

from ._arguments import CommandParser, add_calculation, add_executor, add_geometries, executor_of, read_calculation
from ._console import progress_bar, stoppable, tell

HELP = "compute orbitals along a trajectory of geometries (needs h5py, or zarr)"
PRIORITY = 90


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    add_geometries(parser)
    add_calculation(parser, "hf")
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        required=True,
        help="series to write, .h5 or .zarr; frames that it has are not computed again",
    )
    add_executor(parser)
    parser.add_argument(
        "--row",
        type=int,
        metavar="N",
        help="split TRAJ into rows of N frames, each computed by one worker from superposed atoms (default: 32 with "
        "--workers or --dask, else one row)",
    )


def run(options: argparse.Namespace) -> None:
    """Compute the frames that the series file lacks, and print how many it has."""
    from ..scf.engines import told_engine
    from ..scf.series import compute_series, folder_of_parts

    calculation = read_calculation(options, "hf")
    try:
        with (
            stoppable() as cancelled,
            progress_bar(options, str(calculation)) as progress,
            executor_of(options) as executor,
        ):
            trajectory = compute_series(
                options.geometries,
                options.output,
                calculation,
                topology=options.topology,
                engine=options.engine,
                device=options.device,
                precision=options.precision,
                executor=executor,
                row=options.row,
                progress=progress,
                cancelled=cancelled,
                report=tell,
            )
    except KeyboardInterrupt:
        output = Path(options.output).expanduser()
        if output.exists() or folder_of_parts(output).exists():
            tell(f"{options.output} keeps the frames that are done; the same command continues from there")
        raise
    by = told_engine(options.engine, trajectory[0], calculation)
    print(f"{options.output}: {len(trajectory)} frames, {calculation}, by {by}")
