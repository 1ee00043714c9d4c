r"""The basis set of an NBO job: labels of its functions, and shells from its lists of primitives.

A label is 100 l + m: :math:`m \le 50` a monomial of degree l, in alphabetical order from 1 on (101 x, 201 xx, 202 xy),
and :math:`m > 50` a real solid harmonic. Those of d come as xy, xz, yz, x2-y2, z2, those from f on as c0, c1, s1, c2,
s2, ... in the names of `orbitile.model.conventions`, with the same signs.

Contraction coefficients carry the norms of their primitives, up to a factor that depends on l and on the program that
wrote them. All functions of NBO are normalised, so that this factor follows.

ORCA's harmonics with m = 3 and 4 have the other sign, and so in what it hands to NBO; which signs a job has is seen by
overlaps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...base.errors import FileError
from ...gaussians.overlap import shell_overlap
from ...model.conventions import ANGULAR_MOMENTUM_LETTERS, component_names, radial_normalization
from ...model.geometry import FARTHEST
from ...model.wavefunction import EXPONENTS, Shell
from .._contractions import norm_of

Reals = NDArray[np.float64]

HIGHEST = 6
"""Largest angular momentum that NBO has labels for."""

_PURE_D = ("s2", "c1", "s1", "c2", "c0")

_FIRST_PURE = 50


@dataclass(frozen=True, eq=False)
class Basis:
    """The basis set of a job.

    Attributes
    ----------
    title : str
    numbers : ndarray of int, shape (n_atoms,)
        Atomic numbers; 0 for a ghost.
    charges : ndarray, shape (n_atoms,)
        What the electrons see, as the file has it.
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    shells : tuple of Shell
        In the order of the file.
    order : ndarray of int, shape (n_basis,)
        Which function of the file each of ours is.
    signs : ndarray, shape (n_basis,)
        Factors of ours: 1, or -1.
    """

    title: str
    numbers: NDArray[np.int64]
    charges: Reals
    positions: Reals
    shells: tuple[Shell, ...]
    order: NDArray[np.intp]
    signs: Reals

    def __len__(self) -> int:
        return len(self.order)

    def of_orbitals(self, coefficients: Reals) -> Reals:
        """Coefficients in the order of the file, shape (n_basis, n_orbitals), as ours."""
        return coefficients[self.order] * self.signs[:, None]

    def of_matrix(self, matrix: Reals) -> Reals:
        """A matrix over the functions of the file as one over ours."""
        return matrix[np.ix_(self.order, self.order)] * np.outer(self.signs, self.signs)

    def with_signs_of_orca(self) -> Basis:
        """The same functions with those of ORCA."""
        names = [name for shell in self.shells for name in component_names(shell.angular_momentum, shell.pure)]
        return replace(self, signs=np.array([-1.0 if name[1:] in ("3", "4") else 1.0 for name in names]))

    def overlap(self) -> Reals:
        """Overlap of its functions, in our order."""
        found = shell_overlap(self.shells, self.positions, self.shells, self.positions)
        return found if isinstance(found, np.ndarray) else np.asarray(found.todense())


def within_reach(name: str, positions: Reals) -> Reals:
    """Positions in bohr, which are finite.

    Raises
    ------
    FileError
        When they are not, or beyond all molecules.
    """
    if not np.abs(positions).max(initial=0.0) <= FARTHEST:
        raise FileError(
            f"{name}: expected coordinates of atoms up to {FARTHEST:g} bohr, got {np.abs(positions).max():g}"
        )
    return positions


@dataclass(frozen=True, eq=False)
class Primitives:
    """Lists of primitives that shells point into.

    Attributes
    ----------
    exponents : ndarray, shape (n,)
        In bohr^-2.
    coefficients : list of ndarray, shape (n,)
        Contraction coefficients of functions with l = 0, 1, 2, ...
    """

    exponents: Reals
    coefficients: list[Reals]


def component_of(label: int, name: str) -> tuple[int, bool, str]:
    """Angular momentum, whether pure, and our name of the component that a label stands for.

    Raises
    ------
    FileError
        When there is no such label.
    """
    l, place = divmod(label, 100)
    pure = place > _FIRST_PURE
    place -= _FIRST_PURE * pure + 1
    names = component_names(l, pure) if 0 <= l <= HIGHEST else ()
    if pure and l == 2:
        names = _PURE_D
    if not 0 <= place < len(names):
        raise FileError(f"{name}: {label} is no label of a basis function (1, 101 to 103, 201 to 206, 251 to 255, ...)")
    return l, pure and l > 1, names[place]


def shells_of(
    name: str,
    atoms: Sequence[int],
    labels: Sequence[Sequence[int]],
    ranges: Sequence[tuple[int, int]],
    primitives: Primitives,
    n_atoms: int,
) -> tuple[tuple[Shell, ...], NDArray[np.intp]]:
    """Shells, and which function of the file each of our functions is.

    Parameters
    ----------
    name
        Of the file, for messages.
    atoms
        Of each shell of the file, from 1.
    labels
        Of the functions of each; those of s and p may share a shell.
    ranges
        First primitive, from 1, and number of primitives of each.
    primitives
        What the ranges point into.
    n_atoms
        In the molecule.

    Raises
    ------
    FileError
        When a shell lacks a component, or points beyond the atoms or the primitives.
    """
    made: list[tuple[int, int, bool, Reals, Reals]] = []
    order: list[int] = []
    incomplete: dict[tuple[int, int, bool, bytes], list[dict[str, int]]] = {}  # by their primitives
    first = 0
    for number, (atom, of_shell, (begin, count)) in enumerate(zip(atoms, labels, ranges, strict=True), 1):
        if not 1 <= atom <= n_atoms:
            raise FileError(f"{name}: shell {number} is on atom {atom}, expected one from 1 to {n_atoms}")
        if not (begin >= 1 and count >= 1 and begin - 1 + count <= len(primitives.exponents)):
            raise FileError(
                f"{name}: shell {number} has primitives {begin} to {begin + count - 1}, expected some of 1 to "
                f"{len(primitives.exponents)}"
            )
        chosen = slice(begin - 1, begin - 1 + count)
        components = [component_of(label, name) for label in of_shell]
        for l, pure in dict.fromkeys((l, pure) for l, pure, _ in components):
            place = {text: first + n for n, (k, p, text) in enumerate(components) if (k, p) == (l, pure)}
            ours = component_names(l, pure)
            if len(components) != len(set(components)):
                raise FileError(f"{name}: shell {number} has a function twice: {list(of_shell)}")
            if l >= len(primitives.coefficients):
                raise FileError(f"{name}: no contraction coefficients of {ANGULAR_MOMENTUM_LETTERS[l]} functions")
            exponents, coefficients = primitives.exponents[chosen], primitives.coefficients[l][chosen]
            if len(place) < len(ours):  # OpenMolcas writes each component as a shell
                key = atom, l, pure, exponents.tobytes() + coefficients.tobytes()
                place = _joined(incomplete.setdefault(key, []), place)
            if len(place) == len(ours):
                order += [place[text] for text in ours]
                made.append((atom - 1, l, pure, exponents, coefficients))
        first += len(components)
    if len(order) < first:
        l = next(
            l
            for (_, l, pure, _), shells in incomplete.items()
            if any(len(one) < len(component_names(l, pure)) for one in shells)
        )
        raise FileError(f"{name}: a shell has no full set of {ANGULAR_MOMENTUM_LETTERS[l]} functions")
    return _normalised(name, made), np.array(order, np.intp)


def _joined(shells: list[dict[str, int]], place: dict[str, int]) -> dict[str, int]:
    """The first shell of the same primitives that lacks some components, once it has them."""
    for shell in shells:
        if not place.keys() & shell.keys():
            shell.update(place)
            return shell
    shells.append(dict(place))
    return shells[-1]


def _normalised(name: str, made: list[tuple[int, int, bool, Reals, Reals]]) -> tuple[Shell, ...]:
    """Shells whose functions have the norm 1, whichever way the file has its coefficients."""
    least, most = EXPONENTS
    if any(not np.all((exponents >= least) & (exponents <= most)) for _, _, _, exponents, _ in made):
        raise FileError(f"{name}: expected exponents from {least:g} to {most:g} bohr^-2")
    with_norms = [coefficients / radial_normalization(zeta, l) for _, l, _, zeta, coefficients in made]
    without = [coefficients for _, _, _, _, coefficients in made]
    contracted = [n for n, (_, l, _, zeta, _) in enumerate(made) if l < 2 and len(zeta) > 1]

    def mistake(found: list[Reals]) -> float:
        return sum(abs(norm_of(made[n][3], found[n], made[n][1]) - 1) for n in contracted)

    chosen = with_norms if mistake(with_norms) <= mistake(without) else without
    shells = []
    for (atom, l, pure, zeta, _), coefficients in zip(made, chosen, strict=True):
        norm = norm_of(zeta, coefficients, l)
        if not (np.isfinite(norm) and norm > 0):
            raise FileError(f"{name}: the contraction coefficients of a function on atom {atom + 1} are damaged")
        shells.append(Shell(atom, l, pure, zeta, coefficients / np.sqrt(norm)))
    return tuple(shells)
