"""Surfaces as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arguments import FRAGMENTS, POSITIVE_NUMBER, TEXT, Argument
from ...base.arrays import Reals
from ...base.watch import stage
from ...fields import Field
from ...model.elements import SYMBOLS
from ...model.report import Closure, Column, Drawing, Isosurface, Points, Report, Table, atom_columns, column
from ...model.units import angstrom
from ...model.wavefunction import Wavefunction
from . import takes_long

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

    from ..surface_statistics import Extremum, MeasuredSurface, Statistics


TITLE = "Surface of the molecule in numbers"
HELP = "area, volume, and statistics and extrema of the potential and other fields on an isosurface"
GROUP = "Surfaces"
PRIORITY = 80
PARAMETERS = (
    Argument(
        "fields",
        TEXT,
        "fields on the surface, separated by commas or semicolons",
        "",
        "esp,ionisation",
        completes="fields",
    ),
    Argument("fragments", FRAGMENTS, "groups of atoms, such as ring=1-6; rest=7-12", (), "none"),
    Argument("surface", TEXT, "field whose isosurface is analysed", "density", "density", completes="fields"),
    Argument("isovalue", POSITIVE_NUMBER, "isovalue of that surface in atomic units", None, "0.001 for the density"),
    Argument("spacing", POSITIVE_NUMBER, "lattice spacing in Angstrom", None, "0.25 for the density, else 0.125"),
)
EXAMPLES = ("orb_surface", "orb_surface fields=esp, isovalue=0.002", "orb_surface fragments=ring=1-6; rest=7-12")

_COARSER = 1.5
"""Spacing of the second lattice, whose results tell the error, in that of the first."""

_CONSTANT = 1e-4
"""Differences in units of the largest magnitude that are rounding, as about an atom that is round."""

_ROUNDING = 1e-4
"""Values of one sign in units of the largest of the other one that are rounding: the field has one sign."""

_CLOSES = 2e-3
"""Share of the volume by which its two values may differ."""

_MAXIMUM, _MINIMUM = (0.84, 0.37, 0.0), (0.0, 0.45, 0.7)
"""Colours of extrema, which all eyes tell apart."""

_SECONDS_AN_ATOM, _USUAL_BASIS = 0.15, 8
"""On two cores, with so many basis functions an atom or fewer."""

_NATURAL = "esp", "ionisation"
"""What is looked at where no fields are named."""


def warning(wavefunction: Wavefunction, **parameters: Any) -> str:
    """That a large molecule takes long."""
    functions = max(1.0, wavefunction.n_basis / wavefunction.n_atoms / _USUAL_BASIS)
    seconds = _SECONDS_AN_ATOM * wavefunction.n_atoms * functions**2 * (0.25 / _spacing(**parameters)) ** 2
    return takes_long(f"the surface of {wavefunction.n_atoms} atoms takes", seconds)


def _spacing(surface: str, spacing: float | None, **others: Any) -> float:
    """In Angstrom: surfaces of orbitals and differences are bent more than that of a molecule."""
    return spacing or (0.25 if surface.strip().lower() == "density" else 0.125)


@dataclass(frozen=True, eq=False)
class _OnSurface:
    """A field on the surface, on a coarser one, and where it is extreme."""

    name: str
    field: Field
    values: Reals
    statistics: Statistics
    coarser: Statistics
    extrema: list[Extremum]

    @property
    def customary(self) -> tuple[str, float]:
        """The unit that chemists give it in, and what values are multiplied by."""
        from ..surface_statistics import customary_unit

        return customary_unit(self.field.unit)


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """A surface in numbers; parameters as stated, see `orbitile.analysis.surface_statistics`."""
    from ...evaluation.default_isovalue import default_isovalue
    from ...evaluation.requests import field_of
    from ..surface_statistics import measured_surface, shares_of_atoms

    shown = field_of(wavefunction, parameters["surface"])
    isovalue = parameters["isovalue"] or default_isovalue(wavefunction, shown, coloured=True, device=device)
    spacing = _spacing(**parameters) * angstrom
    names, remarks = _fields(wavefunction, parameters["fields"])
    with stage(0.0, 0.4):
        fine = measured_surface(wavefunction, shown, isovalue, spacing=spacing, device=device)
    with stage(0.4, 0.6):
        coarse = measured_surface(wavefunction, shown, isovalue, spacing=_COARSER * spacing, device=device)
    found = []
    for n, name in enumerate(names):
        with stage(0.6 + 0.4 * n / len(names), 0.6 + 0.4 * (n + 1) / len(names)):
            found.append(_on_surface(wavefunction, shown, name, fine, coarse, device))
    shares = shares_of_atoms(wavefunction, fine)
    tables = [_geometry(fine, coarse)]
    tables += [_statistics(one) for one in found]
    tables += [_extrema(wavefunction, one) for one in found]
    if parameters["fragments"]:
        tables.append(_fragments(wavefunction, fine, found, shares, parameters["fragments"]))
    tables.append(_atoms(wavefunction, fine, found, shares))
    return Report(
        "surface",
        f"Surface where the {shown.quantity} is {isovalue:g} {shown.unit}",
        tuple(tables),
        drawings=tuple(drawing for one in found for drawing in _drawings(one)),
        surfaces=tuple(Isosurface(parameters["surface"], isovalue, name) for name in names),
        remarks=(*remarks, *map(_constant, (one for one in found if not one.extrema)), *_remarks(fine)),
    )


def _on_surface(
    wavefunction: Wavefunction,
    shown: Field,
    name: str,
    fine: MeasuredSurface,
    coarse: MeasuredSurface,
    device: str | None,
) -> _OnSurface:
    """Statistics of a field on both surfaces, and its extrema on the finer one."""
    from ...evaluation.points import evaluate
    from ...evaluation.requests import field_of
    from ..surface_statistics import extrema, with_values

    field = field_of(wavefunction, name)
    values, less = (evaluate(wavefunction, field, of.points, device=device).astype(float) for of in (fine, coarse))
    places: list[Extremum] = []
    if np.ptp(values) > _CONSTANT * np.abs(values).max():
        places = extrema(with_values(fine, values, field), wavefunction, shown, field, device=device)
    return _OnSurface(name, field, values, fine.statistics(values), coarse.statistics(less), places)


def _fields(wavefunction: Wavefunction, text: str) -> tuple[list[str], list[str]]:
    """Names of the fields that are wanted, and why one that usually is among them is not."""
    from ...fields.ionisation import unavailable

    between = ";" if ";" in text else ","  # names such as difference:FILE,FILE have commas of their own
    names = list(dict.fromkeys(name.strip() for name in text.split(between) if name.strip()))
    if names:
        return names, []
    missing = unavailable(wavefunction)
    named = [name for name in _NATURAL if name not in missing]
    return named, [f"without {name}: {reason}" for name, reason in missing.items()]


def _geometry(fine: MeasuredSurface, coarse: MeasuredSurface) -> Table:
    errors = (abs(fine.area - coarse.area), abs(fine.volume - coarse.volume))
    columns = (
        column("quantity", ("area", "volume")),
        column("value", (fine.area, fine.volume)),
        column("error", errors, about="difference from that on a lattice 1.5 times as coarse"),
        column("unit", ("bohr^2", "bohr^3")),
        column("customary", (fine.area / angstrom**2, fine.volume / angstrom**3), "", 3),
        column("customary_unit", ("Angstrom^2", "Angstrom^3")),
    )
    what = "volume by the flux of the position vector, with normals from the gradient"
    by_flux = Closure(what, fine.volume_by_flux, fine.volume, "bohr^3", _CLOSES * abs(fine.volume))
    closed = Closure("vector area, 0 for a closed surface", fine.vector_area, 0.0, "bohr^2", _CLOSES * fine.area)
    return Table("surface", "The surface", columns, (by_flux, closed))


def _statistics(one: _OnSurface) -> Table:
    """A quantity a row: of a field of one sign those that make sense for it."""
    unit, customary, factor = one.field.unit, *one.customary
    both = min(-one.statistics.least, one.statistics.most) > _ROUNDING * max(-one.statistics.least, one.statistics.most)
    names, attributes, powers, _ = zip(*(row for row in _QUANTITIES if both or not row[3]), strict=True)
    values, coarser = ([float(getattr(of, name)) for name in attributes] for of in (one.statistics, one.coarser))
    units = {-2: ("bohr^2", "Angstrom^2"), 0: ("", ""), 1: (unit, customary), 2: (_squared(unit), _squared(customary))}
    factors = {-2: angstrom**-2, **{power: factor**power for power in (0, 1, 2)}}
    columns = (
        column("quantity", names),
        column("value", values, "", 6),
        column("error", (abs(a - b) for a, b in zip(values, coarser, strict=True)), "", 6),
        column("unit", (units[power][0] for power in powers)),
        column("customary", (value * factors[power] for value, power in zip(values, powers, strict=True)), "", 3),
        column("customary_unit", (units[power][1] for power in powers)),
    )
    s = one.statistics
    by_sign = s.positive_area + s.negative_area
    parts = Closure("sum of the areas where it is positive and negative", by_sign, s.area, "bohr^2", _CLOSES * s.area)
    return Table(_table_name(one.name), f"{one.field.quantity[:1].upper()}{one.field.quantity[1:]}", columns, (parts,))


_QUANTITIES = (
    ("mean", "mean", 1, False),
    ("least", "least", 1, False),
    ("most", "most", 1, False),
    ("average deviation Pi", "deviation", 1, False),
    ("variance", "variance", 2, False),
    ("mean of positive values", "positive_mean", 1, True),
    ("mean of negative values", "negative_mean", 1, True),
    ("positive variance", "positive_variance", 2, True),
    ("negative variance", "negative_variance", 2, True),
    ("total variance", "total_variance", 2, True),
    ("balance nu", "balance", 0, True),
    ("positive area", "positive_area", -2, True),
    ("negative area", "negative_area", -2, True),
)
"""Name, attribute of `Statistics`, power of the unit of the field or -2 for an area, whether it is of both signs."""


def _squared(unit: str) -> str:
    return f"{unit}^2" if unit.isalpha() else f"({unit})^2"


def _table_name(field: str) -> str:
    """A field's name as part of the name of a file."""
    return "".join(letter if letter.isalnum() else "_" for letter in field)


