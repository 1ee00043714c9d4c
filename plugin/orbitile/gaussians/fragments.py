r"""Wavefunctions of the fragments of a molecule, in the basis set of the whole.

A fragment was computed with the basis set and at the places that its atoms have in the whole, its atoms in any order.
Its orbitals are functions of the whole then: with the overlap S of the basis functions of the whole and their overlap
:math:`S'` with those of the fragment, coefficients C become :math:`S^{-1} S' C`, whatever the order of functions in
either file. How much of an orbital's norm is lost tells whether the two basis sets are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..base.watch import checkpoint
from ..model.elements import SYMBOLS
from ..model.units import angstrom
from ..model.wavefunction import Wavefunction
from .overlap import dense, inverse_root, overlap_matrix, own_overlap

_MOVED = 1e-3
"""Distance in bohr below which an atom is at the place of another: coordinates are printed with few digits."""

_LOST = 1e-5
"""Part of the norm of an orbital that the basis set of the whole may lack."""

_DEPENDENT = 1e-10
"""Eigenvalue of the overlap below which functions depend on others."""

_MOST_OPEN = 16
"""Open-shell fragments whose spins are chosen."""


@dataclass(frozen=True, eq=False)
class OccupiedFragment:
    """A fragment in its place in the whole.

    Attributes
    ----------
    name : str
        Of its file.
    atoms : tuple of int
        Its nuclei by their numbers in the whole, from 0, rising.
    charge : float
    n_alpha, n_beta : int
        Electrons of each spin, as they count in the whole.
    flipped : bool
        Whether that is the other way round than in its file.
    """

    name: str
    atoms: tuple[int, ...]
    charge: float
    n_alpha: int
    n_beta: int
    flipped: bool


@dataclass(frozen=True, eq=False)
class Assembled:
    """A whole and its fragments over the same orthonormal functions.

    Attributes
    ----------
    functions : ndarray, shape (n_basis, n)
        Coefficients of the orthonormal functions.
    fragments : tuple of OccupiedFragment
    whole, separate : tuple of ndarray, shape (n, n_electrons)
        Occupied orbitals of the whole, and those of all fragments beside each other: of each spin, or once where all
        are closed shells. Those of one fragment are orthonormal, those of several overlap.
    """

    functions: Reals
    fragments: tuple[OccupiedFragment, ...]
    whole: tuple[Reals, ...]
    separate: tuple[Reals, ...]

    @property
    def electrons_an_orbital(self) -> int:
        """Electrons that each orbital holds: 2 where all are closed shells."""
        return 3 - len(self.whole)


def why_not(wavefunction: Wavefunction) -> str:
    """Why orbitals are not those of a single determinant, as the end of a sentence; "" for those that are."""
    if wavefunction.promolecule:
        return "these are free atoms without orbitals"
    if wavefunction.spinors is not None:
        return "this needs real orbitals, and these are complex"
    if wavefunction.cell.size:
        return "this is of molecules, and the file is of a crystal"
    if wavefunction.overlapping:
        return "its orbitals overlap by design"
    if wavefunction.density_missing:
        return wavefunction.density_missing
    if wavefunction.density_matrix.size:
        return "this needs the orbitals of one determinant, and the file has the density of a correlated method"
    if any(np.abs(o.occupations - np.round(o.occupations)).max() > 1e-5 for o in wavefunction.sets):
        return "this needs orbitals that are filled or empty, and some are partly filled"
    if wavefunction.n_electrons < 0.5:
        return "the file gives no occupied orbitals"
    return ""


def assembled(whole: Wavefunction, fragments: Sequence[Wavefunction]) -> Assembled:
    """Orbitals of a whole and of its fragments over the same functions.

    Spins of open-shell fragments are turned around where the whole has fewer unpaired electrons than they have
    together; of several ways to do so, that whose spins agree best with the spin density of the whole is taken.

    Raises
    ------
    OrbitileError
        When one is no single determinant; when atoms, places, basis functions or numbers of electrons do not add up to
        those of the whole: says which.
    """
    names = [_name(fragment) for fragment in fragments]
    for wavefunction, name in zip((whole, *fragments), (_name(whole), *names), strict=True):
        if reason := why_not(wavefunction):
            raise OrbitileError(f"{name}: {reason}")
    if len(fragments) < 2:
        raise OrbitileError(f"fragments: expected the files of two or more, got {len(fragments)}")
    atoms = [_places_in(whole, fragment, name) for fragment, name in zip(fragments, names, strict=True)]
    _check_all_once(whole, atoms, names)
    values, axes = np.linalg.eigh(dense(own_overlap(whole)))
    checkpoint()
    kept = values > _DEPENDENT
    functions = axes[:, kept] / np.sqrt(values[kept])
    own = [_orthonormal(functions.T @ dense(own_overlap(whole)) @ occupied) for occupied in filled_orbitals(whole)]
    theirs = []
    for fragment, name in zip(fragments, names, strict=True):
        checkpoint()
        to_whole = functions.T @ dense(overlap_matrix(whole, fragment))
        theirs.append([_within(to_whole @ occupied, name) for occupied in filled_orbitals(fragment)])
    signs = _spins(own, theirs, _name(whole))
    theirs = [pair[::sign] for pair, sign in zip(theirs, signs, strict=True)]
    is_closed = whole.beta is None and all(fragment.beta is None for fragment in fragments)
    is_closed = is_closed and all(pair[0].shape == pair[1].shape for pair in (own, *theirs))
    placed = tuple(
        OccupiedFragment(name, tuple(sorted(where.tolist())), fragment.charge, alpha.shape[1], beta.shape[1], sign < 0)
        for name, where, fragment, (alpha, beta), sign in zip(names, atoms, fragments, theirs, signs, strict=True)
    )
    spins = range(1 if is_closed else 2)
    separate = tuple(np.hstack([pair[spin] for pair in theirs]) for spin in spins)
    return Assembled(functions, placed, tuple(own[spin] for spin in spins), separate)


def _name(wavefunction: Wavefunction) -> str:
    return Path(wavefunction.source.partition(", frame ")[0]).name or wavefunction.title or "the molecule"


def filled_orbitals(wavefunction: Wavefunction) -> list[Reals]:
    """Coefficients of the occupied orbitals of alpha and of beta electrons."""
    least = (0.5, 1.5) if wavefunction.beta is None else (0.5, 0.5)
    sets = [wavefunction.orbitals(spin) for spin in ("alpha", "beta")]
    return [o.coefficients[:, o.occupations > limit] for o, limit in zip(sets, least, strict=True)]


def _orthonormal(orbitals: Reals) -> Reals:
    """Without what rounding in a file has left of their overlaps."""
    return orbitals @ inverse_root(orbitals.T @ orbitals) if orbitals.shape[1] else orbitals


def _within(orbitals: Reals, name: str) -> Reals:
    """Orbitals of a fragment, if they are functions of the whole."""
    lost = 1 - np.einsum("ni,ni->i", orbitals, orbitals)
    if len(lost) and not lost.max() < _LOST:
        raise OrbitileError(
            f"{name}: expected the basis functions that its atoms have in the whole, but these lack {lost.max():.1e} "
            f"of the norm of orbital {int(np.argmax(lost)) + 1}: compute the fragment with the same basis set, at the "
            "same places with all digits"
        )
    return _orthonormal(orbitals)


def _places_in(whole: Wavefunction, fragment: Wavefunction, name: str) -> NDArray[np.intp]:
    """For each nucleus of a fragment, the atom of the whole that it is."""
    real = np.flatnonzero(~fragment.is_ghost)
    distances = np.linalg.norm(fragment.positions[real, None] - whole.positions[~whole.is_ghost], axis=2)
    if not len(real):
        raise OrbitileError(f"{name}: expected a fragment of the molecule, got ghosts alone")
    atoms = np.flatnonzero(~whole.is_ghost)[distances.argmin(axis=1)]
    for n, atom in zip(real.tolist(), atoms.tolist(), strict=True):
        away = float(np.linalg.norm(fragment.positions[n] - whole.positions[atom]))
        symbol = SYMBOLS[fragment.atomic_numbers[n]]
        if away > _MOVED:
            raise OrbitileError(
                f"{name}: expected atoms at their places in the whole, but its {symbol}{n + 1} is "
                f"{away / angstrom:.4g} Angstrom from the nearest atom there{_shape(whole, fragment)}: "
                "compute the fragment at the coordinates of the whole, without reorientation"
            )
        other = SYMBOLS[whole.atomic_numbers[atom]]
        if other != symbol:
            raise OrbitileError(f"{name}: its {symbol}{n + 1} is at the place of {other}{atom + 1} of the whole")
        mine, theirs = fragment.core_charges[n], whole.core_charges[atom]
        if abs(mine - theirs) > 1e-6:
            raise OrbitileError(
                f"{name}: electrons of its {symbol}{n + 1} see a charge of {mine:g}, and {theirs:g} in the whole: one "
                "has an effective core potential that the other has not"
            )
    return atoms


def _shape(whole: Wavefunction, fragment: Wavefunction) -> str:
    """That a fragment is moved or turned, if atoms in a row of the whole have its shape."""
    numbers = fragment.atomic_numbers[~fragment.is_ghost]
    shape = _distances(fragment.positions[~fragment.is_ghost])
    n = len(numbers)
    for first in range(whole.n_atoms - n + 1):
        some = slice(first, first + n)
        same = np.array_equal(whole.atomic_numbers[some], numbers)
        if same and np.abs(_distances(whole.positions[some]) - shape).max() < _MOVED:
            return f" (it has the shape of atoms {first + 1} to {first + n} of the whole, but is moved or turned)"
    return ""


def _distances(positions: Reals) -> Reals:
    distances: Reals = np.linalg.norm(positions[:, None] - positions, axis=2)
    return distances


def _check_all_once(whole: Wavefunction, atoms: Sequence[NDArray[np.intp]], names: Sequence[str]) -> None:
    """Refuse atoms that are in no fragment, or in two."""
    taken: dict[int, str] = {}
    for where, name in zip(atoms, names, strict=True):
        for atom in where.tolist():
            label = f"{SYMBOLS[whole.atomic_numbers[atom]]}{atom + 1} of the whole"
            if atom in taken:
                raise OrbitileError(f"fragments: expected each atom in one, but {label} is in {taken[atom]} and {name}")
            taken[atom] = name
    missing = sorted(set(np.flatnonzero(~whole.is_ghost).tolist()) - set(taken))
    if missing:
        label = f"{SYMBOLS[whole.atomic_numbers[missing[0]]]}{missing[0] + 1} of the whole"
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise OrbitileError(f"fragments: expected each atom in one, but {label}{more} is in none of {', '.join(names)}")


def _spins(own: Sequence[Reals], theirs: Sequence[Sequence[Reals]], name: str) -> list[int]:
    """1 for each fragment whose spins are as in its file, -1 for those that are turned around."""
    counts = [tuple(part.shape[1] for part in pair) for pair in theirs]
    expected = tuple(part.shape[1] for part in own)
    electrons = sum(map(sum, counts))
    if electrons != sum(expected):
        raise OrbitileError(
            f"fragments: expected {sum(expected)} electrons together, as in {name}, got {electrons}: their charges "
            "have to add up to that of the whole"
        )
    open_shells = [n for n, (alpha, beta) in enumerate(counts) if alpha != beta]
    if len(open_shells) > _MOST_OPEN:
        raise OrbitileError(f"fragments: expected {_MOST_OPEN} open shells at most, got {len(open_shells)}")
    best, signs = -np.inf, None
    for choice in product((1, -1), repeat=len(open_shells)):
        excess = sum(sign * (counts[n][0] - counts[n][1]) for sign, n in zip(choice, open_shells, strict=True))
        if excess != expected[0] - expected[1]:
            continue
        agreement = sum(sign * _agreement(own, theirs[n]) for sign, n in zip(choice, open_shells, strict=True))
        if agreement > best + 1e-6:
            best, signs = agreement, choice
    if signs is None:
        raise OrbitileError(
            f"fragments: expected spins that add up to {expected[0]} alpha and {expected[1]} beta electrons, as in "
            f"{name}, got {' and '.join(f'{alpha}, {beta}' for alpha, beta in counts)}, which do not, whatever is "
            "turned around: choose other multiplicities"
        )
    turned = dict(zip(open_shells, signs, strict=True))
    return [turned.get(n, 1) for n in range(len(theirs))]


def _agreement(own: Sequence[Reals], theirs: Sequence[Reals]) -> float:
    """Trace of the product of two spin density matrices."""
    overlaps = [[float(np.sum((a.T @ b) ** 2)) for b in theirs] for a in own]
    return overlaps[0][0] + overlaps[1][1] - overlaps[0][1] - overlaps[1][0]
