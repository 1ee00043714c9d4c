"""The wavefunction that a command works on."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..base.errors import FileError
from ._console import tell

if TYPE_CHECKING:
    from ..model.wavefunction import Wavefunction


def wavefunction_of(options: argparse.Namespace) -> Wavefunction:
    """What the file holds, or a frame of it; what is odd about it is told."""
    wavefunction = load_frame(options)
    tell_notes(options, wavefunction)
    return wavefunction


def load_frame(options: argparse.Namespace) -> Wavefunction:
    """What the file holds, or the frame that the options ask for."""
    from ..readers import load, load_trajectory

    if options.frame is None:
        return load(options.file)
    trajectory = load_trajectory(options.file)
    n = len(trajectory)
    if not 1 <= options.frame <= n:
        raise FileError(f"{trajectory.name}: --frame: expected a number from 1 to {n}, got {options.frame}")
    return trajectory[options.frame - 1]


def tell_notes(options: argparse.Namespace, wavefunction: Wavefunction) -> None:
    """Tell what is odd about a wavefunction."""
    from ..analysis.information import notes

    for note in () if options.quiet else notes(wavefunction):
        tell(f"{wavefunction.source.rpartition('/')[2]}: note: {note}")
