"""Archives: what is in them, and single files of them; nothing is ever unpacked by the paths that an archive names."""

from __future__ import annotations

import struct
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any

from ..base.errors import FileError
from .encodings import beginning_of_text, is_binary
from .plain import HEAD, PlainFile, beginning, matching, name_within, write_bounded

MOST_ENTRIES = 100_000
"""Entries of an archive or a folder that are looked at; one of more is refused."""

_MOST_HEADS = 300
"""Files whose beginnings are read, of those with names that were asked for."""

_LONGEST_DIRECTORY = 300 * MOST_ENTRIES
"""Bytes of the directory of a ZIP archive."""

_OTHERS = ((b"7z\xbc\xaf\x27\x1c", "7-Zip"), (b"Rar!\x1a\x07", "RAR"))
_TAR = slice(257, 262)


@dataclass(frozen=True)
class Entry:
    """A file of an archive or a folder.

    Attributes
    ----------
    name : str
        Its path there, with slashes.
    size : int
        Bytes.
    modified : float
        When it was written, in seconds; of an archive as its clock had it.
    head : bytes
        Its first bytes, expanded and as UTF-8 as of `beginning`; empty where they were not asked for or cannot be read.
    """

    name: str
    size: int
    modified: float
    head: bytes = b""


def is_archive(path: Path) -> bool:
    """Whether a file is an archive that is read, by its beginning.

    Raises
    ------
    FileError
        When it cannot be read, or is an archive of another kind.
    """
    head = beginning(path)
    for signature, name in _OTHERS:
        if head.startswith(signature):
            raise FileError(f"{path.name}: archives of {name} are not read, only those of ZIP and tar; unpack it first")
    return head.startswith((b"PK\3\4", b"PK\5\6")) or head[_TAR] == b"ustar"


def entries_of(path: str, patterns: tuple[str, ...]) -> tuple[Entry, ...]:
    """Files in an archive: regular ones, no links, and none that is hidden.

    Parameters
    ----------
    path
        The archive.
    patterns
        Names, in small letters, of files whose beginnings are wanted.

    Raises
    ------
    FileError
        When it is damaged, or has more entries than any of ours.
    """
    with _opened(Path(path)) as archive:
        found, heads = [], 0
        for name, size, modified, member in archive.files():
            head = b""
            if heads < _MOST_HEADS and is_named(name, patterns):
                heads += 1
                head = archive.head(member)
            found.append(Entry(name, size, modified, head))
        return tuple(found)


def extract(path: str, names: tuple[str, ...], folder: str) -> None:
    """Write files of an archive into a folder, under their own names without those of their folders.

    Raises
    ------
    FileError
        When one is not there, is damaged, is encrypted, or expands to more than there is room for.
    """
    with _opened(Path(path)) as archive:
        wanted, written = dict.fromkeys(names), 0
        for name, _, _, member in archive.files():
            if name in wanted:
                with archive.stream(member) as source:
                    copy = Path(folder, PurePosixPath(name).name)
                    written += write_bounded(source, copy, f"{archive.name}!{name}", archive.size, written)
                del wanted[name]
                if not wanted:
                    return
    missing = next(iter(wanted))
    raise FileError(f"{Path(path).name}: no file {missing} in this archive")


