"""Where a trajectory is, and what there is of its frames."""

from __future__ import annotations

from dataclasses import dataclass

from ..trajectories.tracking import DOUBTFUL
from .player import Player


@dataclass(frozen=True)
class Playback:
    """Where the trajectory of a molecule is.

    Attributes
    ----------
    frame : int
        That is shown, from 0; it may lie beyond the last one, where other objects of the viewer have more.
    n_frames : int
    playing : bool
    drawn, doubtful, refused : frozenset of int
        Frames whose surface the viewer has; those of them to which the orbital was followed with a confidence below
        `orbitile.trajectories.tracking.DOUBTFUL`; and frames that have none.
    state : str
        What there is to say of the frame that is shown.
    """

    frame: int
    n_frames: int
    playing: bool
    drawn: frozenset[int]
    doubtful: frozenset[int]
    refused: frozenset[int]
    state: str


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
