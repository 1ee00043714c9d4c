"""What computes self-consistent fields: engines, one module each, found by name.

A module offers

- `PROGRAM`: how `Wavefunction.program` begins in what it computes, by which a series is continued by the engine that
  began it;
- `check(calculation)`: refuses what no geometry can mend, such as an unknown functional;
- `obstacle(geometry, calculation)`: why it cannot compute this here, empty where it can;
- `solve(geometry, calculation, before, device, precision, response, rough)`: a `Solution`, begun from the frames
  `before`, the latest last, or from atomic densities where there are none; with the `response` of the solution before,
  where there is one, in fewer iterations; `rough`, on a coarse grid and by loose criteria, where the atoms are about to
  be elsewhere: the energy is right to some 1e-4 hartree. `NotConverged` is an error of this geometry alone;
- `gradient(wavefunction, calculation, device, precision)`: derivatives of the energy with respect to the positions of
  the atoms, from what it solved.

`auto` stands for the first one that has no obstacle, by `PRIORITY`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...base.errors import OrbitileError
from ...base.registry import modules_of
from ...model.geometry import Geometry
from ...model.wavefunction import Wavefunction
from ..calculation import Calculation, Response, Solution

AUTO = "auto"
"""The name that stands for the first engine that serves."""


class Engine(Protocol):
    """What a module of an engine offers."""

    __name__: str
    PROGRAM: str
    PRIORITY: int = 0

    def check(self, calculation: Calculation) -> None:
        """Refuse what no geometry can mend, by an `OrbitileError`."""
        ...

    def obstacle(self, geometry: Geometry, calculation: Calculation) -> str:
        """Why it cannot compute this, empty where it can."""
        ...

    def solve(
        self,
        geometry: Geometry,
        calculation: Calculation,
        before: Sequence[Wavefunction] = (),
        device: str | None = None,
        precision: str = "single",
        response: Response | None = None,
        rough: bool = False,
    ) -> Solution:
        """Self-consistent field of a geometry."""
        ...

    def gradient(
        self, wavefunction: Wavefunction, calculation: Calculation, device: str | None = None, precision: str = "single"
    ) -> NDArray[np.float64]:
        """Derivatives of the energy of what was solved, shape (n_atoms, 3), in hartree/bohr; the quadrature is held."""
        ...


def engines() -> Mapping[str, Engine]:
    """All engines by name, those that `auto` looks at first in front."""
    return modules_of(__name__, Engine)


def engine_names() -> tuple[str, ...]:
    """What may be asked for."""
    return (AUTO, *engines())


def engine_of(name: str, geometry: Geometry, calculation: Calculation) -> Engine:
    """The engine of a name, or for `auto` the first one that serves.

    Raises
    ------
    OrbitileError
        When there is no such engine, when it cannot compute this, or when none can.
    """
    known = engines()
    if name != AUTO and name not in known:
        raise OrbitileError(f"engine: expected {', '.join(engine_names())}, got {name!r}")
    obstacles = {}
    for candidate in known if name == AUTO else (name,):
        obstacles[candidate] = known[candidate].obstacle(geometry, calculation)
        if not obstacles[candidate]:
            known[candidate].check(calculation)
            return known[candidate]
    reasons = "; ".join(f"engine {candidate}: {reason}" for candidate, reason in obstacles.items())
    raise OrbitileError(f"{calculation} cannot be computed here: {reasons}")


def engine_of_program(program: str) -> str:
    """Name of the engine that computed what a program of that name did; empty where none of ours did."""
    return next((name for name, engine in engines().items() if program.startswith(engine.PROGRAM)), "")
