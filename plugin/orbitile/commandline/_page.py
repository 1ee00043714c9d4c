"""Pages of the commands: what is on them is computed beforehand."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..base.errors import NoSurface

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..model.wavefunction import Wavefunction
    from ..pictures.shots import Shot
    from ..scenes.web import Document, Slide

SUFFIXES = (".html", ".htm")


def is_page(output: str) -> bool:
    """Whether a file is a page, by its name."""
    return output.lower().endswith(SUFFIXES)


def write_page(document: Document, output: str, wavefunction: Wavefunction) -> None:
    """Write a page, whole or not at all, and print its name and size."""
    from ..exporters import exporter_for
    from ..files.writing import refuse_inputs, written_atomically
    from ..scenes.web import page

    exporter_for(output, "scene")
    refuse_inputs(output, [wavefunction.source])
    with written_atomically(output) as temporary:
        temporary.write_text(page(document), encoding="utf-8")
    print(f"{output}: {Path(output).stat().st_size / 1024:.0f} kB")


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
