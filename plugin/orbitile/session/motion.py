"""A molecule that moves along one of its modes in a viewer, and is where it was afterwards.

Surfaces of it belong to the atoms at rest, so they are hidden while these move.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..model.report import Paths
from ..model.units import angstrom
from ..model.vibrations import AMPLITUDE, ARROW_COLOUR, ARROW_RADIUS, Vibrations, arrows_of, mode_name, motion_of
from .host import TrajectoryViewer, Viewer
from .shelf import Shelf

_PERIOD = 1.0
"""Seconds of a period, whatever the mode."""
_TICK = 33
"""Milliseconds between two positions."""
_FAR = 0.3
"""Distance in bohr, root mean square, from which on atoms are not those whose vibrations these are."""
_ARROWS = "mode"


@dataclass(frozen=True, eq=False)
class Moving:
    """What moves how.

    Attributes
    ----------
    molecule : str
    vibrations : Vibrations
    mode : int
        From 1.
    amplitude : float
        Largest displacement of an atom in Angstrom.
    moves, arrows : bool
        Whether atoms move, and whether arrows show where to.
    """

    molecule: str
    vibrations: Vibrations
    mode: int
    amplitude: float = AMPLITUDE
    moves: bool = True
    arrows: bool = False

    @property
    def text(self) -> str:
        """For people."""
        return mode_name(self.vibrations, self.mode)


class Motion:
    """The motion of one molecule at a time.

    Parameters
    ----------
    viewer : Viewer
        Moves the atoms.
    shelf : Shelf
        Tells of molecules that are renamed, and of surfaces.

    Attributes
    ----------
    now : Moving or None
        What moves, or has arrows.
    """

    def __init__(self, viewer: Viewer, shelf: Shelf) -> None:
        self._viewer, self._shelf = viewer, shelf
        self.now: Moving | None = None
        self._rest: Reals = np.zeros((0, 3))
        self._along: Reals = np.zeros((0, 3))
        self._frame: int | None = None
        self._hidden: list[str] = []
        self._begun = 0.0
        shelf.observe(self)

    def show(self, moving: Moving) -> None:
        """Have a molecule move along a mode, or show arrows, in place of what moved before.

        Raises
        ------
        OrbitileError
            When there is no such mode, its atoms are not where its vibrations were found, or the viewer cannot move
            them.
        """
        direction = motion_of(moving.vibrations, moving.mode)
        before = self.now
        if before is None or (before.molecule, before.vibrations) != (moving.molecule, moving.vibrations):
            self.stop()
            self._find_rest(moving)
            self._begun = time.monotonic()
        self.now = moving
        self._along = direction @ _rotation(moving.vibrations.positions, self._rest) * (moving.amplitude * angstrom)
        if moving.moves:
            self._hide_surfaces()
            if not self._viewer.every(_TICK, self.tick):
                self._viewer.move(moving.molecule, self._rest + self._along)
        elif before is not None and before.moves:
            self._put_back()
        self._viewer.put_drawings(moving.molecule, _ARROWS, (self._arrows(),) if moving.arrows else ())

    def _find_rest(self, moving: Moving) -> None:
        """Go to the frame whose atoms are where the vibrations were found, and keep their places."""
        molecule, wanted = moving.molecule, moving.vibrations
        numbers, geometries = self._viewer.geometries(molecule)
        if not np.array_equal(numbers, wanted.atomic_numbers):
            raise OrbitileError(f"{molecule}: its vibrations are those of other atoms")
        far = [_distance(wanted.positions, positions) for positions in geometries]
        best = int(np.argmin(far))
        if far[best] > _FAR:
            raise OrbitileError(
                f"{molecule}: its atoms are not where its vibrations were computed, but {far[best]:.2f} bohr away on "
                "average; load the file again"
            )
        if isinstance(self._viewer, TrajectoryViewer) and len(geometries) > 1:
            self._viewer.go_to(molecule, best)
            self._frame = best
        else:
            self._frame = None
        at = self._viewer.positions(molecule)
        self._rest = geometries[best] if at is None else at

    def _hide_surfaces(self) -> None:
        """Hide surfaces of the atoms at rest until these are there again."""
        for name in self._seen_surfaces():
            self._shelf.set_visible(name, False)
            self._hidden.append(name)

    def _seen_surfaces(self) -> list[str]:
        """Surfaces of the molecule that can be seen."""
        of = {name: self._shelf[name].molecule for name in self._shelf.present()}
        unseen = self._viewer.hidden(of)
        return [
            name
            for name, molecule in of.items()
            if self.now is not None and molecule == self.now.molecule and name not in unseen
        ]

    def _put_back(self) -> None:
        """Have the atoms where they were, and surfaces seen again."""
        molecule = self.now.molecule if self.now is not None else ""
        if molecule in self._viewer.objects():
            frame = self._viewer.frame(molecule) if isinstance(self._viewer, TrajectoryViewer) else None
            elsewhere = self._frame is not None and frame is not None and frame != self._frame
            if elsewhere:
                self._viewer.go_to(molecule, self._frame)  # type: ignore[attr-defined]  # it is a TrajectoryViewer
            self._viewer.move(molecule, self._rest)
            if elsewhere:
                self._viewer.go_to(molecule, frame)  # type: ignore[attr-defined]  # the same
        there = set(self._shelf.present())
        for name in filter(there.__contains__, self._hidden):
            self._shelf.set_visible(name, True)
        self._hidden = []

    def _arrows(self) -> Paths:
        lines = tuple(arrows_of(self._along, self._rest))
        return Paths(_ARROWS, lines, ARROW_COLOUR, ARROW_RADIUS, heads=True)

    def stop(self) -> None:
        """Have the atoms where they were, without arrows."""
        if self.now is None:
            return
        if self.now.moves:
            self._put_back()
        if self.now.molecule in self._viewer.objects():
            self._viewer.put_drawings(self.now.molecule, _ARROWS, ())
        self.now = None

    def resting(self) -> list[Any]:
        """The molecule that moves and where its atoms rest, in plain types, for a saved session; empty for none."""
        now = self.now
        return [now.molecule, self._rest.tolist(), self._hidden] if now is not None and now.moves else []

    def restore(self, saved: Any) -> None:
        """Have the atoms of a saved session where they rest, with their surfaces; `saved` is as from `resting`."""
        self.now, self._hidden = None, []
        if isinstance(saved, list) and len(saved) == 3 and saved[0] in self._viewer.objects():
            self._viewer.move(saved[0], np.array(saved[1], np.float64).reshape(-1, 3))
            for name in filter(set(self._shelf.present()).__contains__, saved[2]):
                self._shelf.set_visible(name, True)

    def tick(self) -> None:
        """Move on; stop when the molecule is gone, hidden, at another frame, or the user shows a surface of it."""
        now = self.now
        if now is None or not now.moves:
            return
        molecule = now.molecule
        frame = self._viewer.frame(molecule) if isinstance(self._viewer, TrajectoryViewer) else self._frame
        if (
            molecule not in self._viewer.objects()
            or self._viewer.hidden({molecule: molecule})
            or (self._frame is not None and frame != self._frame)
            or self._seen_surfaces()
        ):
            self.stop()
            return
        self.hold(math.sin(2 * math.pi * (time.monotonic() - self._begun) / _PERIOD))

    @property
    def moves(self) -> bool:
        """Whether atoms move."""
        return self.now is not None and self.now.moves

    def hold(self, share: float) -> None:
        """Have the atoms at a share of the amplitude, 0 for where they rest, until the next tick."""
        if self.now is not None:
            self._viewer.move(self.now.molecule, self._rest + share * self._along)

    # ---- what the shelf tells

    def surface_removed(self, name: str) -> None:
        """It is not to be seen again."""
        self._hidden = [other for other in self._hidden if other != name]

    def surface_renamed(self, old: str, new: str) -> None:
        """It is to be seen again by its new name."""
        self._hidden = [new if other == old else other for other in self._hidden]

    def molecule_renamed(self, old: str, new: str) -> None:
        """It goes on by its new name."""
        if self.now is not None and self.now.molecule == old:
            self.now = replace(self.now, molecule=new)


def _rotation(here: Reals, there: Reals) -> Reals:
    """What turns one set of places onto another best, as a matrix to multiply rows by (W. Kabsch, Acta Cryst. 1976)."""
    left, _, right = np.linalg.svd((here - here.mean(axis=0)).T @ (there - there.mean(axis=0)))
    left[:, -1] *= np.sign(np.linalg.det(left @ right))
    rotation: Reals = left @ right
    return rotation


def _distance(here: Reals, there: Reals) -> float:
    """Between two sets of places that are superposed, root mean square."""
    if here.shape != there.shape:
        return math.inf
    here, there = here - here.mean(axis=0), there - there.mean(axis=0)
    return float(np.sqrt(((here @ _rotation(here, there) - there) ** 2).sum(axis=1).mean()))
