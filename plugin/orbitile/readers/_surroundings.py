"""Files beside that of a wavefunction of a region: the charges around it, and the wavefunction in vacuum."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..base.arrays import Reals
from ..base.errors import FileError, OrbitileError
from ..files.reading import user_path
from ..model.external_charges import ExternalCharges
from ..model.wavefunction import Wavefunction

LIVE = "region.live"
"""Name of the region of all wavefunctions in a folder of a live molecule."""


def region_file(path: str | PathLike[str]) -> Path:
    """Where the region is of which a file or store has the wavefunction."""
    file = user_path(path)
    live = file.parent / LIVE
    return live if live.exists() else file.parent / f"{file.stem}.region"


def vacuum_file(path: str | PathLike[str]) -> Path:
    """Where the wavefunction without surroundings is of which a file or store has that in their field."""
    file = user_path(path)
    return file.parent / f"{file.stem}-vacuum{file.suffix}"


def surroundings_of(wavefunction: Wavefunction) -> ExternalCharges:
    """The charges around a wavefunction that was read from a file with a region beside it.

    Raises
    ------
    FileError
        When there is no such file, it is damaged, has no charges, or has others than those of the wavefunction.
    """
    file = region_file(file_of(wavefunction))
    with parts_of_region(file) as parts:
        external = ExternalCharges(**{part.name: parts[f"external/{part.name}"] for part in fields(ExternalCharges)})
    check_surroundings(wavefunction, external, file)
    return external


def check_surroundings(wavefunction: Wavefunction, external: ExternalCharges, file: Path) -> None:
    """Refuse other charges than those in whose field a wavefunction was computed, by a `FileError`."""
    if external.digest not in wavefunction.method:
        raise FileError(
            f"{file.name}: expected the charges in whose field the wavefunction was computed ({wavefunction.method}), "
            f"got {external}; of frames along molecular dynamics compute one alone: `orbitile region --frame N`"
        )


@contextmanager
def parts_of_region(file: Path) -> Iterator[Any]:
    """Arrays of the file of a region, by name; what is raised while they are taken is told as a `FileError`."""
    try:
        zipfile.ZipFile(file).close()  # of another file NumPy would say that it may be unsafe
        with np.load(file, allow_pickle=False) as archive:
            yield archive
    except FileNotFoundError as error:
        raise FileError(f"{file}: no such file; `orbitile region` writes it beside the wavefunction") from error
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, OrbitileError) as error:
        raise FileError(f"{file}: no region with charges, or damaged ({type(error).__name__}: {error})") from error


def check_vacuum(wavefunction: Wavefunction, vacuum: Wavefunction) -> None:
    """Refuse a wavefunction in vacuum that is not by the same calculation, of the same atoms in the same places.

    Raises
    ------
    FileError
        With what it is of: the file may be left from another calculation of that name.
    """
    expected, got = wavefunction.method.partition(", in the field of ")[0], vacuum.method
    if not at_same_places(wavefunction.positions, vacuum.positions):
        expected, got = "the same atoms in the same places", "others"
    if expected != got:
        name = Path(file_of(vacuum)).name
        raise FileError(f"{name}: expected a wavefunction in vacuum of {expected}, got {got}; compute it again")


def at_same_places(one: Reals, other: Reals) -> bool:
    """Whether as many atoms are in the same places, in bohr, as far as digits in files go."""
    return one.shape == other.shape and bool(np.all(np.abs(one - other) < 1e-3))


def file_of(wavefunction: Wavefunction) -> str:
    """The file or store that a wavefunction was read from."""
    return wavefunction.source.partition(", frame ")[0]
