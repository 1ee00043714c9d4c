"""JSON that `orca_2json` of ORCA 5 and 6 writes of a `.gbw` file or one like it.

Its keys are named in the manual (https://www.faccts.de/docs/orca/6.1/manual, section 9.3). Those of ORCA 5 and 6 differ
in the name of the basis set, and ORCA 5 writes positions in bohr or Angstrom.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ..base.errors import FileError, OrbitileError
from ..base.memory import require_memory
from ..files.reading import damage_as_error, read_bytes
from ..model.conventions import ANGULAR_MOMENTUM_LETTERS
from ..model.wavefunction import Stated, Wavefunction
from ._orca import ANGSTROM, Atoms, Contraction, Density, OrbitalSet, wavefunction_of, with_density

DESCRIPTION = "JSON files of ORCA's orca_2json"
PATTERNS = ("*.json",)
KIND = "wavefunction"

_UNITS = {"Angs": ANGSTROM, "Bohrs": 1.0}

_MOMENTA = {letter: l for l, letter in enumerate(ANGULAR_MOMENTUM_LETTERS)}

_EXPANSION = 6
"""Memory that a file takes as Python objects, in its own size: a number of 18 characters becomes one of 32 bytes."""

_LEFT_OUT = "excited states are left out: the file gives them no energies"
"""ORCA 6.1 writes an energy of 0 for every excited state."""


def recognises(head: str) -> bool:
    """Whether the beginning of a file is that of such JSON."""
    return head.lstrip().startswith("{") and ('"ORCA Header"' in head or ('"Molecule"' in head and '"Atoms"' in head))


def read(path: Path) -> Wavefunction:
    """Read a wavefunction."""
    size = path.stat().st_size
    require_memory(_EXPANSION * size, f"reading {size / 1e9:.1f} GB of JSON", "leave integrals out of it")
    try:
        data = json.loads(read_bytes(path), parse_constant=_refused)
    except (ValueError, RecursionError, MemoryError) as error:
        raise FileError(f"{path.name}: damaged JSON ({error or type(error).__name__})") from error
    if not isinstance(data, dict) or not isinstance(data.get("Molecule"), dict):
        raise FileError(
            f"{path.name}: expected the JSON that orca_2json writes of a .gbw file, got other JSON (no key Molecule)"
        )
    with damage_as_error(path, "ORCA JSON", OrbitileError):
        return _wavefunction(data, data["Molecule"], path)


def _refused(constant: str) -> NoReturn:
    raise ValueError(f"expected finite numbers, got {constant}")


def _wavefunction(data: dict[str, Any], molecule: dict[str, Any], path: Path) -> Wavefunction:
    atoms = molecule["Atoms"]
    bases = [atom.get("Basis", atom.get("BasisFunctions")) for atom in atoms]
    if not any(bases):
        raise _missing(path, "basis set", '"Basisset": true')
    orbitals = molecule.get("MolecularOrbitals", {}).get("MOs", [])
    if not orbitals or any("MOCoefficients" not in orbital for orbital in orbitals):
        raise _missing(path, "orbital coefficients", '"MOCoefficients": true')
    for name, what, known in (
        ("energies", molecule["MolecularOrbitals"].get("EnergyUnit", "Eh"), ("Eh",)),
        ("positions", molecule["CoordinateUnits"], tuple(_UNITS)),
    ):
        if what not in known:
            raise FileError(f"{path.name}: {name} in {what!r}, expected {' or '.join(known)}")
    version = str(data.get("ORCA Header", {}).get("Version", "")).partition(" ")[0]
    wavefunction = wavefunction_of(
        path,
        Atoms(
            np.array([atom["ElementNumber"] for atom in atoms], np.int64),
            np.array([atom["NuclearCharge"] for atom in atoms], float),
            np.array([atom["Coords"] for atom in atoms], float) * _UNITS[molecule["CoordinateUnits"]],
        ),
        [
            Contraction(
                n,
                _MOMENTA[shell["Shell"].lower()],
                np.array(shell["Exponents"], float),
                np.array(shell["Coefficients"], float),
            )
            for n, basis in enumerate(bases)
            for shell in basis or ()
        ],
        [_set(part) for part in _spins(orbitals)],
        program=f"ORCA {version} JSON".replace("  ", " "),
        title=str(molecule.get("BaseName", "")),
        stated=Stated(charge=float(molecule["Charge"]), multiplicity=int(molecule["Multiplicity"])),
        remarks=(_LEFT_OUT,) if molecule.get("TD-DFT") else (),
    )
    densities = molecule.get("Densities")
    if not densities:
        return wavefunction
    matrices = [Density(name.rpartition(".")[2], np.array(matrix, float)) for name, matrix in densities.items()]
    return with_density(wavefunction, matrices, path.name)


def _spins(orbitals: list[Any]) -> list[list[Any]]:
    """Orbitals of one spin, or those of alpha and beta spin, which follow each other.

    An unrestricted calculation may have orbitals that both spins share too, as natural ones: no more than functions.
    """
    n, n_basis = len(orbitals), len(orbitals[0]["MOCoefficients"])
    if n <= n_basis:
        return [orbitals]
    if n % 2 or n > 2 * n_basis:
        raise ValueError(f"{n} orbitals of {n_basis} basis functions")
    return [orbitals[: n // 2], orbitals[n // 2 :]]


def _set(orbitals: list[Any]) -> OrbitalSet:
    return OrbitalSet(
        np.array([orbital["MOCoefficients"] for orbital in orbitals], float).T,
        np.array([orbital["Occupancy"] for orbital in orbitals], float),
        np.array([orbital.get("OrbitalEnergy", 0.0) for orbital in orbitals], float),
        tuple(str(orbital.get("OrbitalSymLabel", "")) for orbital in orbitals),
    )


def _missing(path: Path, what: str, setting: str) -> FileError:
    remedy = f"write it again with {setting} in {path.stem}.json.conf, or without that file"
    return FileError(f"{path.name}: this JSON of ORCA holds no {what}; {remedy}")
