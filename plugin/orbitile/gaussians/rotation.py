"""Rotations: of polynomials and basis functions about an atom, and of molecules onto each other, orbitals with them."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..model.conventions import angular_normalization, cartesian_powers, pure_from_cartesian
from ..model.wavefunction import Wavefunction
from .expansion import polynomial_powers, runs, starts, term_counts

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@lru_cache(maxsize=64)
def rotation_of_monomials(degree: int, frame: bytes) -> Reals:
    """Homogeneous monomials of one degree under r = u @ frame: column = monomial in r, rows = monomials in u.

    Both in the order of `cartesian_powers`; the frame as the bytes of its matrix of shape (3, 3).
    """
    matrix = np.frombuffer(frame).reshape(3, 3)
    powers = cartesian_powers(degree)
    index = {p: n for n, p in enumerate(powers)}
    result = np.zeros((len(powers), len(powers)))
    for column, monomial in enumerate(powers):
        polynomial: dict[tuple[int, int, int], float] = {(0, 0, 0): 1.0}
        for axis, power in enumerate(monomial):
            for _ in range(power):
                product: dict[tuple[int, int, int], float] = {}
                for (i, j, k), value in polynomial.items():
                    for n, p in enumerate(((i + 1, j, k), (i, j + 1, k), (i, j, k + 1))):
                        product[p] = product.get(p, 0.0) + value * matrix[n, axis]
                polynomial = product
        for p, value in polynomial.items():
            result[index[p], column] = value
    return result


def rotate_terms(terms: Reals, degrees: NDArray[np.int32], frame: Reals) -> Reals:
    """Polynomial coefficients in a rotated frame.

    Parameters
    ----------
    terms : ndarray, shape (n_terms, ...)
        Coefficients of merged primitives, in `polynomial_powers` order.
    degrees : ndarray of int32, shape (n_primitives,)
    frame : ndarray, shape (3, 3)
        Rows are orthonormal axes of the new frame; coordinates there are `r @ frame.T`.
    """
    result = np.empty_like(terms)
    key = np.ascontiguousarray(frame, np.float64).tobytes()
    first = starts(term_counts(degrees))
    for degree in np.unique(degrees):
        powers = polynomial_powers(int(degree))
        matrix = np.zeros((len(powers), len(powers)))
        index = {p: n for n, p in enumerate(powers)}
        for l in range(int(degree) + 1):
            rows = [index[p] for p in cartesian_powers(l)]
            matrix[np.ix_(rows, rows)] = rotation_of_monomials(l, key)
        at = first[:-1][degrees == degree][:, None] + np.arange(len(powers))
        result[at] = np.einsum("mn,pn...->pm...", matrix, terms[at])
    return result


@lru_cache(maxsize=64)
def rotation_of_shell(angular_momentum: int, pure: bool, rotation: bytes) -> Reals:
    """Block that takes coefficients of the functions of a shell to those of the shell turned by a rotation R.

    The turned function at r is the function at R^-1 r; the rotation as the bytes of its matrix of shape (3, 3).
    """
    norms = np.array([angular_normalization(powers) for powers in cartesian_powers(angular_momentum)])
    monomials = rotation_of_monomials(angular_momentum, rotation)
    cartesian = np.asarray(monomials * norms / norms[:, None], np.float64)
    if not pure:
        return cartesian
    to_pure = pure_from_cartesian(angular_momentum)
    block = np.linalg.solve(to_pure @ to_pure.T, to_pure @ cartesian @ to_pure.T)
    return np.asarray(block, np.float64)


def centre(wavefunction: Wavefunction, positions: Reals | None = None) -> Reals:
    """Middle of the atoms weighted by their numbers, shape (3,), in bohr; of the same atoms elsewhere, if given."""
    return _weights(wavefunction) @ (wavefunction.positions if positions is None else positions)


def rotation_onto(wavefunction: Wavefunction, onto: Reals, positions: Reals | None = None) -> Reals:
    """Proper rotation that brings the atoms nearest to given positions, weighted by their numbers.

    Least squares (W. Kabsch, Acta Cryst. A 1976, 32, 922). About axes that the atoms do not define, as that of a linear
    molecule, it turns by nothing.

    Parameters
    ----------
    wavefunction
        Of the atoms.
    onto : ndarray, shape (n_atoms, 3)
        Positions in bohr; their middle does not matter.
    positions : ndarray, shape (n_atoms, 3)
        Where the atoms are, if not where the wavefunction has them.

    Returns
    -------
    ndarray, shape (3, 3)
        R, to be applied as `positions @ R.T`.
    """
    where_from = wavefunction.positions if positions is None else positions
    mine, theirs = (where - centre(wavefunction, where) for where in (where_from, onto))
    weighted = (theirs * _weights(wavefunction)[:, None]).T
    first = _nearest_rotation(weighted @ mine)
    second: Reals = _nearest_rotation(weighted @ (mine @ first.T))  # what the preference for no rotation has cost
    return second @ first


def _nearest_rotation(covariance: Reals) -> Reals:
    """Rotation for a covariance of positions; the unit matrix counts a little, and decides where they do not."""
    left, _, right = np.linalg.svd(covariance + np.eye(3) * (1e-7 * np.linalg.norm(covariance) + 1e-12))
    sign = np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))])
    return left @ sign @ right


def turned_functions(wavefunction: Wavefunction, rotation: Reals) -> csr_matrix:
    """Matrix that takes coefficients to those of the molecule turned by a rotation, block-diagonal over shells."""
    from scipy.sparse import csr_matrix

    key = np.ascontiguousarray(rotation, np.float64).tobytes()
    kinds = [(shell.angular_momentum, shell.pure) for shell in wavefunction.shells]
    blocks = {kind: rotation_of_shell(*kind, key) for kind in set(kinds)}
    sizes = np.array([len(blocks[kind]) for kind in kinds])
    of_row = np.repeat(sizes, sizes)  # as many elements as its shell has functions
    columns = runs(np.repeat(starts(sizes)[:-1], sizes), of_row)
    values = np.concatenate([blocks[kind].ravel() for kind in kinds])
    return csr_matrix((values, columns, starts(of_row)))


def placed(wavefunction: Wavefunction, rotation: Reals, middle: Reals) -> Wavefunction:
    """The wavefunction of the molecule turned about its `centre`, which is then moved to `middle` (bohr)."""
    positions = (wavefunction.positions - centre(wavefunction)) @ rotation.T + middle
    turn = turned_functions(wavefunction, rotation)
    changed: dict[str, Any] = {}
    for name in ("density_matrix", "spin_density_matrix"):
        if (matrix := getattr(wavefunction, name)).size:
            changed[name] = turn @ matrix @ turn.T
    if len(wavefunction.cell):
        changed["cell"] = wavefunction.cell @ rotation.T
    for spin, orbitals in zip(wavefunction.spins, wavefunction.sets, strict=True):
        changed[spin] = replace(orbitals, coefficients=turn @ orbitals.coefficients)
    return replace(wavefunction, positions=positions, geometries=np.empty(0), **changed)


def aligned(wavefunction: Wavefunction, onto: Wavefunction) -> Wavefunction:
    """The wavefunction with its molecule turned and moved onto another geometry of it, by least squares."""
    return placed(wavefunction, rotation_onto(wavefunction, onto.positions), centre(onto))


def aligned_positions(atoms: Wavefunction, positions: Reals) -> Reals:
    """Positions that `aligned` gives the atoms of a wavefunction, brought onto it from elsewhere."""
    rotation = rotation_onto(atoms, atoms.positions, positions)
    return (positions - centre(atoms, positions)) @ rotation.T + centre(atoms)


def positions_between(atoms: Wavefunction, one: Reals, other: Reals, share: float) -> Reals:
    """Positions a share of the way from one geometry of some atoms to another, as `paths.interpolated` goes it."""
    rotation = rotation_onto(atoms, one, other)
    here, there = (centre(atoms, where) for where in (one, other))
    near = (1 - share) * (one - here) + share * (other - there) @ rotation.T
    return near @ part_of_rotation(rotation.T, share).T + (1 - share) * here + share * there


def part_of_rotation(rotation: Reals, share: float) -> Reals:
    """A part of a rotation, about the same axis."""
    from scipy.spatial.transform import Rotation

    return (Rotation.from_matrix(rotation) ** share).as_matrix()


def _weights(wavefunction: Wavefunction) -> Reals:
    weights = np.maximum(wavefunction.atomic_numbers, 1).astype(np.float64)
    return np.asarray(weights / weights.sum(), np.float64)
