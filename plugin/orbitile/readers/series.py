r"""Series: trajectories of wavefunctions in one HDF5 file or one Zarr store, appended frame by frame.

Layout of an HDF5 file, version 1. The first 512 bytes (a user block of HDF5) begin with `Orbitile series 1` and a line
end. Lengths in bohr, energies in hartree; F frames, N atoms, B basis functions, M orbitals at most, K shells, P
primitives.

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

A series of one frame, a stationary point, may have its vibrations: parts `vibrations/NAME` with the arrays of
`orbitile.model.vibrations.Vibrations` by their names, and in the attribute `vibrations` the rest as JSON.

Attributes of the file: `version`, `natural`, `title`, `program`, `method`, `settings` (text of a calculation, empty
otherwise). Order, signs and norms of basis functions are those of `orbitile.model.conventions`.

A frame is written, flushed, and then counted in `frames`, which is flushed too. The file is in HDF5's mode for a single
writer and many readers (SWMR) from the moment it has its name, so that metadata reach it in an order in which it is
sound at every moment: other processes read it while it grows, and a writer that is killed leaves all committed frames.

A Zarr store, which xarray opens too, has the same parts with an underscore in place of the stroke: `alpha_energies`.
Dimensions have names (`DIMENSIONS`), `units` are attributes of the arrays, and what HDF5 has as attributes of the file
stands in the attribute `orbitile` of the group, with `kind` (trajectory) and `frames`. Columns beyond the orbitals of a
frame are NaN. How frames are committed is said in `orbitile.files.zarr`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import FileError, OrbitileError
from ..files import hdf5, zarr
from ..files.hdf5 import MAGIC, USER_BLOCK
from ..files.plain import PlainFile
from ..files.zarr import FrameStore
from ..gaussians.orthonormality import checked
from ..model.geometry import check_atoms
from ..model.vibrations import DERIVATIVES, STRENGTHS, Vibrations
from ..model.wavefunction import Orbitals, Shell, Wavefunction, same_basis

DESCRIPTION = "series of Orbitile (HDF5 files and Zarr stores)"
PATTERNS = ("*.series.h5", "*.series.zarr")
FOLDERS = ("*.series.zarr",)
KIND = STORE = "trajectory"
BINARY = True

VERSION = 1
"""Version of the layout."""

SPINS = ("alpha", "beta")

_FEW_BYTES = 8 << 20
"""Coefficients up to here are all looked at when it is told whether two series are the same."""

_TEXTS = ("title", "program", "method")

_VIBRATIONS = "vibrations"

DIMENSIONS = {
    "positions": ("atom", "xyz"),
    "number": (),
    **{
        f"{spin}/{part}": axes
        for spin, orbital in (("alpha", "orbital"), ("beta", "beta_orbital"))
        for part, axes in (
            ("coefficients", ("basis_function", orbital)),
            ("occupations", (orbital,)),
            ("energies", (orbital,)),
            ("n_orbitals", ()),
        )
    },
}
"""Dimensions of the parts that grow, after the one of frames."""


def recognises(head: str) -> bool:
    """Whether the beginning of a file is that of a series."""
    return head.startswith(MAGIC.decode("ascii"))


def read(path: Path) -> SeriesFrames:
    """Frames of a series: of a Zarr store where there is a folder, otherwise of an HDF5 file; its package is an extra.

    Raises
    ------
    FileError
        When it is no series, of a later version, or damaged.
    """
    return SeriesFrames(path)


class _HDF5Parts:
    """The parts of a series in an HDF5 file, as a `FrameStore` has those of a Zarr store."""

    def __init__(self, path: Path) -> None:
        self._plain = PlainFile(path)
        with self._plain.path.open("rb") as stream:
            head = stream.read(USER_BLOCK + 48)
        if not head.startswith(MAGIC):
            raise FileError(f"expected a series file, which begins with {MAGIC.decode().strip()!r}")
        self._growing = _is_open(head[USER_BLOCK:], self._plain.path.stat().st_size)
        self._file = hdf5.library(path.name).File(
            self._plain.path, "r", libver="latest", swmr=self._growing, locking=False
        )
        self.attributes: Mapping[str, Any] = self._file.attrs

    def refresh(self) -> int:
        """Number of frames committed by now."""
        if self._growing:
            self._file["frames"].refresh()
        return int(self._file["frames"][()])

    def __contains__(self, name: str) -> bool:
        return name in self._file

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._file[name].shape)

    def dtype(self, name: str) -> np.dtype[Any]:
        return np.dtype(self._file[name].dtype)

    def whole(self, name: str) -> Any:
        return self._file[name][()]

    def frame(self, name: str, index: int, region: tuple[slice, ...] = ()) -> Any:
        return self._reaching(name, index + 1)[(index, *region)]

    def frames(self, name: str, start: int, stop: int) -> Any:
        return self._reaching(name, stop)[start:stop]

    def _reaching(self, name: str, n_frames: int) -> Any:
        """A dataset, as it is in the file now if it was shorter before."""
        data = self._file[name]
        if data.shape[0] < n_frames:
            data.refresh()
        return data

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


class SeriesFrames:
    """Frames of a series, which may be growing: `Frames` of a `Trajectory`.

    Parameters
    ----------
    path
        The file or folder.

    Raises
    ------
    FileError
        When it is no series, of a later version, or damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._is_store = path, path.is_dir()
        (zarr if self._is_store else hdf5).library(path.name)
        with self._guarded():
            self._parts = FrameStore(path, STORE, VERSION) if self._is_store else _HDF5Parts(path)
            self._spins = tuple(spin for spin in SPINS if self._named(f"{spin}/energies") in self._parts)
            self._shared = self._read_shared()
            for name, shape in frame_shapes(self._shared, self._spins).items():
                there = self._parts.shape(self._named(name))[1:]
                if len(there) != len(shape) or any(n not in (None, m) for n, m in zip(shape, there, strict=True)):
                    raise FileError(f"{name}: expected frames of shape {shape}, got {there}")

    @property
    def name(self) -> str:
        """Name of the file."""
        return self._path.name

    @property
    def settings(self) -> str:
        """Text that says how the frames were computed; empty where nobody did."""
        return str(self._parts.attributes["settings"])

    def require_settings(self, settings: str) -> None:
        """Refuse to continue a series that was computed with other settings.

        Raises
        ------
        FileError
            When they differ.
        """
        if self.settings != settings:
            got = f"({self.settings or 'none noted'}), expected {settings or 'none'}"
            raise FileError(f"{self.name}: was computed with other settings {got}; use these, or write to another file")

    def __len__(self) -> int:
        with self._guarded():
            return self._parts.refresh()

    def _named(self, name: str) -> str:
        return stored_name(name) if self._is_store else name

    def _whole(self, name: str) -> NDArray[Any]:
        return self._parts.whole(self._named(name))

    def _of_frame(self, name: str, index: int, width: int | None = None) -> NDArray[Any]:
        """What one frame has of a part; of the last axis as much as `width` says."""
        region = [slice(None)] * len(DIMENSIONS[name])
        if width is not None:
            region[-1] = slice(width)
        return self._parts.frame(self._named(name), index, tuple(region))

    def _of_frames(self, name: str, start: int, stop: int) -> NDArray[Any]:
        return self._parts.frames(self._named(name), start, stop)

    def _guarded(self) -> AbstractContextManager[None]:
        """A context in which the errors of a library become ours."""
        return (zarr if self._is_store else hdf5).translated(self._path)

    def close(self) -> None:
        """Close it; frames cannot be read any more."""
        self._parts.close()

    def _read_shared(self) -> dict[str, Any]:
        """What is the same in all wavefunctions."""
        ends = np.cumsum(self._whole("basis/n_primitives"))
        exponents, contraction = (
            np.split(self._whole(f"basis/{name}"), ends[:-1]) for name in ("exponents", "coefficients")
        )
        kinds = (self._whole(f"basis/{name}") for name in ("atom", "momentum", "pure"))
        return {
            "atomic_numbers": self._whole("atomic_numbers"),
            "core_charges": self._whole("core_charges"),
            "shells": tuple(Shell(*shell) for shell in zip(*kinds, exponents, contraction, strict=True)),
            "natural": bool(self._parts.attributes["natural"]),
            **{name: str(self._parts.attributes[name]) for name in _TEXTS},
        }

    def vibrations(self) -> Vibrations:
        """Vibrations of the molecule.

        Raises
        ------
        FileError
            When the series holds none.
        """
        with self._guarded():
            text = self._parts.attributes.get(_VIBRATIONS)
            if text is None:
                raise FileError(f"{self.name}: holds no vibrations")
            rest: dict[str, Any] = json.loads(str(text))
            arrays: dict[str, Any] = {
                name: self._whole(f"{_VIBRATIONS}/{name}")
                for name in VIBRATIONS
                if self._named(f"{_VIBRATIONS}/{name}") in self._parts
            }
            for name in ("symmetries", "remarks"):
                rest[name] = tuple(rest[name])
            energy = rest.pop("energy")
            return Vibrations(
                atomic_numbers=self._shared["atomic_numbers"],
                energy=math.nan if energy is None else energy,
                source=str(self._path),
                **arrays,
                **rest,
            )

    def geometries(self) -> Any:
        """Positions of all frames, shape (n_frames, n_atoms, 3), in bohr."""
        n = len(self)
        with self._guarded():
            positions = self._of_frames("positions", 0, n)
            check_atoms(self._shared["atomic_numbers"], positions)
            return positions

    def number(self, index: int) -> int:
        """Number of a frame in what the series was made from, from 0."""
        with self._guarded(), _in_frame(index):
            return int(self._of_frame("number", index))

    def read(self, index: int, *, check: bool = True) -> Wavefunction:
        """Read one frame, and check it unless told otherwise."""
        with self._guarded(), _in_frame(index):
            sets: dict[str, Any] = {spin: self._orbitals(spin, index) for spin in self._spins}
            wavefunction = Wavefunction(
                positions=self._of_frame("positions", index),
                source=f"{self._path}, frame {index + 1}",
                **self._shared,
                **sets,
            )
        return checked(wavefunction) if check else wavefunction

    def _orbitals(self, spin: str, index: int) -> Orbitals:
        n = int(self._of_frame(f"{spin}/n_orbitals", index))
        return Orbitals(
            coefficients=self._of_frame(f"{spin}/coefficients", index, n),
            occupations=self._of_frame(f"{spin}/occupations", index, n),
            energies=self._of_frame(f"{spin}/energies", index, n),
        )

    def feed(self, take: Callable[[bytes], None], n_frames: int) -> None:
        """Hand over what tells the first frames from others: all numbers but coefficients.

        Those too where they are few, otherwise those of the first and of the last frame: they go with the energies.
        """
        with self._guarded():
            for name in (*_TEXTS, "settings", "natural"):
                take(f"{name}={self._parts.attributes[name]};".encode())
            for name in SHARED:
                take(self._whole(name).tobytes())
            for name in _fed(self._spins):
                shape, dtype = self._parts.shape(self._named(name)), self._parts.dtype(self._named(name))
                whole = _is_fed_whole(name, n_frames * math.prod(shape[1:]) * dtype.itemsize)
                for start, stop in ((0, n_frames),) if whole else ((0, 1), (n_frames - 1, n_frames)):
                    take(self._of_frames(name, start, stop).tobytes())


