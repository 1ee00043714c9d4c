r"""Electrons along a vibration: self-consistent fields of molecules whose atoms are moved along one of their modes.

Frames go through one period of the motion. The first and the last one are so close to the stationary point, on either
side of it, that their difference is the derivative with the normal coordinate; the others show the motion. Where no
engine has the method of a file, its orbitals are moved with the atoms as they are, and made orthonormal again: their
nodes and phases are right then, and no charge flows between atoms.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from ..base.arrays import Reals
from ..base.errors import FileError, OrbitileError
from ..base.watch import tell, watched
from ..exporters._series import SeriesWriter, replaced_series, series_target
from ..files.reading import user_path
from ..gaussians.overlap import dense, inverse_root, overlap_matrix
from ..model.geometry import Geometry
from ..model.trajectory import Trajectory
from ..model.units import angstrom
from ..model.vibrations import Vibrations, mode_name, motion_of
from ..model.wavefunction import Orbitals, Wavefunction
from ..readers import load, load_vibrations
from ..readers._modes import mode_file
from ..readers._surroundings import at_same_places
from ..readers.series import SeriesFrames
from .calculation import HISTORY, Calculation
from .engines import AUTO, engine_of
from .from_file import calculation_for
from .series import Means

N_FRAMES = 24
"""Of a period. Each geometry is passed twice, so that half as many are computed."""

AMPLITUDE = 0.3 * angstrom
"""Largest displacement of an atom in bohr."""

STEP = 0.02
"""The same of the first and the last frame, whose difference is the derivative."""

FROZEN = "frozen orbitals moved with the atoms"
"""Part of the method of frames that no engine computed."""

Report = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Subject:
    """A molecule whose electrons are followed along its modes.

    Attributes
    ----------
    vibrations : Vibrations
    wavefunction : Wavefunction or None
        Of the file of the vibrations, where it has one.
    calculation : Calculation or None
        What computes the displaced geometries; None where no engine can, and orbitals are moved as they are.
    """

    vibrations: Vibrations
    wavefunction: Wavefunction | None
    calculation: Calculation | None


def subject_of(
    source: str | PathLike[str] | Vibrations,
    calculation: Calculation | None = None,
    given: Mapping[str, Any] | None = None,
    engine: str = AUTO,
    report: Report = print,
) -> Subject:
    """Vibrations with what computes them, of a file.

    Parameters
    ----------
    source
        A file with vibrations, or vibrations that were read from one.
    calculation
        What computes; by default as the file, with the parts that are `given`, and GFN2-xTB where it has no orbitals.
    given, engine
        As for `orbitile.calculation_for`.
    report
        Told in one line what differs from the file.

    Raises
    ------
    OrbitileError
        When the file has no vibrations, or no engine can compute what was asked for.
    """
    vibrations = source if isinstance(source, Vibrations) else load_vibrations(source)
    wavefunction = None
    try:
        wavefunction = load(vibrations.source)
    except OrbitileError:  # which a file of vibrations need not have
        pass
    else:
        vibrations = _onto(vibrations, wavefunction)
    if calculation is not None:
        return Subject(vibrations, wavefunction, calculation)
    parts = dict(given or {})
    if wavefunction is None:
        report(
            "the file has no orbitals, of which method, charge and unpaired electrons would follow: taken are "
            f"{parts.get('method', 'gfn2')}, {parts.get('charge', 0)} and {parts.get('unpaired', 0)}"
        )
        return Subject(vibrations, None, Calculation(**{"method": "gfn2", **parts}))
    try:
        calculation, remarks = calculation_for(wavefunction, parts, engine=engine)
    except OrbitileError as error:
        if parts:
            raise
        report(f"no engine computes this file ({error}); its {FROZEN} are shown")
        return Subject(vibrations, wavefunction, None)
    for remark in remarks:
        report(remark)
    return Subject(vibrations, wavefunction, calculation)


def _onto(vibrations: Vibrations, wavefunction: Wavefunction) -> Vibrations:
    """Vibrations turned to where the atoms of a wavefunction are: some files have both in orientations of their own.

    Raises
    ------
    OrbitileError
        When it is of another geometry.
    """
    from scipy.spatial.transform import Rotation

    here, there = wavefunction.positions[wavefunction.atomic_numbers > 0], vibrations.positions
    if at_same_places(here, there):
        return vibrations
    if here.shape == there.shape:
        turn = Rotation.align_vectors(here - here.mean(axis=0), there - there.mean(axis=0))[0].as_matrix().T
        positions = (there - there.mean(axis=0)) @ turn + here.mean(axis=0)
        if np.abs(positions - here).max() < _SAME:
            # what depends on the axes and is not turned is left out
            return replace(
                vibrations,
                positions=positions,
                displacements=vibrations.displacements @ turn,
                hessian=np.empty(0),
                dipole_derivatives=np.empty(0),
                polarisability_derivatives=np.empty(0),
            )
    raise OrbitileError(
        f"{vibrations.source}: expected orbitals at the geometry of the vibrations, got other places of the atoms; "
        "compute both for one geometry: orbitile vibrations FILE --method METHOD -o modes.h5"
    )


_SAME = 0.02
"""Distance in bohr within which atoms are in one place, as far as digits in logs go."""


def displaced(vibrations: Vibrations, mode: int, shifts: Reals) -> list[Geometry]:
    """Geometries along a mode, counted from 1, by the displacement in bohr of the atom that moves most."""
    motion = motion_of(vibrations, mode)
    return [Geometry(vibrations.atomic_numbers, vibrations.positions + shift * motion) for shift in shifts]


def solved_along(
    subject: Subject, mode: int, shifts: Reals, means: Means | None, before: tuple[Wavefunction, ...] = ()
) -> Iterator[Wavefunction]:
    """Wavefunctions of geometries along a mode, each from those before.

    Parameters
    ----------
    subject
    mode
        Counted from 1.
    shifts : ndarray, shape (n,)
        As for `displaced`.
    means
        How; None for orbitals that are moved as they are.
    before
        Orbitals to begin from.
    """
    geometries = displaced(subject.vibrations, mode, shifts)
    if means is None:
        assert subject.wavefunction is not None  # nothing is moved where there is nothing
        for geometry in geometries:
            yield moved(subject.wavefunction, geometry.positions)
        return
    solver = engine_of(means.engine, geometries[0], means.calculation)
    recent = deque(before, HISTORY)
    for geometry in geometries:
        found = solver.solve(geometry, means.calculation, recent, means.device, means.precision, tight=True)
        recent.append(found.wavefunction)
        yield found.wavefunction


def moved(wavefunction: Wavefunction, positions: Reals) -> Wavefunction:
    """A wavefunction whose orbitals have gone with the atoms, and are orthonormal again."""
    there = wavefunction.positions.copy()
    there[wavefunction.atomic_numbers > 0] = positions
    result = replace(
        wavefunction, positions=there, excitations=(), density_matrix=np.empty(0), spin_density_matrix=np.empty(0)
    )
    overlap = dense(overlap_matrix(result))

    def orthonormal(orbitals: Orbitals) -> Orbitals:
        c = orbitals.coefficients
        return replace(orbitals, coefficients=c @ inverse_root(c.T @ overlap @ c))

    return replace(
        result,
        alpha=orthonormal(result.alpha),
        beta=None if result.beta is None else orthonormal(result.beta),
        method=f"{wavefunction.method}, {FROZEN}".removeprefix(", "),
    )


def shifts_of(amplitude: float, n_frames: int) -> Reals:
    """Displacements in bohr of the frames of a period, at equal times but for those next to the stationary point."""
    shifts = amplitude * np.sin((np.arange(n_frames) + 0.5) / n_frames * 2 * np.pi)
    shifts = np.round(shifts, 12)
    nearest = np.abs(shifts).min()
    shifts[np.abs(shifts) == nearest] *= min(STEP / nearest, 1.0)
    return shifts


def electrons_along(
    source: str | PathLike[str] | Vibrations,
    mode: int,
    path: str | PathLike[str] | None = None,
    calculation: Calculation | None = None,
    *,
    amplitude: float = AMPLITUDE,
    n_frames: int = N_FRAMES,
    given: Mapping[str, Any] | None = None,
    engine: str = AUTO,
    device: str | None = None,
    precision: str = "single",
    progress: Callable[[float], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    report: Report | None = None,
) -> Trajectory:
    """Compute the electrons along a vibration, and write them to a series.

    Parameters
    ----------
    source
        A file with vibrations, or vibrations from one.
    mode
        Number of the mode, from 1.
    path
        The series, .h5 or .zarr; by default NAME-modeN.h5 beside the file, where the field `mode:N:density` looks for
        it. What is there of the same mode, calculation and frames is kept, other series are replaced.
    calculation
        What computes; by default as the file. Orbitals are moved with the atoms where no engine can.
    amplitude
        Largest displacement of an atom in bohr.
    n_frames
        Of a period, a multiple of 4 from 8 on.
    given
        Parts of the calculation that are other than in the file.
    engine, device, precision, progress, cancelled
        As for `orbitile.compute_series`.
    report
        Told in one line what differs from the file.

    Returns
    -------
    Trajectory
        The frames.

    Raises
    ------
    FileError
        When the file has no vibrations, or the series cannot be written.
    OrbitileError
        When there is no such mode, or a self-consistent field does not converge.
    Cancelled
        When `cancelled` said so; a series that was there before is still there.
    """
    if n_frames < 8 or n_frames % 4:
        raise OrbitileError(f"frames along a mode: expected a multiple of 4 from 8 on, got {n_frames}")
    if not 0 < amplitude <= _LARGEST:
        raise OrbitileError(
            f"amplitude: expected more than 0 and at most {_LARGEST / angstrom:g} Angstrom, got "
            f"{amplitude / angstrom:g}"
        )
    subject = subject_of(source, calculation, given, engine, report or (lambda line: None))
    vibrations = subject.vibrations
    motion_of(vibrations, mode)  # that it is there
    target = series_target(mode_file(vibrations.source, mode) if path is None else path)
    if target.exists() and vibrations.source and target.resolve() == user_path(vibrations.source).resolve():
        raise FileError(f"{target}: that is the file of the vibrations; name another one")
    means = None if subject.calculation is None else Means(subject.calculation, engine, device, precision)
    settings = _settings(subject, mode, amplitude, n_frames)
    with watched(progress, cancelled):
        if not _is_known(target, settings, n_frames):
            with (
                replaced_series(target) as part,
                SeriesWriter(part, settings=settings, vibrations=replace(vibrations, source="")) as writer,
            ):
                shifts = shifts_of(amplitude, n_frames)
                places, of_frame = np.unique(shifts, return_inverse=True)
                computed = []
                for n, wavefunction in enumerate(solved_along(subject, mode, places, means), 1):
                    computed.append(replace(wavefunction, title=_title(subject, mode)))
                    tell(n / len(places))
                for number, place in enumerate(of_frame.tolist()):
                    writer.append(computed[place], number)
    return Trajectory(SeriesFrames(target))


_LARGEST = 2.0 * angstrom


def _title(subject: Subject, mode: int) -> str:
    return f"{subject.vibrations.title}, {mode_name(subject.vibrations, mode)}".removeprefix(", ")


def _settings(subject: Subject, mode: int, amplitude: float, n_frames: int) -> str:
    """What tells these frames from others: all that they depend on."""
    vibrations = subject.vibrations
    digest = hashlib.sha256()
    for values in (vibrations.atomic_numbers, vibrations.positions, motion_of(vibrations, mode)):
        digest.update(values.tobytes())
    if subject.calculation is None and subject.wavefunction is not None:
        for orbitals in subject.wavefunction.sets:
            digest.update(orbitals.coefficients.tobytes())
    how = FROZEN if subject.calculation is None else str(subject.calculation)
    return f"mode {mode} of {digest.hexdigest()[:16]}, {how}, {n_frames} frames up to {amplitude:.6g} bohr"


def _is_known(target: Any, settings: str, n_frames: int) -> bool:
    """Whether a series is there that is just this; another file of that name is refused."""
    if not target.exists():
        return False
    with closing(SeriesFrames(target)) as series:
        return bool(series.settings == settings and len(series) == n_frames)
