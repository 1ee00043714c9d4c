"""`orbitile volume`: a field on a lattice, in a file."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from ..base.errors import OrbitileError
from ._arguments import CommandParser, add_exported, add_sampled_field
from ._console import note, progress_bar
from ._executor import add_executor
from ._frames import write_frames
from ._input import wavefunction_of

if TYPE_CHECKING:
    from ..fields.orbital import Orbital
    from ..model.wavefunction import Wavefunction

HELP = "write a field on a lattice"
PRIORITY = 140


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    add_sampled_field(parser)
    add_exported(parser, "volume", "; for several orbitals (homo-2..lumo, mo:1-10) a name with %%d")
    group = parser.add_argument_group("frames of a trajectory")
    group.add_argument(
        "--frames",
        metavar="LIST",
        help="write these to a Zarr store: all, or as 1-10, 1,5,9 or FIRST:LAST:STEP (::5), counted from 1; FILE may "
        "be a pattern in quotes. What the store has is not done again",
    )
    group.add_argument("--follow", action="store_true", help="follow the orbitals, named as in the first frame")
    add_executor(group)


def run(options: argparse.Namespace) -> None:
    """Compute volumes slab by slab into files, and print their names."""
    from ..evaluation.requests import FileReferences
    from ..evaluation.streaming import compute_to_file
    from ..exporters import exporter_for
    from ..fields.orbital import orbital_list
    from ..session.surfaces import sampling
    from ._surfaces import Console, request_of

    if options.frames is not None:
        write_frames(options)
        return
    exporter_for(options.output, "volume")  # refuse before the work, not after it
    if options.workers is not None or options.dask is not None or options.follow:
        raise OrbitileError("--workers, --dask and --follow are for frames of a trajectory: ask for them with --frames")
    wavefunction = wavefunction_of(options)
    orbitals = orbital_list(wavefunction, options.field)
    if orbitals is not None:
        _write_orbitals(options, wavefunction, orbitals)
        return
    request = request_of(options, options.field, options.isovalue)
    field, lattice, _ = sampling(request, wavefunction, FileReferences(), Console(options))
    with progress_bar(options, field.quantity) as progress:
        compute_to_file(
            wavefunction,
            field,
            lattice,
            options.output,
            device=options.device,
            precision=options.precision,
            progress=progress,
        )
    print(options.output)


def _write_orbitals(options: argparse.Namespace, wavefunction: Wavefunction, orbitals: list[Orbital]) -> None:
    """Write several orbitals on one lattice, each to a file of its own."""
    from ..evaluation.default_isovalue import default_isovalue
    from ..evaluation.lattices import compute_many
    from ..exporters import save
    from ..session.surfaces import lattice_for
    from ..trajectories.volumes import united
    from ._surfaces import request_of

    orbitals = [orbital.with_kernel(options.kernel) for orbital in orbitals]
    names = [_numbered(options.output, orbital.index + 1) for orbital in orbitals]
    if len(set(names)) < len(names) and _numbered(options.output, 1) != options.output:
        raise OrbitileError(
            f"--output: orbitals of both spins have the same numbers, and {options.output!r} gives their files one "
            "name; ask for one spin at a time"
        )
    if len(set(names)) < len(names):
        raise OrbitileError(
            f"--output: {len(orbitals)} orbitals need as many files; put %d where the number of the orbital is to "
            f"stand, as in mo-%d.cube, got {options.output!r}"
        )
    lattices = []
    for orbital in orbitals:
        isovalue = options.isovalue
        if isovalue is None:
            isovalue = default_isovalue(wavefunction, orbital, device=options.device)
        request = request_of(options, orbital.name, isovalue)
        lattices.append(lattice_for(request, wavefunction, isovalue, orbital))
    lattice = united(lattices)
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
