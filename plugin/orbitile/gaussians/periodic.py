r"""Gaussians of periodic systems: those whose images reach into the cell, as if they were of a molecule.

At the Gamma point an orbital repeats with the cell, and so do its coefficients. Its value in the cell is the sum over
all images of the basis functions,

.. math::  \psi(r) = \sum_T \sum_\mu c_\mu \phi_\mu(r - T)

where images share the coefficient of the function that they are images of. So the images that matter stand in the same
lists as the functions themselves, with the same rows of the matrices that take orbital coefficients to theirs, and no
kernel has to know of cells: within the cell the sum over the list is the periodic orbital. What lies outside is moved
into the cell before it is evaluated (`orbitile.evaluation.slabs`).

The images of a Gaussian that are left out are those that add least: all that is left out together changes an orbital by
less than `TOLERANCE` anywhere in the cell.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..base.arrays import Indices, Reals
from ..base.errors import OrbitileError
from ..base.watch import checkpoint
from ..model.cell import Cell
from .expansion import GaussianExpansion, radial_bounds, reach

TOLERANCE = 1e-11
"""Bound, in bohr^-3/2, on what all images that are left out add up to in an orbital."""

_NOT_SEEN = 1e-6
"""Images that are smaller than this part of the tolerance are not even looked at."""

_MOST = 1 << 23
"""Images of Gaussians, at most: a gigabyte or two with their polynomials."""

_STEP = 1.3
"""Ratio of the reaches of Gaussians whose images are looked for together."""


def images_of(expansion: GaussianExpansion, cell: Cell, tolerance: float) -> tuple[Indices, Reals]:
    """The images of Gaussians that matter in a cell.

    Parameters
    ----------
    expansion
        The Gaussians; where several sums have them, with the largest magnitudes of the terms.
    cell
        Where they are to be evaluated.
    tolerance
        Bound on what those that are left out add up to at any point of the cell.

    Returns
    -------
    ndarray of int, shape (n,)
        Which Gaussians they are images of, ascending.
    ndarray, shape (n, 3)
        Their centres in bohr.

    Raises
    ------
    OrbitileError
        When they are too many.
    """
    bounds, radius = radial_bounds(expansion), reach(expansion, _NOT_SEEN * tolerance)
    lengths = np.linalg.norm(cell.vectors, axis=1)
    expected = np.prod(lengths + 2 * radius[:, None], axis=1).sum() / np.prod(lengths)
    if not expected <= _MOST:
        raise OrbitileError(
            f"cell of {cell.volume:.3g} bohr^3: some {expected:.1e} images of Gaussians reach into it, expected "
            f"{_MOST:.0e} at most: the cell is too small for functions that are as diffuse"
        )
    base = cell.wrapped(expansion.centre)
    orders = np.arange(bounds.shape[1])
    flattest = np.sqrt(expansion.degree / (2 * expansion.exponent))
    found: list[tuple[Indices, Reals, Reals]] = []
    some = np.flatnonzero(radius > 0)
    class_of = np.ceil(np.log(np.maximum(radius[some], 0.1)) / np.log(_STEP)).astype(np.int64)
    for class_ in np.unique(class_of).tolist():
        mine = some[class_of == class_]
        for shift in cell.images_within(float(radius[mine].max())):
            checkpoint()
            centre = base[mine] + shift
            away = cell.distances(centre)
            near = np.flatnonzero(away <= radius[mine])
            which = mine[near]
            distance = np.maximum(away[near], flattest[which])
            with np.errstate(under="ignore"):
                value = (bounds[which] * distance[:, None] ** orders).sum(axis=1)
                value *= np.exp(-expansion.exponent[which] * distance**2)
            found.append((which, centre[near], value))
    which, centre, value = (np.concatenate(column) for column in zip(*found, strict=True))
    least = np.argsort(value)
    left_out = int(np.searchsorted(np.cumsum(value[least]), tolerance))
    kept = np.sort(least[left_out:])
    kept = kept[np.argsort(which[kept], kind="stable")]
    return which[kept], centre[kept]


def unfolded(expansion: GaussianExpansion, cell: Cell | None, tolerance: float) -> GaussianExpansion:
    """A sum of Gaussians with their images that matter in a cell; as it is without a cell.

    Raises
    ------
    OrbitileError
        When the images are too many.
    """
    if cell is None:
        return expansion
    which, centre = images_of(expansion, cell, tolerance)
    return replace(expansion.chosen(which), centre=centre)
