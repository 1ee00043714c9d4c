"""The panel's other half: what a browser asks of its window, kept until the panel is drawn; see `View`."""

from __future__ import annotations

from functools import cache
from typing import Any

import bpy

from ...model.lattice import QUALITIES
from ...pictures.orbitals import ENERGY_UNITS, Level, summary
from ...session.live.status import LiveStatus
from ...session.seen import Listed
from ...session.shown import Shown
from ...session.source import files_of
from ...session.window.browser import Browser
from ...session.window.view import Finding, Playback
from .commands import session
from .keeping import keep
from .timers import TIMERS
from .view3d import redraw, views

_TICK = 30
"""Milliseconds between two looks at what is under way."""
_FOLLOW = 500
"""Milliseconds between two looks at what was changed by operators, and in Blender."""


class BlenderWindow:
    """The panel as the browser sees it.

    Attributes
    ----------
    browser : Browser
    text, detail : str
        What is told.
    is_error, is_busy : bool
        Whether the text is one, and whether something is computed.
    rows : list of Listed
        Surfaces that are shown.
    current : str
        The one that the panel acts on.
    """

    def __init__(self) -> None:
        self.text = self.detail = self.current = ""
        self.is_error = self.is_busy = False
        self.rows: list[Listed] = []
        self._levels: list[Level] = []
        self._chosen: Level | None = None
        self._filling = False
        self._kept: dict[str, Shown] = {}
        self.browser = Browser(session(), self)
        self.browser.molecules.follow()
        session().panel = self.browser
        session().host.every(_TICK, self.tick)
        session().host.every(_FOLLOW, self.browser.molecules.follow)

    def tick(self) -> None:
        """Look at what is under way; what has changed can be undone."""
        self.browser.tick()
        shelf = session().shelf
        shown = {name: shelf[name] for name in shelf}
        if shown != self._kept and self.browser.at_rest():
            self._kept = shown
            keep(shelf)
            view = next(views(), None)
            if view is not None:
                with bpy.context.temp_override(window=view[0], area=view[1], region=view[2]):
                    bpy.ops.ed.undo_push(message="Orbitile")

    def update(self) -> None:
        """Compute what is shown anew; of a file that has changed, load it again first."""
        name = self.browser.showing.molecule
        source = session().host.molecules().get(name)
        if source is not None and self.browser.showing.wavefunction is None:
            self.browser.molecules.open(*files_of(source)[0:1])
            return
        self.browser.showing.compute_anew()

    def close(self) -> None:
        """End the timers, the worker process and the threads."""
        session().panel = None
        TIMERS.stop()
        self.browser.close()

    # ---- what the user does in the panel

    def choose_orbital(self, index: int) -> None:
        """Show an orbital of the list."""
        if not self._filling and 0 <= index < len(self._levels):
            self._chosen = self._levels[index]
            self.browser.showing.ask_for(self._chosen)

    def choose_molecule(self, name: str) -> None:
        """List the orbitals of another molecule."""
        if not self._filling and name:
            self.browser.molecules.choose(name)

    def ask_for(self, field: str) -> None:
        """Show a field that was typed."""
        if not self._filling and field.strip():
            self.browser.showing.ask_for_named(field.strip())

    def slide_to(self, isovalue: float) -> None:
        """Draw at another isovalue."""
        if not self._filling and self.current and isovalue > 0:
            self.browser.showing.slide_to(float(f"{isovalue:.6g}"))  # Blender holds seven digits

    def choose(self, **changes: Any) -> None:
        """Take over a control: automatic isovalues, quality, transparency, style or second field."""
        if self._filling:
            return
        browser = self.browser
        if "automatic" in changes:
            browser.showing.choose_automatic(changes["automatic"])
        elif "quality" in changes:
            browser.showing.set_quality(changes["quality"])
            browser.showing.compute_anew()
        elif "second" in changes:
            browser.showing.ask_again(color_by=changes["second"].strip(), color_range=None)
        else:
            browser.showing.change_look(**changes)

    # ---- what the browser asks of its window

    def say(self, text: str, error: bool = False, detail: str = "") -> None:
        """Keep a message until the panel is drawn."""
        self.text, self.is_error, self.detail = text, error, detail
        if error:
            session().host.say(text)
        redraw()

    def set_busy(self, busy: bool) -> None:
        """Show that something is computed, or no longer."""
        self.is_busy = busy
        redraw()

    def show_molecule(self) -> None:
        """List orbitals."""
        self._chosen = None
        self._list()

    def show_levels(self, chosen: Level | None) -> None:
        """List orbitals in place of as many before."""
        self._chosen = chosen
        self._list()

    def _list(self) -> None:
        browser = getattr(self, "browser", None)  # its own first look comes before it is known here
        self._levels = [] if browser is None else [level for those in browser.showing.levels for level in those]
        unit = ENERGY_UNITS["eV" if browser is None else browser.showing.choices.unit]
        controls = bpy.context.window_manager.orbitile
        self._filling = True
        controls.orbitals.clear()
        for level in self._levels:
            row = controls.orbitals.add()
            spin = "β " if level.spin == "beta" else ""
            row.name = f"{spin}{level.index + 1}  {unit.text(level.energy)} {unit.name}  {level.symmetry} {level.mark}"
        self._select(self._chosen)
        self._filling = False
        redraw()

    def _select(self, level: Level | None) -> None:
        controls = bpy.context.window_manager.orbitile
        homo = next((index for index, one in enumerate(self._levels) if one.mark == "HOMO"), 0)
        controls.orbital = self._levels.index(level) if level in self._levels else homo

    @property
    def summary(self) -> str:
        """The molecule in a line; empty for none."""
        return "" if self.browser.showing.wavefunction is None else summary(self.browser.showing.wavefunction)

    def show_choices(self) -> None:
        """Set the controls to what they act on."""
        browser = getattr(self, "browser", None)
        if browser is None or self._filling:
            return
        shown = browser.showing.shown()
        look = browser.showing.choices.look if shown is None else shown.look
        controls = bpy.context.window_manager.orbitile
        self._filling = True
        controls.isovalue = browser.showing.isovalue
        controls.automatic = browser.showing.is_automatic
        controls.quality = browser.showing.choices.quality if browser.showing.choices.quality in QUALITIES else "medium"
        controls.transparency, controls.style = look.transparency, look.style
        controls.second = "" if shown is None else shown.request.color_by
        controls.molecule = browser.showing.molecule
        self._filling = False
        redraw()

    def show_surfaces(self, rows: list[Listed], current: str) -> None:
        """List what is shown."""
        self.rows, self.current = rows, current
        level = self.browser.showing.level_shown()
        if level is not None and level != self._chosen:
            self._chosen = level
            self._filling = True
            self._select(level)
            self._filling = False
        redraw()

    def show_field(self, field: str) -> None:
        """Name the field that is asked for."""
        self._filling = True
        bpy.context.window_manager.orbitile.field = field
        self._filling = False

    def opened(self, first: Level | None) -> None:
        """Show an orbital of a file that was opened."""
        if first is not None:
            self._chosen = first
            self.browser.showing.ask_for(first)

    def chosen(self) -> Level | None:
        """The orbital that is selected."""
        return self._chosen

    def neighbours(self) -> list[Level]:
        """Orbitals below and above the one that is selected."""
        if self._chosen not in self._levels:
            return []
        at = self._levels.index(self._chosen)
        return self._levels[at + 1 : at + 2] + self._levels[max(at - 1, 0) : at]

    def show_live(self, status: LiveStatus | None) -> None:
        """Tell what there is to say of the live molecule."""
        if status is not None:
            self.say(status.text, error=status.stage == "failed")

    def show_analysis(self, finding: Finding) -> None:
        """Nothing: analyses are for the operators, which report what they find."""

    def show_playback(self, playback: Playback | None) -> None:
        """Nothing: Blender's own time line shows where a trajectory is."""

    def is_idle(self) -> bool:
        """Whether computing ahead is worth while."""
        return next(views(), None) is not None

    def is_sliding(self) -> bool:
        """False: Blender does not tell when a slider is let go; what it was left at is drawn in a moment."""
        return False

    is_typing = is_scrubbing = is_sliding


@cache
def window() -> BlenderWindow:
    """The window of this Blender, made when it is asked for first."""
    return BlenderWindow()


def is_open() -> bool:
    """Whether it was made."""
    return bool(window.cache_info().currsize)
