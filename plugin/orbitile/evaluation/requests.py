"""From what a user asks for to a field: the border at which names are read, and the files that they refer to."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from ..base.caches import Cache
from ..base.errors import FieldError, FileError
from ..fields import Field, References, resolve
from ..files.reading import user_path
from ..model.volume import PointCharges
from ..model.wavefunction import Wavefunction
from ..readers import files_of, load, load_charges


def field_of(wavefunction: Wavefunction, field: str | Field, references: References | None = None) -> Field:
    """The field that a name stands for; a `Field` is handed back as it is.

    Who asks for several things of one field gets it here once, and hands it on: the files that a name refers to are
    read when it is resolved.

    Parameters
    ----------
    wavefunction
        What it is a field of.
    field
        Name of a field, or a field.
    references
        Reads the files that names refer to, where several fields refer to the same.

    Raises
    ------
    FieldError
        When there is none, or what is given as a wavefunction is something else.
    FileError
        When a file that the name refers to cannot be read.
    """
    if not isinstance(wavefunction, Wavefunction):
        raise FieldError(f"expected a wavefunction, as from load(...), got {type(wavefunction).__name__}")
    if isinstance(field, Field):
        return field
    return resolve(wavefunction, field, FileReferences() if references is None else references)


Content = TypeVar("Content")

_Status = tuple[tuple[Path, int, int, int], ...]
"""The files behind a path, with size, time of the last change and inode of each."""


class FileReferences:
    """Reads each file once, and again where it has changed; the latest are kept as long as this lives.

    One is made for each request of a user, or for each film: all that is asked of a field there means the same files.
    """

    @cached_property
    def _wavefunctions(self) -> Cache[tuple[_Status, Wavefunction]]:
        return Cache("wavefunctions")

    @cached_property
    def _charges(self) -> Cache[tuple[_Status, PointCharges]]:
        return Cache("wavefunctions")

    def wavefunction(self, file: str) -> Wavefunction:
        """The wavefunction of a file; errors as for `load`."""
        return self._read(self._wavefunctions, file, load)

    def charges(self, file: str) -> PointCharges:
        """The point charges of a file; errors as for `load_charges`."""
        return self._read(self._charges, file, load_charges)

    def _read(self, known: Cache[tuple[_Status, Content]], file: str, load: Callable[[str], Content]) -> Content:
        try:
            path = user_path(file).resolve()
            status = tuple(map(_status_of, files_of(path)))
        except (OSError, FileError):  # reading it says why
            return load(file)
        found = known.get(path)
        if found is None or found[0] != status:
            found = status, load(file)
            known.put(path, found)  # in place of what the file held before
        return found[1]


def _status_of(path: Path) -> tuple[Path, int, int, int]:
    status = path.stat()
    return path, status.st_size, status.st_mtime_ns, status.st_ino
