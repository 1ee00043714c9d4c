r"""The series file: a trajectory of wavefunctions in one HDF5 file, appended frame by frame.

Layout, version 1. The first 512 bytes (a user block of HDF5) begin with `Orbitile series 1` and a line end. Lengths in
bohr, energies in hartree; F frames, N atoms, B basis functions, M orbitals at most, K shells, P primitives.

===================== ============== ======== =======================================================================
name                  shape          type     meaning
===================== ============== ======== =======================================================================
frames                ()             int64    number of committed frames; whatever lies beyond it is not part of it
atomic_numbers        (N,)           int64    elements, 0 for ghosts
core_charges          (N,)           float64  charges that the electrons see
basis/atom            (K,)           int64    atom of each shell, from 0
basis/momentum        (K,)           int64    angular momentum
basis/pure            (K,)           uint8    1 for real solid harmonics, 0 for Cartesian functions
basis/n_primitives    (K,)           int64    primitives of each shell
basis/exponents       (P,)           float64  shell after shell
basis/coefficients    (P,)           float64  of normalised primitives
positions             (F, N, 3)      float64
number                (F,)           int64    number of the frame in what the series was made from, from 0
SPIN/coefficients     (F, B, M)      float64  SPIN is alpha (or both spins), and beta where there are two sets
SPIN/occupations      (F, M)         float64
SPIN/energies         (F, M)         float64  NaN where unknown
SPIN/n_orbitals       (F,)           int64    orbitals of the frame; columns beyond it hold nothing
===================== ============== ======== =======================================================================

Attributes of the file: `version`, `natural`, `title`, `program`, `method`, `settings` (text of a calculation, empty
otherwise). Order, signs and norms of basis functions are those of `orbitile.model.conventions`.

A frame is written, flushed, and then counted in `frames`, which is flushed too. The file is in HDF5's mode for a single
writer and many readers (SWMR) from the moment it has its name, so that metadata reach it in an order in which it is
sound at every moment: other processes read it while it grows, and a writer that is killed leaves all committed frames.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..base.errors import FileError
from ..files.hdf5 import MAGIC, USER_BLOCK, library, translated
from ..files.plain import PlainFile
from ._series import SPINS, SeriesFrames
from .series_zarr import ZarrFrames

DESCRIPTION = "series files of Orbitile"
PATTERNS = ("*.series.h5",)
KIND = "trajectory"
BINARY = True


def recognises(head: str) -> bool:
    """Whether the beginning of a file is that of a series."""
    return head.startswith(MAGIC.decode("ascii"))


def read(path: Path) -> SeriesFrames:
    """Frames of a series file, which needs the package h5py."""
    return HDF5Frames(path)


class HDF5Frames(SeriesFrames):
    """Frames of a series in an HDF5 file.

    Raises
    ------
    FileError
        When it is no series, of a later version, or damaged.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        h5py = library(path.name)
        self._plain = PlainFile(path)
        with translated(path):
            with self._plain.path.open("rb") as stream:
                head = stream.read(USER_BLOCK + 48)
            if not head.startswith(MAGIC):
                raise FileError(f"expected a series file, which begins with {MAGIC.decode().strip()!r}")
            self._growing = _is_open(head[USER_BLOCK:], self._plain.path.stat().st_size)
            self._file = h5py.File(self._plain.path, "r", libver="latest", swmr=self._growing, locking=False)
            self._shared = self._read_shared()

    def __len__(self) -> int:
        with translated(self._path):
            if self._growing:
                self._file["frames"].refresh()
            return int(self._file["frames"][()])

    def _attribute(self, name: str) -> Any:
        return self._file.attrs[name]

    def _whole(self, name: str) -> NDArray[Any]:
        return self._file[name][()]

    def _of_frame(self, name: str, index: int, width: int | None = None) -> Any:
        data = self._reaching(name, index + 1)[index]
        return data if width is None else data[..., :width]

    def _of_frames(self, name: str, start: int, stop: int) -> Any:
        return self._reaching(name, stop)[start:stop]

    def _reaching(self, name: str, n_frames: int) -> Any:
        """A dataset, as it is in the file now if it was shorter before."""
        data = self._file[name]
        if data.shape[0] < n_frames:
            data.refresh()
        return data

    def _size(self, name: str) -> int:
        data = self._file[name]
        return int(data.dtype.itemsize * math.prod(data.shape[1:]))

    @property
    def _spins(self) -> tuple[str, ...]:
        return tuple(spin for spin in SPINS if spin in self._file)

    def _guarded(self) -> AbstractContextManager[None]:
        return translated(self._path)

    def close(self) -> None:
        """Close the file; frames cannot be read any more."""
        self._file.close()
        self._plain.close()


def _is_open(superblock: bytes, size: int) -> bool:
    """Whether a file is being written, or its writer was killed: as the superblock of HDF5, version 3, says.

    Only then is it read in SWMR mode, which waits for what a writer is about to complete, for ever where there is none
    and the file was cut off.

    Raises
    ------
    FileError
        When the file is shorter than it says.
    """
    end = int.from_bytes(superblock[28:36], "little")
    if size < max(end, USER_BLOCK + 48):
        raise FileError(f"cut off: {size} bytes, expected {max(end, 560)} at least")
    return superblock[11] != 0


def open_series(path: Path) -> SeriesFrames:
    """Frames of a series: of a Zarr store where there is a folder, otherwise of an HDF5 file.

    Raises
    ------
    FileError
        When it is no series, of a later version, or damaged.
    """
    return ZarrFrames(path) if path.is_dir() else HDF5Frames(path)
