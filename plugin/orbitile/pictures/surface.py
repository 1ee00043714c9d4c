"""The path from a request to a surface, for all that draw, write or show one, so that all get the same to the last bit.

names as they are drawn -> field -> isovalue -> lattice (`sampling`) -> values or mesh -> colours (`Sampling`)

Whoever has more to go by says so: a trajectory knows the isovalue and a lattice of all its frames, a picture how finely
its pixels show a surface, a window how many triangles it can draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from ..base.watch import Progress
from ..evaluation.boxes import enclosing_lattice, fits, resolving_spacing
from ..evaluation.default_isovalue import default_isovalue
from ..evaluation.lattices import compute
from ..evaluation.requests import field_of
from ..evaluation.surfaces import absence_explained, coloured, compute_surface, is_cut
from ..fields import Field, References, as_drawn
from ..fields.orbital import orbital_list, orbital_range
from ..model.lattice import Lattice, spacing_of
from ..model.surface import Colouring, Surface
from ..model.volume import Volume
from ..model.wavefunction import Wavefunction
from ..scenes.scene import VolumeDrawing
from ..surfaces.isosurface import isosurface
from ..surfaces.isovalue import CUT
from .request import Request, lattice_of, shared_lattice, surface_within
from .words import share_in_words

if TYPE_CHECKING:
    from ..renderer import Camera


class Listener:
    """Is told how the work goes on, and lets it pass."""

    def note(self, text: str) -> None:
        """Hear a detail."""

    def warn(self, text: str) -> None:
        """Hear what everybody should know of a result."""

    @contextmanager
    def following(self, what: str) -> Iterator[Callable[[float], None] | None]:
        """Take the share of a stage that is done, or None not to be told."""
        yield None


_SILENT = Listener()


@dataclass(frozen=True, eq=False)
class Sampling:
    """What a request comes to for a wavefunction: a field, an isovalue and a lattice.

    Attributes
    ----------
    request : Request
    wavefunction : Wavefunction
    field : Field
        Whose isosurface it is.
    isovalue : float
        In atomic units.
    lattice : Lattice
    references : References or None
        Reads the files that the name of the second field refers to.
    """

    request: Request
    wavefunction: Wavefunction
    field: Field
    isovalue: float
    lattice: Lattice
    references: References | None = None

    @cached_property
    def colour(self) -> Field | None:
        """The second field, which colours the surface."""
        if not self.request.color_by:
            return None
        return field_of(self.wavefunction, self.request.color_by, self.references)

    def volume(self, progress: Progress | None = None) -> Volume:
        """The field on the lattice."""
        device, precision = self.request.device, self.request.precision
        return compute(
            self.wavefunction, self.field, self.lattice, device=device, precision=precision, progress=progress
        )

    def surface_in(
        self, volume: Volume, extract: Callable[[Volume, float], Surface] = isosurface
    ) -> tuple[Surface, int]:
        """The surface in the values of the field, without colours of a second one, and its step; see `surface_within`.

        Raises
        ------
        NoSurface
            When nothing has the isovalue, with what that means for the field.
        """
        with absence_explained(self.field, self.isovalue):
            return surface_within(volume, self.isovalue, self.request.most_faces, extract)

    def surface(self, listener: Listener = _SILENT) -> Surface:
        """The surface without the values of the field; errors as for `surface_in`."""
        with listener.following(self.field.quantity) as progress:
            return compute_surface(
                self.wavefunction,
                self.field,
                self.isovalue,
                self.lattice,
                device=self.request.device,
                precision=self.request.precision,
                progress=progress,
            )

    def coloured(self, surface: Surface) -> Surface:
        """The surface in the colours of the second field, if there is one."""
        if self.colour is None:
            return surface
        device, precision = self.request.device, self.request.precision
        color_range = self.request.color_range
        return coloured(surface, self.wavefunction, self.colour, color_range, device=device, precision=precision)

    def warn_if_cut(self, surface: Surface, listener: Listener) -> None:
        """Tell when a surface reaches the faces of its lattice."""
        if is_cut(surface, self.wavefunction, self.field, self.lattice, device=self.request.device):
            listener.warn(f"{CUT}; a larger --margin shows more")


@dataclass(frozen=True, eq=False)
class FoundSurface:
    """A surface that was asked for, in its colours, and where it comes from."""

    sampling: Sampling
    surface: Surface


# What is asked for -------------------------------------------------------------------------------------------------


def fields_in(wavefunction: Wavefunction, names: Sequence[str]) -> list[str]:
    """The fields of one picture: lists and ranges of orbitals taken apart."""
    fields: list[str] = []
    for name in names:
        several = orbital_list(wavefunction, name) is not None
        for part in name.split(",") if several else [name]:
            orbitals = (several and orbital_range(wavefunction, part.strip().lower())) or []
            fields += [orbital.name for orbital in orbitals] if len(orbitals) > 1 else [part.strip()]
    return fields


def drawn(request: Request, wavefunction: Wavefunction) -> Request:
    """The surface that is drawn where a field has none of its own, in the colours that are usual for it."""
    field, color_by = as_drawn(request.field, request.color_by, wavefunction)
    return replace(request, field=field, color_by=color_by)


def isovalue_of(request: Request, wavefunction: Wavefunction, field: Field, listener: Listener = _SILENT) -> float:
    """The isovalue that is asked for, or the field's default."""
    if request.isovalue is not None:
        return request.isovalue
    coloured = bool(request.color_by)
    isovalue = default_isovalue(wavefunction, field, request.share, coloured=coloured, device=request.device)
    share = f", which encloses {share_in_words(request.share)} of it" if field.isovalue is None else ""
    listener.note(f"{field.quantity}: isovalue {isovalue:.4g} {field.unit}{share}")
    return isovalue


