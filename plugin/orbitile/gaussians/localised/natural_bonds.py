r"""Natural bond orbitals: the Lewis structure that holds most of a density, and the orbitals that it leaves empty.

J. P. Foster and F. Weinhold, J. Am. Chem. Soc. 1980, 102, 7211; A. E. Reed, L. A. Curtiss and F. Weinhold, Chem. Rev.
1988, 88, 899, section II.B. With the density matrix P over natural atomic orbitals, which are orthonormal:

1. Core orbitals are natural atomic orbitals, made natural among those of their atom.
2. Lone pairs are the eigenvectors of the block of P of an atom whose occupancy exceeds a threshold. Each is taken away
   from P: :math:`P \leftarrow P - n\, h h^T`.
3. Bonds are the same of the blocks of two atoms, and then of three, the most occupied ones first. One whose hybrids are
   already used by others is left out.
4. If these are fewer than the pairs of electrons, the most occupied ones that are left follow, below the threshold.
5. The part of a bond on each atom is a hybrid. Hybrids of an atom are made orthonormal, so as to differ least from what
   they were (weighted by their occupancies). A bond and its antibonds are the eigenvectors of P among its hybrids, and
   what hybrids leave of an atom becomes its Rydberg orbitals, eigenvectors of P again.

Eigenvectors of equal occupancies, such as those of a triple bond, are told apart by what they have of s, p, d functions
and then of x, y and z, so that sigma is not mixed with pi, and pi of one atom stands along pi of the next.

Bonds of three atoms are looked for where valence orbitals stay empty that hold electrons all the same, as in diborane.

Steps 2 to 5 are repeated for thresholds of 95, 90, ..., 75 % of a full orbital. The structure whose orbitals hold most
electrons is the natural Lewis structure. Where one of its orbitals is below the last threshold, each bond below 90 % is
left out in turn, and the structure that helps most is kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import Reals
from ...base.watch import checkpoint

CORE, LONE_PAIR, BOND, EMPTY, ANTIBOND = "core", "lone pair", "bond", "empty valence", "antibond"
RYDBERG = "Rydberg"

_THRESHOLDS = (0.95, 0.90, 0.85, 0.80, 0.75)
"""Occupancies of lone pairs and bonds at least, as shares of a full orbital."""

_BONDED = 0.02
"""Bond index (K. B. Wiberg, Tetrahedron 1968, 24, 1083) of two atoms below which no bond is looked for."""

_ON_ONE = 0.95
"""Share on one atom from which on an orbital is no bond."""

_ANTIBONDS = 0.5
"""Electrons in the antibonds of a bond, as a share of a full orbital, from which on it is none."""

_RESONATES = 0.9
"""Occupancy of a bond, as a share of a full orbital, below which another structure may do without it."""

_ROUNDS = 4
"""Bonds that are left out at most."""

_NEW = 0.5
"""Share of a hybrid that those before it on its atom must lack."""

_EQUAL = 1e-6
"""Difference of occupancies, as shares of a full orbital, that are equal."""

_DEFICIENT = 0.2
"""Occupancy of an empty valence orbital, as a share of a full one, from which bonds of three atoms are looked for."""

_GAIN = 0.1
"""Electrons, as a share of a full orbital, that bonds of three atoms have to add to the Lewis structure."""

_LEAST_WEIGHT = 1e-3
"""Least weight of a hybrid among those that are made orthonormal."""


@dataclass(frozen=True, eq=False)
class NaturalBondOrbitals:
    """Natural bond orbitals of one density: cores, lone pairs and bonds first, then those that they leave empty.

    Attributes
    ----------
    vectors : ndarray, shape (n, n)
        Columns are the orbitals over the natural atomic orbitals.
    occupancies : ndarray, shape (n,)
        Electrons of each.
    kinds : tuple of str, length n
        core, lone pair, bond, empty valence, antibond, Rydberg.
    atoms : tuple of tuple of int, length n
        From 0.
    n_lewis : int
        Orbitals of the Lewis structure: the first ones.
    """

    vectors: Reals
    occupancies: Reals
    kinds: tuple[str, ...]
    atoms: tuple[tuple[int, ...], ...]
    n_lewis: int

    @property
    def numbers(self) -> list[int]:
        """Numbers of the orbitals, from 1, among those of one kind on the same atoms."""
        seen = Counter[tuple[str, tuple[int, ...]]]()
        result = []
        for key in zip(self.kinds, self.atoms, strict=True):
            seen[key] += 1
            result.append(seen[key])
        return result


_Key = tuple[tuple[int, ...], int, int]


@dataclass(frozen=True, eq=False)
class _Candidate:
    """An orbital of a Lewis structure: what it has of each of its atoms, over the functions beside the cores."""

    atoms: tuple[int, ...]
    number: int
    after: int
    occupancy: float
    parts: dict[int, Reals]

    @property
    def key(self) -> _Key:
        """Its atoms, its place among the orbitals of these, and how many others were taken before it was looked for."""
        return self.atoms, self.number, self.after


@dataclass(frozen=True, eq=False)
class _Structure:
    """Orbitals of a Lewis structure, the antibonds of each as columns behind it, and its electrons."""

    threshold: float
    avoided: frozenset[_Key]
    orbitals: list[tuple[_Candidate, Reals]]
    occupancies: Reals


def natural_bond_orbitals(
    density: Reals,
    atoms: NDArray[np.int64],
    kinds: Sequence[str],
    functions: Reals,
    capacity: float,
) -> NaturalBondOrbitals:
    """Natural bond orbitals of a density.

    Parameters
    ----------
    density : ndarray, shape (n, n)
        Over natural atomic orbitals.
    atoms : ndarray of int, shape (n,)
        Of the natural atomic orbitals.
    kinds : sequence of str, length n
        Whether these are core, valence or Rydberg.
    functions : ndarray, shape (n,)
        Their angular momenta, and behind the point their place in a shell.
    capacity
        Electrons of a full orbital: 2, or 1 for one spin.
    """
    found = _with_bonds_of(2, density, atoms, kinds, functions, capacity)
    empty = [n for n, kind in enumerate(found.kinds) if kind == EMPTY]
    if np.any(found.occupancies[empty] > _DEFICIENT * capacity):
        other = _with_bonds_of(3, density, atoms, kinds, functions, capacity)
        gain = other.occupancies[: other.n_lewis].sum() - found.occupancies[: found.n_lewis].sum()
        return other if gain > _GAIN * capacity else found
    return found


def _with_bonds_of(
    centres: int,
    density: Reals,
    atoms: NDArray[np.int64],
    kinds: Sequence[str],
    functions: Reals,
    capacity: float,
) -> NaturalBondOrbitals:
    """Natural bond orbitals with bonds of so many atoms at most."""
    is_core = np.array([kind == "core" for kind in kinds])
    n_pairs = max(round(float(np.trace(density)) / capacity) - int(is_core.sum()), 0)
    rest = np.flatnonzero(~is_core)
    search = _Search(density[np.ix_(rest, rest)], atoms[rest], functions[rest], capacity, n_pairs, centres)
    is_valence = np.array([kind == "valence" for kind in kinds])
    return _assembled(density, atoms, is_core, is_valence, functions, rest, search.best())


class _Search:
    """Looks for Lewis structures of the density beside the cores."""

    def __init__(
        self,
        density: Reals,
        atoms: NDArray[np.int64],
        functions: Reals,
        capacity: float,
        n_pairs: int,
        centres: int,
    ) -> None:
        self.density, self.atoms, self.functions = density, atoms, functions
        self.capacity, self.n_pairs = capacity, n_pairs
        self.places = {int(atom): np.flatnonzero(atoms == atom) for atom in np.unique(atoms)}
        self.groups = list(self._groups(centres))

    def _groups(self, centres: int) -> Iterator[tuple[int, ...]]:
        """Pairs of atoms that may be bonded, and threes of which two pairs are."""
        order = list(self.places)
        starts = [self.places[atom][0] for atom in order]
        rows = np.argsort(self.atoms, kind="stable")
        assert np.array_equal(rows, np.arange(len(rows)))  # orbitals of an atom are side by side
        index = np.add.reduceat(np.add.reduceat(self.density**2, starts, 0), starts, 1) * (2 / self.capacity) ** 2
        bonded = index > _BONDED
        for a, b in combinations(range(len(order)), 2):
            if bonded[a, b]:
                yield order[a], order[b]
        for a, b, c in combinations(range(len(order)), 3) if centres > 2 else ():
            if int(bonded[a, b]) + int(bonded[a, c]) + int(bonded[b, c]) > 1:
                yield order[a], order[b], order[c]

    def best(self) -> list[tuple[_Candidate, Reals]]:
        """The structure that holds most electrons.

        Where an orbital of it holds few, bonds were taken one after another that leave no good ones for other atoms,
        such as two opposite ones in a ring. So each of those that resonate is left out in turn, while that helps.
        """
        found = self._best_of([self._settled(share * self.capacity, frozenset()) for share in _THRESHOLDS])
        for _ in range(_ROUNDS):
            if found.occupancies.min(initial=self.capacity) > _THRESHOLDS[-1] * self.capacity:
                break
            others = [
                self._settled(found.threshold, found.avoided | {candidate.key})
                for (candidate, _), occupancy in zip(found.orbitals, found.occupancies, strict=True)
                if len(candidate.atoms) > 1 and occupancy < _RESONATES * self.capacity
            ]
            better = self._best_of([found, *others])
            if better is found:
                break
            found = better
        return found.orbitals

    def _best_of(self, structures: list[_Structure]) -> _Structure:
        """The one that holds most electrons; of equal ones the first."""
        return max(structures, key=lambda one: round(float(one.occupancies.sum()) / (self.capacity * _EQUAL)))

    def _settled(self, threshold: float, avoided: frozenset[_Key]) -> _Structure:
        checkpoint()
        orbitals = self._orthonormal(self._structure(threshold, avoided))
        occupancies = np.array([columns[:, 0] @ self.density @ columns[:, 0] for _, columns in orbitals])
        return _Structure(threshold, avoided, orbitals, occupancies)

    def _structure(self, threshold: float, avoided: frozenset[_Key]) -> list[_Candidate]:
        """As many orbitals as there are pairs: steps 2 to 4."""
        left = self.density.copy()
        taken: list[_Candidate] = []
        hybrids: dict[int, Reals] = {}
        single = [(atom,) for atom in self.places]
        for size in (1, 2, 3):
            groups = single if size == 1 else [group for group in self.groups if len(group) == size]
            self._take_from(left, groups, threshold, avoided, taken, hybrids)
        n_before = -1
        while n_before < len(taken) < self.n_pairs:
            n_before = len(taken)
            self._take_from(left, [*single, *self.groups], 0.0, avoided, taken, hybrids)
        return taken

    def _take_from(
        self,
        left: Reals,
        groups: Sequence[tuple[int, ...]],
        threshold: float,
        avoided: frozenset[_Key],
        taken: list[_Candidate],
        hybrids: dict[int, Reals],
    ) -> None:
        """Take the most occupied orbitals of some groups of atoms, and then their electrons away from the density."""
        candidates: list[_Candidate] = []
        for group in groups:
            checkpoint()
            candidates += [one for one in self._of_block(left, group, len(taken)) if one.occupancy > threshold]
        n_before = len(taken)
        for candidate in sorted(candidates, key=self._rank):
            allowed = candidate.key not in avoided
            if len(taken) < self.n_pairs and allowed and self._fits(candidate, left, hybrids):
                taken.append(candidate)
                for atom, part in candidate.parts.items():
                    together = [hybrids[atom], part[:, None]] if atom in hybrids else [part[:, None]]
                    hybrids[atom] = np.linalg.qr(np.hstack(together))[0]
        for one in taken[n_before:]:
            places = np.concatenate([self.places[atom] for atom in one.atoms])
            vector = np.concatenate(list(one.parts.values()))
            left[np.ix_(places, places)] -= one.occupancy * np.outer(vector, vector)

    def _rank(self, candidate: _Candidate) -> tuple[float, tuple[int, ...]]:
        """The most occupied one first; of equal ones that of the first atoms, so that the choice is the same always."""
        return -round(candidate.occupancy / (self.capacity * _EQUAL)), candidate.atoms

    def _of_block(self, left: Reals, group: tuple[int, ...], after: int) -> Iterator[_Candidate]:
        """Eigenvectors of the block of some atoms, by falling occupancy."""
        places = np.concatenate([self.places[atom] for atom in group])
        occupancies, vectors = _natural(left[np.ix_(places, places)], np.eye(len(places)), self.functions[places])
        ends = np.cumsum([len(self.places[atom]) for atom in group])[:-1]
        for n, (occupancy, vector) in enumerate(zip(occupancies, vectors, strict=True)):
            yield _Candidate(group, n, after, float(occupancy), dict(zip(group, np.split(vector, ends), strict=True)))

    def _fits(self, candidate: _Candidate, left: Reals, hybrids: dict[int, Reals]) -> bool:
        """Whether what it has of each atom is new, and a bond is shared and its antibonds are nearly empty."""
        antibonds = -candidate.occupancy
        for atom, part in candidate.parts.items():
            share = float(part @ part)
            if len(candidate.atoms) > 1 and share < 1 - _ON_ONE:
                return False
            if atom in hybrids:
                outside = share - float(np.sum((hybrids[atom].T @ part) ** 2))
                if outside < _NEW * share:
                    return False
            places = self.places[atom]
            antibonds += float(part @ left[np.ix_(places, places)] @ part) / share
        return len(candidate.atoms) == 1 or antibonds < _ANTIBONDS * self.capacity

    def _orthonormal(self, structure: list[_Candidate]) -> list[tuple[_Candidate, Reals]]:
        """Orthonormal orbitals of a structure: of each the bond, and behind it its antibonds, as columns. Step 5."""
        hybrids: dict[tuple[int, int], Reals] = {}
        for atom, places in self.places.items():
            members = [n for n, candidate in enumerate(structure) if atom in candidate.atoms]
            if not members:
                continue
            parts = np.stack([structure[n].parts[atom] for n in members], axis=1)
            parts = parts / np.linalg.norm(parts, axis=0)
            block = self.density[np.ix_(places, places)]
            weights = np.maximum(np.einsum("im,ij,jm->m", parts, block, parts) / self.capacity, _LEAST_WEIGHT)
            weighted = parts * weights
            left, _, right = np.linalg.svd(weighted, full_matrices=False)
            for n, column in zip(members, (left @ right).T, strict=True):
                hybrids[n, atom] = column
        result = []
        for n, candidate in enumerate(structure):
            parts = np.zeros((len(self.atoms), len(candidate.atoms)))
            for column, atom in enumerate(candidate.atoms):
                parts[self.places[atom], column] = hybrids[n, atom]
            _, axes = np.linalg.eigh(parts.T @ self.density @ parts)
            result.append((candidate, parts @ axes[:, ::-1]))
        return result


def _assembled(
    density: Reals,
    atoms: NDArray[np.int64],
    is_core: NDArray[np.bool_],
    is_valence: NDArray[np.bool_],
    functions: Reals,
    rest: NDArray[np.intp],
    structure: list[tuple[_Candidate, Reals]],
) -> NaturalBondOrbitals:
    """All orbitals of a structure: those of cores, and what it leaves of each atom, beside its own."""
    n = len(density)
    parts: list[tuple[str, tuple[int, ...], Reals]] = []
    for atom in np.unique(atoms[is_core]):
        places = np.flatnonzero(is_core & (atoms == atom))
        parts += [(CORE, (int(atom),), vector) for vector in _natural(density, np.eye(n)[:, places], functions)[1]]
    antibonds = []
    for candidate, columns in structure:
        full = np.zeros((n, columns.shape[1]))
        full[rest] = columns
        parts.append((BOND if len(candidate.atoms) > 1 else LONE_PAIR, candidate.atoms, full[:, 0]))
        antibonds += [(ANTIBOND, candidate.atoms, column) for column in full[:, 1:].T]
    order = (CORE, LONE_PAIR, BOND)
    parts.sort(key=lambda part: (order.index(part[0]), part[1]))
    antibonds.sort(key=lambda part: part[1])
    n_lewis = len(parts)
    used = np.stack([vector for _, _, vector in (*parts, *antibonds)], axis=1) if parts else np.zeros((n, 0))
    others = []
    for atom in np.unique(atoms):
        places = np.flatnonzero(atoms == atom)
        inside = np.linalg.svd(used[places])  # of hybrids the singular values are 1
        axes = np.zeros((n, len(places)))
        axes[places] = inside[0]
        free = axes[:, int(np.sum(inside[1] > 0.5)) :]
        for vector in _natural(density, free, functions)[1]:
            valence = float(np.sum(vector[is_valence] ** 2))
            others.append((EMPTY if valence > 0.5 else RYDBERG, (int(atom),), vector))
    others.sort(key=lambda part: part[0] == RYDBERG)
    found = [*parts, *others[: sum(part[0] == EMPTY for part in others)], *antibonds]
    found += [part for part in others if part[0] == RYDBERG]
    vectors = np.stack([vector for _, _, vector in found], axis=1)
    vectors = vectors * np.sign(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(n)])
    return NaturalBondOrbitals(
        vectors,
        np.einsum("in,ij,jn->n", vectors, density, vectors),
        tuple(kind for kind, _, _ in found),
        tuple(where for _, where, _ in found),
        n_lewis,
    )


def _natural(density: Reals, columns: Reals, functions: Reals) -> tuple[Reals, Reals]:
    """Eigenvectors of a density in the space of orthonormal columns, by falling occupancy.

    Parameters
    ----------
    density : ndarray, shape (n, n)
    columns : ndarray, shape (n, m)
    functions : ndarray, shape (n,)
        A number for each function, which tells apart those of equal occupancies: s first, then p, d, ...

    Returns
    -------
    ndarray, shape (m,)
        Occupancies.
    ndarray, shape (m, n)
        Orbitals, as rows.
    """
    occupancies, axes = np.linalg.eigh(columns.T @ density @ columns)
    occupancies, vectors = occupancies[::-1], columns @ axes[:, ::-1]
    ends = np.flatnonzero(np.diff(occupancies, prepend=np.inf, append=-np.inf) < -_EQUAL)
    for first, last in pairwise(ends):
        if last - first > 1:
            some = vectors[:, first:last]
            vectors[:, first:last] = some @ np.linalg.eigh((some.T * functions) @ some)[1]
    return occupancies, vectors.T
