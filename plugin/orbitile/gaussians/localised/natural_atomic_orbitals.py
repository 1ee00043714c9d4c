r"""Natural atomic orbitals, whose electrons are those of natural population analysis.

A. E. Reed, R. B. Weinstock and F. Weinhold, J. Chem. Phys. 1985, 83, 735, whose appendix states the steps:

1. Basis functions become pure ones; a Cartesian shell of angular momentum l has pure functions of l, l - 2, ...
2. For each atom and l, blocks of the overlap S and of :math:`P = S D S`, with the density matrix D, are averaged over
   the 2l + 1 components. Their eigenvectors, P N = S N w, are pre-natural atomic orbitals with occupancies w.
3. Of each atom and l, as many as the free atom has occupied shells are the minimal set: those of the highest
   occupancies. The others are Rydberg orbitals.
4. The minimal set is orthogonalised between atoms with its occupancies as weights W,

   .. math::  O = W (W S W)^{-1/2}

   Of all orthonormal orbitals these have the least :math:`\sum_i w_i \lVert \tilde\phi_i - \phi_i \rVert^2`.
5. Rydberg orbitals are orthogonalised to the minimal set (E. Schmidt), made natural again as in step 2, and
   orthogonalised between atoms as in step 4; those of less than 1e-4 electrons after the others, with equal weights.
6. Of all orbitals of each atom and l, averaged blocks of P are diagonalised: natural atomic orbitals. Where cores were
   orthogonalised first, they are diagonalised apart from the others.

The electrons of an atom are the diagonal elements of P for its orbitals, and its unpaired electrons the same of the
spin density. The occupied shells of free atoms are those of the minimal basis of intrinsic atomic orbitals, without
the ones that core potentials replace. A ghost atom has Rydberg orbitals alone.

These steps give the charges of NBO 3.1. NBO 7 orthogonalises the cores first, among themselves, and then the valence
orbitals, without what they have of the cores; charges then differ by some 0.005 e in small basis sets. In these, cores
that were orthogonalised together with the valence orbitals have lost 0.001 electrons.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import Reals
from ...base.memory import require_memory
from ...base.watch import patiently
from ...model.conventions import angular_normalization, cartesian_powers, pure_from_cartesian
from ...model.wavefunction import Wavefunction
from ..overlap import dense, own_overlap
from .intrinsic_atomic_orbitals import are_core, levels_of, minimal_basis

Key = tuple[int, int]
"""Atom and angular momentum."""

RYDBERG = "Rydberg"

_DEPENDENT = 1e-10
"""Eigenvalue of an overlap, as a share of the largest, at which functions depend on others and are left out."""

_FAINT = 1e-4
"""Electrons of a Rydberg orbital below which it is orthogonalised after the others; and least weight of any orbital."""


@dataclass(frozen=True, eq=False)
class NaturalAtomicOrbitals:
    """Natural atomic orbitals: orthonormal, in shells of 2l + 1 orbitals after one another.

    Attributes
    ----------
    coefficients : ndarray, shape (n_basis, n_orbitals)
        Over the basis functions of the molecule.
    projections : ndarray, shape (n_orbitals, n_basis)
        Their overlaps with the basis functions.
    atoms, angular_momenta : ndarray of int, shape (n_shells,)
    levels : ndarray of int, shape (n_shells,)
        Principal quantum numbers: those of the free atom's shells, and the next ones for Rydberg shells.
    kinds : tuple of str, length n_shells
        core, valence or Rydberg.
    """

    coefficients: Reals
    projections: Reals
    atoms: NDArray[np.int64]
    angular_momenta: NDArray[np.int64]
    levels: NDArray[np.int64]
    kinds: tuple[str, ...]

    @property
    def shells(self) -> NDArray[np.int64]:
        """The shell of each orbital, shape (n_orbitals,)."""
        return np.repeat(np.arange(len(self.atoms)), 2 * self.angular_momenta + 1)

    @property
    def functions(self) -> Reals:
        """What kind of function each is, shape (n_orbitals,): l, and behind the point its place in the shell."""
        sizes = 2 * self.angular_momenta + 1
        place = np.concatenate([np.arange(size) / size for size in sizes])
        return np.asarray(self.angular_momenta[self.shells] + place, np.float64)

    def by_shells(self, values: Reals) -> Reals:
        """Sums over the orbitals of each shell, shape (n_shells,), of values of shape (n_orbitals,)."""
        return np.bincount(self.shells, values, len(self.atoms)).astype(np.float64)

    def density(self, coefficients: Reals, weights: Reals) -> Reals:
        """Density matrix over them, shape (n_orbitals, n_orbitals).

        Parameters
        ----------
        coefficients : ndarray, shape (n_basis, n)
            Orbitals over the basis functions.
        weights : ndarray, shape (n,)
            Their electrons.
        """
        inside = self.projections @ coefficients
        return (inside * weights) @ inside.T


def natural_atomic_orbitals(
    wavefunction: Wavefunction, coefficients: Reals, weights: Reals, *, cores_first: bool = False
) -> NaturalAtomicOrbitals:
    """The natural atomic orbitals of a density.

    Parameters
    ----------
    wavefunction
    coefficients : ndarray, shape (n_basis, n)
        Orbitals that make the density of all electrons.
    weights : ndarray, shape (n,)
        Their electrons.
    cores_first
        Whether core orbitals are orthogonalised before the valence orbitals, as by NBO 7.

    Raises
    ------
    OrbitileError
        When the minimal basis lacks an element or its core potential, or the memory does not suffice for some matrices
        over all basis functions.
    """
    n = wavefunction.n_basis
    require_memory(8 * 8 * n * n, "natural atomic orbitals", "analyse a part of the molecule")
    minimal = _minimal_shells(wavefunction)
    keys, to_pure = _pure_functions(wavefunction)
    overlap = dense(own_overlap(wavefunction))
    to_basis = to_pure @ overlap
    projected = to_basis @ coefficients
    density = (projected * weights) @ projected.T
    overlap = to_pure @ to_basis.T
    first = _Orbitals(np.eye(n), keys, np.zeros(len(keys)))
    kinds_of = {key: [kind for _, kind in shells] for key, shells in minimal.items()}
    together = (("core",), ("valence",)) if cores_first else (("core", "valence"),)
    natural = patiently(lambda: _natural_orbitals(first, kinds_of, together, density, overlap))
    levels, kinds, seen = [], [], dict[Key, int]()
    for key in natural.keys:
        place = seen[key] = seen.get(key, -1) + 1
        shells = minimal.get(key, [])
        beyond = (shells[-1][0] if shells else key[1]) + 1 + place - len(shells)
        level, kind = shells[place] if place < len(shells) else (beyond, RYDBERG)
        levels.append(level)
        kinds.append(kind)
    atoms, momenta = np.array(natural.keys, np.int64).T
    made = to_pure.T @ natural.vectors, natural.vectors.T @ to_basis
    return NaturalAtomicOrbitals(*made, atoms, momenta, np.array(levels, np.int64), tuple(kinds))


def _minimal_shells(wavefunction: Wavefunction) -> dict[Key, list[tuple[int, str]]]:
    """Principal quantum numbers of the occupied shells of free atoms, and whether they are core or valence."""
    shells = minimal_basis(wavefunction).shells
    result: dict[Key, list[tuple[int, str]]] = {}
    for shell, level, core in zip(shells, levels_of(wavefunction, shells), are_core(wavefunction, shells), strict=True):
        result.setdefault((shell.atom, shell.angular_momentum), []).append((level, "core" if core else "valence"))
    return result


@dataclass(frozen=True, eq=False)
class _Orbitals:
    """Orbitals of shells, those of each shell after one another.

    Attributes
    ----------
    vectors : ndarray, shape (n_functions, n_orbitals)
        Over pure functions.
    keys : list of (int, int)
        Atom and angular momentum of each shell.
    occupancies : ndarray, shape (n_shells,)
        Electrons of each of its orbitals.
    """

    vectors: Reals
    keys: list[Key]
    occupancies: Reals

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Orbitals of each shell."""
        return np.array([2 * l + 1 for _, l in self.keys], np.int64)

    @property
    def starts(self) -> NDArray[np.int64]:
        """The first orbital of each shell."""
        return np.cumsum(self.sizes) - self.sizes

    def some(self, chosen: NDArray[np.bool_]) -> _Orbitals:
        """Some of the shells."""
        keys = [key for key, wanted in zip(self.keys, chosen, strict=True) if wanted]
        return _Orbitals(self.vectors[:, np.repeat(chosen, self.sizes)], keys, self.occupancies[chosen])

    def and_(self, other: _Orbitals) -> _Orbitals:
        """These shells and others."""
        vectors = np.hstack([self.vectors, other.vectors])
        return _Orbitals(vectors, self.keys + other.keys, np.concatenate([self.occupancies, other.occupancies]))

    def sorted(self) -> _Orbitals:
        """The shells by atom and angular momentum; those of equal ones in the order that they have."""
        order = sorted(range(len(self.keys)), key=self.keys.__getitem__)
        columns = np.concatenate([self.starts[n] + np.arange(self.sizes[n]) for n in order])
        return _Orbitals(self.vectors[:, columns], [self.keys[n] for n in order], self.occupancies[order])


