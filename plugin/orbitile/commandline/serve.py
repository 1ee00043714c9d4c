"""`orbitile serve`: the server that viewers without Python talk to."""

from __future__ import annotations

import argparse

from ._arguments import CommandParser

HELP = "serve a viewer over standard input and output, see docs/server.md"
PRIORITY = 30


def add_arguments(parser: CommandParser) -> None:
    """State its argument."""
    parser.add_argument("--schema", action="store_true", help="print its messages as JSON Schema, and do not serve")


def run(options: argparse.Namespace) -> None:
    """Serve until standard input ends, or print what is said then."""
    if options.schema:
        import json

        from ..hosts.server.requests import schema

        print(json.dumps(schema(), indent=1))
        return
    from ..hosts.server.serving import main as serve

    serve()
