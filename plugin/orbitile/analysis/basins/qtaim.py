r"""Atoms in molecules: the basins of the density, and what is in them.

R. F. W. Bader's atoms (Atoms in Molecules: A Quantum Theory, Oxford 1990) are bounded by surfaces that the gradient of
the density does not cross. They are integrated as F. W. Biegler-Koenig, R. F. W. Bader and T.-H. Tang do (J. Comput.
Chem. 1982, 3, 317): along rays from the nucleus up to where they leave the basin, at the points of the rules of Lebedev
and Gauss, outside of a sphere that is whole in the basin; inside of it on spheres. Of each atom

.. math::  N(\Omega) = \int_\Omega \rho\, dr, \qquad q = Z - N, \qquad
    L(\Omega) = -\frac14 \int_\Omega \nabla^2\rho\, dr = -\frac14 \oint \nabla\rho \cdot n\, dS = 0

the last of which holds for each atom alone, and says how well its surface was found. Atoms are integrated one by
one, so that the sum of the electrons tells how well the basins fit together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import OrbitileError
from ...model.cell import molecules_only
from ...model.derived import Derived
from ...watch import stage
from .ascent import Gradient, Reals, attractors_of, gradient_of_density
from .attractors import Attractors, spheres_about_nuclei, with_other_maxima
from .cells import cells_of
from .integration import AtomicBasins, directions_of, integrated
from .partition import Partition, lattice_about, maxima, partition
from .rays import rays_of

if TYPE_CHECKING:
    from ...model.volume import Volume
    from ...model.wavefunction import Wavefunction

DEGREES = {"quick": (29, 41), "normal": (59, 83), "fine": (83, 107)}
"""Degrees of the rules for directions of rays, of hydrogen and of others: 302, 590; 1202, 2354; 2354, 3890 of them."""

_HYDROGEN = 1

_LEAST, _SPACING = 1e-6, 0.2
"""Density in e bohr^-3 down to which basins are told apart; spacing of their lattice in bohr."""

_BASINS = Derived[AtomicBasins](most=2)


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


def qtaim_errors(wavefunction: Wavefunction, device: str | None = None, accuracy: str = "normal") -> Reals:
    """What QTAIM charges may be off by in e, see `AtomicBasins`; shape (n_atoms,)."""
    found = qtaim_basins(wavefunction, accuracy, device)
    return found.of_atoms(found.error, wavefunction.n_atoms)


def qtaim_charges(wavefunction: Wavefunction, device: str | None = None, accuracy: str = "normal") -> Reals:
    """QTAIM charges of the atoms in e: the charge that electrons see less the electrons of the basin; shape (n_atoms,).

    Where other maxima have basins too, the charges do not add up to that of the molecule. Parameters and errors as for
    `qtaim_basins`.
    """
    found = qtaim_basins(wavefunction, accuracy, device)
    return wavefunction.core_charges - found.of_atoms(found.population, wavefunction.n_atoms)


def _integrated(wavefunction: Wavefunction, accuracy: str, device: str | None) -> AtomicBasins:
    from ...evaluation.devices import device_session, first_device
    from ...evaluation.lattices import compute

    device = first_device(device)
    lattice = lattice_about(wavefunction, _LEAST, _SPACING)
    with stage(0.0, 0.1):
        density = compute(wavefunction, "density", lattice, device=device)
    with device_session(device, "single") as target:
        gradient = gradient_of_density(wavefunction, target)
        with stage(0.1, 0.2):
            found = with_other_maxima(spheres_about_nuclei(wavefunction, gradient), density, _LEAST, gradient)
            basins = np.flatnonzero(found.spheres.radius > 0).tolist()
            if not basins:
                raise OrbitileError("basins: the density has no maximum at any atom, so there are no basins")
            cells = cells_of(_shares(density, found, gradient), gradient, found.spheres)
        with stage(0.2, 0.6):
            light = np.isin(basins, np.flatnonzero(wavefunction.atomic_numbers == _HYDROGEN))
            rules = [directions_of(DEGREES[accuracy][0 if one else 1]) for one in light]
            rays = rays_of(basins, found.spheres, cells, gradient, rules)
        with stage(0.6, 1.0):
            return integrated(wavefunction, found.spheres, rays, gradient)


def _shares(density: Volume, found: Attractors, gradient: Gradient) -> Partition:
    """Shares of the basins on the lattice: spheres are whole, and other peaks are of the lattice alone."""
    points = density.lattice.points()
    sources = found.spheres.around(points).astype(np.int32)
    peaks = maxima(density.values, _LEAST)
    peaks = peaks[sources[peaks] < 0]
    sources[peaks] = attractors_of(points[peaks], gradient, found.spheres)
    return partition(density.values, density.lattice, _LEAST, sources)
