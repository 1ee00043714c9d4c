"""A live molecule in a window: begun and ended, relaxed, taken back; its orbitals are listed as they change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..fields.orbital import orbital_name
from . import commands
from .browsing import Browsing
from .declaration import Command
from .live.status import LiveStatus
from .orbitals import Level, level_of, levels_of
from .session import Session
from .shown import Shown
from .view import View
from .words import of_error

_LOOK = 0.05
"""Seconds between two looks at what there is to say of the live molecule."""


class LiveBrowsing(Browsing):
    """What a window does with a live molecule; parameters as of `Browsing`.

    Attributes
    ----------
    live_status : LiveStatus or None
        What the window was told last.
    """

    def __init__(self, session: Session, view: View) -> None:
        super().__init__(session, view)
        self.live_status: LiveStatus | None = None

    # ---- what the user does

    def start_live(self, molecule: str, basis: str, method: str, charge: int | None, unpaired: int | None) -> str:
        """Have the electrons of an object of the viewer follow its atoms; returns the reason why not, or "".

        What is empty, or None, is as in the file of the molecule.
        """
        if basis and method:
            self.remember(live={"basis": basis, "method": method})
        given = {"basis": basis, "method": method, "charge": charge, "unpaired": unpaired}
        return self._run(
            commands.orb_live, [molecule], {key: value for key, value in given.items() if value is not None}
        )

    def electrons(self) -> tuple[int, int] | None:
        """Charge and unpaired electrons of the molecule that is listed; None where nothing tells."""
        from ..scf.from_file import electrons_of  # which needs what a window need not wait for when it opens

        return None if self.wavefunction is None or self.wavefunction.promolecule else electrons_of(self.wavefunction)

    def end_live(self) -> str:
        """Have nothing follow any atoms; what is shown stays."""
        return "" if self.session.live is None else self._run(commands.orb_live, [])

    def relax(self, hardness: float | None) -> str:
        """Have forces move the atoms this hard, from 0 to 1, or no longer; gives what is in the way."""
        return self._run(commands.orb_relax, ["off"] if hardness is None else ["on", hardness])

    def undo(self) -> str:
        """Put the atoms where they rested before; gives what is in the way."""
        return self._run(commands.orb_undo, [])

    def save_path(self, path: Path) -> str:
        """Write the geometries as a trajectory; gives what is in the way."""
        return self._run(commands.orb_path, [str(path)])

    def scan(self) -> str:
        """Have what is picked computed ahead for a number of values, or end that; gives what is in the way."""
        return self._run(commands.orb_scan, [])

    def scan_to(self, index: int) -> str:
        """Put the atoms to a geometry of the scan, from 0; gives what is in the way."""
        status = self.live_status
        if status is None or status.scan is None:
            return ""
        return self._run(commands.orb_scan_to, [status.scan.values[index]])

    def _run(self, command: Command, arguments: Sequence[Any], named: Mapping[str, Any] | None = None) -> str:
        """Run a command; gives what was wrong, empty for nothing."""
        try:
            answer = command.run(self.session, arguments, named)
        except Exception as error:
            return of_error(error)
        self.view.say(answer.text.partition("\n")[0])
        self._look_at_live()
        return ""

    # ---- what there is

    def tick(self) -> None:
        """Look at what is under way, and do what is due."""
        super().tick()
        if self._look_at_live not in self._agenda:
            self._agenda.later(self._look_at_live, _LOOK)

    def _look_at_live(self) -> None:
        live = self.session.live
        status = None if live is None else live.status
        if status != self.live_status:
            if self.live_status is None and status is not None:
                self.view.say(f"{status.molecule} is live: move its atoms.")
            self.live_status = status
            self.view.show_live(status)
        if self.session.live_problem:
            self.view.say(self.session.live_problem, error=True)
            self.session.live_problem = ""
        self._list_live()

    def follow(self) -> None:
        """Take up what has changed at the viewer's prompt; the orbitals of a live molecule change where they stand."""
        self._list_live()
        super().follow()

    def _list_live(self) -> None:
        """List the orbitals of the live molecule as they are by now, where those before are listed."""
        live, before, listed = self.session.live, self.wavefunction, self._listed
        if live is None or live.found is None or before is None or live.molecule != self.molecule:
            return
        now, source = live.found.wavefunction, self.session.host.molecules().get(self.molecule, "")
        levels = levels_of(now)
        if source != live.found.source or listed == (self.molecule, source):
            return
        if [len(those) for those in levels] != [len(those) for those in self.levels]:
            return  # `follow` lists it as another one
        asked = self.view.chosen() if self.asking.wanted is not None else None
        self._listed, self.wavefunction, self.levels = (self.molecule, source), now, levels
        if asked is None:
            self.view.show_levels(self.level_shown())
        else:
            name = live.following.name_now(listed[1], orbital_name(before, asked.index, asked.spin))
            self.view.show_levels(level_of(now, levels, name))

    def _level_of(self, shown: Shown) -> Level | None:
        """The orbital that a surface shows, which may have been drawn of an earlier geometry."""
        live = self.session.live
        if live is None or live.molecule != shown.molecule:
            return super()._level_of(shown)
        field = live.following.name_now(shown.request.path, shown.request.field)
        return super()._level_of(replace(shown, request=replace(shown.request, field=field)))
