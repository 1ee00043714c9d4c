"""From what a user asks for to a field: the border at which names are read, and the files that they refer to."""

from __future__ import annotations

from ..base.errors import FieldError
from ..fields import Field, References, resolve
from ..model.wavefunction import Wavefunction
from ..readers._references import FileReferences


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
