"""A live molecule: its atoms are looked at again and again, and what is shown of it follows them.

The viewer calls `Live.tick` every few milliseconds, in the thread that it belongs to; nothing here waits. One geometry
is computed at a time, in a process of its own, and the newest is the next. Until its fields are there, those before are
shown moved along with the atoms, more transparent than they are; when the atoms are left alone, fields are sampled as
finely as they were asked for, and their volumes follow. Where it relaxes, the atoms that the user does not hold go one
step along the forces after each geometry, by the viewer, as if somebody moved them.
"""

from __future__ import annotations

import os
import time
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, replace
from secrets import token_hex

import numpy as np
from numpy.typing import NDArray

from ...errors import Cancelled, OrbitileError
from ...scf.forces import check_forces, require_ase
from ...scf.optimisation import force_in_ev
from ...workers import Worker, Workers
from ..computing import Computing
from ..host import Viewer
from ..shelf import Shelf
from ..source import OneFile
from .calculating import converged
from .following import Following, Show
from .order import Converged, Level, Order, Positions
from .path import LivePath, Reached
from .pulling import Pulling, is_relaxed
from .status import LiveStatus, Stage

TICK = 20
"""Milliseconds between two looks at where the atoms are."""

_REST = 0.25
"""Seconds after which atoms that have not moved are left alone."""

_TOO_LONG = 1.0
"""Seconds after which a geometry that is not the newest any more is given up, unless the last one took as long."""

_UNUSUAL = 4.0
"""Times the seconds of the last self-consistent field that another one may take, fields included."""

_HARDNESS = 0.5
"""How hard forces move atoms at first."""

_SAME = 1e-6
"""Positions in bohr that differ by less are the same."""


@dataclass(frozen=True, eq=False)
class _Asked:
    """A geometry that is being computed."""

    order: Order
    surfaces: tuple[str, ...]
    rests: bool
    begin: float
    job: Future[Converged]


