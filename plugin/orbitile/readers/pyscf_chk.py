r"""Checkpoint files of PySCF (HDF5): the molecule as JSON in `mol`, orbitals in `scf` or `mcscf`.

The molecule is stored as libcint has it (Q. Sun, J. Comput. Chem. 2015, 36, 1664): of each shell in `_bas` its atom, l,
number of primitives, number of contractions, kappa, and places of exponents and coefficients in `_env`; of each atom in
`_atm` its charge, place of its position, and kind of nucleus.

Orbitals are real or complex, over the basis functions (`RHF`, `UHF`, `ROHF`), over those of spin up and then those of
spin down (`GHF`), or over spinors (`pyscf.x2c`), see `orbitile.model.conventions`. Spinors are told from the rest by
their orbitals, which are orthonormal in one of the two ways only.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from math import factorial, pi, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Indices, Reals
from ..base.errors import FileError
from ..files.hdf5 import SIGNATURE, library
from ..files.reading import damage_as_error
from ..gaussians.overlap import shell_overlap
from ..model.conventions import components_of_spinors, functions_of, n_spinors
from ..model.elements import SYMBOLS
from ..model.wavefunction import Orbitals, Shell, Spinors, Wavefunction, are_natural
from ._isolation import isolated

DESCRIPTION = "PySCF checkpoint files"
PATTERNS = ("*.chk", "*.chkfile")
KIND = "wavefunction"
BINARY = True
CONTENTS = ("mol",)

_GROUPS = ("mcscf", "scf")
"""Where orbitals are, those of the higher level first."""
_ENTRIES = ("mo_coeff", "mo_occ", "mo_energy", "ncore", "casdm1", "kpt", "kpts")
_MOST = 1 << 33
"""Bytes of an array, at most."""


def recognises(head: str) -> bool:
    """Whether the beginning of a file is that of a checkpoint file, whatever its name."""
    return "HDF\r\n" in head[:8] and "mol\0" in head and any(f"\0{group}\0" in head for group in _GROUPS)


def read(path: Path) -> Wavefunction:
    """Read a wavefunction; h5py, which this needs, is an extra."""
    with path.open("rb") as stream:
        signature = stream.read(len(SIGNATURE))
    if signature != SIGNATURE:
        raise FileError(
            f"{path.name}: no checkpoint file of PySCF, which is HDF5; one of Gaussian becomes readable by formchk"
        )
    size = path.stat().st_size
    contents = isolated(contents_of, str(path), name=path.name, library="the library of HDF5", size=size)
    with damage_as_error(path, "checkpoint file", RecursionError):
        return _wavefunction(contents, path)


def contents_of(path: str) -> dict[str, Any]:
    """The molecule as text, and of the best group its name and its arrays; called in a process of its own."""
    name = Path(path).name
    h5py = library(name, "checkpoint files of PySCF")
    try:
        with h5py.File(path, "r") as file:
            groups = [name for name in _GROUPS if name in file]
            group = next((name for name in groups if "mo_coeff" in file[name]), None)
            listed = next((name for name in groups if "mo_coeff__from_list__" in file[name]), None)
            if "mol" not in file or (group is None and listed is None):
                raise FileError(f"{name}: this HDF5 file holds no molecule with orbitals (mol, scf/mo_coeff) of PySCF")
            text = file["mol"][()]
            found: dict[str, Any] = {"mol": text.decode() if isinstance(text, bytes) else str(text)}
            found["group"] = group or listed
            if group is None:
                return found | {"kpts": True}
            for entry in _ENTRIES:
                if entry in file[group]:
                    data = file[group][entry]
                    if data.size * data.dtype.itemsize > _MOST:
                        raise FileError(f"{name}: {entry} has {data.size} numbers, more than any molecule has")
                    found[entry] = np.asarray(data[()])
            return found
    except (OSError, KeyError, ValueError, TypeError, RuntimeError, AttributeError) as error:
        detail = str(error).split("\n")[0]
        raise FileError(f"{name}: damaged HDF5 file ({type(error).__name__}: {detail})") from error


@dataclass(frozen=True, eq=False)
class _Molecule:
    """A molecule as libcint has it: `shells` are (l, number of contractions)."""

    numbers: NDArray[np.int64]
    charges: Reals
    positions: Reals
    shells: list[tuple[int, int]]
    ours: tuple[Shell, ...]
    cartesian: bool


def _wavefunction(contents: dict[str, Any], path: Path) -> Wavefunction:
    stored = json.loads(contents["mol"])
    if "a" in stored or "kpts" in contents or "kpt" in contents:
        raise FileError(
            f"{path.name}: expected a molecule, got a periodic calculation, whose orbitals go with k points"
        )
    molecule = _molecule(stored, path.name)
    rows, factors = functions_of(molecule.shells, molecule.cartesian)
    n, coefficients = len(rows), contents["mo_coeff"]
    shape = coefficients.shape
    occupations = contents.get("mo_occ", np.zeros((*shape[:-2], *shape[-1:])))
    energies = contents.get("mo_energy", np.full(occupations.shape, np.nan))
    if len(shape) not in (2, 3) or not (*shape[:-2], *shape[-1:]) == occupations.shape == energies.shape:
        got = f"shapes {shape}, {occupations.shape} and {energies.shape}"
        raise FileError(f"{path.name}: expected orbitals with an occupation and an energy each, got arrays of {got}")
    energies, shells = np.real(energies), molecule.ours
    alpha: Orbitals
    beta: Orbitals | None = None
    if len(shape) == 3 and shape[:2] == (2, n):
        ours = coefficients[:, rows] * factors[:, None]
        if np.iscomplexobj(ours):
            alpha = _side_by_side(ours, occupations, energies)
        else:
            alpha, beta = (Orbitals(ours[k], occupations[k], energies[k]) for k in range(2))
    elif len(shape) == 2 and shape[0] == n:
        ours = coefficients[rows] * factors[:, None]
        is_complex = np.iscomplexobj(ours)
        alpha = (Spinors if is_complex else Orbitals)(ours[None] if is_complex else ours, occupations, energies)
    elif len(shape) == 2 and shape[0] in (2 * n, n_spinors(molecule.shells)):
        components, shells = _two_components(molecule, coefficients, rows, factors)
        alpha = Spinors(components, occupations, energies)
    elif len(shape) == 2 and shape[0] == 2 * n_spinors(molecule.shells):
        raise FileError(f"{path.name}: expected one or two components (pyscf.x2c), got four-component orbitals")
    else:
        raise FileError(f"{path.name}: expected orbitals over {n} basis functions, got an array of shape {shape}")
    return Wavefunction(
        atomic_numbers=molecule.numbers,
        positions=molecule.positions,
        core_charges=molecule.charges,
        shells=shells,
        alpha=alpha,
        beta=beta,
        natural=are_natural(occupations),
        source=str(path),
        program="pyscf",
        method="CASSCF" if contents["group"] == "mcscf" else "",
        **_correlated(contents, alpha, path.name),
    )


def _molecule(stored: dict[str, Any], name: str) -> _Molecule:
    environment = np.asarray(stored["_env"], float)
    atoms, basis = np.asarray(stored["_atm"], int).reshape(-1, 6), np.asarray(stored["_bas"], int).reshape(-1, 8)
    cartesian = bool(stored.get("cart", False))

    def values(first: int, count: int) -> Reals:
        if not (first >= 0 and count > 0 and first + count <= len(environment)):
            raise FileError(f"{name}: its molecule is damaged: numbers {first} to {first + count} are not there")
        return environment[first : first + count]

    shells, ours = [], []
    for atom, l, n_primitives, n_contractions, kappa, at_exponents, at_coefficients, _ in basis.tolist():
        if kappa or not 0 <= l < 12 or n_contractions < 1:
            raise FileError(f"{name}: shells of one total angular momentum (kappa) are not supported")
        exponents = values(at_exponents, n_primitives)
        table = values(at_coefficients, n_primitives * n_contractions).reshape(n_contractions, n_primitives)
        shells.append((l, n_contractions))
        ours += [Shell(atom, l, not cartesian, exponents, row / _radial_norm(exponents, l)) for row in table]
    positions = np.array([values(place, 3) for place in atoms[:, 1].tolist()])
    numbers = np.array([_number(str(symbol)) for symbol, _ in stored["_atom"]])
    return _Molecule(numbers, atoms[:, 0].astype(float), positions, shells, tuple(ours), cartesian)


def _radial_norm(exponents: Reals, l: int) -> Reals:
    r"""Norms of primitives, which the coefficients contain: :math:`\int r^{2l+2} N^2 e^{-2\zeta r^2} dr = 1`."""
    constant = 2 ** (2 * l + 3) * factorial(l + 1) / (factorial(2 * l + 2) * sqrt(pi))
    return np.sqrt(constant * (2 * exponents) ** (l + 1.5))


def _number(symbol: str) -> int:
    """Atomic number of an atom of PySCF, whose names may have numbers: H1, C@2; 0 for a ghost: GHOST-H, X-H, X."""
    upper = symbol.upper()
    if upper.startswith("GHOST") or re.match(r"X(?!E)", upper):
        return 0
    letters = re.match(r"[A-Za-z]{1,2}", symbol)
    names = [] if letters is None else [letters[0].capitalize(), letters[0][0].upper()]
    return SYMBOLS.index(next((name for name in names if name in SYMBOLS), symbol))


def _side_by_side(coefficients: NDArray[Any], occupations: Reals, energies: Reals) -> Spinors:
    """Complex orbitals of each spin as two-component ones, those of spin up first."""
    n_basis, n_orbitals = coefficients.shape[1:]
    components = np.zeros((2, n_basis, 2 * n_orbitals), np.complex128)
    components[0, :, :n_orbitals], components[1, :, n_orbitals:] = coefficients
    labels = ("alpha",) * n_orbitals + ("beta",) * n_orbitals
    return Spinors(components, occupations.ravel(), energies.ravel(), labels=labels)


def _two_components(
    molecule: _Molecule, coefficients: NDArray[Any], rows: Indices, factors: Reals
) -> tuple[NDArray[np.complex128], tuple[Shell, ...]]:
    """Components over our functions, and these: from functions of both spins or from spinors, as is orthonormal."""
    candidates: list[tuple[NDArray[Any], tuple[Shell, ...]]] = []
    if len(coefficients) == 2 * len(rows):
        candidates.append((coefficients.reshape(2, len(rows), -1)[:, rows] * factors[:, None], molecule.ours))
    if len(coefficients) == n_spinors(molecule.shells):
        pure = tuple(replace(shell, pure=True) for shell in molecule.ours)
        candidates.append((components_of_spinors(molecule.shells, coefficients), pure))

    def deviation(candidate: tuple[NDArray[Any], tuple[Shell, ...]]) -> float:
        components, shells = candidate
        overlap = shell_overlap(shells, molecule.positions, shells, molecule.positions)
        norms = sum(np.einsum("mi,mi->i", part.conj(), overlap @ part).real for part in components)
        return float(np.abs(norms - 1).max())

    return min(candidates, key=deviation)


def _correlated(contents: dict[str, Any], orbitals: Orbitals, name: str) -> dict[str, Any]:
    """The density matrix of a CASSCF calculation, where its orbitals are not the natural ones."""
    active = contents.get("casdm1")
    if active is None or isinstance(orbitals, Spinors):
        return {}
    n_core, n_active = int(contents["ncore"]), len(active)
    if active.shape != (n_active, n_active) or not 0 <= n_core <= len(orbitals) - n_active:
        raise FileError(f"{name}: its active orbitals are not among its {len(orbitals)} orbitals")
    if np.abs(active - np.diag(orbitals.occupations[n_core : n_core + n_active])).max() < 1e-6:
        return {}
    core, chosen = (orbitals.coefficients[:, part] for part in (slice(n_core), slice(n_core, n_core + n_active)))
    return {"density_matrix": 2 * core @ core.T + chosen @ active @ chosen.T}
