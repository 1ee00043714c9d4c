"""`orbitile correlate`: orbital energies along a trajectory."""

from __future__ import annotations

import argparse

from ._arguments import CommandParser, add_option, add_plot, add_trajectory, read_size
from ._console import progress_bar, tell

HELP = "draw orbital energies along a trajectory (needs matplotlib)"
PRIORITY = 80


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    add_trajectory(parser)
    add_plot(parser)
    parser.add_argument(
        "--spin", choices=("alpha", "beta"), default="alpha", help="spin of the orbitals (default: alpha)"
    )
    parser.add_argument(
        "--around", type=int, default=5, metavar="N", help="orbitals on each side of the gap (default: 5)"
    )
    add_option(parser, "size")


def run(options: argparse.Namespace) -> None:
    """Draw a correlation diagram; print the crossings in it and its name."""
    from ..analysis.correlation import draw_correlation
    from ..analysis.presentation import check_picture
    from ..readers import load_trajectory
    from ..trajectories.tracking import track

    size = read_size(options.size)
    check_picture(options.output)
    trajectory = load_trajectory(options.trajectory)
    with progress_bar(options, "orbitals") as progress:
        tracking = track(trajectory, progress=progress, report=tell)
    draw_correlation(tracking, options.output, spin=options.spin, around=options.around, size=size)
    for crossing in tracking.crossings:
        if crossing.spin == options.spin:
            print(crossing)
    print(options.output)
