"""From the options of a command to a lattice, and to a surface on it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ._console import note, progress_bar, tell

if TYPE_CHECKING:
    from ..fields import Field, References
    from ..model.lattice import Lattice
    from ..model.surface import Surface
    from ..model.wavefunction import Wavefunction


def sampling_of(
    options: argparse.Namespace, wavefunction: Wavefunction, references: References
) -> tuple[Field, Lattice, float]:
    """The field that the options ask for, the lattice and the isovalue."""
    from ..evaluation.default_isovalue import default_isovalue
    from ..evaluation.requests import field_of

    field = field_of(wavefunction, options.field, references).with_kernel(options.kernel)
    isovalue = options.isovalue
    if isovalue is None:
        coloured = getattr(options, "color_by", None) is not None
        isovalue = default_isovalue(wavefunction, field, coloured=coloured, device=options.device)
        share = ", which encloses 90 % of it" if field.isovalue is None else ""
        note(options, f"{field.quantity}: isovalue {isovalue:.4g} {field.unit}{share}")
    lattice = lattice_of(options, wavefunction, isovalue, field)
    note(options, "{} x {} x {} points".format(*lattice.shape))
    return field, lattice, isovalue


def lattice_of(options: argparse.Namespace, wavefunction: Wavefunction, isovalue: float, field: Field) -> Lattice:
    """The lattice that the options ask for, around a surface or around the atoms."""
    from ..evaluation.boxes import enclosing_lattice
    from ..model.lattice import Lattice, spacing_of
    from ..model.units import angstrom

    spacing = None if options.spacing is None else options.spacing * angstrom
    if options.margin is None:
        return enclosing_lattice(
            wavefunction, field, isovalue, spacing=spacing, points=options.points, quality=options.quality
        )
    if spacing is None and options.points is None:
        spacing = spacing_of(options.quality)
    return Lattice.around(wavefunction, spacing, options.margin * angstrom, points=options.points)


def as_drawn(options: argparse.Namespace, wavefunction: Wavefunction) -> argparse.Namespace:
    """The options for the surface that is drawn where FIELD has none of its own, in the colours that are customary."""
    from ..fields import as_drawn

    field, color_by = as_drawn(options.field, options.color_by or "", wavefunction)
    return argparse.Namespace(**{**vars(options), "field": field, "color_by": color_by or None})


def surface_of(options: argparse.Namespace, wavefunction: Wavefunction) -> Surface:
    """The isosurface that the options ask for, coloured if they say so."""
    from ..readers._references import FileReferences

    options, references = as_drawn(options, wavefunction), FileReferences()
    field, lattice, isovalue = sampling_of(options, wavefunction, references)
    surface = isosurface_of(options, wavefunction, field, lattice, isovalue)
    tell_if_cut(options, wavefunction, surface, field, lattice)
    return coloured_as_asked(options, wavefunction, surface, field, references)


def isosurface_of(
    options: argparse.Namespace, wavefunction: Wavefunction, field: Field, lattice: Lattice, isovalue: float
) -> Surface:
    """The isosurface of a field on a lattice."""
    from ..evaluation.surfaces import compute_surface

    with progress_bar(options, field.quantity) as progress:
        return compute_surface(
            wavefunction,
            field,
            isovalue,
            lattice,
            device=options.device,
            precision=options.precision,
            progress=progress,
        )


def tell_if_cut(
    options: argparse.Namespace, wavefunction: Wavefunction, surface: Surface, field: Field, lattice: Lattice
) -> None:
    """Tell when a surface reaches the faces of its lattice."""
    from ..evaluation.surfaces import is_cut
    from ..surfaces.isovalue import CUT

    if is_cut(surface, wavefunction, field, lattice, device=options.device):
        tell(f"{CUT}; a larger --margin shows more")


def coloured_as_asked(
    options: argparse.Namespace, wavefunction: Wavefunction, surface: Surface, field: Field, references: References
) -> Surface:
    """The surface of a field in the colours of a second field, if the options say so; its extrema are printed."""
    if options.color_by is None:
        return surface
    from ..analysis.extrema import as_text, extrema
    from ..evaluation.colouring import coloured
    from ..evaluation.requests import field_of

    colour = field_of(wavefunction, options.color_by, references)
    surface = coloured(
        surface,
        wavefunction,
        colour,
        options.color_range,
        device=options.device,
        precision=options.precision,
    )
    unit = "" if surface.colouring is None else surface.colouring.unit
    found = extrema(surface, wavefunction, field, colour, device=options.device)
    print(as_text(found, wavefunction, unit))
    return surface
