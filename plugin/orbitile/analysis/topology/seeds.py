"""Where critical points are looked for: between atoms, and on a grid between all of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...watch import checkpoint

Reals = NDArray[np.float64]
Integers = NDArray[np.int64]

_CONTACT = 9.0
"""Distance in bohr up to which two atoms may have a bond point between them; on a grid it is found farther away too."""

_DECAY = 1.6
"""How fast densities of atoms fall, in bohr^-1."""

_OPPOSED = 0.85
"""Share of the slopes of all atoms that is left where they oppose each other, up to which a point of a grid counts."""

_WIDE = 9.0
"""Distance from the nearest atom in bohr up to which there are points of the grid."""


def between_atoms(positions: Reals, radii: Reals) -> tuple[Reals, Integers]:
    """Seeds on pairs, triples and quadruples of atoms, as the tetrahedra of Delaunay have them.

    Parameters
    ----------
    positions : ndarray, shape (n, 3)
        Of the nuclei, in bohr.
    radii : ndarray, shape (n,)
        By which the line between two atoms is divided.

    Returns
    -------
    seeds : ndarray, shape (m, 3)
    n_negative : ndarray of int, shape (m,)
        What is looked for from each: 2 for bonds, 1 for rings, 0 for cages.
    """
    seeds, wanted = [np.zeros((0, 3))], [np.zeros(0, np.int64)]
    for size, simplices in ((2, _near_pairs(positions)), *((n, _simplices(positions, n)) for n in (3, 4))):
        if not len(simplices):
            continue
        # nearer to the smaller ones
        weight = 1.0 / radii[simplices]
        weight /= weight.sum(axis=1)[:, None]
        seeds.append(np.einsum("mk,mki->mi", weight, positions[simplices]))
        wanted.append(np.full(len(simplices), 4 - size))
    return np.concatenate(seeds), np.concatenate(wanted)


def _near_pairs(positions: Reals) -> Integers:
    """Pairs of atoms none of which is farther from the other than contacts are, but for those behind another atom."""
    from scipy.spatial import cKDTree

    pairs: Integers = cKDTree(positions).query_pairs(_CONTACT, output_type="ndarray").astype(np.int64)
    if not len(pairs):
        return pairs
    middle = positions[pairs].mean(axis=1)
    half = np.sqrt(((positions[pairs[:, 0]] - positions[pairs[:, 1]]) ** 2).sum(axis=1)) / 2
    nearest = cKDTree(positions).query(middle)[0]
    open_pairs: Integers = pairs[nearest > 0.7 * half]
    return open_pairs


def _simplices(positions: Reals, size: int) -> Integers:
    """Triples or quadruples of neighbours, each once."""
    from itertools import combinations

    from scipy.spatial import Delaunay

    n = len(positions)
    if n < size:
        return np.zeros((0, size), np.int64)
    # corners far away, so that molecules of any shape have tetrahedra
    corners = positions.mean(axis=0) + 1e3 * np.array([(1, 1, 1), (1, -1, -1.1), (-1.1, 1, -1), (-1, -1.1, 1)])
    tetrahedra = Delaunay(np.concatenate([positions, corners]), qhull_options="QJ Pp").simplices.astype(np.int64)
    parts = np.concatenate([tetrahedra[:, list(some)] for some in combinations(range(4), size)])
    real = np.sort(parts[(parts < n).all(axis=1)], axis=1)
    distinct: Integers = np.unique(real, axis=0)
    return distinct


def on_grid(positions: Reals, spacing: float, shift: float, most: int) -> Reals:
    """Points of a cubic grid where atoms around oppose each other, shape (m, 3).

    Densities of single atoms only fall: where all slopes of :math:`e^{-a r}` point the same way nearly, as outside of
    the molecule, they do not add up to none.

    Parameters
    ----------
    positions : ndarray, shape (n, 3)
        Of the nuclei, in bohr.
    spacing, shift
        In bohr.
    most
        Number of points beyond which there are none at all.
    """
    from scipy.spatial import cKDTree

    tree = cKDTree(positions)
    low, high = positions.min(axis=0) - 1.5, positions.max(axis=0) + 1.5
    axes = [np.arange(a + shift, b, spacing) for a, b in zip(low, high, strict=True)]
    kept, count = [np.zeros((0, 3))], 0
    many = min(24, len(positions))
    for x in axes[0]:
        checkpoint()
        plane = np.stack(np.meshgrid([x], axes[1], axes[2], indexing="ij"), axis=-1).reshape(-1, 3)
        distance, which = (np.asarray(part).reshape(len(plane), -1) for part in tree.query(plane, k=many))
        weight = np.exp(-_DECAY * (distance - distance[:, :1]))
        away = (plane[:, None] - positions[which]) / np.maximum(distance, 1e-9)[:, :, None]
        left = np.sqrt((np.einsum("pk,pki->pi", weight, away) ** 2).sum(axis=1)) / weight.sum(axis=1)
        kept.append(plane[(left < _OPPOSED) & (distance[:, 0] < _WIDE)])
        count += len(kept[-1])
        if count > most:
            return kept[0]
    return np.concatenate(kept)