def is_named(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether the last part of a path fits one of the patterns."""
    return matching(patterns).fullmatch(name_within(name.rpartition("/")[2]).lower()) is not None


def is_hidden(name: str) -> bool:
    """Whether a part of a path begins with a point, or is what macOS adds to archives."""
    return name.startswith((".", "__MACOSX/")) or "/." in name


@dataclass(frozen=True)
class _Archive:
    """An archive that is open.

    Attributes
    ----------
    name : str
    size : int
        Bytes of the archive itself.
    members : iterable of tuple
        Name, size, time, whether it is a regular file, and what stands for it, of each entry.
    open : callable
        Opens the contents of what stands for a file.
    """

    name: str
    size: int
    members: Iterable[tuple[str, int, float, bool, Any]]
    open: Callable[[Any], IO[bytes] | None]

    def files(self) -> Iterator[tuple[str, int, float, Any]]:
        """Name, size, time and member of each file."""
        for number, (raw, size, time, regular, member) in enumerate(self.members):
            if number >= MOST_ENTRIES:
                raise FileError(f"{self.name}: expected an archive of {MOST_ENTRIES} entries at most; unpack it first")
            name = raw.replace("\\", "/").removeprefix("./")
            if regular and size and not is_hidden(name) and ".." not in PurePosixPath(name).parts:
                yield name, size, time, member

    @contextmanager
    def stream(self, member: Any) -> Iterator[IO[bytes]]:
        """The contents of a file."""
        source = self.open(member)
        if source is None:
            raise FileError(f"{self.name}: damaged archive")
        with source:
            yield source

    def head(self, member: Any) -> bytes:
        """First bytes of a file; none where it is damaged, which whoever reads it is told."""
        try:
            with self.stream(member) as source:
                head = source.read(HEAD)
        except (FileError, *_DAMAGES):
            return b""
        return head if is_binary(head) else beginning_of_text(head).lstrip("\n").encode()


def _zip(path: Path, archive: zipfile.ZipFile) -> _Archive:
    def members() -> Iterator[tuple[str, int, float, bool, Any]]:
        for member in archive.infolist():
            kind = (member.external_attr >> 16) & 0o170000  # 0 where it was not packed on Unix
            regular = not member.is_dir() and kind in (0, 0o100000)
            yield member.filename, member.file_size, _seconds(member), regular, member

    def opened(member: Any) -> IO[bytes]:
        if member.flag_bits & 1:
            raise FileError(f"{path.name}!{member.filename}: is encrypted; unpack the archive first")
        return archive.open(member)

    return _Archive(path.name, path.stat().st_size, members(), opened)


def _tar(path: Path, archive: tarfile.TarFile) -> _Archive:
    members = ((entry.name, entry.size, float(entry.mtime), entry.isreg(), entry) for entry in archive)
    return _Archive(path.name, path.stat().st_size, members, archive.extractfile)


_DAMAGES = (zipfile.BadZipFile, tarfile.TarError, EOFError, OSError, NotImplementedError, RuntimeError, ValueError)
"""What is raised of a damaged archive, or one whose compression this Python lacks."""


@contextmanager
def _opened(path: Path) -> Iterator[_Archive]:
    try:
        with path.open("rb") as stream:
            zipped = stream.read(2) == b"PK"
        if zipped:
            _check_directory(path)
            with zipfile.ZipFile(path) as archive:
                yield _zip(path, archive)
        else:
            with PlainFile(path) as plain, tarfile.open(plain.path, "r:") as tar:
                yield _tar(path, tar)
    except FileError:
        raise
    except (*_DAMAGES, struct.error) as error:
        raise FileError(f"{path.name}: damaged archive ({type(error).__name__}: {str(error)[:80]})") from error


def _check_directory(path: Path) -> None:
    """Refuse a ZIP archive whose directory, which is read as a whole, is longer than that of any of ours."""
    with path.open("rb") as stream:
        end = stream.seek(0, 2)
        start = max(0, end - 70_000)  # the record at the end, with the longest comment
        stream.seek(start)
        tail = stream.read()
        at = tail.rfind(b"PK\5\6")
        if at < 0:
            raise FileError(f"{path.name}: damaged archive: cut off")
        (length,) = struct.unpack_from("<I", tail, at + 12)
        if length == 0xFFFFFFFF:
            (place,) = struct.unpack_from("<Q", tail, at - 20 + 8)
            stream.seek(place)
            (length,) = struct.unpack_from("<Q", stream.read(56), 40)
    if length > _LONGEST_DIRECTORY:
        raise FileError(f"{path.name}: expected an archive of {MOST_ENTRIES} entries at most; unpack it first")


def _seconds(member: zipfile.ZipInfo) -> float:
    try:
        return datetime(*member.date_time).timestamp()
    except (ValueError, OverflowError):  # a damaged date
        return 0.0
