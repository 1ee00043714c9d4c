r"""Wavefunction files of OpenMolcas (`.scf.h5`, `.rasscf.h5`, `.caspt2.h5`, ...), which are HDF5.

Each basis function has an id of centre, shell, angular momentum and m (https://molcas.gitlab.io/OpenMolcas, and the
DESCRIPTION of each dataset), so there is no order to be known. Contractions are normalised to one. Cartesian functions
have a negative angular momentum -l, and m + l counts their components in our order; they have the norm of a product of
different coordinates: xx is :math:`\sqrt 3` times as large as ours. With symmetry, orbitals are blocks, one an irrep,
over symmetry-adapted functions, and `DESYM_MATRIX` has these in basis functions.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from ..base.arrays import Indices, Reals
from ..base.errors import FileError, OrbitileError
from ..files import hdf5
from ..files.reading import damage_as_error
from ..model.conventions import angular_normalization, cartesian_powers, n_components
from ..model.core_potentials import named_ghosts, settled_charges
from ..model.wavefunction import Orbitals, Shell, Stated, Wavefunction, are_natural
from ._contractions import normalised
from ._isolation import isolated

DESCRIPTION = "HDF5 files of OpenMolcas"
PATTERNS = ("*.scf.h5", "*.rasscf.h5", "*.caspt2.h5", "*.guessorb.h5", "*.loprop.h5")
KIND = "wavefunction"
BINARY = True
CONTENTS = ("MOLCAS_MODULE", "NSYM", "PRIMITIVES")

_ENTRIES = ("PRIMITIVES", "PRIMITIVE_IDS", *(f"MO_{spin}{what}" for spin in ("", "ALPHA_", "BETA_") for what in (
    "VECTORS", "OCCUPATIONS", "ENERGIES", "TYPEINDICES")), *(f"{desym}{what}" for desym in ("", "DESYM_") for what in (
    "BASIS_FUNCTION_IDS", "CENTER_ATNUMS", "CENTER_CHARGES", "CENTER_COORDINATES")), "DESYM_MATRIX")  # fmt: skip
_ATTRIBUTES = ("MOLCAS_MODULE", "MOLCAS_VERSION", "ORBITAL_TYPE", "NSYM", "NBAS", "IRREP_LABELS", "SPINMULT")
"""What is read, by its names in the file."""

_DELETED = "D"
_KINDS = "FI123S"
"""Types of orbitals from the core upwards: frozen, inactive, active in three spaces, secondary."""


def read(path: Path) -> Wavefunction:
    """Read a wavefunction; the library that this needs, h5py, is an extra."""
    return converted(contents_of(path), path)


def contents_of(path: Path) -> dict[str, Any]:
    """What of a file is read, by name; in a process of its own."""
    return isolated(arrays_of, str(path.absolute()), name=path.name, library="h5py", size=path.stat().st_size)


def converted(contents: dict[str, Any], path: Path) -> Wavefunction:
    """The wavefunction in what was read; whatever is wrong with it, a `FileError`."""
    with damage_as_error(path, "OpenMolcas file", OrbitileError):
        return _wavefunction(contents, path)


def arrays_of(name: str) -> dict[str, Any]:
    """What of a file is read, by name, as far as it is there; called in a process of its own."""
    path = Path(name)
    h5py = hdf5.library(path.name)
    with hdf5.translated(path), h5py.File(path, "r") as file:
        found = {entry: np.asarray(file[entry]) for entry in _ENTRIES if entry in file}
        return found | {entry: np.asarray(file.attrs[entry]) for entry in _ATTRIBUTES if entry in file.attrs}


def _wavefunction(contents: dict[str, Any], path: Path) -> Wavefunction:
    module = _text(contents["MOLCAS_MODULE"])
    spins = ("ALPHA_", "BETA_") if "MO_ALPHA_VECTORS" in contents else ("",)
    for what in ("VECTORS", "OCCUPATIONS"):
        if f"MO_{spins[0]}{what}" not in contents:
            lacks = f"this OpenMolcas file, of module {module}, holds no orbitals with occupations"
            raise FileError(f"{path.name}: {lacks}; read that of SCF or RASSCF")
    desym = "DESYM_" if int(contents["NSYM"]) > 1 else ""
    charges = np.asarray(contents[f"{desym}CENTER_CHARGES"], float)
    numbers = np.asarray(contents.get(f"{desym}CENTER_ATNUMS", np.rint(charges)), np.int64)
    positions = np.asarray(contents[f"{desym}CENTER_COORDINATES"], float)
    shells, order, factors = _shells(contents, f"{desym}BASIS_FUNCTION_IDS", path)
    seen = sorted({shell.atom for shell in shells} | set(np.flatnonzero(charges > 0).tolist()))
    place = {atom: n for n, atom in enumerate(seen)}  # centres that are charges of an environment are left out
    shells = tuple(Shell(place[s.atom], s.angular_momentum, s.pure, s.exponents, s.coefficients) for s in shells)
    numbers, charges, positions = np.maximum(numbers, 0)[seen], np.maximum(charges, 0)[seen], positions[seen]
    parts = [_orbitals(contents, spin, order, factors) for spin in spins]
    electrons = float(sum(part.occupations.sum() for part in parts))
    if electrons < 0.5:
        raise FileError(f"{path.name}: orbitals of module {module} without occupations; read the .rasscf.h5 or .scf.h5")
    charges, remarks = settled_charges(numbers, [charges], electrons)
    kind = _text(contents.get("ORBITAL_TYPE", b""))
    multiplicity = contents.get("SPINMULT")
    return Wavefunction(
        atomic_numbers=numbers,
        positions=positions,
        core_charges=charges,
        shells=shells,
        alpha=parts[0],
        beta=parts[1] if len(parts) > 1 else None,
        natural=any(are_natural(part.occupations) for part in parts),
        source=str(path),
        program=f"OpenMolcas {_text(contents.get('MOLCAS_VERSION', b''))}".strip(),
        method=f"{module} {kind}".strip(),
        stated=Stated(multiplicity=None if multiplicity is None else int(multiplicity)),
        remarks=(*named_ghosts(numbers, charges), *remarks),
    )


def _text(value: Any) -> str:
    data = np.asarray(value).item()
    return (data.decode("utf-8", "replace") if isinstance(data, bytes) else str(data)).strip()


def _shells(contents: dict[str, Any], ids: str, path: Path) -> tuple[tuple[Shell, ...], Indices, Reals]:
    """Shells, and what takes coefficients of the file to ours: order of the rows, factor of each row."""
    functions = [tuple(row) for row in np.asarray(contents[ids], np.int64).tolist()]
    if max(Counter(functions).values(), default=1) > 1:
        contaminants = "contaminants (s functions of d shells and the like)"
        raise FileError(f"{path.name}: {contaminants} are not supported; run it without the keyword Contaminant")
    rows = {function: n for n, function in enumerate(functions)}
    values = np.asarray(contents["PRIMITIVES"], float)
    owners = np.asarray(contents["PRIMITIVE_IDS"], np.int64)
    shells: list[Shell] = []
    order: list[int] = []
    factors: list[float] = []
    for centre, momentum, number in sorted(
        {(c, l, n) for c, n, l, _ in functions}, key=lambda s: (s[0], abs(s[1]), s[2])
    ):
        l, pure = abs(momentum), momentum >= 0
        chosen = values[np.all(owners == (centre, l, number), axis=1)]
        chosen = chosen[chosen[:, 1] != 0]
        exponents, coefficients = chosen.T
        shells.append(Shell(centre - 1, l, pure, exponents, normalised(exponents, coefficients, l)))
        ms = _values_of_m(l, pure)
        order += [rows[centre, number, momentum, m] for m in ms]
        factors += [1.0] * len(ms) if pure else [2 ** (-l / 2) / angular_normalization(p) for p in cartesian_powers(l)]
    if len(order) != len(functions):
        raise FileError(f"{path.name}: {len(functions)} basis functions, but shells of {len(order)}")
    return tuple(shells), np.array(order, np.intp), np.array(factors)


def _values_of_m(l: int, pure: bool) -> list[int]:
    """The m of the components of a shell in our order."""
    if not pure:
        return [n - l for n in range(n_components(l, False))]
    if l == 1:
        return [1, -1, 0]
    return [0, *(m for n in range(1, l + 1) for m in (n, -n))]


def _orbitals(contents: dict[str, Any], spin: str, order: Indices, factors: Reals) -> Orbitals:
    """Orbitals of one spin over basis functions, those of all irreps together."""
    sizes = np.atleast_1d(contents["NBAS"]).astype(int).tolist()
    n_basis = len(order)
    if sum(sizes) != n_basis or min(sizes) < 0:
        raise ValueError(f"irreps of {sizes} functions, {n_basis} in all")
    vectors = np.asarray(contents[f"MO_{spin}VECTORS"], float).ravel()
    coefficients = np.zeros((n_basis, n_basis))
    labels = [_text(label) for label in np.atleast_1d(contents["IRREP_LABELS"])]
    irreps: list[str] = []
    first, at = 0, 0
    for size, label in zip(sizes, labels, strict=True):
        block = vectors[at : at + size * size].reshape(size, size)  # an orbital a row
        coefficients[first : first + size, first : first + size] = block.T
        irreps += [label] * size
        first, at = first + size, at + size * size
    if len(sizes) > 1:
        coefficients = np.asarray(contents["DESYM_MATRIX"], float).reshape(n_basis, n_basis).T @ coefficients
    coefficients = coefficients[order] * factors[:, None]
    occupations = np.asarray(contents[f"MO_{spin}OCCUPATIONS"], float)
    energies = np.asarray(contents.get(f"MO_{spin}ENERGIES", np.full(n_basis, np.nan)), float)
    kinds = [_text(kind).upper() for kind in contents.get(f"MO_{spin}TYPEINDICES", [b"S"] * n_basis)]
    kept = [n for n in range(n_basis) if kinds[n] != _DELETED and np.any(coefficients[:, n])]
    kept.sort(key=lambda n: (_KINDS.find(kinds[n]), -occupations[n], energies[n]))
    return Orbitals(coefficients[:, kept], occupations[kept], energies[kept], tuple(irreps[n] for n in kept))
