"""Which file of a folder or an archive is the one to be read.

Those of the uppermost level that has any are looked at. Files with all digits come before logs; of one kind, the last
of a numbered series, or the newest. Where none of this decides, nothing does, and the user is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import groupby
from pathlib import PurePosixPath

from ..errors import FileError
from ..files.archives import Entry

Rank = tuple[bool, int, int]
"""Whether digits are missing, the place of the reader among readers, and of the pattern among its patterns."""

_SAME_TIME = 2.0
"""Seconds that times of files may differ without meaning anything; those of ZIP and FAT are counted in twos."""

_NAMED = 5
"""Files that a message names."""


@dataclass(frozen=True)
class Choice:
    """Files of one kind, of which the last one is the one to be read.

    Attributes
    ----------
    entries : tuple of Entry
        All frames of a numbered series; otherwise one file.
    why : str
        Why it is this one, as the end of a sentence.
    others : tuple of str
        Names of others of this kind between which nothing decides; then there is no choice.
    """

    entries: tuple[Entry, ...]
    why: str
    others: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Path of the file."""
        return self.entries[-1].name


def choices(entries: Iterable[Entry], rank: Callable[[Entry], Rank | None]) -> list[Choice]:
    """What could be read, the best first.

    Parameters
    ----------
    entries
        Files of a folder or an archive.
    rank
        How good a file is, smaller ones being better; None of one without orbitals.
    """
    ranked = [(place, entry) for entry in entries if (place := rank(entry)) is not None]
    if not ranked:
        return []
    top = min(_depth(entry) for _, entry in ranked)
    ranked = sorted(((place, entry) for place, entry in ranked if _depth(entry) == top), key=lambda pair: pair[0])
    n_logs = sum(place[0] for place, _ in ranked)
    kinds = groupby(ranked, key=lambda pair: pair[0])
    return [_of_one_kind([entry for _, entry in kind], len(ranked), 0 if place[0] else n_logs) for place, kind in kinds]


def ambiguity(kind: str, place: str, choice: Choice, separator: str) -> FileError:
    """What a user is told between whose files nothing decides."""
    names = sorted((choice.name, *choice.others))
    shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    example = f"{place.rstrip('/')}{separator}{names[0]}"
    return FileError(f"{place}: several files of this {kind} are as good: {shown}. Choose one, as {example}")


def _depth(entry: Entry) -> int:
    return entry.name.count("/")


def _of_one_kind(entries: list[Entry], n_files: int, n_logs: int) -> Choice:
    """The choice between files that are equally complete, of so many with orbitals, some of which are poorer logs."""
    if len(entries) == 1:
        if n_files == 1:
            return Choice((entries[0],), "the only file there with orbitals")
        digits = " that has all digits, as logs have not" if n_logs == n_files - 1 else ""
        return Choice((entries[0],), f"the one of {n_files} files with orbitals{digits or ' that comes first'}")
    here = len({PurePosixPath(entry.name).parent for entry in entries}) == 1
    if here and len({re.sub(r"\d+", "#", entry.name) for entry in entries}) == 1:
        series = tuple(sorted(entries, key=lambda entry: _numbers(entry.name)))
        return Choice(series, f"the last of {len(series)} numbered files")
    newest, *rest = sorted(entries, key=lambda entry: -entry.modified)
    if here and newest.modified - rest[0].modified > _SAME_TIME:
        return Choice((newest,), f"the newest of {len(entries)} of its kind")
    return Choice((newest,), "", tuple(entry.name for entry in rest))


def _numbers(name: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"\d+", name)]
