"""Lattices that hold the isosurfaces of fields."""

from __future__ import annotations

import math

import numpy as np

from ..base.errors import LatticeError
from ..fields import Field
from ..gaussians.kernels._tolerances import tolerances
from ..model.cell import cell_of
from ..model.lattice import QUALITIES, Lattice, spacing_for, spacing_of
from ..model.wavefunction import Wavefunction
from .requests import field_of

_CLOSE = 3 * QUALITIES["medium"]
"""Distance in bohr of a surface from an atom below which the spacing of a lattice follows it."""

_MOST_RESOLVING = 1 << 24
"""Points of a lattice up to which it does."""

_FAINTEST = tolerances(np.dtype(np.float64)).isovalue


def enclosing_lattice(
    wavefunction: Wavefunction,
    field: str | Field,
    isovalue: float,
    *,
    spacing: float | None = None,
    points: int | None = None,
    quality: str = "medium",
) -> Lattice:
    """A lattice that holds the whole isosurface of a field: outside it the field is smaller than the isovalue, proven.

    Of a periodic system it is the lattice of the cell.

    For the electrostatic potential, which falls too slowly for a bound, it is an estimate, and reaches 30 bohr at most;
    `is_cut` tells whether the surface is whole.

    Parameters
    ----------
    wavefunction, field
        As for `compute`.
    isovalue
        Positive, in atomic units.
    spacing
        In bohr.
    points
        Number of points along the longest edge, in place of a spacing.
    quality
        Where neither is given: `coarse`, `medium` or `fine`, 0.25, 0.15 or 0.075 Angstrom; less for a surface that is
        close to its atoms, see `resolving_spacing`. Fields whose isosurfaces are thin (the reduced density gradient) or
        end where the density falls (the ionisation energy) take down to a third of that, see `Field.fewest_points`;
        those of many atoms alone take more, see `Field.most_points`.
    """
    resolved = field_of(wavefunction, field)
    if not (math.isfinite(isovalue) and isovalue >= _FAINTEST):
        raise LatticeError(f"isovalue: expected a positive number of {_FAINTEST:g} or more, got {isovalue}")
    if (cell := cell_of(wavefunction)) is not None:
        if spacing is None and points is None:
            spacing = resolving_spacing(wavefunction, resolved, isovalue, quality)
            spacing = max(spacing, (cell.volume / _MOST_RESOLVING) ** (1 / 3))
        return Lattice.of_cell(cell, spacing, points=points)
    low, high = resolved.enclosing_box(isovalue)
    first, last = wavefunction.positions.min(axis=0), wavefunction.positions.max(axis=0)
    if resolved.is_local:
        first, last = low, high
    step = spacing
    if spacing is None and points is None:
        step = resolving_spacing(wavefunction, resolved, isovalue, quality)
        if step < spacing_of(quality) and np.all(low < high):
            # a surface close to a few atoms does not need a fine lattice about all the others
            first, last = low, high
            step = max(step, float(np.prod(high - low) / _MOST_RESOLVING) ** (1 / 3))
        if resolved.most_points:
            widest = float(np.prod(np.maximum(high, last) - np.minimum(low, first)) / resolved.most_points) ** (1 / 3)
            step = max(step, widest * spacing_of(quality) / spacing_of("medium"))
    # atoms stay inside, and one more point on each side closes the surface
    low, high = np.minimum(low, first), np.maximum(high, last)
    if points is not None:
        if points < 4:
            raise LatticeError(f"points along the longest edge: expected 4 or more, got {points}")
        step = spacing_for(low, high, points - 2)
    elif spacing is None and resolved.fewest_points:
        assert step is not None
        step = min(step, max(step / 3, float(np.prod(high - low) / resolved.fewest_points) ** (1 / 3)))
    assert step is not None
    return Lattice.box(low - step, high + step, step)


def resolving_spacing(wavefunction: Wavefunction, field: str | Field, isovalue: float, quality: str) -> float:
    """Spacing in bohr of a named quality, halved until it shows the surface of an orbital that is compact.

    As often as the surface is closer to an atom than three spacings of medium quality, 0.45 Angstrom: so cores are not
    passed over, and other orbitals have the spacing of the quality. Fields that are no orbitals have it too.

    Parameters
    ----------
    wavefunction, field
        As for `compute`.
    isovalue
        In atomic units.
    quality
        `coarse`, `medium` or `fine`.
    """
    step, resolved = spacing_of(quality), field_of(wavefunction, field)
    if resolved.spread is None:
        return step
    radius = resolved.spread.radius_at(isovalue)
    if not np.isfinite(radius):
        return step  # it has no such surface
    return float(step / 2 ** max(0, int(np.ceil(np.log2(_CLOSE / radius)))))


def fits(wavefunction: Wavefunction, field: str | Field, isovalue: float, lattice: Lattice) -> bool:
    """Whether a lattice along x, y and z is proven to hold the isosurface of a field, as `enclosing_lattice` would.

    False stands for "not known" too, as for lattices along other axes and for all fields but orbitals. Quicker by far
    than a new lattice.
    """
    resolved = field_of(wavefunction, field)
    if (cell := cell_of(wavefunction)) is not None:
        spanned = lattice.axes * np.array(lattice.shape)[:, None]
        return lattice.periodic and np.allclose(spanned, cell.vectors) and np.allclose(lattice.origin, cell.origin)
    if not np.array_equal(lattice.axes, np.diag(np.diag(lattice.axes))):
        return False
    step = np.diag(lattice.axes)
    low, high = lattice.origin + step, lattice.origin + (np.array(lattice.shape) - 2) * step
    inside = np.all(low <= wavefunction.positions) and np.all(wavefunction.positions <= high)
    return bool(inside) and resolved.is_enclosed(low, high, isovalue)
