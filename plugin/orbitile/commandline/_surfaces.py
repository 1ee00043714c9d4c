"""From the options of a command to what is asked for, and what is told while it is computed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from ..pictures.request import OF_SURFACES, Request
from ..pictures.surface import FoundSurface, Listener
from ._console import note, progress_bar, tell


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


def request_of(options: argparse.Namespace, field: str, isovalue: float | None) -> Request:
    """The surface of a field that the options ask for."""
    given = {option.name: option.value(getattr(options, option.name, None)) for option in OF_SURFACES}
    return Request("", field, **{**given, "isovalue": isovalue})


def tell_extrema(surfaces: Iterable[FoundSurface]) -> None:
    """Print the extrema of what colours surfaces."""
    from ..analysis.surface_statistics import as_text, extrema

    for found in surfaces:
        of, surface = found.sampling, found.surface
        if of.colour is not None:
            unit = "" if surface.colouring is None else surface.colouring.unit
            places = extrema(surface, of.wavefunction, of.field, of.colour, device=of.request.device)
            print(as_text(places, of.wavefunction, unit))
