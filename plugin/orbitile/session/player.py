"""Surfaces of trajectories, kept in step with the frame that a viewer is at.

The viewer calls `Player.tick` every few milliseconds, in the thread that it belongs to; nothing here waits. A frame
that is shown is computed first, then those ahead of it in the direction of play, by the worker process. What the viewer
draws them from is prepared in a thread, and one frame a tick is handed over, in another tick than the next is shown;
the volume is when the film rests, unless the viewer draws surfaces from it.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from ..base.errors import Cancelled, OrbitileError
from ..pictures.look import VOLUME_STYLES
from ..pictures.request import Box, Request, Sample, box_of
from ..workers import WorkerError
from .computing import Computing
from .host import TrajectoryViewer, Viewer, trajectory_viewer
from .shelf import Shelf
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


TICK = 10
"""Milliseconds between two ticks."""

MEMORY = 1024
"""Megabytes that drawn frames may take, unless the settings of the viewer say otherwise under `frames_memory`."""

_AT_ONCE = 3
"""Requests that wait at the worker: enough to keep it busy, few enough to be overtaken."""
_DEATHS = 12
"""Requests of a film that may be lost with their worker before frames are given up."""
_REST = 0.3
"""Seconds without a change of frame after which it rests, and the volume follows: a viewer takes as long to take that
over as the surface."""


class Player:
    """Keeps surfaces of trajectories in step with the frame that a viewer is at.

    Parameters
    ----------
    viewer : Viewer
    shelf : Shelf
        What it shows.
    computing : Computing
        Where frames come from.
    memory : int
        Megabytes that drawn frames may take.

    Attributes
    ----------
    memory : int
        As above; `trim` keeps a smaller one.
    """

    def __init__(self, viewer: Viewer, shelf: Shelf, computing: Computing, memory: int) -> None:
        self._any_viewer, self._shelf, self._computing, self.memory = viewer, shelf, computing, memory
        shelf.observe(self)
        self._films: dict[str, Film] = {}
        self._threads = ThreadPoolExecutor(1, thread_name_prefix="orbitile-film")
        self._molecule = ""
        self._rate = 0.0
        self._due = 0.0

    @property
    def _viewer(self) -> TrajectoryViewer:
        return trajectory_viewer(self._any_viewer)

    # ---- what is shown

    def take_up(self, base: str, shown: Shown, found: Sample) -> None:
        """Take note of a frame that is about to be put, and show the others in the same way from now on.

        Call it before the surface is put: states that show something else are taken away.

        Raises
        ------
        OrbitileError
            When the viewer has no frames.
        """
        viewer, frame = self._viewer, shown.request.frame
        assert frame is not None  # surfaces of single wavefunctions do not come here
        film = self._films.get(base)
        if film is None or not film.shows_the_same(shown):
            self.surface_removed(base)
            self._shelf.clear(base)
            n_frames = len(self._computing.wavefunctions.trajectory(shown.request.path).path)
            film = self._films[base] = Film(shown, n_frames, frame)
        film.drawn_as = shown
        film.volumes.add(frame)  # it is put with the surface, or soon after
        self._note(base, film, frame, found)
        if not self._computing.in_worker:
            self._computing.in_worker = viewer.every(TICK, self.tick)

    def drawn(self, base: str) -> list[int]:
        """Frames of a surface that the viewer has, from 0, in order."""
        return sorted(self._films[base].drawn) if base in self._films else []

    def problems(self, base: str) -> dict[int, str]:
        """Why frames of a surface cannot be had."""
        return dict(self._films[base].refused) if base in self._films else {}

    def confidence(self, base: str) -> dict[int, float]:
        """How surely the orbital was followed, for the frames of a surface that the viewer has."""
        return dict(self._films[base].confidence) if base in self._films else {}

    @property
    def limit(self) -> int:
        """Bytes that drawn frames may take."""
        return self.memory << 20

    def taken(self) -> int:
        """Bytes that drawn frames take, about."""
        return sum(sum(film.drawn.values()) for film in self._films.values())

    def fill(self, base: str, frames: Sequence[int]) -> list[str]:
        """Compute and hand over frames one after the other, and wait for it; returns what went wrong with some.

        Raises
        ------
        OrbitileError
            When they do not fit under the limit; nothing has been computed then but the first of them.
        Cancelled
            When the session was told so.
        """
        film = self._films[base]
        problems: list[str] = []
        checked = False
        for n, frame in enumerate(frames):
            self._viewer.progress(n / len(frames))
            if frame in film.drawn:
                continue
            film.prepared.pop(frame, None)
            if frame in film.asked:
                film.asked.pop(frame).cancel()
            try:
                found = self._computing.sampled(film.request(frame))
            except Cancelled:
                raise
            except OrbitileError as error:
                film.refused[frame] = str(error)
                problems.append(f"frame {frame + 1}: {error}")
                continue
            if not checked:
                checked = True
                missing = sum(other not in film.drawn for other in frames)
                _require_room(missing, self._size(found), self.limit - self._kept(film, frames))
            drawing: Future[Any] = Future()
            drawing.set_result(self._viewer.drawing(found.surface, film.drawn_as.look))
            self._put(base, film, frame, Prepared(found, drawing), wanted=set(frames), with_volume=True)
        self._viewer.progress(1.0)
        return problems

    def _size(self, found: Sample) -> int:
        return self._viewer.size(found.surface, found.volume)

    def _kept(self, film: Film, frames: Sequence[int]) -> int:
        """Bytes of frames that are not to be pushed out by others: those of a range that are drawn already."""
        return sum(film.drawn[frame] for frame in frames if frame in film.drawn)

    def play(self, rate: float, molecule: str = "") -> None:
        """Go on by itself, by so many frames a second at most and never ahead of the surfaces of a molecule; 0 stops.

        Without a molecule it is that of the surface shown last.
        """
        self._rate, self._molecule, self._due = rate, molecule, time.monotonic()

    def linger(self) -> None:
        """Go on no sooner than in a moment: somebody holds the frame that is shown."""
        self._due = max(self._due, time.monotonic() + _REST)

    @property
    def rate(self) -> float:
        """Frames a second, at most, by which it goes on by itself; 0 where it does not."""
        return self._rate

    def at_rest(self) -> bool:
        """Whether the frame that is shown is drawn, and all those ahead that are to be."""
        return all(
            self._viewer.frame(film.drawn_as.molecule) == film.at
            and (film.at in film.volumes or film.at in film.refused)
            and not (film.asked or film.prepared)
            for film in self._films.values()
        )

    def molecule_renamed(self, old: str, new: str) -> None:
        """Follow a molecule that was given another name."""
        self._molecule = new if self._molecule == old else self._molecule
        for film in self._films.values():
            if film.drawn_as.molecule == old:
                film.drawn_as = replace(film.drawn_as, molecule=new)

    def surface_renamed(self, old: str, new: str) -> None:
        """Follow a surface that was given another name."""
        self._films = {new if base == old else base: film for base, film in self._films.items()}

    def surface_removed(self, name: str) -> None:
        """Withdraw what is under way of a surface that is no longer shown."""
        film = self._films.pop(name, None)
        if film is not None:
            for future in film.asked.values():
                future.cancel()

    def close(self) -> None:
        """End the thread."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    # ---- a few milliseconds at a time

    def tick(self) -> None:
        """Look at what has come, and ask for what is to come."""
        present = set(self._shelf.present())
        for base in list(self._films):
            if base not in present:
                self.surface_removed(base)
                continue
            film = self._films[base]
            self._look(base, film)
            self._take(film)
            self._ask(film)
        if not self._go_on():  # one of both: the viewer draws in between
            any(self._hand_over(base, film) for base, film in self._films.items())

    def _look(self, base: str, film: Film) -> None:
        frame = self._viewer.frame(film.drawn_as.molecule)
        now = time.monotonic()
        if frame is None or not 0 <= frame < film.n_frames:
            return
        if frame != film.at:
            step = (frame - film.at + film.n_frames // 2) % film.n_frames - film.n_frames // 2  # the shorter way round
            film.direction = 1 if step > 0 else -1
            film.at, film.since = frame, now
            wanted = set(film.ahead())
            for other in [other for other in film.asked if other not in wanted]:
                film.asked.pop(other).cancel()
            if frame in film.drawn:
                film.drawn.move_to_end(frame)
                self._turn_to(base, film, frame)
        elif now - film.since > _REST and frame in film.drawn and frame not in film.volumes:
            request = film.request(frame)
            if request in self._computing.samples:
                film.volumes.add(frame)
                self._shelf.put_volume(base, film.shown(frame), self._computing.sampled(request).volume)
            elif frame not in film.asked and frame not in film.prepared:
                film.asked[frame] = self._computing.worker.submit(request)

    def _turn_to(self, base: str, film: Film, frame: int) -> None:
        film.drawn_as = film.shown(frame)
        self._shelf.turn_to(base, film.drawn_as)

    def _take(self, film: Film) -> None:
        """What the worker has done; its drawing is prepared in a thread."""
        for frame in [frame for frame, future in film.asked.items() if future.done()]:
            future = film.asked.pop(frame)
            if future.cancelled():
                continue
            error = future.exception()
            if isinstance(error, Cancelled):
                continue
            if isinstance(error, WorkerError) and film.deaths < _DEATHS:
                film.deaths += 1  # the worker is replaced at the next request
                continue
            if error is not None:
                self._refuse(film, frame, error)
                continue
            self._prepare(film, frame, future.result())

    def _refuse(self, film: Film, frame: int, error: BaseException) -> None:
        film.refused[frame] = str(error)
        if frame == film.at:
            self._viewer.say(f"frame {frame + 1}: {error}")

    def _prepare(self, film: Film, frame: int, found: Sample) -> None:
        look = film.drawn_as.look
        film.prepared[frame] = Prepared(found, self._threads.submit(self._viewer.drawing, found.surface, look))

    def _hand_over(self, base: str, film: Film) -> bool:
        """One frame to the viewer, if there is any: the one that is shown, or the nearest one ahead."""
        for frame in film.ahead():
            done = film.prepared.get(frame)
            if done is not None and done.drawing.done():
                del film.prepared[frame]
                try:
                    is_volume = film.drawn_as.look.style in VOLUME_STYLES
                    self._put(base, film, frame, done, with_volume=is_volume or self._viewer.draws_volumes)
                except OrbitileError as error:
                    self._refuse(film, frame, error)
                return True
        wanted = set(film.ahead())
        for other in [other for other in film.prepared if other not in wanted]:
            del film.prepared[other]
        return False

    def _put(
        self,
        base: str,
        film: Film,
        frame: int,
        done: Prepared,
        wanted: set[int] | None = None,
        with_volume: bool = False,
    ) -> None:
        shown, found = film.shown(frame), done.found
        self._computing.samples.put_behind(found)
        self._shelf.put_frame(base, shown, done.drawing.result(), found.surface.colouring)
        if with_volume:
            film.volumes.add(frame)
            self._shelf.put_volume(base, shown, found.volume)
        self._note(base, film, frame, found, wanted)
        if frame == film.at:
            self._turn_to(base, film, frame)

    def _note(self, base: str, film: Film, frame: int, found: Sample, wanted: set[int] | None = None) -> None:
        film.drawn[frame], film.box = self._size(found), box_of(found.volume.lattice)
        if found.confidence is not None:
            film.confidence[frame] = found.confidence
        film.drawn.move_to_end(frame)
        self._trim(base, film, frame, wanted or set(film.ahead()))

    def trim(self) -> None:
        """Drop frames until the limit is kept."""
        for base, film in self._films.items():
            self._trim(base, film, film.at, set(film.ahead()))

    def _trim(self, base: str, film: Film, kept: int, wanted: set[int]) -> None:
        """Drop frames of a film, those shown longest ago first, and those that are wanted last; never `kept`."""
        limit = self.limit
        while self.taken() > limit and len(film.drawn) > 1:
            others = [other for other in film.drawn if other != kept]
            oldest = next((other for other in others if other not in wanted), others[0])
            del film.drawn[oldest]
            film.volumes.discard(oldest)
            film.confidence.pop(oldest, None)
            self._shelf.drop_frame(base, oldest)

    def _ask(self, film: Film) -> None:
        room = self.limit - self.taken()
        size = max(film.drawn.values(), default=0)
        for n, frame in enumerate(film.ahead()):
            if len(film.asked) + len(film.prepared) >= _AT_ONCE:
                break
            if n and n * size > room + sum(film.drawn.values()):
                break  # more frames ahead than the limit holds would push each other out
            if film.missing(frame):
                request = film.request(frame)
                if request in self._computing.samples:
                    self._prepare(film, frame, self._computing.sampled(request))
                else:
                    film.asked[frame] = self._computing.worker.submit(request)

    def _go_on(self) -> bool:
        """The next frame, if it is due and there; says whether it was."""
        now = time.monotonic()
        if not self._rate or now < self._due:
            return False
        films = [self._films[base] for base in reversed(self._shelf) if base in self._films]
        of_molecule = (film for film in films if film.drawn_as.molecule == self._molecule)
        film = next(of_molecule, films[0] if films else None)
        if film is None:
            self._rate = 0.0
            return False
        following = film.at + 1 if film.at + 1 < film.n_frames else 0
        molecule = film.drawn_as.molecule
        together = [other for other in films if other.drawn_as.molecule == molecule]
        if not all(
            frame in other.drawn or frame in other.refused for other in together for frame in (film.at, following)
        ):
            return False
        self._due = max(self._due + 1 / self._rate, now - 0.1)
        film.direction = 1
        self._viewer.go_to(molecule, following)
        return True


def _require_room(n_frames: int, n_bytes: int, limit: int) -> None:
    """Refuse a range of frames that would not fit under the limit.

    Raises
    ------
    OrbitileError
        Says how many would.
    """
    if n_frames * n_bytes > limit:
        raise OrbitileError(
            f"{n_frames} frames take about {n_frames * n_bytes / 2**20:.0f} MB, the limit is {limit / 2**20:.0f} MB, "
            f"which holds {max(1, limit // n_bytes)}: show fewer at a time, choose a coarser quality, or raise the "
            "limit with orb_memory"
        )
