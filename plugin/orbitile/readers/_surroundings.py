"""What belongs to a wavefunction of a region: the charges around it, from a file, and the one in vacuum."""

from __future__ import annotations

import zipfile
from dataclasses import fields
from pathlib import Path

import numpy as np

from ..base.errors import FileError, OrbitileError
from ..files.beside import region_file
from ..model.external_charges import ExternalCharges
from ..model.wavefunction import Wavefunction


def surroundings_of(wavefunction: Wavefunction) -> ExternalCharges:
    """The charges around a wavefunction that was read from a file with a region beside it.

    Raises
    ------
    FileError
        When there is no such file, it is damaged, has no charges, or has others than those of the wavefunction.
    """
    file = region_file(file_of(wavefunction))
    try:
        with np.load(file, allow_pickle=False) as archive:
            parts = {part.name: archive[f"external/{part.name}"] for part in fields(ExternalCharges)}
        external = ExternalCharges(**parts)
    except FileNotFoundError as error:
        raise FileError(f"{file}: no such file; `orbitile region` writes it beside the wavefunction") from error
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, OrbitileError) as error:
        raise FileError(f"{file}: no region with charges, or damaged ({type(error).__name__}: {error})") from error
    if external.digest not in wavefunction.method:
        raise FileError(
            f"{file.name}: expected the charges in whose field the wavefunction was computed ({wavefunction.method}), "
            f"got {external}"
        )
    return external


def check_vacuum(wavefunction: Wavefunction, vacuum: Wavefunction) -> None:
    """Refuse a wavefunction in vacuum that is not by the same calculation, of the same atoms in the same places.

    Raises
    ------
    FileError
        With what it is of: the file may be left from another calculation of that name.
    """
    one, other = wavefunction.positions, vacuum.positions
    expected, got = wavefunction.method.partition(", in the field of ")[0], vacuum.method
    if one.shape != other.shape or not np.all(np.abs(one - other) < SAME):
        expected, got = "the same atoms in the same places", "others"
    if expected != got:
        name = Path(file_of(vacuum)).name
        raise FileError(f"{name}: expected a wavefunction in vacuum of {expected}, got {got}; compute it again")


SAME = 1e-3
"""Distance in bohr up to which atoms are at one place: files print fewer digits."""


def file_of(wavefunction: Wavefunction) -> str:
    """The file or store that a wavefunction was read from."""
    return wavefunction.source.partition(", frame ")[0]
