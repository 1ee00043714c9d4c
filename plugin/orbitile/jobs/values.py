"""Numbers of a row: what is cheap to know of every wavefunction, and what reports and surfaces say."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from ..analysis._quadrature import analytic_moments
from ..analysis.surface_statistics import customary_unit, measured_surface
from ..base.errors import OrbitileError
from ..evaluation.points import evaluate
from ..fields import Field
from ..fields._frontier import frontier_order
from ..fields.density import density_of
from ..gaussians.orthonormality import orthonormality_error
from ..model.geometry import formula
from ..model.report import Closure, Column, Report, Table
from ..model.units import angstrom, debye, electronvolt
from ..model.wavefunction import Wavefunction
from .table import Cell

_MOST_FOR_DIPOLE = 1500
"""Basis functions up to which the dipole moment is had for next to nothing."""


def values_of(wavefunction: Wavefunction) -> dict[str, Cell]:
    """What every row has: composition, level of theory, frontier orbitals, dipole moment, orthonormality."""
    values: dict[str, Cell] = {
        "formula": formula(wavefunction),
        "atoms": int(wavefunction.n_atoms - wavefunction.is_ghost.sum()),
        "electrons": _tidy(wavefunction.n_electrons),
        "charge": _tidy(wavefunction.charge),
    }
    if wavefunction.multiplicity is not None:
        values["multiplicity"] = wavefunction.multiplicity
    values |= {
        "program": wavefunction.program,
        "method": wavefunction.method,
        "kind": wavefunction.kind,
        "basis_functions": wavefunction.n_basis,
        "orbitals": len(wavefunction.alpha) + (0 if wavefunction.beta is None else len(wavefunction.beta)),
    }
    if wavefunction.stated.energy is not None:
        values["energy_hartree"] = wavefunction.stated.energy
    values |= _frontier(wavefunction)
    if wavefunction.n_basis <= _MOST_FOR_DIPOLE:
        try:
            moments = analytic_moments(wavefunction, density_of(wavefunction))
            values["dipole_debye"] = float(np.linalg.norm(moments.dipole)) / debye
        except OrbitileError:  # a cell, or orbitals without a density: this row has none
            pass
    error = orthonormality_error(wavefunction)
    if error is not None:
        values["orthonormality_error"] = error
    return _finite(values)


def _tidy(number: float) -> float:
    """A number of electrons without the last digits, in which sums of occupations differ."""
    return round(number, 6) + 0.0


def _frontier(wavefunction: Wavefunction) -> dict[str, Cell]:
    """Energies of HOMO and LUMO and their gap: of each spin where there are two, and of both together."""
    if wavefunction.promolecule or (wavefunction.natural and not any(wavefunction.alpha.labels)):
        return {}  # orbitals without energies
    found: dict[str, Cell] = {}
    ends: list[tuple[float, float]] = []
    for spin in wavefunction.spins:
        occupied, unoccupied = frontier_order(wavefunction, spin)
        energies = wavefunction.orbitals(spin).energies / electronvolt
        if not np.all(np.isfinite(energies)) or not np.any(energies):
            return {}
        homo = float(energies[occupied[-1]]) if occupied else -math.inf
        lumo = float(energies[unoccupied[0]]) if unoccupied else math.inf
        ends.append((homo, lumo))
        if wavefunction.beta is not None:
            found |= {f"homo_{spin}_eV": homo, f"lumo_{spin}_eV": lumo, f"gap_{spin}_eV": lumo - homo}
    homo, lumo = max(homo for homo, _ in ends), min(lumo for _, lumo in ends)
    return {"homo_eV": homo, "lumo_eV": lumo, "gap_eV": lumo - homo, **found}


def values_of_surface(
    name: str, wavefunction: Wavefunction, field: Field, isovalue: float, colour: Field, device: str | None
) -> dict[str, Cell]:
    """Area and volume of an isosurface, and the statistics of a field on it; see `analysis.surface_statistics`.

    The surface is not that of a picture, whose lattice is chosen for the eye.
    """
    measured = measured_surface(wavefunction, field, isovalue, device=device)
    values = evaluate(wavefunction, colour, measured.points, device=device).astype(np.float64)
    s = measured.statistics(values)
    customary, factor = customary_unit(colour.unit)
    unit = _unit(customary) if customary != colour.unit else ""
    head, square = _name(name), f"{unit}2" if unit else ""
    row: dict[str, Cell] = {
        _joined(head, "area", "angstrom2"): s.area / angstrom**2,
        _joined(head, "volume", "angstrom3"): measured.volume / angstrom**3,
        _joined(head, "positive_area", "angstrom2"): s.positive_area / angstrom**2,
        _joined(head, "negative_area", "angstrom2"): s.negative_area / angstrom**2,
    }
    for what in ("least", "most", "mean", "positive_mean", "negative_mean", "deviation"):
        row[_joined(head, what, unit)] = factor * getattr(s, what)
    for what in ("positive_variance", "negative_variance", "total_variance"):
        row[_joined(head, what, square)] = factor**2 * getattr(s, what)
    row[_joined(head, "balance")] = s.balance
    row[_joined(head, "volume_closure_error", "angstrom3")] = (measured.volume_by_flux - measured.volume) / angstrom**3
    return _finite(row)


def values_of_report(name: str, report: Report) -> dict[str, Cell]:
    """What a report says in numbers that fit into a row: one a quantity, one an atom, and how far its tables close."""
    head = _name(name)
    row: dict[str, Cell] = {}
    for table in report.tables:
        row |= dict(_of_quantities(head, table))
        row |= dict(_of_atoms(head, table))
    closures = [closure for table in report.tables for closure in table.closures]
    if closures:
        worst = max(closures, key=_severity)
        row |= {
            _joined(head, "closure"): worst.what,
            _joined(head, "closure_error"): worst.error,
            _joined(head, "closures_hold"): int(all(closure.holds for closure in closures)),
        }
    return _finite(row)


def _of_quantities(head: str, table: Table) -> Iterator[tuple[str, Cell]]:
    """Tables of one quantity a row, each with its unit."""
    columns = {column.name: column for column in table.columns}
    for value, unit in (("customary", "customary_unit"), ("value", "unit")):
        if {"quantity", value, unit} <= columns.keys():
            rows = zip(columns["quantity"].values, columns[value].values, columns[unit].values, strict=True)
            for quantity, number, of in rows:
                yield _joined(head, _name(table.name), _name(str(quantity)), _unit(str(of))), number
            return


def _of_atoms(head: str, table: Table) -> Iterator[tuple[str, Cell]]:
    """Columns of real numbers in tables of one atom a row."""
    if not table.atoms or any(atoms != (n,) for n, atoms in enumerate(table.atoms)):
        return
    for column in table.columns:
        if _is_real(column):
            numbers = tuple(float(value) for value in column.values)
            yield _joined(head, _name(column.name), _unit(column.unit)), numbers


def _is_real(column: Column) -> bool:
    return any(isinstance(value, float) for value in column.values) and not any(
        isinstance(value, str) for value in column.values
    )


def _severity(closure: Closure) -> tuple[float, float]:
    """How bad the error of a closure is: in its tolerance, where it has one."""
    error = abs(closure.error)
    return (error / closure.tolerance if 0 < closure.tolerance < math.inf else 0.0), error


_UNITS = {"Angstrom": "angstrom", "Angstrom^2": "angstrom2", "Angstrom^3": "angstrom3", "kcal/mol": "kcal_per_mol"}


def _unit(text: str) -> str:
    return _UNITS.get(text, _name(text))


def _name(text: str) -> str:
    """Part of the name of a column: letters, digits and underscores."""
    return re.sub(r"\W+", "_", text).strip("_")


def _joined(*parts: str) -> str:
    return "_".join(part for part in parts if part)


def _finite(row: dict[str, Cell]) -> dict[str, Cell]:
    """The row without what is no number."""
    return {name: value for name, value in row.items() if not isinstance(value, float) or math.isfinite(value)}
