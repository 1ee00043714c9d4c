"""Frames of a trajectory that stand one after another in a text file, which may be growing."""

from __future__ import annotations

import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..base.temporary import own_folder
from ..files.encodings import text_of
from ..files.plain import PlainFile
from ..gaussians.orthonormality import checked
from ..model.wavefunction import Wavefunction


class FramesInText(ABC):
    """`Frames` of a `Trajectory`, found by their places in the file; nothing else is kept in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = PlainFile(path, any_encoding=True)
        self._scanned = 0
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Name of the file."""
        return self._path.name

    def __len__(self) -> int:
        with self._lock:
            self._scan()
            return self._n_frames()

    @abstractmethod
    def _scan(self) -> None:
        """Find the frames in what was added to the file since the last time, from `_scanned` on."""

    @abstractmethod
    def _n_frames(self) -> int:
        """Number of frames found."""

    @abstractmethod
    def read(self, index: int) -> Wavefunction:
        """Read and check one frame."""

    def _read_alone(self, index: int, text: bytes, suffix: str, read: Callable[[Path], Wavefunction]) -> Wavefunction:
        """Read and check a frame from a file of its own."""
        with tempfile.TemporaryDirectory(dir=own_folder()) as folder:
            alone = Path(folder, f"{self._path.stem[:100]}, frame {index + 1}{suffix}")
            alone.write_text(text_of(text), encoding="utf-8", newline="\n")
            with np.errstate(all="ignore"):  # absurd numbers, which are refused
                wavefunction = checked(read(alone))
        return replace(wavefunction, source=f"{self._path}, frame {index + 1}")
