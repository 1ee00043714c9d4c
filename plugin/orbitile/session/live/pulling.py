"""Forces that move atoms in the viewer, beside a user who moves them too: what is his stays his."""

from __future__ import annotations

import time

import numpy as np

from ...errors import OrbitileError
from ...scf.optimisation import LARGEST_FORCE
from .order import Converged, Order, Positions, Relaxation
from .relaxing import SAME

_AFTER = 0.5
"""Seconds for which atoms are held when they are no longer moved."""

_STEPS = 500
"""Steps after the last that the user has done, after which there is no minimum to be found."""


class Pulling:
    """A live molecule whose atoms go where forces take them.

    An atom that is elsewhere than the forces have put it was moved by the user, and is held: as long as a button of the
    mouse is down, and for a moment after it was moved last.

    Parameters
    ----------
    positions : ndarray, shape (n_atoms, 3)
        Where the atoms are, in bohr.
    hardness : float
        See `Relaxation`.

    Attributes
    ----------
    hardness : float
    """

    def __init__(self, positions: Positions, hardness: float) -> None:
        self.hardness = hardness
        self._where = positions
        self._held = np.zeros(len(positions), bool)
        self._moved = 0.0
        self._n_steps = 0
        self._answered: tuple[str, Relaxation] | None = None

    def look(self, positions: Positions, is_dragging: bool) -> None:
        """Take note of where the atoms are, and whether a button of the mouse is down."""
        now = time.monotonic()
        moved = np.abs(positions - self._where).max(axis=1) > SAME
        self._where = np.where(moved[:, None], positions, self._where)
        self._held |= moved
        if moved.any() or is_dragging:
            self._moved = now
        elif now - self._moved > _AFTER:
            self._held[:] = False
        if self._held.any():
            self._n_steps = 0

    @property
    def holds(self) -> bool:
        """Whether the user holds atoms."""
        return bool(self._held.any())

    def wanted(self, source: str) -> Relaxation | None:
        """What to ask for.

        Parameters
        ----------
        source
            Of the converged wavefunction where the atoms are, empty where there is none.

        Returns
        -------
        Relaxation or None
            None when all atoms are held, and when the answer is known.
        """
        relaxation = Relaxation(self.hardness, tuple(np.flatnonzero(self._held).tolist()))
        return None if self._held.all() or self._answered == (source, relaxation) else relaxation

    def is_done(self, found: Converged) -> bool:
        """Whether nothing is held, and forces leave the atoms where they are."""
        return self.wanted(found.source) is None and not self.holds

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
        if isinstance(found.relaxed, OrbitileError):
            raise found.relaxed
        if order.relaxation is None or found.relaxed is None:
            return None
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


def is_relaxed(found: Converged) -> bool:
    """Whether forces on what is not held are small."""
    return found.largest_force is not None and found.largest_force < LARGEST_FORCE
