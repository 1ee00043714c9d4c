"""Logs that print orbitals at several geometries, through cclib."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ..base.errors import ConventionError, OrbitileError
from ..files.reading import complete_lines, excerpt
from ..gaussians.orthonormality import checked
from ..model.wavefunction import Wavefunction
from . import cclib
from ._frames import FramesInText
from ._logs import LOG_PATTERNS, PROGRAMS, is_log, parse_log

DESCRIPTION = "logs with orbitals at several geometries"
PATTERNS = LOG_PATTERNS
KIND = "trajectory"
recognises = is_log

_GEOMETRY = tuple(line.encode() for program in PROGRAMS.values() for line in program.geometry)
_CALCULATION = tuple(line.encode() for program in PROGRAMS.values() for line in program.calculation)
_ORBITALS = tuple(line.encode() for program in PROGRAMS.values() for line in program.orbitals)


def read(path: Path) -> LogFrames:
    """Frames of a log: the geometries at which it prints orbitals."""
    return LogFrames(path)


class LogFrames(FramesInText):
    """Steps of a log, found by their places in it.

    What stands from the heading of one geometry to that of the next is a step, and a frame where orbitals are printed
    in it. cclib keeps the last orbitals of a log only. A frame is therefore read as a log of its own: what stands above
    the first orbitals of all, which has the basis set and what the parser expects to have seen, and the step. Where its
    orbitals are not orthonormal at this geometry, the one before is tried: GAMESS prints one more geometry when an
    optimisation ends unfinished.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._header = 0
        self._step = _Step(0, 0)
        self._calculations = 0
        self._steps: list[_Step] = []

    def _n_frames(self) -> int:
        return max(len(self._steps), 1)

    def _scan(self) -> None:
        for line in complete_lines(self._file.path, self._scanned):
            text = line.lstrip()
            if text.startswith(_GEOMETRY):
                self._step, self._calculations = _Step(self._step.start, self._scanned), 0
            elif text.startswith(_CALCULATION):
                self._calculations += 1
            elif text.startswith(_ORBITALS) and not self._step.end and self._calculations < 2:
                self._header = self._header or self._scanned
                self._steps.append(self._step)
                self._step.end = self._scanned
            self._scanned += len(line)
            if self._step.end and self._calculations < 2:
                self._step.end = self._scanned

    def read(self, index: int) -> Wavefunction:
        """Read and check one frame."""
        if not self._steps:
            return replace(checked(cclib.read(self._file.path)), source=str(self._path))
        step = self._steps[index]
        try:
            return self._read(index, step.start, step.end)
        except ConventionError:
            with suppress(OrbitileError):  # of the two, the first error is the one to be told
                return self._read(index, step.previous, step.end)
            raise

    def _read(self, index: int, start: int, end: int) -> Wavefunction:
        text = excerpt(self._file.path, 0, self._header)
        if start > self._header:
            text += b"\n\n"  # the parser may look one line beyond a table, and must not miss the heading of the step
        text += excerpt(self._file.path, max(start, self._header), end)
        wavefunction = self._read_alone(
            index, text, self._path.suffix[:20], lambda path: cclib.convert(*parse_log(path, part=True), path)
        )
        return replace(wavefunction, geometries=wavefunction.positions[None])


@dataclass
class _Step:
    """Places in a log: of the geometry before, of the geometry, and of the end of the step; 0 without orbitals."""

    previous: int
    start: int
    end: int = 0
