"""`orbitile slice`: a field on a plane, with contours."""

from __future__ import annotations

import argparse

from ..base.arguments import number
from ._arguments import (
    CommandParser,
    add_color_range,
    add_device,
    add_file,
    add_plot,
    add_precision,
    add_size,
    read_atoms,
    read_size,
)
from ._files import wavefunction_of

HELP = "draw a field on a plane through atoms, with contours (needs matplotlib)"
PRIORITY = 120


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    add_file(parser)
    parser.add_argument("field", metavar="FIELD", nargs="?", default="density", help="(default: density)")
    parser.add_argument(
        "--atoms",
        metavar="I,J,K",
        help="three atoms or more that define the plane, counted from 1; the first points to the second from left to "
        "right (default: the plane closest to all atoms)",
    )
    add_plot(parser)
    add_color_range(parser)
    parser.add_argument("--spacing", type=number, default=0.05, metavar="H", help="in Angstrom (default: 0.05)")
    parser.add_argument("--margin", type=number, default=2.5, metavar="D", help="in Angstrom (default: 2.5)")
    add_size(parser)
    add_device(parser)
    add_precision(parser)


def run(options: argparse.Namespace) -> None:
    """Draw the plane, and print the name of the picture."""
    from ..analysis.planes import draw_slice, plane_through, slice_field
    from ..analysis.plots import check_picture
    from ..model.units import angstrom

    size = read_size(options.size)
    check_picture(options.output)
    wavefunction = wavefunction_of(options)
    plane = plane_through(
        wavefunction,
        read_atoms("--atoms", options.atoms) if options.atoms else (),
        spacing=options.spacing * angstrom,
        margin=options.margin * angstrom,
    )
    values = slice_field(wavefunction, options.field, plane, device=options.device, precision=options.precision)
    draw_slice(values, wavefunction, options.output, limit=options.color_range, size=size)
    print(options.output)
