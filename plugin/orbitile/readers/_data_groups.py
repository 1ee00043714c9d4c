"""Data groups of Turbomole: `$name options` and the lines below, in `control` or in the file that `control` names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import FileError
from ..files.encodings import text_of
from ..files.plain import PlainFile
from ..files.reading import read_bytes


@dataclass(frozen=True)
class Group:
    """A data group.

    Attributes
    ----------
    options : str
        What follows its name in the line of its name.
    lines : tuple of str
        The lines below, without comments and empty ones.
    file : str
        Name of the file in which it stands.
    """

    options: str
    lines: tuple[str, ...]
    file: str


def groups_of(control: Path) -> dict[str, Group]:
    """Data groups by name, those in files beside `control` too; files that are not there are passed over.

    Raises
    ------
    FileError
        When a file cannot be read, or is in another folder: what a calculation refers to anywhere else is not read.
    """
    groups = groups_in(control)
    for name, group in list(groups.items()):
        other = re.search(r"\bfile=(\S+)", group.options)
        if other is None or name not in _WANTED:
            continue
        path = control.parent / other[1]
        if path.parent != control.parent or path.is_symlink():
            raise FileError(
                f"{control.name}: ${name} is in {other[1]}, expected a file of the same folder; copy it there"
            )
        found = groups_in(path).get(name) if path.is_file() else None
        if found is None:
            del groups[name]
        else:
            groups[name] = found
    return groups


def files_named_in(control: Path) -> tuple[Path, ...]:
    """Files in which there are the groups that are read, as `control` names them."""
    groups = groups_in(control)
    found = (re.search(r"\bfile=(\S+)", groups[name].options) for name in _WANTED if name in groups)
    return tuple(dict.fromkeys(control.parent / match[1] for match in found if match is not None))


_WANTED = ("coord", "basis", "ecp", "energy", "scfmo", "uhfmo_alpha", "uhfmo_beta")
"""Groups whose files are read; others may be large."""


def groups_in(path: Path) -> dict[str, Group]:
    """Data groups of one file by name."""
    with PlainFile(path) as plain:
        text = text_of(read_bytes(plain.path))
    groups: dict[str, Group] = {}
    for part in re.split(r"^\$", text, flags=re.MULTILINE)[1:]:
        heading, _, rest = part.partition("\n")
        words = re.match(r"(alpha shells|beta shells|closed shells|open shells|\S+)\s*(.*)", heading)
        if words is not None and words[1] != "end":
            lines = tuple(line for line in rest.split("\n") if line.strip() and not line.lstrip().startswith("#"))
            groups.setdefault(words[1], Group(words[2].strip(), lines, path.name))
    return groups


def group(groups: Mapping[str, Group], name: str, control: Path, remedy: str) -> Group:
    """A group that has to be there.

    Raises
    ------
    FileError
        When it is not, or its file is missing.
    """
    if name not in groups:
        raise FileError(
            f"{control.name}: no ${name} there, nor in a file beside it that {control.name} names; {remedy}"
        )
    return groups[name]


def counted(text: str) -> list[int]:
    """Numbers of a list such as `1-3,7`, from 1.

    Raises
    ------
    ValueError
        When it is none, or longer than any of ours.
    """
    numbers: list[int] = []
    for part in text.replace(" ", "").split(","):
        low, _, high = part.partition("-")
        first, last = int(low), int(high or low)
        if not 0 < first <= last < 1_000_000:
            raise ValueError(f"{part} in a list of numbers")
        numbers += range(first, last + 1)
    return numbers
