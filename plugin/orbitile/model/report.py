"""What an analysis finds: tables that say how far they close, plots, and what there is to draw at the molecule.

A report is the same for a console, a file, a window and a viewer: each takes of it what it can show. All numbers are in
atomic units unless a column states another unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from .elements import SYMBOLS
from .geometry import Displayed
from .structure import Residue


def _nothing() -> Reals:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class Curve:
    """One curve of a plot.

    Attributes
    ----------
    name : str
        For the legend, where curves of one name are one, and of one colour; empty for none.
    x, y : ndarray, shape (n,)
    style : str
        line; filled, down to zero; sticks, from `foot`; points.
    values : ndarray, shape (n,)
        What colours points, of either sign about zero; empty for one colour.
    fields : tuple of str
        Name of the field that each of its points stands for; a click shows it. Empty for none.
    foot : float
        From where sticks stand up, or hang down.
    """

    name: str
    x: Reals
    y: Reals
    style: str = "line"
    values: Reals = field(default_factory=_nothing)
    fields: tuple[str, ...] = ()
    foot: float = 0.0


@dataclass(frozen=True)
class Plot:
    """A diagram.

    Attributes
    ----------
    name : str
        Part of the name of a file.
    title, x_label, y_label : str
        For people, units included.
    curves : tuple of Curve
        The first is drawn first.
    lines : tuple of (float, str)
        Places on the x axis that are marked, each with what it is, as the HOMO.
    x_range, y_range : tuple of float, optional
        What is shown first, from left to right and from below; all of it where not stated.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    lines: tuple[tuple[float, str], ...] = ()
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None


_SEEN = 0.95
"""Share of vectors whose arrows are in proportion to them."""
_SLENDER = 0.04
"""Radius of arrows, in units of the longest."""
_TINY = 1e-30
HEAD, WIDE = 0.66, 2.5
"""Length of the head of an arrow in bohr, and its radius in that of the line."""

Cell = str | int | float

Colour = tuple[float, float, float]
"""Red, green and blue from 0 to 1."""


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
        In small letters, as a key of JSON and the head of CSV: charge, bond_order.
    values : tuple of str, int or float
        One a row; NaN, or an empty text, where there is none.
    unit : str
        As `e bohr^-3`; empty for pure numbers.
    decimals : int
        Digits behind the point that people are shown; programs get all.
    about : str
        What it is, in a sentence.
    exponents : bool
        Whether people are shown values that are too small for these digits with an exponent; otherwise as zero.
    """

    name: str
    values: tuple[Cell, ...]
    unit: str = ""
    decimals: int = 4
    about: str = ""
    exponents: bool = True

    @property
    def title(self) -> str:
        """Its name and its unit, for people."""
        name = self.name.replace("_", " ")
        return f"{name} / {self.unit}" if self.unit else name

    def text(self, row: int) -> str:
        """What stands in a row, for people."""
        value = self.values[row]
        if not isinstance(value, float):
            return str(value)
        if not math.isfinite(value):
            return "-"
        small = self.exponents and 0 < abs(value) < 0.5 * 10.0**-self.decimals
        return (
            f"{value:.{max(self.decimals - 1, 1)}e}"
            if small
            else f"{round(value, self.decimals) + 0.0:.{self.decimals}f}"
        )


@dataclass(frozen=True)
class Closure:
    """How far a table closes: a sum over it that is known from elsewhere.

    Attributes
    ----------
    what : str
        What the sum is, as `sum of the charges`.
    found, expected : float
    unit : str
    tolerance : float
        Error above which the table is not to be trusted.
    """

    what: str
    found: float
    expected: float
    unit: str = ""
    tolerance: float = math.inf

    @property
    def error(self) -> float:
        """What was found less what was expected."""
        return self.found - self.expected

    @property
    def holds(self) -> bool:
        """Whether the error is within the tolerance."""
        return abs(self.error) <= self.tolerance

    @property
    def text(self) -> str:
        """For people, in one line."""
        unit = f" {self.unit}" if self.unit else ""
        said = f"{self.what}: {self.found:.6g}{unit}, expected {self.expected:.6g}, off by {self.error:.1e}"
        return said if self.holds else f"{said}, which is more than the tolerance of {self.tolerance:g}"


@dataclass(frozen=True)
class Table:
    """Rows of an analysis.

    Attributes
    ----------
    name : str
        As a key of JSON and part of the name of a file: atoms, bonds, critical_points.
    title : str
        For people.
    columns : tuple of Column
        All of one length.
    closures : tuple of Closure
        How far it closes; never empty where there is a sum that is known.
    atoms : tuple of tuple of int
        The atoms that each row is about, from 0; empty where rows are not about atoms.
    fields : tuple of str
        Name of the field that shows each row, as `ibo:12`; empty where rows are no fields.
    places : tuple of tuple of float
        Where each row is, in bohr; empty where rows are nowhere.
    residues : tuple of Residue
        The residue that each row is about; empty where rows are not about residues.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    closures: tuple[Closure, ...] = ()
    atoms: tuple[tuple[int, ...], ...] = ()
    fields: tuple[str, ...] = ()
    places: tuple[tuple[float, float, float], ...] = ()
    residues: tuple[Residue, ...] = ()

    def __post_init__(self) -> None:
        rows = self.atoms, self.fields, self.places, self.residues
        for what in (*(column.values for column in self.columns), *filter(len, rows)):
            if len(what) != len(self):
                raise OrbitileError(f"table {self.name}: expected {len(self)} rows in all columns, got {len(what)}")
        names = [column.name for column in self.columns]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise OrbitileError(
                f"table {self.name}: two columns are called {twice[0]!r}; give the fragment of this name another one"
            )

    def __len__(self) -> int:
        return len(self.columns[0].values)

    def column(self, name: str) -> Column:
        """The column of a name.

        Raises
        ------
        OrbitileError
            When there is none.
        """
        for column in self.columns:
            if column.name == name:
                return column
        known = ", ".join(column.name for column in self.columns)
        raise OrbitileError(f"table {self.name}: there is no column {name!r}; it has {known}")

    def __getitem__(self, name: str) -> Any:
        """The values of a column, as an array."""
        return np.array(self.column(name).values)


