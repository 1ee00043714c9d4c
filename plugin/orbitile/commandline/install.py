"""`orbitile install`: Orbitile in a program that shows molecules."""

from __future__ import annotations

import argparse

from ._arguments import CommandParser

HELP = "add Orbitile to a program that shows molecules"
PRIORITY = 40


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    parser.add_argument_of_formats("host", metavar="HOST", nargs="?", help=_help)
    parser.add_argument("--uninstall", action="store_true", help="remove it again")
    parser.add_argument("--python", metavar="PATH", help="Python to compute with, where that of the host lacks Taichi")


def run(options: argparse.Namespace) -> None:
    """Write to the start-up files of the host, or take away what was written, and print what was done."""
    from ..hosts import installable_hosts, installation_of

    if options.host is None:
        for name, title in installable_hosts().items():
            installation = installation_of(name)
            place, found = installation.status(), installation.find()
            installed = f"Orbitile is installed in {place}" if place else "Orbitile is not installed"
            print(f"{name}  {title}, {f'found at {found}' if found else 'not found on the path'}; {installed}")
        return
    installation = installation_of(options.host)
    for line in installation.uninstall() if options.uninstall else installation.install(options.python):
        print(line)


def _help() -> str:
    from ..hosts import installable_hosts

    *others, last = installable_hosts()
    return f"{', '.join(others)} or {last} (default: none, and say where Orbitile is installed)"
