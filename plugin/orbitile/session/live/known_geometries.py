"""Converged geometries, by where the atoms are: what is known need not be computed when the atoms come back."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..source import OneFile
from .order import Converged, Positions

_BYTES = 256 << 20
"""Memory of the wavefunctions, at most; of the fields `SampleCache` takes care."""


class KnownGeometries:
    """Converged geometries without their samples, the latest that were asked for.

    Only the thread that the viewer belongs to uses it, so nothing is locked.
    """

    def __init__(self) -> None:
        self._found: OrderedDict[bytes, Converged] = OrderedDict()

    def add(self, found: Converged) -> None:
        """Keep a geometry; of those that were not asked for the longest some may be forgotten."""
        key = found.positions.tobytes()
        self._found[key] = replace(found, samples=())
        self._found.move_to_end(key)
        while len(self._found) > 1 and sum(map(_size, self._found.values())) > _BYTES:
            self._found.popitem(last=False)

    def at(self, positions: Positions) -> Converged | None:
        """What converged at exactly these positions, as the viewer gives them back; None where nothing is known."""
        key = positions.tobytes()
        found = self._found.get(key)
        if found is not None and not Path(OneFile.read(found.source).path).exists():
            found = self._found.pop(key) and None
        if found is not None:
            self._found.move_to_end(key)
        return found

    def nearest(self, positions: Positions, other: Converged | None) -> Converged | None:
        """What is nearest to some positions of all that is known, and of another one."""
        known = [*([] if other is None else [replace(other, samples=())]), *self._found.values()]
        return min(known, key=lambda found: float(np.linalg.norm(found.positions - positions)), default=None)


def _size(found: Converged) -> int:
    wavefunction = found.wavefunction
    sets = [wavefunction.alpha] if wavefunction.beta is None else [wavefunction.alpha, wavefunction.beta]
    return sum(orbitals.coefficients.nbytes for orbitals in sets)