@dataclass(frozen=True, eq=False)
class Points:
    """Small balls at the molecule, such as critical points.

    Attributes
    ----------
    name : str
        Short, part of the name of an object of the viewer: bcp.
    positions : ndarray, shape (n, 3)
        In bohr.
    labels : tuple of str
        One each, or none at all; empty for a ball without a label.
    colour : tuple of float
    radius : float
        In bohr.
    """

    name: str
    positions: Reals
    labels: tuple[str, ...] = ()
    colour: Colour = (1.0, 0.6, 0.1)
    radius: float = 0.2


@dataclass(frozen=True, eq=False)
class Paths:
    """Lines at the molecule, such as bond paths; arrows where they have heads.

    Attributes
    ----------
    name : str
    lines : tuple of ndarray, shape (n_points, 3)
        In bohr.
    colour : tuple of float
    radius : float
        In bohr.
    heads : bool
        Whether the last point of each is the tip of an arrow.
    """

    name: str
    lines: tuple[Reals, ...]
    colour: Colour = (0.85, 0.65, 0.1)
    radius: float = 0.06
    heads: bool = False

    def drawn(self) -> list[tuple[Reals, float]]:
        """The lines as they are drawn, each with its radius.

        With heads, the last piece of each is its head, half of the line at most, and no head is wider than half its
        line, so that short arrows still point somewhere.
        """
        return [self._arrow(line) if self.heads else (line, self.radius) for line in self.lines]

    def _arrow(self, line: Reals) -> tuple[Reals, float]:
        along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
        at = along[-1] - min(HEAD, along[-1] / 2)
        neck = [np.interp(at, along, line[:, axis]) for axis in range(3)]
        cut = np.concatenate([line[:1], line[1:][along[1:] < at], [neck], line[-1:]])
        return cut, min(self.radius, float(along[-1]) / (4 * WIDE))


@dataclass(frozen=True, eq=False)
class Arrows:
    """A vector at each of some places, such as a field on a lattice; hosts draw its `paths`.

    Attributes
    ----------
    name : str
    places, vectors : ndarray, shape (n, 3)
        In bohr, and in atomic units.
    longest : float
        Length in bohr of the arrows of the longest vectors: of the twentieth part of all.
    """

    name: str
    places: Reals
    vectors: Reals
    longest: float

    def __post_init__(self) -> None:
        if self.places.shape != self.vectors.shape or self.places.shape[1:] != (3,) or not self.longest > 0:
            raise OrbitileError(
                f"arrows {self.name}: expected places and vectors of shape (n, 3) and a positive length, got "
                f"{self.places.shape}, {self.vectors.shape} and {self.longest:g}"
            )

    @property
    def largest(self) -> float:
        """Magnitude from which on vectors have the longest arrows, so that a single large one leaves others seen."""
        magnitudes = np.linalg.norm(self.vectors, axis=1)
        return float(np.quantile(magnitudes, _SEEN)) if len(magnitudes) else 0.0

    def paths(self) -> Paths:
        """Arrows with their middles at the places, as long as the vectors in proportion, up to the longest."""
        magnitudes = np.maximum(np.linalg.norm(self.vectors, axis=1), _TINY)[:, None]
        length = self.longest * np.minimum(magnitudes / max(self.largest, _TINY), 1.0)
        half = 0.5 * length * self.vectors / magnitudes
        lines = tuple(np.stack([self.places - half, self.places + half], axis=1))
        return Paths(self.name, lines, radius=_SLENDER * self.longest, heads=True)


