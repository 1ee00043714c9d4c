"""What is kept of a live molecule to come back to, and what of its scan is computed ahead."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...base.errors import OrbitileError
from ...pictures.request import Request
from ..computing import SampleCache
from .asking import Asked
from .known_geometries import KnownGeometries
from .order import Converged, Positions
from .path import LivePath
from .scan import Ahead, RunningScan


class Scanning:
    """Geometries to come back to: those at which the atoms rested, and those of a scan.

    Parameters
    ----------
    path : LivePath
        Keeps the files of a scan as long as that is on.
    samples : SampleCache
        Keeps fields.

    Attributes
    ----------
    known : KnownGeometries
    scan : RunningScan or None
    """

    def __init__(self, path: LivePath, samples: SampleCache) -> None:
        self._path, self._samples = path, samples
        self.known = KnownGeometries()
        self.scan: RunningScan | None = None

    def begin(self, scan: RunningScan | None) -> None:
        """Scan something in place of what was scanned before; None ends that."""
        self.scan, self.known = scan, KnownGeometries()
        self._path.hold(())

    def keep(self, found: Converged, asked: Asked) -> None:
        """Keep what has converged, where the atoms are going to come back to it."""
        is_scanned = self.scan is not None and self.scan.take(found, asked.order)
        if self.scan is not None and is_scanned:
            self._path.hold(self.scan.sources)
        if is_scanned or asked.rests:
            self.known.add(found)
            for sample in found.samples:
                if not isinstance(sample, OrbitileError):
                    self._samples.put_behind(sample)

    def refuse(self, positions: Positions, problem: str) -> None:
        """Take note of a geometry that cannot be computed."""
        if self.scan is not None:
            self.scan.refuse(positions, problem)

    def next(self, positions: Positions, fields: Sequence[Request]) -> Ahead | None:
        """What is to be computed next when the atoms are somewhere, so that some fields are known; None for nothing."""
        return None if self.scan is None else self.scan.next(positions, fields)

    def before(self, ahead: Ahead, found: Converged) -> Converged:
        """What a geometry that is computed ahead continues from: itself, its neighbour in the scan, or the nearest."""
        nearest = self.known.nearest(ahead.positions, found) or found
        is_there = np.array_equal(nearest.positions, ahead.positions)
        beside = None if ahead.beside is None or is_there else self.known.at(ahead.beside)
        return beside or nearest
