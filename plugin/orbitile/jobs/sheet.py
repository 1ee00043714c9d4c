"""The contact sheet of a batch: a page with a card for each record, to search, sort and filter.

`index.html` is the page, the same for all batches; what it shows is in `sheet.js` beside it, which a browser also reads
from a disk. Its title is the name of the folder, as the browser has it. Nothing is fetched from a network. All text of
files reaches the page as JSON, and the document as text: no HTML is ever made of it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice
from os import fsencode
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..files.reading import readable
from ..files.writing import written_atomically
from ..scenes.web import module
from .table import LIST, TEXT, Column, Record, cell_of
from .table import NAMES as TABLES

PAGE, DATA = "index.html", "sheet.js"

_MOST = 100_000
"""Rows of a page: browsers sort and search that many while one types."""

_DIGITS = 9
"""Significant digits of numbers in a page; the tables have all."""

_MODULES = ("elements",), ("rows", "query", "showing", "histogram", "grid", "list", "detail", "sheet")
"""Modules of the viewer, and those of this page."""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>Contact sheet</title>
<style>
{style}
</style>
</head>
<body>
<noscript>This page needs JavaScript; the same is in the table {table}.</noscript>
<script src="{data}"></script>
<script type="module">
{script}
</script>
</body>
</html>
"""


def write_sheet(records: Collection[Record], folder: Path, columns: Sequence[Column]) -> None:
    """Write the contact sheet of records into the folder of their batch, each file whole or not at all.

    Parameters
    ----------
    records
        Gone through once. Outputs are relative to the folder; those of the format
        `thumbnail` are shown in cards, and those of `png` where there are none.
    folder
        Of the batch; its tables are linked where they are there.
    columns
        Those of the records.

    Raises
    ------
    FileError
        When they cannot be written.
    """
    with written_atomically(folder / DATA) as temporary:
        temporary.write_text(_as_script(_contents(records, columns, folder)), encoding="ascii")
    with written_atomically(folder / PAGE) as temporary:
        temporary.write_text(_page(), encoding="utf-8")


@cache
def _page() -> str:
    of_viewer, own = _MODULES
    texts = [module(name) for name in of_viewer] + [module(name, __package__) for name in own]
    style = (files(__package__) / "scripts" / "sheet.css").read_text(encoding="utf-8")
    return _PAGE.format(style=style, script="\n\n".join(texts), data=DATA, table=TABLES[0])


def _as_script(contents: dict[str, Any]) -> str:
    """Contents as a script; in ASCII and without `<`, so that nothing in it ends a script or is read as HTML."""
    text = json.dumps(contents, separators=(",", ":"), allow_nan=False)
    return f"window.orbitileSheet={text};\n".replace("<", "\\u003c")


def _contents(records: Collection[Record], columns: Sequence[Column], folder: Path) -> dict[str, Any]:
    """All that the page knows, by columns: numbers refer to `items`, `formats` and `texts`."""
    items, formats, texts = _Numbered(), _Numbered(), _Numbered()
    shown = [part for column in columns for part in _parts(column)]
    files: list[str] = []
    outputs: list[list[str | int]] = []
    refusals: list[list[int]] = []
    remarks: list[list[int]] = []
    for record in islice(records, _MOST):
        files.append(readable(record.file))
        outputs.append(_outputs(record, items, formats))
        refusals.append([])
        for item, reason in record.refusals.items():
            refusals[-1] += [items.of(item), texts.of(_without_name(reason, record.file))]
        remarks.append([texts.of(remark) for remark in record.remarks])
        for part in shown:
            part.add(record)
    return {
        "total": len(records),
        "tables": [name for name in TABLES if (folder / name).exists()],
        "columns": [part.contents() for part in shown],
        "files": files,
        "outputs": outputs,
        "refusals": refusals,
        "remarks": remarks,
        "items": items.texts,
        "formats": formats.texts,
        "texts": texts.texts,
    }


class _Part:
    """A column of the page: one of the tables, or the least or the largest number of one that has lists."""

    def __init__(self, column: Column, choose: Callable[..., Any] | None = None) -> None:
        self._column, self._choose, self._values = column, choose, list[str | float | None]()

    def add(self, record: Record) -> None:
        cell: Any = cell_of(record, self._column)
        if self._choose is not None and cell is not None:
            cell = self._choose((one for one in cell if math.isfinite(one)), default=None)
        self._values.append(readable(cell) if isinstance(cell, str) else _short(cell))

    def contents(self) -> dict[str, Any]:
        what = "" if self._choose is None else self._choose.__name__
        return {
            "name": readable(f"{what}_{self._column.name}" if what else self._column.name),
            "heading": readable(f"{what} {self._column.heading}".strip()),
            "unit": self._column.unit,
            "text": self._column.kind == TEXT,
            "values": self._values,
        }


def _parts(column: Column) -> list[_Part]:
    return [_Part(column, min), _Part(column, max)] if column.kind == LIST else [_Part(column)]


def _short(value: Any) -> float | int | None:
    """A number with the digits that a page shows; None for what JSON has no number for."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    return value if value is None or abs(value) < 2**53 else float(value)


def _without_name(reason: str, file: str) -> str:
    """A reason without the name of the file that it begins with, which stands beside it."""
    for name in (file, file.replace("\\", "/").rsplit("/", 1)[-1]):
        reason = reason.removeprefix(f"{name}: ").removeprefix(f"{name}, ")
    return reason


def _outputs(record: Record, items: _Numbered, formats: _Numbered) -> list[str | int]:
    """The beginning that all addresses share, a folder, then item, format and the rest of the address of each output.

    Addresses are relative, whatever is in the names.
    """
    paths = [one.path.lstrip("/") for one in record.outputs]
    if not paths:
        return []
    folder = paths[0][: paths[0].rfind("/") + 1]
    if not all(path.startswith(folder) for path in paths):
        folder = ""
    found: list[str | int] = [_address(folder)]
    for one, path in zip(record.outputs, paths, strict=True):
        found += [items.of(one.item), formats.of(one.format), _address(path[len(folder) :])]
    return found


@lru_cache(1024)  # names within the folders are the same for all records
def _address(path: str) -> str:
    return quote(fsencode(path))


class _Numbered:
    """Texts, each once, found by number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def of(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def texts(self) -> Iterable[str]:
        return [readable(text) for text in self._numbers]
