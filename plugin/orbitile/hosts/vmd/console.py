"""The commands of Orbitile in VMD's Python, with the names and arguments that they have everywhere.

    from orbitile.hosts.vmd.console import commands
    globals().update(commands())

They are VMD's Tcl commands, so that both consoles show and change the same things, and so that VMD's Python, which is
often an old one, needs nothing but its standard library.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


def commands(evaltcl: Callable[[str], str] | None = None) -> dict[str, Callable[..., str]]:
    """The commands by name.

    Parameters
    ----------
    evaltcl
        Evaluates Tcl; otherwise VMD's own function does.
    """
    run = evaltcl or _evaltcl_of_vmd()
    return {name: _command(run, name) for name in run("set ::orbitile::names").split()}


def _evaltcl_of_vmd() -> Callable[[str], str]:
    try:
        module = import_module("vmd")
    except ImportError:
        module = import_module("VMD")  # its name in the Python that VMD embeds
    return module.evaltcl


def _command(evaltcl: Callable[[str], str], name: str) -> Callable[..., str]:
    def command(*arguments: Any, **named: Any) -> str:
        words = [str(argument) for argument in arguments]
        for key, value in named.items():
            words += [f"-{key}", str(value)]
        return str(evaltcl(" ".join([f"::{name}", *map(_quoted, words)])))

    command.__name__ = command.__qualname__ = name
    command.__doc__ = f"{name} as in VMD's Tcl."
    return command


def _quoted(text: str) -> str:
    """A word of Tcl in double quotes, of which nothing is replaced."""
    for special in '\\"$[]{}':
        text = text.replace(special, "\\" + special)
    return f'"{text}"'
