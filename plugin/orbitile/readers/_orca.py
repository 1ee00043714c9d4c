r"""What ORCA's own files have in common: its basis functions, its Angstrom, and how they become a wavefunction.

Basis functions are pure and normalised. Those of a shell are listed as z, x, y for p, and as 0, +1, -1, +2, -2, ...
from d on; those with :math:`|m|` of 3 and 4 have the opposite sign of ours. The signs are known up to h functions: from
the files of `orca_2json`, `orca_2mkl` and ORCA itself for f, from those of `orca_2mkl` for g and h.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Indices, Reals
from ..base.errors import FileError
from ..gaussians.overlap import own_overlap
from ..model.conventions import ANGULAR_MOMENTUM_LETTERS, component_names
from ..model.core_potentials import named_ghosts
from ..model.wavefunction import Orbitals, Shell, Stated, Wavefunction, are_natural
from ._contractions import normalised, order_and_signs

ANGSTROM = 1 / 0.5291772083
"""Bohr in an Angstrom as ORCA 5 and 6 have it: that of CODATA 1998. With another one, orbitals of its files that state
positions in Angstrom are orthonormal to seven digits instead of thirteen."""

HIGHEST = 5
"""Largest angular momentum whose signs are known."""

_MINUS = (3, 4)
"""Those m whose functions have the opposite sign of ours."""


class Contraction(NamedTuple):
    """A shell as the file has it; its coefficients are those of normalised primitives up to a common factor."""

    atom: int
    angular_momentum: int
    exponents: Reals
    coefficients: Reals


class Atoms(NamedTuple):
    """Atomic numbers; charges that the electrons see, 0 for a ghost; positions in bohr."""

    numbers: NDArray[np.int64]
    charges: Reals
    positions: Reals


class OrbitalSet(NamedTuple):
    """Orbitals of one spin: coefficients (basis functions, orbitals) in ORCA's order, energies in hartree."""

    coefficients: Reals
    occupations: Reals
    energies: Reals
    irreps: tuple[str, ...] = ()


def wavefunction_of(
    path: Path,
    atoms: Atoms,
    contractions: Iterable[Contraction],
    sets: Sequence[OrbitalSet],
    *,
    program: str,
    title: str = "",
    stated: Stated | None = None,
    remarks: tuple[str, ...] = (),
) -> Wavefunction:
    """The wavefunction of what a file of ORCA holds.

    Parameters
    ----------
    path
        The file.
    atoms, contractions
        Atoms, and shells in the order of the basis functions.
    sets
        Orbitals of one spin, or of both.
    program, title, stated, remarks
        As in `Wavefunction`.

    Raises
    ------
    FileError
        When it holds functions whose signs are not known, or no orbitals.
    """
    shells, order, signs = _shells(path, contractions)
    parts = [_orbitals(path, part, order, signs) for part in sets]
    occupations = np.concatenate([part.occupations for part in parts])
    return Wavefunction(
        atomic_numbers=atoms.numbers,
        positions=atoms.positions,
        core_charges=atoms.charges,
        shells=shells,
        alpha=parts[0],
        beta=parts[1] if len(parts) > 1 else None,
        natural=are_natural(occupations),
        title=title,
        source=str(path),
        program=program,
        localised=localisation_of(path),
        stated=Stated() if stated is None else stated,
        remarks=(*named_ghosts(atoms.numbers, atoms.charges), *remarks),
    )


def localisation_of(path: Path) -> str:
    """How the orbitals of a file are localised, by its name: `.loc` is what `orca_loc` writes; empty where not."""
    return "orca_loc" if ".loc" in (suffix.lower() for suffix in path.suffixes) else ""


def _components(shell: Shell) -> tuple[str, ...]:
    """Components of a shell in ORCA's order by our names, with a minus where the sign is opposite to ours."""
    if shell.angular_momentum == 1:
        return ("z", "x", "y")
    names = component_names(shell.angular_momentum, True)
    return tuple(f"-{name}" if shell.pure and int(name[1:]) in _MINUS else name for name in names)


