"""Vibrations and spectra of a file, whatever its format."""

from __future__ import annotations

from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import FileError
from ..files.encodings import is_binary
from ..files.hdf5 import MAGIC
from ..files.plain import beginning
from ..model.elements import MASSES, SYMBOLS
from ..model.spectrum import Spectrum
from ..model.units import angstrom, electronvolt, wavenumber
from ..model.vibrations import Vibrations
from ._formats import checked_path
from .series import SeriesFrames


def load_vibrations(path: str | PathLike[str]) -> Vibrations:
    """Read the vibrations in a file.

    Raises
    ------
    FileError
        When it cannot be read, or holds none.
    """
    file = checked_path(path, folders=True)
    if file.is_dir() or beginning(file).startswith(MAGIC):
        with closing(SeriesFrames(file)) as series:
            return series.vibrations()
    data = _log(file)
    if not (hasattr(data, "vibfreqs") and hasattr(data, "vibdisps")):
        raise FileError(
            f"{file.name}: holds no vibrations; orbitile vibrations {file.name} --method gfn2 computes them"
        )
    displacements = np.asarray(data.vibdisps, np.float64)
    norms = np.sqrt((displacements**2).sum(axis=(1, 2)))
    numbers = np.asarray(data.atomnos)
    order = np.argsort(data.vibfreqs, kind="stable")
    return Vibrations(
        atomic_numbers=numbers,
        positions=np.asarray(data.atomcoords[-1]) * angstrom,
        masses=np.array(MASSES)[numbers],
        wavenumbers=np.asarray(data.vibfreqs)[order],
        displacements=(displacements / norms[:, None, None])[order],
        infrared=np.asarray(data.vibirs)[order] if hasattr(data, "vibirs") else np.zeros(0),
        raman=np.asarray(data.vibramans)[order] if hasattr(data, "vibramans") else np.zeros(0),
        symmetries=tuple(data.vibsyms[n] for n in order) if hasattr(data, "vibsyms") else (),
        source=str(file),
    )


def load_spectra(path: str | PathLike[str]) -> tuple[Spectrum, ...]:
    """Read the spectra of excited states and nuclei in a file.

    Raises
    ------
    FileError
        When it cannot be read, or holds none.
    """
    file = checked_path(path, folders=True)
    data, found = _log(file), []
    energies = np.asarray(getattr(data, "etenergies", ())) * wavenumber / electronvolt
    labels = tuple(getattr(data, "etsyms", ()))
    for kind, name in (("uv", "etoscs"), ("ecd", "etrotats")):
        strengths = getattr(data, name, ())
        if len(energies) and len(strengths) == len(energies):
            found.append(Spectrum(kind, energies, np.asarray(strengths), labels, str(file)))
    shieldings = {
        atom: float(np.trace(tensor["total"]) / 3) for atom, tensor in getattr(data, "nmrtensors", {}).items()
    }
    for number in np.unique([data.atomnos[atom] for atom in shieldings]).tolist():
        atoms = [atom for atom in shieldings if data.atomnos[atom] == number]
        symbol = SYMBOLS[number]
        names = tuple(f"{symbol}{atom + 1}" for atom in atoms)
        positions = np.array([shieldings[atom] for atom in atoms])
        found.append(Spectrum(f"nmr:{symbol}", positions, np.ones(len(atoms)), names, str(file)))
    if not found:
        raise FileError(f"{file.name}: holds no spectra of excited states or nuclei")
    return tuple(found)


def _log(file: Path) -> Any:
    from cclib.io.ccio import ccread

    if is_binary(beginning(file)):  # which cclib would search line by line, for seconds
        raise FileError(f"{file.name}: holds no vibrations and spectra: it is no text, as logs are")
    try:
        return ccread(str(file))
    except Exception as error:
        raise FileError(f"{file.name}: holds no vibrations that cclib could read ({error})") from error
