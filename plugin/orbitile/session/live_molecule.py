"""The live molecule of a viewer: begun, looked at again and again, waited for, ended."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod

from ..errors import Cancelled, OrbitileError
from .calculation import check_calculation
from .computing import Computing
from .host import Viewer
from .live import live
from .live.live import AtomsChanged, Live
from .live.order import Level
from .live.path import LivePath
from .live.status import LiveStatus
from .request import Sample
from .shelf import Shelf
from .shown import Shown


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
        self._ended: list[LivePath] = []

    @property
    @abstractmethod
    def is_writing(self) -> bool:
        """Whether a picture or a film is made of what is shown, which may have been shown of other files before."""

    @abstractmethod
    def show(self, shown: Shown, found: Sample) -> str:
        """Have the host show a surface and its volume; gives the name of the surface."""

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
        what = molecule, numbers, level, self.show, positions
        before = self.live
        self.live = Live(self.host, self.shelf, self.computing, *what, before=before)
        if before is not None:
            self._ended.append(before.path)
        self._clear_up()
        self.host.every(live.TICK, self._look_at_live)

    def end_live(self) -> None:
        """Have nothing follow any atoms; what is shown stays."""
        if self.live is not None:
            ended, self.live = self.live, None
            ended.close()
            self._ended.append(ended.path)

    def _clear_up(self) -> None:
        """Remove files of molecules that were live before, but for those that something is shown of."""
        if not self.is_writing:
            shown = {*self.host.molecules().values(), *(self.shelf[name].request.path for name in self.shelf)}
            self._ended = [path for path in self._ended if path.clear(shown)]

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
