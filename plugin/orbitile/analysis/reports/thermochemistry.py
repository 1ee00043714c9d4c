"""Thermochemistry: enthalpy, entropy and free energy of an ideal gas from its vibrations."""

from __future__ import annotations

import numpy as np

from ...base.arguments import COUNT, POSITIVE_NUMBER, Argument, one_of
from ...model.report import Report, Table, column
from ...model.units import kilocalorie_per_mole
from ...model.vibrations import Vibrations
from ..thermochemistry import LOW_MODES, Thermochemistry, thermochemistry

TITLE = "Thermochemistry"
HELP = "enthalpy, entropy and free energy of an ideal gas from vibrations"
KIND = "vibrations"
GROUP = "Vibrations"
PRIORITY = 57
PARAMETERS = (
    Argument("temperature", POSITIVE_NUMBER, "in K", 298.15, "298.15"),
    Argument("pressure", POSITIVE_NUMBER, "in bar; 1.01325 is one atmosphere", 1.01325, "1.01325"),
    Argument("symmetry_number", COUNT, "rotations that map the molecule onto itself", 0, "found"),
    Argument("multiplicity", COUNT, "of the electrons", 0, "that of the file, else 1"),
    Argument(
        "low_modes",
        one_of(*LOW_MODES),
        "how modes below 100 cm^-1 are treated: as all others; with the entropy of a free rotor; as if at 100 cm^-1",
        LOW_MODES[0],
        LOW_MODES[0],
    ),
    Argument("scale", POSITIVE_NUMBER, "factor for all wavenumbers", 1.0, "1"),
)
EXAMPLES = ("orb_thermochemistry", "orb_thermochemistry temperature=350, low_modes=grimme")


def report(
    vibrations: Vibrations,
    *,
    device: str | None = None,
    temperature: float,
    pressure: float,
    symmetry_number: int,
    multiplicity: int,
    low_modes: str,
    scale: float,
) -> Report:
    """Contributions and sums; parameters as of `orbitile.analysis.thermochemistry`, but for the pressure in bar."""
    found = thermochemistry(
        vibrations,
        temperature,
        1e5 * pressure,
        symmetry_number=symmetry_number or None,
        multiplicity=multiplicity or None,
        low_modes=low_modes,
        scale=scale,
    )
    return Report(
        "thermochemistry",
        f"ideal gas at {temperature:g} K and {pressure:g} bar",
        (_sums(found), _contributions(found)),
        remarks=_remarks(vibrations, found, scale),
    )


def _sums(found: Thermochemistry) -> Table:
    correction = {
        "zero-point energy": found.zero_point_energy,
        "enthalpy": found.enthalpy_correction,
        "free energy": found.free_energy_correction,
    }
    values = np.array(list(correction.values()))
    about = "added to the electronic energy"
    columns = [
        column("quantity", correction),
        column("correction", values, "hartree", 6, about, exponents=False),
        column("in_kcal", values / kilocalorie_per_mole, "kcal/mol", 2, about, exponents=False),
    ]
    if np.isfinite(found.electronic_energy):
        columns.append(column("total", found.electronic_energy + values, "hartree", 6, exponents=False))
    return Table("thermochemistry", "Energies", tuple(columns))


def _contributions(found: Thermochemistry) -> Table:
    parts = found.contributions
    per_kelvin = 1000 / kilocalorie_per_mole
    return Table(
        "contributions",
        "Contributions",
        (
            column("motion", [*(part.name for part in parts), "all"]),
            column(
                "energy",
                np.array([*(part.energy for part in parts), sum(part.energy for part in parts)]) / kilocalorie_per_mole,
                "kcal/mol",
                3,
                "thermal, above that at 0 K",
                exponents=False,
            ),
            column(
                "entropy",
                np.array([*(part.entropy for part in parts), found.entropy]) * per_kelvin,
                "cal/(mol K)",
                3,
                exponents=False,
            ),
            column(
                "heat_capacity",
                np.array([*(part.heat_capacity for part in parts), found.heat_capacity]) * per_kelvin,
                "cal/(mol K)",
                3,
                "at constant volume; that of all at constant pressure",
                exponents=False,
            ),
        ),
    )


def _remarks(vibrations: Vibrations, found: Thermochemistry, scale: float) -> tuple[str, ...]:
    treatment = {
        "harmonic": "all modes are harmonic",
        "grimme": "the entropy of modes below 100 cm^-1 goes over to that of free rotors (Grimme 2012)",
        "truhlar": "modes below 100 cm^-1 are taken to be at 100 cm^-1 (Truhlar and others 2011)",
    }[found.low_modes]
    remarks = [
        f"rigid rotor with symmetry number {found.symmetry_number}, multiplicity {found.multiplicity}; {treatment}",
        *vibrations.remarks,
    ]
    if scale != 1:
        remarks.insert(1, f"all wavenumbers are multiplied by {scale:g}")
    if vibrations.n_imaginary:
        remarks.append(f"{vibrations.n_imaginary} imaginary modes are left out")
    if not vibrations.multiplicity and found.multiplicity == 1:
        remarks.append("the file tells no multiplicity: 1 is used")
    if not np.isfinite(found.electronic_energy):
        remarks.append("the file tells no electronic energy: only what is added to it is known")
    return tuple(remarks)
