"""What columns many records have: names, types and units, found from the records themselves."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

from .record import Cell, Record

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


def readable(text: str) -> str:
    """Text that is valid Unicode: bytes in names of files that are not UTF-8 are written as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
