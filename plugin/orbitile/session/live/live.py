"""A live molecule: its atoms are looked at again and again, and what is shown of it follows them.

The viewer calls `Live.tick` every few milliseconds, in the thread that it belongs to; nothing here waits. One geometry
is computed at a time, in a process of its own, and the newest is the next. Until its fields are there, those before are
shown moved along with the atoms, more transparent than they are; when the atoms are left alone, fields are sampled as
finely as they were asked for, and their volumes follow. Where it relaxes, the atoms that the user does not hold go one
step along the forces after each geometry, by the viewer, as if somebody moved them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from secrets import token_hex

import numpy as np
from numpy.typing import NDArray

from ...base.errors import Cancelled, OrbitileError
from ...model.wavefunction import Wavefunction
from ...pictures.request import Request
from ...scf.calculation import NotConverged
from ...workers import WorkerEnded
from ..computing import Computing
from ..host import Viewer
from ..shelf import Shelf
from ..shown import Shown
from ..source import OneFile
from .asking import Asking
from .following import Following, Show
from .order import Converged, Level, Order, Positions, Relaxation
from .path import LivePath, Reached
from .pulling import Pulling
from .scan import Ahead, RunningScan, Scan, scan_of
from .scanning import Scanning
from .status import LiveStatus, Stage, text_of

TICK = 20
"""Milliseconds between two looks at where the atoms are."""

_REST = 0.25
"""Seconds after which atoms that have not moved are left alone."""

_COMPARED = 0.5
"""Seconds between two looks at which elements atoms are that do not move."""

_SAME = 1e-6
"""Positions in bohr that differ by less are the same."""


@dataclass(frozen=True, eq=False)
class Origin:
    """What a molecule was before it was live.

    Attributes
    ----------
    source : str
        Where its wavefunction is.
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    shown : dict of str to Shown
        Its surfaces, by name.
    wavefunction : Wavefunction or None
        None where there is none, as for a volume.
    """

    source: str
    positions: Positions
    shown: Mapping[str, Shown]
    wavefunction: Wavefunction | None = None


class AtomsChanged(OrbitileError):
    """A live molecule has other atoms than it had: it has to begin anew."""


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
    positions : ndarray, shape (n_atoms, 3)
        Where the atoms are, in bohr.
    before : Live, optional
        Another one, which ends, and whose process this one gets: it takes seconds to start.
    origin : Origin, optional
        What it was before, where it came from a file.

    Attributes
    ----------
    level : Level
    path : LivePath
        The geometries that it came through.
    found : Converged or None
        The last converged geometry.
    following : Following
        Its surfaces.
    origin : Origin or None
        What it is again when it is live no longer.
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
        positions: Positions,
        before: Live | None = None,
        origin: Origin | None = None,
    ) -> None:
        self.origin = origin
        self._viewer, self._computing, self._numbers = viewer, computing, atomic_numbers
        self.level, self.path = level, LivePath()
        self.found: Converged | None = None
        self.following = Following(viewer, shelf, computing, molecule, show)
        self._key = token_hex(8)
        self._asking = Asking() if before is None else before.release()
        self._positions, self._since = positions, time.monotonic()
        self._compared = 0.0
        self._failed: tuple[Positions, str] | None = None
        self._has_ended = False
        self._scanning = Scanning(self.path, computing.samples)
        self._pulling = Pulling(viewer)

    # ---- what there is

    @property
    def molecule(self) -> str:
        """Object of the viewer."""
        return self.following.molecule

    @property
    def scan(self) -> RunningScan | None:
        """What is computed ahead."""
        return self._scanning.scan

    @property
    def process_id(self) -> int | None:
        """Number of the process that computes, while it runs."""
        return self._asking.process_id

    @property
    def status(self) -> LiveStatus:
        """What there is to say."""
        stage, found = self._stage(), self.found
        forces = "" if found is None else self._pulling.text(found)
        scan = None if self.scan is None else self.scan.status(self._positions)
        return LiveStatus(
            self.molecule,
            str(self.level.calculation),
            stage,
            text_of(stage, found, forces, "" if self._failed is None else self._failed[1], scan),
            self.path.energies,
            self._pulling.is_on,
            self._pulling.hardness,
            self.path.before(self._positions) is not None,
            scan,
        )

    def _stage(self) -> Stage:
        if self._failed is not None and self._is_at(self._failed[0]):
            return "failed"
        if self.found is None:
            return "starting"
        return "converged" if self._is_at(self.found.positions) and not self.found.is_rough else "converging"

    def at_rest(self) -> bool:
        """Whether all there is to see is shown: of the geometry that is there, or of the last one where that fails."""
        stage = self._stage()
        if self._asking.asked is not None and not self._asking.asked.is_ahead:
            return False
        if self._is_to_be_compared() or not self.following.is_drawn(self._positions, stage == "failed"):
            return False
        is_done = stage == "converged" and self._pulling.is_done(self.found)
        return stage == "failed" or (is_done and not self.following.wanted(True))

    def _is_to_be_compared(self) -> bool:
        """Whether the state that is there may be an excited one."""
        return self._stage() == "converged" and self.found is not None and not self.found.is_compared

    def _is_at(self, positions: Positions) -> bool:
        return bool(np.abs(self._positions - positions).max() < _SAME)

    # ---- scans

    def begin_scan(
        self,
        atoms: tuple[int, ...],
        first: float | None = None,
        last: float | None = None,
        n_values: int | None = None,
    ) -> Scan:
        """Have a distance, an angle or a dihedral computed ahead, about where the atoms are; arguments as of `scan_of`.

        Forces do not move the atoms any more.

        Raises
        ------
        OrbitileError
            As `scan_of` does.
        """
        self._look()
        scan = scan_of(self._numbers, self._positions, atoms, first, last, n_values, self._viewer.as_held)
        self.relax(None)
        self._scanning.begin(RunningScan(scan, self._positions))
        return scan

    def end_scan(self) -> None:
        """Forget the scan; the atoms stay where they are."""
        self._scanning.begin(None)

    def next_of_scan(self) -> Ahead | None:
        """What of a scan is to be computed next, where there is a first field; None for nothing."""
        return None if self.found is None else self._scanning.next(self._positions, self.following.requests())

    def scan_to(self, index: int) -> None:
        """Put the atoms to a geometry of the scan, from 0, and leave them alone.

        Raises
        ------
        OrbitileError
            When nothing is scanned, there is no such geometry, or the viewer cannot be told where atoms are.
        """
        if self.scan is None:
            raise OrbitileError("nothing is scanned: orb_scan begins that")
        self._viewer.move(self.molecule, self.scan.go_to(index))
        self._pulling.end()

    # ---- forces, and back

    def relax(self, hardness: float | None) -> None:
        """Have forces move the atoms that the user does not hold, this hard, or leave all of them alone for None.

        Raises
        ------
        OrbitileError
            As `Pulling.begin` does.
        """
        self._look()
        if hardness is None:
            self._pulling.end()
        else:
            self._pulling.begin(self.molecule, self._positions, self.level.calculation, hardness)

    def undo(self) -> Reached:
        """Put the atoms back to where they rested before, which is returned, and leave them alone.

        Raises
        ------
        OrbitileError
            When there is nothing to go back to, or the viewer cannot be told where atoms are.
        """
        self._look()
        if (before := self.path.before(self._positions)) is None:
            raise OrbitileError(f"{self.molecule}: there is no geometry to go back to")
        self._viewer.move(self.molecule, before.positions)
        self.path.go_back(before)
        self._pulling.end()
        return before

    # ---- a few milliseconds at a time

    def tick(self) -> None:
        """Look at where the atoms are and at what has come, show it, and ask for what is to come.

        Raises
        ------
        AtomsChanged
            When the molecule has other atoms.
        OrbitileError
            When it has gone, or nothing of it can be computed: it cannot be live any more.
        """
        self._look()
        self._pulling.look(self._positions)
        self._take()
        rests = self._recall()
        if self._stage() == "converged" and rests and self.path.rest():
            self._viewer.rebond(self.molecule)
        self._ask(rests)
        self.following.draw(self._positions, self._stage() == "failed")

    def _look(self) -> None:
        positions = self._viewer.positions(self.molecule)
        if positions is None:
            raise OrbitileError(f"{self.molecule} was deleted: it is no longer live")
        now = time.monotonic()
        has_moved = len(positions) != len(self._numbers) or np.abs(positions - self._positions).max() > _SAME
        if has_moved or now - self._compared > _COMPARED:
            self._compared = now
            if not np.array_equal(self._viewer.geometries(self.molecule)[0], self._numbers):
                raise AtomsChanged(f"{self.molecule} has other atoms")
        if has_moved:
            self._positions, self._since = positions, now

    def _rests(self) -> bool:
        is_still = time.monotonic() - self._since > _REST and not self._viewer.is_dragging()
        return is_still and (self._stage() != "converged" or self._pulling.is_done(self.found))

    def _take(self) -> None:
        """What the process has computed."""
        if (asked := self._asking.done()) is None:
            return
        try:
            found = asked.result()
        except (Cancelled, CancelledError):
            return
        except OrbitileError as error:
            if isinstance(error, WorkerEnded) and not self._has_ended:  # once, for one that was ended from outside
                self._has_ended = True
                return
            self._scanning.refuse(asked.order.positions, str(error))
            if asked.is_ahead:
                return
            if self.found is None and not isinstance(error, NotConverged | WorkerEnded):
                raise  # it is no matter of the geometry
            if self._failed is None:  # once, until one converges
                self._viewer.say(f"{self.molecule}: {error}")
            self._failed = asked.order.positions, str(error)
            return
        self._scanning.keep(found, asked)
        if not asked.is_ahead:
            if lower := asked.order.lowered_by(found):
                text = f"the energy is lower by {lower:.1g} hartree: that is shown"
                self._viewer.say(f"{self.molecule}: begun from atoms {text}")
            self._arrive(found)
            self.following.take(asked.fields, found, asked.rests)
            if self._pulling.pull(self.molecule, self._positions, asked.order, found):
                self._look()

    def _arrive(self, found: Converged) -> None:
        """Go on from a geometry that has converged where the atoms are, or were a moment ago."""
        self._failed, self._has_ended = None, False
        if self.found is None or self.found.source != found.source:
            self.path.add(found)
            self._computing.wavefunctions.keep_one(OneFile.read(found.source), found.wavefunction)
            self._viewer.adopt(self.molecule, found.source)
        self.found = found

    def _recall(self) -> bool:
        """Show what is known already of where the atoms are; says whether they are left alone there."""
        found = self._scanning.known.at(self._positions)
        if found is not None and (self.found is None or self.found.source != found.source):
            self._arrive(found)
        rests = self._rests()
        if found is not None:
            self.following.recall(found, rests)
        return rests

    def _ask(self, rests: bool) -> None:
        """Have the newest geometry computed, where it is not known; a longer calculation gives way to it."""
        stage, found = self._stage(), self.found
        is_here = found is not None and self._is_at(found.positions) and not (found.is_rough and rests)
        wanted = self.following.wanted(rests) if is_here else self.following.surfaces()
        relaxation = self._pulling.wanted(self.found.source if self.found and stage == "converged" else "")
        is_known = stage == "failed" or (is_here and not wanted and relaxation is None)
        asked = self._asking.asked
        if asked is not None:
            if self._is_at(asked.order.positions):
                return
            if (asked.order.compares and not asked.is_ahead) or asked.is_ahead != is_known:
                self._asking.withdraw()
            elif not is_known:
                self._asking.withdraw_late()
        elif is_known and rests and self._is_to_be_compared():
            self._ask_to_compare()
        elif is_known:
            self._ask_ahead()
        else:
            fields = {name: self.following.request(name, rests) for name in wanted}
            after = self._scanning.known.nearest(self._positions, self.found)
            rough = not (found is None or rests or self._pulling.is_on)
            self._submit(self._positions, tuple(fields.values()), after, fields, rests, relaxation, rough=rough)

    def _ask_to_compare(self) -> None:
        """Have the field that is there compared with one that begins from atoms."""
        if self.found is not None:
            self._submit(self.found.positions, (), replace(self.found, samples=()), {}, True, compares=True)

    def _ask_ahead(self) -> None:
        """Have a geometry of the scan computed."""
        ahead = self.next_of_scan()
        if ahead is not None and self.found is not None:
            after = self._scanning.before(ahead, self.found)
            self._submit(ahead.positions, ahead.fields, after, compares=ahead.compares)

    def _submit(
        self,
        positions: Positions,
        requests: tuple[Request, ...],
        after: Converged | None,
        fields: Mapping[str, Request] | None = None,
        rests: bool = False,
        relaxation: Relaxation | None = None,
        **how: bool,
    ) -> None:
        """Ask for a geometry: where the atoms are, with the fields by surface, or ahead; how, as an `Order` says."""
        folder, atoms = str(self.path.folder), self._numbers
        like = None if after is not None or self.origin is None else self.origin.wavefunction
        if like is not None and (like.spinors is not None or not np.array_equal(like.atomic_numbers, atoms)):
            like = None
        order = Order(
            self._key,
            self.level,
            atoms,
            positions,
            self.molecule,
            folder,
            requests,
            relaxation,
            after,
            **how,
            like=like,
        )
        self._asking.submit(order, fields or {}, rests, is_ahead=fields is None)

    def close(self) -> None:
        """End the process and the thread. Files stay until the next molecule is live: `orb_path` writes them."""
        self.release().close()

    def release(self) -> Asking:
        """The same, but for the process, which another molecule can have."""
        self._asking.withdraw()
        self.end_scan()
        self.following.close()
        return self._asking
