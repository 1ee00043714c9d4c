"""A surface of a trajectory, and how far its frames have come on their way to the viewer."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

from .request import Box, Request, Sample
from .shown import Shown

_AHEAD = 12
"""Frames computed ahead of the one that is shown."""


@dataclass
class Prepared:
    """A frame on its way from the worker to the viewer."""

    found: Sample
    drawing: Future[Any]


@dataclass
class Film:
    """A surface of a trajectory.

    Attributes
    ----------
    drawn_as
        What all frames of the viewer were drawn from; its request is that of the frame seen last.
    n_frames
        Of the trajectory.
    at, direction
        Frame that is shown, and which way it went the last time.
    drawn
        Bytes of each frame that the viewer has, the one shown longest ago first.
    asked, prepared
        Frames under way.
    refused
        Frames that cannot be had, with the reason.
    since
        When the frame was last changed.
    volumes
        Frames whose volume the viewer has too.
    box
        Lattice of the frame that was drawn last.
    deaths
        Requests lost with their worker.
    confidence
        Of the orbital in the frames that are drawn, where it was followed.
    """

    drawn_as: Shown
    n_frames: int
    at: int
    direction: int = 1
    drawn: OrderedDict[int, int] = field(default_factory=OrderedDict)
    asked: dict[int, Future[Sample]] = field(default_factory=dict)
    prepared: dict[int, Prepared] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    since: float = 0.0
    volumes: set[int] = field(default_factory=set)
    box: Box | None = None
    deaths: int = 0
    confidence: dict[int, float] = field(default_factory=dict)

    def request(self, frame: int) -> Request:
        """What to ask for to see a frame."""
        return replace(self.drawn_as.request, frame=frame, box=self.box)

    def shown(self, frame: int) -> Shown:
        """What is shown when a frame is seen."""
        return replace(self.drawn_as, request=self.request(frame))

    def ahead(self) -> list[int]:
        """Frames from the one that is shown on, in the direction of play; after the last one comes the first."""
        return [(self.at + step * self.direction) % self.n_frames for step in range(min(_AHEAD + 1, self.n_frames))]

    def missing(self, frame: int) -> bool:
        """Whether a frame is neither there nor under way nor refused."""
        return not any(frame in known for known in (self.drawn, self.asked, self.prepared, self.refused))

    def shows_the_same(self, shown: Shown) -> bool:
        """Whether something is shown in another frame, or another transparency, as this film shows it."""
        return _of_all_frames(self.drawn_as) == _of_all_frames(shown)


def _of_all_frames(shown: Shown) -> Shown:
    """What two frames of one film have in common."""
    request = replace(shown.request, frame=None, isovalue=shown.isovalue, box=None)
    return replace(shown, request=request, look=replace(shown.look, transparency=0.0), kept=False, scale=None)
