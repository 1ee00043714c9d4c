"""The live molecule of a viewer: begun, looked at again and again, waited for, ended."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import Cancelled, OrbitileError
from ..pictures.request import Sample
from .calculation import check_calculation
from .computing import Computing
from .host import Viewer
from .live import live
from .live.live import AtomsChanged, Live, Origin
from .live.order import Level, Positions
from .live.status import LiveStatus
from .shelf import Shelf
from .shown import Shown
from .source import is_promolecule, is_volume_file


class LiveMolecule(ABC):
    """What a session does with a live molecule.

    Parameters
    ----------
    host : Viewer
        The viewer.

    Attributes
    ----------
    shelf : Shelf
        What is shown.
    computing : Computing
        What computes it.
    live : Live or None
        The molecule whose electrons follow its atoms.
    live_problem : str
        Why the last one does so no longer, to be told by a window; empty where somebody has ended that.
    """

    def __init__(self, host: Viewer) -> None:
        self.host = host
        self.shelf = Shelf(host)
        self.computing = Computing(host)
        self.live: Live | None = None
        self.live_problem = ""
        self._ended: list[Live] = []

    @property
    @abstractmethod
    def is_writing(self) -> bool:
        """Whether a picture or a film is made of what is shown, which may have been shown of other files before."""

    @abstractmethod
    def show(self, shown: Shown, found: Sample, base: str = "") -> str:
        """Have the host show a surface and its volume, in place of another one; gives the name of the surface."""

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
        source = self.host.molecules().get(molecule, "")
        if not source or is_volume_file(source) or is_promolecule(source):
            stated = {"charge": self.host.formal_charge(molecule), **given}
            return replace(otherwise, calculation=replace(otherwise.calculation, **stated)), ()
        calculation, remarks = self.computing.calculation(source, given, otherwise.calculation, otherwise.engine)
        return replace(otherwise, calculation=calculation), remarks

    def begin_live(self, molecule: str, level: Level) -> None:
        """Have the electrons of a molecule follow its atoms; those of another one do so no longer.

        Raises
        ------
        OrbitileError
            When there is no such molecule, or the viewer does not say where its atoms are; as `check_calculation` does.
        """
        numbers, geometries = self.host.geometries(molecule)
        if len(geometries) != 1:
            raise OrbitileError(
                f"{molecule} has {len(geometries)} states; make an object of one of them, and that live"
            )
        check_calculation(molecule, numbers, level.calculation)
        positions = self.host.positions(molecule)
        if positions is None:
            raise OrbitileError("this viewer does not say where atoms are: nothing can follow them")
        before = self.live
        origin = self._origin_of(molecule, numbers, positions)
        what = molecule, numbers, level, self.show, positions
        self.live = Live(self.host, self.shelf, self.computing, *what, before=before, origin=origin)
        if before is not None:
            if before.molecule != molecule:
                self._give_back(before)
            self._ended.append(before)
        self._clear_up()
        self.host.every(live.TICK, self._look_at_live)

    def end_live(self) -> None:
        """Have nothing follow any atoms.

        A molecule that came from a file is what it was: atoms, orbitals and surfaces. Of others all stays.
        """
        if self.live is not None:
            ended, self.live = self.live, None
            ended.close()
            self._ended.append(ended)
            self._give_back(ended)

    @property
    def live_last(self) -> Live | None:
        """What is live, or was so last: its geometries can be written."""
        return self.live or (self._ended[-1] if self._ended else None)

    def _origin_of(self, molecule: str, numbers: NDArray[np.int64], positions: Positions) -> Origin | None:
        """What a molecule is, where it came from a file of the user's."""
        source = self.host.molecules().get(molecule, "")
        before = self.live
        if before is not None and before.molecule == molecule:
            origin = before.origin
            if before.path.holds(source) or (origin is not None and origin.source == source):
                return origin if _are_of(origin, numbers) else None
        if not source or is_promolecule(source) or any(ended.path.holds(source) for ended in self._ended):
            return None
        wavefunction = None if is_volume_file(source) else self.computing.wavefunctions.get(source)
        shown = {name: self.shelf[name] for name in self.shelf.present() if self.shelf[name].molecule == molecule}
        return Origin(source, positions, shown, wavefunction)

    def _give_back(self, ended: Live) -> None:
        """Have a molecule be what it was before it was live, unless something else has taken its place."""
        origin, molecule = ended.origin, ended.molecule
        now = self.host.molecules().get(molecule, "")
        if origin is None or not (now == origin.source or ended.following.knows(now)):
            return
        surfaces = [name for name in self.shelf.present() if self.shelf[name].molecule == molecule]
        asked = {name: ended.following.request(name, True) for name in surfaces}
        self.host.move(molecule, origin.positions)
        self.host.rebond(molecule)
        self.host.adopt(molecule, origin.source)
        for name in surfaces:
            shown, before = self.shelf[name], origin.shown.get(name)
            if before is None:
                references = shown.request.references
                before = replace(shown, request=replace(asked[name], path=origin.source, references=references))
            try:
                found = self.computing.sampled(before.request)
                isovalue = found.isovalue if name not in origin.shown else before.isovalue
                self.show(replace(before, isovalue=isovalue, look=shown.look, kept=shown.kept), found, name)
            except OrbitileError as error:
                self.shelf.remove(name)
                self.host.say(f"{name}: {error}")

    def _clear_up(self) -> None:
        """Remove files of molecules that were live before, but for those that something is shown of."""
        if not self.is_writing:
            shown = {*self.host.molecules().values(), *(self.shelf[name].request.path for name in self.shelf)}
            for ended in self._ended:
                ended.path.close()
            self._ended = [ended for ended in self._ended if ended.path.clear(shown)]

    def _look_at_live(self) -> None:
        try:
            self._tick()
        except OrbitileError as error:
            self.live_problem = str(error)
            self.host.say(self.live_problem)

    def _tick(self) -> None:
        """Have the live molecule look at its atoms; one that has gone, or cannot go on with other atoms, ends."""
        if self.live is None:
            return
        molecule, level = self.live.molecule, self.live.level
        try:
            self.live.tick()
        except AtomsChanged as change:
            try:
                self.begin_live(molecule, level)
            except OrbitileError as error:
                self.end_live()
                raise OrbitileError(f"{error}; it is no longer live") from error
            self.host.say(f"{change}: it begins anew")
        except OrbitileError:
            self.end_live()
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
        with self.computing.cancellable() as cancelled:
            while self.live is not None:
                self._tick()
                if self.live is not None and self.live.at_rest() and not (scanned and self.live.next_of_scan()):
                    return self.live.status
                self.computing.aside(lambda: time.sleep(live.TICK / 1000))
                if cancelled():
                    raise Cancelled("cancelled")
        raise OrbitileError("no molecule is live: orb_live makes one so")


def _are_of(origin: Origin | None, numbers: NDArray[np.int64]) -> bool:
    """Whether atoms are still those of a file."""
    if origin is None or len(origin.positions) != len(numbers):
        return False
    return origin.wavefunction is None or np.array_equal(origin.wavefunction.atomic_numbers, numbers)
