"""What forces do to the atoms of a live molecule: a step of an optimiser for each geometry that has converged."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import null_space

from ...base.errors import OrbitileError
from ...model.geometry import Geometry
from ...model.units import angstrom
from ...scf.calculation import Calculation, require_ase
from ...scf.optimisation import LARGEST_FORCE, force_in_ev
from ..host import Viewer
from .order import Converged, Order, Positions, Relaxation

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

    def step(self, geometry: Geometry, forces: Forces, relaxation: Relaxation) -> tuple[float, Positions]:
        """Where forces take the atoms.

        Parameters
        ----------
        geometry
            Where they are.
        forces : ndarray, shape (n_atoms, 3)
            On the atoms, in hartree/bohr.
        relaxation
            Which atoms stay where they are, and how far the others may go.

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
        forces = inner_forces(forces, here, held)
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


_AFTER = 0.5
"""Time in seconds for which atoms are held when they are no longer moved."""

_STEPS = 500
"""Steps after the last that the user has done, after which there is no minimum to be found."""


class Pulling:
    """Forces that move the atoms of a live molecule, where they are wanted to.

    An atom that is elsewhere than the forces have put it was moved by the user, and is held: as long as a button of the
    mouse is down, and for a moment after it was moved last.

    Parameters
    ----------
    viewer : Viewer

    Attributes
    ----------
    is_on : bool
        Whether they do.
    hardness : float
        See `Relaxation`.
    """

    def __init__(self, viewer: Viewer) -> None:
        self.is_on, self.hardness = False, 0.5
        self._viewer = viewer

    def begin(self, molecule: str, positions: Positions, calculation: Calculation, hardness: float) -> None:
        """Move the atoms from now on, or go on with another hardness.

        Raises
        ------
        OrbitileError
            When hardness is another number, ASE is missing, or the viewer cannot be told where atoms are.
        """
        if not 0 <= hardness <= 1:
            raise OrbitileError(f"hardness: expected 0 to 1, got {hardness:g}")
        if not self.is_on:
            if not os.environ.get("ORBITILE_PYTHON"):  # another Python says itself what it lacks
                require_ase()
            self._viewer.move(molecule, positions)
            self._where = positions
            self._held = np.zeros(len(positions), bool)
            self._moved = 0.0
            self._n_steps = 0
            self._answered: tuple[str, Relaxation] | None = None
        self.is_on, self.hardness = True, hardness

    def end(self) -> None:
        """Leave the atoms where they are."""
        self.is_on = False

    def look(self, positions: Positions) -> None:
        """Take note of where the atoms are, and of what the user holds."""
        if not self.is_on:
            return
        now = time.monotonic()
        moved = np.abs(positions - self._where).max(axis=1) > SAME
        self._where = np.where(moved[:, None], positions, self._where)
        self._held |= moved
        if moved.any() or self._viewer.is_dragging():
            self._moved = now
        elif now - self._moved > _AFTER:
            self._held[:] = False
        if self._held.any():
            self._n_steps = 0

    def wanted(self, source: str) -> Relaxation | None:
        """What to ask for.

        Parameters
        ----------
        source
            Of the converged wavefunction where the atoms are, empty where there is none.

        Returns
        -------
        Relaxation or None
            None when no forces are wanted, all atoms are held, and when the answer is known.
        """
        if not self.is_on:
            return None
        relaxation = Relaxation(self.hardness, tuple(np.flatnonzero(self._held).tolist()))
        return None if self._held.all() or self._answered == (source, relaxation) else relaxation

    def is_done(self, found: Converged | None) -> bool:
        """Whether nothing is held, and forces leave the atoms at a geometry where they are, or are not wanted."""
        return not self.is_on or not (found is None or self.wanted(found.source) or self._held.any())

    def text(self, found: Converged | None) -> str:
        """What there is to say of a geometry, to be added to other things; empty for nothing."""
        if not self.is_on or found is None or found.largest_force is None:
            return ""
        is_relaxed = self.is_done(found) and found.largest_force < LARGEST_FORCE
        return f"; {'relaxed, ' if is_relaxed else ''}largest force {force_in_ev(found.largest_force)}"

    def pull(self, molecule: str, positions: Positions, order: Order, found: Converged) -> bool:
        """Move atoms in the viewer to where an answer takes them, see `target`; says whether there are such.

        What is in the way is told the user, and ends this.
        """
        try:
            target = self.target(positions, order, found)
            if target is not None:
                self._viewer.move(molecule, target)
        except OrbitileError as error:
            self.end()
            self._viewer.say(f"{molecule} does not relax any more: {error}")
            return False
        return target is not None

    def target(self, positions: Positions, order: Order, found: Converged) -> Positions | None:
        """Where to put the atoms, which are noted to be there then.

        Parameters
        ----------
        positions
            Where they are, as it was looked at last.
        order, found
            What was asked for, and the answer.

        Returns
        -------
        ndarray or None
            Atoms that the user holds, or has moved since the order, are where they are. None where none is to be moved.

        Raises
        ------
        OrbitileError
            When there is no answer, or there were too many.
        """
        if not self.is_on or order.relaxation is None or found.relaxed is None:
            return None
        if isinstance(found.relaxed, OrbitileError):
            raise found.relaxed
        self._answered = found.source, order.relaxation
        free = ~self._held & (np.abs(positions - order.positions).max(axis=1) < SAME)
        target = np.where(free[:, None], found.relaxed, positions)
        if np.array_equal(target, positions):
            return None
        self._n_steps += 1
        if self._n_steps > _STEPS:
            raise OrbitileError(f"no minimum after {_STEPS} steps")
        self._where = target
        return target
