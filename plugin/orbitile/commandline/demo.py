"""`orbitile demo`: the HOMO of benzene."""

from __future__ import annotations

import argparse

from . import render
from ._arguments import CommandParser, add_common

HELP = "draw the HOMO of a bundled molecule (benzene)"
PRIORITY = 20


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="PNG",
        default="orbitile-demo.png",
        help="picture to write (default: orbitile-demo.png)",
    )
    parser.add_argument("--device", help="auto, cuda, vulkan or cpu")


def run(options: argparse.Namespace) -> None:
    """Draw it as `orbitile render` does."""
    from importlib.resources import as_file, files

    parser = CommandParser()
    add_common(parser)
    render.add_arguments(parser)
    with as_file(files("orbitile") / "data" / "benzene.molden") as path:
        arguments = [str(path), "homo", "--quality", "fine", "--legend", "--scale", "-o", options.output, "-q"]
        arguments += ["--device", options.device] if options.device else []
        render.run(parser.parse_args(arguments))
