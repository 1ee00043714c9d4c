"""A live molecule: its atoms are looked at again and again, and what is shown of it follows them.

The viewer calls `Live.tick` every few milliseconds, in the thread that it belongs to; nothing here waits. One geometry
is computed at a time, in a process of its own, and the newest is the next. Until its fields are there, those before are
shown moved along with the atoms, more transparent than they are; when the atoms are left alone, fields are sampled as
finely as they were asked for, and their volumes follow.
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
from ...workers import Worker, Workers
from ..computing import Computing
from ..host import Viewer
from ..shelf import Shelf
from ..source import OneFile
from .calculating import converged
from .following import Following, Show
from .order import Converged, Level, Order, Positions
from .path import LivePath
from .status import LiveStatus, Stage

TICK = 20
"""Milliseconds between two looks at where the atoms are."""

_REST = 0.25
"""Seconds after which atoms that have not moved are left alone."""

_TOO_LONG = 1.0
"""Seconds after which a geometry that is not the newest any more is given up, unless the last one took as long."""

_UNUSUAL = 4.0
"""Times the seconds of the last self-consistent field that another one may take, fields included."""

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
            text = f"moved along, converging; before: {text}" if stage == "converging" else text
        if stage == "failed" and self._failed is not None:
            text = f"{self._failed[1]}; what is shown is the last converged geometry"
        return LiveStatus(self.molecule, str(self.level.calculation), stage, text, self.path.energies)

    def _stage(self) -> Stage:
        if self._failed is not None and self._is_at(self._failed[0]):
            return "failed"
        if self.found is None:
            return "starting"
        return "converged" if self._is_at(self.found.positions) else "converging"

    def at_rest(self) -> bool:
        """Whether all there is to see is shown: of the geometry that is there, or of the last one where that fails."""
        stage = self._stage()
        if self._asked is not None or not self._following.is_drawn(self._positions, stage == "failed"):
            return False
        return stage == "failed" or (stage == "converged" and not self._following.wanted(True))

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
        positions = self._viewer.positions(self.molecule)
        if positions is None or len(positions) != len(self._numbers):
            raise OrbitileError(f"{self.molecule} was deleted, or has other atoms: it is no longer live")
        if np.abs(positions - self._positions).max() > _SAME:
            self._positions, self._since = positions, time.monotonic()
        self._take()
        self._ask()
        self._following.draw(self._positions, self._stage() == "failed")

    def _rests(self) -> bool:
        return time.monotonic() - self._since > _REST and not self._viewer.is_dragging()

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
            self.path.add(found, asked.rests)
            self._computing.wavefunctions.keep_one(OneFile.read(found.source), found.wavefunction)
            self._viewer.adopt(self.molecule, found.source)
        elif asked.rests:
            self.path.rest()
        self.found = found
        self._following.take(asked.surfaces, found, asked.rests)

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
        if stage == "failed" or (stage == "converged" and not wanted):
            return
        order = Order(
            self._key,
            self.level,
            self._numbers,
            self._positions,
            self.molecule,
            str(self.path.folder),
            tuple(self._following.request(name, rests) for name in wanted),
            after=None if self.found is None else replace(self.found, samples=()),
        )
        job = self._workers.submit(converged, order)
        self._asked = _Asked(order, tuple(wanted), rests, time.monotonic(), job)

    def _patience(self) -> float:
        """Seconds after which a geometry that is not the newest any more is given up: ever more, so that some come."""
        usual = 0.0 if self.found is None else _UNUSUAL * self.found.seconds
        return max(_TOO_LONG, usual) * 2.0**self._given_up

    def close(self) -> None:
        """End the process and the thread. The files of what was reached stay, since the molecule is one of them."""
        self._workers.shutdown(wait=False, cancel_futures=True)
        self._following.close()
