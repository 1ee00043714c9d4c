"""From what is asked for to surfaces: for the pictures, meshes and volumes of the command line and of batches.

A request says which field, where and how finely; what follows from it is the same whoever asks, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base.errors import NoSurface
from ..evaluation.boxes import enclosing_lattice
from ..evaluation.default_isovalue import default_isovalue
from ..evaluation.lattices import compute
from ..evaluation.requests import field_of
from ..evaluation.surfaces import coloured, compute_surface, is_cut
from ..fields import Field, References, as_drawn
from ..fields.orbital import orbital_list, orbital_range
from ..model.lattice import Lattice, spacing_of
from ..model.surface import Surface
from ..model.wavefunction import Wavefunction
from ..renderer import Camera, cell_spacing, round_lattice, round_spacing
from ..scenes.scene import colours_of_fields
from ..scenes.web import Slide
from ..surfaces.isovalue import CUT
from .request import MOST_FACES, surface_within

_PAGE = 900
"""Pixels that a molecule takes in a page, about."""

_ISOVALUES = (0.5, 1.0, 2.0)
"""Isovalues that a page offers, in units of the one that is asked for."""


@dataclass(frozen=True)
class SurfaceRequest:
    """An isosurface of a field, and what decides on its lattice.

    Attributes
    ----------
    field : str
        Its name.
    isovalue : float or None
        In atomic units; None for the customary one.
    color_by : str
        Name of a second field that colours the surface; empty for the colours of its phases.
    color_range : float or None
        Colours span minus this to plus this; None for what suits the data.
    quality : str
        coarse, medium or fine.
    spacing : float or None
        In bohr, in place of the quality.
    points : int or None
        Along the longest edge, in place of the quality.
    margin : float or None
        Of the box around the atoms, in bohr; None for the box that encloses the surface.
    kernel : str
        Of an orbital.
    device : str or None
    precision : str
    """

    field: str = "homo"
    isovalue: float | None = None
    color_by: str = ""
    color_range: float | None = None
    quality: str = "medium"
    spacing: float | None = None
    points: int | None = None
    margin: float | None = None
    kernel: str = "auto"
    device: str | None = None
    precision: str = "single"


@dataclass(frozen=True, eq=False)
class FoundSurface:
    """A surface that was asked for.

    Attributes
    ----------
    request : SurfaceRequest
    surface : Surface
    field : Field
        Whose isosurface it is.
    colour : Field or None
        What colours it.
    """

    request: SurfaceRequest
    surface: Surface
    field: Field
    colour: Field | None = None


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


def fields_in(wavefunction: Wavefunction, names: Sequence[str]) -> list[str]:
    """The fields of one picture: lists and ranges of orbitals taken apart."""
    fields: list[str] = []
    for name in names:
        several = orbital_list(wavefunction, name) is not None
        for part in name.split(",") if several else [name]:
            orbitals = (several and orbital_range(wavefunction, part.strip().lower())) or []
            fields += [orbital.name for orbital in orbitals] if len(orbitals) > 1 else [part.strip()]
    return fields


def drawn(request: SurfaceRequest, wavefunction: Wavefunction) -> SurfaceRequest:
    """The surface that is drawn where a field has none of its own, in the colours that are customary."""
    field, color_by = as_drawn(request.field, request.color_by, wavefunction)
    return replace(request, field=field, color_by=color_by)


def sampling(
    request: SurfaceRequest, wavefunction: Wavefunction, references: References, listener: Listener
) -> tuple[Field, Lattice, float]:
    """The field that is asked for, the lattice and the isovalue."""
    field = field_of(wavefunction, request.field, references).with_kernel(request.kernel)
    isovalue = request.isovalue
    if isovalue is None:
        isovalue = default_isovalue(wavefunction, field, coloured=bool(request.color_by), device=request.device)
        share = ", which encloses 90 % of it" if field.isovalue is None else ""
        listener.note(f"{field.quantity}: isovalue {isovalue:.4g} {field.unit}{share}")
    lattice = lattice_for(request, wavefunction, isovalue, field)
    listener.note("{} x {} x {} points".format(*lattice.shape))
    return field, lattice, isovalue


def lattice_for(request: SurfaceRequest, wavefunction: Wavefunction, isovalue: float, field: Field) -> Lattice:
    """The lattice that is asked for, around a surface or around the atoms."""
    if request.margin is None:
        return enclosing_lattice(
            wavefunction, field, isovalue, spacing=request.spacing, points=request.points, quality=request.quality
        )
    spacing = request.spacing
    if spacing is None and request.points is None:
        spacing = spacing_of(request.quality)
    return Lattice.around(wavefunction, spacing, request.margin, points=request.points)


def surface_of(
    request: SurfaceRequest, wavefunction: Wavefunction, references: References, listener: Listener
) -> FoundSurface:
    """An isosurface, coloured if that is asked for."""
    request = drawn(request, wavefunction)
    field, lattice, isovalue = sampling(request, wavefunction, references, listener)
    surface = _isosurface(request, wavefunction, field, lattice, isovalue, listener)
    _warn_if_cut(request, wavefunction, surface, field, lattice, listener)
    return _coloured(request, wavefunction, surface, field, references)


def is_free(request: SurfaceRequest) -> bool:
    """Whether a lattice may be finer than what is asked for."""
    return request.spacing is None and request.points is None and request.quality != "coarse"


def surfaces_of_picture(
    requests: Sequence[SurfaceRequest],
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
    sampled = [(request, sampling(request, wavefunction, references, listener)) for request in requests]
    surfaces = [_isosurface(request, wavefunction, *found, listener) for request, found in sampled]
    if is_free(requests[0]):
        spacing = round_spacing(surfaces, wavefunction, size=size, camera=camera)
        for n, (request, (field, lattice, isovalue)) in enumerate(sampled):
            finer = round_lattice(lattice, spacing)
            if finer is not lattice and not field.is_smooth:  # triangles are made smaller when it is drawn
                surfaces[n] = _isosurface(request, wavefunction, field, finer, isovalue, listener)
    for surface, (request, (field, lattice, _)) in zip(surfaces, sampled, strict=True):
        _warn_if_cut(request, wavefunction, surface, field, lattice, listener)
    return [
        _coloured(request, wavefunction, surface, field, references)
        for surface, (request, (field, _, _)) in zip(surfaces, sampled, strict=True)
    ]


def slides_of(
    requests: Sequence[SurfaceRequest],
    wavefunction: Wavefunction,
    references: References,
    listener: Listener,
    *,
    colours: Any,
    opacity: float | None = None,
) -> tuple[list[Slide], list[FoundSurface]]:
    """Slides of several fields, each at some isovalues about its own; at one alone where a second field colours it.

    Parameters
    ----------
    requests
        As `drawn` gives them.
    wavefunction, references, listener
    colours, opacity
        As for `orbitile.render`.

    Returns
    -------
    slides
        The one that is asked for before the others of its field.
    surfaces
        Those that are asked for.
    """
    from .pages import slide_of  # not needed for a picture

    slides: list[Slide] = []
    surfaces: list[FoundSurface] = []
    for request in requests:
        field, _, isovalue = sampling(request, wavefunction, references, listener)
        shares = (1.0,) if request.color_by else _ISOVALUES
        lattice = lattice_for(request, wavefunction, isovalue * shares[0], field)
        if is_free(request) and not field.is_smooth:
            extent = float((lattice.spacings * (np.array(lattice.shape) - 1)).max())
            lattice = round_lattice(lattice, cell_spacing(extent / _PAGE))
        with listener.following(field.quantity) as progress:
            volume = compute(
                wavefunction,
                field,
                lattice,
                device=request.device,
                precision=request.precision,
                progress=progress,
            )
        for share in sorted(shares, key=lambda share: abs(share - 1)):
            try:
                surface, _ = surface_within(volume, isovalue * share, MOST_FACES)
            except NoSurface:
                if share == 1:
                    raise
                continue
            if share == 1:
                _warn_if_cut(request, wavefunction, surface, field, lattice, listener)
            found = _coloured(request, wavefunction, surface, field, references)
            pair = colours_of_fields([found.surface], colours)[0]
            slides.append(
                slide_of(found.surface, wavefunction, request.field, request.color_by, colours=pair, opacity=opacity)
            )
            surfaces += [found] if share == 1 else []
    return slides, surfaces


def _isosurface(
    request: SurfaceRequest,
    wavefunction: Wavefunction,
    field: Field,
    lattice: Lattice,
    isovalue: float,
    listener: Listener,
) -> Surface:
    with listener.following(field.quantity) as progress:
        return compute_surface(
            wavefunction,
            field,
            isovalue,
            lattice,
            device=request.device,
            precision=request.precision,
            progress=progress,
        )


def _warn_if_cut(
    request: SurfaceRequest,
    wavefunction: Wavefunction,
    surface: Surface,
    field: Field,
    lattice: Lattice,
    listener: Listener,
) -> None:
    """Tell when a surface reaches the faces of its lattice."""
    if is_cut(surface, wavefunction, field, lattice, device=request.device):
        listener.warn(f"{CUT}; a larger --margin shows more")


def _coloured(
    request: SurfaceRequest, wavefunction: Wavefunction, surface: Surface, field: Field, references: References
) -> FoundSurface:
    """The surface of a field in the colours of a second field, if that is asked for."""
    if not request.color_by:
        return FoundSurface(request, surface, field)
    colour = field_of(wavefunction, request.color_by, references)
    surface = coloured(
        surface,
        wavefunction,
        colour,
        request.color_range,
        device=request.device,
        precision=request.precision,
    )
    return FoundSurface(request, surface, field, colour)