def _natural_orbitals(
    first: _Orbitals,
    kinds: dict[Key, list[str]],
    together: tuple[tuple[str, ...], ...],
    density: Reals,
    overlap: Reals,
) -> _Orbitals:
    """Natural atomic orbitals: steps 2 to 6.

    Parameters
    ----------
    first
        Pure functions.
    kinds
        Kinds of the shells in the minimal set.
    together
        Kinds of them that are orthogonalised together, one set after the other.
    density, overlap
        P and S over pure functions.
    """
    orbitals, seen, found = _made_natural(first, density, overlap), Counter[Key](), []
    for key in orbitals.keys:
        minimal = kinds.get(key, [])
        found.append(minimal[seen[key]] if seen[key] < len(minimal) else RYDBERG)
        seen[key] += 1
    kind = np.array(found)
    done = orbitals.some(kind == "")
    for some in together:
        done = done.and_(_orthogonalised(_apart(orbitals.some(np.isin(kind, some)), done, overlap), overlap))
    rydberg = _made_natural(_apart(orbitals.some(kind == RYDBERG), done, overlap), density, overlap)
    faint = rydberg.occupancies < _FAINT
    done = done.and_(_orthogonalised(rydberg.some(~faint), overlap))
    others = _apart(rydberg.some(faint), done, overlap)
    done = done.and_(_orthogonalised(replace(others, occupancies=np.ones(len(others.keys))), overlap))
    if len(together) < 2:
        return _made_natural(done, density, overlap)
    n_cores = int(np.sum(np.isin(kind, together[0])))
    is_core = np.arange(len(done.keys)) < n_cores  # they were orthogonalised first
    apart = [_made_natural(done.some(some), density, overlap) for some in (is_core, ~is_core)]
    return apart[0].and_(apart[1]).sorted()


