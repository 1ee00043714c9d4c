"""ORCA's `.densities`: densities beyond that of the orbitals, which are in the `.gbw` file of the same name.

There is no description of the layout. What is read was found with files of ORCA 5.0, 6.0 and 6.1 that have their
orbitals beside them, whose density is one of those in the file. Matrices over ORCA's basis functions follow each other.
What they are stands below them in ORCA 5, and in a file `.densitiesinfo` from 6 on: number of matrices (32 bits), a
name in 512 bytes, and of each matrix a name in 512 bytes, its place (64 bits), and its numbers of rows and columns (32
bits each).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import FileError
from ..files.plain import name_within
from ..files.reading import check_room, read_bytes
from ..gaussians.overlap import own_overlap
from ..model.wavefunction import Wavefunction
from . import orca_gbw, orca_json
from ._orca import Reals, order_and_signs

DESCRIPTION = "ORCA's densities, beside its .gbw or JSON"
PATTERNS = ("*.densities",)
KIND = "wavefunction"
BINARY = True
PRIORITY = -1  # of a folder, the orbitals themselves are read first

_ORBITALS = {".gbw": orca_gbw.read, ".json": orca_json.read}
"""Files beside it that hold the orbitals."""

_ABOUT = ".densitiesinfo"
"""What ORCA 6 writes beside it."""

_NAME = 512
_RECORDS = {
    5: np.dtype([("name", f"S{_NAME}"), ("place", "<i8"), ("shape", "<i4", 2), ("rest", "V1")]),
    6: np.dtype([("name", f"S{_NAME}"), ("place", "<i8"), ("other", "<i8"), ("shape", "<i4", 2), ("rest", "V125")]),
}
"""What is said of a matrix, by the first version of ORCA that says it so."""

_MOST = 10_000
"""Matrices in a file."""

_TOLERANCE = 1e-4
"""Largest deviation of an element of a density from that of the orbitals, which are those of one iteration later."""


class _Density(NamedTuple):
    """A matrix over our basis functions, and its name, such as scfp, or cisr: the last letter tells charge and spin."""

    name: str
    matrix: Reals


def read(path: Path) -> Wavefunction:
    """Read the orbitals beside the file, and with them the last density that is not theirs, if there is one."""
    return read_beside(path, path)


def others(path: Path) -> tuple[Path, ...]:
    """The files beside it that belong to it."""
    return tuple(found for found in map(partial(_beside, path), (*_ORBITALS, _ABOUT)) if found.is_file())


def read_beside(plain: Path, path: Path) -> Wavefunction:
    """The same of a plain copy of a file, the others of the calculation lying beside the original."""
    wavefunction = _orbitals_beside(path)
    densities = list(_densities(read_bytes(plain), path, wavefunction))
    own = _density_of(wavefunction)
    overlap = own_overlap(wavefunction)
    if not densities:
        raise FileError(
            f"{path.name}: no matrix of {len(own)} by {len(own)}, as the orbitals of {Path(wavefunction.source).name} "
            "ask for: they are of different calculations, or it is damaged"
        )
    for name, matrix in densities:
        if name == "scfp" and np.abs(matrix - own).max() > _TOLERANCE * max(1.0, np.abs(own).max()):
            raise FileError(
                f"{path.name}: its density of the self-consistent field is not that of the orbitals in "
                f"{Path(wavefunction.source).name}: they are of different calculations"
            )
    others = [
        density
        for density in densities
        if density.name != "scfp"
        and not density.name.endswith(".tmp")
        and abs(float(np.sum(density.matrix * overlap)) - wavefunction.n_electrons) < 1e-3
    ]
    if not others:
        remark = f"{path.name} holds no density but that of the orbitals"
        return replace(wavefunction, source=str(path), remarks=(*wavefunction.remarks, remark))
    chosen = others[-1]
    spin = next((density.matrix for density in densities if density.name in _spins_of(chosen.name)), np.empty(0))
    remark = f"the density is {chosen.name} of {path.name}, not that of the orbitals"
    if len(others) > 1:
        remark += f"; it holds {', '.join(density.name for density in others[:-1])} too"
    return replace(
        wavefunction,
        source=str(path),
        density_matrix=chosen.matrix,
        spin_density_matrix=spin,
        remarks=(*wavefunction.remarks, remark),
    )


def _orbitals_beside(path: Path) -> Wavefunction:
    for suffix, reader in _ORBITALS.items():
        if (beside := _beside(path, suffix)).is_file():
            return reader(beside)
    needed = _beside(path, ".gbw").name
    raise FileError(f"{path.name}: densities alone, which need the {needed} of the same calculation beside them")


def _beside(path: Path, suffix: str) -> Path:
    """A file of the same calculation."""
    return path.with_name(name_within(path.name)).with_suffix(suffix)


def _density_of(wavefunction: Wavefunction) -> Reals:
    parts = (wavefunction.alpha, wavefunction.beta)
    matrices = [(part.coefficients * part.occupations) @ part.coefficients.T for part in parts if part is not None]
    total: Reals = np.sum(matrices, axis=0)
    return total


def _spins_of(name: str) -> tuple[str, str]:
    """What ORCA may call the spin density that goes with a density: pmp2re and rmp2re, cisp and cisr."""
    return f"r{name[1:]}", f"{name[:-1]}r"


def _densities(data: bytes, path: Path, wavefunction: Wavefunction) -> Iterator[_Density]:
    """All densities of the file that are over the basis functions of the orbitals."""
    information = _beside(path, _ABOUT)
    order, signs = order_and_signs(wavefunction.shells)
    n = len(order)
    if information.is_file():
        version, about = 6, read_bytes(information)
    else:
        version = 5
        place = int(np.frombuffer(data[:8].ljust(8, b"\xff"), "<i8")[0])
        if not 8 <= place <= len(data) - 4 - _NAME:
            raise FileError(
                f"{path.name}: of a layout that is not known, or without the {information.name} that ORCA 6 writes "
                "beside it"
            )
        about = data[place:]
    record = _RECORDS[version]
    if len(about) < 4 + _NAME:
        raise FileError(f"{path.name}: what is said of its densities is cut off")
    count = int(np.frombuffer(about, "<i4", 1)[0])
    if not 0 < count <= _MOST:
        raise FileError(f"{path.name}: {count} densities, expected 1 to {_MOST}: damaged")
    check_room(path.name, count, len(about) - 4 - _NAME, record.itemsize, "names of densities")
    for entry in np.frombuffer(about, record, count, 4 + _NAME):
        name = entry["name"].split(b"\0")[0].decode("utf-8", "replace").replace("\\", "/").rpartition("/")[2]
        if entry["shape"].tolist() != [n, n]:
            continue  # over orbitals, or of another calculation
        place = int(entry["place"])
        if place < 0:
            raise FileError(f"{path.name}: {name} is at byte {place}: damaged")
        check_room(path.name, n * n, len(data) - place, 8, "numbers")
        matrix = np.frombuffer(data, "<f8", n * n, place).reshape(n, n)
        yield _Density(_kind(name, _beside(path, "").name), matrix[np.ix_(order, order)] * signs[:, None] * signs)


def _kind(name: str, calculation: str) -> str:
    """`scfp` of `job.scfp`."""
    return name.removeprefix(f"{calculation}.") if name.startswith(f"{calculation}.") else name.rpartition(".")[2]
