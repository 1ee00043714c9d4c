"""Reports for people, as text, and for programs, as CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from ..base.errors import FileError
from ..files.writing import checked_target, written_atomically
from ..model.report import Column, Plot, Report, Table


def as_text(report: Report, rows: int | None = None) -> str:
    """All tables of a report, each with its closure; of long ones the first rows, where a number of them is given."""
    parts = [report.title, *(_table(table, rows) for table in report.tables)]
    parts += [f"note: {remark}" for remark in report.remarks]
    return "\n\n".join(parts)


_WIDEST = 116
"""Letters of a line; a wider table goes on below itself, with the columns again that say what its rows are."""


def _table(table: Table, most: int | None) -> str:
    n = len(table) if most is None else min(most, len(table))
    columns = [_lines(column, n) for column in table.columns]
    n_keys = next((at for at, column in enumerate(table.columns) if _holds(column, float)), len(columns))
    keys, others = columns[:n_keys], columns[n_keys:]
    room = _WIDEST - sum(len(key[0]) + 2 for key in keys)
    blocks: list[list[list[str]]] = [[]]
    for column in others:
        if blocks[-1] and sum(len(one[0]) + 2 for one in (*blocks[-1], column)) > room:
            blocks.append([])
        blocks[-1].append(column)
    lines = [
        "  ".join(parts).rstrip()
        for block in blocks
        for parts in zip(*keys, *block, strict=True)
        if "".join(parts).strip()
    ]
    more = [f"... and {len(table) - n} more"] if n < len(table) else []
    return "\n".join([f"{table.title}:", *(f"  {line}" for line in (*lines, *more, *_closures(table)))])


def _lines(column: Column, n: int) -> list[str]:
    """A column, all of one width: its name, its unit, and the first n of its values."""
    cells = [column.name.replace("_", " "), column.unit, *(column.text(row) for row in range(n))]
    width = max(map(len, cells))
    return [cell.ljust(width) if _holds(column, str) else cell.rjust(width) for cell in cells]


def _holds(column: Column, kind: type) -> bool:
    return bool(column.values) and isinstance(column.values[0], kind)


def _closures(table: Table) -> list[str]:
    return [closure.text for closure in table.closures]


def as_csv(table: Table) -> str:
    """A table as CSV, a head of names first; numbers with all their digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(column.name for column in table.columns)
    writer.writerows(zip(*(column.values for column in table.columns), strict=True))
    return text.getvalue()


def plot_as_csv(plot: Plot) -> str:
    """A plot as CSV, a point a row: its curve, its place, and the field that it stands for where there is one."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("curve", "x", "y", "field"))
    for curve in plot.curves:
        fields = curve.fields or ("",) * len(curve.x)
        names = (curve.name,) * len(curve.x)
        writer.writerows(zip(names, curve.x.tolist(), curve.y.tolist(), fields, strict=True))
    return text.getvalue()


def as_json(report: Report) -> str:
    """A report as one JSON object; plots are in files of their own, see `write_tables`."""
    return json.dumps(report.as_dictionary(), indent=1, allow_nan=False)


def check_tables(path: str | Path) -> Path:
    """The path of tables, if they can be written there, before what is in them is computed.

    Raises
    ------
    FileError
        When the ending is neither .json nor .csv, or there is no such folder.
    """
    target = Path(path)
    if target.suffix.lower() not in (".json", ".csv"):
        raise FileError(f"{target.name}: expected tables to end in .csv or .json")
    checked_target(target)
    return target


def write_tables(report: Report, path: str | Path) -> list[Path]:
    """Write all tables of a report, as JSON into one file, or as CSV into a file each.

    Parameters
    ----------
    report
    path
        Ends in .json or .csv. As CSV the curves of plots are written too; of several files each has the name of its
        table or plot behind that of the path.

    Returns
    -------
    list of Path
        What was written.

    Raises
    ------
    FileError
        When the ending is another one, or a file cannot be written.
    """
    target = check_tables(path)
    if target.suffix.lower() == ".json":
        texts = {target: as_json(report) + "\n"}
    else:
        named = {table.name: as_csv(table) for table in report.tables}
        named |= {plot.name: plot_as_csv(plot) for plot in report.plots}
        texts = {
            target.with_name(f"{target.stem}-{name}.csv") if len(named) > 1 else target: text
            for name, text in named.items()
        }
    for file, text in texts.items():
        with written_atomically(file) as unfinished:
            unfinished.write_text(text, encoding="utf-8", newline="")
    return list(texts)
