"""`orbitile volume`: a field on a lattice, in a file."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from ..base.errors import OrbitileError
from ._arguments import (
    MANY_DEVICES,
    SEVERAL,
    CommandParser,
    add_executor,
    add_exported,
    add_field,
    add_file,
    add_sampling,
    executor_of,
)
from ._console import note, progress_bar, stoppable, tell
from ._files import tell_notes, wavefunction_of

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from ..fields.orbital import Orbital
    from ..model.lattice import Lattice
    from ..model.wavefunction import Wavefunction
    from ..trajectories.volumes import ChosenFrames

HELP = "write the values of a field on a lattice (cube file, ...)"
PRIORITY = 140


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    add_file(parser)
    add_field(parser, f"; or {SEVERAL}")
    add_sampling(parser, more_devices=MANY_DEVICES)
    add_exported(parser, "volume", "; for several orbitals (homo-2..lumo, mo:1-10) a name with %%d")
    group = parser.add_argument_group("frames of a trajectory")
    group.add_argument(
        "--frames",
        metavar="LIST",
        help="frames to write to a Zarr store: all, 1-10, 1,5,9 or FIRST:LAST:STEP (::5), counted from 1; "
        "FILE may be a pattern in quotes. Frames that the store has are not computed again",
    )
    group.add_argument(
        "--follow", action="store_true", help="follow orbitals by overlap; FIELD names them in the first frame"
    )
    add_executor(group)


def run(options: argparse.Namespace) -> None:
    """Compute volumes slab by slab into files, and print their names."""
    from ..evaluation.requests import FileReferences
    from ..evaluation.streaming import compute_to_file
    from ..exporters import exporter_for
    from ..fields.orbital import orbital_list
    from ..pictures.surface import sampling
    from ._surfaces import Console, request_of

    if options.frames is not None:
        write_frames(options)
        return
    exporter_for(options.output, "volume")  # refuse before the work, not after it
    if options.workers is not None or options.dask is not None or options.follow:
        raise OrbitileError("--workers, --dask and --follow are for frames of a trajectory; give --frames too")
    wavefunction = wavefunction_of(options)
    orbitals = orbital_list(wavefunction, options.field)
    if orbitals is not None:
        _write_orbitals(options, wavefunction, orbitals)
        return
    request = request_of(options, options.field, options.isovalue)
    found = sampling(request, wavefunction, FileReferences(), Console(options))
    with progress_bar(options, found.field.quantity) as progress:
        compute_to_file(
            wavefunction,
            found.field,
            found.lattice,
            options.output,
            device=options.device,
            precision=options.precision,
            progress=progress,
        )
    print(options.output)


def _write_orbitals(options: argparse.Namespace, wavefunction: Wavefunction, orbitals: list[Orbital]) -> None:
    """Write several orbitals on one lattice, each to a file of its own."""
    from ..evaluation.lattices import compute_many
    from ..exporters import save
    from ..pictures.surface import sampling
    from ..trajectories.volumes import united
    from ._surfaces import request_of

    orbitals = [orbital.with_kernel(options.kernel) for orbital in orbitals]
    names = [_numbered(options.output, orbital.index + 1) for orbital in orbitals]
    if len(set(names)) < len(names) and _numbered(options.output, 1) != options.output:
        raise OrbitileError(
            f"--output: orbitals of both spins have the same numbers, so {options.output!r} gives their files the "
            "same names; ask for one spin at a time"
        )
    if len(set(names)) < len(names):
        raise OrbitileError(
            f"--output: {len(orbitals)} orbitals need as many files; put %d where the number of the orbital is to "
            f"stand, as in mo-%d.cube, got {options.output!r}"
        )
    samplings = [sampling(request_of(options, one.name, options.isovalue), wavefunction) for one in orbitals]
    lattice = united([each.lattice for each in samplings])
    note(options, "{} x {} x {} points".format(*lattice.shape))
    with progress_bar(options, f"{len(orbitals)} orbitals") as progress:
        volumes = compute_many(
            wavefunction, orbitals, lattice, device=options.device, precision=options.precision, progress=progress
        )
        for volume, name in zip(volumes, names, strict=True):
            save(volume, name, wavefunction=wavefunction)
            print(name)


def _numbered(pattern: str, number: int) -> str:
    """A file name with a number in place of %d, or %03d for one with leading zeros."""
    return re.sub(r"%(0?\d?)d", lambda match: format(number, f"{match[1]}d"), pattern)


# Frames of a trajectory -------------------------------------------------------------------------------------------


def write_frames(options: argparse.Namespace) -> None:
    """Compute a field in frames of a trajectory into a store, and print how many it has."""
    from ..readers import load_trajectory
    from ..trajectories.paths import localised_for
    from ..trajectories.tracking import track
    from ..trajectories.volumes import ChosenFrames, compute_volumes

    if not options.output.lower().endswith(".zarr"):
        raise OrbitileError(
            f"{options.output}: volumes of several frames go to a Zarr store; use a name such as homo.zarr"
        )
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
        lattice = _lattice_of_frames(options, chosen, executor)
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


def _lattice_of_frames(options: argparse.Namespace, chosen: ChosenFrames, executor: Executor | None) -> Lattice:
    """One lattice for all frames: around their surfaces, or around their atoms."""
    from ..evaluation.requests import field_of
    from ..model.lattice import Lattice, spacing_of
    from ..model.units import angstrom
    from ..pictures.surface import isovalue_of
    from ..trajectories.volumes import lattice_along
    from ._surfaces import request_of

    spacing = None if options.spacing is None else options.spacing * angstrom
    if options.margin is not None:
        if options.points is not None:
            raise OrbitileError("--points: for frames with --margin, give --spacing instead")
        positions = chosen.positions()
        low, high = positions.min(axis=(0, 1)), positions.max(axis=(0, 1))
        margin = options.margin * angstrom
        return Lattice.box(low - margin, high + margin, spacing or spacing_of(options.quality))
    isovalue = options.isovalue
    if isovalue is None:
        request, first = request_of(options, chosen.field(options.field), None), chosen.first()
        isovalue = isovalue_of(request, first, field_of(first, request.field))
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
