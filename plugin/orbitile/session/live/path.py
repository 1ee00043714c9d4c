"""The geometries that a live molecule came through: to go back, and to be kept as a trajectory."""

from __future__ import annotations

import atexit
import shutil
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from tempfile import mkdtemp

import numpy as np

from ...errors import OrbitileError
from ...exporters._series import SeriesWriter, require_series
from ...files.writing import checked_target, written_atomically
from ...model.trajectory import Trajectory
from ...readers import load
from ...readers.series import SeriesFrames
from ..source import OneFile
from .order import Converged, Positions

MOST = 2000
"""Geometries that are kept; of more the oldest are forgotten, those at which the atoms rested last of all."""

_BYTES = 1 << 30
"""The same of their files."""


@dataclass(frozen=True, eq=False)
class Reached:
    """A converged geometry on the way.

    Attributes
    ----------
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    source : str
        File of its wavefunction, `OneFile` as text.
    energy : float
        In hartree.
    seconds : float
        Since the beginning.
    rested : bool
        Whether the atoms were left alone there.
    n_bytes : int
        Of the file.
    """

    positions: Positions
    source: str
    energy: float
    seconds: float
    rested: bool
    n_bytes: int


class LivePath:
    """The geometries of a live molecule in the order in which they were reached, in files of a folder of its own.

    Attributes
    ----------
    folder : Path
        Temporary; `close` removes it.
    """

    def __init__(self) -> None:
        self.folder = Path(mkdtemp(prefix="orbitile-live-"))
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)  # until then the molecule is one of its files
        self._begin = time.monotonic()
        self._reached: list[Reached] = []
        self._held: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self._reached)

    @property
    def energies(self) -> tuple[tuple[float, float], ...]:
        """Seconds since the beginning, and energy in hartree."""
        return tuple((one.seconds, one.energy) for one in self._reached)

    @property
    def last(self) -> Reached | None:
        """Where it is."""
        return self._reached[-1] if self._reached else None

    def add(self, found: Converged, rested: bool) -> None:
        """Take note of a geometry; one at the same place as the last takes its place."""
        file = Path(OneFile.read(found.source).path)
        seconds = time.monotonic() - self._begin
        one = Reached(found.positions, found.source, found.energy, seconds, rested, file.stat().st_size)
        self._reached.append(one)
        if len(self) > 1 and np.array_equal(self._reached[-2].positions, one.positions):
            self._drop(len(self) - 2)
        while len(self._reached) > MOST or sum(other.n_bytes for other in self._reached) > _BYTES:
            moving = (n for n, other in enumerate(self._reached[:-1]) if not other.rested)
            self._drop(next(moving, 0))

    def rest(self) -> None:
        """Take note that the atoms were left alone where they are."""
        self._reached[-1] = replace(self._reached[-1], rested=True)

    def hold(self, sources: Iterable[str]) -> None:
        """Keep the files of some geometries, reached or not, in place of those that were held before."""
        before, self._held = self._held, frozenset(sources)
        for source in before:
            self._remove(source)

    def _drop(self, n: int) -> None:
        self._remove(self._reached.pop(n).source)

    def _remove(self, source: str) -> None:
        """Remove a file that nothing is left of."""
        if source not in self._held and all(one.source != source for one in self._reached):
            with suppress(OSError):  # somebody reads it, where that keeps a file
                Path(OneFile.read(source).path).unlink()

    def before(self, positions: Positions) -> Reached | None:
        """The last geometry at which the atoms rested, and that is another one than this; None where there is none."""
        rested = (one for one in reversed(self._reached) if one.rested)
        return next((one for one in rested if not np.allclose(one.positions, positions, rtol=0, atol=1e-5)), None)

    def forget_after(self, one: Reached) -> None:
        """Go back to a geometry: what came after it is forgotten."""
        while self._reached and self._reached[-1] is not one:
            self._drop(len(self._reached) - 1)

    def write(self, path: str | Path, settings: str, sources: Sequence[str] = ()) -> Trajectory:
        """Write all geometries, or those of some sources, as a series file, whole or not at all.

        Raises
        ------
        FileError
            When there is a file of that name that is no series, or it cannot be written.
        OrbitileError
            When no geometry was reached.
        """
        sources = sources or [one.source for one in self._reached]
        if not sources:
            raise OrbitileError("no geometry has converged yet: there is nothing to write")
        require_series(path)
        whole = self.folder / f"{token_hex(8)}.h5"
        try:
            with SeriesWriter(whole, settings=settings) as writer:
                for source in sources:
                    writer.append(load(OneFile.read(source).path))
            with written_atomically(path) as temporary:
                shutil.copyfile(whole, temporary)
        finally:
            whole.unlink(missing_ok=True)
        return Trajectory(SeriesFrames(checked_target(path)))

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)
