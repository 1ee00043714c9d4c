"""Folders and archives of calculations, which file of one is read, and files within archives (`job.zip!inner.molden`).

Those of the uppermost level that has any are looked at. Files with all digits come before logs; of one kind, the last
of a numbered series, or the newest. Where none of this decides, nothing does, and the user is asked.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

from ..base.errors import FileError
from ..base.temporary import own_folder
from ..files import hdf5
from ..files.archives import MOST_ENTRIES, Entry, entries_of, extract, is_archive, is_hidden, is_named
from ..files.plain import beginning
from ._formats import KINDS, by_name, folder_patterns, patterns, reader_modules, reader_of, within_hdf5
from ._isolation import isolated

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


MEMBER = "!"
"""What stands between the name of an archive and that of a file in it."""

_DEEPEST = 2
"""Folders within folders that are looked into."""

_MOST_HEADS = 300
"""Files of a folder whose beginnings are read."""


class Place:
    """A folder or an archive.

    Parameters
    ----------
    path
        Where it is.

    Raises
    ------
    FileError
        When it cannot be read, or holds more files than any of ours.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._patterns = tuple(patterns("wavefunction", "trajectory"))
        self._folder = path.is_dir()
        self._entries = self._in_folder() if self._folder else self._in_archive()
        self._names = {entry.name for entry in self._entries}

    @property
    def separator(self) -> str:
        """What stands between its name and that of a file in it."""
        return "/" if self._folder else MEMBER

    def choices(self, *, frames: bool = False) -> list[Choice]:
        """What could be read in it, the best first; files of trajectories alone only where `frames` are wanted.

        Raises
        ------
        FileError
            When there is nothing.
        """
        found = choices(self._entries, self._rank_of_frames if frames else self._rank)
        if not found:
            nested = [entry.name for entry in self._entries if is_named(entry.name, ("*.zip", "*.tar", "*.tgz"))]
            hint = f"; {nested[0]} there may have one, unpack it first" if nested else ""
            what = "a folder" if self._folder else "an archive"
            raise FileError(f"{self.path}: is {what} without a file with orbitals that we read{hint}")
        return found

    def one(self, choice: Choice) -> None:
        """Refuse a choice that is none.

        Raises
        ------
        FileError
            When several files are as good.
        """
        if choice.others:
            raise ambiguity("folder" if self._folder else "archive", str(self.path.absolute()), choice, self.separator)

    def files(self, entries: tuple[Entry, ...]) -> list[Path]:
        """Files of this place, those of an archive as copies that last as long as this object.

        Raises
        ------
        FileError
            When they cannot be unpacked.
        """
        if self._folder:
            return [self.path / entry.name for entry in entries]
        folder = tempfile.mkdtemp(dir=own_folder())
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        wanted = dict.fromkeys(entry.name for entry in entries)
        for entry in entries:
            reader = reader_of(entry, "wavefunction")
            if reader is not None and reader.read_beside is not None:
                parent = PurePosixPath(entry.name).parent
                wanted |= dict.fromkeys(e.name for e in self._entries if PurePosixPath(e.name).parent == parent)
        if len({PurePosixPath(name).name for name in wanted}) < len(wanted):
            raise FileError(f"{self.path.name}: frames of the same name in several folders; unpack the archive first")
        _isolated(extract, self.path, str(self.path.absolute()), tuple(wanted), folder)
        return [Path(folder, PurePosixPath(entry.name).name) for entry in entries]

    def named(self, name: str) -> Entry:
        """The file of that path.

        Raises
        ------
        FileError
            When there is none.
        """
        for entry in self._entries:
            if entry.name == name:
                return entry
        raise FileError(f"{self.path}: no file {name} in this archive")

    def called(self, entry: Entry) -> str:
        """What a file of this place is called."""
        return f"{self.path}{self.separator}{entry.name}"

    def _rank(self, entry: Entry, kinds: tuple[str, ...] = ("wavefunction",)) -> Rank | None:
        """How good a file is."""
        if not is_named(entry.name, self._patterns):
            return None
        reader = next((found for kind in kinds if (found := reader_of(entry, kind)) is not None), None)
        if entry.head.startswith(hdf5.SIGNATURE) and self._folder:
            try:
                reader = within_hdf5(self.path / entry.name) or reader
            except FileError:  # of no kind that we know
                return None
        if reader is None:
            return None
        main = f"{entry.name.rpartition('/')[0]}/{reader.PATTERNS[0]}".lstrip("/")
        if entry.name != main and main in self._names:
            return None  # it belongs to that file
        fitting = (n for n, pattern in enumerate(reader.PATTERNS) if is_named(entry.name, (pattern,)))
        place = list(reader_modules().values()).index(reader)
        return not reader.ALL_DIGITS, place, next(fitting, len(reader.PATTERNS))

    def _rank_of_frames(self, entry: Entry) -> Rank | None:
        return self._rank(entry, ("wavefunction", "trajectory"))

    def _in_archive(self) -> tuple[Entry, ...]:
        return _isolated(entries_of, self.path, str(self.path.absolute()), self._patterns)

    def _in_folder(self) -> tuple[Entry, ...]:
        """Files in this folder and those within; what cannot be looked into is passed over."""
        as_files = tuple(folder_patterns())
        found: list[Entry] = []
        looked_at = 0
        folders = [("", self.path)]
        for prefix, folder in folders:
            for entry in _listed(folder, must=folder == self.path):
                looked_at += 1
                if looked_at > MOST_ENTRIES:
                    raise FileError(f"{self.path}: expected {MOST_ENTRIES} files at most; name the one to read")
                name = f"{prefix}{entry.name}"
                with suppress(OSError):  # what has just been removed
                    is_folder, status = entry.is_dir(follow_symlinks=False), entry.stat()
                    if is_folder and not is_named(name, as_files):
                        if name.count("/") < _DEEPEST and not is_hidden(entry.name):
                            folders.append((f"{name}/", Path(entry.path)))
                    elif (is_folder or (entry.is_file() and status.st_size)) and not is_hidden(entry.name):
                        found.append(Entry(name, status.st_size, status.st_mtime))
        found.sort(key=lambda entry: entry.name)
        wanted = [n for n, entry in enumerate(found) if is_named(entry.name, self._patterns)][:_MOST_HEADS]
        for n in wanted:
            found[n] = replace(found[n], head=_head(self.path / found[n].name))
        return tuple(found)


