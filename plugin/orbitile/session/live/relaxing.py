"""What forces do to the atoms of a live molecule: a step of an optimiser for each geometry that has converged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

from ...model.geometry import Geometry
from ...model.units import angstrom
from ...scf.optimisation import LARGEST_FORCE
from .order import Positions, Relaxation

Forces = NDArray[np.float64]

LARGEST_STEP = 0.2
"""How far an atom goes at once where it goes as hard as it can, in Angstrom: what ASE takes for its optimisers."""

SAME = 1e-4
"""Positions in bohr that differ by less are the same: viewers keep them in single precision."""

_RANK = 1e-6
"""Motions of the atoms by less than this, in bohr, are none: turning a linear molecule about its axis."""


class Relaxer:
    """The BFGS optimiser of ASE, which takes one step at a time along forces that are given.

    It has the atoms that are not held, and knows the curvature of the energy from the steps before. That is forgotten
    when other atoms are held than before, or those that it has are elsewhere than it has put them. Where the held ones
    have been moved to does not matter: what was learnt serves while somebody drags them.
    """

    def __init__(self) -> None:
        self._optimiser: Any = None
        self._held: tuple[int, ...] = ()

    def step(
        self, geometry: Geometry, forces: Forces, relaxation: Relaxation, *, is_free: bool = True
    ) -> tuple[float, Positions]:
        """Where forces take the atoms.

        Parameters
        ----------
        geometry
            Where they are.
        forces : ndarray, shape (n_atoms, 3)
            On the atoms, in hartree/bohr.
        relaxation
            Which atoms stay where they are, and how far the others may go.
        is_free
            Whether the energy stays the same where the whole moves or turns: not among charges.

        Returns
        -------
        tuple
            The largest force on an atom that is not held, in hartree/bohr, and positions in bohr, shape (n_atoms, 3):
            those of the geometry where no force is larger than `LARGEST_FORCE`.

        Raises
        ------
        OrbitileError
            When ASE is missing.
        """
        from ...scf.ase_calculator import atoms_of, bfgs, give_forces

        here, held = geometry.positions, list(relaxation.held)
        free = np.setdiff1d(np.arange(len(here)), held)
        if is_free:
            forces = inner_forces(forces, here, held)
        else:
            forces = forces.copy()
            forces[held] = 0
        largest = float(np.linalg.norm(forces, axis=1).max())
        if largest < LARGEST_FORCE:
            return largest, here
        if self._optimiser is None or self._held != relaxation.held or not self._has_put(here[free]):
            moving = Geometry(geometry.atomic_numbers[free], here[free])
            self._optimiser, self._held = bfgs(atoms_of(moving)), relaxation.held
        atoms = self._optimiser.atoms
        atoms.set_positions(here[free] / angstrom)
        give_forces(atoms, forces[free])
        self._optimiser.maxstep = LARGEST_STEP * relaxation.hardness
        self._optimiser.step()
        there = here.copy()
        there[free] = atoms.get_positions() * angstrom
        return largest, there

    def _has_put(self, positions: Positions) -> bool:
        put = self._optimiser.atoms.get_positions() * angstrom
        return bool(np.abs(put - positions).max() < SAME)


def inner_forces(forces: Forces, positions: Positions, held: Sequence[int]) -> Forces:
    """Forces without those on atoms that are held, and without what would move or turn the molecule as a whole.

    The energy does not change when all atoms move alike or turn about the same axis, so that forces add up to nothing
    along these motions. Those that are computed on points of a quadrature do by 1e-5 hartree/bohr, and a molecule that
    follows them would wander. Of the motions of the whole, those are removed that leave the held atoms in place.

    Parameters
    ----------
    forces : ndarray, shape (n_atoms, 3)
        In hartree/bohr.
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    held
        Atoms, from 0.
    """
    kept = forces.copy()
    kept[held] = 0
    arms = positions - positions.mean(axis=0)
    axes = np.eye(3)
    motions = np.array(
        [*(np.broadcast_to(axis, arms.shape) for axis in axes), *(np.cross(axis, arms) for axis in axes)]
    )
    if len(held):
        motions = np.tensordot(null_space(motions[:, held].reshape(6, -1).T).T, motions, 1)
        motions[:, held] = 0
    directions, sizes, _ = np.linalg.svd(motions.reshape(len(motions), kept.size).T, full_matrices=False)
    directions = directions[:, sizes > _RANK]
    return kept - (directions @ (directions.T @ kept.ravel())).reshape(kept.shape)
