"""`orbitile slice`: a field on a plane, with contours."""

from __future__ import annotations

import argparse

from ._arguments import (
    CommandParser,
    add_file,
    add_option,
    add_plot,
    read_atoms,
    read_size,
)
from ._files import wavefunction_of

HELP = "draw a field on a plane through atoms, with contours (needs matplotlib)"
PRIORITY = 120


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    add_file(parser)
    parser.add_argument("field", metavar="FIELD", nargs="?", default="density", help="field to draw (default: density)")
    parser.add_argument(
        "--atoms",
        metavar="I,J,K",
        help="three atoms or more that define the plane, counted from 1; the first points to the second from left to "
        "right (default: the plane closest to all atoms)",
    )
    add_plot(parser)
    add_option(parser, "color_range", help="the colours span minus this to plus this, in the unit of the field")
    add_option(parser, "spacing", help="spacing of points in Angstrom", default=0.05)
    add_option(parser, "margin", help="margin around the atoms in Angstrom", default=2.5)
    parser.add_argument(
        "--height", type=float, default=0.0, metavar="H", help="move the plane by so many Angstrom towards the viewer"
    )
    parser.add_argument(
        "--topograph",
        type=float,
        metavar="VALUE",
        help="draw how high above the plane the field has this value, seen from above: an STM picture at constant "
        "current, of the field stm:-2 for instance",
    )
    add_option(parser, "size")
    add_option(parser, "device")
    add_option(parser, "precision")


def run(options: argparse.Namespace) -> None:
    """Draw the plane, and print the name of the picture."""
    from ..analysis.planes import draw_slice, plane_through, slice_field, topograph
    from ..analysis.presentation import check_picture
    from ..model.units import angstrom

    size = read_size(options.size)
    check_picture(options.output)
    wavefunction = wavefunction_of(options)
    plane = plane_through(
        wavefunction,
        read_atoms("--atoms", options.atoms) if options.atoms else (),
        spacing=options.spacing * angstrom,
        margin=options.margin * angstrom,
        height=options.height * angstrom,
    )
    if options.topograph is None:
        values = slice_field(wavefunction, options.field, plane, device=options.device, precision=options.precision)
    else:
        values = topograph(wavefunction, options.field, plane, options.topograph, device=options.device)
    draw_slice(values, wavefunction, options.output, limit=options.color_range, size=size)
    print(options.output)
