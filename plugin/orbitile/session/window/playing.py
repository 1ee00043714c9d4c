"""A trajectory in a window: where it is, what there is of its frames, and how it is played."""

from __future__ import annotations

from dataclasses import replace

from ...trajectories.tracking import DOUBTFUL
from .. import commands
from ..host import trajectory_viewer
from ..player import Player
from .activity import Activity
from .showing import Showing
from .view import Playback


def playback_of(player: Player, surface: str, frame: int, n_frames: int) -> Playback:
    """Where a trajectory is.

    Parameters
    ----------
    player : Player
    surface : str
        The one of its surfaces that is looked at; empty for none.
    frame, n_frames : int
        Frame that is seen, from 0, and how many there are.
    """
    drawn, problems, confidence = player.drawn(surface), player.problems(surface), player.confidence(surface)
    doubtful = frozenset(number for number, value in confidence.items() if value < DOUBTFUL)
    if not surface:
        state = "no orbital is shown"
    elif frame in problems:
        state = f"no surface: {problems[frame]}"
    elif frame in drawn:
        state = "surface shown"
        if frame and frame in confidence:
            state += f", tracking confidence {confidence[frame]:.2f}{', doubtful' if frame in doubtful else ''}"
    elif frame < n_frames and drawn:
        state = "computing the surface …"
    else:
        state = ""
    return Playback(frame, n_frames, player.rate > 0, frozenset(drawn), doubtful, frozenset(problems), state)


class Playing(Activity):
    """The trajectory of the molecule whose orbitals are listed.

    Attributes
    ----------
    playback : Playback or None
        Where the molecule is, if it is a trajectory.
    """

    def __init__(self, showing: Showing) -> None:
        self.showing, self.session, self.view = showing, showing.session, showing.view
        self.playback: Playback | None = None

    def tick(self) -> None:
        """Show where the trajectory is."""
        view, player = self.view, self.session.player
        if player.rate and (view.is_scrubbing() or view.is_sliding()):
            player.linger()
        playback = self._playback()
        if playback != self.playback:
            self.playback = playback
            view.show_playback(playback)

    def _playback(self) -> Playback | None:
        showing = self.showing
        if showing.n_frames <= 1:
            return None
        frame = trajectory_viewer(showing.session.host).frame(showing.molecule)
        if frame is None:
            return None
        return playback_of(self.session.player, showing.current(), frame, showing.n_frames)

    def play(self, playing: bool) -> None:
        """Play the trajectory, as `orb_play` does, or stop."""
        showing, base = self.showing, self.showing.current()
        if playing and not base:
            showing.view.say("Choose an orbital in the table: frames are played with its surface.", error=True)
            return
        given = [showing.choices.rate, base] if playing else [0]
        showing.attempt(lambda: commands.orb_play.run(showing.session, given))

    def choose_rate(self, rate: int) -> None:
        """Play by so many frames a second at most, now or the next time."""
        self.showing.choices = replace(self.showing.choices, rate=rate)
        if self.session.player.rate:
            self.play(True)

    def go_to(self, frame: int) -> None:
        """Show another frame; where the trajectory plays, it goes on from there."""
        trajectory_viewer(self.session.host).go_to(self.showing.molecule, frame)

    def step(self, step: int) -> None:
        """Stop, and show the next frame, or the one before; after the last comes the first."""
        self.play(False)
        frame = trajectory_viewer(self.session.host).frame(self.showing.molecule)
        if frame is not None and self.showing.n_frames:
            self.go_to((frame + step) % self.showing.n_frames)
