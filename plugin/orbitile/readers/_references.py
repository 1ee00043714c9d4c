"""Files that the names of fields refer to: other calculations, point charges."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..errors import FileError
from ..files.reading import user_path
from ..model.charges import PointCharges
from ..model.wavefunction import Wavefunction
from . import files_of, load
from ._point_charges import load_charges

Content = TypeVar("Content")

_KEPT = 8


class FileReferences:
    """Reads each file once, and again where it has changed; the latest few are kept as long as this lives.

    One is made for each request of a user, or for each film: all that is asked of a field there means the same files.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wavefunctions: OrderedDict[object, Wavefunction] = OrderedDict()
        self._charges: OrderedDict[object, PointCharges] = OrderedDict()

    def wavefunction(self, file: str) -> Wavefunction:
        """The wavefunction of a file; errors as for `load`."""
        return self._read(self._wavefunctions, file, load)

    def charges(self, file: str) -> PointCharges:
        """The point charges of a file; errors as for `load_charges`."""
        return self._read(self._charges, file, load_charges)

    def _read(self, known: OrderedDict[object, Content], file: str, load: Callable[[str], Content]) -> Content:
        try:
            path = user_path(file).resolve()
            key = path, *((found, *_status(found)) for found in files_of(path))
        except (OSError, FileError):  # reading it says why
            return load(file)
        with self._lock:
            if key not in known:
                known[key] = load(file)
                while len(known) > _KEPT:
                    known.popitem(last=False)
            known.move_to_end(key)
            return known[key]


def _status(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ino
