"""What a user does in a window, and what follows from it; see `orbitile.session.browsing` for how it is done."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..errors import OrbitileError
from . import commands
from .browsing import QUIET, Browsing
from .choices import TWO_COLOURS
from .host import Colour, trajectory_viewer
from .words import of_error


class Browser(Browsing):
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
        self.choices = replace(self.choices, automatic=automatic)
        self.ask_again()

    def choose_second(self, name: str) -> None:
        """Colour by a second field."""
        self.choices = replace(self.choices, color_by="" if name == TWO_COLOURS else name)
        self.ask_again()

    def choose_keep(self, keep: bool) -> None:
        """Leave what is shown when the next is."""
        self.choices = replace(self.choices, keep=keep)

    def choose_colours(self, positive: Colour, negative: Colour) -> None:
        """Draw in other colours."""
        self.choices = replace(self.choices, colours=(positive, negative))
        self.remember()
        held = self._held()
        if held is None:
            self.ask_again()
        else:
            base, shown, found = held
            self._draw(replace(shown, colours=self.choices.colours), found, redraws=base)

    def choose_transparency(self, transparency: float) -> None:
        """Draw more or less transparent."""
        self.choices = replace(self.choices, transparency=transparency)
        current = self.current()
        if current:
            self.session.shelf.set_transparency(current, transparency)

    def slide_to(self, isovalue: float) -> None:
        """Draw a draft at another isovalue, and a surface from all points when the slider rests."""
        self.choices = replace(self.choices, isovalue=isovalue, automatic=False)
        if self.current():
            self._stop_ahead()
            self._agenda.soon(self._draw_draft)  # several moves of the mouse make one surface
            self._agenda.later(self._draw_exact, QUIET)

    def choose_isovalue(self, text: str) -> None:
        """Draw at an isovalue that was typed."""
        shown = f"{self.choices.isovalue:.4g}"
        if text == shown:
            return
        try:
            isovalue = commands.orb_iso.arguments[0].read(text)
        except OrbitileError as error:
            self.view.say(str(error), error=True)
            self.view.show_choices()
            return
        if isovalue != float(shown):
            self.choices = replace(self.choices, automatic=False)
            self._set_isovalue(isovalue)
            self._draw_exact()

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
