"""Files as readers take them: not compressed, and text in UTF-8 without a mark, with line feeds at the ends of lines.

What is otherwise, is read from a copy that is so. Whether a file is compressed is told by its beginning, and not by its
name, and what it may expand to has bounds; of encodings see `encodings`.
"""

from __future__ import annotations

import codecs
import fnmatch
import gzip
import lzma
import re
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from ..base.errors import FileError
from ..base.memory import available_memory, share
from ..base.packages import install_command
from ..base.temporary import own_folder
from .encodings import beginning_of_text, is_binary, text_of, unicode_encoding

_PIECE = share("piece of a file")

_ALWAYS, _RATIO = 100_000_000, 200
"""Bytes that any compressed file may expand to; a larger one to so many times its size. Smooth fields and text stay far
below it, and what was made to fill memory or disk is far beyond it."""


_NESTED_ALWAYS, _NESTED = 100_000, 2
"""The same of what is compressed itself."""

_ZIP = b"PK\3\4"


@dataclass(frozen=True)
class Compression:
    """A way in which files are compressed.

    Attributes
    ----------
    signature : bytes
        First bytes of such a file.
    suffixes : tuple of str
        What their names end with.
    modules : tuple of str
        Modules with an `open` as that of gzip, the first of which that there is expands it.
    """

    signature: bytes
    suffixes: tuple[str, ...]
    modules: tuple[str, ...]


COMPRESSIONS = (
    Compression(b"\x1f\x8b\x08", (".gz",), ("gzip",)),
    Compression(b"BZh", (".bz2",), ("bz2",)),
    Compression(b"\xfd7zXZ\0", (".xz",), ("lzma",)),
    Compression(b"\x28\xb5\x2f\xfd", (".zst", ".zstd"), ("compression.zstd", "backports.zstd")),
)

SUFFIXES = tuple(suffix for compression in COMPRESSIONS for suffix in compression.suffixes)
"""Endings of the names of compressed files."""


def compression_of(head: bytes) -> Compression | None:
    """How a file of such a beginning is compressed, if it is."""
    return next((compression for compression in COMPRESSIONS if head.startswith(compression.signature)), None)


@contextmanager
def expanded(path: Path, compression: Compression) -> Iterator[IO[bytes]]:
    """A stream of what a file expands to.

    Raises
    ------
    FileError
        When it is damaged, here or while the stream is read, or nothing that expands it is installed.
    """
    module = _module(path, compression)
    damages: tuple[type[Exception], ...] = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile)
    if hasattr(module, "ZstdError"):
        damages = (*damages, module.ZstdError)
    try:
        with module.open(path) as stream:
            yield stream
    except damages as error:
        raise FileError(f"{path.name}: a compressed file that is cut off or damaged ({str(error)[:80]})") from error


def expand(path: Path, compression: Compression, copy: Path) -> None:
    """Write to a file what another expands to.

    Raises
    ------
    FileError
        When it is damaged or empty, or expands to more than any file of ours or than there is room for.
    """
    with expanded(path, compression) as source:
        if not write_bounded(source, copy, path.name, path.stat().st_size):
            raise FileError(f"{path.name}: the file is empty")


def write_bounded(source: IO[bytes], copy: Path, name: str, packed: int, before: int = 0) -> int:
    """Write a stream to a file, piece by piece and within bounds; how many bytes there were.

    What is compressed once more within a compressed file has no layer of its own to grow by: it may be hardly larger
    than that file, since data that were compressed do not shrink again.

    Parameters
    ----------
    source
        What is read.
    copy
        The file to be written.
    name, packed
        Name and size of the compressed file that the stream comes from.
    before
        Bytes that others have had of that file, all of which share its bounds.

    Raises
    ------
    FileError
        When it expands to more than any file of ours, or than memory or disk have room for.
    """
    written, most = 0, None
    free = shutil.disk_usage(copy.parent).free
    with copy.open("wb") as target:
        while piece := source.read(_PIECE):
            if not written and (compression_of(piece) is not None or piece.startswith(_ZIP)):
                most = _NESTED * packed + _NESTED_ALWAYS
            written += len(piece)
            check_expansion(name, packed, before + written, most)
            if written > free:
                raise FileError(f"{name}: expands to more than the {free / 1e9:.1f} GB free in {copy.parent.parent}")
            target.write(piece)
    return written


def check_expansion(name: str, packed: int, expanded: int, most: int | None = None) -> None:
    """Refuse what expands to more than any data of ours, or than memory has room for.

    Raises
    ------
    FileError
        When `expanded` bytes are too many for a file of `packed` bytes, or more than `most`.
    """
    allowed = max(_ALWAYS, _RATIO * packed) if most is None else most
    if expanded > allowed:
        raise FileError(
            f"{name}: {packed} bytes expand to {max(expanded, 0) / 1e9:.3g} GB or more, expected {allowed / 1e9:.3g} "
            "GB at most; damaged, or made to fill memory. If it is intact, expand it first"
        )
    room = available_memory()
    if room is not None and expanded > room:
        raise FileError(f"{name}: expands to {expanded / 1e9:.1f} GB, and {room / 1e9:.1f} GB of memory are free")


def _module(path: Path, compression: Compression) -> Any:
    """What expands a file."""
    for name in compression.modules:
        try:
            return import_module(name)
        except ImportError:  # the next one may be there
            continue
    package = compression.modules[-1]
    raise FileError(f"{path.name}: to be expanded it needs the package {package}: {install_command(package)}")


HEAD = 4096
"""Bytes at the beginning of a file by which it is recognised."""

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
