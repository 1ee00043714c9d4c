"""OpenDX files of regular grids, in the form that APBS writes and PyMOL, VMD and Chimera read.

Format: https://web.archive.org/web/20080808140524/http://opendx.sdsc.edu/docs/html/pages/usrgu068.htm. Lengths in
Angstrom; single spaces between words and three values a line, because VMD and PyMOL rely on both.
"""

from __future__ import annotations

from pathlib import Path

from ..files import write_numbers
from ..units import angstrom
from ..volume import Volume
from ..wavefunction import Wavefunction

DESCRIPTION = "OpenDX file"
PATTERNS = ("*.dx",)
KIND = "volume"


def write(volume: Volume, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a volume as an OpenDX file.

    Parameters
    ----------
    volume : Volume
        Any lattice; values are written with seven digits.
    path
        The file.
    wavefunction : Wavefunction, optional
        Not used: the format has no room for atoms.
    """
    lattice = volume.lattice
    counts = " ".join(str(n) for n in lattice.shape)
    name = " ".join(volume.quantity.replace('"', "'").split())[:200] or "volume"
    rows = [("origin", lattice.origin), *(("delta", axis) for axis in lattice.axes)]
    head = [
        "# written by Orbitile; lengths in Angstrom",
        f"# unit: {' '.join(volume.unit.split())[:60]}",
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
        write_numbers(stream, volume.values.reshape(1, -1), "%.6e", 3, separator=" ")
        stream.write(("\n".join(tail) + "\n").encode(errors="replace"))
