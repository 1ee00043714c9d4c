r"""ORCA's binary files of orbitals: `.gbw`, and those of the same layout (`.loc`, `.uno`, `.nat` ...).

There is no description of the layout. What is read here was found with files of ORCA 4.2, 5.0, 6.0 and 6.1, whose
orbitals are orthonormal in it to eight digits or more. All numbers are little-endian:

- places of the blocks below in the file, 64 bits each: settings, geometry, basis set, orbitals, core potentials (0
  where there are none). From 6.1 on, three other numbers stand in front of them, the first of which is -1.
- geometry: number of atoms (32 bits); of each atom position in bohr, charge that the electrons see, exponent of the
  nucleus, mass, and element (in 32 bits with 16 bytes more, or in 64 bits from 6.1 on).
- basis set: its version, number of atoms; of each atom its number and that of its shells, and of each shell angular
  momentum, its first basis function, number of primitives, a number of no meaning, exponents and coefficients. There is
  room for 32 primitives in 4.2 and for 37 later. Coefficients multiply :math:`r^l e^{-\zeta r^2}`, and a contraction is
  normalised but for a factor that depends on l.
- orbitals: number of spins (32 bits) and of basis functions (32 bits, from 6.1 on 64); of each spin the coefficients,
  a basis function a row, occupations, energies in hartree, irreducible representations, and whether it is of a core.

What does not fit all of that is read by `orca_2json`, where there is an ORCA.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..base.errors import FileError, OrbitileError
from ..base.imports import program
from ..base.temporary import own_folder
from ..files.reading import check_room, read_bytes
from ..model.conventions import n_components, radial_normalization
from ..model.wavefunction import Wavefunction
from . import orca_json
from ._orca import Atoms, Contraction, OrbitalSet, localisation_of, wavefunction_of

DESCRIPTION = "ORCA's orbital files (.gbw, .loc, .uno, ...)"
PATTERNS = ("*.gbw", "*.loc", "*.uno", "*.uco", "*.qro", "*.unso", "*.nat", "*.mp2nat")
KIND = "wavefunction"
BINARY = True

_SETTINGS = 40
"""Where the settings stand before 6.1: below the five places."""

_PLACES_61 = 24
"""Where the places begin from 6.1 on."""

_ATOM = [("position", "<f8", 3), ("charge", "<f8"), ("nucleus", "<f8"), ("mass", "<f8")]
_ATOMS = {
    False: np.dtype([*_ATOM, ("element", "<i4"), ("rest", "V16")]),
    True: np.dtype([*_ATOM, ("element", "<i8")]),
}
"""Record of an atom, before 6.1 and from there on."""

_BASIS_VERSIONS = (5, 6)
_PRIMITIVES = (37, 32)
_MOST_SHELLS = 10_000
"""Shells of an atom; a basis set has some tens."""


class _Unknown(OrbitileError):
    """The file has another layout."""


def recognises(head: str) -> bool:
    """Whether the beginning of a file is that of one of ORCA's: the place of its settings, and what precedes it."""
    old = chr(_SETTINGS) + 7 * "\0"
    new = chr(_SETTINGS + 32) + 7 * "\0"
    return head.startswith(old) or (head.startswith(8 * "\N{REPLACEMENT CHARACTER}") and new in head[16:64])


def read(path: Path) -> Wavefunction:
    """Read a wavefunction, by `orca_2json` where the layout is not known."""
    try:
        return _wavefunction(_Blocks(read_bytes(path), path.name), path)
    except _Unknown as error:
        if not orca_2json():
            raise FileError(
                f"{path.name}: {error}; expected that of ORCA 4.2, 5.0, 6.0 or 6.1. Put orca_2json of that "
                f"ORCA on PATH, or run orca_2mkl {path.stem} -molden and read {path.stem}.molden.input"
            ) from error
    with json_of(path) as written:
        return replace(orca_json.read(written), source=str(path), localised=localisation_of(path))


class _Blocks:
    """The bytes of a file, and where its blocks are."""

    def __init__(self, data: bytes, name: str) -> None:
        self.data, self.name = data, name
        self.new = bool(self.numbers(0, "<i8", 1)[0] == -1)
        places = self.numbers(_PLACES_61 if self.new else 0, "<i8", 5)
        if places[0] != len(places) * 8 + (_PLACES_61 + 8 if self.new else 0):
            raise _Unknown(f"begins with {places[0]}, not as a file of ORCA's orbitals does")
        self.geometry, self.basis, self.orbitals = (int(place) for place in places[1:4])
        for place, what in ((self.geometry, "atoms"), (self.basis, "basis set"), (self.orbitals, "orbitals")):
            if place == 0:
                raise FileError(f"{name}: this file of ORCA holds no {what}, expected atoms, basis set and orbitals")

    def numbers(self, place: int, dtype: DTypeLike, count: int) -> NDArray[Any]:
        """Numbers or records at a place of the file."""
        dtype = np.dtype(dtype)
        if not 0 <= place <= len(self.data) or count < 0:
            raise FileError(f"{self.name}: refers to byte {place}, but has {len(self.data)}: truncated or damaged")
        check_room(self.name, count, len(self.data) - place, dtype.itemsize, "numbers")
        return np.frombuffer(self.data, dtype, count, place)


