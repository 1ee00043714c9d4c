r"""Vibrations of a molecule by any engine: the Hessian as differences of forces, dipole moments beside.

Each coordinate of each atom is moved forwards and backwards; half the difference of the two gradients, by the step, is
a row of the Hessian, and that of the dipole moments one of their derivatives. Coordinates do not need each other, so
any executor takes them. Derivatives of the polarisability follow from gradients in homogeneous fields F, as
:math:`\partial\alpha/\partial x = -\partial^3 E/\partial F^2 \partial x` (A. Komornicki, J. W. McIver, J. Chem. Phys.
1979, 70, 2014): twelve fields for the whole molecule.

What is done is kept in a folder beside the file, `NAME.parts`, from which the same call goes on after an interruption.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np

from ..base.arrays import Reals
from ..base.errors import FileError, OrbitileError
from ..base.temporary import own_folder
from ..base.watch import checkpoint, stage, tell, watched
from ..exporters._series import require_series, series_target, write_series
from ..files.writing import refuse_inputs, written_atomically
from ..gaussians.overlap import position_integrals
from ..model.external_charges import ExternalCharges
from ..model.geometry import Geometry
from ..model.normal_modes import modes_of, standard_masses
from ..model.vibrations import Vibrations
from ..model.wavefunction import Wavefunction
from ..readers import load_geometries
from ..readers.series import SeriesFrames
from ..workers import awaited, in_order
from .calculation import Calculation, NotConverged, sound
from .engines import AUTO, engine_of
from .from_file import calculation_of_geometries
from .optimisation import LARGEST_FORCE, force_in_ev, minimum_from, one_geometry
from .series import Means, claimed_folder

STEP = 0.005
"""By how much a coordinate is moved for differences of forces, in bohr; docs/vibrations.md says what others give."""

TIGHT_FORCE = 5e-5
"""Force on an atom below which a geometry is a minimum where vibrations are to follow, in hartree/bohr."""

_FIELD = 0.004
"""Of the homogeneous fields in hartree/(e bohr)."""

_FAR = 2000.0
"""Distance in bohr of the two charges that make such a field."""

_OFTEN = 1.0
"""Seconds after which what is done is written."""

_STATE, _MINIMUM = "derivatives.npz", "minimum.h5"

Report = Callable[[str], None]
_Result = TypeVar("_Result")


def compute_vibrations(
    source: str | PathLike[str] | Geometry | Wavefunction,
    path: str | PathLike[str] | None = None,
    calculation: Calculation | None = None,
    *,
    frame: int | None = None,
    topology: str | PathLike[str] | None = None,
    optimise: bool = False,
    raman: bool = False,
    step: float = STEP,
    engine: str = AUTO,
    device: str | None = None,
    precision: str = "double",
    executor: Executor | None = None,
    progress: Callable[[float], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    report: Report | None = None,
) -> Vibrations:
    """Compute the vibrations of a molecule: wavenumbers, modes, infrared intensities.

    Parameters
    ----------
    source
        A file of geometries or of wavefunctions, or one of these. Ghost atoms are left out.
    path
        A series file, .h5 or .zarr, that gets the vibrations and the orbitals of the stationary point; None keeps
        nothing. Of a calculation that was interrupted, by whatever, the same call goes on from what is in `PATH.parts`;
        one that is complete is read.
    calculation
        Method, basis set, charge, unpaired electrons. By default those of the file, where it tells, otherwise GFN2-xTB.
    frame
        Of the source, from 0; needed where it has several.
    topology
        File that names the elements, where `source` does not.
    optimise
        Whether the atoms are moved to a minimum of the energy at first; needs the package ase.
    raman
        Whether Raman activities are computed too, from gradients in twelve fields.
    step
        By how much each coordinate is moved, in bohr.
    engine, device
        As for `compute_series`.
    precision
        As for `compute_series`. Forces in single precision are right to some 1e-5 hartree/bohr, which soft modes feel.
    executor
        Other processes that compute: those of `orbitile.workers.local_workers`, or of a cluster.
    progress
        Called with the share that is done.
    cancelled
        Asked in each iteration; the same call goes on from there later, if there is a path.
    report
        Told in one line what differs from the file, and of each step of an optimisation.

    Returns
    -------
    Vibrations
        `remarks` say so when the geometry is no stationary point.

    Raises
    ------
    FileError
        When a file cannot be read or written, or another process is computing the same.
    OrbitileError
        When no engine has forces of the method for these atoms; when a self-consistent field does not converge; when
        Raman activities are asked for in a solvent.
    Cancelled
        When `cancelled` said so.
    """
    say = report or (lambda line: None)
    if not 0 < step < 0.5:
        raise OrbitileError(f"step: expected more than 0 and less than 0.5 bohr, got {step:g}")
    if isinstance(source, Geometry | Wavefunction):
        geometry: Geometry = Geometry(source.atomic_numbers, source.positions)
        calculation = calculation or Calculation("gfn2")
    else:
        geometries = load_geometries(source, topology)
        if calculation is None:
            calculation, remarks = calculation_of_geometries(geometries, {}, Calculation("gfn2"), engine)
            for remark in remarks:
                say(f"{geometries.name}: {remark}")
        geometry = one_geometry(geometries, frame)
        if path is not None:
            refuse_inputs(path, [source] if topology is None else [source, topology])
    means = Means(calculation, engine, device, precision)
    with watched(progress, cancelled):
        return vibrations_at(geometry, path, means, optimise, raman, step, executor, say)


def vibrations_at(
    geometry: Geometry,
    path: str | PathLike[str] | None,
    means: Means,
    optimise: bool = False,
    raman: bool = False,
    step: float = STEP,
    executor: Executor | None = None,
    report: Report = print,
) -> Vibrations:
    """The same for a geometry that has been read, under the watch of the caller (`orbitile.base.watch`)."""
    if raman and means.calculation.solvent:
        raise OrbitileError(
            f"Raman activities in {means.calculation.solvent}: fields would reach the continuum too; leave out the "
            "solvent or the Raman activities"
        )
    is_real = geometry.atomic_numbers > 0
    geometry = sound(Geometry(geometry.atomic_numbers[is_real], geometry.positions[is_real]))
    settings = _settings(geometry, means, optimise, raman, step)
    if path is not None:
        require_series(path)
        target = series_target(path)
        if (found := _known(target, settings)) is not None:
            return found
    with _folder(path) as folder:
        share = 0.3 * optimise
        if optimise:
            with stage(0.0, share), closing(_optimised(folder, geometry, means, report)) as steps:
                geometry = Geometry(geometry.atomic_numbers, steps.geometries()[-1])
        with stage(share, 1.0):
            task = _Task(folder, settings, geometry, means, raman, step, executor)
            vibrations = task.vibrations()
        if path is None:
            return vibrations
        vibrations = replace(vibrations, source=str(target))
        write_series(target, task.wavefunction, settings, vibrations)
    return vibrations


def _settings(geometry: Geometry, means: Means, optimise: bool, raman: bool, step: float) -> str:
    """What tells a calculation from others, as a series notes it."""
    atoms = hashlib.sha256(geometry.atomic_numbers.tobytes() + geometry.positions.tobytes()).hexdigest()[:16]
    return (
        f"vibrations{' with Raman activities' * raman}, {means.calculation}, engine {means.engine}, {means.precision} "
        f"precision, step {step:g}, {'optimised from' if optimise else 'at'} {atoms}"
    )


def _known(target: Path, settings: str) -> Vibrations | None:
    """Vibrations that a file has of these settings."""
    if not target.exists():
        return None
    try:
        series = SeriesFrames(target)
    except FileError:  # damaged, as it is replaced
        return None
    with closing(series):
        return series.vibrations() if series.settings == settings else None


@contextmanager
def _folder(path: str | PathLike[str] | None) -> Iterator[Path]:
    """Where to keep what is done."""
    if path is None:
        with TemporaryDirectory(dir=own_folder()) as name:
            yield Path(name)
    else:
        with claimed_folder(series_target(path), _is_kept) as folder:
            yield folder


def _is_kept(folder: Path) -> bool:
    return any((folder / name).exists() for name in (_STATE, _MINIMUM))


def _optimised(folder: Path, geometry: Geometry, means: Means, report: Report) -> SeriesFrames:
    """The way to the minimum."""
    target = folder / _MINIMUM
    minimum_from(geometry, target, means, TIGHT_FORCE, report=report)
    return SeriesFrames(target)


# ---- what is computed, wherever


@dataclass(frozen=True, eq=False)
class Stationary:
    """The geometry at which derivatives are taken.

    Attributes
    ----------
    wavefunction : Wavefunction
    energy : float
        In hartree.
    gradient : ndarray, shape (n_atoms, 3)
        In hartree/bohr.
    """

    wavefunction: Wavefunction
    energy: float
    gradient: Reals


def solved(geometry: Geometry, means: Means) -> Stationary:
    """Self-consistent field and gradient where no atom is moved."""
    solver = engine_of(means.engine, geometry, means.calculation)
    found = solver.solve(geometry, means.calculation, (), means.device, means.precision, tight=True)
    gradient = solver.gradient(found.wavefunction, means.calculation, means.device, means.precision)
    return Stationary(found.wavefunction, found.energy, gradient)


def differences(undisplaced: Wavefunction, coordinate: int, step: float, means: Means) -> Reals:
    """Derivatives with one coordinate: of the gradient in hartree/bohr^2, and behind it those of the dipole in e."""
    geometry = Geometry(undisplaced.atomic_numbers, undisplaced.positions)
    solver = engine_of(means.engine, geometry, means.calculation)
    ends, response = [], None
    for sign in (1, -1):
        positions = undisplaced.positions.copy()
        positions.reshape(-1)[coordinate] += sign * step
        moved = Geometry(geometry.atomic_numbers, positions)
        how = (means.calculation, (undisplaced,), means.device, means.precision)
        found = solver.solve(moved, *how, response=response, tight=True)
        response = found.response
        gradient = solver.gradient(found.wavefunction, means.calculation, means.device, means.precision)
        ends.append(np.append(gradient, dipole_of(found.wavefunction)))
    return (ends[0] - ends[1]) / (2 * step)


def gradient_in_field(undisplaced: Wavefunction, direction: Sequence[float], means: Means) -> Reals:
    """Gradient in a homogeneous field, shape (3 n_atoms,), in hartree/bohr."""
    middle = undisplaced.positions.mean(axis=0)
    away = _FAR * np.array(direction)
    strength = 0.5 * _FIELD * _FAR**2
    positions, charges = np.array([middle - away, middle + away]), np.array([strength, -strength])
    if (external := means.calculation.external_charges) is not None:
        widths = np.append(np.zeros(2), external.widths)
        positions, charges = np.concatenate([positions, external.positions]), np.append(charges, external.charges)
        field = ExternalCharges(positions, charges, widths)
    else:
        field = ExternalCharges(positions, charges)
    calculation = replace(means.calculation, external_charges=field)
    geometry = Geometry(undisplaced.atomic_numbers, undisplaced.positions)
    solver = engine_of(means.engine, geometry, calculation)
    found = solver.solve(geometry, calculation, (undisplaced,), means.device, means.precision, tight=True)
    return solver.gradient(found.wavefunction, calculation, means.device, means.precision).ravel()


def dipole_of(wavefunction: Wavefunction) -> Reals:
    """Dipole moment about the origin in e bohr, shape (3,)."""
    dipole = wavefunction.core_charges @ wavefunction.positions
    for orbitals in wavefunction.sets:
        occupied = np.flatnonzero(orbitals.occupations)
        elements = position_integrals(wavefunction, orbitals.coefficients[:, occupied])
        dipole = dipole - np.einsum("xii,i->x", elements, orbitals.occupations[occupied])
    return dipole


_DIRECTIONS = [
    *([int(n == axis) for n in range(3)] for axis in range(3)),
    *([0.5**0.5 * (n in pair) for n in range(3)] for pair in ((0, 1), (0, 2), (1, 2))),
]
"""Of the fields: x, y, z, and between two axes."""


@dataclass(eq=False)
class _Task:
    """How far derivatives are; they go on where they were left."""

    folder: Path
    settings: str
    geometry: Geometry
    means: Means
    raman: bool
    step: float
    executor: Executor | None
    rows: list[Reals] = field(default_factory=list)
    in_fields: list[Reals] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._key = f"{self.settings} {hashlib.sha256(self.geometry.positions.tobytes()).hexdigest()}"
        self._kept = time.monotonic()
        try:
            with np.load(self.folder / _STATE, allow_pickle=False) as kept:
                if str(kept["key"]) == self._key:
                    self.rows, self.in_fields = list(kept["rows"]), list(kept["in_fields"])
        except (OSError, ValueError, LookupError, EOFError):  # nothing, or nothing that can be used
            pass

    def vibrations(self) -> Vibrations:
        """All that follows from the derivatives."""
        start = self._run(solved, self.geometry, self.means)
        self.wavefunction = start.wavefunction
        n = self.geometry.positions.size
        total = n + 12 * self.raman
        calls: list[tuple[Any, ...]] = [
            (start.wavefunction, coordinate, self.step, self.means) for coordinate in range(len(self.rows), n)
        ]
        self._collect(self.rows, differences, calls, 0, total)
        if self.raman:
            fields = [(sign * np.array(direction)).tolist() for direction in _DIRECTIONS for sign in (1, -1)]
            calls = [(start.wavefunction, field, self.means) for field in fields[len(self.in_fields) :]]
            self._collect(self.in_fields, gradient_in_field, calls, n, total)
        return self._made(start)

    def _made(self, start: Stationary) -> Vibrations:
        rows, n = np.array(self.rows), self.geometry.positions.size
        calculation = self.means.calculation
        found = Vibrations(
            atomic_numbers=self.geometry.atomic_numbers,
            positions=self.geometry.positions,
            masses=standard_masses(self.geometry.atomic_numbers),
            wavenumbers=np.empty(0),
            displacements=np.empty((0, n // 3, 3)),
            energy=start.energy,
            multiplicity=calculation.unpaired + 1,
            hessian=0.5 * (rows[:, :n] + rows[:, :n].T),
            dipole_derivatives=rows[:, n:],
            polarisability_derivatives=self._polarisability_derivatives(start) if self.raman else np.empty(0),
            method=str(calculation),
            remarks=tuple(self._remarks(start)),
        )
        return modes_of(found, is_free=calculation.external_charges is None)

    def _polarisability_derivatives(self, start: Stationary) -> Reals:
        """Shape (3 n_atoms, 3, 3), in bohr^2."""
        pairs = np.array(self.in_fields).reshape(6, 2, -1)
        along = -(pairs.sum(axis=1) - 2 * start.gradient.ravel()) / _FIELD**2
        result = np.zeros((along.shape[1], 3, 3))
        for axis in range(3):
            result[:, axis, axis] = along[axis]
        for values, (i, j) in zip(along[3:], ((0, 1), (0, 2), (1, 2)), strict=True):
            result[:, i, j] = result[:, j, i] = values - 0.5 * (along[i] + along[j])
        return result

    def _remarks(self, start: Stationary) -> Iterable[str]:
        largest = float(np.linalg.norm(start.gradient, axis=1).max())
        if self.means.calculation.external_charges is not None:
            yield (
                "the charges around the molecule stay where they are: it cannot move nor turn freely, so all modes are "
                "given, three for each atom"
            )
        elif largest > 1.25 * LARGEST_FORCE:
            yield (
                f"this is no stationary point: the largest force on an atom is {force_in_ev(largest)}, so that low "
                "wavenumbers mean little; optimise the geometry with the same method first (--optimise, or `orbitile "
                "optimise`)"
            )

    def _run(self, function: Callable[..., _Result], *arguments: Any) -> _Result:
        if self.executor is None:
            return function(*arguments)
        return awaited(self.executor.submit(function, *arguments))

    def _collect(
        self, results: list[Reals], function: Callable[..., Reals], calls: list[tuple[Any, ...]], done: int, total: int
    ) -> None:
        """Append what is missing, and keep it."""
        if self.executor is None:
            found: Generator[Reals, None, None] = (function(*call) for call in calls)
        else:
            found = in_order(self.executor, function, calls)
        try:
            for _ in calls:
                with stage(0.0, 0.0):  # iterations of one geometry say nothing of the whole
                    results.append(next(found))
                tell((done + len(results)) / total)
                checkpoint()
                if time.monotonic() - self._kept > _OFTEN:
                    self._keep()
        except NotConverged as error:
            raise OrbitileError(
                f"displaced geometry: {error}; the same call goes on from those that are done"
            ) from error
        finally:
            found.close()
            if results:
                self._keep()

    def _keep(self) -> None:
        """Write what is known so far to the folder."""
        with written_atomically(self.folder / _STATE) as temporary, open(temporary, "wb") as stream:
            np.savez(stream, key=np.array(self._key), rows=np.array(self.rows), in_fields=np.array(self.in_fields))
        self._kept = time.monotonic()
