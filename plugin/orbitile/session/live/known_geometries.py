"""Converged geometries, by where the atoms are: what is known need not be computed when the atoms come back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from ...base.caches import Cache
from ..source import OneFile
from .order import Converged, Positions


class KnownGeometries:
    """Converged geometries without their samples, of which `SampleCache` takes care: the latest that were asked for."""

    def __init__(self) -> None:
        self._found = Cache[Converged]("geometries of live molecules", size=_size)

    def add(self, found: Converged) -> None:
        """Keep a geometry; of those that were not asked for the longest some may be forgotten."""
        self._found.put(found.positions.tobytes(), replace(found, samples=()))

    def at(self, positions: Positions) -> Converged | None:
        """What converged at exactly these positions, as the viewer gives them back; None where nothing is known."""
        key = positions.tobytes()
        found = self._found.get(key)
        if found is not None and not Path(OneFile.read(found.source).path).exists():
            self._found.pop(key)
            return None
        return found

    def nearest(self, positions: Positions, other: Converged | None) -> Converged | None:
        """What is nearest to some positions of all that is known, and of another one."""
        known = [*([] if other is None else [replace(other, samples=())]), *self._found]
        return min(known, key=lambda found: float(np.linalg.norm(found.positions - positions)), default=None)


def _size(found: Converged) -> int:
    wavefunction = found.wavefunction
    sets = [wavefunction.alpha] if wavefunction.beta is None else [wavefunction.alpha, wavefunction.beta]
    return sum(orbitals.coefficients.nbytes for orbitals in sets)