def _extrema(wavefunction: Wavefunction, one: _OnSurface) -> Table:
    unit, factor = one.customary
    atoms = [extremum.atom for extremum in one.extrema]
    places = tuple(extremum.position for extremum in one.extrema)
    columns = (
        column("kind", (extremum.kind for extremum in one.extrema)),
        column("value", (extremum.value * factor for extremum in one.extrema), unit, 3),
        column("atom", (atom + 1 for atom in atoms), about="nearest atom"),
        column("element", (SYMBOLS[wavefunction.atomic_numbers[atom]] for atom in atoms)),
        *(
            column(axis, (place[n] / angstrom for place in places), "Angstrom", 3, exponents=False)
            for n, axis in enumerate("xyz")
        ),
    )
    name, title = f"extrema_{_table_name(one.name)}", f"Extrema of the {one.field.quantity}"
    return Table(name, title, columns, atoms=tuple((atom,) for atom in atoms), places=places)


def _atoms(wavefunction: Wavefunction, fine: MeasuredSurface, found: Sequence[_OnSurface], shares: Any) -> Table:
    atoms = tuple((n,) for n in range(wavefunction.n_atoms))
    heads = atom_columns(wavefunction.atomic_numbers)
    return _by_groups("atoms", "By atoms", heads, fine, found, shares, atoms)


