"""Reading files: their bytes, numbers in text, and what damaged ones are told."""

from __future__ import annotations

import errno
import hashlib
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..base.errors import FileError, OrbitileError
from ..base.memory import share

_PIECE = share("piece of a file")
"""Bytes that are read at a time."""

_FORTRAN_EXPONENT = bytes.maketrans(b"Dd", b"EE")
_EXPONENT_WITHOUT_LETTER = re.compile(rb"(\.\d*)([+-]\d{3})(?![\d.])")
_TOUCHING = re.compile(rb"(?<=[\d.])([+-])(?=[\d.])")


def user_path(path: str | PathLike[str]) -> Path:
    """A path in which ~ stands for a home folder.

    Raises
    ------
    FileError
        When ~name names no user.
    """
    try:
        return Path(fspath(path)).expanduser()
    except RuntimeError as error:
        raise FileError(f"{path}: no such file: {str(error).rstrip('.')}") from error


def neighbour(file: Path) -> str:
    """What to say of a file that is not there: what beside it has nearly its name, or that there is no such folder."""
    from difflib import get_close_matches

    try:
        names = [entry.name for entry in file.parent.iterdir()]
    except OSError:
        return f" (nor a folder {file.parent})"
    close = get_close_matches(file.name, names, 1)
    return f". Did you mean {close[0]}?" if close else ""


