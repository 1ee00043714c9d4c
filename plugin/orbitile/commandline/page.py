"""`orbitile page`: several molecules in one page, as supporting information."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..base.errors import DeviceError, FileError, OrbitileError
from ._arguments import CommandParser, add_accept_damaged, add_option, add_sampling
from ._console import tell
from ._files import is_page, tell_notes, write_text_of_page

if TYPE_CHECKING:
    from ..jobs.request import Item
    from ..scenes.web.collection import Entry

HELP = "write several molecules, their tables and coordinates into one page, as supporting information"
PRIORITY = 146


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    parser.add_argument(
        "what",
        metavar="FILE... FIELD...",
        nargs="+",
        help="files, folders, patterns in quotes such as 'runs/*.log', or @LIST, a text file with a name in each line; "
        "then the fields to show of each, as for render, density+esp for the first in the colours of the second "
        "(default: homo lumo; the page computes the other orbitals)",
    )
    parser.add_argument("-o", "--output", metavar="HTML", required=True, help="page to write (.html)")
    parser.add_argument("--title", default="Supporting information", metavar="TEXT", help="heading of the page")
    add_accept_damaged(parser)
    add_option(parser, "isovalue", help="isovalue of all fields, in atomic units")
    add_sampling(parser)


def run(options: argparse.Namespace) -> None:
    """Write the page, and print its name and size."""
    from ..jobs.files import files_in
    from ..jobs.request import request_of
    from ..scenes.web.collection import page_of
    from .batch import parted

    if not is_page(options.output):
        raise OrbitileError(f"{options.output}: expected the name of a page, such as si.html")
    names, fields = parted(options.what)
    files = files_in(names, Path(options.output))
    items = request_of(fields).items
    for item in items:
        if item.analysis:
            raise OrbitileError(f"{item.name}: expected a field, got an analysis; `orbitile batch` does these")
    entries = [_entry(options, file, items, is_asked=bool(fields)) for file in files]
    write_text_of_page(page_of(entries, options.title), options.output, files)


def _entry(options: argparse.Namespace, file: str, items: Sequence[Item], *, is_asked: bool) -> Entry:
    """What the page has of a file; fields that nobody asked for are left out where there are none."""
    from ..evaluation.requests import FileReferences, field_of
    from ..gaussians.promolecule import promolecule
    from ..model.geometry import Geometry
    from ..pictures.collection import entry_of
    from ..pictures.surface import drawn
    from ..readers import ACCEPTED, load, vibrations_in
    from ._surfaces import Console, request_of

    vibrations = vibrations_in(file)
    try:
        wavefunction = load(f"{file}{ACCEPTED}" if options.accept_damaged else file)
    except FileError as error:
        if vibrations is None:
            raise
        tell(f"{error}; the page has its vibrations alone")
        wavefunction = promolecule(Geometry(vibrations.atomic_numbers, vibrations.positions), source=file)
    tell_notes(options, wavefunction)
    requests = []
    for item in items:
        request = replace(request_of(options, item.field, options.isovalue), color_by=item.color_by)
        try:
            request = drawn(request, wavefunction)
            field_of(wavefunction, request.field, FileReferences())
        except OrbitileError as error:
            if is_asked and not wavefunction.promolecule:
                raise OrbitileError(f"{file}: {error}") from error
            continue
        requests.append(request)
    make = partial(entry_of, wavefunction, requests, FileReferences(), Console(options), vibrations=vibrations)
    try:
        return make()
    except DeviceError as error:
        tell(f"{file}: no still picture: {error}")
        return make(with_picture=False)
