"""What the system has run out of: room on a disk, memory, handles. Users can do something about that."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from ..base.errors import FileError, OrbitileError

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
