"""Point charges: .pqr files, and lines of x y z q."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import FileError
from ..files.encodings import text_of
from ..files.plain import PlainFile
from ..files.reading import read_bytes, user_path
from ..model.charges import PointCharges
from ..model.geometry import FARTHEST
from ..model.units import angstrom


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
