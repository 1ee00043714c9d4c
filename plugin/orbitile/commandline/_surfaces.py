"""From the options of a command to what is asked for, and what is told while it is computed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..session.surfaces import FoundSurface, Listener, SurfaceRequest
from ._console import note, progress_bar, tell

if TYPE_CHECKING:
    from ..model.wavefunction import Wavefunction


class Console(Listener):
    """Prints notes and warnings, and shows progress, as the options of a command have it."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options

    def note(self, text: str) -> None:
        """Print a detail for who sits at a terminal."""
        note(self._options, text)

    def warn(self, text: str) -> None:
        """Print what everybody should see."""
        tell(text)

    @contextmanager
    def following(self, what: str) -> Iterator[Callable[[float], None] | None]:
        """Show a progress bar."""
        with progress_bar(self._options, what) as progress:
            yield progress


def request_of(options: argparse.Namespace, field: str, isovalue: float | None) -> SurfaceRequest:
    """The surface of a field that the options ask for."""
    from ..model.units import angstrom

    return SurfaceRequest(
        field,
        isovalue,
        getattr(options, "color_by", None) or "",
        getattr(options, "color_range", None),
        options.quality,
        None if options.spacing is None else options.spacing * angstrom,
        options.points,
        None if options.margin is None else options.margin * angstrom,
        options.kernel,
        options.device,
        options.precision,
    )


def tell_extrema(surfaces: Iterable[FoundSurface], wavefunction: Wavefunction) -> None:
    """Print the extrema of what colours surfaces."""
    from ..analysis.surface_statistics import as_text, extrema

    for found in surfaces:
        if found.colour is not None:
            unit = "" if found.surface.colouring is None else found.surface.colouring.unit
            places = extrema(found.surface, wavefunction, found.field, found.colour, device=found.request.device)
            print(as_text(places, wavefunction, unit))
