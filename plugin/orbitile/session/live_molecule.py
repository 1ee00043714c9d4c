"""The live molecule of a viewer: begun, looked at again and again, waited for, ended."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import Cancelled, OrbitileError
from .calculation import check_calculation
from .computing import Computing
from .host import Viewer
from .live import live
from .live.live import AtomsChanged, Live, LiveStatus, Origin
from .live.order import Level, Positions
from .promolecules import is_promolecule
from .shelf import Shelf
from .volume_file import is_volume_file


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
        self.problem = ""
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
        if not source or is_volume_file(source) or is_promolecule(source):
            stated = {"charge": self._host.formal_charge(molecule), **given}
            return replace(otherwise, calculation=replace(otherwise.calculation, **stated)), ()
        calculation, remarks = self._computing.calculation(source, given, otherwise.calculation, otherwise.engine)
        return replace(otherwise, calculation=calculation), remarks

    def begin(self, molecule: str, level: Level) -> None:
        """Have the electrons of a molecule follow its atoms; those of another one do so no longer.

        Raises
        ------
        OrbitileError
            When there is no such molecule, or the viewer does not say where its atoms are; as `check_calculation` does.
        """
        numbers, geometries = self._host.geometries(molecule)
        if len(geometries) != 1:
            raise OrbitileError(
                f"{molecule} has {len(geometries)} states; make an object of one of them, and that live"
            )
        check_calculation(molecule, numbers, level.calculation)
        positions = self._host.positions(molecule)
        if positions is None:
            raise OrbitileError("this viewer does not say where atoms are: nothing can follow them")
        before = self.now
        origin = self._origin_of(molecule, numbers, positions)
        what = molecule, numbers, level, self._show, positions
        self.now = Live(self._host, self._shelf, self._computing, *what, before=before, origin=origin)
        if before is not None:
            if before.molecule != molecule:
                self._give_back(before)
            self._ended.append(before)
        self._clear_up()
        self._host.every(live.TICK, self._look)

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

    def _origin_of(self, molecule: str, numbers: NDArray[np.int64], positions: Positions) -> Origin | None:
        """What a molecule is, where it came from a file of the user's."""
        source = self._host.molecules().get(molecule, "")
        before = self.now
        if before is not None and before.molecule == molecule:
            origin = before.origin
            if before.path.holds(source) or (origin is not None and origin.source == source):
                return origin if _are_of(origin, numbers) else None
        if not source or is_promolecule(source) or any(ended.path.holds(source) for ended in self._ended):
            return None
        wavefunction = None if is_volume_file(source) else self._computing.wavefunctions.get(source)
        shown = {name: self._shelf[name] for name in self._shelf.present() if self._shelf[name].molecule == molecule}
        return Origin(source, positions, shown, wavefunction)

    def _give_back(self, ended: Live) -> None:
        """Have a molecule be what it was before it was live, unless something else has taken its place."""
        origin, molecule = ended.origin, ended.molecule
        now = self._host.molecules().get(molecule, "")
        if origin is None or not (now == origin.source or ended.following.knows(now)):
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
                before = replace(shown, request=replace(asked[name], path=origin.source, references=references))
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
            self._ended = [ended for ended in self._ended if ended.path.clear(shown)]

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
            try:
                self.begin(molecule, level)
            except OrbitileError as error:
                self.end()
                raise OrbitileError(f"{error}; it is no longer live") from error
            self._host.say(f"{change}: it begins anew")
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
        with self._computing.cancellable() as cancelled:
            while self.now is not None:
                self._tick()
                if self.now is not None and self.now.at_rest() and not (scanned and self.now.next_of_scan()):
                    return self.now.status
                self._computing.aside(lambda: time.sleep(live.TICK / 1000))
                if cancelled():
                    raise Cancelled("cancelled")
        raise OrbitileError("no molecule is live: orb_live makes one so")


def _are_of(origin: Origin | None, numbers: NDArray[np.int64]) -> bool:
    """Whether atoms are still those of a file."""
    if origin is None or len(origin.positions) != len(numbers):
        return False
    return origin.wavefunction is None or np.array_equal(origin.wavefunction.atomic_numbers, numbers)
