"""`orbitile bench`: how fast it is here."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ..base.errors import OrbitileError
from ._arguments import CommandParser

HELP = "measure the speed of Orbitile and of other programs; prints tables in Markdown"
PRIORITY = 10


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    parser.add_argument(
        "--systems", metavar="NAMES", help="systems separated by commas, such as C60-b,Kr-a (default: all)"
    )
    parser.add_argument(
        "--device", metavar="NAMES", help="devices separated by commas, such as cuda,cpu (default: auto)"
    )
    parser.add_argument(
        "--peers", action="store_true", help="measure PySCF, qc-gbasis, Avogadro and others too (extra: peers)"
    )
    parser.add_argument(
        "--quick", action="store_true", help="only few runs of small systems, to see whether it works here"
    )
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder of Molden files to use, instead of making them"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to this file")
    parser.add_argument("--plots", type=Path, metavar="DIR", help="draw cost against size (needs matplotlib)")


def run(options: argparse.Namespace) -> None:
    """Measure, and print the tables."""
    try:
        from orbitile_benchmarks.suite import run as measure
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "orbitile_benchmarks":
            raise
        raise OrbitileError("the benchmarks are not installed; run this in a checkout of Orbitile") from error
    tables = measure(
        systems=options.systems,
        devices=options.device,
        peers=options.peers,
        quick=options.quick,
        data=options.data,
        json_file=options.json,
        plots=options.plots,
        tell=(lambda text: None) if options.quiet else lambda text: print(text, file=sys.stderr, flush=True),
    )
    print(tables)
