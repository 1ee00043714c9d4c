"""What a batch knows of its files: a record each, and all of them as a table.

Names, types and units of columns are found from the records themselves. Tables are Parquet for programs, and CSV for
people and for programs that know no other format.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from ..base.packages import install_command
from ..files.reading import readable
from ..files.writing import written_atomically

Cell = str | int | float | tuple[float, ...]
"""A value in a row; one number an atom as a tuple."""


@dataclass(frozen=True)
class Output:
    """A file that was written.

    Attributes
    ----------
    item : str
        What was asked for, as the user wrote it: `homo`, `density+esp`, `charges`.
    format : str
        png, mesh, volume, json, ...
    path : str
        Relative to the folder of the batch, with slashes.
    """

    item: str
    format: str
    path: str


@dataclass(frozen=True)
class Record:
    """One row: what was found in a file, what was written of it, and what was refused.

    Attributes
    ----------
    file : str
        As the user named it.
    key : str
        Hexadecimal digest of the content of the file and of all that was asked, so that the same is not done twice.
    values : mapping
        By name of the column, which ends in its unit where it has one: `homo_eV`. Names are the same for all files;
        a file may lack some.
    outputs : tuple of Output
    refusals : mapping
        Why something was not done, by what was asked for; of the whole file, by the empty text.
    remarks : tuple of str
        What is odd about the file.
    seconds : float
        That it took, on the clock of its worker.
    """

    file: str
    key: str
    values: Mapping[str, Cell] = field(default_factory=dict)
    outputs: tuple[Output, ...] = ()
    refusals: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    seconds: float = 0.0


TEXT, WHOLE, REAL, LIST = "text", "whole", "real", "list"

UNITS = {
    "eV": "eV",
    "eV2": "eV²",
    "hartree": "hartree",
    "bohr": "bohr",
    "bohr2": "bohr²",
    "bohr3": "bohr³",
    "angstrom": "Å",
    "angstrom2": "Å²",
    "angstrom3": "Å³",
    "debye": "debye",
    "e": "e",
    "kcal_per_mol": "kcal/mol",
    "kcal_per_mol2": "(kcal/mol)²",
    "percent": "%",
    "seconds": "s",
}
"""Units for people, by how the name of a column ends after an underscore."""

_WHOLE = range(-(2**63), 2**63)


@dataclass(frozen=True)
class Column:
    """One value of each record.

    Attributes
    ----------
    name : str
        In `Record.values`.
    kind : str
        text, whole (of 64 bits), real or list (of real numbers); text where records disagree.
    """

    name: str
    kind: str

    @property
    def unit(self) -> str:
        """For people, empty for none."""
        return UNITS[self._ending] if self._ending else ""

    @property
    def heading(self) -> str:
        """The name without its unit, for people."""
        return self.name.removesuffix(f"_{self._ending}").replace("_", " ")

    @property
    def _ending(self) -> str:
        return max((unit for unit in UNITS if self.name.endswith(f"_{unit}")), key=len, default="")


def columns_of(records: Collection[Record]) -> list[Column]:
    """Columns that at least one record has, in the order of the records: a new one stands behind its neighbour."""
    kinds: dict[str, str] = {}
    order: list[str] = []
    seen = set()
    for record in records:
        shape = tuple((name, _kind(value)) for name, value in record.values.items())
        if shape in seen:
            continue
        seen.add(shape)
        before = -1
        for name, kind in shape:
            known = kinds.get(name)
            if known is None:
                order.insert(before + 1, name)
                kinds[name] = kind
            elif kind != known:
                kinds[name] = REAL if {kind, known} == {WHOLE, REAL} else TEXT
            before = order.index(name)
    return [Column(name, kinds[name]) for name in order]


def _kind(value: Cell) -> str:
    if isinstance(value, str):
        return TEXT
    if isinstance(value, int):
        return WHOLE if value in _WHOLE else REAL
    return REAL if isinstance(value, float) else LIST


def cell_of(record: Record, column: Column) -> Cell | None:
    """What stands in a column, of the column's type; None where there is nothing, and for what is not a number."""
    value = record.values.get(column.name)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if column.kind == REAL:
        return _real(value)
    if column.kind == TEXT:
        return value if isinstance(value, str) else str(value)
    return value


def _real(value: Cell) -> float | None:
    try:
        return float(value)  # type: ignore[arg-type]  # columns of real numbers have nothing else
    except OverflowError:
        return None


_WriteRows = Callable[[list[Record]], None]

NAMES = ("table.csv", "table.parquet")
"""Tables in the folder of a batch."""

_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "'")
"""How text begins that spreadsheets would run, and the apostrophe, which they put before text."""

_ENCODER = json.JSONEncoder(ensure_ascii=False)

_GROUP = 16_384
"""Rows of a table that are in memory at once."""


def write_tables(records: Collection[Record], folder: Path, columns: Sequence[Column]) -> str:
    """Write both tables of a batch, a row for each record, each whole or not at all.

    Columns are `file`, `key`, the given ones, `refusals`, `remarks` and `outputs`. Nothing in it depends on when, where
    or how fast it was computed: equal records give equal bytes.

    - CSV is RFC 4180 in UTF-8: numbers have all digits, missing ones are empty; lists are JSON; text that a spreadsheet
      would take for a formula has an apostrophe before it, as has text that begins with one.
    - Parquet is compressed by zstd: columns are typed, units stand in the metadata of the columns, and refusals are
      pairs of `item` and `reason`.

    Parameters
    ----------
    records
        Gone through once.
    folder
        Of the batch.
    columns
        Those of the records, from `columns_of`.

    Returns
    -------
    str
        Why there is no Parquet, in a line, where pyarrow is not installed; otherwise empty.

    Raises
    ------
    FileError
        When a file cannot be written.
    """
    writers, missing = dict(zip(NAMES, (_csv, _parquet), strict=True)), ""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        del writers[NAMES[1]]
        missing = f"{NAMES[1]}: Parquet needs the package pyarrow: {install_command('pyarrow')}"
    with ExitStack() as stack:
        write_rows = []
        for name, writer in writers.items():
            temporary = stack.enter_context(written_atomically(folder / name))
            write_rows.append(stack.enter_context(writer(temporary, columns)))
        remaining = iter(records)
        while group := list(islice(remaining, _GROUP)):
            for write in write_rows:
                write(group)
    return missing


@contextmanager
def _csv(temporary: Path, columns: Sequence[Column]) -> Iterator[_WriteRows]:
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
def _parquet(temporary: Path, columns: Sequence[Column]) -> Iterator[_WriteRows]:
    """What writes rows as Parquet, a group of rows each time."""
    import pyarrow.parquet

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


def _stored(value: Any) -> Any:
    return readable(value) if isinstance(value, str) else value


def _structures(names: tuple[str, ...], rows: Any) -> list[dict[str, str]]:
    return [dict(zip(names, map(readable, row), strict=True)) for row in rows]
