"""`orbitile fields`: the fields and the kernels there are."""

from __future__ import annotations

import argparse

from ._arguments import CommandParser

HELP = "list the fields that can be shown, and the kernels for orbitals"
PRIORITY = 60


def add_arguments(parser: CommandParser) -> None:
    """It has none."""


def run(options: argparse.Namespace) -> None:
    """Print names, each with what it is."""
    from ..fields import field_names
    from ..kernels import kernel_names

    for name, what in field_names():
        print(f"{name:24s} {what}")
    print("\nkernels for orbitals (--kernel):")
    for name, what in kernel_names():
        print(f"{name:24s} {what}")
