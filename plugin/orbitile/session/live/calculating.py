"""What runs in the process of a live molecule: one geometry after the other, each from those before."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from secrets import token_hex

import numpy as np
from numpy.typing import NDArray

from ...base.errors import Cancelled, FieldError, OrbitileError
from ...exporters._series import SeriesWriter
from ...fields.orbital import orbital_name, orbital_of
from ...model.geometry import Geometry
from ...model.wavefunction import Orbitals, Spin, Wavefunction
from ...pictures.request import Request, Sample
from ...scf.calculation import HISTORY, Calculation, NotConverged, Response, Solution, sound
from ...scf.engines import engine_of
from ...trajectories.tracking import DEGENERACY, FrameMatch, Reference, followed, step_to, with_phases_of
from ..sampling import WavefunctionCache, sample
from ..source import OneFile, content_of_frame
from .order import Converged, Order, Positions, Relaxation
from .relaxing import Forces, Relaxer

_KEPT = 2 * HISTORY
"""Converged geometries that are kept: those behind the ends of two branches of a path."""

_LOWER = 2e-6
"""Hartree by which another state is lower; what two ways make of one state differs by less, in single precision too."""


@dataclass(eq=False)
class _Known:
    """What is known of a live molecule: its last converged geometries by their sources, the latest at the end.

    Nothing but time depends on it: what a geometry continues from comes with the order.
    """

    key: str
    found: OrderedDict[str, Converged] = field(default_factory=OrderedDict)
    response: Response | None = None
    """Of the last self-consistent field."""
    solved: tuple[str, Wavefunction] | None = None
    """Its orbitals as the engine gave them, after their source: forces need those of a degenerate set one by one."""
    forces: tuple[str, Forces] | None = None
    """The last forces, after their source."""
    relaxer: Relaxer = field(default_factory=Relaxer)

    def keep(self, found: Converged) -> Converged:
        """Keep a geometry, with all that was derived from its wavefunction where that was known."""
        known = self.found.pop(found.source, None)
        found = self.found[found.source] = found if known is None else replace(found, wavefunction=known.wavefunction)
        while len(self.found) > _KEPT:
            self.found.popitem(last=False)
        return found

    def before(self, positions: Positions, after: Converged) -> list[Wavefunction]:
        """What a self-consistent field begins from: the nearest geometries, the one that it continues from last."""

        def away(found: Converged) -> float:
            return float(np.linalg.norm(found.positions - positions))

        others = sorted((one for one in self.found.values() if one is not after), key=away)[: HISTORY - 1]
        return [one.wavefunction for one in (*reversed(others), after)]


_known = _Known("")


def converged(order: Order) -> Converged:
    """Compute a geometry.

    Raises
    ------
    NotConverged
        When the self-consistent field is not reached. What was known of other geometries stays.
    OrbitileError
        When the calculation does not go with the atoms, two of them are at one place, or the file cannot be written.
    Cancelled
        When the watch says that the result is not wanted any more.
    """
    global _known
    if _known.key != order.key:
        _known = _Known(order.key)
    after = None if order.after is None else _known.keep(order.after)
    is_there = after is not None and np.array_equal(after.positions, order.positions)
    if after is None or not is_there or (after.is_rough and not order.rough):
        found = _solved(_known, order, after)
    else:
        found = _compared(_known, order, after) if order.compares else after
    if order.relaxation is not None:
        found = _known.found[found.source] = _relaxed(_known, order, found, order.relaxation)
    return replace(found, samples=_samples(order, found))


def _solved(known: _Known, order: Order, after: Converged | None) -> Converged:
    """The self-consistent field, begun from those before, or from atoms where there are none or that fails."""
    begin, from_atoms = time.perf_counter(), after is None
    try:
        solution = _solution(order, [] if after is None else known.before(order.positions, after), known.response)
    except NotConverged:
        if from_atoms:
            raise
        solution, from_atoms = _solution(order, [], None), True
    found = _taken(known, order, after, solution, time.perf_counter() - begin)
    return known.keep(replace(found, is_compared=from_atoms, is_rough=order.rough))


def _compared(known: _Known, order: Order, found: Converged) -> Converged:
    """A field, or the one that is begun from atoms where that is lower: those before are forgotten then."""
    begin = time.perf_counter()
    with suppress(NotConverged):
        solution = _solution(order, [], None)
        if solution.energy < found.energy - _LOWER:
            known.found.clear()
            other = _taken(known, order, found, solution, time.perf_counter() - begin)
            return known.keep(replace(other, is_compared=True))
    return known.keep(replace(found, is_compared=True))


def _solution(order: Order, before: list[Wavefunction], response: Response | None) -> Solution:
    """The self-consistent field that begins from those before, or from atoms."""
    level, calculation = order.level, order.level.calculation
    geometry = sound(Geometry(order.atomic_numbers, order.positions))
    engine = engine_of(level.engine, geometry, calculation)
    return engine.solve(geometry, calculation, before, level.device, level.precision, response, order.rough)


def _taken(known: _Known, order: Order, after: Converged | None, solution: Solution, seconds: float) -> Converged:
    """A solution with its orbitals in order, in a file."""
    known.response = solution.response
    solved = solution.wavefunction
    if after is None and order.like is not None:
        solved = with_phases_of(order.like, solved)
    wavefunction, first = _in_order(after, solved)
    file = _written(order, wavefunction)
    source, wavefunction = str(file), replace(wavefunction, source=file.path)
    known.solved = source, solution.wavefunction
    what = order.positions, wavefunction, source, first, solution.energy, solution.n_iterations, seconds
    return Converged(*what, parts=solution.parts)


def _relaxed(known: _Known, order: Order, found: Converged, relaxation: Relaxation) -> Converged:
    """The same, with where the forces take the atoms, or why they do not."""
    try:
        if known.forces is None or known.forces[0] != found.source:
            known.forces = found.source, _forces(known, order, found)
        geometry, calculation = Geometry(order.atomic_numbers, order.positions), order.level.calculation
        if (terms := calculation.lennard_jones) is not None:
            relaxation = replace(relaxation, held=tuple(sorted({*relaxation.held, *terms.held})))
        is_free = calculation.external_charges is None
        largest, relaxed = known.relaxer.step(geometry, known.forces[1], relaxation, is_free=is_free)
    except Cancelled:
        raise
    except OrbitileError as error:
        return replace(found, largest_force=None, relaxed=error)
    return replace(found, largest_force=largest, relaxed=relaxed)


def _forces(known: _Known, order: Order, found: Converged) -> Forces:
    level, calculation = order.level, order.level.calculation
    geometry = Geometry(order.atomic_numbers, order.positions)
    engine = engine_of(level.engine, geometry, calculation)
    if known.solved is None or known.solved[0] != found.source:  # another process has found it
        solution = engine.solve(geometry, calculation, [found.wavefunction], level.device, level.precision)
        known.solved = found.source, solution.wavefunction
    return -engine.gradient(known.solved[1], calculation, level.device, level.precision)


def _in_order(after: Converged | None, wavefunction: Wavefunction) -> tuple[Wavefunction, dict[str, str]]:
    """A wavefunction by the energies of its orbitals, with phases as before, and their first names."""
    try:
        match = step_to(None if after is None else _reference(after), 0, wavefunction, DEGENERACY).match
    except OrbitileError:  # functions that depend on others were left out: there is nothing to compare with
        match = step_to(None, 0, wavefunction, DEGENERACY).match
    return _by_energy(followed(wavefunction, match), match)


def _reference(found: Converged) -> Reference:
    """What the next geometry is compared with: orbitals in the order that they had at first."""
    wavefunction, now = found.wavefunction, {first: name for name, first in found.first_names.items()}
    coefficients: dict[Spin, NDArray[np.float64]] = {}
    occupations: dict[Spin, NDArray[np.float64]] = {}
    for spin, orbitals in _sets(wavefunction):
        names = [orbital_name(wavefunction, n, spin) for n in range(len(orbitals))]
        order = [names.index(now[name]) for name in names]
        coefficients[spin], occupations[spin] = orbitals.coefficients[:, order], orbitals.occupations[order]
    return Reference(wavefunction, coefficients, occupations)


def _by_energy(wavefunction: Wavefunction, match: FrameMatch) -> tuple[Wavefunction, dict[str, str]]:
    first, parts = {}, []
    for spin, orbitals in _sets(wavefunction):
        order = np.lexsort((orbitals.energies, -np.round(orbitals.occupations, 6)))
        parts.append(Orbitals(orbitals.coefficients[:, order], orbitals.occupations[order], orbitals.energies[order]))
        for now, then in enumerate(order.tolist()):
            first[orbital_name(wavefunction, now, spin)] = orbital_name(wavefunction, then, spin)
    return replace(wavefunction, alpha=parts[0], beta=parts[1] if len(parts) > 1 else None), first


def _sets(wavefunction: Wavefunction) -> list[tuple[Spin, Orbitals]]:
    sets: list[tuple[Spin, Orbitals]] = [("alpha", wavefunction.alpha)]
    return sets if wavefunction.beta is None else [*sets, ("beta", wavefunction.beta)]


def _written(order: Order, wavefunction: Wavefunction) -> OneFile:
    path = Path(order.folder) / f"{re.sub(r'[^A-Za-z0-9_]', '_', order.name)[:40]}-{token_hex(4)}.series.h5"
    settings = str(order.level.calculation)
    with SeriesWriter(path, settings=settings, most=1) as writer:
        writer.append(wavefunction)
    return OneFile(str(path), content_of_frame(wavefunction, settings))


class _OfGeometry(WavefunctionCache):
    """The wavefunction of a geometry, without a look at its file: nobody else writes that."""

    def __init__(self, wavefunction: Wavefunction) -> None:
        super().__init__()
        self._wavefunction = wavefunction

    def get(self, source: str, frame: int | None = None) -> Wavefunction:
        """The same for every source."""
        return self._wavefunction


def _samples(order: Order, found: Converged) -> tuple[Sample | OrbitileError, ...]:
    cache = _OfGeometry(found.wavefunction)
    samples: list[Sample | OrbitileError] = []
    for request in order.fields:
        try:
            samples.append(sample(of_geometry(request, found), cache))
        except Cancelled:
            raise
        except OrbitileError as error:
            samples.append(error)
    return tuple(samples)


def of_geometry(request: Request, found: Converged) -> Request:
    """The request for the same field of a converged geometry, of one that names orbitals by their first names."""
    now = {first: name for name, first in found.first_names.items()}

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
    """Name of an orbital by its number, "homo" as "mo:5"; any other, also of one that is not there, as it is."""
    try:
        orbital = orbital_of(wavefunction, name.strip())
    except FieldError:
        return name
    return name if orbital is None else orbital.name


def rehearse(device: str) -> None:
    """Compute a field and forces of water in a worker, so that the kernels for common basis sets are compiled.

    Where basis sets are missing, nothing is done: whoever asks for a field is told.
    """
    water = Geometry(np.array([8, 1, 1]), np.array([[0, 0, 0], [0, 1.43, 1.11], [0, -1.43, 1.11]], np.float64))
    calculation = Calculation("pbe", "6-31g*")
    with suppress(OrbitileError):
        engine = engine_of("orbitile", water, calculation)
        first = engine.solve(water, calculation, device=device).wavefunction
        engine.solve(water, calculation, [first], device)
        engine.gradient(first, calculation, device)
