"""Molecules turned onto each other, their orbitals with them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..model.wavefunction import Wavefunction
from .rotation import rotation_of_shell

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

Floats = NDArray[np.float64]


def centre(wavefunction: Wavefunction, positions: Floats | None = None) -> Floats:
    """Middle of the atoms weighted by their numbers, shape (3,), in bohr; of the same atoms elsewhere, if given."""
    return _weights(wavefunction) @ (wavefunction.positions if positions is None else positions)


def rotation_onto(wavefunction: Wavefunction, onto: Floats, positions: Floats | None = None) -> Floats:
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
    second: Floats = _nearest_rotation(weighted @ (mine @ first.T))  # what the preference for no rotation has cost
    return second @ first


def _nearest_rotation(covariance: Floats) -> Floats:
    """Rotation for a covariance of positions; the unit matrix counts a little, and decides where they do not."""
    left, _, right = np.linalg.svd(covariance + np.eye(3) * (1e-7 * np.linalg.norm(covariance) + 1e-12))
    sign = np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))])
    return left @ sign @ right


def turned_functions(wavefunction: Wavefunction, rotation: Floats) -> csr_matrix:
    """Matrix that takes coefficients to those of the molecule turned by a rotation, block-diagonal over shells."""
    from scipy.sparse import csr_matrix

    key = np.ascontiguousarray(rotation, np.float64).tobytes()
    kinds = [(shell.angular_momentum, shell.pure) for shell in wavefunction.shells]
    blocks = {kind: rotation_of_shell(*kind, key) for kind in set(kinds)}
    sizes = np.array([len(blocks[kind]) for kind in kinds])
    of_row = np.repeat(sizes, sizes)  # as many elements as its shell has functions
    first_of_row = np.repeat(np.cumsum(sizes) - sizes, sizes)
    starts = np.concatenate([[0], np.cumsum(of_row)])
    columns = np.arange(starts[-1]) - np.repeat(starts[:-1] - first_of_row, of_row)
    values = np.concatenate([blocks[kind].ravel() for kind in kinds])
    return csr_matrix((values, columns, starts))


def placed(wavefunction: Wavefunction, rotation: Floats, middle: Floats) -> Wavefunction:
    """The wavefunction of the molecule turned about its `centre`, which is then moved to `middle` (bohr)."""
    positions = (wavefunction.positions - centre(wavefunction)) @ rotation.T + middle
    turn = turned_functions(wavefunction, rotation)
    changed: dict[str, Any] = {}
    for name in ("density_matrix", "spin_density_matrix"):
        if (matrix := getattr(wavefunction, name)).size:
            changed[name] = turn @ matrix @ turn.T
    if len(wavefunction.cell):
        changed["cell"] = wavefunction.cell @ rotation.T
    for spin, orbitals in (("alpha", wavefunction.alpha), ("beta", wavefunction.beta)):
        if orbitals is not None:
            changed[spin] = replace(orbitals, coefficients=turn @ orbitals.coefficients)
    return replace(wavefunction, positions=positions, geometries=np.empty(0), **changed)


def aligned(wavefunction: Wavefunction, onto: Wavefunction) -> Wavefunction:
    """The wavefunction with its molecule turned and moved onto another geometry of it, by least squares."""
    return placed(wavefunction, rotation_onto(wavefunction, onto.positions), centre(onto))


def aligned_positions(atoms: Wavefunction, positions: Floats) -> Floats:
    """Positions that `aligned` gives the atoms of a wavefunction, brought onto it from elsewhere."""
    rotation = rotation_onto(atoms, atoms.positions, positions)
    return (positions - centre(atoms, positions)) @ rotation.T + centre(atoms)


def positions_between(atoms: Wavefunction, one: Floats, other: Floats, share: float) -> Floats:
    """Positions a share of the way from one geometry of some atoms to another, as `paths.interpolated` goes it."""
    rotation = rotation_onto(atoms, one, other)
    here, there = (centre(atoms, where) for where in (one, other))
    near = (1 - share) * (one - here) + share * (other - there) @ rotation.T
    return near @ part_of_rotation(rotation.T, share).T + (1 - share) * here + share * there


def part_of_rotation(rotation: Floats, share: float) -> Floats:
    """A part of a rotation, about the same axis."""
    from scipy.spatial.transform import Rotation

    return (Rotation.from_matrix(rotation) ** share).as_matrix()


def _weights(wavefunction: Wavefunction) -> Floats:
    weights = np.maximum(wavefunction.atomic_numbers, 1).astype(np.float64)
    return np.asarray(weights / weights.sum(), np.float64)
