"""Geometries in xyz and extended xyz files, of one frame or many; lengths in Angstrom."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ..base.arrays import Reals
from ..base.errors import FileError, OrbitileError
from ..files.plain import PlainFile
from ..model.elements import SYMBOLS
from ..model.geometry import Geometry
from ..model.units import angstrom

DESCRIPTION = "geometries in xyz and extended xyz files"
PATTERNS = ("*.xyz", "*.extxyz")
KIND = "geometries"

_DIGITS = 10
"""Of a number of atoms or columns, at most."""

_PROPERTIES = re.compile(r"""Properties\s*=\s*["']?([A-Za-z0-9_:]+)""")

_STATED = {
    "charge": re.compile(r"""(?:^|\s)(?:total_)?charge\s*=\s*["']?([-+]?\d{1,3})(?:\.0*)?(?![\d.])""", re.IGNORECASE),
    "multiplicity": re.compile(r"""(?:^|\s)(?:spin_)?mult(?:iplicity)?\s*=\s*["']?(\d{1,3})(?![\d.])""", re.IGNORECASE),
}
"""What a comment states of a molecule."""


def read(path: Path, topology: Path | None = None) -> XyzGeometries:
    """Frames of an xyz file, found by their places in it; it names its elements."""
    return XyzGeometries(path)


class XyzGeometries:
    """`Geometries` of an xyz file; the places of the frames are all that is kept in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = PlainFile(path)
        self._places: list[tuple[int, int, int]] = []
        try:
            with self._file.path.open("rb") as stream:
                number = 0
                while line := stream.readline():
                    number += 1
                    if not line.strip():
                        continue
                    if not line.strip().isdigit() or len(line.strip()) > _DIGITS:
                        shown = line.strip()[:40].decode(errors="replace")
                        raise FileError(f"{path.name}, line {number}: expected the number of atoms, got {shown!r}")
                    place, first = stream.tell() - len(line), number
                    for _ in range(int(line) + 1):
                        if not stream.readline():
                            break
                        number += 1
                    self._places.append((place, first, number - first - 1))
        except OSError as error:
            raise FileError(f"{path}: cannot be read ({error.strerror or error})") from error
        if not self._places:
            raise FileError(f"{path.name}: holds no geometry")

    @property
    def name(self) -> str:
        """Name of the file."""
        return self._path.name

    def __len__(self) -> int:
        return len(self._places)

    @property
    def stated(self) -> dict[str, int]:
        """Charge and unpaired electrons as the comment of the first frame states them, in extended xyz."""
        place, _, _ = self._places[0]
        with self._file.path.open("rb") as stream:
            stream.seek(place)
            stream.readline()
            comment = stream.readline().decode("utf-8", errors="replace")
        found = {name: pattern.search(comment) for name, pattern in _STATED.items()}
        numbers = {name: int(match[1]) for name, match in found.items() if match is not None}
        unpaired = numbers.pop("multiplicity", 1) - 1
        return {**numbers, **({"unpaired": unpaired} if unpaired > 0 else {})}

    def read(self, index: int) -> Geometry:
        """Read one frame."""
        place, number, n_lines = self._places[index]
        with self._file.path.open("rb") as stream:
            stream.seek(place)
            n_atoms = int(stream.readline())
            if n_atoms > n_lines:
                got = f"{max(n_lines, 0)}; the file is truncated or damaged"
                raise FileError(f"{self._path.name}, line {number}: expected {n_atoms} atoms, got {got}")
            comment = stream.readline().decode("utf-8", errors="replace")
            lines = [stream.readline().split() for _ in range(n_atoms)]
        species, first = _columns(comment, f"{self._path.name}, line {number + 1}")
        numbers, positions = np.empty(n_atoms, np.int64), np.empty((n_atoms, 3))
        for atom, words in enumerate(lines):
            try:
                numbers[atom] = _atomic_number(words[species].decode("ascii"))
                positions[atom] = [float(word) for word in words[first : first + 3]]
                if not np.all(np.isfinite(positions[atom])):
                    raise ValueError("no finite numbers")
            except (ValueError, IndexError) as error:
                shown = b" ".join(words)[:60].decode(errors="replace")
                where = f"{self._path.name}, line {number + 2 + atom}"
                raise FileError(f"{where}: expected an element and three coordinates, got {shown!r}") from error
        with np.errstate(over="ignore"):  # absurd lengths, which the geometry refuses
            scaled: Reals = positions * angstrom
        try:
            return Geometry(numbers, scaled)
        except OrbitileError as error:
            raise FileError(f"{self._path.name}, line {number}: {error}") from error


def _columns(comment: str, where: str) -> tuple[int, int]:
    """Columns of the element and of x, from the second line of a frame; extended xyz files state them."""
    found = _PROPERTIES.search(comment)
    if found is None:
        return 0, 1
    parts = found.group(1).split(":")
    starts, column = {}, 0
    for name, width in zip(parts[::3], parts[2::3], strict=False):
        starts[name] = column
        column += int(width) if width.isdecimal() and len(width) <= _DIGITS else 1
    if "pos" not in starts or not {"species", "Z"} & set(starts):
        raise FileError(f"{where}: expected the properties species (or Z) and pos, got {found.group(1)!r}")
    return starts.get("species", starts.get("Z", 0)), starts["pos"]


def _atomic_number(text: str) -> int:
    if text.isdecimal() and 0 < int(text) < len(SYMBOLS):
        return int(text)
    return SYMBOLS.index(text.capitalize())
