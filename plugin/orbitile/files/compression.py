"""Compressed files: which they are, and what they expand to, within bounds."""

from __future__ import annotations

import gzip
import lzma
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from ..base.errors import FileError
from ..base.memory import available_memory, share
from ..base.packages import install_command

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
            "GB at most; damaged, or made to fill memory. If it is meant so, expand it first"
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
