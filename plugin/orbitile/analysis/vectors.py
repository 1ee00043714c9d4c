r"""Vectors in a plane or on an isosurface: the electric field, the gradient of any field, or an induced current.

The electric field is :math:`-\nabla V` of the electrostatic potential; gradients are central differences.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..base.watch import checkpoint
from ..evaluation.default_isovalue import default_isovalue
from ..evaluation.devices import exact_precision
from ..evaluation.points import evaluate
from ..evaluation.requests import field_of
from ..evaluation.surfaces import compute_surface
from ..fields import Field
from ..fields.currents import AMPERE, axis_of
from ..fields.electrostatic_potential import ElectrostaticPotential
from ..model.report import Arrows
from ..model.units import angstrom, electronvolt
from ..model.wavefunction import Wavefunction
from .currents import current_at
from .planes import plane_through

_STEP = 1e-3
"""Distance in bohr of the differences."""

_AROUND, _NUCLEUS = 4.0, 1.2
"""Arrows are within the first distance of an atom, seen across the plane, in bohr, and but for currents, which are
finite at nuclei, beyond the second of nuclei."""

VOLT_PER_ANGSTROM = electronvolt / angstrom
"""In atomic units, hartree/(e bohr)."""


def gradient_at(wavefunction: Wavefunction, field: str | Field, points: Reals, device: str | None = None) -> Reals:
    """Gradient of a field at points in bohr, in the unit of the field per bohr, shape (n, 3).

    Raises
    ------
    FieldError
        When there is no such field.
    """
    steps = _STEP * np.concatenate([np.eye(3), -np.eye(3)])
    places = (points + steps[:, None]).reshape(-1, 3)
    values = evaluate(wavefunction, field, places, device=device, precision=exact_precision(device))
    ahead, behind = np.asarray(values, np.float64).reshape(2, 3, -1)
    return np.asarray((ahead - behind).T / (2 * _STEP), np.float64)


def is_current(name: str) -> bool:
    """Whether a name stands for the vectors of a current, not for one of its components."""
    family, _, along = name.strip().lower().partition(":")
    return family == "current" and along in ("", "normal", "x", "y", "z")


def vectors_at(
    wavefunction: Wavefunction, name: str, points: Reals, device: str | None = None
) -> tuple[Reals, str, str]:
    """Vectors of a field at points in bohr.

    Parameters
    ----------
    wavefunction
    name
        `esp` for the electric field in V/Angstrom; `current`, or `current:z` for another direction of the magnetic
        field, in nA T^-1 bohr^-2; of any other field the gradient, in its unit per bohr.
    points : ndarray, shape (n, 3)
    device
        As for `orbitile.evaluate`.

    Returns
    -------
    vectors : ndarray, shape (n, 3)
    quantity, unit : str
        For people.

    Raises
    ------
    FieldError
        When there is no such field.
    """
    field = field_of(wavefunction, name)
    if is_current(name):
        along = name.strip().lower().partition(":")[2]
        current = current_at(wavefunction, axis_of(wavefunction, along or "normal"), device=device)
        return AMPERE * current(points), field.quantity, "nA T^-1 bohr^-2"
    slope = gradient_at(wavefunction, field, points, device)
    if isinstance(field, ElectrostaticPotential):
        return -slope / VOLT_PER_ANGSTROM, "electric field", "V/Angstrom"
    return slope, f"gradient of the {field.quantity}", f"{field.unit} / bohr".strip()


def plane_arrows(
    wavefunction: Wavefunction,
    name: str,
    atoms: Sequence[int],
    height: float,
    spacing: float,
    device: str | None = None,
    across: Reals | None = None,
) -> tuple[Arrows, str, str]:
    """Vectors of a field in a plane.

    Parameters
    ----------
    wavefunction, name, device
        As for `vectors_at`.
    atoms
        Three or more that the plane lies closest to; none for all.
    height, spacing
        Of the plane above these atoms, and of the arrows, in bohr.
    across : ndarray, shape (3,), optional
        A unit vector that the plane is perpendicular to, in place of that which lies closest to the atoms.

    Returns
    -------
    arrows : Arrows
        Not too close to nuclei, where vectors would outdo all others.
    quantity, unit : str
        For people.

    Raises
    ------
    OrbitileError
        When the atoms make no plane, or no arrow has room.
    FieldError
        When there is no such field.
    """
    plane = plane_through(wavefunction, atoms, spacing=spacing, margin=_AROUND, height=height, across=across)
    frame = np.array([plane.right, plane.up])
    away = plane.points[:, None] - wavefunction.positions[wavefunction.atomic_numbers > 0]
    is_near = np.linalg.norm(away @ frame.T, axis=2).min(axis=1) < _AROUND
    is_free = is_current(name) | (np.linalg.norm(away, axis=2).min(axis=1) > _NUCLEUS)
    places = plane.points[is_near & is_free]
    if not len(places):
        raise OrbitileError(f"spacing of arrows: expected less than the molecule is wide, got {spacing / angstrom:g}")
    return _arrows(wavefunction, name, places, spacing, device)


def surface_arrows(
    wavefunction: Wavefunction,
    name: str,
    on: str,
    isovalue: float | None,
    spacing: float,
    device: str | None = None,
) -> tuple[Arrows, str, str]:
    """Vectors of a field on an isosurface.

    Parameters
    ----------
    wavefunction, name, device
        As for `vectors_at`.
    on
        Name of the field that the isosurface is of.
    isovalue
        In its unit; None for the one that shows a coloured surface of it well, 0.001 for the density.
    spacing
        Distance of neighbouring arrows in bohr, at least.

    Returns
    -------
    arrows : Arrows
        On vertices of the isosurface, evenly spread.
    quantity, unit : str
        For people.

    Raises
    ------
    IsovalueError
        When the field reaches the isovalue nowhere.
    FieldError
        When there is no such field.
    """
    surface_of = field_of(wavefunction, on)
    if isovalue is None:
        isovalue = default_isovalue(wavefunction, surface_of, coloured=True, device=device)
    vertices = compute_surface(wavefunction, surface_of, isovalue, device=device).vertices.astype(np.float64)
    return _arrows(wavefunction, name, vertices[_apart(vertices, spacing)], spacing, device)


def _apart(points: Reals, distance: float) -> NDArray[np.intp]:
    """Some of the points, of which no two are closer than a distance, and all others are near one of them."""
    from scipy.spatial import cKDTree

    tree, free, chosen = cKDTree(points), np.ones(len(points), bool), []
    for n in range(len(points)):
        if free[n]:
            checkpoint()
            chosen.append(n)
            free[tree.query_ball_point(points[n], distance)] = False
    return np.array(chosen, np.intp)


def _arrows(
    wavefunction: Wavefunction, name: str, places: Reals, spacing: float, device: str | None
) -> tuple[Arrows, str, str]:
    vectors, quantity, unit = vectors_at(wavefunction, name, places, device)
    return Arrows(name.split(":")[0], places, vectors, 0.95 * spacing), quantity, unit
