"""Geometry optimisation, by an optimiser of ASE with our forces; the steps are a trajectory of wavefunctions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from math import log
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import FileError, OrbitileError
from ..base.watch import tell, watched
from ..exporters._series import SeriesWriter, series_target
from ..files.writing import refuse_inputs
from ..model.geometry import Geometries, Geometry
from ..model.trajectory import Trajectory
from ..model.units import angstrom, electronvolt
from ..model.wavefunction import Wavefunction
from ..readers import load_geometries
from ..readers.series import SeriesFrames
from .calculation import Calculation, NotConverged, sound
from .engines import AUTO
from .from_file import calculation_of_geometries
from .region import Region, at_geometry, lennard_jones_of
from .series import Means, engine_of_series

LARGEST_FORCE = 4e-4
"""Force on an atom below which a geometry is a minimum, in hartree/bohr: 0.02 eV/Angstrom."""

STEPS = 200
"""Geometries after which an optimisation is given up."""

_STEPS_OF_REGION = 1000
"""The same of a region: a ligand is soft in its pocket."""

_SAME = 1e-6
"""Positions in bohr that differ by less are those of one geometry."""


def optimise(
    source: str | PathLike[str],
    path: str | PathLike[str],
    calculation: Calculation | None = None,
    *,
    frame: int | None = None,
    topology: str | PathLike[str] | None = None,
    largest_force: float = LARGEST_FORCE,
    steps: int = STEPS,
    engine: str = AUTO,
    device: str | None = None,
    precision: str = "single",
    progress: Callable[[float], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    report: Callable[[str], None] | None = None,
) -> Trajectory:
    """Move the atoms to a minimum of the energy, and write the orbitals of each step to a series file.

    The optimiser is ASE's BFGS. An optimisation that was interrupted, by whatever, is taken up by the same call: the
    forces of the steps in the file are computed again from their orbitals, so that the optimiser knows what it knew.

    Parameters
    ----------
    source
        A file of geometries, or of wavefunctions.
    path
        The series file. One that is there is continued if it began from the same geometry in the same way.
    calculation
        Method, basis set, charge, unpaired electrons, kind of basis functions. By default those of the file, where it
        tells (`orbitile.calculation_for`), otherwise PBE in def2-SVP; `report` is told what differs.
    frame
        Of the source, from 0; needed where it has several.
    topology
        File that names the elements, where `source` does not.
    largest_force
        The force on no atom is larger at the end, in hartree/bohr.
    steps
        Geometries to compute at most, those in the file among them.
    engine, device, precision
        As for `compute_series`.
    progress
        Called with the share that is done, by the logarithm of the largest force.
    cancelled
        Asked in each iteration; when it says True the step is given up and all before it are kept.
    report
        Told in one line of each step.

    Returns
    -------
    Trajectory
        The series file, opened; its last frame is the minimum.

    Raises
    ------
    FileError
        When the geometry cannot be read, or the file is another series.
    OrbitileError
        When ASE is missing; when the calculation does not go with the atoms, as for `compute_series`; when the
        self-consistent field of a step or the optimisation does not converge. The file keeps the steps that were taken.
    Cancelled
        When `cancelled` said so.
    """
    geometries = load_geometries(source, topology)
    if calculation is None:
        calculation, remarks = calculation_of_geometries(geometries, {}, Calculation("pbe"), engine)
        for remark in remarks:
            (report or (lambda line: None))(f"{Path(source).name}: {remark}")
    start = one_geometry(geometries, frame)
    refuse_inputs(path, [source] if topology is None else [source, topology])
    with watched(progress, cancelled):
        return minimum_from(start, path, Means(calculation, engine, device, precision), largest_force, steps, report)


def minimum_from(
    start: Geometry,
    path: str | PathLike[str],
    means: Means,
    largest_force: float = LARGEST_FORCE,
    steps: int = STEPS,
    report: Callable[[str], None] | None = None,
) -> Trajectory:
    """The same for a geometry that has been read, under the watch of the caller (`orbitile.base.watch`)."""
    from .ase_calculator import AseCalculator, atoms_of, bfgs, hold

    if not largest_force > 0:
        raise OrbitileError(f"largest force: expected more than 0, got {largest_force:g} hartree/bohr")
    if steps < 1:
        raise OrbitileError(f"steps: expected 1 or more, got {steps}")
    calculation, engine = means.calculation, means.engine
    settings = f"optimisation, {calculation}"
    target = series_target(path)
    with _steps_in(target, start, settings) as done:
        if done:
            engine = engine_of_series(target, done[0], engine)
        calculator = AseCalculator(calculation, engine=engine, device=means.device, precision=means.precision)
        atoms = atoms_of(start)
        atoms.calc = calculator
        if calculation.lennard_jones is not None:
            hold(atoms, calculation.lennard_jones.held)
        with SeriesWriter(target, settings=settings) as writer:
            largest = _run(bfgs(atoms), done, writer, largest_force, steps, report)
    if largest > largest_force:
        raise OrbitileError(
            f"{target.name}: no minimum after {steps} steps, where the largest force is {force_in_ev(largest)}; they "
            "are kept: allow more steps to continue from there"
        )
    return Trajectory(SeriesFrames(target))


def relaxed_region(
    region: Region, path: str | PathLike[str], means: Means, report: Callable[[str], None] | None = None
) -> Region:
    """A region at a minimum in its surroundings, which stay; the steps go to a series file.

    The energy is that of the region in the field of the charges with Lennard-Jones terms. Atoms at bonds that are cut
    stay too. Errors are those of `optimise` and of `lennard_jones`.
    """
    calculation = replace(means.calculation, lennard_jones=lennard_jones_of(region))
    means = replace(means, calculation=calculation)
    last = minimum_from(region.geometry, path, means, steps=_STEPS_OF_REGION, report=report)[-1]
    return at_geometry(region, Geometry(last.atomic_numbers, last.positions))


def one_geometry(geometries: Geometries, frame: int | None) -> Geometry:
    """The geometry to begin from."""
    n = len(geometries)
    if frame is None and n > 1:
        raise OrbitileError(f"{geometries.name}: holds {n} geometries; choose one with --frame, in Python with frame=")
    if frame is not None and not 0 <= frame < n:
        raise OrbitileError(f"{geometries.name}: has {n} frames; there is no frame {frame + 1}")
    return sound(geometries.read(frame or 0))


@contextmanager
def _steps_in(target: Path, start: Geometry, settings: str) -> Iterator[Trajectory | tuple[Wavefunction, ...]]:
    """The steps that a file has, after a test that they began from a geometry; a file with other settings has none."""
    if not target.exists():
        yield ()
        return
    with closing(SeriesFrames(target)) as series:
        if series.settings != settings or not len(series):
            yield ()
            return
        steps = Trajectory(series)
        if not (
            np.array_equal(steps[0].atomic_numbers, start.atomic_numbers)
            and np.allclose(steps[0].positions, start.positions, rtol=0, atol=_SAME)
        ):
            raise FileError(f"{target.name}: began from another geometry; write to another file")
        yield steps


def _run(
    optimiser: Any,
    done: Trajectory | tuple[Wavefunction, ...],
    writer: SeriesWriter,
    largest_force: float,
    steps: int,
    report: Callable[[str], None] | None,
) -> float:
    """Take the steps, those that are done first; returns the largest force on an atom at the last one."""
    atoms = optimiser.atoms
    first = largest = 0.0
    for step in range(steps):
        if step < len(done):
            atoms.calc.begin_from(done[step])
            atoms.set_positions(atoms.calc.atoms.positions)
        try:
            forces = atoms.get_forces() * electronvolt / angstrom
        except NotConverged as error:
            raise OrbitileError(f"step {step + 1}: {error}; the steps before it are kept") from error
        largest = float(np.sqrt((forces**2).sum(axis=1)).max())
        if step >= len(done):
            writer.append(atoms.calc.wavefunction, step)
            if report is not None:
                energy = atoms.get_potential_energy(force_consistent=True) * electronvolt
                parts = "".join(f", {name} {part * electronvolt:.6f}" for name, part in atoms.calc.parts.items())
                report(f"step {step + 1}: {energy:.6f} hartree{parts}, largest force {force_in_ev(largest)}")
        first = first or largest
        tell(1.0 if largest <= largest_force else log(first / largest) / log(first / largest_force))
        if largest <= largest_force and step >= len(done) - 1:
            break
        optimiser.step()
    return largest


def force_in_ev(force: float) -> str:
    """A force in hartree/bohr, as it is told: in the unit of the command line."""
    return f"{force / electronvolt * angstrom:.4f} eV/Angstrom"
