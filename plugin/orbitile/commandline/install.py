"""`orbitile install`: Orbitile in a program that shows molecules."""

from __future__ import annotations

import argparse
from importlib import import_module

from ._arguments import CommandParser

HELP = "add Orbitile to a program that shows molecules"
PRIORITY = 40


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    parser.add_argument("host", choices=("pymol", "vmd"), metavar="HOST", help="pymol or vmd")
    parser.add_argument("--uninstall", action="store_true", help="remove it again")
    parser.add_argument("--python", metavar="PATH", help="Python to compute with, where that of the host lacks Taichi")


def run(options: argparse.Namespace) -> None:
    """Write to the start-up files of the host, or take away what was written, and print what was done."""
    installation = import_module(f"orbitile.hosts.{options.host}_installation")
    for line in installation.uninstall() if options.uninstall else installation.install(options.python):
        print(line)
