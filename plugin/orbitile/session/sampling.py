"""What a host asks for, computed in the process that calls this: in the host itself, or in its worker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.resources import as_file, files
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..base.caches import Cache, Derived
from ..base.errors import OrbitileError
from ..base.watch import Cancel, Progress, checkpoint, patiently, stage, tell, watched
from ..evaluation.boxes import enclosing_lattice
from ..evaluation.devices import one_device
from ..evaluation.preparation import SURFACES, is_ready, take_step
from ..evaluation.requests import FileReferences, field_of
from ..evaluation.surfaces import extract_surface
from ..fields import Field, References
from ..fields.localised import localised_orbital
from ..fields.orbital import orbital_of
from ..model.lattice import Lattice
from ..model.surface import Surface
from ..model.trajectory import Trajectory
from ..model.vibrations import Vibrations
from ..model.volume import Volume
from ..model.wavefunction import Wavefunction
from ..pictures.request import Request, Sample, surface_within
from ..pictures.surface import isovalue_of, sampling
from ..readers import is_there, load, load_spectra, load_vibrations
from ..readers.cclib_frames import LogFrames
from ..readers.series import SeriesFrames
from ..surfaces.isosurface import isosurface
from ..surfaces.isovalue import suitable_isovalue
from ..trajectories.paths import AlignedFrames, LocalisedFrames, interpolate, localisation_for
from ..trajectories.tracking import FollowedFrames, pinned
from ..workers import afterwards
from .source import (
    OneFile,
    Source,
    UnchangedFrames,
    chosen,
    files_of,
    is_trajectory,
    is_volume_file,
    require_unchanged,
    volumes_of,
)

K = TypeVar("K")
T = TypeVar("T")
V = TypeVar("V")

_MOST = 3.0
"""Points of a lattice that serves all frames, in points of one that serves the first."""


_FEW = 3
"""Frames of a log that may be the first and the last of many geometries, and one more for frequencies."""

_SLACK = 0.5
"""Room in bohr beyond that of the first frame, since orbitals grow and shrink on the way."""


@dataclass(frozen=True, eq=False)
class _Frames:
    """Frames of one kind of orbitals: what follows them, if anything does, and the path as it is shown."""

    followed: FollowedFrames | None
    path: Trajectory


class ShownTrajectory:
    """A trajectory as a viewer shows it.

    Parameters
    ----------
    source : Source
    load
        Reads a file as one wavefunction; the caller may keep what it reads.

    Attributes
    ----------
    path : Trajectory
        The frames as they are shown, read when they are asked for.
    """

    def __init__(self, source: Source, load: Callable[[str], Wavefunction] = load) -> None:
        if source.between and not source.track:
            raise OrbitileError("interpolation between frames needs orbitals that are followed: track=1")
        self.source = source if source.contents else source.noted()
        self.raw = self.source.opened()
        self._canonical = self._frames(self.raw)
        self.path = self._canonical.path
        self._load = load

    def _frames(self, trajectory: Trajectory) -> _Frames:
        """Frames as the source says that they are shown."""
        followed = FollowedFrames(trajectory) if self.source.track else None
        path = trajectory if followed is None else Trajectory(followed)
        path = Trajectory(AlignedFrames(path)) if self.source.align else path
        return _Frames(followed, interpolate(path, self.source.between))

    def _frames_for(self, field: str) -> _Frames:
        """Frames whose orbitals are those that a field is one of: localised ones for one of these."""
        how = localisation_for(self.first, field) if field and self.source.track else None
        if how is None:
            return self._canonical
        return _LOCALISED.of(self, how, lambda: self._frames(Trajectory(LocalisedFrames(self.raw, *how))))

    @cached_property
    def is_one_file(self) -> bool:
        """Whether it is shown as one wavefunction: a file of one, or a log with orbitals at few of its geometries.

        Programs print them at the first and the last geometry of an optimisation unless told otherwise. Then all
        geometries are shown, and the orbitals of the last.
        """
        assert isinstance(self.raw.source, UnchangedFrames)  # `Source.opened` made it
        frames = self.raw.source.frames
        if not isinstance(frames, LogFrames):
            return len(self.raw) == 1 and not isinstance(frames, SeriesFrames)
        if len(self.raw) == 1 or len(self.raw) > _FEW:
            return len(self.raw) == 1
        try:
            geometries = self._load(self.source.files[0]).geometries
        except OrbitileError:  # its last orbitals cannot be read, others perhaps
            return False
        n = len(np.unique(geometries.round(5), axis=0))
        return n == 1 or len(self.raw) < n - 1

    @cached_property
    def _beginning(self) -> tuple[int, Wavefunction]:
        for found in self.path.frames():
            return found
        raise OrbitileError(
            f"{self.path.name}: no frame can be read: {next(iter(self.path.problems.values()), 'it has none')}"
        )

    @property
    def first(self) -> Wavefunction:
        """The first frame that can be read, after which orbitals are named.

        Raises
        ------
        OrbitileError
            When there is none.
        """
        return self._beginning[1]

    @property
    def at_first(self) -> int:
        """Which one that is, from 0; errors are the same."""
        return self._beginning[0]

    @cached_property
    def geometries(self) -> NDArray[np.float64]:
        """Positions of the atoms in all frames, shape (n_frames, n_atoms, 3), in bohr.

        A frame that cannot be read has those of the frame before.
        """
        return self.path.geometries()

    def frame(
        self,
        index: int,
        progress: Callable[[float], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
        field: str = "",
    ) -> Wavefunction:
        """One frame; the orbitals of those before it are followed first.

        Where the field is a localised orbital, those are followed, and the frame has them in place of its own.

        Raises
        ------
        FileChanged
            When its file holds something else by now.
        """
        self.require_unchanged(index)
        frames = self._frames_for(field)
        if frames.followed is not None:
            frames.followed.reach(self._raw_index(index), progress, cancelled)
        return frames.path[index]

    def require_unchanged(self, index: int) -> None:
        """Refuse a frame whose file holds something else by now; errors as for `frame`."""
        assert isinstance(self.raw.source, UnchangedFrames)  # `Source.opened` made it
        self.raw.source.require_unchanged(self._raw_index(index))

    def _raw_index(self, index: int) -> int:
        """Frame of the files that a frame is; of one between two the later."""
        return min(-(-index // (self.source.between + 1)), len(self.raw) - 1)

    def confidence(self, field: str, index: int) -> float | None:
        """How surely an orbital was followed to a frame that was reached; None where none was followed."""
        followed = self._frames_for(field).followed
        orbital = orbital_of(self.first, field) or localised_orbital(self.first, field)
        if followed is None or orbital is None:
            return None
        return followed.confidence(self._raw_index(index), orbital.index, orbital.spin)

    def field(self, name: str) -> str:
        """Name of a field in all frames: orbitals that are followed are named as in the first one."""
        return pinned(self.first, name) if self.source.track else name

    def lattice(self, request: Request, spacing: float, references: References | None = None) -> Lattice:
        """Lattice of all frames: as much room about the atoms, wherever they come, as about those of the first frame.

        That of the first frame alone where the other would have several times as many points.

        Parameters
        ----------
        request : Request
            With an isovalue, and with the room that the atoms take in all frames.
        spacing : float
            In bohr.
        references : References, optional
            Reads the files that the name of the field refers to.
        """
        isovalue, room = request.isovalue, request.room
        assert isovalue is not None  # who asks has both
        assert room is not None

        def made() -> Lattice:
            field = field_of(self.first, request.field, references)
            first = enclosing_lattice(self.first, field, isovalue, spacing=spacing)
            low, high = self.first.positions.min(axis=0), self.first.positions.max(axis=0)
            whole = Lattice.box(
                room[0] + (first.origin - low) - _SLACK, room[1] + (first.far_corner - high) + _SLACK, spacing
            )
            return whole if whole.n_points <= _MOST * first.n_points else first

        return _LATTICES.of(self, (request.field, isovalue, spacing, room, request.references), made)

    def isovalue(self, request: Request, references: References | None = None) -> float:
        """Isovalue of all frames: the one that is asked for, or the default of the first one."""
        if request.isovalue is not None:
            return request.isovalue
        return isovalue_of(request, self.first, field_of(self.first, self.field(request.field), references))


_LOCALISED = Derived[_Frames]("numbers", size=lambda _: 0)
_LATTICES = Derived[Lattice]("numbers")

_READ, _FOLLOWED = 0.05, 0.4
"""Share of a request in which the wavefunction is read; of a frame of a trajectory, whose orbitals are followed."""
_READ_WHOLE = 0.6
"""The same of a file of volumes, which holds the values."""
_ENDS = {False: (0.25, 0.85, 1.0), True: (0.15, 0.45, 0.55)}
"""Shares of the rest after which the lattice is known, the values, and the surface; without colours, and with them."""

_OPEN = 8
"""Trajectories that are open at most; of each, four frames are kept as read, and as many followed."""


class WavefunctionCache:
    """Wavefunctions and trajectories by their sources, which say what the files hold; used from several threads."""

    def __init__(self) -> None:
        self._held = Cache[Wavefunction]("wavefunctions")
        self._volumes = Cache[tuple[Volume, ...]]("volumes of files")
        self._of_files: dict[str, tuple[Callable[..., Any], Cache[Any]]] = {
            "vibrations": (load_vibrations, Cache("analyses")),
            "spectra": (load_spectra, Cache("analyses")),
        }
        self._has = Cache[bool]("numbers")
        self._opened = Cache[ShownTrajectory]("wavefunctions", most=_OPEN, size=lambda _: 0)
        self.references = FileReferences()

    def trajectory(self, source: str) -> ShownTrajectory:
        """The trajectory that a source stands for; it stays open, with what was found out about it."""
        return self._opened.of(source, lambda: self._opened_anew(Source.read(source)))

    def _opened_anew(self, source: Source) -> ShownTrajectory:
        self._close_changed()
        return ShownTrajectory(source)

    def _close_changed(self) -> None:
        """Forget trajectories whose file holds something else by now: they keep it open, and nobody can use them."""
        for text, trajectory in self._opened.items():
            if trajectory.source.has_changed():
                self._opened.pop(text)

    def kept(self, source: Source) -> ShownTrajectory | None:
        """The trajectory that a source stands for where it is open; what its files hold is part of the source."""
        return self._opened.get(str(source))

    def keep(self, trajectory: ShownTrajectory) -> None:
        """Keep a trajectory that was opened."""
        self._close_changed()
        self._opened.put(str(trajectory.source), trajectory)

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
        return self._read(source, load, self._held)

    def keep_one(self, source: OneFile, wavefunction: Wavefunction) -> None:
        """Keep the wavefunction that a file holds, known without reading it."""
        self._held.put(source, wavefunction)

    def forget_missing(self) -> None:
        """Forget the wavefunctions of files that were removed."""
        _forget_outdated(self._held)

    def volumes(self, source: str) -> tuple[Volume, ...]:
        """The volumes in a file of such; errors as for `get`."""
        return self._read(source, volumes_of, self._volumes)

    def vibrations(self, source: str) -> Vibrations:
        """The vibrations in the file of a source; errors as for `get`, and where there are none."""
        found: Vibrations = self.of_file("vibrations", source)
        return found

    def of_file(self, kind: str, source: str) -> Any:
        """What the file of a source has for an analysis of one of `FILE_KINDS`; errors as for `vibrations`."""
        paths = files_of(source)
        if len(paths) > 1:
            raise OrbitileError(f"{paths[0]} and {len(paths) - 1} more: vibrations are those of one file")
        source = paths[0] if is_trajectory(source) else source
        return self._read(source, *self._of_files[kind])

    def lines_in(self, source: str) -> str:
        """Which of `FILE_KINDS` the file of a source has that names its atoms; the first, or empty for none."""
        if self.has("vibrations", source):
            return "vibrations"
        return "spectra" if self.has("spectra", source) and self.of_file("spectra", source)[0].geometry else ""

    def has(self, kind: str, source: str) -> bool:
        """Whether the file of a source has any of that; what is not known is found out once."""
        found = self._has.get((kind, source))
        if found is None:
            try:
                subject = self.of_file(kind, source)
                found = bool(subject.n_modes if isinstance(subject, Vibrations) else subject)
            except OrbitileError:
                found = False
            self._has.put((kind, source), found)
        return found

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

    def _read(self, source: str, read: Callable[[str], V], known: Cache[V]) -> V:
        """What a file holds, read unless it is known."""
        wanted = OneFile.read(source)
        require_unchanged(wanted.path, wanted.content)
        now = wanted.noted()
        found = known.get(now) if now.content else None
        if found is None:
            found = patiently(partial(read, now.path))
            require_unchanged(now.path, now.content)  # it may have been replaced while it was read
            if now.content:
                _forget_outdated(known, now)
                known.put(now, found)
        return found

    def field(self, wavefunction: Wavefunction, name: str) -> Field:
        """The field that a name stands for; files that it refers to are read once, unless they change.

        Raises
        ------
        OrbitileError
            When there is none, or a file cannot be read.
        """
        return field_of(wavefunction, name, self.references)


def _forget_outdated(known: Cache[Any], now: OneFile | None = None) -> None:
    """Forget what was read of files that are gone, and of one what it held before; no source can name that any more."""
    for file, _ in known.items():
        has_changed = now is not None and file.path == now.path and file.content != now.content
        if has_changed or not is_there(file.path):
            known.pop(file)


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
        found = (_volume_of_file if is_volume_file(request.path) else _computed)(request, cache, extract)
        tell(1.0)
        return found


def _computed(request: Request, cache: WavefunctionCache, extract: Callable[[Volume, float], Surface]) -> Sample:
    """A field of a wavefunction, with its surface."""
    from taichi_kernels.session import running

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


def _volume_of_file(request: Request, cache: WavefunctionCache, extract: Callable[[Volume, float], Surface]) -> Sample:
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