def feed_frame(wavefunction: Wavefunction, settings: str, take: Callable[[bytes], None]) -> None:
    """Hand over what `SeriesFrames.feed` does of a series of this frame alone, which need not be read for it."""
    attributes, shared, parts = (
        attributes_of(wavefunction, settings),
        shared_parts(wavefunction),
        parts_of(wavefunction, 0),
    )
    for name in (*_TEXTS, "settings", "natural"):
        take(f"{name}={attributes[name]};".encode())
    for name in SHARED:
        take(shared[name].tobytes())
    for name in _fed([spin for spin, _ in orbital_sets(wavefunction)]):
        for _ in range(1 if _is_fed_whole(name, parts[name].nbytes) else 2):
            take(parts[name].tobytes())


def _fed(spins: Iterable[str]) -> list[str]:
    """The parts that tell frames from others."""
    parts = ("occupations", "energies", "n_orbitals", "coefficients")
    return ["positions", "number", *(f"{spin}/{part}" for spin in spins for part in parts)]


def _is_fed_whole(name: str, n_bytes: int) -> bool:
    return n_bytes <= _FEW_BYTES or not name.endswith("coefficients")


@contextmanager
def _in_frame(index: int) -> Iterator[None]:
    """What is wrong with a frame, with its number."""
    try:
        yield
    except OrbitileError as error:
        raise FileError(f"frame {index + 1}: {error}") from error


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


