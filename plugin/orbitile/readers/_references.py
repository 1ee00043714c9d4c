"""Files that the names of fields refer to: other calculations, and point charges (.pqr files, lines of x y z q)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from ..base.caches import Cache
from ..base.errors import FileError
from ..files.encodings import text_of
from ..files.plain import PlainFile
from ..files.reading import read_bytes, user_path
from ..model.geometry import FARTHEST
from ..model.units import angstrom
from ..model.volume import PointCharges
from ..model.wavefunction import Wavefunction
from . import files_of, load


def load_charges(path: str | Path) -> PointCharges:
    """Read point charges: a .pqr file, or lines of x y z q in Angstrom and e.

    Raises
    ------
    FileError
        When there is no such file, or a line is damaged.
    """
    path = user_path(path)
    with PlainFile(path) as plain:
        lines = text_of(read_bytes(plain.path)).split("\n")
    rows: list[list[float]] = []
    for number, line in enumerate(lines, 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        pqr = words[0] in ("ATOM", "HETATM")
        if path.suffix.lower() == ".pqr" and not pqr:
            continue
        # in a PQR file x, y, z, charge and radius are the last five of the fields, whichever of the others are there
        fields = words[-5:-1] if pqr else words[:4]
        try:
            row = [float(field) for field in fields]
        except ValueError:
            row = []
        if len(row) != 4 or not all(abs(number) <= FARTHEST for number in row):
            raise FileError(f"{path.name}, line {number}: expected x y z (Angstrom) and q (e), got {line.strip()!r}")
        rows.append(row)
    if not rows:
        raise FileError(f"{path.name}: no charges in it; expected a .pqr file, or lines of x y z q")
    table = np.array(rows)
    return PointCharges(table[:, :3] * angstrom, table[:, 3])


Content = TypeVar("Content")


class FileReferences:
    """Reads each file once, and again where it has changed; the latest are kept as long as this lives.

    One is made for each request of a user, or for each film: all that is asked of a field there means the same files.
    """

    def __init__(self) -> None:
        self._wavefunctions = Cache[Wavefunction]("wavefunctions")
        self._charges = Cache[PointCharges]("wavefunctions")

    def wavefunction(self, file: str) -> Wavefunction:
        """The wavefunction of a file; errors as for `load`."""
        return self._read(self._wavefunctions, file, load)

    def charges(self, file: str) -> PointCharges:
        """The point charges of a file; errors as for `load_charges`."""
        return self._read(self._charges, file, load_charges)

    def _read(self, known: Cache[Content], file: str, load: Callable[[str], Content]) -> Content:
        try:
            path = user_path(file).resolve()
            key = path, *((found, *_status(found)) for found in files_of(path))
        except (OSError, FileError):  # reading it says why
            return load(file)
        return known.of(key, lambda: load(file))


def _status(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ino