def read_bytes(path: Path) -> bytes:
    """Whole contents of a file, which must not be empty.

    Raises
    ------
    FileError
        When the file is missing, unreadable, empty, or larger than memory.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or error})") from error
    except ValueError as error:  # a NUL character in the name
        raise FileError(f"{str(path)!r}: not a file name ({error})") from error
    except MemoryError as error:
        raise FileError(f"{path.name}: too large for the memory of this machine") from error
    if not data:
        raise FileError(f"{path.name}: the file is empty")
    return data


def check_room(name: str, n_values: int, n_bytes: int, bytes_each: int, what: str) -> None:
    """Refuse a header that promises more values than the file has room for, before anything is allocated.

    Raises
    ------
    FileError
        When `n_values` of `bytes_each` (at least) do not fit into `n_bytes`.
    """
    if n_values * bytes_each > n_bytes:
        room = max(n_bytes, 0)
        raise FileError(
            f"{name}: the header promises {_count(n_values)} {what}, but {room} bytes of data follow, room for "
            f"{room // bytes_each} at most; the file is truncated or its header is damaged"
        )


def numbers_in_text(data: bytes, name: str, line: int) -> NDArray[np.float64]:
    """Finite numbers separated by white space, in any line wrapping.

    Fortran's exponents with D, its exponents of three digits without a letter (`1.234-100`) and numbers that touch
    because they fill their columns (`0.1E+00-0.2E+00`) are understood.

    Parameters
    ----------
    data
        ASCII text.
    name
        File name, for messages.
    line
        Number of the line in the file with which `data` begins, from 1.

    Returns
    -------
    ndarray, shape (n,)

    Raises
    ------
    FileError
        When something is not a number, or is NaN or infinite.
    """
    if b"\0" in data:
        raise FileError(f"{name}: a binary file, expected text; is its suffix right?")
    text = data.translate(_FORTRAN_EXPONENT) if b"D" in data or b"d" in data else data
    try:
        try:
            values = _parsed(text)
        except ValueError:  # all that follows takes time, and is rarely needed
            text = _TOUCHING.sub(rb" \1", _EXPONENT_WITHOUT_LETTER.sub(rb"\1E\2", text))
            values = _parsed(text)
    except ValueError:
        raise _bad_number(text, name, line) from None
    except MemoryError as error:
        raise FileError(f"{name}: too large for the memory of this machine") from error
    if not np.isfinite(values).all():
        bad = int(np.flatnonzero(~np.isfinite(values))[0])
        raise FileError(
            f"{name}, line {line + _line_of_value(text, bad)}: value {bad + 1} is {values[bad]}, expected a finite "
            "number; recompute the file with the program that wrote it"
        )
    return values


def numbers_in_columns(lines: Iterable[str], width: int, name: str, line: int) -> NDArray[np.float64]:
    """Finite numbers that fill columns of one width, as Fortran writes them, with nothing between them.

    Parameters
    ----------
    lines
        Text.
    width
        Characters of a column.
    name, line
        File, and number of the first line in it, for messages.

    Raises
    ------
    FileError
        As for `numbers_in_text`.
    """
    fields = (text[at : at + width] for text in map(str.rstrip, lines) for at in range(0, len(text), width))
    return numbers_in_text(" ".join(fields).encode("ascii", "replace"), name, line)


def _parsed(text: bytes) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        # What NumPy before 2.4 says, where later ones raise ValueError, of text that is not a number.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            values: NDArray[np.float64] = np.fromstring(text, dtype=np.float64, sep=" ")
        except DeprecationWarning as error:
            raise ValueError(str(error)) from error
    return values


def _bad_number(text: bytes, name: str, first_line: int) -> FileError:
    for number, line in enumerate(text.split(b"\n"), first_line):
        try:
            if line.strip():
                _parsed(line)
        except ValueError:
            shown = line.strip()[:60].decode("ascii", errors="replace")
            cause = "; the number was too wide for the format of the program that wrote it" if b"**" in line else ""
            return FileError(f"{name}, line {number}: expected numbers, got {shown!r}{cause}")
    return FileError(f"{name}: expected numbers after line {first_line}, got something else")


def _line_of_value(text: bytes, index: int) -> int:
    """How many line ends stand before a value; for messages only, so it may take its time."""
    for n, word in enumerate(re.finditer(rb"\S+", text)):
        if n == index:
            return text.count(b"\n", 0, word.start())
    return 0


def _count(number: int) -> str:
    return str(number) if abs(number) < 10**12 else "more than 10^12"


@contextmanager
def _opened_at(path: Path, start: int) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as stream:
            stream.seek(start)
            yield stream
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or error})") from error


def complete_lines(path: Path, start: int) -> Iterator[bytes]:
    """Lines of a file that may be growing, with their ends, from a place on; one that has no end yet is left out.

    Raises
    ------
    FileError
        When the file cannot be read.
    """
    with _opened_at(path, start) as stream:
        for line in stream:
            if not line.endswith(b"\n"):
                break
            yield line


def excerpt(path: Path, start: int, end: int | None = None) -> bytes:
    """What stands in a file from one place to another, or to its end.

    Raises
    ------
    FileError
        When the file cannot be read.
    """
    with _opened_at(path, start) as stream:
        return stream.read(-1 if end is None else max(end - start, 0))


def add_to_digest(digest: hashlib._Hash, stream: BinaryIO, start: int, end: int) -> None:
    """Add what lies between two positions of a file, in bytes, to a digest."""
    stream.seek(start)
    while piece := stream.read(min(_PIECE, end - start)):
        digest.update(piece)
        start += len(piece)


@contextmanager
def damage_told(path: Path, kind: str) -> Iterator[None]:
    """What a library raises of a damaged file of a kind, as one line of ours.

    Raises
    ------
    FileError
    """
    try:
        yield
    except OrbitileError as error:
        raise FileError(f"{path.name}: {error}") from error
    except (OSError, LookupError, ValueError, TypeError, RuntimeError, AttributeError, ArithmeticError) as error:
        detail = str(error).split("\n")[0]
        raise FileError(f"{path.name}: damaged {kind} ({type(error).__name__}: {detail})") from error


DAMAGES = (ValueError, TypeError, LookupError, ArithmeticError, AttributeError)
"""What our own code raises where a file holds something else than its format says."""


@contextmanager
def damage_as_error(path: Path, kind: str, *more: type[Exception]) -> Iterator[None]:
    """Raise a `FileError` ("damaged KIND") for `DAMAGES` and more; absurd numbers warn of nothing before."""
    damages: tuple[type[Exception], ...] = (*DAMAGES, *more)
    try:
        with np.errstate(all="ignore"):
            yield
    except FileError:
        raise
    except damages as error:
        raise FileError(f"{path.name}: damaged {kind} ({type(error).__name__}: {error!s:.200})") from error


# ---- what the system has run out of: room on a disk, memory, handles. Users can do something about that


_ROOM = "make room there, or have TMPDIR name a folder with room"
_HANDLES = "close other programs, or raise the limit (ulimit -n)"
_ADVICE = {
    errno.ENOSPC: _ROOM,
    errno.EFBIG: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EROFS: "have TMPDIR name a folder that can be written to",
    errno.EMFILE: _HANDLES,
    errno.ENFILE: _HANDLES,
    errno.EAGAIN: "close other programs, or raise the limit (ulimit -u)",
}


def shortage_of(error: BaseException) -> OrbitileError | None:
    """What to say of an error that tells of a shortage, with what can be done; None of any other."""
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return OrbitileError("there is no memory left for this; choose a coarser quality")
    if isinstance(error, OSError) and error.errno in _ADVICE:
        where = f"{error.filename}: " if error.filename else ""
        return FileError(f"{where}{error.strerror}; {_ADVICE[error.errno]}")
    return None


@contextmanager
def shortage_explained() -> Iterator[None]:
    """Have shortages in the block become errors of ours.

    Raises
    ------
    OrbitileError
        Of memory.
    FileError
        Of room on a disk, or of handles.
    """
    try:
        yield
    except (MemoryError, OSError) as error:
        explained = shortage_of(error)
        if explained is None:
            raise
        raise explained from error


def readable(text: str) -> str:
    """Text that is valid Unicode: bytes in names of files that are not UTF-8 are written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
