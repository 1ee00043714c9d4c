"""Gaussian cube files.

Format: https://gaussian.com/cubegen and https://paulbourke.net/dataformats/cube. Two comment lines; number of atoms and
origin; three lines with a number of points and a step; the atoms; values with z running fastest. A negative number of
points along the first axis means that the lengths of the header are in Angstrom, not in bohr. Several data sets stand
value by value beside each other: either the number of atoms is negative and a list of identifiers (its length first)
follows the atoms, or the line of the origin has their number as its fifth entry.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import FileError
from ..files.reading import check_room, numbers_in_text, read_bytes
from ..model.lattice import Lattice
from ..model.units import angstrom
from ..model.volume import Volume
from ._formats import lattice_of_file

DESCRIPTION = "Gaussian cube files"
PATTERNS = ("*.cube", "*.cub")
KIND = "volume"

Atoms = tuple[NDArray[np.int64], Reals, Reals]

_OUR_TITLE = re.compile(r"(.*?)(?: \[(.*)\])?")


_ONE_IDENTIFIER = re.compile(rb"[ \t]*1[ \t]+\d+[ \t]*\r?\n")
"""A list of one identifier, which Molden writes though the number of atoms is positive."""


def plausible(start: bytes) -> bool:
    """Whether the third line begins with a number: tables of colours have the suffix too."""
    lines = start.lstrip(b"\n").split(b"\n")
    return len(lines) < 3 or re.match(rb"\s*-?\d", lines[2]) is not None


def read(path: Path) -> tuple[Volume, ...]:
    """Read all data sets of a cube file in double precision, on a lattice of any axes, negative ones too."""
    path = Path(path)
    data = read_bytes(path)
    head = _header(data, path.name)
    nx, ny, nz = head.lattice.shape
    n_values = head.lattice.n_points * len(head.titles)
    values = numbers_in_text(data[head.end :], path.name, head.line)
    if len(values) == n_values + 2 and _ONE_IDENTIFIER.match(data, head.end):
        values = values[2:]
    if len(values) != n_values:
        sets = f" of {len(head.titles)} data sets" if len(head.titles) > 1 else ""
        few = len(values) < n_values
        fault = "the file is truncated" if few else "its header is damaged, or something follows them"
        raise FileError(
            f"{path.name}: expected {n_values} values for {nx} x {ny} x {nz} points{sets}, got {len(values)}; {fault}"
        )
    values = values.reshape(nx, ny, nz, len(head.titles))
    return tuple(
        Volume(np.ascontiguousarray(values[..., n]), head.lattice, title, head.unit)
        for n, title in enumerate(head.titles)
    )


def read_atoms(path: Path) -> Atoms:
    """Read the atoms of a cube file.

    Returns
    -------
    atomic_numbers : ndarray of int, shape (n,)
    core_charges : ndarray, shape (n,)
        The second column of the file, or the atomic number where that is zero.
    positions : ndarray, shape (n, 3)
        In bohr.

    Raises
    ------
    FileError
        When the header of the file is damaged.
    """
    path = Path(path)
    return _header(read_bytes(path), path.name).atoms


@dataclass(frozen=True)
class _Header:
    lattice: Lattice
    atoms: Atoms
    titles: tuple[str, ...]
    unit: str
    end: int
    """Where the values begin."""
    line: int
    """In which line that is, from 1."""


class _Lines:
    """Lines of the header one by one, with what is needed to say what is wrong in which."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data, self.name, self.position, self.number = data, name, 0, 0

    def next(self, expected: str) -> str:
        if self.position >= len(self.data):
            raise FileError(f"{self.name}: ends after line {self.number}, expected {expected}; the file is truncated")
        end = self.data.find(b"\n", self.position)
        end = len(self.data) if end < 0 else end
        line = self.data[self.position : min(end, self.position + 4096)].decode("utf-8", errors="replace")
        self.position, self.number = end + 1, self.number + 1
        return line.strip()

    def numbers(self, expected: str, least: int, most: int) -> list[float]:
        line = self.next(expected)
        try:
            numbers = [float(word.replace("D", "E").replace("d", "e")) for word in line.split()[: most + 1]]
        except ValueError:
            raise self.error(expected, line) from None
        if not least <= len(numbers) <= most or not np.all(np.isfinite(numbers)):
            raise self.error(expected, line)
        return numbers

    def error(self, expected: str, line: str) -> FileError:
        shown = line if len(line) <= 60 else line[:57] + "..."
        return FileError(f"{self.name}, line {self.number}: expected {expected}, got {shown!r}; is this a cube file?")

    def whole(self, number: float, expected: str) -> int:
        if number != round(number) or abs(number) > 2**31:
            raise self.error(expected, f"{number:g}")
        return int(number)


