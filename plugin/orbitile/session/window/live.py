"""A live molecule in a window: begun and ended, relaxed, taken back; its orbitals are listed as they change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...fields.orbital import orbital_name
from ...pictures.orbitals import level_of, levels_of
from ...pictures.words import of_error
from .. import commands
from ..declaration import Command
from ..live.live import LiveStatus
from .activity import Activity
from .showing import Showing

_LOOK = 0.05
"""Polling interval in seconds: what there is to say of the live molecule."""


class LiveOrbitals(Activity):
    """A live molecule.

    Attributes
    ----------
    status : LiveStatus or None
        What the window was told last.
    """

    def __init__(self, showing: Showing) -> None:
        self.showing, self.session, self.view = showing, showing.session, showing.view
        self.status: LiveStatus | None = None

    # ---- what the user does

    def start(
        self,
        molecule: str,
        basis: str,
        method: str,
        charge: int | None,
        unpaired: int | None,
        solvent: str = "",
        smearing: str = "",
    ) -> str:
        """Have the electrons of an object of the viewer follow its atoms; returns the reason why not, or "".

        What is empty, or None, is as in the file of the molecule; smearing is in kelvin, "1000 K" or "1000".
        """
        if basis and method:
            self.showing.remember(live={"basis": basis, "method": method, "solvent": solvent, "smearing": smearing})
        kelvins = smearing.rstrip("kK ")
        given = {
            "basis": basis,
            "method": method,
            "charge": charge,
            "unpaired": unpaired,
            "solvent": solvent,
            "smearing": kelvins,
        }
        return self._run(
            commands.orb_live, [molecule], {key: value for key, value in given.items() if value is not None}
        )

    def electrons(self) -> tuple[int, int] | None:
        """Charge and unpaired electrons of the molecule that is listed; None where nothing tells."""
        from ...scf.from_file import electrons_of  # which needs what a window need not wait for when it opens

        wavefunction = self.showing.wavefunction
        return None if wavefunction is None or wavefunction.promolecule else electrons_of(wavefunction)

    def end(self) -> str:
        """Have nothing follow any atoms; what is shown stays."""
        return "" if self.session.live.now is None else self._run(commands.orb_live, [])

    def relax(self, hardness: float | None) -> str:
        """Have forces move the atoms this hard, from 0 to 1, or no longer; returns the reason why not, or ""."""
        return self._run(commands.orb_relax, ["off"] if hardness is None else ["on", hardness])

    def undo(self) -> str:
        """Put the atoms where they rested before; returns the reason why not, or ""."""
        return self._run(commands.orb_undo, [])

    def save_path(self, path: Path) -> str:
        """Write the geometries as a trajectory; returns the reason why not, or ""."""
        return self._run(commands.orb_path, [str(path)])

    def scan(self) -> str:
        """Have what is picked computed ahead for a number of values, or end that; returns the reason why not, or ""."""
        return self._run(commands.orb_scan, [])

    def scan_to(self, index: int) -> str:
        """Put the atoms to a geometry of the scan, from 0; returns the reason why not, or ""."""
        status = self.status
        if status is None or status.scan is None:
            return ""
        return self._run(commands.orb_scan_to, [status.scan.values[index]])

    def _run(self, command: Command, arguments: Sequence[Any], named: Mapping[str, Any] | None = None) -> str:
        """Run a command; returns the reason why not, or ""."""
        try:
            answer = command.run(self.session, arguments, named)
        except Exception as error:
            return of_error(error)
        self.view.say(answer.text.partition("\n")[0])
        self._look_at_live()
        return ""

    # ---- what there is

    def tick(self) -> None:
        """Look at the live molecule now and then."""
        if self._look_at_live not in self.showing.agenda:
            self.showing.agenda.later(self._look_at_live, _LOOK)

    def _look_at_live(self) -> None:
        live = self.session.live.now
        status = None if live is None else live.status
        if status != self.status:
            if self.status is None and status is not None:
                self.view.say(f"{status.molecule} is live: move its atoms.")
            self.status = status
            self.view.show_live(status)
        if self.session.live.problem:
            self.view.say(self.session.live.problem, error=True)
            self.session.live.problem = ""
        if self.session.live.remark:
            self.view.say(self.session.live.remark)
            self.session.live.remark = ""
        self.list_orbitals()

    def list_orbitals(self) -> None:
        """List the orbitals of the live molecule as they are by now, where those before are listed."""
        showing, live = self.showing, self.session.live.now
        before, listed = showing.wavefunction, showing.listed
        if live is None or live.found is None or before is None or live.molecule != showing.molecule:
            return
        now, source = live.found.wavefunction, self.session.host.molecules().get(showing.molecule, "")
        levels = levels_of(now)
        if source != live.found.source or listed == (showing.molecule, source):
            return
        if [len(those) for those in levels] != [len(those) for those in showing.levels]:
            return  # `follow` lists it as another one
        asked = self.view.chosen() if showing.asking.wanted is not None else None
        showing.listed, showing.wavefunction, showing.levels = (showing.molecule, source), now, levels
        if asked is None:
            self.view.show_levels(self.showing.level_shown())
        else:
            name = live.following.name_now(listed[1], orbital_name(before, asked.index, asked.spin))
            self.view.show_levels(level_of(now, levels, name))
