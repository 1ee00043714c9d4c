"""Molden files with several frames, one after another: [Molden Format] ... [Atoms] ... [GTO] ... [MO] ...

Frames may follow each other with or without another [Molden Format]; [Atoms] begins one. Each is read as a Molden file
of its own, so dialects are recognised frame by frame.
"""

from __future__ import annotations

import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..files.plain import PlainFile, text_of
from ..files.reading import complete_lines, excerpt
from ..gaussians.check import checked
from ..model.wavefunction import Wavefunction
from . import iodata

DESCRIPTION = "Molden files with several frames"
PATTERNS = ("*.molden",)

_HEADER, _ATOMS = b"[molden format]", b"[atoms]"


def recognises(head: str) -> bool:
    """Whether the beginning of a file is that of a Molden file."""
    return _HEADER.decode("ascii") in head.lower()


def read_trajectory(path: Path) -> MoldenFrames:
    """Frames of a Molden file, which may be growing."""
    return MoldenFrames(path)


class MoldenFrames:
    """`Frames` of a `Trajectory`, found by their places in the file; nothing else is kept in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = PlainFile(path, any_encoding=True)
        self._starts: list[int] = []
        self._scanned = 0
        self._has_atoms = False
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Name of the file."""
        return self._path.name

    def __len__(self) -> int:
        with self._lock:
            self._scan()
            return len(self._starts)

    def _scan(self) -> None:
        """Find the frames in what was added to the file since the last time."""
        for line in complete_lines(self._file.path, self._scanned):
            if b"[" in line:
                self._heading(line.strip().lower())
            self._scanned += len(line)

    def _heading(self, heading: bytes) -> None:
        if heading.startswith(_HEADER) or (heading.startswith(_ATOMS) and (self._has_atoms or not self._starts)):
            self._starts.append(self._scanned)
            self._has_atoms = False
        if heading.startswith(_ATOMS):
            self._has_atoms = True

    def read(self, index: int) -> Wavefunction:
        """Read and check one frame."""
        text = excerpt(self._file.path, *self._starts[index : index + 2])
        if not text.lstrip().lower().startswith(_HEADER):
            text = b"[Molden Format]\n" + text
        with tempfile.TemporaryDirectory() as folder:
            alone = Path(folder, f"{self._path.stem[:100]}, frame {index + 1}.molden")
            alone.write_text(text_of(text), encoding="utf-8", newline="\n")
            with np.errstate(all="ignore"):  # absurd numbers, which are refused
                wavefunction = checked(iodata.read(alone))
        return replace(wavefunction, source=f"{self._path}, frame {index + 1}")