# ---- a wavefunction as the parts of a series


def stored_name(name: str) -> str:
    """Name of the array in a Zarr store that holds a part."""
    return name.replace("/", "_")


SHARED = (
    "atomic_numbers",
    "core_charges",
    *(f"basis/{name}" for name in ("atom", "coefficients", "exponents", "momentum", "n_primitives", "pure")),
)
"""Parts that all frames share."""


def orbital_sets(wavefunction: Wavefunction) -> list[tuple[str, Orbitals]]:
    """Orbitals of a wavefunction by the names that their spins have in a series."""
    sets = zip(SPINS, (wavefunction.alpha, wavefunction.beta), strict=True)
    return [(spin, orbitals) for spin, orbitals in sets if orbitals is not None]


def attributes_of(first: Wavefunction, settings: str) -> Mapping[str, Any]:
    """What is said of a series as a whole, by its first frame."""
    texts = {name: getattr(first, name) for name in _TEXTS}
    return {"version": VERSION, "natural": first.natural, **texts, "settings": settings}


def shared_parts(first: Wavefunction) -> dict[str, NDArray[Any]]:
    """Parts that all frames share, of the first one."""
    shells = first.shells
    return {
        "atomic_numbers": first.atomic_numbers,
        "core_charges": first.core_charges,
        "basis/atom": np.array([shell.atom for shell in shells], np.int64),
        "basis/momentum": np.array([shell.angular_momentum for shell in shells], np.int64),
        "basis/pure": np.array([shell.pure for shell in shells], np.uint8),
        "basis/n_primitives": np.array([len(shell.exponents) for shell in shells], np.int64),
        "basis/exponents": np.concatenate([shell.exponents for shell in shells]),
        "basis/coefficients": np.concatenate([shell.coefficients for shell in shells]),
    }


