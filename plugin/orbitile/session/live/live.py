"""A live molecule: its atoms are looked at again and again, and what is shown of it follows them.

`LiveMolecule` is what a session has of it: it begins and ends one.

The viewer calls `Live.tick` every few milliseconds, in the thread that it belongs to; nothing here waits. One geometry
is computed at a time, in a process of its own, and the newest is the next. Until its fields are there, those before are
shown moved along with the atoms, more transparent than they are; when the atoms are left alone, fields are sampled as
finely as they were asked for, and their volumes follow. Where it relaxes, the atoms that the user does not hold go one
step along the forces after each geometry, by the viewer, as if somebody moved them.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future
from copy import deepcopy
from dataclasses import dataclass, replace
from secrets import token_hex
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...base.errors import Cancelled, OrbitileError
from ...model.wavefunction import Wavefunction
from ...pictures.request import Request
from ...readers._surroundings import LIVE, region_file
from ...scf.calculation import Calculation, NotConverged, require_ase
from ...scf.from_file import altered, electrons_of
from ...scf.optimisation import LARGEST_FORCE, force_in_ev
from ...workers import Worker, WorkerEnded, Workers
from ..calculation import check_calculation, with_parity_of
from ..computing import Computing, one_thread
from ..host import Viewer
from ..shelf import Shelf
from ..shown import Shown
from ..source import OneFile, files_of, is_promolecule, is_volume_file, is_without_orbitals
from .calculating import converged
from .following import Following, Show, counted_from_frontier
from .order import Converged, Level, Order, Positions, Relaxation, energy_text
from .path import LivePath, Reached
from .relaxing import SAME
from .scan import Ahead, KnownGeometries, RunningScan, Scan, ScanStatus, scan_of

Stage = Literal["starting", "converging", "converged", "failed"]


@dataclass(frozen=True)
class LiveStatus:
    """What there is to say of a live molecule.

    Attributes
    ----------
    molecule : str
    calculation : str
        Method and basis set.
    stage : str
        "starting" until the first field has converged; "converging" while what is shown is moved along with its atoms;
        "converged" when what is shown is the field of the geometry that is shown; "failed" when that has none.
    text : str
        The same with energy, iterations and time, or the reason, in one line.
    energies : tuple of (float, float)
        Seconds since the beginning, and total energy in hartree, of the last converged geometries.
    relaxes : bool
        Whether forces move the atoms.
    hardness : float
        How hard, from 0 to 1.
    can_undo : bool
        Whether there is a geometry to go back to.
    scan : ScanStatus or None
        What is scanned.
    """

    molecule: str
    calculation: str
    stage: Stage
    text: str
    energies: tuple[tuple[float, float], ...] = ()
    relaxes: bool = False
    hardness: float = 0.5
    can_undo: bool = False
    scan: ScanStatus | None = None


def text_of(stage: Stage, found: Converged | None, forces: str, problem: str, scan: ScanStatus | None) -> str:
    """What there is to say in one line.

    Parameters
    ----------
    stage
    found
        The last converged geometry.
    forces
        What there is to say of forces there.
    problem
        Why there is no field where the atoms are, where there is none.
    scan
    """
    if found is None:
        again = f"{problem}; move the atoms, or make it live with another method or basis set"
        text = again if stage == "failed" else "computing the first field"
    elif stage == "failed":
        text = f"{problem}; what is shown is the last converged geometry: move the atoms, or go back to it by undo"
    else:
        energy = energy_text(found.energy, found.parts)
        text = f"{energy}, {found.n_iterations} iterations in {found.seconds:.2f} s{forces}"
        text = f"moved with the atoms, converging; before: {text}" if stage == "converging" else text
    return f"{text}; {scan.text}" if scan is not None and not all(scan.known) else text


_TOO_LONG = 1.0
"""Time in seconds after which a geometry that is not the newest is given up, unless the last one took as long."""

_UNUSUAL = 4.0
"""Times the seconds of the last self-consistent field that another one may take, fields included."""

_MORE = 4.0
"""Times as long that one may take after others were given up: a bond that is torn may not converge for minutes."""


@dataclass(frozen=True, eq=False)
class Asked:
    """A geometry that is being computed.

    Attributes
    ----------
    order : Order
    fields : mapping of str to Request
        What is shown of it when it comes, by surface.
    rests : bool
        Whether the atoms were left alone.
    begin : float
        When it was asked for, by `time.monotonic`.
    job : Future
        Gives a `Converged`.
    is_ahead : bool
        Whether the atoms have not come there yet.
    """

    order: Order
    fields: Mapping[str, Request]
    rests: bool
    begin: float
    job: Future[Converged]
    is_ahead: bool

    def result(self) -> Converged:
        """What has come, or what was raised.

        Arrays that come together share memory, which lives as long as one of them: a geometry, which is kept longer
        than its samples, is given memory of its own.
        """
        found = self.job.result()
        return replace(deepcopy(replace(found, samples=())), samples=found.samples)


class Asking:
    """One process, which computes one geometry at a time.

    Attributes
    ----------
    asked : Asked or None
        What it computes.
    """

    def __init__(self) -> None:
        python = os.environ.get("ORBITILE_PYTHON")
        self._workers = Workers([Worker("the live calculation", python=python, settings=_settings, nice=5)])
        self.asked: Asked | None = None
        self._usual = 0.0
        self._given_up = 0

    @property
    def process_id(self) -> int | None:
        """Number of the process, while it runs."""
        return self._workers.workers[0].process_id

    def submit(self, order: Order, fields: Mapping[str, Request], rests: bool, *, is_ahead: bool) -> None:
        """Have a geometry computed; nothing else is asked for."""
        self.asked = Asked(order, fields, rests, time.monotonic(), self._workers.submit(converged, order), is_ahead)

    def done(self) -> Asked | None:
        """What was asked for, when it is done; it is asked for no more."""
        asked = self.asked
        if asked is None or not asked.job.done():
            return None
        self.asked = None
        if not asked.is_ahead:
            self._given_up = 0
        if not asked.job.cancelled() and asked.job.exception() is None:
            self._usual = asked.job.result().seconds
        return asked

    def withdraw(self) -> None:
        """Ask for nothing any more."""
        if self.asked is not None:
            self.asked.job.cancel()
            self.asked = None

    def withdraw_late(self) -> None:
        """Give up what is not the newest any more when it takes too long: more patiently then, so that some come."""
        patience = max(_TOO_LONG, _UNUSUAL * self._usual) * min(2.0**self._given_up, _MORE)
        if self.asked is not None and time.monotonic() - self.asked.begin > patience:
            self.withdraw()
            self._given_up += 1

    def close(self) -> None:
        """End the process."""
        self._workers.shutdown(wait=False, cancel_futures=True)


def _settings() -> dict[str, str]:
    """Threads of PySCF sleep where they wait: the viewer draws on the same cores, and those that spin hold it up."""
    return {"OMP_WAIT_POLICY": "PASSIVE", **one_thread()}


TICK = 10
"""Polling interval in milliseconds: where the atoms are."""

_REST = 0.25
"""Time in seconds after which atoms that have not moved are left alone."""

_COMPARED = 0.5
"""Polling interval in seconds: which elements atoms are that do not move."""

_MOST_CHANGES = 32
"""Changes of atoms that can be undone."""

_SAME = 1e-6
"""Positions in bohr that differ by less are the same."""


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
            When hardness is another number, ASE is missing, the viewer cannot be told where atoms are, or there are
            charges around the molecule without Lennard-Jones terms.
        """
        if calculation.external_charges is not None and calculation.lennard_jones is None:
            raise OrbitileError(
                "forces would take atoms into the charges around them, which repel nothing: Lennard-Jones terms are "
                "there for the atoms that a region was computed with only, and not for all elements. Move atoms by "
                "hand, compute the region again, or make live one that was computed with embed=0"
            )
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

        The user is told why the atoms cannot be moved, and this ends.
        """
        try:
            target = self.target(positions, order, found)
            if target is not None:
                self._viewer.move(molecule, target)
        except OrbitileError as error:
            self.end()
            self._viewer.say(f"{molecule} no longer relaxes: {error}")
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

    def has_other_cores_than(self, wavefunction: Wavefunction) -> bool:
        """Whether the numbers of orbitals are others, since other electrons are in the cores of the same atoms."""
        mine = self.wavefunction
        return mine is not None and not np.array_equal(mine.core_charges, wavefunction.core_charges)


@dataclass(frozen=True, eq=False)
class OtherAtoms:
    """What a live molecule was before its atoms were changed.

    Attributes
    ----------
    kept : object
        For `Viewer.restore_atoms`.
    last : Reached
        The last geometry.
    """

    kept: Any
    last: Reached


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
    isovalues : mapping of str to float, optional
        As for `Following`.

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
    scan : RunningScan or None
        What is computed ahead.
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
        isovalues: Mapping[str, float] | None = None,
    ) -> None:
        self.origin = origin
        self._viewer, self._computing, self._numbers = viewer, computing, atomic_numbers
        self.level, self.path = level, LivePath()
        self.found: Converged | None = None
        same = before if before is not None and before.molecule == molecule else None
        self._goes_on = same is not None
        self._kept, self._source = viewer.kept_atoms(molecule), viewer.molecules().get(molecule, "")
        self._others: tuple[OtherAtoms, ...] = () if same is None else same.others_before(atomic_numbers)
        self._like = same.like if same is not None else None if origin is None else origin.wavefunction
        self.following = Following(viewer, shelf, computing, molecule, show, isovalues)
        self._key = token_hex(8)
        self._asking = Asking() if before is None else before.release()
        self._positions, self._since = positions, time.monotonic()
        self._compared = 0.0
        self._failed: tuple[Positions, str] | None = None
        self._has_ended = self._is_undoing = False
        self.scan: RunningScan | None = None
        self._known = KnownGeometries()
        self._pulling = Pulling(viewer)

    def others_before(self, numbers: NDArray[np.int64]) -> tuple[OtherAtoms, ...]:
        """What one of the same molecule can go back to, with these atoms."""
        last = self.path.last
        if self._is_undoing or last is None or self._kept is None or np.array_equal(numbers, self._numbers):
            return self._others
        return (*self._others, OtherAtoms(self._kept, last))[-_MOST_CHANGES:]

    # ---- what there is

    @property
    def molecule(self) -> str:
        """Object of the viewer."""
        return self.following.molecule

    @property
    def like(self) -> Wavefunction | None:
        """What phases of another calculation are to be as in: the last solution, or what there was before it."""
        return self._like if self.found is None else self.found.wavefunction

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
            self.path.before(self._positions) is not None or bool(self._others),
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
        self._begin_scan(RunningScan(scan, self._positions))
        return scan

    def end_scan(self) -> None:
        """Forget the scan; the atoms stay where they are."""
        self._begin_scan(None)

    def _begin_scan(self, scan: RunningScan | None) -> None:
        self.scan, self._known = scan, KnownGeometries()
        self.path.hold(())

    def next_of_scan(self) -> Ahead | None:
        """What of a scan is to be computed next, where there is a first field; None for nothing."""
        if self.found is None or self.scan is None:
            return None
        return self.scan.next(self._positions, self.following.requests())

    def scan_to(self, index: int) -> None:
        """Put the atoms to a geometry of the scan, from 0, and leave them alone.

        Raises
        ------
        OrbitileError
            When nothing is scanned, there is no such geometry, or the viewer cannot be told where atoms are.
        """
        if self.scan is None:
            raise OrbitileError("no scan is running: orb_scan begins one")
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

        Where they have rested nowhere else, those that there were before they were changed come back.

        Raises
        ------
        OrbitileError
            When there is nothing to go back to, or the viewer cannot be told where atoms are.
        """
        self._look()
        if (before := self.path.before(self._positions)) is None and self._others:
            *others, other = self._others
            self._others, self._is_undoing, before = tuple(others), True, other.last
            self._viewer.restore_atoms(self.molecule, other.kept)
            self._viewer.move(self.molecule, before.positions)
            self._pulling.end()
            return before
        if before is None:
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
            raise OrbitileError(f"{self.molecule} was deleted, or has no atoms: it is no longer live")
        now = time.monotonic()
        has_moved = len(positions) != len(self._numbers) or np.abs(positions - self._positions).max() > _SAME
        if has_moved or now - self._compared > _COMPARED:
            self._compared = now
            self._require_own()
            try:
                numbers = self._viewer.geometries(self.molecule)[0]
            except OrbitileError as error:
                raise OrbitileError(f"{error}; it is no longer live") from error
            if not np.array_equal(numbers, self._numbers):
                raise AtomsChanged(f"{self.molecule}: its atoms are no longer the same")
        if has_moved:
            self._positions, self._since = positions, now

    def _require_own(self) -> None:
        """Refuse to go on with a molecule that another file was loaded for, which may have other electrons."""
        source = self._viewer.molecules().get(self.molecule, self._source)
        if source != self._source and not self.path.holds(source):
            raise OrbitileError(f"{self.molecule} was loaded from another file: it is no longer live")

    def compare_elements(self) -> None:
        """Look at once which elements atoms are that have not moved."""
        self._compared = 0.0

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
            if self.scan is not None:
                self.scan.refuse(asked.order.positions, str(error))
            if asked.is_ahead:
                return
            if self.found is None and not self._goes_on and not isinstance(error, NotConverged | WorkerEnded):
                raise  # it is no matter of the geometry
            if self._failed is None:  # once, until one converges
                self._viewer.say(f"{self.molecule}: {error}")
            self._failed = asked.order.positions, str(error)
            return
        self._keep(found, asked)
        if not asked.is_ahead:
            if lower := asked.order.lowered_by(found):
                text = f"the energy is lower by {lower:.1g} hartree; this solution is shown"
                self._viewer.say(f"{self.molecule}: starting from superposed atoms, {text}")
            self._arrive(found)
            self.following.take(asked.fields, found, asked.rests)
            if self._pulling.pull(self.molecule, self._positions, asked.order, found):
                self._look()

    def _keep(self, found: Converged, asked: Asked) -> None:
        """Keep what has converged where the atoms come back to it: they rested there, or it is scanned."""
        is_scanned = self.scan is not None and self.scan.take(found, asked.order)
        if self.scan is not None and is_scanned:
            self.path.hold(self.scan.sources)
        if is_scanned or asked.rests:
            self._known.add(found)
            for sample in found.samples:
                if not isinstance(sample, OrbitileError):
                    self._computing.samples.put_behind(sample)

    def _arrive(self, found: Converged) -> None:
        """Go on from a geometry that has converged where the atoms are, or were a moment ago."""
        self._failed, self._has_ended = None, False
        if self.found is None or self.found.source != found.source:
            self.path.add(found)
            self._computing.wavefunctions.keep_one(OneFile.read(found.source), found.wavefunction)
            self._require_own()
            self._viewer.adopt(self.molecule, found.source)
        self.found = found

    def _recall(self) -> bool:
        """Show what is known already of where the atoms are; says whether they are left alone there."""
        found = self._known.at(self._positions)
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
            after = self._known.nearest(self._positions, self.found)
            rough = not (found is None or rests or self._pulling.is_on)
            self._submit(self._positions, tuple(fields.values()), after, fields, rests, relaxation, rough=rough)

    def _ask_to_compare(self) -> None:
        """Have the field that is there compared with one that begins from atoms."""
        if self.found is not None:
            self._submit(self.found.positions, (), replace(self.found, samples=()), {}, True, compares=True)

    def _ask_ahead(self) -> None:
        """Have a geometry of the scan computed, after itself, its neighbour in the scan, or the nearest."""
        ahead = self.next_of_scan()
        if ahead is not None and self.found is not None:
            after = self._known.nearest(ahead.positions, self.found) or self.found
            is_there = np.array_equal(after.positions, ahead.positions)
            if ahead.beside is not None and not is_there:
                after = self._known.at(ahead.beside) or after
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
        folder, name, atoms = str(self.path.folder), self.molecule, self._numbers
        like = None if after is not None or self._like is None or self._like.spinors is not None else self._like
        order = Order(
            self._key, self.level, atoms, positions, name, folder, requests, relaxation, after, **how, like=like
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


class LiveMolecule:
    """The molecule of a viewer whose electrons follow its atoms, one at a time.

    Parameters
    ----------
    host : Viewer
    shelf : Shelf
        What is shown.
    computing : Computing
        What computes it.
    show : callable
        Has the host show a surface and its volume, in place of another one; gives the name of the surface.
    is_writing : callable
        Whether a picture or a film is made of what is shown, which may have been shown of other files before.

    Attributes
    ----------
    now : Live or None
        What is live now.
    problem : str
        Why the last one is live no longer, to be told by a window; empty where somebody has ended that.
    remark : str
        How it goes on with other atoms, to be told by a window.
    """

    def __init__(
        self,
        host: Viewer,
        shelf: Shelf,
        computing: Computing,
        show: Callable[..., str],
        is_writing: Callable[[], bool],
    ) -> None:
        self._host, self._shelf, self._computing = host, shelf, computing
        self._show, self._is_writing = show, is_writing
        self.now: Live | None = None
        self._asked = Level(Calculation())
        self.problem = self.remark = ""
        self._ended: list[Live] = []

    def level_of(self, molecule: str, given: Mapping[str, Any], otherwise: Level) -> tuple[Level, tuple[str, ...]]:
        """How a molecule is computed: as in its file, but for parts of a `Calculation` that are given.

        Returns
        -------
        tuple
            The level, and a sentence without its end for each part that is another one than in the file.

        Raises
        ------
        OrbitileError
            When no engine can do that.
        """
        source = self._host.molecules().get(molecule, "")
        if not source or is_volume_file(source) or is_promolecule(source) or is_without_orbitals(source):
            stated = {"charge": self._host.formal_charge(molecule), **given}
            return replace(otherwise, calculation=altered(otherwise.calculation, stated)), ()
        calculation, remarks = self._computing.calculation(source, given, otherwise.calculation, otherwise.engine)
        return replace(otherwise, calculation=calculation), remarks

    def begin(self, molecule: str, level: Level) -> None:
        """Have the electrons of a molecule follow its atoms; those of another one do so no longer.

        Raises
        ------
        OrbitileError
            When there is no such molecule, or the viewer does not say where its atoms are; as `check_calculation` does.
        """
        self._begin(molecule, level)
        self._asked = level

    def _begin(self, molecule: str, level: Level, *, has_changed: bool = False) -> None:
        """The same, for a molecule with other atoms too: with as many unpaired electrons as there can be."""
        numbers, geometries = self._host.geometries(molecule)
        if len(geometries) != 1:
            raise OrbitileError(
                f"{molecule} has {len(geometries)} states; make an object of one of them, and make that live"
            )
        if has_changed:
            level = replace(level, calculation=with_parity_of(numbers, level.calculation))
            terms = level.calculation.lennard_jones
            if terms is not None and not np.array_equal(numbers, terms.atomic_numbers):
                level = replace(level, calculation=replace(level.calculation, lennard_jones=None))
        check_calculation(molecule, numbers, level.calculation)
        positions = self._host.positions(molecule)
        if positions is None:
            raise OrbitileError("this viewer does not tell where atoms are, which a live molecule needs")
        before = self.now
        origin = self._origin_of(molecule, positions)
        isovalues = self._prepare_surfaces(molecule, numbers, level)
        what = molecule, numbers, level, self._show, positions
        self.now = Live(self._host, self._shelf, self._computing, *what, before, origin, isovalues)
        if origin is not None and level.calculation.external_charges is not None:
            shutil.copyfile(region_file(files_of(origin.source)[0]), self.now.path.folder / LIVE)
        if before is not None:
            self._ended.append(before)
            if before.molecule != molecule:
                self._give_back(before)
        self._clear_up()
        self._host.every(TICK, self._look)

    def end(self) -> None:
        """Have nothing follow any atoms.

        A molecule that came from a file is what it was: atoms, orbitals and surfaces. Of others all stays.
        """
        if self.now is not None:
            ended, self.now = self.now, None
            ended.close()
            self._ended.append(ended)
            self._give_back(ended)

    @property
    def last(self) -> Live | None:
        """What is live, or was so last: its geometries can be written."""
        return self.now or (self._ended[-1] if self._ended else None)

    def _prepare_surfaces(self, molecule: str, numbers: NDArray[np.int64], level: Level) -> dict[str, float]:
        """Have the surfaces of a molecule say what they show in words that hold for the calculation that begins.

        Orbitals are counted from the frontier where their numbers may be others: of other atoms, and where a method has
        other electrons in its cores. Where somebody has asked for other electrons, numbers stay what they are.

        Returns
        -------
        dict of str to float
            Isovalues that nobody has chosen, by surface.
        """
        isovalues: dict[str, float] = {}
        for name in self._shelf.present():
            shown = self._shelf[name]
            request = shown.request
            if (
                shown.molecule != molecule
                or request.frame is not None
                or is_volume_file(request.path)
                or is_promolecule(request.path)
            ):
                continue
            if self.last is not None and self.last.following.is_default(name):
                isovalues[name] = shown.isovalue
            elif request.isovalue is None:
                sample = self._computing.samples.known(request)
                if sample is None or sample.isovalue == shown.isovalue:
                    isovalues[name] = shown.isovalue
            try:
                wavefunction = self._computing.wavefunctions.get(request.path)
            except OrbitileError:  # its file is gone
                continue
            electrons = level.calculation.charge, level.calculation.unpaired
            if np.array_equal(wavefunction.atomic_numbers, numbers) and electrons != electrons_of(wavefunction):
                continue
            field, color_by = (
                counted_from_frontier(wavefunction, field) for field in (request.field, request.color_by)
            )
            self._shelf.note(name, replace(shown, request=replace(request, field=field, color_by=color_by)))
        return isovalues

    def _origin_of(self, molecule: str, positions: Positions) -> Origin | None:
        """What a molecule is, where it came from a file of the user's."""
        source = self._host.molecules().get(molecule, "")
        before = self.now
        if before is not None and before.molecule == molecule:
            origin = before.origin
            if origin is not None and (origin.source == source or self._is_of_live(source)):
                return origin
        if not source or is_promolecule(source) or self._is_of_live(source):
            return None
        without = is_volume_file(source) or is_without_orbitals(source)
        wavefunction = None if without else self._computing.wavefunctions.get(source)
        shown = {name: self._shelf[name] for name in self._shelf.present() if self._shelf[name].molecule == molecule}
        return Origin(source, positions, shown, wavefunction)

    def _is_of_live(self, source: str) -> bool:
        """Whether a wavefunction was computed for a molecule that is live, or was."""
        lives = self._ended if self.now is None else (self.now, *self._ended)
        return any(one.path.holds(source) for one in lives)

    def _give_back(self, ended: Live) -> None:
        """Have a molecule be what it was before it was live, unless something else has taken its place."""
        origin, molecule = ended.origin, ended.molecule
        now = self._host.molecules().get(molecule, "")
        if origin is None or not (now == origin.source or self._is_of_live(now)):
            return
        try:
            numbers, _ = self._host.geometries(molecule)
        except OrbitileError:  # it has no atoms
            return
        if not _are_of(origin, numbers):
            return
        surfaces = [name for name in self._shelf.present() if self._shelf[name].molecule == molecule]
        asked = {name: ended.following.request(name, True) for name in surfaces}
        self._host.move(molecule, origin.positions)
        self._host.rebond(molecule)
        self._host.adopt(molecule, origin.source)
        for name in surfaces:
            shown, before = self._shelf[name], origin.shown.get(name)
            if before is None:
                references = shown.request.references
                wanted = replace(asked[name], path=origin.source, references=references)
                if ended.following.is_default(name):
                    wanted = replace(wanted, isovalue=None)
                if ended.found is not None and origin.has_other_cores_than(ended.found.wavefunction):
                    field = counted_from_frontier(ended.found.wavefunction, shown.request.field)
                    wanted = replace(wanted, field=field)
                before = replace(shown, request=wanted)
            try:
                found = self._computing.sampled(before.request)
                isovalue = found.isovalue if name not in origin.shown else before.isovalue
                self._show(replace(before, isovalue=isovalue, look=shown.look, kept=shown.kept), found, name)
            except OrbitileError as error:
                self._shelf.remove(name)
                self._host.say(f"{name}: {error}")

    def _clear_up(self) -> None:
        """Remove files of molecules that were live before, but for those that something is shown of."""
        if not self._is_writing():
            shown = {*self._host.molecules().values(), *(self._shelf[name].request.path for name in self._shelf)}
            for ended in self._ended:
                ended.path.close()
            if self._ended:
                self._ended = [ended for ended in self._ended if ended.path.clear(shown)]
                self._computing.wavefunctions.forget_missing()

    def _look(self) -> None:
        try:
            self._tick()
        except OrbitileError as error:
            self.problem = str(error)
            self._host.say(self.problem)

    def _tick(self) -> None:
        """Have the live molecule look at its atoms; one that has gone, or cannot go on with other atoms, ends."""
        if self.now is None:
            return
        molecule, level = self.now.molecule, self.now.level
        try:
            self.now.tick()
        except AtomsChanged as change:
            hardness = self.now.status.hardness if self.now.status.relaxes else None
            try:
                self._begin(molecule, self._asked, has_changed=True)
                if hardness is not None:
                    self.now.relax(hardness)
            except OrbitileError as error:
                self.end()
                raise OrbitileError(f"{error}; it is no longer live") from error
            now = self.now.level.calculation
            self.remark = f"{change}; its calculation starts again: {now}{_parity_text(level.calculation, now)}"
            self._host.say(self.remark)
        except OrbitileError:
            self.end()
            raise

    def settle(self, *, scanned: bool = False) -> LiveStatus:
        """Wait until what is shown of the live molecule has converged where its atoms are, or has failed to.

        With `scanned`, also until the geometries of its scan have been computed.

        Raises
        ------
        OrbitileError
            When no molecule is live, or it is so no longer.
        Cancelled
            When `cancel` was called.
        """
        if self.now is not None:
            self.now.compare_elements()
        with self._computing.cancellable() as cancelled:
            while self.now is not None:
                self._tick()
                if self.now is not None and self.now.at_rest() and not (scanned and self.now.next_of_scan()):
                    return self.now.status
                self._computing.aside(lambda: time.sleep(TICK / 1000))
                if cancelled():
                    raise Cancelled("cancelled")
        raise OrbitileError("no molecule is live: orb_live makes one live")


def _parity_text(before: Calculation, now: Calculation) -> str:
    """What there is to say of unpaired electrons where atoms have made another number of them necessary."""
    return "" if before.unpaired == now.unpaired else f" ({before.unpaired} before)"


def _are_of(origin: Origin | None, numbers: NDArray[np.int64]) -> bool:
    """Whether atoms are still those of a file."""
    if origin is None or len(origin.positions) != len(numbers):
        return False
    return origin.wavefunction is None or np.array_equal(origin.wavefunction.atomic_numbers, numbers)
