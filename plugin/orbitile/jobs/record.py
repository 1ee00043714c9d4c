"""What a batch knows of one file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Cell = str | int | float | tuple[float, ...]
"""A value in a row; one number an atom as a tuple."""


@dataclass(frozen=True)
class Output:
    """A file that was written.

    Attributes
    ----------
    item : str
        What was asked for, as the user wrote it: `homo`, `density+esp`, `charges`.
    format : str
        png, mesh, volume, json, ...
    path : str
        Relative to the folder of the batch, with slashes.
    """

    item: str
    format: str
    path: str


@dataclass(frozen=True)
class Record:
    """One row: what was found in a file, what was written of it, and what was refused.

    Attributes
    ----------
    file : str
        As the user named it.
    key : str
        Hexadecimal digest of the content of the file and of all that was asked, so that the same is not done twice.
    values : mapping
        By name of the column, which ends in its unit where it has one: `homo_eV`. Names are the same for all files;
        a file may lack some.
    outputs : tuple of Output
    refusals : mapping
        Why something was not done, by what was asked for; of the whole file, by the empty text.
    remarks : tuple of str
        What is odd about the file.
    seconds : float
        That it took, on the clock of its worker.
    """

    file: str
    key: str
    values: Mapping[str, Cell] = field(default_factory=dict)
    outputs: tuple[Output, ...] = ()
    refusals: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    seconds: float = 0.0
