"""`orbitile fields`: the fields and the kernels there are."""

from __future__ import annotations

import argparse

from ._arguments import CommandParser

HELP = "list the fields that can be shown, and the kernels for orbitals"
PRIORITY = 60


def add_arguments(parser: CommandParser) -> None:
    """It has none."""


def run(options: argparse.Namespace) -> None:
    """Print names in groups, each with what it is."""
    from ..fields import field_groups
    from ..gaussians.kernels import kernel_names

    for title, names in [*field_groups(), ("Kernels for orbitals (--kernel)", kernel_names())]:
        print(title)
        for name, what in names:
            print(f"  {name:22s} {what}")
        print()