def parts_of(wavefunction: Wavefunction, number: int) -> dict[str, NDArray[Any]]:
    """What a frame adds to each part that grows."""
    parts = {"positions": wavefunction.positions, "number": np.array(number, np.int64)}
    for spin, orbitals in orbital_sets(wavefunction):
        parts[f"{spin}/coefficients"] = orbitals.coefficients
        parts[f"{spin}/occupations"] = orbitals.occupations
        parts[f"{spin}/energies"] = orbitals.energies
        parts[f"{spin}/n_orbitals"] = np.array(len(orbitals), np.int64)
    return parts


VIBRATIONS: Mapping[str, tuple[str, ...]] = {
    "positions": ("atom", "axis"),
    "masses": ("atom",),
    "wavenumbers": ("mode",),
    "displacements": ("mode", "atom", "axis"),
    **dict.fromkeys(STRENGTHS, ("mode",)),
    **dict(
        zip(DERIVATIVES, (("coordinate",) * 2, ("coordinate", "axis"), ("coordinate", "axis", "axis2")), strict=True)
    ),
}
"""Dimensions of the arrays of vibrations."""


def vibration_parts(vibrations: Vibrations) -> dict[str, tuple[NDArray[Any], tuple[str, ...]]]:
    """Arrays of vibrations as parts of a series, with their dimensions; those that are empty are left out."""
    arrays = {name: (np.asarray(getattr(vibrations, name)), axes) for name, axes in VIBRATIONS.items()}
    empty = (*STRENGTHS, *DERIVATIVES)
    return {f"{_VIBRATIONS}/{name}": each for name, each in arrays.items() if each[0].size or name not in empty}


def vibration_attributes(vibrations: Vibrations) -> dict[str, str]:
    """What is said of vibrations beside their arrays."""
    rest = {name: getattr(vibrations, name) for name in ("symmetries", "multiplicity", "title", "method", "remarks")}
    energy = None if math.isnan(vibrations.energy) else vibrations.energy
    return {_VIBRATIONS: json.dumps({**rest, "energy": energy})}


def frame_shapes(shared: Mapping[str, Any], spins: Iterable[str]) -> dict[str, tuple[int | None, ...]]:
    """Shapes of the parts that grow, of one frame; None for any number of orbitals."""
    n_basis = sum(shell.n_functions for shell in shared["shells"])
    shapes: dict[str, tuple[int | None, ...]] = {"positions": (len(shared["atomic_numbers"]), 3), "number": ()}
    for spin in spins:
        shapes[f"{spin}/coefficients"] = (n_basis, None)
        shapes |= {f"{spin}/occupations": (None,), f"{spin}/energies": (None,), f"{spin}/n_orbitals": ()}
    return shapes


def may_widen(name: str) -> bool:
    """Whether the last axis of a part is one of orbitals: of these there may be more in later frames.

    Linear dependence comes and goes with the geometry.
    """
    return name.endswith(("/coefficients", "/occupations", "/energies")) and not name.startswith("basis/")
