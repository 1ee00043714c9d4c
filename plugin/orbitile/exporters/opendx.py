"""OpenDX files of regular grids, in the form that APBS writes and PyMOL, VMD and Chimera read.

Format: https://web.archive.org/web/20080808140524/http://opendx.sdsc.edu/docs/html/pages/usrgu068.htm. Lengths in
Angstrom; single spaces between words and three values a line, because VMD and PyMOL rely on both.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..files.encodings import plain
from ..files.writing import write_numbers
from ..model.units import angstrom
from ..model.volume import Volume, VolumeHeader
from ..model.wavefunction import Wavefunction
from . import Slabs

DESCRIPTION = "OpenDX file"
PATTERNS = ("*.dx",)
KIND = "volume"

_PER_LINE = 3


def write(volume: Volume, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a volume on any lattice, with seven digits; the format has no room for atoms."""
    write_slabs(volume.header, [volume.values], path, wavefunction)


def write_slabs(header: VolumeHeader, slabs: Slabs, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a volume slab by slab; lines of three values go on from one to the next."""
    lattice = header.lattice
    counts = " ".join(str(n) for n in lattice.shape)
    name = " ".join(plain(header.quantity).replace('"', "'").split())[:200] or "volume"
    rows = [("origin", lattice.origin), *(("delta", axis) for axis in lattice.axes)]
    head = [
        "# written by Orbitile; lengths in Angstrom",
        f"# unit: {' '.join(header.unit.split())[:60]}",
        f"object 1 class gridpositions counts {counts}",
        *(word + "".join(f" {number / angstrom:.9e}" for number in numbers) for word, numbers in rows),
        f"object 2 class gridconnections counts {counts}",
        f"object 3 class array type double rank 0 items {lattice.n_points} data follows",
    ]
    tail = [
        'attribute "dep" string "positions"',
        f'object "{name}" class field',
        'component "positions" value 1',
        'component "connections" value 2',
        'component "data" value 3',
    ]
    with path.open("wb") as stream:
        stream.write(("\n".join(head) + "\n").encode(errors="replace"))
        rest = np.empty(0, header.dtype)  # lines go on from slab to slab
        for slab in slabs:
            values = np.concatenate([rest, slab.reshape(-1)])
            whole = len(values) // _PER_LINE * _PER_LINE
            rest = values[whole:].copy()
            if whole:
                write_numbers(stream, values[:whole].reshape(1, -1), "%.6e", _PER_LINE, separator=" ")
        if len(rest):
            write_numbers(stream, rest.reshape(1, -1), "%.6e", _PER_LINE, separator=" ")
        stream.write(("\n".join(tail) + "\n").encode(errors="replace"))


def largest_size(header: VolumeHeader) -> int:
    """Bytes that the values take, at most."""
    return header.lattice.n_points * len("-1.234567e-300 ")
