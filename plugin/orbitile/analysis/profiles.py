"""A field along a line, and how high above a line it has a value: line cuts of a tunnelling microscope."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..fields.currents import normal
from ..model.units import angstrom
from ..model.wavefunction import Wavefunction
from .planes import Plane, slice_field, topograph


@dataclass(frozen=True, eq=False)
class Profile:
    """Values along a line.

    Attributes
    ----------
    distances : ndarray, shape (n,)
        From the first atom, along the line, in bohr.
    values : ndarray, shape (n,)
    quantity, unit : str
        For people.
    points : ndarray, shape (n, 3)
        In bohr; at the heights, where these are the values.
    """

    distances: Reals
    values: Reals
    quantity: str
    unit: str
    points: Reals


def profile(
    wavefunction: Wavefunction,
    field: str,
    atoms: Sequence[int],
    *,
    beyond: float = 2.0 * angstrom,
    height: float = 0.0,
    n_points: int = 201,
    isovalue: float | None = None,
    device: str | None = None,
) -> Profile:
    """A field along the line through two atoms, or the heights at which it has a value.

    Parameters
    ----------
    wavefunction, field
        As for `orbitile.evaluate`; `stm:-2` for a microscope's line cut.
    atoms
        Two, counted from 0.
    beyond
        How far the line goes on beyond each of them, in bohr.
    height
        Of the line above the molecule's plane through the atoms, in bohr.
    n_points
        Two or more.
    isovalue
        Where it is stated, the values are the heights in Angstrom above the line at which the field has this value,
        seen from above: a cut at constant current.
    device
        As for `orbitile.evaluate`.

    Raises
    ------
    OrbitileError
        When the atoms are not two that are apart; otherwise as for `orbitile.analysis.planes.topograph`.
    """
    if len(atoms) != 2 or not all(0 <= atom < wavefunction.n_atoms for atom in atoms) or n_points < 2:
        raise OrbitileError(
            f"profile: expected two atoms from 1 to {wavefunction.n_atoms} and two points or more, got atoms "
            f"{[atom + 1 for atom in atoms]} and {n_points} points"
        )
    first, last = wavefunction.positions[list(atoms)]
    length = float(np.linalg.norm(last - first))
    if not length > 0:
        raise OrbitileError("profile: expected two atoms that are apart, got two at one place")
    along = (last - first) / length
    up = _across(normal(wavefunction), along)
    spacing = (length + 2 * beyond) / (n_points - 1)
    # the normal of the plane, right x up, is what heights are along
    line = Plane(first - beyond * along + height * up, along, np.cross(up, along), spacing, (1, n_points))
    distances = np.asarray(spacing * np.arange(n_points) - beyond, np.float64)
    if isovalue is None:
        found, points = slice_field(wavefunction, field, line, device=device, precision="double"), line.points
        return Profile(distances, np.asarray(found.values[0], np.float64), found.quantity, found.unit, points)
    found = topograph(wavefunction, field, line, isovalue, device=device)
    heights = np.asarray(found.values[0], np.float64)
    points = line.points + heights[:, None] * angstrom * up
    return Profile(distances, heights, found.quantity, found.unit, points)


def _across(direction: Reals, along: Reals) -> Reals:
    """The part of a direction across a line, or any direction across it where there is little, of unit length."""
    for wanted in (direction, *np.eye(3)):
        across = wanted - along * (along @ wanted)
        size = float(np.linalg.norm(across))
        if size > 0.1:
            break
    return np.asarray(across / size, np.float64)


def extrema(values: Reals) -> list[tuple[str, int]]:
    """Minima and maxima inside a row of values, each with its place."""
    rises = np.sign(np.diff(values))
    places = np.flatnonzero(rises[:-1] * rises[1:] < 0) + 1
    return [("maximum" if rises[place] < 0 else "minimum", int(place)) for place in places]
