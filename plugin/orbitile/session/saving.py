"""Pictures and films in files, drawn by processes of their own."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ..base.errors import OrbitileError
from ..workers import Worker
from .calculation import BackgroundJob
from .computing import Computing
from .host import Viewer
from .picture import Moment, Picture, save_film, save_picture

_IDLE = 120.0
"""Seconds after which the process that draws pictures ends, if no other is asked for."""

_NICE = 5
"""How far these processes step back for the window."""
_LOOK = 100
"""Milliseconds between two looks at a film that is drawn."""


class RunningFilm(BackgroundJob):
    """A film that is drawn by a process of its own; nothing is left of one that is cancelled.

    Parameters
    ----------
    picture : Picture
        The first one.
    moments : list of Moment
        What each picture of it shows.
    rate : float
        Pictures a second.
    target : Path
        As `orbitile.pictures.writing.checked_film` gave it.
    """

    def __init__(self, picture: Picture, moments: list[Moment], rate: float, target: Path) -> None:
        self.target, self.n_pictures = target, len(moments)
        super().__init__(_drawer("the film"), save_film, picture, moments, rate, target)

    def finish(self) -> str:
        """What there is to say of it, once it has ended; errors as of `result`."""
        left_out = self.result()
        without = f"; without a surface: {'; '.join(left_out[:3])}" if left_out else ""
        return f"wrote {self.target}: {self.n_pictures} pictures{without}"


class Saving:
    """Pictures and films of what a viewer shows.

    Parameters
    ----------
    host : Viewer
    computing : Computing
        Of the viewer.

    Attributes
    ----------
    film : RunningFilm or None
        What is drawn in the background.
    outcome : str
        What became of the last film.
    """

    def __init__(self, host: Viewer, computing: Computing) -> None:
        self._host, self._computing = host, computing
        self._drawer = _drawer("the process that draws")
        self._tracer = Worker("the ray tracer", patience=0.0, idle=_IDLE, nice=_NICE)
        self._pictures = 0
        self.film: RunningFilm | None = None
        self.outcome = ""

    @property
    def is_busy(self) -> bool:
        """Whether a picture or a film is being drawn."""
        return self._pictures > 0 or self.film is not None

    @property
    def share(self) -> float | None:
        """Share of a film that is done; None where nobody knows."""
        return None if self.film is None else self.film.share

    def picture(self, picture: Picture, target: Path) -> None:
        """Draw a picture by our renderer into a PNG file, and wait for it.

        Raises
        ------
        OrbitileError
            When it cannot be drawn or written, or `orb_cancel` withdraws it.
        """
        self._draw(partial(self._drawer.call, save_picture, picture, target))

    def traced_picture(self, picture: Picture, target: Path) -> None:
        """Have a picture drawn by the ray tracer of the viewer into a PNG file, and wait for it.

        Raises
        ------
        OrbitileError
            When the viewer has none, it cannot be drawn or written, or `orb_cancel` withdraws it.
        """
        trace, scene = self._host.ray_tracing({drawn.name for pane in picture.panes for drawn in pane})
        self._draw(partial(self._tracer.call, save_picture, picture, target, partial(trace, scene)))

    def _draw(self, draw: Callable[[], None]) -> None:
        self._pictures += 1
        try:
            self._computing.aside(draw)
        finally:
            self._pictures -= 1

    def begin_film(self, film: RunningFilm) -> None:
        """Follow a film that is drawn; where the viewer cannot be left alone, wait for it.

        Raises
        ------
        OrbitileError
            When waited for and failed.
        """
        self.film = film
        if self._host.every(_LOOK, self._look):
            return
        film.wait(lambda: self._host.progress(film.share))
        self.film = None
        film.finish()

    def _look(self) -> None:
        film = self.film
        if film is None:
            return
        self._host.progress(film.share)
        if not film.running():
            self.film = None
            try:
                self.outcome = film.finish()
            except OrbitileError as error:
                self.outcome = f"{film.target}: {error}"
            self._host.say(self.outcome)

    def cancel(self) -> bool:
        """Withdraw what is drawn, from any thread; says whether there was anything."""
        busy, film = self.is_busy, self.film
        if self._pictures:
            self._computing.cancel()
        if film is not None:
            self._computing.aside(film.cancel)  # it may take a moment to end
        return busy


def _drawer(name: str) -> Worker:
    """A process that draws by our renderer; of a Python that can compute, since a film asks for other frames."""
    return Worker(name, python=os.environ.get("ORBITILE_PYTHON"), idle=_IDLE, nice=_NICE)
