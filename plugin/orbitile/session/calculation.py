"""Orbitals of a molecule that came without any: computed by PySCF in a worker (`orbitile.workers`)."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import Cancelled, OrbitileError
from ..base.packages import install_command
from ..model.geometry import Geometry
from ..model.units import angstrom
from ..readers.series import SeriesFrames
from ..scf.calculation import Calculation
from ..workers import Worker, Workers
from .sampling import WavefunctionCache

_PAUSE = 0.05
"""Polling interval in seconds while a job is waited for."""


class BackgroundJob:
    """A function that runs in a worker of its own, which ends with it.

    Parameters
    ----------
    worker : Worker
    function : callable
        One that can be sent to it, with its arguments.
    """

    def __init__(self, worker: Worker, function: Callable[..., Any], *arguments: Any) -> None:
        self._workers = Workers([worker])
        self._job = self._workers.submit(function, *arguments)

    @property
    def share(self) -> float:
        """Share of it that is done."""
        return self._job.share

    @property
    def process_id(self) -> int | None:
        """Number of its process, while it runs."""
        return self._workers.workers[0].process_id

    def running(self) -> bool:
        """Whether it is not done yet."""
        return not self._job.done()

    def wait(self, look: Callable[[], None]) -> None:
        """Wait until it is done, and look how far it is meanwhile; Ctrl-C cancels it."""
        try:
            while self.running():
                time.sleep(_PAUSE)
                look()
        except KeyboardInterrupt:
            self.cancel()

    def cancel(self) -> None:
        """End it, and its process."""
        self._workers.shutdown(cancel_futures=True)

    def result(self) -> Any:
        """What the function gave, once it has ended.

        Raises
        ------
        Cancelled
            When `cancel` ended it.
        OrbitileError
            When it failed, with the reason.
        """
        try:
            return self._job.result()
        except CancelledError:
            raise Cancelled("cancelled") from None
        finally:
            self._workers.shutdown(wait=False)


def calculation_of_source(
    wavefunctions: WavefunctionCache, source: str, given: dict[str, Any], otherwise: Calculation, engine: str
) -> tuple[Calculation, tuple[str, ...]]:
    """The calculation that a wavefunction came from; see `orbitile.calculation_for`."""
    from ..scf.from_file import calculation_for

    return calculation_for(wavefunctions.get(source), given, otherwise, engine)


def check_calculation(molecule: str, atomic_numbers: NDArray[np.int64], calculation: Calculation) -> None:
    """Refuse at once what a process would refuse after it has started.

    Raises
    ------
    OrbitileError
        When there are no basis sets here, nor in another Python that is to compute; when charge and unpaired electrons
        do not go with the atoms.
    """
    if (
        calculation.basis
        and not any(map(find_spec, ("pyscf", "basis_set_exchange")))
        and not os.environ.get("ORBITILE_PYTHON")
    ):
        raise OrbitileError(
            f"basis sets come from pyscf or basis-set-exchange: {install_command('basis-set-exchange')}"
        )
    electrons, unpaired = int(atomic_numbers.sum()) - calculation.charge, calculation.unpaired
    if electrons < 1:
        raise OrbitileError(
            f"{molecule} has {electrons} electrons at a charge of {calculation.charge}: expected 1 or more; give "
            "another charge"
        )
    if with_parity_of(atomic_numbers, calculation) != calculation:
        raise OrbitileError(
            f"{molecule} has {electrons} electrons at a charge of {calculation.charge}: {unpaired} cannot be unpaired. "
            "Are hydrogen atoms missing (in PyMOL h_add adds them)? Otherwise give the charge and the number of "
            f"unpaired electrons, as {electrons % 2}"
        )


def with_parity_of(atomic_numbers: NDArray[np.int64], calculation: Calculation) -> Calculation:
    """A calculation with as few unpaired electrons as atoms can have, where they cannot have those that it names."""
    electrons, unpaired = int(atomic_numbers.sum()) - calculation.charge, calculation.unpaired
    is_possible = unpaired <= electrons and (electrons - unpaired) % 2 == 0
    return calculation if is_possible else replace(calculation, unpaired=electrons % 2)


@dataclass(frozen=True, eq=False)
class MoleculeFrames:
    """`Geometries` of a molecule of a viewer.

    Attributes
    ----------
    name : str
    atomic_numbers : ndarray of int, shape (n_atoms,)
    positions : ndarray, shape (n_frames, n_atoms, 3)
        In bohr.
    """

    name: str
    atomic_numbers: NDArray[np.int64]
    positions: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.positions)

    def read(self, index: int) -> Geometry:
        """One frame."""
        return Geometry(self.atomic_numbers, self.positions[index])


def computed_series(geometries: MoleculeFrames, target: Path, calculation: Calculation) -> tuple[str, ...]:
    """Compute orbitals along geometries; returns a line for each frame that was left out.

    Raises
    ------
    OrbitileError
        As `orbitile.compute_series` does.
    """
    from ..scf.series import Means, continue_series

    left_out: list[str] = []
    continue_series(geometries, target, Means(calculation), left_out.append)
    return tuple(left_out)


class RunningCalculation(BackgroundJob):
    """A calculation in a worker, whose frames appear in a series file as they are done, and stay when it is cancelled.

    Parameters
    ----------
    molecule : str
        Object of the viewer.
    atomic_numbers : ndarray of int, shape (n_atoms,)
    geometries : ndarray, shape (n_frames, n_atoms, 3)
        In bohr.
    calculation : Calculation
    target : Path
        The series file. One that is there is continued, if it belongs to these geometries.
    """

    def __init__(
        self,
        molecule: str,
        atomic_numbers: NDArray[np.int64],
        geometries: NDArray[np.float64],
        calculation: Calculation,
        target: Path,
    ) -> None:
        self.molecule, self.target, self.n_frames = molecule, target, len(geometries)
        # As an xyz file holds them: a series that was begun from such a file is continued.
        positions = np.round(geometries / angstrom, 8) * angstrom
        frames = MoleculeFrames(molecule, np.asarray(atomic_numbers, np.int64), positions)
        worker = Worker("the calculation", python=os.environ.get("ORBITILE_PYTHON"))
        super().__init__(worker, computed_series, frames, target, calculation)

    @property
    def done(self) -> int:
        """Frames that are in the file."""
        if not self.target.exists():
            return 0
        with contextlib.suppress(OrbitileError):  # it is being made, and cannot be read yet
            series = SeriesFrames(self.target)
            try:
                return len(series)
            finally:
                series.close()
        return 0

    def account(self) -> tuple[float, str]:
        """Share that is done, and how a user is told of it."""
        done = self.done
        return done / self.n_frames, f"{self.molecule}: orbitals of {done} of {self.n_frames} frames"

    def finish(self) -> str:
        """What there is to say of frames that were left out, once it has ended; errors as of `result`."""
        return "; ".join(self.result())


def computed_path(structures: Mapping[str, Geometry], target: Path, calculation: Calculation) -> str:
    """Find the path between two structures; returns its energies as a table, with remarks.

    Raises
    ------
    OrbitileError
        As `orbitile.reaction_path` does.
    """
    from ..scf.path import energy_table, path_between
    from ..scf.series import Means

    remarks: list[str] = []

    def keep(line: str) -> None:
        if ", step " not in line:
            remarks.append(line)

    found = path_between(structures, target, Means(calculation), report=keep)
    return "\n".join([*remarks, energy_table(found)])


class RunningPath(BackgroundJob):
    """A search for the path between two structures in a worker.

    Parameters
    ----------
    structures : mapping of str to Geometry
        Two, by their names in the viewer.
    calculation : Calculation
    target : Path
        The series file; a search for it that was interrupted is continued.
    """

    def __init__(self, structures: Mapping[str, Geometry], calculation: Calculation, target: Path) -> None:
        self.molecule, self.target = " to ".join(structures), target
        worker = Worker("the path", python=os.environ.get("ORBITILE_PYTHON"))
        super().__init__(worker, computed_path, structures, target, calculation)

    def account(self) -> tuple[float, str]:
        """As for orbitals."""
        return self.share, f"{self.molecule}: {self.share:.0%} of the path"


def computed_vibrations(geometry: Geometry, target: Path, calculation: Calculation, optimise: bool) -> str:
    """Compute vibrations into a series file; returns what there is to say of them.

    Raises
    ------
    OrbitileError
        As `orbitile.compute_vibrations` does.
    """
    from ..scf.vibrations import compute_vibrations

    found = compute_vibrations(geometry, target, calculation, optimise=optimise)
    return "\n".join([f"{found.n_modes} vibrations, {found.n_imaginary} imaginary", *found.remarks])


class RunningVibrations(BackgroundJob):
    """Vibrations that are computed in a worker.

    Parameters
    ----------
    molecule : str
        Object of the viewer.
    geometry : Geometry
    calculation : Calculation
    target : Path
        The series file; a computation of it that was interrupted is continued.
    optimise : bool
        Whether atoms are moved to a minimum at first.
    """

    def __init__(
        self, molecule: str, geometry: Geometry, calculation: Calculation, target: Path, optimise: bool
    ) -> None:
        self.molecule, self.target = molecule, target
        worker = Worker("the vibrations", python=os.environ.get("ORBITILE_PYTHON"))
        super().__init__(worker, computed_vibrations, geometry, target, calculation, optimise)

    def account(self) -> tuple[float, str]:
        """As for orbitals."""
        return self.share, f"{self.molecule}: {self.share:.0%} of the vibrations"


class RunningMolecule(BackgroundJob):
    """A calculation in a worker whose result becomes a molecule of the viewer.

    Parameters
    ----------
    molecule : str
        What it is to be called.
    target : Path
        The series file, which is written or replaced.
    take : callable
        Takes what the function gave, and returns the name of the molecule that was made.
    function : callable
        What is computed, with its arguments; gives what there is to say, a sentence each.

    Attributes
    ----------
    shown : str
        That name, once it is there.
    is_over : bool
        Whether there is nothing to come.
    """

    def __init__(
        self,
        molecule: str,
        target: Path,
        take: Callable[[tuple[str, ...]], str],
        function: Callable[..., tuple[str, ...]],
        *arguments: Any,
    ) -> None:
        self.molecule, self.target, self.take = molecule, target, take
        super().__init__(Worker(molecule, python=os.environ.get("ORBITILE_PYTHON")), function, *arguments)
        self.shown, self.is_over = "", False

    def finish(self) -> None:
        """Have what was found shown, once it has ended; errors as of `result`."""
        try:
            self.shown = self.take(self.result())
        finally:
            self.is_over = True

    def account(self) -> tuple[float, str]:
        """As for orbitals."""
        return self.share, f"{self.molecule}: {self.share:.0%} of its electrons"
