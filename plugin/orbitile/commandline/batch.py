"""`orbitile batch`: the same asked of many files, with a table and a contact sheet of all."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from ..base.arguments import number
from ..base.errors import OrbitileError
from ._arguments import (
    CommandParser,
    add_accept_damaged,
    add_executor,
    add_option,
    executor_of,
    read_size,
)
from ._console import progress_bar, tell

HELP = "draw and analyse many files, into a table and a contact sheet"
PRIORITY = 145

_TOLD = 10
"""Refusals that are printed; all of them are in the table."""


def add_arguments(parser: CommandParser) -> None:
    """State its arguments."""
    parser.add_argument(
        "what",
        metavar="FILE... ITEM...",
        nargs="+",
        help="files, folders, archives, patterns in quotes such as 'runs/**/*.log', or @LIST, a text file "
        "with a name in each line; then fields and analyses for each: homo, mo:17, homo-1..lumo, density+esp (the "
        "first coloured by the second), charges, bonds, charges:scheme=hirshfeld, ... (default: homo lumo)",
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FOLDER",
        required=True,
        help="folder for index.html, table.csv, table.parquet and all files; what it has is not computed again",
    )
    parser.add_argument(
        "--to",
        default="png,json",
        metavar="FORMAT,...",
        help="png, json, html, mesh, volume, or formats by their endings, such as ply, cube, zarr (default: png,json)",
    )
    add_accept_damaged(parser)
    group = parser.add_argument_group("workers")
    add_executor(group)
    group.add_argument(
        "--timeout", type=number, default=600.0, metavar="S", help="longest time for a file in seconds (default: 600)"
    )
    group = parser.add_argument_group("sampling")
    add_option(group, "isovalue", help="isovalue of all fields, in atomic units")
    add_option(group, "quality")
    add_option(group, "size")
    add_option(group, "device")
    add_option(group, "precision")


def run(options: argparse.Namespace) -> None:
    """Do what is missing, and print what has come of it."""
    from ..evaluation.devices import one_device
    from ..jobs.running import run_batch
    from ..workers import n_cores

    size = read_size(options.size)
    files, items = parted(options.what)
    with (
        executor_of(options, default=n_cores() if one_device(options.device) == "cpu" else 1) as executor,
        progress_bar(options, f"batch of {', '.join(files)[:60]}") as progress,
    ):
        found = run_batch(
            files,
            items,
            options.output,
            to=options.to.split(","),
            isovalue=options.isovalue,
            quality=options.quality,
            size=size,
            device=options.device,
            precision=options.precision,
            accept_damaged=options.accept_damaged,
            timeout=options.timeout,
            executor=executor,
            progress=progress,
        )
    for remark in found.remarks:
        tell(remark)
    n_refused = n_parts = 0
    for record in found.records:
        if "" not in record.refusals:
            n_parts += bool(record.refusals)
            continue
        n_refused += 1
        if n_refused <= _TOLD:
            all_of_it = f"; for each of its files say '{record.file}/*'" if os.path.isdir(record.file) else ""
            tell(f"{record.file}: refused: {record.refusals['']}{all_of_it}")
    if n_refused > _TOLD:
        tell(f"... and {n_refused - _TOLD} more refused, see the table")
    n_files = len(found.records)
    print(
        f"{options.output}: {n_files} files, {found.n_before} of them unchanged: {n_files - n_parts - n_refused} done, "
        f"{n_parts} in part, {n_refused} refused"
    )
    if found.n_refused == n_files:
        raise OrbitileError("no file could be read")


def parted(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Files and items: the first word is a file, and so is each that is there, is a pattern, or looks like a path."""
    import re

    from ..jobs.request import is_item
    from ..readers import is_there

    files, items = [words[0]], list[str]()
    for word in words[1:]:
        is_file = not items and (
            is_there(word) or word.startswith("@") or re.search(r"[*?\[\\/]", word) is not None or not is_item(word)
        )
        (files if is_file else items).append(word)
    return files, items
