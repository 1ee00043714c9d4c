"""What is fuzzed: one kind a module, which offers `SHARE`, of all cases, `SECONDS` that one may take, and `Subject`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any, Protocol
from unicodedata import category

import numpy as np

NAMES = ("files", "words", "command_line", "session", "server", "saved")
"""Of the modules."""


class Subject(Protocol):
    """What cases of a kind are put to; prepared once for many of them."""

    def __init__(self, folder: Path) -> None:
        """Prepare what all cases share, in a folder."""

    def run(self, random: np.random.Generator, folder: Path) -> bool:
        """Make a case of random numbers in an empty folder, and try it.

        What makes it up is written to the folder before it is tried. The folder is the current one.

        Returns
        -------
        bool
            Whether there was an answer, and not a refusal.

        Raises
        ------
        Exception
            Anything: it has escaped.
        """

    def check(self) -> None:
        """Ask for what is right; raises anything where that is not answered right."""

    def close(self) -> None:
        """End what was begun."""


def module_of(name: str) -> Any:
    """The module of a kind."""
    return import_module(f"{__name__}.{name}")


def check_message(error: BaseException) -> None:
    """Whether a refusal is one that a user can read: one line, not empty, and not too long."""
    message = str(error)
    assert message, f"{type(error).__name__} without a word"
    one_line = all(character.isprintable() or category(character) == "Zs" for character in message)
    assert one_line, f"more than one line: {message!r}"
    assert len(message) < 2000, f"{len(message)} letters: {message[:200]}"