def _made_natural(orbitals: _Orbitals, density: Reals, overlap: Reals) -> _Orbitals:
    """Diagonalise the density of each atom and angular momentum, averaged over the components; by falling occupancy."""
    if not orbitals.keys:
        return orbitals
    density = orbitals.vectors.T @ density @ orbitals.vectors
    overlap = orbitals.vectors.T @ overlap @ orbitals.vectors
    starts = orbitals.starts
    vectors, keys, found = [], [], []
    for key in sorted(set(orbitals.keys)):
        size = 2 * key[1] + 1
        shells = starts[[n for n, other in enumerate(orbitals.keys) if other == key]]
        components = [shells + m for m in range(size)]
        of_density, of_overlap = (
            np.mean([matrix[np.ix_(some, some)] for some in components], axis=0) for matrix in (density, overlap)
        )
        values, axes = np.linalg.eigh(of_overlap)
        kept = values > _DEPENDENT * values[-1]
        axes = axes[:, kept] / np.sqrt(values[kept])
        occupancies, turned = np.linalg.eigh(axes.T @ of_density @ axes)
        axes = axes @ turned[:, ::-1]
        made = np.stack([orbitals.vectors[:, some] @ axes for some in components], axis=2)
        vectors.append(made.reshape(len(made), -1))
        keys += [key] * axes.shape[1]
        found.append(occupancies[::-1])
    return _Orbitals(np.hstack(vectors), keys, np.concatenate(found))


