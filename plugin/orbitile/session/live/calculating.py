"""What runs in the process of a live molecule: one geometry after the other, each from those before."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_hex

import numpy as np
from numpy.typing import NDArray

from ...errors import Cancelled, OrbitileError
from ...exporters._series import SeriesWriter
from ...fields.orbital import orbital_name, orbital_of
from ...model.geometry import Geometry
from ...model.wavefunction import Orbitals, Spin, Wavefunction
from ...readers import load
from ...scf.engines import Engine, engine_of
from ...scf.forces import check_forces
from ...scf.series import HISTORY, sound
from ...trajectories.matching import DEGENERACY, FrameMatch, Reference, step_to
from ...trajectories.tracking import followed
from ..request import Request, Sample
from ..sampling import WavefunctionCache, sample
from ..source import OneFile
from .order import Converged, Order, Relaxation
from .relaxing import Relaxer


@dataclass(eq=False)
class _Known:
    """What is known of a live molecule; forces are those of the last geometry, once they were wanted."""

    key: str
    recent: deque[Wavefunction] = field(default_factory=lambda: deque(maxlen=HISTORY))
    reference: Reference | None = None
    last: Converged | None = None
    engine: Engine | None = None
    forces: NDArray[np.float64] | None = None
    relaxer: Relaxer = field(default_factory=Relaxer)


_known = _Known("")


def converged(order: Order) -> Converged:
    """Compute a geometry.

    Raises
    ------
    NotConverged
        When the self-consistent field is not reached. What was known of the geometry before stays.
    OrbitileError
        When the calculation does not go with the atoms, two of them are at one place, or the file cannot be written.
    Cancelled
        When the watch says that the result is not wanted any more.
    """
    known = _knowledge(order)
    if known.last is None or not np.array_equal(known.last.positions, order.positions):
        known.last = _solved(known, order)
    if order.relaxation is not None:
        known.last = _relaxed(known, order, known.last, order.relaxation)
    return replace(known.last, samples=_samples(order, known.last))


def _solved(known: _Known, order: Order) -> Converged:
    """The self-consistent field, without fields."""
    level, calculation = order.level, order.level.calculation
    geometry = sound(Geometry(order.atomic_numbers, order.positions))
    known.engine, known.forces = engine_of(level.engine, geometry, calculation), None
    begin = time.perf_counter()
    solution = known.engine.solve(geometry, calculation, known.recent, level.device, level.precision)
    seconds = time.perf_counter() - begin
    wavefunction, first = _in_order(known, solution.wavefunction)
    known.recent.append(solution.wavefunction)
    source = str(_written(order, wavefunction))
    return Converged(order.positions, wavefunction, source, first, solution.energy, solution.n_iterations, seconds)


def _relaxed(known: _Known, order: Order, found: Converged, relaxation: Relaxation) -> Converged:
    """The same, with where the forces take the atoms, or why they do not."""
    level = order.level
    assert known.engine is not None  # it has found this
    try:
        if known.forces is None:
            check_forces(level.calculation)
            gradient = known.engine.gradient(known.recent[-1], level.calculation, level.device, level.precision)
            known.forces = -gradient
        geometry = Geometry(order.atomic_numbers, order.positions)
        largest, relaxed = known.relaxer.step(geometry, known.forces, relaxation)
    except Cancelled:
        raise
    except OrbitileError as error:
        return replace(found, largest_force=None, relaxed=error)
    return replace(found, largest_force=largest, relaxed=relaxed)


def _knowledge(order: Order) -> _Known:
    """What is known of the molecule; of another one nothing, unless it was computed by a process before this one."""
    global _known
    if _known.key != order.key:
        _known = _Known(order.key)
        if order.last:
            _known.recent.append(load(order.last))
    return _known


def _in_order(known: _Known, wavefunction: Wavefunction) -> tuple[Wavefunction, dict[str, str]]:
    """A wavefunction by the energies of its orbitals, with phases as before, and their first names."""
    try:
        step = step_to(known.reference, 0, wavefunction, DEGENERACY)
    except OrbitileError:  # functions that depend on others were left out: there is nothing to compare with
        step = step_to(None, 0, wavefunction, DEGENERACY)
    known.reference = step.reference
    return _by_energy(followed(wavefunction, step.match), step.match)


def _by_energy(wavefunction: Wavefunction, match: FrameMatch) -> tuple[Wavefunction, dict[str, str]]:
    sets: list[tuple[Spin, Orbitals]] = [("alpha", wavefunction.alpha)]
    if wavefunction.beta is not None:
        sets.append(("beta", wavefunction.beta))
    first, parts = {}, []
    for spin, orbitals in sets:
        order = np.lexsort((orbitals.energies, -np.round(orbitals.occupations, 6)))
        parts.append(Orbitals(orbitals.coefficients[:, order], orbitals.occupations[order], orbitals.energies[order]))
        for now, then in enumerate(order.tolist()):
            first[orbital_name(wavefunction, now, spin)] = orbital_name(wavefunction, then, spin)
    return replace(wavefunction, alpha=parts[0], beta=parts[1] if len(parts) > 1 else None), first


def _written(order: Order, wavefunction: Wavefunction) -> OneFile:
    path = Path(order.folder) / f"{token_hex(8)}.series.h5"
    with SeriesWriter(path, settings=str(order.level.calculation)) as writer:
        writer.append(wavefunction)
    return OneFile(str(path)).noted()


def _samples(order: Order, found: Converged) -> tuple[Sample | OrbitileError, ...]:
    cache = WavefunctionCache()
    cache.keep_one(OneFile.read(found.source), found.wavefunction)
    now = {first: name for name, first in found.first_names.items()}
    samples: list[Sample | OrbitileError] = []
    for request in order.fields:
        try:
            samples.append(sample(_of_this(request, found, now), cache))
        except Cancelled:
            raise
        except OrbitileError as error:
            samples.append(error)
    return tuple(samples)


def _of_this(request: Request, found: Converged, now: dict[str, str]) -> Request:
    """A request for the same field of this wavefunction."""

    def name(field: str) -> str:
        return now.get(field) or numbered_name(found.wavefunction, field)

    return replace(
        request,
        path=found.source,
        field=name(request.field),
        color_by=name(request.color_by),
        frame=None,
        room=None,
    )


def numbered_name(wavefunction: Wavefunction, name: str) -> str:
    """Name of an orbital by its number, "homo" as "mo:5"; names of other fields are returned as they are."""
    orbital = orbital_of(wavefunction, name.strip())
    return name if orbital is None else orbital.name
