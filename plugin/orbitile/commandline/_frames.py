"""A field in the frames of a trajectory, for `orbitile volume`."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from ..base.errors import OrbitileError
from ._console import note, progress_bar, stoppable, tell
from ._executor import executor_of
from ._input import tell_notes

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ..model.lattice import Lattice
    from ..trajectories.volumes import ChosenFrames


def write_frames(options: argparse.Namespace) -> None:
    """Compute a field in frames of a trajectory into a store, and print how many it has."""
    from ..readers import load_trajectory
    from ..trajectories.paths import localised_for
    from ..trajectories.tracking import track
    from ..trajectories.volumes import ChosenFrames, compute_volumes

    if not options.output.lower().endswith(".zarr"):
        raise OrbitileError(f"{options.output}: volumes of several frames go to a Zarr store; use a name as homo.zarr")
    if options.frame is not None or options.kernel != "auto":
        raise OrbitileError("--frames does not go together with --frame or --kernel")
    trajectory = load_trajectory(options.file)
    numbers = read_frames(options.frames, len(trajectory))
    with stoppable() as cancelled, executor_of(options) as executor:
        tracking = None
        first = ChosenFrames.of(trajectory, numbers).first()
        tell_notes(options, first)
        if options.follow:
            trajectory = localised_for(trajectory, first, options.field)
            with progress_bar(options, "orbitals") as progress:
                tracking = track(trajectory, progress=progress, cancelled=cancelled, report=tell)
        source = options.file if tracking is None else trajectory
        chosen = ChosenFrames.of(source, numbers, tracking)
        lattice = _lattice(options, chosen, executor)
        note(options, "{} frames of {} x {} x {} points".format(len(numbers), *lattice.shape))
        with progress_bar(options, options.field) as progress:
            volumes = compute_volumes(
                source,
                options.field,
                lattice,
                options.output,
                frames=numbers,
                tracking=tracking,
                executor=executor,
                device=options.device,
                precision=options.precision,
                progress=progress,
                cancelled=cancelled,
                report=tell,
            )
    n, n_missing = len(volumes.done), len(volumes) - len(volumes.done)
    print(f"{options.output}: {n} frames" + (f", {n_missing} missing" if n_missing else ""))


def _lattice(options: argparse.Namespace, chosen: ChosenFrames, executor: Executor | None) -> Lattice:
    """One lattice for all frames: around their surfaces, or around their atoms."""
    from ..evaluation.default_isovalue import default_isovalue
    from ..model.lattice import Lattice, spacing_of
    from ..model.units import angstrom
    from ..trajectories.volumes import lattice_along

    spacing = None if options.spacing is None else options.spacing * angstrom
    if options.margin is not None:
        if options.points is not None:
            raise OrbitileError("--points: for frames with a --margin give --spacing instead")
        positions = chosen.positions()
        low, high = positions.min(axis=(0, 1)), positions.max(axis=(0, 1))
        margin = options.margin * angstrom
        return Lattice.box(low - margin, high + margin, spacing or spacing_of(options.quality))
    isovalue = options.isovalue
    if isovalue is None:
        isovalue = default_isovalue(chosen.first(), chosen.field(options.field), device=options.device)
    with progress_bar(options, "lattice") as progress:
        return lattice_along(
            chosen,
            options.field,
            isovalue,
            spacing=spacing,
            points=options.points,
            quality=options.quality,
            executor=executor,
            progress=progress,
        )


def read_frames(text: str, n: int) -> list[int]:
    """Frames of n, from 0, as a user lists them from 1."""
    found: list[int] = []
    for part in ["::"] if text.strip().lower() == "all" else text.split(","):
        counted = re.fullmatch(r"\s*(\d{1,9})(?:-(\d{1,9}))?\s*", part)
        sliced = re.fullmatch(r"\s*(\d{0,9}):(\d{0,9})(?::(\d{0,9}))?\s*", part)
        if counted:
            first, last, step = int(counted[1]), int(counted[2] or counted[1]), 1
        elif sliced:
            first, last, step = int(sliced[1] or 1), int(sliced[2] or n), int(sliced[3] or 1)
        else:
            raise OrbitileError(f"--frames: expected all, or frames such as 1-10, 1,5,9 or ::5, got {text!r}")
        if not 1 <= first <= last <= n or step < 1:
            raise OrbitileError(f"--frames: expected frames from 1 to {n}, got {part.strip()!r}")
        found += range(first - 1, last, step)
    return sorted(set(found))
