"""The geometries that a live molecule came through: to go back, and to be kept as a trajectory."""

from __future__ import annotations

import shutil
import threading
import time
import weakref
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_hex
from tempfile import mkdtemp

import numpy as np

from ...base.errors import OrbitileError
from ...base.temporary import own_folder
from ...base.watch import checkpoint
from ...exporters._series import SeriesWriter, require_series
from ...files.writing import written_atomically
from ...readers import load
from ..source import OneFile
from .order import Converged, Positions
from .relaxing import SAME

MOST = 2000
"""Geometries that are kept; of more the oldest are forgotten, those at which the atoms rested last of all."""

LAST = 40
"""The last of them, whose files are never removed: surfaces are shown of them, or they are read to go on from."""

_BYTES = 1 << 29
"""Bytes that the files of all may take together, but for the last."""


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
    is_rough : bool
        Whether it was passed, see `Converged`; what is computed there anew takes its place.
    """

    positions: Positions
    source: str
    energy: float
    seconds: float
    rested: bool
    n_bytes: int
    is_rough: bool = False

    def is_at(self, positions: Positions) -> bool:
        """Whether it has atoms where these are, as closely as a viewer keeps them."""
        return bool(np.abs(self.positions - positions).max() < SAME)


class LivePath:
    """The geometries of a live molecule in the order in which they were reached, in files of a folder of its own.

    Going back is a way as any other: what was reached before stays, and the geometry is reached once more.

    Attributes
    ----------
    folder : Path
        Temporary; removed when this process ends, or by `clear`.
    """

    def __init__(self) -> None:
        try:
            self.folder = Path(mkdtemp(prefix="live-", dir=own_folder()))
        except OSError as error:
            raise OrbitileError(f"there is no folder to write wavefunctions to ({error}); set TMPDIR to one") from error
        self._remove_folder = weakref.finalize(self, shutil.rmtree, self.folder, True)  # at the latest at the end
        self._begin = time.monotonic()
        self._lock = threading.Lock()
        self._reached: list[Reached] = []
        self._held: frozenset[str] = frozenset()
        self._rests: deque[Reached] = deque(maxlen=MOST)
        self._n_readers = 0

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

    def add(self, found: Converged) -> None:
        """Take note of a geometry; the first one counts as one at which the atoms rested."""
        size = Path(OneFile.read(found.source).path).stat().st_size
        seconds = time.monotonic() - self._begin
        one = Reached(found.positions, found.source, found.energy, seconds, False, size, found.is_rough)
        with self._lock:
            last = self.last
            self._reached.append(one)
            if last is not None and last.is_rough and last.is_at(one.positions):
                self._reached.remove(last)
                self._remove(last.source)
            if not self._n_readers:
                self._forget()
        if len(self._reached) == 1:
            self.rest()

    def _forget(self) -> None:
        """Forget geometries that are too many."""
        n_bytes = sum(one.n_bytes for one in self._reached)
        while len(self._reached) > LAST and (len(self._reached) > MOST or n_bytes > _BYTES):
            moving = (n for n, one in enumerate(self._reached[:-LAST]) if not one.rested)
            gone = self._reached.pop(next(moving, 0))
            n_bytes -= gone.n_bytes
            self._remove(gone.source)

    def hold(self, sources: Iterable[str]) -> None:
        """Keep the files of some geometries, reached or not, in place of those that were held before."""
        with self._lock:
            before, self._held = self._held, frozenset(sources)
            for source in before:
                self._remove(source)

    def _remove(self, source: str) -> None:
        """Remove a file that nothing is left of, and nobody reads."""
        if not self._n_readers and source not in self._held and all(one.source != source for one in self._reached):
            with suppress(OSError):  # where a file is kept that somebody has opened
                Path(OneFile.read(source).path).unlink()

    # ---- back

    def rest(self) -> bool:
        """Take note that the atoms were left alone where they are; says whether that is new."""
        if self._reached[-1].rested:
            return False
        self._reached[-1] = one = replace(self._reached[-1], rested=True)
        if not (self._rests and self._rests[-1].is_at(one.positions)):
            self._rests.append(one)
        return True

    def before(self, positions: Positions) -> Reached | None:
        """The last geometry at which the atoms rested and are not now; None where there is none to go back to."""
        return next((one for one in reversed(self._rests) if not one.is_at(positions)), None)

    def go_back(self, one: Reached) -> None:
        """Take note that the atoms are at a geometry of `before` again: from there one goes back further."""
        while self._rests[-1] is not one:
            self._rests.pop()

    # ---- to keep

    def write(self, path: str | Path, settings: str, sources: Sequence[str] = ()) -> int:
        """Write all geometries in order of time, or those of some sources, as a series file; from any thread.

        It is written whole or not at all.

        Returns
        -------
        int
            How many they are.

        Raises
        ------
        FileError
            When there is a file of that name that is no series, or it cannot be written.
        OrbitileError
            When no geometry was reached.
        Cancelled
            When the watch says so.
        """
        require_series(path)
        with self._lock:
            sources = tuple(sources) or tuple(one.source for one in self._reached)
            self._n_readers += 1
        whole = self.folder / f"{token_hex(8)}.h5"
        try:
            if not sources:
                raise OrbitileError("no geometry has converged yet: there is nothing to write")
            with SeriesWriter(whole, settings=settings) as writer:
                for n, source in enumerate(sources):
                    checkpoint(n / len(sources))
                    writer.append(load(OneFile.read(source).path))
            with written_atomically(path) as temporary:
                shutil.copyfile(whole, temporary)
        finally:
            whole.unlink(missing_ok=True)
            with self._lock:
                self._n_readers -= 1
        return len(sources)

    def close(self) -> None:
        """Forget all but the last, and remove their files."""
        with self._lock:
            gone, self._reached = self._reached[:-LAST], self._reached[-LAST:]
            for one in gone:
                self._remove(one.source)

    def holds(self, source: str) -> bool:
        """Whether a source is of a file of this path."""
        return str(self.folder) in source

    def clear(self, sources: Collection[str]) -> bool:
        """After the end: remove all files but those of some sources; says whether there are any of these among them.

        Where there are none the folder goes too.
        """
        with self._lock:
            if self._n_readers:
                return True
            self._reached = [one for one in self._reached if one.source in sources]
            kept = {Path(OneFile.read(one.source).path) for one in self._reached}
            for file in set(self.folder.iterdir()) - kept if kept else ():
                file.unlink(missing_ok=True)
        if not kept:
            self._remove_folder()
        return bool(kept)
