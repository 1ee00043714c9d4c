r"""A path between two structures: nudged elastic band with a climbing image, and the saddle point on it.

By ASE: images between the structures are placed by IDPP (S. Smidstrup, A. Pedersen, K. Stokbro, H. Jonsson, J. Chem.
Phys. 2014, 140, 214106); springs along the path and forces across it move them (G. Henkelman, H. Jonsson, J. Chem.
Phys. 2000, 113, 9978), and the highest one climbs (G. Henkelman, B. P. Uberuaga, H. Jonsson, ibid. 9901). It is then
moved to the saddle point along its lowest mode by the dimer method (G. Henkelman, H. Jonsson, J. Chem. Phys. 1999,
111, 7010). Force constants there are differences of forces.

After each step of the optimisers the positions are written to a folder beside the series, `NAME.parts`, from which the
same call goes on if it was interrupted, by whatever.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from os import PathLike
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..base.watch import checkpoint, stage, tell, watched
from ..exporters._series import SeriesWriter, series_target
from ..files.writing import refuse_inputs, written_atomically
from ..model.elements import SYMBOLS
from ..model.geometry import Geometry
from ..model.trajectory import Trajectory
from ..model.units import angstrom, electronvolt, kilocalorie_per_mole
from ..model.wavefunction import Wavefunction
from ..readers import load_geometries
from ..readers.series import SeriesFrames
from .calculation import Calculation, NotConverged, sound
from .engines import AUTO
from .from_file import calculation_of_geometries
from .optimisation import LARGEST_FORCE, force_in_ev
from .series import Means, claimed_folder

IMAGES = 9
"""Structures along a path, both ends among them."""

STEPS = 300
"""Steps after which each of the stages is given up."""

_BAND = 2.5
"""Force across the path, in the largest force at its ends, below which the band is converged."""

_CLIMB = 10.0
"""The same below which its highest image begins to climb."""

_ASIDE = 0.05
"""By how much atoms of the images are displaced in Angstrom, so that they can leave a line or a plane."""

_DISPLACEMENT = 0.01
"""Of atoms for differences of forces, in Angstrom."""

_SOFT = 50.0
"""Wavenumber in cm^-1 below which a mode counts neither as a minimum nor as a maximum."""

_AMPLITUDE = 0.3
"""Largest displacement of an atom along the mode that is shown, in Angstrom."""

_BARRIER = 1e-5
"""Energy in hartree by which a maximum is above the minima beside it."""

Report = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class ReactionPath:
    """A path between two structures.

    Attributes
    ----------
    trajectory : Trajectory
        Orbitals of the structures along it.
    energies : ndarray, shape (n_frames,)
        In hartree.
    lengths : ndarray, shape (n_frames,)
        Way from the first structure, over all coordinates, in bohr.
    saddle : int or None
        Frame of the saddle point; None where the energy only rises, or falls.
    wavenumbers : ndarray, shape (n_modes,)
        Of the vibrations at the saddle point in cm^-1, those of imaginary ones negative; empty without one.
    mode : ndarray, shape (n_atoms, 3)
        Displacements along the first of them, the largest of which is 1.
    """

    trajectory: Trajectory
    energies: Reals
    lengths: Reals
    saddle: int | None
    wavenumbers: Reals
    mode: Reals

    @property
    def barriers(self) -> tuple[float, float]:
        """Energy of the saddle point above the first structure and above the last one, in hartree."""
        if self.saddle is None:
            return 0.0, 0.0
        top = self.energies[self.saddle]
        return float(top - self.energies[0]), float(top - self.energies[-1])


def reaction_path(
    first: str | PathLike[str],
    last: str | PathLike[str],
    path: str | PathLike[str],
    calculation: Calculation | None = None,
    *,
    images: int = IMAGES,
    relax: bool = True,
    largest_force: float = LARGEST_FORCE,
    steps: int = STEPS,
    engine: str = AUTO,
    device: str | None = None,
    precision: str = "single",
    progress: Callable[[float], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
    report: Report | None = None,
) -> ReactionPath:
    """Find the path of lowest energy between two structures, and write the orbitals along it to a series file.

    Parameters
    ----------
    first, last
        Files of one geometry each, or of wavefunctions: the same atoms in the same order.
    path
        The series file. If there is a saddle point, a second file with `-mode` in its name has the orbitals of the
        structures along the vibration that is imaginary there.
    calculation
        Method, basis set, charge, unpaired electrons. By default those of the first file, otherwise PBE in def2-SVP.
    images
        Structures along the path, both ends among them.
    relax
        Whether the two structures are moved to minima at first.
    largest_force
        The force on no atom is larger at minima and at the saddle point, in hartree/bohr; across the path it is up to
        2.5 times as large.
    steps
        Of each optimisation, at most.
    engine, device, precision
        As for `compute_series`.
    progress
        Called with the share that is done.
    cancelled
        Asked in each iteration; the same call goes on from there later.
    report
        Told in one line of each step.

    Returns
    -------
    ReactionPath
        The series file, opened, with energies and what is known of the saddle point.

    Raises
    ------
    FileError
        When a file cannot be read or written, or another process is computing the same path.
    OrbitileError
        When ASE is missing; when the two have different atoms, or are the same structure; when something does not
        converge.
    Cancelled
        When `cancelled` said so.
    """
    say = report or (lambda line: None)
    read = [load_geometries(source) for source in (first, last)]
    for geometries in read:
        if len(geometries) != 1:
            raise OrbitileError(f"{geometries.name}: expected one geometry, got {len(geometries)}")
    if calculation is None:
        calculation, remarks = calculation_of_geometries(read[0], {}, Calculation("pbe"), engine)
        for remark in remarks:
            say(f"{Path(first).name}: {remark}")
    refuse_inputs(path, [first, last])
    ends = {geometries.name: geometries.read(0) for geometries in read}
    if len(ends) == 1:
        raise OrbitileError(f"{first}: expected two files, got one twice")
    settings = (images, relax, largest_force, steps)
    with watched(progress, cancelled):
        return path_between(ends, path, Means(calculation, engine, device, precision), *settings, say)


def path_between(
    structures: Mapping[str, Geometry],
    path: str | PathLike[str],
    means: Means,
    images: int = IMAGES,
    relax: bool = True,
    largest_force: float = LARGEST_FORCE,
    steps: int = STEPS,
    report: Report = print,
) -> ReactionPath:
    """The same for two geometries by their names, under the watch of the caller (`orbitile.base.watch`)."""
    if images < 5:
        raise OrbitileError(f"images: expected 5 or more, both ends among them, got {images}")
    if not largest_force > 0:
        raise OrbitileError(f"largest force: expected more than 0, got {largest_force:g} hartree/bohr")
    if means.calculation.external_charges is not None:
        raise OrbitileError(
            "external charges: a path needs none, since its structures are superposed; leave the charges out"
        )
    ends = [sound(end) for end in structures.values()]
    _check_same_atoms(ends[0], ends[1], list(structures))
    target = series_target(path)
    for file in (target, _file_of_mode(target)):
        if file.exists():
            SeriesFrames(file).close()  # another kind of file is not overwritten
    with claimed_folder(target, _has_state) as folder:
        return _Search(folder, ends, means, images, relax, largest_force, steps, report).found(target)


def _file_of_mode(target: Path) -> Path:
    return target.with_name(f"{target.stem}-mode{target.suffix}")


def _has_state(folder: Path) -> bool:
    return (folder / _STATE).exists()


_STATE = "band.npz"


def _check_same_atoms(first: Geometry, last: Geometry, names: Sequence[str]) -> None:
    """Refuse structures between which there is no path."""
    if len(first.atomic_numbers) != len(last.atomic_numbers):
        counts = " and ".join(str(len(end.atomic_numbers)) for end in (first, last))
        raise OrbitileError(f"{names[0]} and {names[1]}: expected the same atoms, got {counts} of them")
    differ = np.flatnonzero(first.atomic_numbers != last.atomic_numbers)
    if len(differ):
        n = int(differ[0])
        one, other = (SYMBOLS[int(end.atomic_numbers[n])] for end in (first, last))
        raise OrbitileError(
            f"{names[0]} and {names[1]}: expected the same atoms in the same order, but atom {n + 1} is {one} and "
            f"{other}; write one of the files with its atoms in the order of the other"
        )
    if len(first.atomic_numbers) < 3:
        raise OrbitileError(
            f"{names[0]}: expected three atoms or more, got {len(first.atomic_numbers)}; orb_scan scans a distance"
        )


@dataclass(eq=False)
class _Search:
    """How far a search for a path is; each stage goes on where it was left."""

    folder: Path
    ends: list[Geometry]
    means: Means
    n_images: int
    relax: bool
    largest_force: float
    steps: int
    say: Report
    known: dict[str, Reals] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from .ase_calculator import AseCalculator  # says first what is missing

        means = self.means
        self._calculator = lambda: AseCalculator(
            means.calculation, engine=means.engine, device=means.device, precision=means.precision
        )
        settings = (
            f"{means.calculation} {means.engine} {means.precision} {self.n_images} {self.relax} {self.largest_force}"
        )
        arrays = b"".join(end.positions.tobytes() + end.atomic_numbers.tobytes() for end in self.ends)
        self._key = np.frombuffer(hashlib.sha256(settings.encode() + arrays).digest(), np.uint8)
        try:
            with np.load(self.folder / _STATE, allow_pickle=False) as kept:
                if np.array_equal(kept["key"], self._key):
                    self.known = {name: kept[name] for name in kept.files}
                    self.say("going on where it was interrupted")
        except (OSError, ValueError, KeyError):
            self.known = {}

    def found(self, target: Path) -> ReactionPath:
        """Do what is left, and write the files."""
        from ase.build import minimize_rotation_and_translation

        with stage(0.0, 0.15):
            ends = [self._end(n) for n in range(2)]
        minimize_rotation_and_translation(*ends)
        if np.abs(ends[0].positions - ends[1].positions).max() < 0.05:
            (self.folder / _STATE).unlink(missing_ok=True)
            raise OrbitileError(
                "the two structures are the same one"
                + (" after they were moved to minima" if self.relax else "")
                + ": expected two different ones"
            )
        with stage(0.15, 0.7):
            band = self._band(ends)
        energies = np.array([_energy(image) for image in band])
        tops = _maxima(energies)
        if len(tops) > 1:
            between = ", ".join(str(int(n) + 1) for n in _maxima(-energies))
            self.say(
                f"{len(tops)} maxima: the highest becomes the saddle point; there is a minimum near image {between}"
            )
        wavenumbers, mode, saddle = np.empty(0), np.zeros_like(ends[0].positions), None
        if tops:
            saddle = max(tops, key=lambda n: float(energies[n]))
            with stage(0.7, 0.8):
                band[saddle] = self._saddle(band, saddle)
            energies[saddle] = _energy(band[saddle])
            with stage(0.8, 0.97):
                wavenumbers, mode = self._vibrations(band[saddle])
            n_imaginary = int((wavenumbers < -_SOFT).sum())
            if n_imaginary != 1:
                self.say(
                    f"the stationary point has {n_imaginary} imaginary vibrations, expected one for a saddle point "
                    "between two minima; try more images, or a smaller largest force"
                )
        else:
            self.say("the energy has no maximum between the two structures: there is no barrier")
        self._write(target, [image.calc.wavefunction for image in band], "path")
        along = () if saddle is None else self._along(band[saddle], mode)
        self._write(_file_of_mode(target), along, "mode")
        places = np.array([image.positions * angstrom for image in band])
        steps = np.sqrt((np.diff(places, axis=0) ** 2).sum(axis=(1, 2)))
        lengths = np.concatenate([[0.0], np.cumsum(steps)])
        tell(1.0)
        return ReactionPath(Trajectory(SeriesFrames(target)), energies, lengths, saddle, wavenumbers, mode)

    def _keep(self, **arrays: Reals) -> None:
        """Write what is known so far to the folder."""
        self.known |= arrays
        with written_atomically(self.folder / _STATE) as temporary:
            kept: dict[str, Any] = {"key": self._key, **self.known}
            np.savez(temporary, **kept)

    def _end(self, n: int) -> Any:
        """One of the two structures, at its minimum if it is to be."""
        from .ase_calculator import atoms_of, bfgs

        atoms = atoms_of(self.ends[n])
        atoms.positions = self.known.get(f"end {n}", atoms.positions)
        atoms.calc = self._calculator()
        if self.relax and len(self.known.get(f"end {n} is there", ())) == 0:
            name = ("first", "last")[n]

            def state() -> dict[str, Reals]:
                return {f"end {n}": atoms.positions.copy()}

            self._run([bfgs(atoms)], lambda: _largest(atoms), self.largest_force, f"{name} structure", state)
            self._keep(**{f"end {n} is there": np.ones(1)})
        _energy(atoms)
        return atoms

    def _run(
        self,
        optimisers: Sequence[Any],
        force: Callable[[], float],
        largest_force: float,
        name: str,
        state: Callable[[], dict[str, Reals]],
    ) -> None:
        """Take steps until no force is larger, by the first optimiser that comes there; each step is kept."""
        limit = largest_force / electronvolt * angstrom
        forces: list[float] = []

        def look() -> None:
            forces.append(force())
            self._keep(**state())
            self.say(f"{name}, step {len(forces)}: largest force {force_in_ev(forces[-1] * electronvolt / angstrom)}")
            whole = log(max(forces[0], 1.001 * limit) / limit)
            tell(float(np.clip(1 - log(max(forces[-1], limit) / limit) / whole, 0, 1)))
            checkpoint()

        try:
            for optimiser in optimisers:
                optimiser.attach(look)
                if optimiser.run(fmax=limit, steps=self.steps):
                    return
        except NotConverged as error:
            raise OrbitileError(f"{name}: {error}; the same command goes on from the steps before") from error
        raise OrbitileError(
            f"{name}: not converged after {self.steps} steps; the same command goes on from there. Two structures that "
            "are further apart than one reaction step need more images, or a structure between them"
        )

    def _band(self, ends: list[Any]) -> list[Any]:
        """The images between, converged."""
        from ase.mep import NEB
        from ase.mep.neb import NEBOptimizer, idpp_interpolate
        from ase.optimize import FIRE

        band = [ends[0], *(ends[0].copy() for _ in range(self.n_images - 2)), ends[1]]
        neb = NEB(band, climb=False, method="improvedtangent")
        if "band" in self.known:
            for image, positions in zip(band[1:-1], self.known["band"], strict=True):
                image.positions = positions
        else:
            neb.interpolate()
            aside = np.random.default_rng(0).uniform(-_ASIDE, _ASIDE, ends[0].positions.shape)
            for n, image in enumerate(band):
                image.positions += aside * np.sin(np.pi * n / (self.n_images - 1))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about a default of its own
                idpp_interpolate(band, traj=None, log=None, fmax=0.01, steps=1000)
        for image in band[1:-1]:
            image.calc = self._calculator()

        def state() -> dict[str, Reals]:
            return {"band": np.array([image.positions for image in band[1:-1]])}

        def run(largest_force: float, name: str) -> None:
            optimisers = NEBOptimizer(neb, logfile=None), FIRE(neb, logfile=None)
            self._run(optimisers, neb.get_residual, largest_force, name, state)

        if "climbs" not in self.known:
            with stage(0.0, 0.5):
                run(_CLIMB * self.largest_force, "path")
            self._keep(climbs=np.ones(1))
        neb.climb = True
        with stage(0.5, 1.0):
            run(_BAND * self.largest_force, "path with a climbing image")
        return band

    def _saddle(self, band: list[Any], top: int) -> Any:
        """The saddle point near an image."""
        from ase.mep import DimerControl, MinModeAtoms, MinModeTranslate

        atoms = band[top].copy()
        atoms.positions = self.known.get("saddle", atoms.positions)
        atoms.calc = self._calculator()
        tangent = self.known.get("mode", band[top + 1].positions - band[top - 1].positions)
        control = DimerControl(
            logfile=None,
            eigenmode_logfile=None,
            max_num_rot=3,
            dimer_separation=_DISPLACEMENT,
            mask=[True] * len(atoms),
        )
        dimer = MinModeAtoms(atoms, control, eigenmodes=[tangent / np.linalg.norm(tangent)], random_seed=0)

        def state() -> dict[str, Reals]:
            return {"saddle": atoms.positions.copy(), "mode": np.array(dimer.get_eigenmode())}

        if _largest(atoms) > self.largest_force / electronvolt * angstrom:
            optimiser = MinModeTranslate(dimer, logfile=None)
            self._run([optimiser], lambda: _largest(atoms), self.largest_force, "saddle point", state)
        return atoms

    def _vibrations(self, saddle: Any) -> tuple[Reals, Reals]:
        """Wavenumbers at the saddle point, and displacements along the lowest of them."""
        from ase.units import invcm
        from ase.vibrations import VibrationsData

        atoms = saddle.copy()
        atoms.calc = self._calculator()
        atoms.calc.begin_from(saddle.calc.wavefunction)
        n = 3 * len(atoms)
        rows = list(self.known.get("force constants", np.empty((0, n))))
        for coordinate in range(len(rows), n):
            forces = []
            for sign in (1, -1):
                atoms.positions = saddle.positions
                atoms.positions[coordinate // 3, coordinate % 3] += sign * _DISPLACEMENT
                forces.append(atoms.get_forces().reshape(-1))
            rows.append((forces[1] - forces[0]) / (2 * _DISPLACEMENT))
            self._keep(**{"force constants": np.array(rows)})
            tell((coordinate + 1) / n)
        constants = np.array(rows)
        data = VibrationsData.from_2d(saddle, 0.5 * (constants + constants.T))
        energies = data.get_energies() / invcm
        wavenumbers = np.where(energies.imag > 0, -energies.imag, energies.real)
        mode = data.get_modes()[int(np.argmin(wavenumbers))]
        return np.sort(wavenumbers), mode / np.linalg.norm(mode, axis=1).max()

    def _along(self, saddle: Any, mode: Reals) -> Iterator[Wavefunction]:
        """Orbitals of structures along a vibration, there and back."""
        atoms = saddle.copy()
        atoms.calc = self._calculator()
        atoms.calc.begin_from(saddle.calc.wavefunction)
        for phase in np.sin(np.linspace(0.0, 2 * np.pi, 13)[:-1]):
            atoms.positions = saddle.positions + _AMPLITUDE * phase * mode
            _energy(atoms)
            yield atoms.calc.wavefunction

    def _write(self, target: Path, frames: Iterable[Wavefunction], name: str) -> None:
        """Write a series anew; none of no frames."""
        if target.exists():
            target.unlink() if target.is_file() else rmtree(target)
        with SeriesWriter(target, settings=f"{name}, {self.means.calculation}") as writer:
            for number, frame in enumerate(frames):
                writer.append(frame, number)


def energy_table(found: ReactionPath) -> str:
    """Energies along a path as a table, with what there is to say of its saddle point."""
    lines = ["image  length/Angstrom      energy/hartree  relative/(kcal/mol)"]
    for n, (length, energy) in enumerate(zip(found.lengths / angstrom, found.energies, strict=True)):
        relative = (energy - found.energies[0]) / kilocalorie_per_mole
        is_saddle = "  saddle point" if n == found.saddle else ""
        lines.append(f"{n + 1:5}  {length:15.3f}  {energy:18.8f}  {relative:19.2f}{is_saddle}")
    if found.saddle is None:
        lines.append("there is no barrier")
    else:
        forward, backward = (barrier / kilocalorie_per_mole for barrier in found.barriers)
        imaginary = ", ".join(f"{-value:.0f}i" for value in found.wavenumbers if value < -_SOFT) or "none"
        lines.append(f"barrier: {forward:.2f} kcal/mol, backwards {backward:.2f} kcal/mol")
        lines.append(f"imaginary vibrations of the saddle point in cm^-1: {imaginary}")
    return "\n".join(lines)


def _largest(atoms: Any) -> float:
    """Force on an atom, in eV/Angstrom."""
    return float(np.linalg.norm(atoms.get_forces(), axis=1).max())


def _energy(atoms: Any) -> float:
    """In hartree."""
    return float(atoms.get_potential_energy(force_consistent=True)) * electronvolt


def _maxima(energies: Reals) -> list[int]:
    """Images between the ends that are above those beside them and above the lowest there by more than noise."""
    inner = range(1, len(energies) - 1)
    higher = [n for n in inner if energies[n] >= energies[n - 1] and energies[n] > energies[n + 1]]
    return [n for n in higher if energies[n] - max(energies[:n].min(), energies[n + 1 :].min()) > _BARRIER]
