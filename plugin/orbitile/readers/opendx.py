"""OpenDX files of regular grids, as APBS, VMD and PyMOL write them.

Format: https://web.archive.org/web/20080808140524/http://opendx.sdsc.edu/docs/html/pages/usrgu068.htm. Lengths are in
Angstrom, as in all of molecular modelling, and become bohr. Objects, attributes and comments other than the positions
and the values are passed over.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ..base.errors import FileError
from ..files.reading import check_room, numbers_in_text, read_bytes
from ..model.lattice import Lattice
from ..model.units import angstrom
from ..model.volume import Volume
from ._formats import lattice_of_file

DESCRIPTION = "OpenDX files of regular grids (APBS)"
PATTERNS = ("*.dx",)
KIND = "volume"

_ARRAY = re.compile(rb"^[ \t]*object[ \t]+\S+[ \t]+class[ \t]+array\b([^\n]*)", re.MULTILINE | re.IGNORECASE)
_POSITIONS = re.compile(
    rb"^[ \t]*object[ \t]+\S+[ \t]+class[ \t]+gridpositions[ \t]+counts([^\n]*)", re.MULTILINE | re.IGNORECASE
)
_FIELD = re.compile(rb'^[ \t]*object[ \t]+"([^"\n]*)"[ \t]+class[ \t]+field', re.MULTILINE | re.IGNORECASE)
_UNIT = re.compile(rb"^# unit: ([^\n]*)", re.MULTILINE)
_WORDS_AFTER_VALUES = (b"attribute", b"object", b"component", b"end", b"#")
_NAMES_THAT_SAY_NOTHING = ("", "regular positions regular connections", "density")


def plausible(start: bytes) -> bool:
    """Whether there are objects of OpenDX: spectra in JCAMP-DX have the suffix too."""
    return re.search(rb"^[ \t]*object[ \t]+\S+[ \t]+class\b", start, re.MULTILINE | re.IGNORECASE) is not None


def read(path: Path) -> tuple[Volume, ...]:
    """Read a regular grid of scalars in double precision, on a lattice that may be skewed."""
    path = Path(path)
    data, name = read_bytes(path), path.name
    if b"\0" in data[:4096]:
        raise FileError(f"{name}: a binary file, expected OpenDX as text; is its suffix right?")
    array = next((match for match in _ARRAY.finditer(data) if b"rank 0" in b" ".join(match[1].split())), None)
    if array is None:
        expected = "a line 'object 3 class array type double rank 0 items N data follows'"
        raise FileError(f"{name}: expected {expected}, got none; is this an OpenDX file?")
    items, kind = re.search(rb"\bitems\s+(\d{1,18})\b", array[1]), b" ".join(array[1].split()).lower()
    if items is None or not kind.endswith(b"data follows") or b"binary" in kind or b"ieee" in kind:
        where = f"{name}, line {_line(data, array.start())}"
        raise FileError(f"{where}: expected '... items N data follows' (values as text), got {_shown(array[0])}")
    n_values = int(items[1])
    start = min(array.end() + 1, len(data))
    check_room(name, n_values, len(data) - start + 1, 2, "values")
    ends = (data.find(word, start) for word in _WORDS_AFTER_VALUES)
    end = min((position for position in ends if position >= 0), default=len(data))
    around = data[:start] + data[end:]
    lattice = _lattice(around, name)
    if lattice.n_points != n_values:
        counts = f"{' x '.join(map(str, lattice.shape))} = {lattice.n_points} points, the array {n_values} values"
        raise FileError(f"{name}: the positions count {counts}; expected the same number")
    values = numbers_in_text(data[start:end], name, _line(data, start))
    if len(values) != n_values:
        fault = "the file is truncated" if len(values) < n_values else "its header is damaged"
        raise FileError(f"{name}: expected {n_values} values, got {len(values)}; {fault}")
    field, unit = _FIELD.search(around), _UNIT.search(around)
    quantity = "" if field is None else field[1].decode("utf-8", errors="replace").strip()
    return (
        Volume(
            values=values.reshape(lattice.shape),
            lattice=lattice,
            quantity="" if quantity in _NAMES_THAT_SAY_NOTHING else quantity,
            unit="" if unit is None else unit[1].decode("utf-8", errors="replace").strip(),
        ),
    )


def _lattice(text: bytes, name: str) -> Lattice:
    positions = _POSITIONS.search(text)
    if positions is None:
        raise FileError(f"{name}: expected a line 'object 1 class gridpositions counts NX NY NZ', got none")
    counts = _numbers(positions[1], text, positions.start(), name, "three positive numbers of points")
    if any(count != round(count) or not 1 <= count < 2**31 for count in counts):
        where = f"{name}, line {_line(text, positions.start())}"
        raise FileError(f"{where}: expected three positive numbers of points, got {_shown(positions[1])}")
    following = re.compile(rb"^[ \t]*object\b", re.MULTILINE | re.IGNORECASE).search(text, positions.end())
    block_end = len(text) if following is None else following.start()
    rows: dict[bytes, list[list[float]]] = {b"origin": [], b"delta": []}
    for match in re.compile(rb"^[ \t]*(origin|delta)\b([^\n]*)", re.MULTILINE | re.IGNORECASE).finditer(
        text, positions.end(), block_end
    ):
        word = match[1].lower()
        rows[word].append(_numbers(match[2], text, match.start(), name, f"three numbers after '{word.decode()}'"))
    if len(rows[b"origin"]) > 1 or len(rows[b"delta"]) != 3:
        got = f"{len(rows[b'origin'])} and {len(rows[b'delta'])}"
        raise FileError(f"{name}: expected one line 'origin x y z' and three 'delta x y z' after the counts, got {got}")
    origin = rows[b"origin"][0] if rows[b"origin"] else [0.0, 0.0, 0.0]  # the default of the format
    nx, ny, nz = (int(count) for count in counts)
    where = f"{name}, line {_line(text, positions.start())} and following"
    return lattice_of_file(where, np.array(origin) * angstrom, np.array(rows[b"delta"]) * angstrom, (nx, ny, nz))


def _numbers(words: bytes, text: bytes, position: int, name: str, expected: str) -> list[float]:
    try:
        numbers = [float(word) for word in words.split(b"#")[0].split()]
    except ValueError:
        numbers = []
    if len(numbers) != 3 or not np.all(np.isfinite(numbers)):
        raise FileError(f"{name}, line {_line(text, position)}: expected {expected}, got {_shown(words)}")
    return numbers


def _line(text: bytes, position: int) -> int:
    return text.count(b"\n", 0, position) + 1


def _shown(text: bytes) -> str:
    return repr(text[:80].decode("utf-8", errors="replace").strip())
