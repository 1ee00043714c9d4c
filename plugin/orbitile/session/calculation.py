"""Orbitals of a molecule that came without any: computed by `orbitile scf` in a process of its own."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import Cancelled, OrbitileError
from ..exporters.xyz import xyz_text
from ..readers.series import SeriesFrames
from ..scf.level_of_theory import Calculation
from ..workers.child_process import ChildProcess
from ..workers.processes import interpreter

_FAREWELL = 3.0
"""Seconds that it may take to end, and to complete the frame that it writes."""


class RunningCalculation:
    """A calculation in a process of its own, whose frames appear in a series file as they are done.

    It ends with this process.

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

    Raises
    ------
    ProcessError
        When the process cannot be started.
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
        self._folder = tempfile.mkdtemp(prefix="orbitile-")
        path = Path(self._folder, f"{molecule}.xyz")
        path.write_text(xyz_text(atomic_numbers, geometries, molecule), encoding="utf-8")
        options = ["--method", calculation.method, "--basis", calculation.basis]
        options += [f"--charge={calculation.charge}", f"--unpaired={calculation.unpaired}"]
        options += ["--cartesian"] if calculation.cartesian else []
        python = os.environ.get("ORBITILE_PYTHON") or interpreter()
        command = [python, "-m", "orbitile.workers.child_process", self._folder, "orbitile", "scf"]
        command += [str(path), "-o", str(target)]
        try:
            self._child = ChildProcess("the calculation", command + options)
        except OrbitileError:
            self._clear()
            raise
        self._cancelled = False

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

    def running(self) -> bool:
        """Whether it is still computing."""
        return self._child.running()

    def cancel(self) -> None:
        """End it; frames that are done stay in the file, and the same command goes on from there."""
        self._cancelled = True
        self._child.end(_FAREWELL)

    def _clear(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)  # the process removes it where this one cannot

    def finish(self) -> str:
        """What it said of frames that it left out, once it has ended.

        Raises
        ------
        Cancelled
            When `cancel` ended it.
        OrbitileError
            When it failed, with the reason.
        """
        self._child.wait()
        said, code = [line.strip() for line in self._child.said], self._child.status
        self._clear()
        if self._cancelled:
            raise Cancelled("cancelled")
        if code:
            raise OrbitileError(said[-1].removeprefix("orbitile: ") if said else f"the calculation ended ({code})")
        return "; ".join(line for line in said if "left out" in line)