def _listed(folder: Path, *, must: bool) -> Iterator[os.DirEntry[str]]:
    """What is in a folder; of one that cannot be read nothing, unless it must be."""
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError as error:
        if must:
            raise FileError(f"{folder}: cannot be read ({error.strerror or error})") from error


def is_place(path: Path) -> bool:
    """Whether at a path there is a folder, or an archive, that no reader takes for a file.

    Raises
    ------
    FileError
        When it is a file that cannot be read.
    """
    if path.is_dir():
        return not any(path.match(pattern) for pattern in folder_patterns())
    return path.is_file() and all(by_name(path, kind) is None for kind in KINDS) and is_archive(path)


def within_archive(text: str) -> tuple[Path, str] | None:
    """Archive and path in it, of `job.zip!inner.molden`; None of anything else."""
    text = os.path.expanduser(text)
    at = text.find(MEMBER)
    while at > 0 and not os.path.exists(text):
        if os.path.isfile(text[:at]):
            return Path(text[:at]), text[at + 1 :]
        at = text.find(MEMBER, at + 1)
    return None


def _isolated(function: Callable[..., Any], path: Path, *arguments: object) -> Any:
    return isolated(function, *arguments, name=path.name, library="Python", size=path.stat().st_size)


def _head(path: Path) -> bytes:
    """Beginning of a file; nothing of a folder, or of what cannot be read, which is told where it is chosen."""
    try:
        return beginning(path) if path.is_file() else b""
    except FileError:
        return b""
