"""What a view is of: the frames of a trajectory, or one wavefunction as the only frame."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from typing import Generic, TypeVar

from ...base.caches import Cache
from ...base.errors import NoSurface, OrbitileError
from ...base.watch import Progress, watched
from ...evaluation.requests import FileReferences, field_of
from ...fields import Field
from ...model.trajectory import Trajectory
from ...model.volume import Volume
from ...model.wavefunction import Wavefunction
from ...pictures.pages import bare_slide, slide_of
from ...pictures.request import MOST_FACES, Request
from ...pictures.surface import Sampling, drawn, isovalue_of, lattice_for, range_about
from ...readers import load_trajectory
from ...scenes.web import Slide
from ...trajectories.paths import align, follow
from ...trajectories.tracking import pinned


class Subject:
    """What a view is of, and the slides of it; they are asked for by one thread at a time.

    Parameters
    ----------
    of : Wavefunction, Trajectory or path
        A trajectory is aligned, and its orbitals are followed: they are named as in the first frame.

    Attributes
    ----------
    first : Wavefunction
        The first frame.
    n_frames : int
    """

    def __init__(self, of: Wavefunction | Trajectory | str | PathLike[str]) -> None:
        if isinstance(of, (str, PathLike)):
            of = load_trajectory(of)
        if not isinstance(of, (Wavefunction, Trajectory)):
            raise OrbitileError(
                f"view: expected a Wavefunction, a Trajectory or the name of a file, got {type(of).__name__}"
            )
        self._path = None if isinstance(of, Wavefunction) or len(of) == 1 else align(follow(of))
        self.n_frames = 1 if self._path is None else len(self._path)
        self.first = of if isinstance(of, Wavefunction) else (self._path or of)[0]
        self._references = FileReferences()
        self._isovalues = Cache[float]("numbers")
        self._sampled: tuple[tuple[object, ...], float, Volume] | None = None

    def wavefunction(self, frame: int) -> Wavefunction:
        """One frame, its orbitals followed from the first one."""
        return self.first if self._path is None else self._path[frame]

    def slide(self, request: Request) -> Slide:
        """What is asked for; the molecule alone, and why, where the field has no such surface.

        Raises
        ------
        OrbitileError
            When there is no such field or frame, a file has changed, or something cannot be computed.
        """
        frame = request.frame or 0
        wavefunction = self.wavefunction(frame)
        asked = replace(drawn(request, wavefunction), most_faces=MOST_FACES)
        asked = asked if self._path is None else replace(asked, field=pinned(self.first, asked.field))
        isovalue = asked.isovalue
        try:
            isovalue = self._usual_isovalue(asked) if isovalue is None else isovalue
            field = field_of(wavefunction, asked.field, self._references)
            volume = self._volume(wavefunction, field, isovalue, asked)
            found = Sampling(asked, wavefunction, field, isovalue, volume.lattice, self._references)
            surface, _ = found.surface_in(volume)
        except NoSurface as error:
            bare = bare_slide(wavefunction, asked.field, str(error))
            return replace(bare, color_by=request.color_by, isovalue=isovalue or 0.0, frame=frame)
        slide = slide_of(found.coloured(surface), wavefunction, asked.field, asked.color_by)
        low, high = range_about(self._isovalues.get((asked.field, asked.color_by, asked.device)) or isovalue, volume)
        return replace(slide, frame=frame, range=(min(low, isovalue), max(high, isovalue)))

    def _usual_isovalue(self, request: Request) -> float:
        """That which suits the first frame; it is the same for all of them."""
        field = field_of(self.first, request.field, self._references)
        key = request.field, request.color_by, request.device
        return self._isovalues.of(key, lambda: isovalue_of(request, self.first, field))

    def _volume(self, wavefunction: Wavefunction, field: Field, isovalue: float, request: Request) -> Volume:
        """Values of a field where the surface is: those of the last time, if they reach as far."""
        key = request.field, request.frame, request.quality
        if self._sampled is not None:
            known, least, volume = self._sampled
            if known == key and isovalue >= least * (1 - 1e-9):
                return volume
            if known == key:  # the user goes down with the isovalue: not a lattice for each step
                isovalue = max(isovalue / _FURTHER, math.ulp(1.0))
        lattice = lattice_for(request, wavefunction, field, isovalue)
        volume = Sampling(request, wavefunction, field, isovalue, lattice).volume()
        self._sampled = key, isovalue, volume
        return volume


_FURTHER = 2.0
"""A lattice that a surface has grown out of is replaced by one for an isovalue that many times less."""


_Result = TypeVar("_Result")

_Work = Callable[[], _Result]
_Done = Callable[["_Result | None", "Exception | None"], None]


class Newest(Generic[_Result]):
    """Does in a thread what was asked for last, one thing at a time.

    What is asked for while something is done withdraws that, which ends at its next checkpoint
    (`base.watch.checkpoint`); what has waited meanwhile is forgotten. There is no thread while there is nothing to
    do. An interrupt of the kernel reaches its main thread alone, and not this one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: tuple[_Work[_Result], _Done[_Result], Progress | None] | None = None
        self._withdrawn = threading.Event()
        self._idle = threading.Event()
        self._idle.set()

    def ask(self, work: _Work[_Result], done: _Done[_Result], progress: Progress | None = None) -> None:
        """Have something done; `done` is called from the thread with result or error, unless withdrawn.

        `progress` is called from there too, with the share that is done.
        """
        with self._lock:
            self._waiting = work, done, progress
            self._withdrawn.set()
            if self._idle.is_set():
                self._idle.clear()
                threading.Thread(target=self._run, name="orbitile view", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._waiting is None:
                    self._idle.set()
                    return
                (work, done, progress), self._waiting = self._waiting, None
                self._withdrawn = withdrawn = threading.Event()
            result, failure = None, None
            try:
                with watched(progress, withdrawn.is_set):
                    result = work()
            except Exception as error:  # whatever it is, who asked is told of it
                failure = error
            if not withdrawn.is_set():
                done(result, failure)
            del work, done, progress, result  # and with them what they hold, while the lock is waited for

    def cancel(self) -> None:
        """Withdraw all that was asked for."""
        with self._lock:
            self._waiting = None
            self._withdrawn.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until there is nothing to do; says whether that is so."""
        return self._idle.wait(seconds)