def _header(data: bytes, name: str) -> _Header:
    if b"\0" in data[:4096]:
        raise FileError(f"{name}: a binary file, expected the text of a cube file; is its suffix right?")
    lines = _Lines(data, name)
    title, comment = lines.next("a title"), lines.next("a second title")
    what = "the number of atoms and the origin"
    first = lines.numbers(what, 4, 5)
    n_atoms, origin = lines.whole(first[0], what), np.array(first[1:4])
    n_sets = lines.whole(first[4], "a number of data sets") if len(first) == 5 else 1
    if n_sets < 1:
        raise lines.error("1 or more data sets", f"{n_sets}")
    counts, axes = [], []
    for letter in "xyz":
        what = f"the number of points along {letter} and the step"
        numbers = lines.numbers(what, 4, 4)
        counts.append(lines.whole(numbers[0], what))
        axes.append(numbers[1:])
        if counts[-1] == 0 or (counts[-1] < 0 < counts[0]):
            raise lines.error(f"a positive number of points along {letter}", str(counts[-1]))
    unit = 1.0 if counts[0] > 0 else angstrom
    nx, ny, nz = (abs(count) for count in counts)
    lattice = lattice_of_file(f"{name}, lines 3 to 6", origin * unit, np.array(axes) * unit, (nx, ny, nz))
    check_room(name, abs(n_atoms), len(data) - lines.position, 10, "atoms")
    atoms = np.array(
        [lines.numbers(f"atom {n + 1} (number, charge, x, y, z)", 5, 5) for n in range(abs(n_atoms))]
    ).reshape(-1, 5)
    wrong = (atoms[:, 0] != np.round(atoms[:, 0])) | (np.abs(atoms[:, 0]) > 999)
    if wrong.any():
        bad = int(np.argmax(wrong))
        raise FileError(f"{name}, line {7 + bad}: expected an atomic number, got {atoms[bad, 0]:g}")
    titles: tuple[str, ...] = (title,)
    quantity_unit = ""
    if n_sets > 1:
        titles = tuple(f"{title}, data set {n + 1}".lstrip(", ") for n in range(n_sets))
    if n_atoms < 0:
        titles = tuple(f"orbital {label}" for label in _labels(lines))
        if n_sets not in (1, len(titles)):
            titles = tuple(f"{label}, data set {n + 1}" for label in titles for n in range(n_sets))
    elif n_sets == 1 and "Orbitile" in comment:
        match = _OUR_TITLE.fullmatch(title)
        if match is not None:
            titles, quantity_unit = (match[1],), match[2] or ""
    check_room(name, lattice.n_points * len(titles), len(data) - lines.position + 1, 2, "values")
    charges = np.where(atoms[:, 1] == 0, atoms[:, 0], atoms[:, 1])
    return _Header(
        lattice=lattice,
        atoms=(atoms[:, 0].astype(np.int64), charges, atoms[:, 2:] * unit),
        titles=titles,
        unit=quantity_unit,
        end=lines.position,
        line=lines.number + 1,
    )


def _labels(lines: _Lines) -> list[int]:
    """The list of identifiers of data sets: how many, then each, on as many lines as it takes."""
    what = "a number of data sets and their identifiers"
    labels: list[int] = []
    n_labels = 0
    while not labels or len(labels) <= n_labels:
        labels += [lines.whole(number, what) for number in lines.numbers(what, 1, 4096)]
        n_labels = labels[0]
        if not 1 <= n_labels <= len(lines.data) // 2:
            raise lines.error(what, str(n_labels))
    if len(labels) > n_labels + 1:
        raise lines.error(f"{n_labels} identifiers of data sets", f"{len(labels) - 1} of them")
    return labels[1:]
