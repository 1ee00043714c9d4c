"""What computes self-consistent fields: engines, one module each, found by name.

A module offers

- `PROGRAM`: how `Wavefunction.program` begins in what it computes, by which a series is continued by the engine that
  began it;
- `check(calculation)`: refuses what no geometry can mend, such as an unknown functional;
- `obstacle(geometry, calculation)`: why it cannot compute this here, empty where it can;
- `solve(geometry, calculation, before, device, precision, response, rough, tight)`: a `Solution`, begun from the frames
  `before`, the latest last, or from atomic densities where there are none; with the `response` of the solution before,
  where there is one, in fewer iterations; `rough`, on a coarse grid and by loose criteria, where the atoms are about to
  be elsewhere: the energy is right to some 1e-4 hartree; `tight`, so well that differences of forces are right:
  forces to 1e-7 hartree/bohr. `NotConverged` is an error of this geometry alone;
- `gradient(wavefunction, calculation, device, precision)`: derivatives of the energy with respect to the positions of
  the atoms, from what it solved.

`auto` stands for the first one that has no obstacle, by `PRIORITY`; for a method that an engine names in `METHODS`,
only such engines are asked, and for another one only those that name none. Engines know nothing of dispersion: what
`engine_of` gives adds it, whatever computes the rest, and Lennard-Jones terms too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...base.errors import OrbitileError
from ...base.registry import modules_of
from ...integrals.method_names import split_name
from ...model.geometry import Geometry
from ...model.wavefunction import Wavefunction
from ..calculation import Calculation, Response, Solution, require_apart
from ..dispersion import Correction, correction_of

AUTO = "auto"
"""The name that stands for the first engine that serves."""


class Engine(Protocol):
    """What a module of an engine offers."""

    __name__: str
    PROGRAM: str
    PRIORITY: int = 0
    SLOW: tuple[str, ...] = ()
    METHODS: tuple[str, ...] = ()

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
        tight: bool = False,
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


@dataclass(frozen=True)
class Solver:
    """An engine that computes a calculation, with its dispersion correction and Lennard-Jones terms."""

    engine: Engine
    correction: Correction | None = None

    def solve(self, geometry: Geometry, calculation: Calculation, *how: Any, **more: Any) -> Solution:
        """Self-consistent field of a geometry, as by the engine; the energy includes what is added."""
        if calculation.external_charges is not None:
            require_apart(geometry, calculation.external_charges)
        added = {}
        if self.correction is not None:
            added["dispersion"] = self.correction.energy(geometry, calculation.charge)
        if calculation.lennard_jones is not None:
            added["Lennard-Jones"] = calculation.lennard_jones.energy_and_gradient(geometry.positions)[0]
        found = self.engine.solve(geometry, _plain(calculation), *how, **more)
        if not added:
            return found
        return replace(
            found,
            wavefunction=replace(found.wavefunction, method=str(calculation)),
            energy=found.energy + sum(added.values()),
            parts={**found.parts, **added},
        )

    def gradient(
        self, wavefunction: Wavefunction, calculation: Calculation, device: str | None = None, precision: str = "single"
    ) -> NDArray[np.float64]:
        """Derivatives of this energy, shape (n_atoms, 3), in hartree/bohr."""
        found = self.engine.gradient(wavefunction, _plain(calculation), device, precision)
        if self.correction is not None:
            geometry = Geometry(wavefunction.atomic_numbers, wavefunction.positions)
            found = found + self.correction.gradient(geometry, calculation.charge)
        if calculation.lennard_jones is not None:
            found = found + calculation.lennard_jones.energy_and_gradient(wavefunction.positions)[1]
        return found


def _plain(calculation: Calculation) -> Calculation:
    """A calculation without what is added to it."""
    return replace(calculation, method=split_name(calculation.method)[0], lennard_jones=None)


def engine_of(name: str, geometry: Geometry, calculation: Calculation) -> Solver:
    """The engine of a name, or for `auto` the first one that serves, with the dispersion correction of the method.

    Raises
    ------
    OrbitileError
        When there is no such engine, when it cannot compute this, or when none can; when the package for the dispersion
        correction is missing, or has no parameters for the functional.
    """
    return Solver(engines()[chosen(name, geometry, calculation)[0]], correction_of(calculation))


def chosen(name: str, geometry: Geometry, calculation: Calculation) -> tuple[str, str]:
    """The engine that a name stands for, and in one line why `auto` stands for it: what those before it cannot.

    Raises
    ------
    OrbitileError
        As `engine_of`.
    """
    known, plain = engines(), _plain(calculation)
    if name != AUTO and name not in known:
        raise OrbitileError(f"engine: expected {', '.join(engine_names())}, got {name!r}")
    method = re.sub("^(ro|u|r)(?=hf$)", "", plain.method.strip().lower())
    slow = [one for one, engine in known.items() if method in engine.SLOW]
    obstacles = dict.fromkeys(slow if name == AUTO else (), f"slower for {method}")
    own = [one for one, engine in known.items() if method in engine.METHODS]
    serving = own or [one for one in sorted(known, key=lambda one: one in slow) if not known[one].METHODS]
    for candidate in serving if name == AUTO else (name,):
        obstacles[candidate] = known[candidate].obstacle(geometry, plain)
        if not obstacles[candidate]:
            known[candidate].check(plain)
            short = {one: reason.partition(": ")[0] for one, reason in obstacles.items() if reason}
            return candidate, _told(short) or "the first engine that serves"
    raise OrbitileError(f"{calculation} cannot be computed here: {_told(obstacles)}")


def _told(obstacles: Mapping[str, str]) -> str:
    return "; ".join(f"engine {candidate}: {reason}" for candidate, reason in obstacles.items())


def told_engine(name: str, wavefunction: Wavefunction, calculation: Calculation) -> str:
    """What computed a wavefunction, with its version, and where `auto` was asked for why, in one line."""
    if name != AUTO:
        return wavefunction.program
    geometry = Geometry(wavefunction.atomic_numbers, wavefunction.positions)
    engine, why = chosen(AUTO, geometry, calculation)
    is_that = engine == engine_of_program(wavefunction.program)
    return f"{wavefunction.program} ({why if is_that else 'the engine that began it'})"


def engine_of_program(program: str) -> str:
    """Name of the engine that computed what a program of that name did; empty where none of ours did."""
    return next((name for name, engine in engines().items() if program.startswith(engine.PROGRAM)), "")
