"""The table of orbitals, as the viewer at the other end of the pipe is told of it: text for every cell."""

from __future__ import annotations

from typing import Any

from ...base.arguments import alternatives
from ...base.errors import OrbitileError
from ...model.wavefunction import Wavefunction
from ...pictures.orbitals import ENERGY_UNITS, EnergyUnit, Level, Levels, columns_of, conditions_of, field_of


def energy_unit(name: str) -> EnergyUnit:
    """A unit of energies by its name.

    Raises
    ------
    OrbitileError
        When there is none of this name.
    """
    if name not in ENERGY_UNITS:
        raise OrbitileError(f"unit of energies: expected {alternatives(list(ENERGY_UNITS))}, got {name[:80]!r}")
    return ENERGY_UNITS[name]


def table_of(wavefunction: Wavefunction, levels: Levels, unit: EnergyUnit, words: str = "") -> dict[str, Any]:
    """Columns and rows, an orbital a row, those of beta spin after those of alpha spin.

    Parameters
    ----------
    wavefunction : Wavefunction
    levels : list
        Its orbitals.
    unit : EnergyUnit
        Of the energies.
    words : str
        Of a filter, which the rows pass; see `orbitile.pictures.orbitals`.
    """
    every = [level for those in levels for level in those]
    shown = columns_of([every], unit)
    columns = [{"what": column.what, "title": column.title, "help": column.tip} for column in shown]
    if len(levels) > 1:
        columns.insert(1, {"what": "spin", "title": "spin", "help": "Spin of the orbital"})
    rows = []
    for level in passing(levels, unit, words):
        cells = [column.text(level) for column in shown]
        if len(levels) > 1:
            cells.insert(1, level.spin)
        kind = "frontier" if level.mark else "occupied" if level.occupied else "virtual"
        rows.append({"field": field_of(wavefunction, level), "kind": kind, "cells": cells})
    return {"columns": columns, "rows": rows}


def passing(levels: Levels, unit: EnergyUnit, words: str) -> list[Level]:
    """Orbitals that are all that the words of a filter say."""
    conditions = conditions_of(words, unit)
    return [level for those in levels for level in those if all(condition(level) for condition in conditions)]