def lattice_for(
    request: Request,
    wavefunction: Wavefunction,
    field: Field,
    isovalue: float,
    serving_all: Callable[[float], Lattice] | None = None,
) -> Lattice:
    """The lattice that is asked for, around a surface or around the atoms.

    Parameters
    ----------
    request, wavefunction, field, isovalue
    serving_all : callable, optional
        Takes a spacing in bohr to the lattice of all frames of a trajectory. It is taken, or the one that was used
        before, where it holds this frame.
    """
    spacing = request.spacing
    if request.margin is not None:
        if spacing is None and request.points is None:
            spacing = spacing_of(request.quality)
        return Lattice.around(wavefunction, spacing, request.margin, points=request.points)
    if serving_all is not None:
        step, box = resolving_spacing(wavefunction, field, isovalue, request.quality), request.box
        candidates = [serving_all(step)]
        if box is not None and math.isclose(box[1], step):
            candidates.append(lattice_of(box))
        for lattice in candidates:
            if fits(wavefunction, field, isovalue, lattice):
                return lattice
    needed = enclosing_lattice(
        wavefunction, field, isovalue, spacing=spacing, points=request.points, quality=request.quality
    )
    return shared_lattice(needed, request.box)


def sampling(
    request: Request,
    wavefunction: Wavefunction,
    references: References | None = None,
    listener: Listener = _SILENT,
    serving_all: Callable[[float], Lattice] | None = None,
) -> Sampling:
    """What a request comes to for a wavefunction: the field, the isovalue and the lattice.

    Parameters
    ----------
    request : Request
    wavefunction : Wavefunction
    references : References, optional
        Reads the files that names of fields refer to.
    listener : Listener
        Is told of the isovalue and the lattice.
    serving_all : callable, optional
        See `lattice_for`.

    Raises
    ------
    OrbitileError
        When there is no such field, or no isovalue or lattice of it can be found.
    """
    field = field_of(wavefunction, request.field, references).with_kernel(request.kernel)
    isovalue = isovalue_of(request, wavefunction, field, listener)
    lattice = lattice_for(request, wavefunction, field, isovalue, serving_all)
    listener.note("{} x {} x {} points".format(*lattice.shape))
    return Sampling(request, wavefunction, field, isovalue, lattice, references)


# Surfaces ----------------------------------------------------------------------------------------------------------


