"""What a host asks for, computed in the process that calls this: in the host itself, or in its worker."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib.resources import as_file, files
from typing import Any, TypeVar

from ..base.errors import OrbitileError
from ..base.watch import Cancel, Progress, checkpoint, patiently, stage, tell, watched
from ..evaluation.devices import one_device
from ..evaluation.preparation import SURFACES, is_ready, take_step
from ..evaluation.requests import field_of
from ..evaluation.surfaces import extract_surface
from ..fields import Field
from ..model.surface import Surface
from ..model.volume import Volume
from ..model.wavefunction import Wavefunction
from ..pictures.request import Request, Sample, surface_within
from ..pictures.surface import sampling
from ..readers import load
from ..readers._references import FileReferences
from ..surfaces.isosurface import isosurface
from ..surfaces.isovalue import suitable_isovalue
from ..workers import afterwards
from .shown_trajectory import ShownTrajectory
from .source import OneFile, Source, is_trajectory, require_unchanged
from .volume_file import chosen, is_volume_file, volumes_of

_READ, _FOLLOWED = 0.05, 0.4
"""Share of a request in which the wavefunction is read; of a frame of a trajectory, whose orbitals are followed."""
_READ_WHOLE = 0.6
"""The same of a file of volumes, which holds the values."""
_ENDS = {False: (0.25, 0.85, 1.0), True: (0.15, 0.45, 0.55)}
"""Shares of the rest after which the lattice is known, the values, and the surface; without colours, and with them."""

_KEPT, _VOLUMES_KEPT = 8, 2
"""Wavefunctions, and files of volumes, kept in memory; of each trajectory four frames as read, as many followed."""


K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")


class WavefunctionCache:
    """Wavefunctions and trajectories by their sources, which say what the files hold; used from several threads."""

    def __init__(self) -> None:
        self._held: OrderedDict[OneFile, Wavefunction] = OrderedDict()
        self._volumes: OrderedDict[OneFile, tuple[Volume, ...]] = OrderedDict()
        self._opened: OrderedDict[str, ShownTrajectory] = OrderedDict()
        self._lock = threading.Lock()
        self.references = FileReferences()

    def trajectory(self, source: str) -> ShownTrajectory:
        """The trajectory that a source stands for; it stays open, with what was found out about it."""
        found = _latest(self._opened, source, self._lock)
        if found is None:
            found = ShownTrajectory(Source.read(source))
            _keep(self._opened, source, found, self._lock)
        return found

    def kept(self, source: Source) -> ShownTrajectory | None:
        """The trajectory that a source stands for where it is open; what its files hold is part of the source."""
        return _latest(self._opened, str(source), self._lock)

    def keep(self, trajectory: ShownTrajectory) -> None:
        """Keep a trajectory that was opened."""
        _keep(self._opened, str(trajectory.source), trajectory, self._lock)

    def get(self, source: str, frame: int | None = None) -> Wavefunction:
        """The wavefunction of a source, or a frame of a trajectory: the first that can be read, unless told otherwise.

        Raises
        ------
        FileChanged
            When the file does not hold any more what the source says.
        OrbitileError
            When it cannot be read.
        """
        if is_trajectory(source):
            trajectory = self.trajectory(source)
            if frame is not None:
                return trajectory.frame(frame)
            trajectory.require_unchanged(trajectory.at_first)
            return trajectory.first
        return self._read(source, load, self._held, _KEPT)

    def keep_one(self, source: OneFile, wavefunction: Wavefunction) -> None:
        """Keep the wavefunction that a file holds, known without reading it."""
        _keep(self._held, source, wavefunction, self._lock)

    def volumes(self, source: str) -> tuple[Volume, ...]:
        """The volumes in a file of such; errors as for `get`."""
        return self._read(source, volumes_of, self._volumes, _VOLUMES_KEPT)

    def require(self, source: str, names: Iterable[str]) -> None:
        """Refuse fields that a source does not have; errors as for `get` and `field`."""
        if is_volume_file(source):
            for name in names:
                chosen(self.volumes(source), name, source)
        else:
            wavefunction = self.get(source)
            for name in names:
                self.field(wavefunction, name)

    def resolved(self, request: Request) -> tuple[Wavefunction, Request]:
        """The wavefunction of a request, and the request with fields as that names them; errors as for `get`."""
        _require_references(request)
        if not is_trajectory(request.path):
            return self.get(request.path), request
        trajectory = self.trajectory(request.path)
        wavefunction = trajectory.frame(request.frame or 0, field=request.field)
        color_by = request.color_by and trajectory.field(request.color_by)
        return wavefunction, replace(request, field=trajectory.field(request.field), color_by=color_by)

    def _read(self, source: str, read: Callable[[str], V], known: OrderedDict[OneFile, V], most: int) -> V:
        """What a file holds, read unless it is known."""
        wanted = OneFile.read(source)
        require_unchanged(wanted.path, wanted.content)
        now = wanted.noted()
        found = _latest(known, now, self._lock) if now.content else None
        if found is None:
            found = patiently(partial(read, now.path))
            require_unchanged(now.path, now.content)  # it may have been replaced while it was read
            if now.content:
                _keep(known, now, found, self._lock, most)
        return found

    def field(self, wavefunction: Wavefunction, name: str) -> Field:
        """The field that a name stands for; files that it refers to are read once, unless they change.

        Raises
        ------
        OrbitileError
            When there is none, or a file cannot be read.
        """
        return field_of(wavefunction, name, self.references)


def _latest(known: OrderedDict[K, V], key: K, lock: threading.Lock) -> V | None:
    with lock:
        if key in known:
            known.move_to_end(key)
        return known.get(key)


def _keep(known: OrderedDict[K, V], key: K, value: V, lock: threading.Lock, most: int = _KEPT) -> None:
    with lock:
        known[key] = value
        known.move_to_end(key)
        while len(known) > most:
            known.popitem(last=False)


def answer(request: Request) -> Sample:
    """Answer a request in a worker, with what was kept from those before.

    Raises
    ------
    OrbitileError
        When it cannot be met, or is withdrawn.
    """
    by_kernel = is_ready(SURFACES)
    try:
        found = sample(request, WORKER_WAVEFUNCTIONS, extract=_by_kernel if by_kernel else isosurface)
    except MemoryError as error:
        raise OrbitileError("the worker has no memory left for this; choose a coarser quality") from error
    if not by_kernel:
        afterwards(_load_kernel)  # the first answer does not have to wait for it
    return found


def rehearse(device: str) -> None:
    """Answer a request for a molecule of our own in a worker, so that whatever is needed for any is loaded.

    Raises
    ------
    OrbitileError
        When the device cannot be used.
    """
    with as_file(files("orbitile") / "data" / "benzene.molden") as path:
        sample(Request(str(path), "homo", "coarse", device=device), WavefunctionCache(), extract=_by_kernel)


def sample(
    request: Request,
    cache: WavefunctionCache,
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
    extract: Callable[[Volume, float], Surface] = isosurface,
) -> Sample:
    """Answer a request in this process; `extract` makes the surface.

    Raises
    ------
    OrbitileError
        When it cannot be met, or is withdrawn.
    """
    with watched(progress, cancelled):
        found = _sample(request, cache, extract)
        tell(1.0)
        return found


def _sample(request: Request, cache: WavefunctionCache, extract: Callable[[Volume, float], Surface]) -> Sample:
    from taichi_kernels.session import running

    if is_volume_file(request.path):
        return _sample_of_file(request, cache, extract)
    begin = time.perf_counter()
    trajectory = cache.trajectory(request.path) if is_trajectory(request.path) else None
    read = _READ if trajectory is None else _FOLLOWED
    prepared, computed, extracted = (read + (1 - read) * end for end in _ENDS[bool(request.color_by)])
    with stage(0.0, read):
        wavefunction, asked = cache.resolved(request)
    with stage(read, prepared):
        confidence, serving_all = None, None
        if trajectory is not None:
            asked = replace(asked, isovalue=trajectory.isovalue(request, cache.references))
            confidence = trajectory.confidence(asked.field, request.frame or 0)
            if request.room is not None:
                serving_all = partial(trajectory.lattice, asked, references=cache.references)
        found = sampling(asked, wavefunction, cache.references, serving_all=serving_all)
    with stage(prepared, computed):
        volume = found.volume()
    with stage(computed, extracted):
        surface, step = found.surface_in(volume, extract)
    if request.color_by:
        with stage(extracted, 1.0):
            surface = found.coloured(surface)
    _require_references(request)
    seconds = time.perf_counter() - begin
    device = running() or one_device(request.device)  # nothing runs where NumPy has done the little there was
    return Sample(request, volume, surface, found.isovalue, device, step, seconds, confidence)


def _sample_of_file(request: Request, cache: WavefunctionCache, extract: Callable[[Volume, float], Surface]) -> Sample:
    """A volume as it is in a file, with its surface."""
    begin = time.perf_counter()
    with stage(0.0, _READ_WHOLE):
        volume = chosen(cache.volumes(request.path), request.field, request.path)
    if request.color_by:
        raise OrbitileError(f"{volume.quantity}: values from a file cannot be coloured by {request.color_by}")
    with stage(_READ_WHOLE, 1.0):
        checkpoint()
        isovalue = suitable_isovalue(volume, request.share) if request.isovalue is None else request.isovalue
        surface, step = surface_within(volume, isovalue, request.most_faces, extract)
    return Sample(request, volume, surface, isovalue, "", step, time.perf_counter() - begin)


def _require_references(request: Request) -> None:
    for reference in map(OneFile.read, request.references):
        require_unchanged(reference.path, reference.content)


def _by_kernel(volume: Volume, isovalue: float) -> Surface:
    """What is faster than `isosurface` once its kernel has been loaded, which takes longer than a surface."""
    from taichi_kernels.session import running

    return extract_surface(volume, isovalue, device=running())


def _load_kernel() -> None:
    from taichi_kernels.session import running

    with suppress(OrbitileError):  # the device has no room, or has gone
        take_step(SURFACES, running())


WORKER_WAVEFUNCTIONS = WavefunctionCache()
"""Of a worker process: what was read for one request serves others, and what was derived of it."""


def in_worker(function: Callable[..., T], *arguments: Any) -> T:
    """What a function of a cache of wavefunctions gives, called in a worker process with the one there."""
    return function(WORKER_WAVEFUNCTIONS, *arguments)
