"""`orbitile series`: a trajectory in one file."""

from __future__ import annotations

import argparse

from ..base.errors import OrbitileError
from ._arguments import CommandParser
from ._console import progress_bar, tell
from ._files import tell_notes

HELP = "put the frames of a trajectory into one series file (needs h5py, or zarr)"
PRIORITY = 100


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="+",
        help="files of one frame each, put in natural order; or one file of many frames",
    )
    parser.add_argument("-o", "--output", metavar="OUT", required=True, help="series to write or replace: .h5 or .zarr")


def run(options: argparse.Namespace) -> None:
    """Write the frames that can be read, and print how many they are."""
    from ..exporters._series import SeriesWriter, replaced_series, require_series
    from ..readers import load_trajectory, natural_order

    files = sorted(options.files, key=natural_order)
    require_series(options.output)
    trajectory = load_trajectory(files[0] if len(files) == 1 else files)
    with replaced_series(options.output) as part:
        with SeriesWriter(part) as writer, progress_bar(options, "frames") as progress:
            for index, wavefunction in trajectory.frames(tell):
                tell_notes(options, wavefunction)
                writer.append(wavefunction, index)
                if progress is not None:
                    progress((index + 1) / len(trajectory))
        if not writer.numbers:
            raise OrbitileError(f"{trajectory.name}: no frame can be read; nothing was written")
    print(f"{options.output}: {len(writer.numbers)} frames")