@dataclass(frozen=True)
class AtomValues:
    """A number at each atom: a label and a colour, of either sign about zero.

    Attributes
    ----------
    name : str
        As `charge`.
    values : tuple of float
        One an atom; NaN for atoms without one.
    unit : str
    decimals : int
    """

    name: str
    values: tuple[float, ...]
    unit: str = ""
    decimals: int = 2

    @property
    def labels(self) -> tuple[str, ...]:
        """What is written at the atoms; empty at those without a value. No zero has a sign."""
        return tuple(
            f"{round(value, self.decimals) + 0.0:.{self.decimals}f}" if math.isfinite(value) else ""
            for value in self.values
        )


@dataclass(frozen=True, eq=False)
class ResidueValues:
    """A number at each of some residues around the molecule: a colour, of either sign about zero.

    Attributes
    ----------
    name : str
        As `energy`.
    residues : tuple of Residue
        Those of the largest values first.
    centres : ndarray, shape (n, 3)
        In bohr.
    values : ndarray, shape (n,)
    unit : str
    """

    name: str
    residues: tuple[Residue, ...]
    centres: Reals
    values: Reals
    unit: str = ""


@dataclass(frozen=True)
class Isosurface:
    """An isosurface that belongs to a report.

    Attributes
    ----------
    field : str
        Name of the field.
    isovalue : float, optional
        None for the usual one.
    color_by : str
        Name of the field that colours it; empty for none.
    color_range : float, optional
        Colours span minus this to plus this.
    """

    field: str
    isovalue: float | None = None
    color_by: str = ""
    color_range: float | None = None


Drawing = Points | Paths | AtomValues | ResidueValues


@dataclass(frozen=True)
class Report(Displayed):
    """All that an analysis finds.

    Attributes
    ----------
    name : str
        Of the analysis.
    title : str
        What was analysed how, in a line: `Hirshfeld charges of benzene`.
    tables : tuple of Table
    plots : tuple of Plot
    drawings : tuple of Points, Paths, AtomValues or ResidueValues
        What a viewer draws at the molecule.
    surfaces : tuple of Isosurface
        What a viewer shows with it, once the user wants it.
    remarks : tuple of str
        What the reader should know before believing it, a sentence each.
    together : bool
        Whether a window shows the first table below each plot, as its rows are the points there.
    """

    name: str
    title: str
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    surfaces: tuple[Isosurface, ...] = ()
    remarks: tuple[str, ...] = ()
    together: bool = False

    def table(self, name: str) -> Table:
        """The table of a name.

        Raises
        ------
        OrbitileError
            When there is none.
        """
        for table in self.tables:
            if table.name == name:
                return table
        known = ", ".join(table.name for table in self.tables)
        raise OrbitileError(f"report {self.name}: there is no table {name!r}; it has {known}")

    def as_dictionary(self) -> dict[str, Any]:
        """In plain types, for JSON: what cannot be a number there is null."""
        return {
            "analysis": self.name,
            "title": self.title,
            "remarks": list(self.remarks),
            "tables": {table.name: _plain(table) for table in self.tables},
        }


def _plain(table: Table) -> dict[str, Any]:
    columns = {column.name: [_json_value(value) for value in column.values] for column in table.columns}
    return {
        "title": table.title,
        "units": {column.name: column.unit for column in table.columns if column.unit},
        "columns": columns,
        "closures": [
            {"what": one.what, "found": one.found, "expected": one.expected, "error": one.error, "unit": one.unit}
            for one in table.closures
        ],
    }


def _json_value(value: Cell) -> Cell | None:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def column(
    name: str, values: Iterable[Any], unit: str = "", decimals: int = 4, about: str = "", exponents: bool = True
) -> Column:
    """A column of an array, or of any values with numbers of NumPy among them; parameters as for `Column`."""
    plain = (value.item() if isinstance(value, np.generic) else value for value in values)
    return Column(name, tuple(plain), unit, decimals, about, exponents)


def places_of(positions: Reals) -> tuple[tuple[float, float, float], ...]:
    """Places of the rows of a table, from an array of shape (n, 3) in bohr."""
    return tuple((float(x), float(y), float(z)) for x, y, z in positions)


def atom_columns(numbers: NDArray[np.int64]) -> tuple[Column, Column]:
    """The columns that tables of atoms begin with, of their atomic numbers: their number, from 1, and their element."""
    return column("atom", range(1, len(numbers) + 1)), column("element", (SYMBOLS[int(number)] for number in numbers))


def atom_names(numbers: NDArray[np.int64]) -> tuple[str, ...]:
    """Names of atoms, of their atomic numbers: C1, H2."""
    return tuple(f"{SYMBOLS[int(number)]}{n}" for n, number in enumerate(numbers, 1))
