"""The command `orbitile`: one command a module, found by name.

A module states `HELP`, offers `add_arguments(parser)` and `run(options)`, and may state `PRIORITY`, by which the help
lists the commands. Those that begin with an underscore are what commands share.

Lengths on the command line are in Angstrom, energies in electronvolt, isovalues in atomic units. Results go to standard
output, notes and progress to standard error. Exit status: 0 done, 2 for a request that cannot be met (one line says
why), 1 for an internal error, 130 when interrupted, 143 and 129 when ended by SIGTERM and SIGHUP.
"""

from __future__ import annotations

import argparse
import gc
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from .. import __version__
from ..base.errors import OrbitileError
from ..base.imports import safe_imports
from ..base.registry import module_of, modules_of
from ._arguments import CommandParser, Parser, add_common
from ._console import Terminated, ended_in_order, standard_streams

_EPILOG = """\
examples:
  orbitile info benzene.molden
  orbitile render benzene.molden homo -o homo.png
  orbitile render benzene.molden homo lumo --legend --scale -o frontier.png
  orbitile render job.fchk lumo+1:beta --isovalue 0.02 --quality fine --background transparent
  orbitile volume job.molden mo:17 -o mo17.cube --spacing 0.1
  orbitile volume job.molden mo:1-10 -o mo%02d.cube
  orbitile mesh job.molden homo -o homo.glb
"""


class Command(Protocol):
    """What a module offers that is a command; its name is that of the module, with hyphens."""

    HELP: str
    """What it does, in a line of the list of commands: in small letters, without a full stop."""

    def add_arguments(self, parser: CommandParser) -> None:
        """State its arguments."""

    def run(self, options: argparse.Namespace) -> None:
        """Do it, and print the result; raises an `OrbitileError` when the request cannot be met."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, of the process's own arguments if none are given; returns the exit status."""
    with standard_streams(), safe_imports(), _rarely_collecting(and_last=arguments is None):
        return _run(arguments)


@contextmanager
def _rarely_collecting(*, and_last: bool) -> Iterator[None]:
    """Look for garbage less often: imports make a hundred thousand objects and no garbage.

    Where this is the last that a process does, nothing is looked through any more: Python does so several times when it
    ends, which takes a fifth of a second, and all memory goes back to the system anyway.
    """
    before = gc.get_threshold()
    gc.set_threshold(_OBJECTS, *before[1:])
    try:
        yield
    finally:
        if and_last:
            gc.freeze()
        gc.set_threshold(*before)


_OBJECTS = 100_000
"""New objects after which garbage is looked for."""


def _run(arguments: Sequence[str] | None) -> int:
    arguments = sys.argv[1:] if arguments is None else arguments
    is_debugged = "--debug" in arguments
    try:
        with ended_in_order():
            options = _parser(_commands_for(arguments)).parse_args(_with_negative_values(arguments))
            _refuse_to_overwrite(options)
            _mark_damaged(options)
            options.run(options)
            sys.stdout.flush()
    except OrbitileError as error:
        if is_debugged:
            raise
        print(f"orbitile: {error}", file=sys.stderr)
        return 2
    except MemoryError:
        if is_debugged:
            raise
        print("orbitile: out of memory; choose a larger --spacing or a smaller --margin", file=sys.stderr)
        return 2
    except KeyboardInterrupt as error:
        status = error.status if isinstance(error, Terminated) else 130
        with suppress(OSError):  # the terminal may have gone, which is what SIGHUP says
            print(f"orbitile: interrupted{f' by {error}' if str(error) else ''}", file=sys.stderr)
        return status
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if is_debugged:
            raise
        from ..files.reading import shortage_of

        if (shortage := shortage_of(error)) is not None:
            print(f"orbitile: {shortage}", file=sys.stderr)
            return 2
        print(
            f"orbitile: internal error (please report): {type(error).__name__}: {error} (--debug shows where)",
            file=sys.stderr,
        )
        return 1
    return 0


def _mark_damaged(options: argparse.Namespace) -> None:
    """Behind what is to be read though it may be damaged, write so: all that reads files understands it."""
    if getattr(options, "accept_damaged", False):
        from ..readers import ACCEPTED

        for name in ("file", "trajectory"):
            if hasattr(options, name):
                setattr(options, name, f"{getattr(options, name)}{ACCEPTED}")


def known_commands() -> Mapping[str, Command]:
    """All commands by name, as they are typed."""
    from ._analysis import analysis_commands

    ours = modules_of(__name__, Command)
    analyses = {name: module for name, module in analysis_commands().items() if name not in ours}
    found: dict[str, Command] = {**ours, **analyses}
    return {name.replace("_", "-"): module for name, module in found.items()}


def _commands_for(arguments: Sequence[str]) -> Mapping[str, Command]:
    """The command that is asked for, where it is a module of ours: others, and all analyses, need not be imported."""
    name = arguments[0] if arguments else ""
    module = module_of(__name__, Command, name.replace("-", "_")) if "_" not in name else None
    return known_commands() if module is None else {name: module}


def _parser(commands: Mapping[str, Command]) -> argparse.ArgumentParser:
    parser = Parser(
        prog="orbitile",
        description="Molecular orbitals from the output of quantum-chemistry programs",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"orbitile {__version__}")
    parsers: Any = parser.add_subparsers(title="commands", required=True, metavar="COMMAND", parser_class=CommandParser)
    for name, module in commands.items():
        description = f"{module.HELP[0].upper()}{module.HELP[1:]}."
        command = parsers.add_parser(name, help=module.HELP, description=description)
        add_common(command)
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    return parser


def _with_negative_values(arguments: Sequence[str]) -> list[str]:
    """The arguments, with values such as -60,15,0 and -1e-3 tied to their options: argparse takes them for options."""
    tied: list[str] = []
    for argument in arguments:
        if re.match(r"-[.\d]", argument) and tied and re.fullmatch(r"--[a-z][a-z-]*", tied[-1]):
            tied[-1] += f"={argument}"
        else:
            tied.append(argument)
    return tied


def _refuse_to_overwrite(options: argparse.Namespace) -> None:
    """No command writes to a file that it reads, be it the molecule, a frame, or what a field refers to."""
    if not getattr(options, "output", None):
        return
    from ..files.writing import refuse_inputs

    named = vars(options)
    inputs = [named[name] for name in ("file", "trajectory", "geometries", "topology", "frames") if named.get(name)]
    inputs += named.get("files") or []
    fields = [named.get("field"), named.get("color_by"), *(named.get("fields") or [])]
    inputs += [field.partition(":")[2] for field in fields if field]
    refuse_inputs(options.output, filter(None, inputs))
