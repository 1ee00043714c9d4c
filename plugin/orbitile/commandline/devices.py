"""`orbitile devices`: what can compute and draw here."""

from __future__ import annotations

import argparse

from ._arguments import CommandParser

HELP = "show which devices can compute and draw here, and why others cannot"
PRIORITY = 50


def add_arguments(parser: CommandParser) -> None:
    """It has none."""


def run(options: argparse.Namespace) -> None:
    """Print a table of devices."""
    from ..evaluation.devices import device_report

    for line in device_report():
        print(line)
