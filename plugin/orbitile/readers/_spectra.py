"""Spectra of excited states and nuclei in a log: by cclib, and read here where it has none."""

from __future__ import annotations

import re
from os import PathLike
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from ..base.errors import FileError
from ..files.encodings import text_of
from ..files.plain import PlainFile
from ..files.reading import read_bytes
from ..model.elements import NUMBERS, SYMBOLS
from ..model.geometry import Geometry
from ..model.spectrum import Spectrum
from ..model.units import angstrom, electronvolt, wavenumber
from ._formats import checked_path
from ._vibrations import IS_OF_ORCA, atoms_of_orca, log_of, require_text

_STATES = {
    "uv": r"^ *ABSORPTION SPECTRUM VIA TRANSITION ELECTRIC DIPOLE MOMENTS *$",
    "ecd": r"^ *CD SPECTRUM(?: VIA TRANSITION ELECTRIC DIPOLE MOMENTS)? *$",
}
"""Headings of ORCA's tables of excited states."""


class _Shieldings(NamedTuple):
    """How a program prints isotropic shieldings: above them, a row, and the number of the first atom."""

    heading: str
    row: str
    first: int


_SHIELDINGS = (
    _Shieldings(  # ORCA
        r"^CHEMICAL SHIELDING SUMMARY",
        r"^ +(?P<atom>\d+) +(?P<symbol>[A-Z][a-z]?) +(?P<value>-?\d+\.\d+) +\d+\.\d+ *$",
        0,
    ),
    _Shieldings(  # Gaussian
        r"Magnetic shielding tensor \(ppm\)",
        r"^ *(?P<atom>\d+) +(?P<symbol>[A-Z][a-z]?) +Isotropic = +(?P<value>-?\d+\.\d+)",
        1,
    ),
    _Shieldings(  # Turbomole
        r"^ATOM +[a-z]+ +1 +ISOTROPIC:",
        r"^ATOM +(?P<symbol>[a-z]+) +(?P<atom>\d+) +ISOTROPIC: +(?P<value>-?\d+\.\d+)",
        1,
    ),
)


def load_spectra(path: str | PathLike[str]) -> tuple[Spectrum, ...]:
    """Read the spectra of excited states and nuclei in a file.

    Raises
    ------
    FileError
        When it cannot be read, or holds none.
    """
    file = checked_path(path, folders=True)
    found: list[Spectrum] = []
    with PlainFile(file) as plain:
        require_text(plain.path)
        text = text_of(read_bytes(plain.path))
        data = _of_orca(text) if re.search(IS_OF_ORCA, text, re.M) else log_of(plain.path)
    geometry = _geometry(data)
    energies = np.asarray(getattr(data, "etenergies", ())) * wavenumber / electronvolt
    labels = tuple(getattr(data, "etsyms", ()))
    for kind, name in (("uv", "etoscs"), ("ecd", "etrotats")):
        strengths = getattr(data, name, ())
        if len(energies) and len(strengths) == len(energies):
            found.append(Spectrum(kind, energies, np.asarray(strengths), labels, geometry, str(file)))
    shieldings = _shieldings(text)
    for symbol in sorted({symbol for symbol, _ in shieldings.values()}, key=NUMBERS.__getitem__):
        atoms = [atom for atom in sorted(shieldings) if shieldings[atom][0] == symbol]
        positions = np.array([shieldings[atom][1] for atom in atoms])
        names = tuple(f"{symbol}{atom + 1}" for atom in atoms)
        found.append(Spectrum(f"nmr:{symbol}", positions, np.ones(len(atoms)), names, geometry, str(file)))
    if not found:
        raise FileError(f"{file.name}: holds no spectra of excited states or nuclei")
    return tuple(found)


def _geometry(data: Any) -> Geometry | None:
    """The last geometry of a log that names its atoms."""
    numbers, positions = np.asarray(getattr(data, "atomnos", ())), np.asarray(getattr(data, "atomcoords", ()))
    if not len(numbers) or positions.ndim != 3 or positions.shape[1:] != (len(numbers), 3):
        return None
    return Geometry(numbers.astype(np.int64), positions[-1].astype(np.float64) * angstrom)


def _shieldings(text: str) -> dict[int, tuple[str, float]]:
    """Element and isotropic shielding in ppm of each atom, counted from 0, of the last calculation in a log."""
    for heading, row, first in _SHIELDINGS:
        starts = [match.start() for match in re.finditer(heading, text, re.M)]
        if starts:
            found: dict[int, tuple[str, float]] = {}
            for match in re.finditer(row, text[starts[-1] :], re.M):
                found.setdefault(int(match["atom"]) - first, (match["symbol"].capitalize(), float(match["value"])))
            if all(symbol in SYMBOLS for symbol, _ in found.values()):
                return found
    return {}


def _of_orca(text: str) -> SimpleNamespace:
    """Geometry and excited states in a log of ORCA 4 to 6, as cclib names them: it stumbles over those of ORCA 6."""
    atoms = atoms_of_orca(text)
    data = SimpleNamespace(
        atomnos=[NUMBERS[symbol] for symbol, *_ in atoms],
        atomcoords=np.array([[[float(word) for word in places.split()] for *_, places in atoms]]) / angstrom,
    )
    for kind, name in (("uv", "etoscs"), ("ecd", "etrotats")):
        starts = [match.end() for match in re.finditer(_STATES[kind], text, re.M)]
        if not starts:
            continue
        table = re.split(r"\n\s*\n", text[starts[-1] :], maxsplit=1)[0]
        rows = [line.split() for line in table.splitlines() if re.match(r" *\d", line)]
        if rows and "->" in rows[0]:  # since ORCA 6: 0-1A -> 1-1A, eV, cm^-1, nm, strength
            data.etsyms = [row[2].partition("-")[2] for row in rows]
            rows = [row[3:] for row in rows]
        data.etenergies = np.array([float(row[1]) for row in rows])
        strengths = [float(row[3]) if re.match(r"-?\d", row[3]) else 0.0 for row in rows]  # or: spin forbidden
        setattr(data, name, np.array(strengths))
    return data
