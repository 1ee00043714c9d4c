r"""TREXIO files, HDF5 or text, through the library of that name (extra `orbitile[trexio]`).

An atomic orbital of TREXIO is :math:`N'_i P_i(r) N_s \sum_k f_{ks} a_{ks} e^{-\alpha_{ks} r^2}` with P a monomial, or a
real solid harmonic in Racah's normalisation in the order 0, +1, -1, +2, -2, ... (https://trex-coe.github.io/trexio).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..conventions import (
    angular_normalization,
    cartesian_powers,
    n_components,
    pure_from_cartesian,
    radial_normalization,
)
from ..core_potentials import settled_charges
from ..elements import SYMBOLS
from ..errors import FileError
from ..wavefunction import Orbitals, Shell, Stated, Wavefunction, are_natural

DESCRIPTION = "TREXIO files"
PATTERNS = ("*.trexio", "*.h5", "*.hdf5")
FOLDERS = ("*.trexio",)
BINARY = True


def read(path: Path) -> Wavefunction:
    """Read a wavefunction.

    Raises
    ------
    FileError
        When the library is not installed, or the file is damaged or lacks basis set or orbitals.
    """
    try:
        import trexio
    except ImportError as error:
        raise FileError(f"{path.name}: TREXIO files need the package trexio: pip install 'orbitile[trexio]'") from error
    try:
        with _quiet(), trexio.File(str(path), "r", trexio.TREXIO_AUTO) as file:
            return _wavefunction(trexio, file, path)
    except trexio.Error as error:
        raise FileError(f"{path.name}: damaged or incomplete TREXIO file ({error})") from error
    except (ValueError, TypeError, LookupError, ArithmeticError, OSError, AttributeError) as error:
        raise FileError(f"{path.name}: damaged TREXIO file ({type(error).__name__}: {error})") from error


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """HDF5 prints its own traces of errors to file descriptor 2, before we can say in one line what is wrong."""
    kept = os.dup(2)
    sink = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(sink, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(sink)


def _wavefunction(trexio: Any, file: Any, path: Path) -> Wavefunction:
    def optional(name: str) -> Any:
        return getattr(trexio, f"read_{name}")(file) if getattr(trexio, f"has_{name}")(file) else None

    for name, what in (
        ("basis_type", "basis set"),
        ("mo_coefficient", "orbital coefficients"),
        ("nucleus_coord", "atoms"),
    ):
        if not getattr(trexio, f"has_{name}")(file):
            raise FileError(f"{path.name}: this TREXIO file holds no {what}, so there are no orbitals to show")
    kind = trexio.read_basis_type(file)
    if kind.strip().lower() != "gaussian":
        raise FileError(f"{path.name}: expected a basis of type Gaussian, got {kind}")
    if trexio.has_mo_coefficient_im(file):
        raise FileError(f"{path.name}: complex orbitals are not supported")
    powers_of_r = optional("basis_r_power")
    if powers_of_r is not None and np.any(np.asarray(powers_of_r)):
        raise FileError(f"{path.name}: basis functions with extra powers of r are not supported")

    shells, order, scale = _shells(trexio, file, optional)
    coefficients = np.asarray(trexio.read_mo_coefficient(file)).T[order] * scale[:, None]
    n_orbitals = coefficients.shape[1]
    occupations, energies, symmetry = optional("mo_occupation"), optional("mo_energy"), optional("mo_symmetry")
    spins = np.zeros(n_orbitals, int) if (found := optional("mo_spin")) is None else np.asarray(found)
    if occupations is None:
        occupations = _aufbau(optional("electron_up_num"), optional("electron_dn_num"), spins)
    occupations = np.asarray(occupations, float)

    def part(chosen: NDArray[np.bool_]) -> Orbitals:
        return Orbitals(
            coefficients[:, chosen],
            occupations[chosen],
            np.empty(0) if energies is None else np.asarray(energies)[chosen],
            () if symmetry is None else tuple(np.asarray(symmetry)[chosen]),
        )

    charges = np.asarray(trexio.read_nucleus_charge(file), float)
    core = optional("ecp_z_core")
    cores = np.zeros(len(charges)) if core is None else np.asarray(core, float)
    numbers = _atomic_numbers(charges + cores, optional("nucleus_label"))
    up, down = optional("electron_up_num"), optional("electron_dn_num")
    in_all = optional("electron_num")
    if None not in (up, down, in_all) and up + down != in_all:
        raise FileError(
            f"{path.name}: its electron counts contradict each other: {up} alpha and {down} beta electrons, but "
            f"{in_all} in all"
        )
    charges, remarks = settled_charges(numbers, [charges, numbers - cores], float(occupations.sum()))
    return Wavefunction(
        atomic_numbers=numbers,
        positions=np.asarray(trexio.read_nucleus_coord(file)),
        core_charges=charges,
        shells=shells,
        alpha=part(spins == 0),
        beta=part(spins == 1) if np.any(spins == 1) else None,
        natural=are_natural(occupations),
        title=str(optional("metadata_description") or "").strip(),
        source=str(path),
        program="trexio",
        method=str(optional("mo_type") or ""),
        stated=Stated(alpha=up, beta=down),
        remarks=remarks,
    )


def _shells(trexio: Any, file: Any, optional: Any) -> tuple[tuple[Shell, ...], NDArray[np.intp], NDArray[np.float64]]:
    """Shells, and what takes the coefficients of the file to ours: order of the rows, factor of each row."""
    momenta = np.asarray(trexio.read_basis_shell_ang_mom(file))
    atoms = np.asarray(trexio.read_basis_nucleus_index(file))
    exponents, contraction = (
        np.asarray(trexio.read_basis_exponent(file)),
        np.asarray(trexio.read_basis_coefficient(file)),
    )
    for name in ("basis_prim_factor", "basis_shell_factor"):
        factor = optional(name)
        if factor is not None:
            of = np.asarray(trexio.read_basis_shell_index(file))
            contraction = contraction * (np.asarray(factor)[of] if name == "basis_shell_factor" else np.asarray(factor))
    shell_of_primitive = np.asarray(trexio.read_basis_shell_index(file))
    shell_of_function = np.asarray(trexio.read_ao_shell(file))
    normalization = optional("ao_normalization")
    normalization = np.ones(len(shell_of_function)) if normalization is None else np.asarray(normalization)
    cartesian = bool(trexio.read_ao_cartesian(file))

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


def _aufbau(up: Any, down: Any, spins: NDArray[np.int64]) -> NDArray[np.float64]:
    """Occupations of a file that gives the numbers of electrons only."""
    occupations = np.zeros(len(spins))
    n_up, n_down = int(up or 0), int(down or 0)
    if np.any(spins == 1):
        occupations[np.flatnonzero(spins == 0)[:n_up]] = 1
        occupations[np.flatnonzero(spins == 1)[:n_down]] = 1
    else:
        occupations[:n_up] += 1
        occupations[:n_down] += 1
    return occupations


def _atomic_numbers(charges: NDArray[np.float64], labels: Any) -> NDArray[np.int64]:
    """Elements by their labels, where those are symbols, otherwise by their charges."""
    numbers = np.rint(charges).astype(np.int64)
    for n, label in enumerate([] if labels is None else labels):
        letters = "".join(c for c in str(label) if c.isalpha()).capitalize()
        if letters in SYMBOLS[1:] and charges[n] > 0:
            numbers[n] = SYMBOLS.index(letters)
    return numbers
