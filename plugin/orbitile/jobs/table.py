"""Records as a table: Parquet for programs, CSV for people and for programs that know no other."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from types import ModuleType
from typing import Any

from ..base.errors import FileError
from ..base.packages import install_command
from ..files.writing import written_atomically
from .columns import LIST, REAL, TEXT, WHOLE, Column, cell_of, columns_of, readable
from .record import Record

_WriteRows = Callable[[list[Record]], None]

NAMES = ("table.csv", "table.parquet")
"""Tables in the folder of a batch."""

_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "'")
"""How text begins that spreadsheets would run, and the apostrophe, which they put before text."""

_ENCODER = json.JSONEncoder(ensure_ascii=False)

_GROUP = 16_384
"""Rows of a table that are in memory at once."""


def write_table(
    records: Collection[Record], path: str | PathLike[str], columns: Sequence[Column] | None = None
) -> None:
    """Write a table of records, one row each, whole or not at all.

    Columns are `file`, `key`, the values that at least one record has, `refusals`, `remarks` and `outputs`. Nothing in
    it depends on when, where or how fast it was computed: equal records give equal bytes.

    Parameters
    ----------
    records
        Gone through once for the rows, and before for the columns.
    path
        `.parquet` (Apache Parquet, compressed by zstd; columns are typed, units stand in the metadata of the columns;
        refusals are pairs of `item` and `reason`), or `.csv` (RFC 4180 in UTF-8; numbers have all digits, missing ones
        are empty; lists are JSON; text that a spreadsheet would take for a formula has an apostrophe before it, as has
        text that begins with one).
    columns
        Those of the records, where they are known.

    Raises
    ------
    FileError
        When the name ends otherwise, the file cannot be written, or pyarrow, which writes Parquet, is not installed.
    """
    ending = Path(fspath(path)).suffix.lower()
    if ending not in _WRITERS:
        raise FileError(f"{path}: expected a table, .parquet or .csv")
    _write(records, [Path(fspath(path))], columns_of(records) if columns is None else columns)


def write_tables(records: Collection[Record], folder: Path, columns: Sequence[Column] | None = None) -> str:
    """Write both tables of a batch, going through the records once for both.

    Returns
    -------
    str
        What is missing for one of them, in a line; empty where there are both.
    """
    paths = [folder / name for name in NAMES]
    said = ""
    try:
        _pyarrow(paths[-1])
    except FileError as error:
        said = str(error)
        paths.pop()
    _write(records, paths, columns_of(records) if columns is None else columns)
    return said


def _write(records: Collection[Record], paths: list[Path], columns: Sequence[Column]) -> None:
    with ExitStack() as stack:
        write_rows = []
        for path in paths:
            temporary = stack.enter_context(written_atomically(path))
            write_rows.append(stack.enter_context(_WRITERS[path.suffix.lower()](path, temporary, columns)))
        remaining = iter(records)
        while group := list(islice(remaining, _GROUP)):
            for write in write_rows:
                write(group)


def _pyarrow(path: Path) -> ModuleType:
    """The package pyarrow with its module for Parquet, for a table of that name."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise FileError(f"{path.name}: Parquet needs the package pyarrow: {install_command('pyarrow')}") from error
    return pyarrow


@contextmanager
def _csv(path: Path, temporary: Path, columns: Sequence[Column]) -> Iterator[_WriteRows]:
    """What writes rows as CSV."""

    def write(group: list[Record]) -> None:
        for record in group:
            outputs = [{"item": one.item, "format": one.format, "path": one.path} for one in record.outputs]
            writer.writerow(
                [
                    _guarded(record.file),
                    record.key,
                    *(_written(cell_of(record, column)) for column in columns),
                    *map(_as_json, (dict(record.refusals), record.remarks, outputs)),
                ]
            )

    with temporary.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        names = [_guarded(column.name) for column in columns]
        writer.writerow(["file", "key", *names, "refusals", "remarks", "outputs"])
        yield write


def _written(value: Any) -> Any:
    if isinstance(value, str):
        return _guarded(value)
    if isinstance(value, tuple):
        return _as_json([one if math.isfinite(one) else None for one in value])
    return value


def _guarded(text: str) -> str:
    return readable(f"'{text}" if text.startswith(_FORMULAS) else text)


def _as_json(value: Any) -> str:
    return readable(_ENCODER.encode(value)) if value else ""


@contextmanager
def _parquet(path: Path, temporary: Path, columns: Sequence[Column]) -> Iterator[_WriteRows]:
    """What writes rows as Parquet, a group of rows each time."""
    pyarrow = _pyarrow(path)
    text, real = pyarrow.string(), pyarrow.float64()
    types = {TEXT: text, WHOLE: pyarrow.int64(), REAL: real, LIST: pyarrow.list_(real)}
    schema = pyarrow.schema(
        [
            ("file", text),
            ("key", text),
            *(
                pyarrow.field(readable(one.name), types[one.kind], metadata={"unit": one.unit} if one.unit else None)
                for one in columns
            ),
            ("refusals", pyarrow.list_(pyarrow.struct({"item": text, "reason": text}))),
            ("remarks", pyarrow.list_(text)),
            ("outputs", pyarrow.list_(pyarrow.struct({"item": text, "format": text, "path": text}))),
        ]
    )

    def write(group: list[Record]) -> None:
        cells = [
            [readable(record.file) for record in group],
            [record.key for record in group],
            *([_stored(cell_of(record, column)) for record in group] for column in columns),
            [_structures(("item", "reason"), record.refusals.items()) for record in group],
            [[readable(remark) for remark in record.remarks] for record in group],
            [
                _structures(("item", "format", "path"), ((one.item, one.format, one.path) for one in record.outputs))
                for record in group
            ],
        ]
        arrays = [pyarrow.array(each, field.type) for each, field in zip(cells, schema, strict=True)]
        writer.write_table(pyarrow.Table.from_arrays(arrays, schema=schema))

    # a stream, since pyarrow takes names in UTF-8 only
    with temporary.open("wb") as stream, pyarrow.parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
        yield write


_WRITERS: Mapping[str, Callable[[Path, Path, Sequence[Column]], AbstractContextManager[_WriteRows]]] = {
    ".csv": _csv,
    ".parquet": _parquet,
}
"""By the ending: given the name, where to write, and the columns."""


def _stored(value: Any) -> Any:
    return readable(value) if isinstance(value, str) else value


def _structures(names: tuple[str, ...], rows: Any) -> list[dict[str, str]]:
    return [dict(zip(names, map(readable, row), strict=True)) for row in rows]