class Live:
    """A live molecule.

    Parameters
    ----------
    viewer : Viewer
    shelf : Shelf
        What it shows.
    computing : Computing
        Where samples are kept for all else that is done with them.
    molecule : str
        Object of the viewer, of one geometry.
    atomic_numbers : ndarray of int, shape (n_atoms,)
    level : Level
    show : callable
        Shows a new surface, and gives its name.

    Attributes
    ----------
    level : Level
    path : LivePath
        The geometries that it came through.
    found : Converged or None
        The last converged geometry.

    Raises
    ------
    OrbitileError
        When the viewer does not say where atoms are.
    """

    def __init__(
        self,
        viewer: Viewer,
        shelf: Shelf,
        computing: Computing,
        molecule: str,
        atomic_numbers: NDArray[np.int64],
        level: Level,
        show: Show,
    ) -> None:
        positions = viewer.positions(molecule)
        if positions is None:
            raise OrbitileError("this viewer does not say where atoms are: nothing can follow them")
        self._viewer, self._computing, self._numbers = viewer, computing, atomic_numbers
        self.level, self.path = level, LivePath()
        self.found: Converged | None = None
        self._following = Following(viewer, shelf, computing, molecule, show)
        self._key = token_hex(8)
        self._workers = Workers([Worker("the live calculation", python=os.environ.get("ORBITILE_PYTHON"), nice=5)])
        self._positions, self._since = positions, time.monotonic()
        self._asked: _Asked | None = None
        self._failed: tuple[Positions, str] | None = None
        self._pulling: Pulling | None = None
        self._hardness = _HARDNESS
        self._given_up = 0

    # ---- what there is

    @property
    def molecule(self) -> str:
        """Object of the viewer."""
        return self._following.molecule

    @property
    def process_id(self) -> int | None:
        """Number of the process that computes, while it runs."""
        return self._workers.workers[0].process_id

    @property
    def status(self) -> LiveStatus:
        """What there is to say."""
        stage, found = self._stage(), self.found
        if found is None:
            text = "the first field is computed"
        else:
            text = f"{found.energy:.7f} hartree, {found.n_iterations} iterations in {found.seconds:.2f} s"
            if self._pulling is not None and found.largest_force is not None:
                relaxed = "relaxed, " if self._pulling.is_done(found) and is_relaxed(found) else ""
                text += f"; {relaxed}largest force {force_in_ev(found.largest_force)}"
            text = f"moved along, converging; before: {text}" if stage == "converging" else text
        if stage == "failed" and self._failed is not None:
            text = f"{self._failed[1]}; what is shown is the last converged geometry"
        return LiveStatus(
            self.molecule,
            str(self.level.calculation),
            stage,
            text,
            self.path.energies,
            relaxes=self._pulling is not None,
            hardness=self._hardness,
            can_undo=self.path.before(self._positions) is not None,
        )

    def _stage(self) -> Stage:
        if self._failed is not None and self._is_at(self._failed[0]):
            return "failed"
        if self.found is None:
            return "starting"
        return "converged" if self._is_at(self.found.positions) else "converging"

    def at_rest(self) -> bool:
        """Whether all there is to see is shown: of the geometry that is there, or of the last one where that fails."""
        stage = self._stage()
        if stage == "converged" and not self._is_relaxed():
            return False
        if self._asked is not None or not self._following.is_drawn(self._positions, stage == "failed"):
            return False
        return stage == "failed" or (stage == "converged" and not self._following.wanted(True))

    def _is_relaxed(self) -> bool:
        """Whether nothing is held, and forces leave the atoms where they are, or are not wanted."""
        return self._pulling is None or (self.found is not None and self._pulling.is_done(self.found))

    def _is_at(self, positions: Positions) -> bool:
        return bool(np.abs(self._positions - positions).max() < _SAME)

    # ---- a few milliseconds at a time

    def tick(self) -> None:
        """Look at where the atoms are and at what has come, show it, and ask for what is to come.

        Raises
        ------
        OrbitileError
            When the molecule has gone or has other atoms: it cannot be live any more.
        """
        self._look()
        if self._pulling is not None:
            self._pulling.look(self._positions, self._viewer.is_dragging())
        self._take()
        if self._stage() == "converged" and self._rests():
            self.path.rest()
        self._ask()
        self._following.draw(self._positions, self._stage() == "failed")

    def _look(self) -> None:
        positions = self._viewer.positions(self.molecule)
        if positions is None or len(positions) != len(self._numbers):
            raise OrbitileError(f"{self.molecule} was deleted, or has other atoms: it is no longer live")
        if np.abs(positions - self._positions).max() > _SAME:
            self._positions, self._since = positions, time.monotonic()

    def _rests(self) -> bool:
        is_still = time.monotonic() - self._since > _REST and not self._viewer.is_dragging()
        return is_still and self._is_relaxed()

    def _take(self) -> None:
        """What the process has computed."""
        asked = self._asked
        if asked is None or not asked.job.done():
            return
        self._asked, self._given_up = None, 0
        try:
            found = asked.job.result()
        except (Cancelled, CancelledError):
            return
        except OrbitileError as error:
            self._failed = asked.order.positions, str(error)
            return
        self._failed = None
        if self.found is None or self.found.source != found.source:
            self.path.add(found)
            self._computing.wavefunctions.keep_one(OneFile.read(found.source), found.wavefunction)
            self._viewer.adopt(self.molecule, found.source)
        self.found = found
        self._following.take(asked.surfaces, found, asked.rests)
        self._pull(asked.order, found)

    def _pull(self, order: Order, found: Converged) -> None:
        """Put the atoms where forces take them."""
        if self._pulling is None:
            return
        try:
            target = self._pulling.target(self._positions, order, found)
            if target is not None:
                self._viewer.move(self.molecule, target)
        except OrbitileError as error:
            self._pulling = None
            self._viewer.say(f"{self.molecule} does not relax any more: {error}")
            return
        self._look()

    def _ask(self) -> None:
        """Have the newest geometry computed, where it is not known; a longer calculation gives way to it."""
        asked = self._asked
        if asked is not None:
            if time.monotonic() - asked.begin > self._patience() and not self._is_at(asked.order.positions):
                asked.job.cancel()
                self._asked = None
                self._given_up += 1
            return
        rests, stage = self._rests(), self._stage()
        wanted = self._following.wanted(rests) if stage == "converged" else self._following.surfaces()
        relaxation = None
        if self._pulling is not None:
            relaxation = self._pulling.wanted(self.found.source if self.found and stage == "converged" else "")
        if stage == "failed" or (stage == "converged" and not wanted and relaxation is None):
            return
        order = Order(
            self._key,
            self.level,
            self._numbers,
            self._positions,
            self.molecule,
            str(self.path.folder),
            tuple(self._following.request(name, rests) for name in wanted),
            relaxation,
            after=None if self.found is None else replace(self.found, samples=()),
        )
        job = self._workers.submit(converged, order)
        self._asked = _Asked(order, tuple(wanted), rests, time.monotonic(), job)

    def _patience(self) -> float:
        """Seconds after which a geometry that is not the newest any more is given up: ever more, so that some come."""
        usual = 0.0 if self.found is None else _UNUSUAL * self.found.seconds
        return max(_TOO_LONG, usual) * 2.0**self._given_up

    # ---- what a user does

    def relax(self, hardness: float | None) -> None:
        """Have forces move the atoms that the user does not hold, to a minimum of the energy.

        Parameters
        ----------
        hardness
            From 0 to 1, see `Relaxation`; None to leave the atoms alone from now on.

        Raises
        ------
        OrbitileError
            When it is another number, forces of this calculation lack a part, ASE is missing, or the viewer cannot be
            told where atoms are.
        """
        if hardness is None:
            self._pulling = None
            return
        if not 0 <= hardness <= 1:
            raise OrbitileError(f"hardness: expected 0 to 1, got {hardness:g}")
        if self._pulling is None:
            check_forces(self.level.calculation)
            if not os.environ.get("ORBITILE_PYTHON"):  # another Python says itself what it lacks
                require_ase()
            self._look()
            self._viewer.move(self.molecule, self._positions)
            self._pulling = Pulling(self._positions, hardness)
        self._pulling.hardness = self._hardness = hardness

    def undo(self) -> Reached:
        """Put the atoms back to where they rested before, and leave them alone.

        Returns
        -------
        Reached
            Where they are then.

        Raises
        ------
        OrbitileError
            When there is nothing to go back to, or the viewer cannot be told where atoms are.
        """
        self._look()
        before = self.path.before(self._positions)
        if before is None:
            raise OrbitileError(f"{self.molecule}: there is no geometry to go back to")
        self._viewer.move(self.molecule, before.positions)
        self.path.go_back(before)
        self.relax(None)
        return before

    def close(self) -> None:
        """End the process and the thread. The last files stay as long as this process, since the molecule is one."""
        self._workers.shutdown(wait=False, cancel_futures=True)
        self.path.close()
        self._following.close()
