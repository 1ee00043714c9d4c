"""Orbital files of OpenMolcas (INPORB: `.ScfOrb`, `.RasOrb`, `.LocOrb`, ...) with the basis set of an HDF5 file.

They hold coefficients, occupations, energies and types of orbitals by irreps, and no basis set: that is read from an
HDF5 file of the same calculation in the same folder. Version 1 has numbers 18 characters
wide, version 2 of 22; what has no exponents is separated by spaces.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import FileError
from ..files.plain import PlainFile
from ..files.reading import damage_as_error, numbers_in_columns, numbers_in_text
from ..model.wavefunction import Wavefunction
from . import openmolcas

DESCRIPTION = "INPORB files of OpenMolcas with an HDF5 file beside them"
PATTERNS = ("*.rasorb", "*.scforb", "*.uhforb", "*.locorb", "*.inporb")
KIND = "wavefunction"
PRIORITY = -1  # of a folder, the HDF5 file is read first

_MARK = "#INPORB"
_MOST_IRREPS = 8


def recognises(head: str) -> bool:
    """Whether the beginning of a file is that of one."""
    return head.startswith(_MARK)


def others(path: Path) -> tuple[Path, ...]:
    """HDF5 files in the same folder, those of the same name first."""
    found = (file for file in path.parent.iterdir() if file.suffix.lower() == ".h5" and file.is_file())
    stem = path.name.partition(".")[0]
    return tuple(sorted(found, key=lambda file: (file.name.partition(".")[0] != stem, file.name)))


def read(path: Path) -> Wavefunction:
    """Read the orbitals, with the basis set of the file beside them."""
    return read_beside(path, path)


def read_beside(path: Path, original: Path) -> Wavefunction:
    """The same of a plain copy of a file, the others of the calculation lying beside the original."""
    sections = _sections(path.read_text(encoding="utf-8", errors="replace"))
    with damage_as_error(original, "INPORB file"):
        orbitals, sizes = _orbitals(sections, original.name)
    for other in others(original):
        try:
            with PlainFile(other) as plain:
                contents = openmolcas.contents_of(plain.path)
        except FileError:  # of another program, or damaged
            continue
        if np.array_equal(np.atleast_1d(contents.get("NBAS", ())), sizes) and "PRIMITIVES" in contents:
            kept = {name: value for name, value in contents.items() if not name.startswith("MO_")}
            return openmolcas.converted(kept | orbitals, original)
    basis = f"its basis set of {'+'.join(map(str, sizes))} functions"
    raise FileError(f"{original.name}: expected an HDF5 file (.scf.h5, .rasscf.h5 ...) beside it with {basis}")


def _sections(text: str) -> dict[str, list[str]]:
    """Lines of the sections by name."""
    parts = re.split(r"^#", text, flags=re.MULTILINE)[1:]
    return {part.split(None, 1)[0]: part.split("\n")[1:] for part in parts if part.strip()}


def _orbitals(sections: dict[str, list[str]], name: str) -> tuple[dict[str, Any], NDArray[np.int64]]:
    """Orbitals as an HDF5 file of OpenMolcas has them, and basis functions of each irrep."""
    info = [line for line in sections["INFO"] if line.strip() and not line.startswith("*")]
    unrestricted, n_irreps = (int(word) for word in info[0].split()[:2])
    if not 1 <= n_irreps <= _MOST_IRREPS:
        raise ValueError(f"{n_irreps} irreps")
    n_basis, n_orbitals = (np.array(line.split()[:n_irreps], np.int64) for line in info[1:3])
    if len(n_basis) != n_irreps or np.any(n_orbitals > n_basis) or np.any(n_orbitals < 0):
        raise ValueError(f"irreps of {n_basis} functions with {n_orbitals} orbitals")
    found: dict[str, Any] = {"ORBITAL_TYPE": np.bytes_(_title(sections).encode("ascii", "replace"))}
    for prefix, spin in (("", "ALPHA_"), ("U", "BETA_")) if unrestricted else (("", ""),):
        for wanted in ("ORB", "OCC"):
            if prefix + wanted not in sections:
                raise FileError(f"{name}: no section #{prefix + wanted}; OpenMolcas writes it with the orbitals")
        vectors = _vectors(sections[f"{prefix}ORB"], n_basis, n_orbitals, name)
        occupations = _numbers(sections[f"{prefix}OCC"], name)
        energies = _numbers(sections.get(f"{prefix}ONE", ()), name)
        energies = energies if len(energies) and np.any(energies) else np.full(len(occupations), np.nan)
        found[f"MO_{spin}VECTORS"] = vectors
        found[f"MO_{spin}OCCUPATIONS"] = _padded(occupations, n_basis, n_orbitals)
        found[f"MO_{spin}ENERGIES"] = _padded(energies, n_basis, n_orbitals)
    return found, n_basis


def _title(sections: dict[str, list[str]]) -> str:
    return next((line.strip("* ") for line in sections["INFO"] if line.startswith("*")), "")


def _numbers(lines: Sequence[str], name: str) -> Reals:
    """Numbers of a section: in columns as wide as the first of them where they have exponents."""
    kept = [line for line in lines if line.strip() and not line.startswith("*")]
    first = re.search(r"E[+-]\d\d", kept[0]) if kept else None
    if first is None:
        return numbers_in_text("\n".join(kept).encode("ascii", "replace"), name, 1)
    return numbers_in_columns(kept, first.end(), name, 1)


def _vectors(lines: Sequence[str], n_basis: NDArray[np.int64], n_orbitals: NDArray[np.int64], name: str) -> Reals:
    """Coefficients of all orbitals, irrep by irrep; zeros stand for those that are left out."""
    values = _numbers(lines, name)
    expected = int(n_basis @ n_orbitals)
    if len(values) != expected:
        raise FileError(f"{name}: {len(values)} coefficients in #ORB, expected {expected}; it is cut off")
    blocks, at = [], 0
    for basis, orbitals in zip(n_basis.tolist(), n_orbitals.tolist(), strict=True):
        blocks += [values[at : at + basis * orbitals], np.zeros(basis * (basis - orbitals))]
        at += basis * orbitals
    return np.concatenate(blocks)


def _padded(values: Reals, n_basis: NDArray[np.int64], n_orbitals: NDArray[np.int64]) -> Reals:
    """Values of orbitals, irrep by irrep, with zeros for those that are left out."""
    if len(values) != n_orbitals.sum():
        raise ValueError(f"{len(values)} occupations or energies of {n_orbitals.sum()} orbitals")
    parts = np.split(values, np.cumsum(n_orbitals)[:-1])
    padded = [np.concatenate([part, np.zeros(n - len(part))]) for part, n in zip(parts, n_basis.tolist(), strict=True)]
    return np.concatenate(padded)
