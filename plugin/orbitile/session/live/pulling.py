"""Forces that move atoms in the viewer, beside a user who moves them too: what is his stays his."""

from __future__ import annotations

import os
import time

import numpy as np

from ...base.errors import OrbitileError
from ...scf.calculation import Calculation, require_ase
from ...scf.optimisation import LARGEST_FORCE, force_in_ev
from ..host import Viewer
from .order import Converged, Order, Positions, Relaxation
from .relaxing import SAME

_AFTER = 0.5
"""Seconds for which atoms are held when they are no longer moved."""

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