def _orthogonalised(orbitals: _Orbitals, overlap: Reals) -> _Orbitals:
    """The orthonormal orbitals that differ least from some, by squares that their occupancies weigh."""
    weights = np.repeat(np.maximum(orbitals.occupancies, _FAINT), orbitals.sizes)
    if not orbitals.keys:
        return orbitals
    weighted = orbitals.vectors * weights
    values, axes = np.linalg.eigh(weighted.T @ overlap @ weighted)
    kept = values > 0
    axes = axes[:, kept]
    return _Orbitals(weighted @ (axes / np.sqrt(values[kept])) @ axes.T, orbitals.keys, orbitals.occupancies)


def _apart(orbitals: _Orbitals, others: _Orbitals, overlap: Reals) -> _Orbitals:
    """Orbitals without what they have of orthonormal others."""
    vectors = orbitals.vectors - others.vectors @ (others.vectors.T @ (overlap @ orbitals.vectors))
    return _Orbitals(vectors, orbitals.keys, orbitals.occupancies)


def _pure_functions(wavefunction: Wavefunction) -> tuple[list[Key], Any]:
    """Shells of pure functions that span the same as the basis functions, and these functions over the latter."""
    from scipy.sparse import block_diag

    keys, matrices = [], []
    for shell in wavefunction.shells:
        l = shell.angular_momentum
        parts = ((l, np.eye(shell.n_functions)),) if shell.pure or l < 2 else _harmonics(l)
        keys += [(shell.atom, momentum) for momentum, _ in parts]
        matrices.append(np.vstack([part for _, part in parts]))
    return keys, block_diag(matrices, format="csr")


@lru_cache(maxsize=16)
def _harmonics(l: int) -> tuple[tuple[int, Reals], ...]:
    """Solid harmonics of degree l, l - 2, ... times powers of r^2, over the normalised Cartesian functions of a shell.

    Their norms are the same within each degree.
    """
    norms = np.array([angular_normalization(powers) for powers in cartesian_powers(l)])
    found = []
    for momentum in range(l, -1, -2):
        monomials = np.eye(2 * momentum + 1)
        if momentum > 1:
            monomials = pure_from_cartesian(momentum) * [angular_normalization(p) for p in cartesian_powers(momentum)]
        for degree in range(momentum, l, 2):
            monomials = monomials @ _times_squared_radius(degree)
        found.append((momentum, monomials / norms))
    return tuple(found)


def _times_squared_radius(degree: int) -> Reals:
    """Monomials of a degree times x^2 + y^2 + z^2, over those of two degrees more."""
    places = {powers: n for n, powers in enumerate(cartesian_powers(degree + 2))}
    result = np.zeros((len(cartesian_powers(degree)), len(places)))
    for row, (i, j, k) in enumerate(cartesian_powers(degree)):
        for powers in ((i + 2, j, k), (i, j + 2, k), (i, j, k + 2)):
            result[row, places[powers]] = 1.0
    return result