def surface_of(
    request: Request, wavefunction: Wavefunction, references: References, listener: Listener
) -> FoundSurface:
    """An isosurface, coloured if that is asked for."""
    found = sampling(drawn(request, wavefunction), wavefunction, references, listener)
    surface = found.surface(listener)
    found.warn_if_cut(surface, listener)
    return FoundSurface(found, found.coloured(surface))


def is_free(request: Request) -> bool:
    """Whether a lattice may be finer than what is asked for."""
    return request.spacing is None and request.points is None and request.quality != "coarse"


def surfaces_of_picture(
    requests: Sequence[Request],
    wavefunction: Wavefunction,
    references: References,
    listener: Listener,
    *,
    size: tuple[int, int],
    camera: Camera | None = None,
) -> list[FoundSurface]:
    """Surfaces of a picture, on lattices on which they look round in it unless a spacing is asked for.

    Parameters
    ----------
    requests
        As `drawn` gives them.
    wavefunction, references, listener
    size, camera
        Of the picture.
    """
    from ..renderer import round_lattice, round_spacing  # which a worker process need not wait for

    sampled = [sampling(request, wavefunction, references, listener) for request in requests]
    surfaces = [found.surface(listener) for found in sampled]
    if is_free(requests[0]):
        spacing = round_spacing(surfaces, wavefunction, size=size, camera=camera)
        for n, found in enumerate(sampled):
            finer = round_lattice(found.lattice, spacing)
            if finer is not found.lattice and not found.field.is_smooth:  # else it is made round when it is drawn
                surfaces[n] = replace(found, lattice=finer).surface(listener)
    for found, surface in zip(sampled, surfaces, strict=True):
        found.warn_if_cut(surface, listener)
    return [FoundSurface(found, found.coloured(surface)) for found, surface in zip(sampled, surfaces, strict=True)]


FAINTEST = {"surface": 1.0, "slice": 0.1, "fog": 0.2}
"""Isovalues down to which the box of a drawing holds a field: beyond them fog and slices fade into the paper."""


def volume_drawing_of(
    request: Request,
    wavefunction: Wavefunction,
    references: References | None,
    style: str,
    listener: Listener = _SILENT,
) -> VolumeDrawing:
    """A field as fog or a slice, in a box that reaches to where nothing of it is seen.

    A second field colours it in the range that it has on the surface of the isovalue, as it does the surface.

    Parameters
    ----------
    request, wavefunction, references, listener
    style
        One of `orbitile.pictures.look.VOLUME_STYLES`.

    Raises
    ------
    OrbitileError
        When there is no such field, or nothing of it has the isovalue that the range of a second field is found on.
    """
    asked = sampling(request, wavefunction, references, listener)
    lattice = lattice_for(request, wavefunction, asked.field, FAINTEST[style] * asked.isovalue)
    asked = replace(asked, lattice=lattice)
    with listener.following(asked.field.quantity) as progress:
        volume = asked.volume(progress)
    if asked.colour is None:
        return VolumeDrawing(volume, asked.isovalue, style)
    with listener.following(asked.colour.quantity) as progress:
        second = replace(asked, field=asked.colour).volume(progress)
    return VolumeDrawing(volume, asked.isovalue, style, colouring=_within(asked, volume, second))


def _within(asked: Sampling, volume: Volume, second: Volume) -> Colouring:
    """Values of the second field at all points of a lattice, and the range that they have on the surface."""
    on_surface = asked.coloured(asked.surface_in(volume)[0]).colouring
    assert on_surface is not None  # a second field is asked for
    return replace(on_surface, values=second.values.ravel())


_TIMES = 30.0
"""How many times less and more than the isovalue that is shown a slider reaches."""


def range_about(isovalue: float, volume: Volume | None) -> tuple[float, float]:
    """Least and largest isovalue of a slider; no surface can be had beyond the largest value of the field.

    Parameters
    ----------
    isovalue
        The one that is shown.
    volume
        Values of the field, where they are at hand.
    """
    low, high = isovalue / _TIMES, isovalue * _TIMES
    if volume is not None:
        high = min(high, max(float(volume.values.max()), -float(volume.values.min())) * (1 - 1e-3))
    return low, max(high, isovalue)
