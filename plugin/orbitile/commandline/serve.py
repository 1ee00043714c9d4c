"""`orbitile serve`: the server that viewers without Python talk to."""

from __future__ import annotations

import argparse

from ._arguments import CommandParser

HELP = "serve a viewer over standard input and output, see docs/server.md"
PRIORITY = 30


def add_arguments(parser: CommandParser) -> None:
    """It has none."""


def run(options: argparse.Namespace) -> None:
    """Serve until standard input ends."""
    from ..hosts.server.serving import main as serve

    serve()
