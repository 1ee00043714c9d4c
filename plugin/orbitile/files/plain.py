"""Files as readers take them: not compressed, and text in UTF-8 without a mark, with line feeds at the ends of lines.

What is otherwise, is read from a copy that is so. Whether a file is compressed is told by its beginning, and not by its
name. Text that is not valid UTF-8 is taken for Latin-1, in which most programs write the titles that people give them.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import re
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from ..errors import FileError
from ..memory import available_memory

HEAD = 4096
"""Bytes at the beginning of a file by which it is recognised."""

_PIECE = 1 << 20

_ALWAYS, _RATIO = 100_000_000, 200
"""Bytes that any compressed file may expand to; a larger one to so many times its size. Smooth fields and text stay far
below it, and what was made to fill memory or disk is far beyond it."""

_FORMATS: tuple[tuple[bytes, str, Any], ...] = (
    (b"\x1f\x8b\x08", ".gz", gzip),
    (b"BZh", ".bz2", bz2),
    (b"\xfd7zXZ\0", ".xz", lzma),
)
"""First bytes, suffix, and the module that expands it."""

_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))

_PLACES = (
    (re.compile(r"\s*\[molden format\]", re.IGNORECASE), 0),
    (re.compile(r"\s*\$mkl\b", re.IGNORECASE), 0),
    (re.compile(r"\s*<\w"), 0),
    (re.compile(r"[A-Z]\w* +\d+ MOL ORBITALS +\d+ PRIMITIVES"), 1),
    (re.compile(r"(Number of atoms|Charge)  +I "), 2),
    (re.compile(r"\s*-?\d+(\s+-?\d*\.\d+){3}(\s+\d+)?\s*$"), 2),  # atoms and origin of a cube file
    (re.compile(r"[ \d]{4}\d[A-Z]\w*\s+\w+\s*\d+(\s+-?\d+\.\d+){3}"), 2),  # the first atom of a GRO file
)
"""Lines by which the formats that count lines from the first one are known, and how many lines stand above them there
(a title, which may be empty)."""


def text_of(data: bytes) -> str:
    """Text in UTF-8 or, with a byte order mark, UTF-16; otherwise in Latin-1. All line ends become line feeds.

    Two carriage returns before a line feed, which come of a conversion done twice, are one line end.
    """
    encoding = next((encoding for mark, encoding in _MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def beginning(path: Path) -> bytes:
    """The first bytes of a file, expanded where it is compressed, with text in UTF-8.

    Raises
    ------
    FileError
        When it cannot be read.
    """
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD)
        module = _compression(head)
        if module is not None:
            with module.open(path) as expanded:
                head = expanded.read(HEAD)
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise _damaged(path, error) from error
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or error})") from error
    return head if _is_binary(head) else text_of(head).lstrip("\n").encode()


def name_within(path: Path) -> str:
    """Name of a file without the suffix of its compression."""
    return path.stem if path.suffix.lower() in [suffix for _, suffix, _ in _FORMATS] else path.name


class PlainFile:
    """A file, or a plain copy of it that lasts as long as this object.

    Parameters
    ----------
    path
        The file.
    any_encoding
        Text that is not UTF-8 is left as it is: whoever reads the file decodes its parts, and it may be growing.

    Attributes
    ----------
    path : Path
        The file itself, if it is plain; otherwise the copy, whose name is that of the file, less the suffix of a
        compression.

    Raises
    ------
    FileError
        When it cannot be read, or a compressed file is damaged or expands to more than any that we read.
    """

    def __init__(self, path: Path, *, any_encoding: bool = False) -> None:
        self.path = path
        self._remove: Callable[[], object] | None = None
        try:
            if not path.is_file():
                return
            with path.open("rb") as stream:
                module = _compression(stream.read(HEAD))
            if module is None and _is_plain(path, any_encoding):
                return
            folder = Path(tempfile.mkdtemp(prefix="orbitile-"))
            self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self.path = folder / name_within(path)
            if module is not None:
                _expand(path, module, self.path)
            if module is None or not _is_plain(self.path, False):
                data = (path if module is None else self.path).read_bytes()
                self.path.write_text(_without_blank_lines(text_of(data)), encoding="utf-8", newline="\n")
        except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
            raise _damaged(path, error) from error
        except OSError as error:
            raise FileError(f"{path}: cannot be read ({error.strerror or error})") from error
        except MemoryError as error:
            raise FileError(f"{path.name}: too large for the memory of this machine") from error

    def close(self) -> None:
        """Remove the copy, if there is one."""
        if self._remove is not None:
            self._remove()

    def __enter__(self) -> PlainFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def check_expansion(name: str, packed: int, expanded: int) -> None:
    """Refuse what expands to more than any data of ours, or than memory has room for.

    Raises
    ------
    FileError
        When `expanded` bytes are too many for a file of `packed` bytes.
    """
    if expanded > max(_ALWAYS, _RATIO * packed):
        raise FileError(
            f"{name}: {packed} bytes expand to {max(expanded, 0) / 1e9:.1f} GB or more, expected {_RATIO} times as "
            "much at most; damaged, or made to fill memory. If it is meant so, expand it first"
        )
    room = available_memory()
    if room is not None and expanded > room:
        raise FileError(f"{name}: expands to {expanded / 1e9:.1f} GB, and {room / 1e9:.1f} GB of memory are free")


def _compression(head: bytes) -> Any:
    """The module that expands a file of such a beginning, or None."""
    return next((module for magic, _, module in _FORMATS if head.startswith(magic)), None)


def _expand(path: Path, module: Any, copy: Path) -> None:
    packed, expanded = path.stat().st_size, 0
    free = shutil.disk_usage(copy.parent).free
    with module.open(path) as source, copy.open("wb") as target:
        while piece := source.read(_PIECE):
            expanded += len(piece)
            check_expansion(path.name, packed, expanded)
            if expanded > free:
                raise FileError(
                    f"{path.name}: expands to more than the {free / 1e9:.1f} GB free in {copy.parent.parent}"
                )
            target.write(piece)
    if not expanded:
        raise FileError(f"{path.name}: the file is empty")


def _is_binary(head: bytes) -> bool:
    if b"\0" not in head:
        return False
    # every other byte of most text in UTF-16 is 0, and binary numbers may begin like its mark
    return not head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or "\0" in head.decode("utf-16", "replace")


def _is_plain(path: Path, any_encoding: bool) -> bool:
    """Whether a file is binary, or text that readers take as it is."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as stream:
        head = stream.read(HEAD)
        if _is_binary(head):
            return True
        if head.startswith(tuple(mark for mark, _ in _MARKS)) or b"\r" in head[:-1].replace(b"\r\n", b""):
            return False
        if not head.split(b"\n", 1)[0].strip() and _surplus(text_of(head).split("\n")):
            return False
        if any_encoding:
            return True
        piece = head
        while piece:
            if decoder.getstate()[0] or not piece.isascii():
                try:
                    decoder.decode(piece)
                except UnicodeDecodeError:
                    return False
            piece = stream.read(_PIECE)
    return not decoder.getstate()[0]


def _surplus(lines: list[str]) -> int:
    """Number of empty lines above what has to stand in a certain line, beyond those that belong there."""
    n_empty = next((n for n, line in enumerate(lines) if line.strip()), 0)
    for number, line in enumerate(lines[: n_empty + 4]):
        for pattern, place in _PLACES:
            if pattern.match(line):
                return min(n_empty, number - place)
    return 0


def _without_blank_lines(text: str) -> str:
    if text[:1].strip():
        return text
    lines = text[:HEAD].split("\n")
    return text.split("\n", surplus)[surplus] if (surplus := _surplus(lines)) > 0 else text


def _damaged(path: Path, error: Exception) -> FileError:
    return FileError(f"{path.name}: a compressed file that is cut off or damaged ({str(error)[:80]})")
