"""Basis sets in logs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import FileError
from ...files.encodings import text_of
from ...model.conventions import ANGULAR_MOMENTUM_LETTERS
from .._contractions import normalised
from .programs import Program, missing_error

RawShell = tuple[int, int, NDArray[np.float64], NDArray[np.float64]]
"""Atom, angular momentum, exponents, coefficients."""


def basis_of(data: Any, program: Program, path: Path) -> list[RawShell]:
    """Shells of all atoms in the order of the log, contractions normalised to one."""
    gbasis = getattr(data, "gbasis", None)
    if not gbasis and program.name == "NWChem":
        gbasis = nwchem_basis(path, data)
    if not gbasis:
        raise missing_error(data, program, path, "basis set", program.basis)
    if program.name == "Q-Chem" and len(gbasis) % len(data.atomnos) == 0:
        gbasis = gbasis[-len(data.atomnos) :]  # printed at each geometry, and cclib adds it up
    if len(gbasis) != len(data.atomnos):
        raise FileError(f"{path.name}: basis set of {len(gbasis)} atoms, expected {len(data.atomnos)}")
    shells: list[RawShell] = []
    for atom, entries in enumerate(gbasis):
        for letter, primitives in entries:
            l = ANGULAR_MOMENTUM_LETTERS.index(str(letter).lower())
            exponents, coefficients = np.array(primitives, float).T
            used = coefficients != 0
            if not used.any():
                raise FileError(
                    f"{path.name}: the basis set of this {program.name} log has a function without coefficients on "
                    f"atom {atom + 1}, or is printed as cclib does not read it; a Molden file of the same calculation "
                    "would do"
                )
            exponents, coefficients = exponents[used], coefficients[used]
            shells.append((atom, l, exponents, normalised(exponents, coefficients, l)))
    return shells


def nwchem_basis(path: Path, data: Any) -> list[list[tuple[str, list[tuple[float, float]]]]]:
    """The basis set of an NWChem log with pure functions, which cclib passes over."""
    text = text_of(path.read_bytes())
    start = text.rfind('Basis "ao basis" -> "')
    tags = re.findall(r"^[ \t]*\d+ (\S+)[ \t]+\d+\.\d{4}(?:[ \t]+-?\d+\.\d+){3}[ \t]*$", text, re.MULTILINE)[
        -len(data.atomnos) :
    ]
    if start < 0 or len(tags) != len(data.atomnos):
        return []
    blocks: dict[str, list[tuple[str, list[tuple[float, float]]]]] = {}
    current: list[tuple[str, list[tuple[float, float]]]] = []
    numbers: list[int] = []
    for line in text[start:].split("\n")[2:]:
        if heading := re.match(r"\s{1,4}(\S+) \(.+\)\s*$", line):
            current = blocks.setdefault(heading[1], [])
            numbers = []
        elif entry := re.match(r"\s*(\d+) ([A-Z])\s+(\S+)\s+(\S+)\s*$", line):
            if int(entry[1]) not in numbers:
                numbers.append(int(entry[1]))
                current.append((entry[2], []))
            current[-1][1].append((float(entry[3]), float(entry[4])))
        elif line.strip() and not re.match(r"[-\s]+$|\s*Exponent\s+Coefficients", line):
            break
    return [blocks[tag] for tag in tags] if set(tags) <= set(blocks) else []
