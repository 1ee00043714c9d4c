"""Molden files with several frames, one after another: [Molden Format] ... [Atoms] ... [GTO] ... [MO] ...

Frames may follow each other with or without another [Molden Format]; [Atoms] begins one. Each is read as a Molden file
of its own, so dialects are recognised frame by frame.
"""

from __future__ import annotations

from pathlib import Path

from ..files.reading import complete_lines, excerpt
from ..model.wavefunction import Wavefunction
from . import iodata
from ._frames import FramesInText

DESCRIPTION = "Molden files with several frames"
PATTERNS = ("*.molden",)
KIND = "trajectory"

_HEADER, _ATOMS = b"[molden format]", b"[atoms]"


def recognises(head: str) -> bool:
    """Whether the beginning of a file is that of a Molden file."""
    return _HEADER.decode("ascii") in head.lower()


def read(path: Path) -> MoldenFrames:
    """Frames of a Molden file, which may be growing."""
    return MoldenFrames(path)


class MoldenFrames(FramesInText):
    """Frames of a Molden file, found by their headings."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._starts: list[int] = []
        self._has_atoms = False

    def _n_frames(self) -> int:
        return len(self._starts)

    def _scan(self) -> None:
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
        return self._read_alone(index, text, ".molden", iodata.read)