def _orbitals(path: Path, part: OrbitalSet, order: Indices, signs: Reals) -> Orbitals:
    if len(part.coefficients) != len(order):
        got = f"{len(part.coefficients)} for {len(order)} basis functions"
        raise FileError(f"{path.name}: expected as many coefficients in each orbital as basis functions, got {got}")
    kept = np.any(part.coefficients != 0, axis=0)  # where functions depend on others, the orbitals missing are empty
    if not kept.any():
        raise FileError(f"{path.name}: all orbital coefficients are 0, so there are no orbitals to show")
    if np.any(part.occupations[~kept] > 0):
        raise FileError(f"{path.name}: an orbital whose coefficients are all 0 holds electrons: damaged")
    if not np.isfinite(part.energies).all():
        raise FileError(f"{path.name}: energies of orbitals: expected finite numbers, got NaN or infinity")
    energies = part.energies[kept] if np.any(part.energies != 0) else np.empty(0)  # those of other orbitals have none
    irreps = tuple(label for label, keep in zip(part.irreps, kept, strict=bool(part.irreps)) if keep)
    return Orbitals(part.coefficients[order][:, kept] * signs[:, None], part.occupations[kept], energies, irreps)


def _shells(path: Path, contractions: Iterable[Contraction]) -> tuple[tuple[Shell, ...], Indices, Reals]:
    """Normalised shells, and what takes the coefficients of the file to ours: order of the rows, their signs."""
    shells: list[Shell] = []
    for atom, l, exponents, coefficients in contractions:
        if l > HIGHEST:
            letter = ANGULAR_MOMENTUM_LETTERS[l]
            raise FileError(f"{path.name}: the signs of ORCA's {letter} functions are unknown, expected s to h")
        shells.append(Shell(atom, l, True, exponents, normalised(exponents, coefficients, l)))
    return tuple(shells), *order_and_signs(shells, _components)


_SCF, _TEMPORARY = "scfp", "tmp"
"""Names of the density of the self-consistent field, and of what ORCA needs while it computes."""

_TOLERANCE = 1e-4
"""Largest deviation of an element of a density from that of the orbitals, which are those of one iteration later."""

_ELECTRONS = 1e-3
"""By how many electrons a density may differ from the orbitals."""


_OTHERS = "damaged, or of different calculations"


class Density(NamedTuple):
    """A matrix over ORCA's basis functions, and its name, such as scfp or cisr: p for charge, r for spin."""

    name: str
    matrix: Reals


def with_density(wavefunction: Wavefunction, densities: Sequence[Density], file: str) -> Wavefunction:
    """The wavefunction with the last density that is not that of its orbitals, if there is one, and a remark.

    Parameters
    ----------
    wavefunction
        Orbitals of the same calculation.
    densities
        What a file holds; matrices of other sizes are passed over, as they are over orbitals.
    file
        Its name.

    Raises
    ------
    FileError
        When it is of another calculation than the orbitals.
    """
    order, signs = order_and_signs(wavefunction.shells, _components)
    n = len(order)
    ours = {
        density.name: density.matrix[np.ix_(order, order)] * signs[:, None] * signs
        for density in densities
        if density.matrix.shape == (n, n)
    }
    orbitals = Path(wavefunction.source).name
    if not ours:
        raise FileError(f"{file}: expected a matrix of {n} by {n} for the orbitals of {orbitals}; {_OTHERS}")
    own = _density_of(wavefunction)
    if _SCF in ours and not np.abs(ours[_SCF] - own).max() <= _TOLERANCE * max(1.0, np.abs(own).max()):
        raise FileError(f"{file}: its self-consistent density is not that of the orbitals in {orbitals}; {_OTHERS}")
    overlap = own_overlap(wavefunction)
    others = [
        name
        for name, matrix in ours.items()
        if name != _SCF
        and not name.endswith(_TEMPORARY)
        and abs(float(np.sum(matrix * overlap)) - wavefunction.n_electrons) < _ELECTRONS
    ]
    if not others:
        remark = f"{file} holds no density but that of the orbitals"
        return replace(wavefunction, remarks=(*wavefunction.remarks, remark))
    *passed, chosen = others
    spins = f"r{chosen[1:]}", f"{chosen[:-1]}r"  # as pmp2re and rmp2re, or cisp and cisr
    remark = f"the density is {chosen} of {file}, not that of the orbitals"
    remark += f"; it holds {', '.join(passed)} too" if passed else ""
    return replace(
        wavefunction,
        density_matrix=ours[chosen],
        spin_density_matrix=next((ours[name] for name in spins if name in ours), np.empty(0)),
        remarks=(*wavefunction.remarks, remark),
    )


def _density_of(wavefunction: Wavefunction) -> Reals:
    parts = (wavefunction.alpha, wavefunction.beta)
    matrices = [(part.coefficients * part.occupations) @ part.coefficients.T for part in parts if part is not None]
    return np.sum(matrices, axis=0)
