"""Files as readers take them: not compressed, and text in UTF-8 without a mark, with line feeds at the ends of lines.

What is otherwise, is read from a copy that is so. Whether a file is compressed is told by its beginning, and not by its
name; of encodings see `encodings`.
"""

from __future__ import annotations

import codecs
import fnmatch
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from types import TracebackType

from ..base.errors import FileError
from ..base.memory import share
from ..base.temporary import own_folder
from .compression import SUFFIXES, compression_of, expand, expanded
from .encodings import beginning_of_text, is_binary, text_of, unicode_encoding

HEAD = 4096
"""Bytes at the beginning of a file by which it is recognised."""

_PIECE = share("piece of a file")

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
        compression = compression_of(head)
        if compression is not None:
            with expanded(path, compression) as content:
                head = content.read(HEAD)
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or error})") from error
    return head if is_binary(head) else beginning_of_text(head).lstrip("\n").encode()


@lru_cache(maxsize=64)
def matching(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """What names fit that one of several patterns such as "*.molden" stands for."""
    return re.compile("|".join(map(fnmatch.translate, patterns)) or r"(?!)")


def name_within(name: str) -> str:
    """Name of a file without the ending of its compression."""
    ending = next((suffix for suffix in SUFFIXES if name[1:].lower().endswith(suffix)), "")
    return name[: len(name) - len(ending)]


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
                compression = compression_of(stream.read(HEAD))
            if compression is None and _is_plain(path, any_encoding):
                return
            folder = Path(tempfile.mkdtemp(dir=own_folder()))
            self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self.path = folder / name_within(path.name)
            if compression is not None:
                expand(path, compression, self.path)
            if compression is None or not _is_plain(self.path, False):
                data = (path if compression is None else self.path).read_bytes()
                self.path.write_text(_without_blank_lines(text_of(data)), encoding="utf-8", newline="\n")
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


def _is_plain(path: Path, any_encoding: bool) -> bool:
    """Whether a file is binary, or text that readers take as it is."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as stream:
        head = stream.read(HEAD)
        if is_binary(head):
            return True
        if unicode_encoding(head) or b"\r" in head[:-1].replace(b"\r\n", b""):
            return False
        if not head.split(b"\n", 1)[0].strip() and _surplus(beginning_of_text(head).split("\n")):
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
