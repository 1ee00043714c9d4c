r"""Where the density is largest, and spheres about these places in which all paths of steepest ascent stay.

Where the gradient of the density points inwards all over a sphere, no path leaves it; where it does so on all smaller
spheres too, they all lead to its centre (the beta spheres of J. Rodriguez, A. M. Koester, P. W. Ayers, A. Santos-Valle,
A. Vela and G. Merino, J. Comput. Chem. 2009, 30, 1082). About a nucleus whose core is a potential the density of the
valence electrons has its maxima on a shell and none at the centre: there the spheres count from the shell outwards, and
what is inside belongs to the atom.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...model.volume import Volume
from ...model.wavefunction import Wavefunction
from ...watch import checkpoint
from .ascent import Gradient, Reals, Spheres
from .partition import maxima

_RADII = 0.04 * 1.18 ** np.arange(26)
"""Radii in bohr that are tried: up to 2.5."""

_APART = 0.85
"""Share of the distance to the next nucleus up to which."""

_INWARDS = 0.3
"""Least cosine between the gradient and the way to the centre."""

_DEGREE, _SAFE = 41, 0.9
"""Of the Lebedev rule whose directions are looked at: 590; share of the radius that is kept, for those in between."""

_CORE = 2.0
"""Radius in bohr by which the spheres of an atom have to begin."""

_STEPS, _CLOSE, _SMALL = 60, 0.05, 0.1
"""Steps towards a maximum, distance in bohr within which two are one, and radius of the sphere about one at least."""


@dataclass(frozen=True, eq=False)
class Attractors:
    """Maxima of the density.

    Attributes
    ----------
    spheres : Spheres
        About all atoms, ghosts included, with radius 0 where there is no maximum, then about the other maxima.
    n_atoms : int
    """

    spheres: Spheres
    n_atoms: int

    @property
    def without_maximum(self) -> NDArray[np.intp]:
        """Atoms that attract nothing."""
        return np.flatnonzero(self.spheres.radius[: self.n_atoms] <= 0)


def spheres_about_nuclei(wavefunction: Wavefunction, gradient: Gradient) -> Spheres:
    """The largest spheres about the nuclei out of which no path leads; ghosts and atoms without a maximum have none."""
    from scipy.integrate import lebedev_rule
    from scipy.spatial import KDTree

    places = wavefunction.positions
    radius = np.zeros(len(places))
    real = np.flatnonzero(~wavefunction.is_ghost)
    if not len(real):
        return Spheres(places, radius)
    directions = lebedev_rule(_DEGREE)[0].T
    nearest = KDTree(places[real]).query(places[real], k=2)[0][:, 1] if len(real) > 1 else np.full(1, np.inf)
    for atom, apart in zip(real, nearest, strict=True):
        checkpoint()
        radii = _RADII[_APART * apart > _RADII]
        points = places[atom] + (radii[:, None, None] * directions).reshape(-1, 3)
        slopes = gradient(points)[1].reshape(len(radii), len(directions), 3)
        inwards = -np.einsum("rdi,di->rd", slopes, directions)
        cosine = (inwards / np.maximum(np.linalg.norm(slopes, axis=2), 1e-300)).min(axis=1)
        good = cosine > _INWARDS
        if not good.any() or radii[good.argmax()] > _CORE:
            continue
        first = int(good.argmax())
        run = good[first:]
        last = first + (len(run) if run.all() else int((~run).argmax())) - 1
        radius[atom] = max(radii[first], _SAFE * radii[last])
    return Spheres(places, radius)


def with_other_maxima(about_nuclei: Spheres, density: Volume, least: float, gradient: Gradient) -> Attractors:
    """Attractors at the nuclei, and those that are elsewhere, as in the middle of the lithium molecule.

    Parameters
    ----------
    about_nuclei
        From `spheres_about_nuclei`.
    density
        On a lattice fine enough to show them.
    least
        Density in e bohr^-3 below which none is looked for.
    gradient
        Of the density.
    """
    candidates = density.lattice.origin + np.stack(
        np.unravel_index(maxima(density.values, least), density.lattice.shape), axis=1
    ) * np.asarray(density.lattice.spacings)
    candidates = candidates[about_nuclei.around(candidates) < 0]
    edge = float(density.lattice.spacings.max())
    found: list[Reals] = []
    for start in candidates:
        place = _climbed(start, gradient, edge, about_nuclei)
        if place is not None and all(np.linalg.norm(place - other) > _CLOSE for other in found):
            found.append(place)
    n_atoms = len(about_nuclei)
    if not found:
        return Attractors(about_nuclei, n_atoms)
    centre = np.concatenate([about_nuclei.centre, found])
    radius = np.concatenate([about_nuclei.radius, np.full(len(found), _SMALL)])
    return Attractors(Spheres(centre, radius), n_atoms)


def _climbed(start: Reals, gradient: Gradient, edge: float, spheres: Spheres) -> Reals | None:
    """The maximum that is found by Newton steps uphill from a point; None where there is none near, or a nucleus."""
    place = start.copy()
    for _ in range(_STEPS):
        checkpoint()
        slope, bends = _expanded(place, gradient)
        values, axes = np.linalg.eigh(bends)
        step = axes @ ((axes.T @ slope) / np.maximum(np.abs(values), 1e-8))
        length = float(np.linalg.norm(step))
        place = place + step * min(1.0, 0.1 / max(length, 1e-12))
        if np.linalg.norm(place - start) > 4 * edge + _CLOSE or spheres.around(place[None])[0] >= 0:
            return None
        if length < 1e-4:
            return place if values.max() < 0 else None
    return None


def _expanded(place: Reals, gradient: Gradient) -> tuple[Reals, Reals]:
    """Gradient, and second derivatives by its differences, at a point."""
    step = 0.02
    moves = np.concatenate([np.zeros((1, 3)), step * np.eye(3), -step * np.eye(3)])
    slopes = gradient(place + moves)[1]
    bends = (slopes[1:4] - slopes[4:]) / (2 * step)
    return slopes[0], (bends + bends.T) / 2
