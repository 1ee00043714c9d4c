"""Pages of the commands: what is on them is computed beforehand."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import NoSurface
from ._console import progress_bar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..films.shots import Shot
    from ..model.wavefunction import Wavefunction
    from ..web import Document, Slide

SUFFIXES = (".html", ".htm")

_ISOVALUES = (0.5, 1.0, 2.0)
"""Isovalues that a page offers, in units of the one that is asked for."""


def is_page(output: str) -> bool:
    """Whether a file is a page, by its name."""
    return output.lower().endswith(SUFFIXES)


def write_page(document: Document, output: str, wavefunction: Wavefunction) -> None:
    """Write a page, whole or not at all, and print its name and size."""
    from ..exporters import exporter_for
    from ..files.writing import refuse_inputs, written_atomically
    from ..web import page

    exporter_for(output, "scene")
    refuse_inputs(output, [wavefunction.source])
    with written_atomically(output) as temporary:
        temporary.write_text(page(document), encoding="utf-8")
    print(f"{output}: {Path(output).stat().st_size / 1024:.0f} kB")


def slides_of(
    requests: list[argparse.Namespace], wavefunction: Wavefunction, colours: Any, opacity: float | None
) -> list[Slide]:
    """Slides of several fields, each at some isovalues about its own; at one alone where a second field colours it."""
    from ..evaluation.lattices import compute
    from ..readers._references import FileReferences
    from ..scenes.palette import colours_of_fields
    from ..session.pages import slide_of
    from ..session.request import MOST_FACES, surface_within
    from ._surfaces import coloured_as_asked, lattice_of, sampling_of, tell_if_cut

    references, found = FileReferences(), []
    for request in requests:
        field, _, isovalue = sampling_of(request, wavefunction, references)
        shares = _ISOVALUES if request.color_by is None else (1.0,)
        lattice = lattice_of(request, wavefunction, isovalue * shares[0], field)
        with progress_bar(request, field.quantity) as progress:
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
                tell_if_cut(request, wavefunction, surface, field, lattice)
            surface = coloured_as_asked(request, wavefunction, surface, field, references)
            pair = colours_of_fields([surface], colours)[0]
            found.append(
                slide_of(surface, wavefunction, request.field, request.color_by or "", colours=pair, opacity=opacity)
            )
    return found


def slides_of_shots(shots: Iterable[Shot], options: argparse.Namespace, cancelled: Callable[[], bool]) -> list[Slide]:
    """A slide of each shot of a film; one without a surface shows the molecule alone."""
    from ..evaluation.boxes import enclosing_lattice
    from ..evaluation.requests import field_of
    from ..evaluation.surfaces import compute_surface
    from ..model.units import angstrom
    from ..session.pages import bare_slide, slide_of

    found: list[Slide] = []
    for frame, shot in enumerate(shots):
        field = field_of(shot.wavefunction, shot.field)
        lattice = enclosing_lattice(shot.wavefunction, field, shot.isovalue, spacing=options.spacing * angstrom)
        try:
            surface = compute_surface(
                shot.wavefunction, field, shot.isovalue, lattice, device=options.device, cancelled=cancelled
            )
            slide = slide_of(surface, shot.wavefunction)
        except NoSurface as error:
            slide = bare_slide(shot.wavefunction, remark=str(error))
        found.append(replace(slide, field="shown", title=field.quantity, frame=frame))
    return found
