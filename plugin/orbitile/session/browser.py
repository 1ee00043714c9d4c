"""What a user does in a window, and what follows from it; see `orbitile.session.browsing` for how it is done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import OrbitileError
from ..fields import with_absolute_files
from . import commands
from .asking import Asked
from .choices import TWO_COLOURS
from .commands.loading import usual_view
from .host import trajectory_viewer
from .orbital_browsing import LISTED_ORBITALS, OrbitalBrowsing
from .presets import PresetSurface, preset_named, surfaces_of
from .showing import QUIET
from .words import of_error


class Browser(OrbitalBrowsing):
    """What a window shows and does, without the window; parameters and attributes as of `Browsing`."""

    # ---- choices

    def set_quality(self, quality: str) -> None:
        """Compute at another quality from now on."""
        self.choices = replace(self.choices, quality=quality)

    def compute_anew(self) -> None:
        """Compute what is shown at the quality that was set."""
        self.ask_again()
        if not self.current():
            self._warmed = False  # the first orbital of another quality takes longest
            self._agenda.later(self._look_ahead)

    def choose_device(self, device: str) -> None:
        """Compute on another device."""
        try:
            commands.orb_device.run(self.session, [device])
        except Exception as error:
            self.view.say(of_error(error), error=True)
            self.view.show_choices()
        else:
            self.view.say(f"Computing on {device}.")
            self.ask_again()

    def choose_automatic(self, automatic: bool) -> None:
        """Let each orbital have the isovalue that encloses 90 % of it, or all of them the same."""
        self.choices = replace(self.choices, automatic=automatic, isovalue=self.isovalue)
        self.ask_again(isovalue=None if automatic else self.isovalue)

    def choose_second(self, name: str) -> None:
        """Colour by a second field."""
        color_by = "" if name == TWO_COLOURS else name
        self.ask_again(color_by=color_by, color_range=None)

    def choose_range(self, color_range: float | None) -> None:
        """Have the colours span minus this to plus this; None for a range from the data."""
        self.ask_again(color_range=color_range)

    def choose_unit(self, unit: str) -> None:
        """List energies in another unit."""
        self.choices = replace(self.choices, unit=unit)
        self.remember()

    def opening_view(self) -> str:
        """What becomes of the view when a file is opened, of `VIEWS`."""
        return usual_view(self.session)

    def choose_opening_view(self, view: str) -> None:
        """Have another thing become of it from now on."""
        self.remember(opening=view)

    # ---- what is shown

    def choose_surface(self, name: str) -> None:
        """Act on another surface, and list the orbitals of its molecule."""
        shelf = self.session.shelf
        if name in shelf:
            self._queue.clear()
            shelf.choose(name)
            self.choose_molecule(shelf[name].molecule)
            self._listing()

    def set_visible(self, name: str, visible: bool) -> None:
        """Hide a surface, or show it again."""
        self._do(lambda: self.session.shelf.set_visible(name, visible))

    def keep(self, name: str, kept: bool) -> None:
        """Have a surface stay when the next field is shown, or no longer."""
        if name in self.session.shelf:
            self.session.shelf.keep(name, kept)
        self._listing()

    def delete(self, name: str) -> None:
        """Delete a surface and its volume."""
        if name in self.session.shelf:
            if name == self.current():
                self.asking.withdraw()
                self._painter.stop()
                self.view.set_busy(self.is_busy())
            self._do(lambda: self.session.shelf.remove(name))

    def _do(self, function: Callable[[], None]) -> None:
        try:
            function()
        except Exception as error:
            self.view.say(of_error(error), error=True)
        self._listing()

    def change_look(self, **changes: Any) -> None:
        """Draw the surface, and those to come, in another way; changes are parts of a `Look`."""
        shown = self.shown()
        self.choices = replace(self.choices, look=replace(self.choices.look, **changes))
        self.remember()
        if shown is None:
            return
        look = replace(shown.look, **changes)
        if set(changes) == {"transparency"}:
            self.session.shelf.set_transparency(self.current(), look.transparency)
            return
        held = self._held()
        if held is None:
            self.ask_again(look=look)
        else:
            self._draw(replace(shown, look=look), held[2], redraws=held[0])

    def slide_to(self, isovalue: float) -> None:
        """Draw a draft at another isovalue, and a surface from all points when the slider rests."""
        self.isovalue = isovalue
        if self.acts_on_orbital():
            self.choices = replace(self.choices, isovalue=isovalue, automatic=False)
        if self.current():
            self._stop_ahead()
            self._agenda.soon(self._draw_draft)  # several moves of the mouse make one surface
            self._agenda.later(self._draw_exact, QUIET)

    def choose_isovalue(self, text: str) -> None:
        """Draw at an isovalue that was typed."""
        shown = f"{self.isovalue:.4g}"
        if text == shown:
            return
        try:
            isovalue = commands.orb_iso.arguments[0].read(text)
        except OrbitileError as error:
            self.view.say(str(error), error=True)
            self.view.show_choices()
            return
        if isovalue != float(shown):
            self.isovalue = isovalue
            if self.acts_on_orbital():
                self.choices = replace(self.choices, isovalue=isovalue, automatic=False)
            self._draw_exact()

    def show_preset(self, name: str, file: str = "") -> None:
        """Show a preset, one with a file to compare with where it needs that."""
        if self.wavefunction is None:
            return
        try:
            surfaces = surfaces_of(preset_named(name), self.wavefunction, file)
        except OrbitileError as error:
            self.view.say(str(error), error=True)
            return
        self.ask_for_several([self._of_preset(surface) for surface in surfaces], side_by_side=len(surfaces) > 1)
        self.choose_orbitals(name if name in LISTED_ORBITALS else self.scheme)

    def _of_preset(self, surface: PresetSurface) -> Asked:
        look, transparency = self.choices.look, surface.transparency
        look = look if transparency is None else replace(look, transparency=transparency)
        return Asked(with_absolute_files(surface.field), surface.isovalue, surface.color_by, look=look)

    # ---- trajectories

    def play(self, playing: bool) -> None:
        """Play the trajectory, as `orb_play` does, or stop."""
        base = self.current()
        if playing and not base:
            self.view.say("Choose an orbital in the table: frames are played with its surface.", error=True)
            return
        try:
            commands.orb_play.run(self.session, [self.choices.rate, base] if playing else [0])
        except Exception as error:
            self.view.say(of_error(error), error=True)

    def choose_rate(self, rate: int) -> None:
        """Play by so many frames a second at most, now or the next time."""
        self.choices = replace(self.choices, rate=rate)
        if self.session.player.rate:
            self.play(True)

    def go_to(self, frame: int) -> None:
        """Show another frame; where the trajectory plays, it goes on from there."""
        trajectory_viewer(self.session.host).go_to(self.molecule, frame)

    def step(self, step: int) -> None:
        """Stop, and show the next frame, or the one before; after the last comes the first."""
        self.play(False)
        frame = trajectory_viewer(self.session.host).frame(self.molecule)
        if frame is not None and self._n_frames:
            self.go_to((frame + step) % self._n_frames)

    # ---- export and what is remembered

    def export(self, path: str | Path) -> None:
        """Write what is shown; the suffix of the file decides how."""
        try:
            commands.orb_export.run(self.session, [str(path), self.current()])
        except Exception as error:
            self.view.say(of_error(error), error=True)
        else:
            self.view.say(f"Wrote {path}")