def _fragments(
    wavefunction: Wavefunction, fine: MeasuredSurface, found: Sequence[_OnSurface], shares: Any, fragments: Any
) -> Table:
    from ..composition import groups_of_atoms

    names, labels = groups_of_atoms(wavefunction.n_atoms, fragments)
    atoms = tuple(tuple((labels == n).nonzero()[0].tolist()) for n in range(len(names)))
    return _by_groups("fragments", "By fragments", (column("fragment", names),), fine, found, shares, atoms)


def _by_groups(
    name: str,
    title: str,
    heads: tuple[Column, ...],
    fine: MeasuredSurface,
    found: Sequence[_OnSurface],
    shares: csr_matrix,
    atoms: tuple[tuple[int, ...], ...],
) -> Table:
    """A group of atoms a row: its part of the surface, and the fields on that."""
    from ..surface_statistics import statistics_of

    by_atom = shares.tocsc()
    parts = []
    for group in atoms:
        inside = np.asarray(by_atom[:, list(group)].sum(axis=1)).ravel()
        there = inside.nonzero()[0]
        parts.append((there, fine.weights[there] * inside[there], there[inside[there] > 0.5]))
    areas = [float(weights.sum()) / angstrom**2 for _, weights, _ in parts]
    whole = fine.area / angstrom**2
    columns = [*heads, column("area", areas, "Angstrom^2", 3), column("share", (area / whole for area in areas))]
    for one in found:
        unit, factor = one.customary
        means = [statistics_of(weights, one.values[there]).mean for there, weights, _ in parts]
        ends = [
            (min(of), max(of)) if len(of) else (np.nan, np.nan) for of in (one.values[mainly] for *_, mainly in parts)
        ]
        for what, values in zip(("mean", "least", "most"), (means, *zip(*ends, strict=True)), strict=True):
            columns.append(column(f"{_table_name(one.name)}_{what}", (factor * value for value in values), unit, 2))
    closure = Closure("sum of the areas", sum(areas), whole, "Angstrom^2", 1e-6 * whole)
    return Table(name, title, tuple(columns), (closure,), atoms)


def _drawings(one: _OnSurface) -> list[Drawing]:
    """Extrema as balls, each with its value."""
    _, factor = one.customary
    drawings: list[Drawing] = []
    for kind, colour in (("maximum", _MAXIMUM), ("minimum", _MINIMUM)):
        places = [extremum for extremum in one.extrema if extremum.kind == kind]
        if places:
            positions = np.array([extremum.position for extremum in places])
            labels = tuple(f"{extremum.value * factor:.1f}" for extremum in places)
            drawings.append(Points(f"{_table_name(one.name)}_{kind}", positions, labels, colour))
    return drawings


def _constant(one: _OnSurface) -> str:
    return f"the {one.field.quantity} is the same everywhere on the surface: it has no extrema there"


def _remarks(fine: MeasuredSurface) -> list[str]:
    remarks = [
        "errors are the differences from a lattice 1.5 times as coarse, where area and volume have errors "
        "five times as "
        "large, other values twice as large or more"
    ]
    remarks.append("each point of the surface is assigned to the atom whose covalent sphere is nearest")
    if fine.n_lost:
        remarks.append(
            f"{fine.n_lost} of {len(fine.points)} points could not be moved onto the surface: choose a smaller spacing"
        )
    if not fine.is_whole:
        remarks.append("the surface leaves the lattice: area and volume are those of a part of it")
    return remarks
