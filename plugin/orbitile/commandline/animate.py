"""`orbitile animate`: films."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from ..base.arguments import number
from ..base.errors import OrbitileError
from ..base.watch import watched
from ._arguments import CommandParser, add_executor, add_option, add_trajectory, executor_of, read_size
from ._console import progress_bar, stoppable, tell
from ._files import is_page, tell_notes, write_page

HELP = "draw a film of a field along a trajectory"
PRIORITY = 70

_MOST_PICTURES = 100_000
"""Of a film: an hour and more at 25 a second."""

_MOST_FRAMES = 1000
"""Of a page, which is read as a whole: some 20 kB each and more."""


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    from ..pictures.request import DRAWN_AS, MODE

    add_trajectory(parser)
    parser.add_argument(
        "field",
        metavar="FIELD",
        nargs="?",
        help="as for render, named as in the first frame; for one frame also several orbitals: homo-3..lumo+3, mo:1-10 "
        "(default: homo; with --mode the molecule alone)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="OUT",
        required=True,
        help="film (.mp4, .gif; extra films), page to turn in a browser (.html), or new folder for PNG files",
    )
    parser.add_argument(
        "--no-tracking", action="store_true", help="do not follow orbitals; show them by their numbers in the files"
    )
    parser.add_argument(
        "--isovalue", metavar="V", help="in atomic units, one for the whole film; for one frame also a range: 0.1..0.01"
    )
    parser.add_argument(
        "--pictures",
        type=int,
        default=60,
        metavar="N",
        help="number of pictures, if the film shows one field of one frame (default: 60)",
    )
    parser.add_argument("--rate", type=number, default=10.0, metavar="N", help="pictures per second (default: 10)")
    parser.add_argument("--align", action="store_true", help="turn and move each frame onto the first one")
    parser.add_argument(
        "--interpolate", type=int, default=0, metavar="N", help="frames to insert between two neighbours (default: 0)"
    )
    parser.add_argument("--follow", action="store_true", help="lattice and camera move with the molecule")
    parser.add_argument(
        "--turn", type=number, default=0.0, metavar="DEG", help="total rotation of the molecule in degrees (default: 0)"
    )
    parser.add_argument(
        "--rock",
        type=number,
        default=0.0,
        metavar="DEG",
        help="rock the molecule by this many degrees to each side (default: 0)",
    )
    add_option(parser, MODE, help="atoms move along a normal mode of the file, by its number from 1")
    add_option(parser, "spacing", help="spacing of the lattice in Angstrom", default=0.15)
    add_option(parser, "size", default="960x720")
    add_option(parser, "background")
    add_option(parser, DRAWN_AS)
    add_option(parser, "device")
    add_executor(parser)


def run(options: argparse.Namespace) -> None:
    """Draw a film, and print how many pictures it has."""
    from ..model.units import angstrom
    from ..pictures.films import animate

    if options.mode is not None:
        _draw_mode(options)
        return
    options.field = options.field or "homo"
    with stoppable() as cancelled:
        shots = _shots(options, cancelled)
        if is_page(options.output):
            _write_page(shots, options, cancelled)
            return
        with progress_bar(options, "pictures") as progress, executor_of(options) as executor:
            n_pictures = animate(
                shots,
                options.output,
                rate=options.rate,
                follow=options.follow,
                turn=options.turn,
                rock=options.rock,
                spacing=options.spacing * angstrom,
                size=read_size(options.size),
                background=options.background,
                style=options.style,
                device=options.device,
                executor=executor,
                progress=progress,
                cancelled=cancelled,
            )
    print(f"{options.output}: {n_pictures} pictures")


def _draw_mode(options: argparse.Namespace) -> None:
    """Draw a film of atoms that move along a mode."""
    from ..pictures.vibrations import film_of_mode
    from ..readers import load_vibrations

    if options.field is not None or options.turn or options.rock or is_page(options.output):
        raise OrbitileError(
            "--mode moves the molecule alone: leave out FIELD, --turn and --rock; orbitile vibrations FILE -o "
            "page.html writes a page with all modes"
        )
    vibrations = load_vibrations(options.trajectory)
    with stoppable() as cancelled, progress_bar(options, "pictures") as progress:
        n_pictures = film_of_mode(
            vibrations,
            options.mode,
            options.output,
            pictures=options.pictures,
            rate=options.rate,
            size=read_size(options.size),
            background=options.background,
            progress=progress,
            cancelled=cancelled,
        )
    print(f"{options.output}: {n_pictures} pictures")


def _write_page(shots: Any, options: argparse.Namespace, cancelled: Callable[[], bool]) -> None:
    """Write a film as a page with a slider of frames."""
    from ..model.units import angstrom
    from ..pictures.pages import document_of_shots
    from ..pictures.request import Request

    if options.turn or options.rock:
        raise OrbitileError("--turn and --rock are for films; a page is turned in the browser: leave them out")
    if options.style != "surface":
        raise OrbitileError(f"--style {options.style} is for films; a page has a menu of how it draws: leave it out")
    if options.workers is not None or options.dask is not None:
        raise OrbitileError("--workers and --dask are for films; a page is made by one process: leave them out")
    if shots.most > _MOST_FRAMES:
        raise OrbitileError(f"{options.output}: expected {_MOST_FRAMES} frames at most in a page, got {shots.most}")
    sequence = list(shots())
    request = Request("", options.field, spacing=options.spacing * angstrom, device=options.device)
    with watched(cancelled=cancelled):
        document = document_of_shots(sequence, request, shots.field)
    write_page(document, options.output, sequence[0].wavefunction.source)


def _shots(options: argparse.Namespace, cancelled: Callable[[], bool]) -> Any:
    """What a film shows: a trajectory, or else of one frame several orbitals, isovalues, or one field."""
    from ..evaluation.requests import field_of
    from ..fields.orbital import orbital_list
    from ..pictures.films import along, check_surface, over_isovalues, over_orbitals
    from ..pictures.request import Request
    from ..pictures.surface import isovalue_of
    from ..readers import load_trajectory
    from ..trajectories.paths import localised_for
    from ..trajectories.tracking import track

    if not 1 <= options.pictures <= _MOST_PICTURES:
        raise OrbitileError(f"--pictures: expected 1 to {_MOST_PICTURES}, got {options.pictures}")
    isovalues = [] if options.isovalue is None else _isovalues(options.isovalue, options.pictures)
    trajectory = load_trajectory(options.trajectory)
    for _, first in trajectory.frames():
        tell_notes(options, first)
        if len(trajectory) > 1 and not options.no_tracking:
            trajectory = localised_for(trajectory, first, options.field)
        break
    if len(trajectory) > 1:
        if len(isovalues) > 1:
            raise OrbitileError("--isovalue: expected one for a trajectory, got a range")
        with progress_bar(options, "orbitals") as progress:
            tracking = (
                None if options.no_tracking else track(trajectory, progress=progress, cancelled=cancelled, report=tell)
            )
        return along(
            trajectory,
            options.field,
            tracking,
            *isovalues,
            aligned=options.align,
            between=options.interpolate,
            device=options.device,
            report=tell,
        )
    wavefunction = trajectory[0]
    orbitals = orbital_list(wavefunction, options.field)
    if orbitals is not None:
        if len(isovalues) > 1:
            raise OrbitileError("--isovalue: expected one for several orbitals, got a range")
        return over_orbitals(wavefunction, [orbital.name for orbital in orbitals], *isovalues, device=options.device)
    check_surface(options.field)
    field = field_of(wavefunction, options.field)
    if len(isovalues) < 2:
        isovalues = isovalues or [isovalue_of(Request("", options.field, device=options.device), wavefunction, field)]
        isovalues *= options.pictures
    return over_isovalues(wavefunction, field, isovalues)


def _isovalues(text: str, n: int) -> list[float]:
    """One isovalue, or n from one to another in equal ratios."""
    import numpy as np

    try:
        ends = [float(part) for part in text.split("..")]
    except ValueError:
        ends = []
    if len(ends) not in (1, 2) or not all(0 < end < float("inf") for end in ends):
        raise OrbitileError(f"--isovalue: expected a positive number or two such as 0.1..0.01, got {text!r}")
    return ends if len(ends) == 1 else np.geomspace(ends[0], ends[1], n).tolist()
