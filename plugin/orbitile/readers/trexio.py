r"""TREXIO files, HDF5 or text, through the library of that name (extra `orbitile[trexio]`).

An atomic orbital of TREXIO is :math:`N'_i P_i(r) N_s \sum_k f_{ks} a_{ks} e^{-\alpha_{ks} r^2}` with P a monomial, or a
real solid harmonic in Racah's normalisation in the order 0, +1, -1, +2, -2, ... (https://trex-coe.github.io/trexio).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Flags, Indices, Reals
from ..base.errors import FileError
from ..base.packages import required
from ..files.reading import damage_as_error
from ..model.conventions import (
    angular_normalization,
    cartesian_powers,
    n_components,
    pure_from_cartesian,
    radial_normalization,
)
from ..model.core_potentials import named_ghosts, settled_charges
from ..model.elements import SYMBOLS
from ..model.wavefunction import Orbitals, Shell, Stated, Wavefunction, are_natural
from ._isolation import isolated

DESCRIPTION = "TREXIO files"
PATTERNS = ("*.trexio", "*.h5", "*.hdf5")
KIND = "wavefunction"
FOLDERS = ("*.trexio",)
BINARY = True
CONTENTS = ("metadata", "nucleus", "basis", "mo")

_ENTRIES = """
ao_cartesian ao_normalization ao_shell basis_coefficient basis_exponent basis_nucleus_index basis_prim_factor
basis_r_power basis_shell_ang_mom basis_shell_factor basis_shell_index basis_type cell_a cell_b cell_c ecp_z_core
electron_dn_num electron_num electron_up_num metadata_description mo_coefficient mo_coefficient_im mo_energy
mo_occupation mo_spin mo_symmetry mo_type nucleus_charge nucleus_coord nucleus_label pbc_k_point pbc_k_point_num
pbc_periodic
""".split()
"""What is read, by its names in TREXIO."""


def read(path: Path) -> Wavefunction:
    """Read a wavefunction; the library that this needs is an extra."""
    name = str(path.absolute())
    contents = isolated(arrays_of, name, name=path.name, library="the library of TREXIO", size=_size(path))
    with damage_as_error(path, "TREXIO file"):
        return _wavefunction(contents, path)


def arrays_of(path: str) -> dict[str, Any]:
    """What of a TREXIO file is read, by name: arrays, numbers and text, as far as they are in it.

    The library crashes on some damaged files, so it is called in a process of its own.
    """
    name = Path(path).name
    trexio = required("trexio", FileError, f"{name}: TREXIO files need the package trexio")
    try:
        with trexio.File(path, "r", trexio.TREXIO_AUTO) as file:
            return {
                entry: getattr(trexio, f"read_{entry}")(file)
                for entry in _ENTRIES
                if getattr(trexio, f"has_{entry}")(file)
            }
    except trexio.Error as error:
        raise FileError(f"{name}: damaged or incomplete TREXIO file ({error})") from error


def _size(path: Path) -> int:
    files = path.iterdir() if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files)


def _wavefunction(contents: dict[str, Any], path: Path) -> Wavefunction:
    needed = {"basis_type": "basis set", "mo_coefficient": "orbital coefficients", "nucleus_coord": "atoms"}
    for name, what in needed.items():
        if name not in contents:
            raise FileError(f"{path.name}: this TREXIO file holds no {what}, expected atoms, basis set and orbitals")
    kind = contents["basis_type"]
    if kind.strip().lower() != "gaussian":
        raise FileError(f"{path.name}: expected a basis of type Gaussian, got {kind}")
    if "mo_coefficient_im" in contents:
        raise FileError(f"{path.name}: complex orbitals are not supported")
    powers_of_r = contents.get("basis_r_power")
    if powers_of_r is not None and np.any(np.asarray(powers_of_r)):
        raise FileError(f"{path.name}: basis functions with extra powers of r are not supported")

    shells, order, scale = _shells(contents)
    coefficients = np.asarray(contents["mo_coefficient"]).T[order] * scale[:, None]
    n_orbitals = coefficients.shape[1]
    occupations, energies, symmetry = (contents.get(f"mo_{name}") for name in ("occupation", "energy", "symmetry"))
    spins = np.zeros(n_orbitals, int) if (found := contents.get("mo_spin")) is None else np.asarray(found)
    if occupations is None:
        occupations = _aufbau(contents.get("electron_up_num"), contents.get("electron_dn_num"), spins)
    occupations = np.asarray(occupations, float)

    def part(chosen: Flags) -> Orbitals:
        return Orbitals(
            coefficients[:, chosen],
            occupations[chosen],
            np.empty(0) if energies is None else np.asarray(energies)[chosen],
            () if symmetry is None else tuple(np.asarray(symmetry)[chosen]),
        )

    charges = np.asarray(contents["nucleus_charge"], float)
    core = contents.get("ecp_z_core")
    cores = np.zeros(len(charges)) if core is None else np.asarray(core, float)
    numbers = _atomic_numbers(charges + cores, contents.get("nucleus_label"))
    up, down, in_all = (contents.get(f"electron{which}_num") for which in ("_up", "_dn", ""))
    if up is not None and down is not None and in_all is not None and up + down != in_all:
        counts = f"{up} alpha and {down} beta electrons, but {in_all} in all"
        raise FileError(f"{path.name}: its electron counts contradict each other: {counts}")
    charges, remarks = settled_charges(numbers, [charges, numbers - cores], float(occupations.sum()))
    return Wavefunction(
        atomic_numbers=numbers,
        positions=np.asarray(contents["nucleus_coord"]),
        core_charges=charges,
        shells=shells,
        alpha=part(spins == 0),
        beta=part(spins == 1) if np.any(spins == 1) else None,
        natural=are_natural(occupations),
        title=str(contents.get("metadata_description") or "").strip(),
        source=str(path),
        program="trexio",
        method=str(contents.get("mo_type") or ""),
        stated=Stated(alpha=up, beta=down),
        remarks=(*named_ghosts(numbers, charges), *remarks),
        cell=_cell(contents, path),
    )


def _cell(contents: dict[str, Any], path: Path) -> Reals:
    """Vectors of the cell in bohr, one a row; empty for a molecule.

    Raises
    ------
    FileError
        When the orbitals are not those of the Gamma point.
    """
    vectors = [contents.get(f"cell_{name}") for name in "abc"]
    if not contents.get("pbc_periodic") or any(vector is None for vector in vectors):
        return np.empty(0)
    if np.any(np.asarray(contents.get("pbc_k_point", 0.0))) or contents.get("pbc_k_point_num", 1) != 1:
        raise FileError(f"{path.name}: expected orbitals at the Gamma point, got other k points, which are complex")
    return np.array(vectors, float)


def _shells(contents: dict[str, Any]) -> tuple[tuple[Shell, ...], Indices, Reals]:
    """Shells, and what takes the coefficients of the file to ours: order of the rows, factor of each row."""
    momenta = np.asarray(contents["basis_shell_ang_mom"])
    atoms = np.asarray(contents["basis_nucleus_index"])
    exponents, contraction = (np.asarray(contents[f"basis_{name}"]) for name in ("exponent", "coefficient"))
    for name in ("basis_prim_factor", "basis_shell_factor"):
        factor = contents.get(name)
        if factor is not None:
            of = np.asarray(contents["basis_shell_index"])
            contraction = contraction * (np.asarray(factor)[of] if name == "basis_shell_factor" else np.asarray(factor))
    shell_of_primitive = np.asarray(contents["basis_shell_index"])
    shell_of_function = np.asarray(contents["ao_shell"])
    normalization = contents.get("ao_normalization")
    normalization = np.ones(len(shell_of_function)) if normalization is None else np.asarray(normalization)
    cartesian = bool(contents["ao_cartesian"])

    shells: list[Shell] = []
    rows, factors = [], []
    for index, momentum in enumerate(momenta.tolist()):
        primitives = np.flatnonzero(shell_of_primitive == index)
        functions = np.flatnonzero(shell_of_function == index)
        if len(functions) != n_components(momentum, not cartesian):
            raise ValueError(f"shell {index + 1} with l = {momentum} has {len(functions)} functions")
        norms = radial_normalization(exponents[primitives], momentum)
        pure = not cartesian and momentum > 1
        shells.append(Shell(int(atoms[index]), momentum, pure, exponents[primitives], contraction[primitives] / norms))
        if pure:
            # the harmonic of m = 0 is z^l on the z axis in Racah's normalisation, which gives the ratio of the two
            ours = pure_from_cartesian(momentum)[0, -1] * angular_normalization((0, 0, momentum))
            ratio = np.full(len(functions), 1 / ours)
        else:
            if not cartesian and momentum == 1:
                functions = functions[[1, 2, 0]]  # z, x, y
            ratio = np.array([1 / angular_normalization(powers) for powers in cartesian_powers(momentum)])
        rows.append(functions)
        factors.append(normalization[functions] * ratio)
    return tuple(shells), np.concatenate(rows), np.concatenate(factors)


def _aufbau(up: Any, down: Any, spins: NDArray[np.int64]) -> Reals:
    """Occupations of a file that gives the numbers of electrons only."""
    occupations = np.zeros(len(spins))
    occupations[np.flatnonzero(spins == 0)[: int(up or 0)]] += 1
    occupations[np.flatnonzero(spins == spins.max(initial=0))[: int(down or 0)]] += 1
    return occupations


def _atomic_numbers(charges: Reals, labels: Any) -> NDArray[np.int64]:
    """Elements by their labels, where those are symbols, otherwise by their charges."""
    numbers = np.rint(charges).astype(np.int64)
    for n, label in enumerate([] if labels is None else labels):
        letters = "".join(c for c in str(label) if c.isalpha()).capitalize()
        if letters in SYMBOLS[1:]:
            numbers[n] = SYMBOLS.index(letters)
    return numbers
