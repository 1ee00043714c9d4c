r"""Atoms in molecules: the basins of the density, and what is in them.

R. F. W. Bader's atoms (Atoms in Molecules: A Quantum Theory, Oxford 1990) are bounded by surfaces that the gradient of
the density does not cross. They are integrated as F. W. Biegler-Koenig, R. F. W. Bader and T.-H. Tang do (J. Comput.
Chem. 1982, 3, 317): along rays from the nucleus up to where they leave the basin, at the points of the rules of Lebedev
and Gauss, outside of a sphere that is whole in the basin; inside of it on spheres. Of each atom

.. math::  N(\Omega) = \int_\Omega \rho\, dr, \qquad q = Z - N, \qquad
    L(\Omega) = -\frac14 \int_\Omega \nabla^2\rho\, dr = -\frac14 \oint \nabla\rho \cdot n\, dS = 0

the last of which holds for each atom alone, and says how well its surface was found. Atoms are integrated one by
one, so that the sum of the electrons tells how well the basins fit together.

**Attractors** are where the density is largest, with spheres about them that no path of steepest ascent leaves. Where
the gradient of the density points inwards all over a sphere, no path leaves it; where it does so on all smaller
spheres too, they all lead to its centre (the beta spheres of J. Rodriguez, A. M. Koester, P. W. Ayers, A. Santos-Valle,
A. Vela and G. Merino, J. Comput. Chem. 2009, 30, 1082). About a nucleus whose core is a potential the density of the
valence electrons has its maxima on a shell and none at the centre: there the spheres count from the shell outwards, and
what is inside belongs to the atom.
"""

from __future__ import annotations

import numpy as np

from ...base.arrays import Reals
from ...base.caches import Derived
from ...base.errors import OrbitileError
from ...base.watch import checkpoint, stage
from ...evaluation.devices import device_session, first_device
from ...evaluation.lattices import compute
from ...model.cell import molecules_only
from ...model.volume import Volume
from ...model.wavefunction import Wavefunction
from .ascent import Gradient, Spheres, attractors_of, gradient_of_density
from .integration import AtomicBasins, directions_of, integrated, rays_of
from .partition import Partition, cells_of, lattice_about, maxima, partition

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


def with_other_maxima(about_nuclei: Spheres, density: Volume, least: float, gradient: Gradient) -> Spheres:
    """Spheres about the nuclei, then about maxima elsewhere, as in the middle of the lithium molecule.

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
    if not found:
        return about_nuclei
    centre = np.concatenate([about_nuclei.centre, found])
    radius = np.concatenate([about_nuclei.radius, np.full(len(found), _SMALL)])
    return Spheres(centre, radius)


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


DEGREES = {"quick": (29, 41), "normal": (59, 83), "fine": (83, 107)}
"""Degrees of the rules for directions of rays, of hydrogen and of others: 302, 590; 1202, 2354; 2354, 3890 of them."""

_HYDROGEN = 1

_LEAST, _SPACING = 1e-6, 0.2
"""Density in e bohr^-3 down to which basins are told apart; spacing of their lattice in bohr."""

_BASINS = Derived[AtomicBasins]("analyses")


def qtaim_basins(wavefunction: Wavefunction, accuracy: str = "normal", device: str | None = None) -> AtomicBasins:
    """Integrate the basins of the density of a molecule.

    Parameters
    ----------
    wavefunction
    accuracy
        quick, normal or fine: 590, 2354 or 3890 rays from each attractor, of hydrogen 302, 1202 or 2354.
    device
        As for `orbitile.evaluate`.

    Returns
    -------
    AtomicBasins
        Those of the atoms in their order, then those of other maxima. Kept with the wavefunction.

    Raises
    ------
    OrbitileError
        For another accuracy, or when nothing attracts electrons.
    """
    molecules_only(wavefunction, "basins", "those that cross the faces of the cell would be cut there")
    if accuracy not in DEGREES:
        raise OrbitileError(f"accuracy: expected {' or '.join(DEGREES)}, got {accuracy!r}")
    return _BASINS.of(wavefunction, accuracy, lambda: _integrated(wavefunction, accuracy, device))


def qtaim_charges(wavefunction: Wavefunction, device: str | None = None, accuracy: str = "normal") -> Reals:
    """QTAIM charges of the atoms in e: the charge that electrons see less the electrons of the basin; shape (n_atoms,).

    Where other maxima have basins too, the charges do not add up to that of the molecule. Parameters and errors as for
    `qtaim_basins`.
    """
    found = qtaim_basins(wavefunction, accuracy, device)
    return wavefunction.core_charges - found.of_atoms(found.population, wavefunction.n_atoms)


def _integrated(wavefunction: Wavefunction, accuracy: str, device: str | None) -> AtomicBasins:
    device = first_device(device)
    lattice = lattice_about(wavefunction, _LEAST, _SPACING)
    with stage(0.0, 0.1):
        density = compute(wavefunction, "density", lattice, device=device)
    with device_session(device, "single") as target:
        gradient = gradient_of_density(wavefunction, target)
        with stage(0.1, 0.2):
            spheres = with_other_maxima(spheres_about_nuclei(wavefunction, gradient), density, _LEAST, gradient)
            basins = np.flatnonzero(spheres.radius > 0).tolist()
            if not basins:
                raise OrbitileError("basins: the density has no maximum at any atom, so there are no basins")
            cells = cells_of(_shares(density, spheres, gradient), gradient, spheres)
        with stage(0.2, 0.6):
            light = np.isin(basins, np.flatnonzero(wavefunction.atomic_numbers == _HYDROGEN))
            rules = [directions_of(DEGREES[accuracy][0 if one else 1]) for one in light]
            rays = rays_of(basins, spheres, cells, gradient, rules)
        with stage(0.6, 1.0):
            return integrated(wavefunction, spheres, rays, gradient)


def _shares(density: Volume, spheres: Spheres, gradient: Gradient) -> Partition:
    """Shares of the basins on the lattice: spheres are whole, and other peaks are of the lattice alone."""
    points = density.lattice.points()
    sources = spheres.around(points).astype(np.int32)
    peaks = maxima(density.values, _LEAST)
    peaks = peaks[sources[peaks] < 0]
    sources[peaks] = attractors_of(points[peaks], gradient, spheres)
    return partition(density.values, density.lattice, _LEAST, sources)
