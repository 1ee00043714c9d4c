"""What series files have in common, whatever library they are written with: their parts by name, and how they are read.

The parts of a series and their shapes stand in `orbitile.readers.series`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import FileError, OrbitileError
from ..gaussians.orthonormality import checked
from ..model.geometry import check_atoms
from ..model.wavefunction import Orbitals, Shell, Wavefunction, same_basis

VERSION = 1
"""Version of the layout."""

SPINS = ("alpha", "beta")

_FEW_BYTES = 8 << 20
"""Coefficients up to here are all looked at when it is told whether two series are the same."""

_TEXTS = ("title", "program", "method")


class SeriesFrames(ABC):
    """Frames of a series, which may be growing: `Frames` of a `Trajectory`.

    Parameters
    ----------
    path
        The file or folder.
    """

    _shared: dict[str, Any]

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def name(self) -> str:
        """Name of the file."""
        return self._path.name

    @property
    def settings(self) -> str:
        """Text that says how the frames were computed; empty where nobody did."""
        return str(self._attribute("settings"))

    def require_settings(self, settings: str) -> None:
        """Refuse to continue a series that was computed with other settings.

        Raises
        ------
        FileError
            When they are others.
        """
        if self.settings != settings:
            raise FileError(
                f"{self.name}: was computed with other settings ({self.settings or 'none noted'}), expected "
                f"{settings or 'none'}; use these, or write to another file"
            )

    @abstractmethod
    def __len__(self) -> int:
        """Number of committed frames."""

    @abstractmethod
    def _attribute(self, name: str) -> Any:
        """An attribute of the whole."""

    @abstractmethod
    def _whole(self, name: str) -> NDArray[Any]:
        """A part that all frames share."""

    @abstractmethod
    def _of_frame(self, name: str, index: int, width: int | None = None) -> NDArray[Any]:
        """What one frame has of a part; of the last axis as much as `width` says."""

    @abstractmethod
    def _of_frames(self, name: str, start: int, stop: int) -> NDArray[Any]:
        """What frames have of a part, those from a first one up to another."""

    @abstractmethod
    def _size(self, name: str) -> int:
        """Bytes that one frame has of a part."""

    @property
    @abstractmethod
    def _spins(self) -> tuple[str, ...]:
        """Those of `SPINS` that there are."""

    @abstractmethod
    def _guarded(self) -> AbstractContextManager[None]:
        """A context in which the errors of a library become ours."""

    @abstractmethod
    def close(self) -> None:
        """Close it; frames cannot be read any more."""

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
            "natural": bool(self._attribute("natural")),
            **{name: str(self._attribute(name)) for name in _TEXTS},
        }

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
                take(f"{name}={self._attribute(name)};".encode())
            for name in SHARED:
                take(self._whole(name).tobytes())
            parts = ("occupations", "energies", "n_orbitals", "coefficients")
            for name in ("positions", "number", *(f"{spin}/{part}" for spin in self._spins for part in parts)):
                whole = n_frames * self._size(name) <= _FEW_BYTES or not name.endswith("coefficients")
                for start, stop in ((0, n_frames),) if whole else ((0, 1), (n_frames - 1, n_frames)):
                    take(self._of_frames(name, start, stop).tobytes())


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
