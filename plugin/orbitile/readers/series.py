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

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError
from ..files.hdf5 import MAGIC, USER_BLOCK, library, translated
from ..files.plain import PlainFile
from ..gaussians.orthonormality import checked
from ..model.basis import same_basis
from ..model.geometry import check_atoms
from ..model.wavefunction import Orbitals, Shell, Wavefunction

DESCRIPTION = "series files of Orbitile"
PATTERNS = ("*.series.h5",)
KIND = "trajectory"
BINARY = True


def recognises(head: str) -> bool:
    """Whether the beginning of a file is that of a series."""
    return head.startswith(MAGIC.decode("ascii"))


def read(path: Path) -> SeriesFrames:
    """Frames of a series file, which needs the package h5py."""
    return SeriesFrames(path)


SPINS = ("alpha", "beta")

_FEW_BYTES = 8 << 20
"""Coefficients up to here are all looked at when it is told whether two series are the same."""


class SeriesFrames:
    """Frames of a series file, which may be growing: `Frames` of a `Trajectory`.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    FileError
        When it is no series, of a later version, or damaged.
    """

    def __init__(self, path: Path) -> None:
        h5py = library(path.name)
        self._path = path
        self._plain = PlainFile(path)
        with translated(path):
            with self._plain.path.open("rb") as stream:
                head = stream.read(USER_BLOCK + 48)
            if not head.startswith(MAGIC):
                raise FileError(f"expected a series file, which begins with {MAGIC.decode().strip()!r}")
            self._growing = _is_open(head[USER_BLOCK:], self._plain.path.stat().st_size)
            self._file = h5py.File(self._plain.path, "r", libver="latest", swmr=self._growing, locking=False)
            file = self._file
            self.settings = str(file.attrs["settings"])
            ends = np.cumsum(file["basis/n_primitives"][()])
            exponents, contraction = (
                np.split(file[f"basis/{n}"][()], ends[:-1]) for n in ("exponents", "coefficients")
            )
            kinds = (file[f"basis/{n}"][()] for n in ("atom", "momentum", "pure"))
            self._shells = tuple(Shell(*shell) for shell in zip(*kinds, exponents, contraction, strict=True))
            self._fixed = {
                "atomic_numbers": file["atomic_numbers"][()],
                "core_charges": file["core_charges"][()],
                "shells": self._shells,
                "natural": bool(file.attrs["natural"]),
                **{name: str(file.attrs[name]) for name in ("title", "program", "method")},
            }

    @property
    def name(self) -> str:
        """Name of the file."""
        return self._path.name

    def __len__(self) -> int:
        with translated(self._path):
            if self._growing:
                self._file["frames"].refresh()
            return int(self._file["frames"][()])

    def geometries(self) -> Any:
        """Positions of all frames, shape (n_frames, n_atoms, 3), in bohr."""
        n = len(self)
        with translated(self._path):
            data = self._file["positions"]
            if data.shape[0] < n:
                data.refresh()
            positions = data[:n]
            check_atoms(self._fixed["atomic_numbers"], positions)
            return positions

    def feed(self, take: Callable[[bytes], None], n_frames: int) -> None:
        """Hand over what tells the first frames from others: all numbers but coefficients.

        Those too where they are few, otherwise those of the first and of the last frame: they go with the energies.
        """
        with translated(self._path):
            for name in ("title", "program", "method", "settings", "natural"):
                take(f"{name}={self._file.attrs[name]};".encode())
            names = ["atomic_numbers", "core_charges", *(f"basis/{name}" for name in sorted(self._file["basis"]))]
            for name in names:
                take(self._file[name][()].tobytes())
            parts = ("occupations", "energies", "n_orbitals", "coefficients")
            names = [f"{spin}/{part}" for spin in SPINS if spin in self._file for part in parts]
            for name in ("positions", "number", *names):
                data = self._file[name]
                if data.shape[0] < n_frames:
                    data.refresh()
                n_bytes = n_frames * data.dtype.itemsize * int(np.prod(data.shape[1:]))
                whole = n_bytes <= _FEW_BYTES or not name.endswith("coefficients")
                for part in (slice(n_frames),) if whole else (slice(1), slice(n_frames - 1, n_frames)):
                    take(data[part].tobytes())

    def number(self, index: int) -> int:
        """Number of a frame in what the series was made from, from 0."""
        with translated(self._path):
            return int(self._part("number", index))

    def read(self, index: int, *, check: bool = True) -> Wavefunction:
        """Read one frame, and check it unless told otherwise."""
        with translated(self._path):
            sets: dict[str, Any] = {spin: self._orbitals(spin, index) for spin in SPINS if spin in self._file}
            positions = self._part("positions", index)
            wavefunction = Wavefunction(
                positions=positions, source=f"{self._path}, frame {index + 1}", **self._fixed, **sets
            )
        return checked(wavefunction) if check else wavefunction

    def _orbitals(self, spin: str, index: int) -> Orbitals:
        n = int(self._part(f"{spin}/n_orbitals", index))
        names = ("coefficients", "occupations", "energies")
        return Orbitals(*(self._part(f"{spin}/{name}", index)[..., :n] for name in names))

    def _part(self, name: str, index: int) -> Any:
        data = self._file[name]
        if data.shape[0] <= index:
            data.refresh()
        return data[index]

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


class SeriesFrame:
    """What all frames of a series share."""

    def __init__(self, wavefunction: Wavefunction) -> None:
        self._numbers = wavefunction.atomic_numbers
        self._shells = wavefunction.shells
        self._spins = len(orbital_sets(wavefunction))

    def mismatch(self, other: Wavefunction) -> str:
        """Why a frame cannot follow, empty where it can."""
        if not np.array_equal(self._numbers, other.atomic_numbers):
            return "has other atoms, or the same in another order"
        if len(orbital_sets(other)) != self._spins:
            return f"has {len(orbital_sets(other))} sets of orbitals, expected {self._spins}"
        return "" if same_basis(self._shells, other.shells) else "has another basis set than the first one"


def orbital_sets(wavefunction: Wavefunction) -> list[tuple[str, Orbitals]]:
    """Orbitals of a wavefunction by the names that their spins have in a series."""
    sets = zip(SPINS, (wavefunction.alpha, wavefunction.beta), strict=True)
    return [(spin, orbitals) for spin, orbitals in sets if orbitals is not None]