def _wavefunction(blocks: _Blocks, path: Path) -> Wavefunction:
    n_atoms = int(blocks.numbers(blocks.geometry, "<i4", 1)[0])
    atoms = blocks.numbers(blocks.geometry + 4, _ATOMS[blocks.new], n_atoms)
    contractions, version = _basis(blocks, n_atoms)
    n_basis = sum(n_components(contraction.angular_momentum, True) for contraction in contractions)
    return wavefunction_of(
        path,
        Atoms(atoms["element"], atoms["charge"], atoms["position"]),
        contractions,
        _sets(blocks, n_basis),
        program=f"ORCA {version} {path.suffix.lstrip('.') or 'gbw'}",
    )


def _basis(blocks: _Blocks, n_atoms: int) -> tuple[list[Contraction], str]:
    """Shells of all atoms, and the version of ORCA as far as the layout tells."""
    version, n_centres = blocks.numbers(blocks.basis, "<i4", 2).tolist()
    if version not in _BASIS_VERSIONS:
        raise _Unknown(f"its basis set has layout {version}, which is not known")
    for most in _PRIMITIVES:
        try:
            contractions = list(_contractions(blocks, n_centres, n_atoms, most))
        except _Unknown:
            continue
        return contractions, "6.1" if blocks.new else "6.0" if version == 6 else "5" if most == 37 else "4.2"
    raise _Unknown("the layout of its basis set is not known, or it is damaged")


def _contractions(blocks: _Blocks, n_centres: int, n_atoms: int, most: int) -> Iterator[Contraction]:
    """Shells of all atoms, if there is room for so many primitives in each."""
    record = np.dtype(
        [
            ("angular_momentum", "<i4"),
            ("first", "<i4"),
            ("n_primitives", "<i4"),
            ("unused", "<i4"),
            ("exponents", "<f8", most),
            ("coefficients", "<f8", most),
        ]
    )
    place, first = blocks.basis + 8, 0
    for _ in range(n_centres):
        atom, n_shells = blocks.numbers(place, "<i4", 2).tolist()
        place += 8
        if not (0 <= atom < n_atoms and 0 <= n_shells <= _MOST_SHELLS):
            raise _Unknown(f"{n_shells} shells of atom {atom + 1}")
        for shell in blocks.numbers(place, record, n_shells):
            l, n = int(shell["angular_momentum"]), int(shell["n_primitives"])
            fits = 0 < n <= most and shell["first"] == first and l >= 0
            if not fits or shell["exponents"][n:].any() or not np.all(shell["exponents"][:n] > 0):
                raise _Unknown(f"a shell of {n} primitives")
            exponents = shell["exponents"][:n]
            yield Contraction(atom, l, exponents, shell["coefficients"][:n] / radial_normalization(exponents, l))
            first += n_components(l, True)
        place += n_shells * record.itemsize


def _sets(blocks: _Blocks, n_basis: int) -> list[OrbitalSet]:
    n_spins = int(blocks.numbers(blocks.orbitals, "<i4", 1)[0])
    dimension = np.dtype("<i8" if blocks.new else "<i4")
    n = int(blocks.numbers(blocks.orbitals + 4, dimension, 1)[0])
    if n_spins not in (1, 2) or n != n_basis:
        expected = f"one or two sets of {n_basis} orbitals, one for each basis function"
        raise FileError(f"{blocks.name}: damaged: expected {expected}, got {n_spins} of {n}")
    place = blocks.orbitals + 4 + dimension.itemsize
    check_room(blocks.name, n_spins * n * n, len(blocks.data) - place, 8, "orbital coefficients")
    record = np.dtype(
        [
            ("coefficients", "<f8", (n, n)),
            ("occupations", "<f8", (n,)),
            ("energies", "<f8", (n,)),
            ("irreps", "<i4", n),
            ("core", "<i4", n),
        ]
    )
    return [
        OrbitalSet(spin["coefficients"], spin["occupations"], spin["energies"])
        for spin in blocks.numbers(place, record, n_spins)
    ]


_SECONDS = 600.0
"""What it may take: that of ORCA 5 computes integrals too."""


def orca_2json() -> str:
    """Path of `orca_2json`, on the search path or beside `orca`; empty where there is none."""
    found = program("orca_2json")
    if not found and (orca := program("orca")):
        found = shutil.which("orca_2json", path=os.path.dirname(os.path.realpath(orca))) or ""
    return found


@contextmanager
def json_of(path: Path) -> Iterator[Path]:
    """JSON that `orca_2json` writes of a file, in a folder of its own for as long as the context lasts.

    Raises
    ------
    FileError
        When it writes none; says what it said.
    """
    with tempfile.TemporaryDirectory(dir=own_folder()) as folder:
        copy = Path(folder, path.name)
        shutil.copyfile(path, copy)
        said = ""
        for named in (copy.name, copy.stem):  # ORCA 6, and ORCA 5
            try:
                done = subprocess.run(
                    [orca_2json(), named, "-json"],
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=_SECONDS,
                    check=False,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                raise FileError(f"{path.name}: orca_2json cannot read it ({error})") from error
            written = next(iter(Path(folder).glob("*.json")), None)
            if written is not None:
                yield written
                return
            said = said or done.stdout.decode("utf-8", "replace").strip()
        last = said.rpartition("\n")[2][:200] or "it said nothing"
        raise FileError(f"{path.name}: orca_2json cannot read it ({last}); is it of the ORCA that wrote the file?")
