"""`orbitile install`: Orbitile in a program that shows molecules, and its kernels compiled for this machine."""

from __future__ import annotations

import argparse
import sys
import time

from ._arguments import CommandParser
from ._console import progress_bar, stoppable, tell

HELP = "add Orbitile to a program that shows molecules, and compile its kernels"
PRIORITY = 40

_EVERY = 0.05
"""Seconds between two looks at what the compiler has done."""
_PICTURES = 0.6
"""Share of the work after which pictures have what they need; the rest is for self-consistent fields."""


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    parser.description = (
        f"{HELP[0].upper()}{HELP[1:]}. Kernels are compiled once for the default device, which takes up to "
        "a minute, and kept in the cache folder of the user. If Ctrl-C ends this, the rest is "
        "compiled when it is first needed."
    )
    parser.add_argument_of_formats("host", metavar="HOST", nargs="?", help=_help)
    parser.add_argument("--uninstall", action="store_true", help="remove Orbitile from the program")
    parser.add_argument("--python", metavar="PATH", help="Python to compute with, if that of the program lacks Taichi")
    parser.add_argument(
        "--no-scripts",
        action="store_true",
        help="do not write the start-up file that gives the commands to scripts without a window (PyMOL; at a terminal "
        "you are asked)",
    )
    parser.add_argument("--no-kernels", action="store_true", help="compile kernels only when they are first needed")


def run(options: argparse.Namespace) -> None:
    """Write to the start-up files of the host, or take away what was written, print what was done, and compile."""
    from ..hosts import hosts, installable_hosts, installation_of

    if options.host is None:
        for name, title in installable_hosts().items():
            installation = installation_of(name)
            place, found = installation.status(), installation.find()
            installed = f"Orbitile is installed in {place}" if place else "Orbitile is not installed"
            print(f"{name}  {title}, {f'found at {found}' if found else 'not found on the path'}; {installed}")
    else:
        installation = installation_of(options.host)
        _tell(installation.uninstall() if options.uninstall else installation.install(options.python))
        for_scripts = getattr(installation, "install_for_scripts", None)
        if for_scripts and not (options.uninstall or options.no_scripts) and _agreed(hosts()[options.host].TITLE):
            _tell(for_scripts(options.python))
    if not (options.uninstall or options.no_kernels):
        _compile(options)


def _tell(lines: list[str]) -> None:
    """Print at once, also into a pipe."""
    for line in lines:
        print(line, flush=True)


def _agreed(title: str) -> bool:
    """Whether whoever sits at a terminal wants a start-up file for scripts; elsewhere the option says."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stdout.isatty()):
        return True
    try:
        answer = input(f"Add a start-up file, so that {title} has the commands in scripts without a window? [Y/n] ")
    except EOFError:
        print()
        return False
    return answer.strip().lower() in ("", "y", "yes")


def _compile(options: argparse.Namespace) -> None:
    """In the process that the host would use, which says what it has come to while the compiler works."""
    from ..evaluation.preparation import PREPARING
    from ..session.computing import Preparing, SampleWorker
    from ..session.live.calculating import rehearse

    worker = SampleWorker(options.python)
    preparing = Preparing(worker.run, "auto")
    try:
        with stoppable() as stopped, progress_bar(options, PREPARING) as progress:
            told = ""
            while not (preparing.is_over or stopped()):
                preparing.look(True)
                if preparing.text not in (told, ""):
                    told = _step(options, preparing.text)
                progress(_PICTURES * preparing.share)
                time.sleep(_EVERY)
            if preparing.is_over and preparing.error is None:
                _step(options, "preparing self-consistent fields of live molecules")
                fields = worker.run(rehearse, "auto")
                while not (fields.done() or stopped()):
                    time.sleep(_EVERY)
    finally:
        worker.close()
    if preparing.error is not None:
        tell(f"kernels were not compiled: {preparing.error}")
    elif preparing.is_over:
        print("kernels are ready")


def _step(options: argparse.Namespace, text: str) -> str:
    """Tell what is done where no bar does; gives the text."""
    if not (options.quiet or sys.stderr.isatty()):
        tell(text)
    return text


def _help() -> str:
    from ..hosts import installable_hosts

    *others, last = installable_hosts()
    return f"{', '.join(others)} or {last} (default: only show where Orbitile is installed)"
