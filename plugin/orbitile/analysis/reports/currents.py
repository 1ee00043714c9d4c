"""Ring currents and the shielding of rings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...base.arguments import COUNT, NUMBER, POSITIVE_NUMBER, TEXT, Argument, one_of
from ...base.arrays import Reals
from ...base.watch import stage
from ...fields.currents import axis_of, why_not, why_uncoupled
from ...fields.orbital import orbital_name
from ...model.elements import SYMBOLS
from ...model.report import Closure, Curve, Isosurface, Paths, Plot, Report, Table, column
from ...model.units import angstrom, electronvolt
from ...model.wavefunction import Wavefunction
from ...scf.magnetic_response import by_method, functional_of
from ...surfaces.colour_maps import MAPS
from ..currents import (
    BondCurrent,
    Ring,
    Shieldings,
    bond_currents,
    current_lines,
    divergence,
    is_diatropic,
    occupied_orbitals,
    ring_shieldings,
    rings_of,
)
from ..streamlines import Streamline
from ..vectors import plane_arrows
from . import takes_long

TITLE = "Ring currents and NICS"
HELP = "currents that a magnetic field induces in rings, by orbital, and the shielding of rings (NICS)"
KIND = "wavefunction"
GROUP = "Magnetic response"
PLOTS = True
PRIORITY = 45
PARAMETERS = (
    Argument("axis", one_of("normal", "x", "y", "z"), "direction of the magnetic field", "normal", "normal"),
    Argument("height", NUMBER, "height in Angstrom of the plane in which arrows are drawn", 0.53, "0.53"),
    Argument("spacing", POSITIVE_NUMBER, "distance in Angstrom between arrows", 0.4, "0.4"),
    Argument("lines", COUNT, "streamlines that begin on a ray from the middle of each ring; 0 for none", 12, "12"),
    Argument("method", TEXT, "method that the orbitals are of, such as hf or b3lyp", "", "that of the file"),
)
EXAMPLES = (
    "orb_currents",
    "orb_currents benzene, z",
    "orb_currents height=1, spacing=0.3",
    "orb_currents method=b3lyp",
)

_LISTED = 0.05
"""Smallest contribution of an orbital that is listed, in nA/T."""
_SECONDS, _USUAL = 2.0, 120.0
"""Time for a molecule of so many basis functions; it grows with the square."""
_COUPLED = 30.0
"""How many times as long it takes where exact exchange responds."""
_DIVERGENCE = "divergence of the current in the plane of the arrows, in units of the largest current there: at most"
_COLOURS = {"diatropic": MAPS["signed"][-1], "paratropic": MAPS["signed"][0]}
_TUBE = 0.04
"""Radius of streamlines, in bohr."""
_SCANS = 6
"""Rings whose shifts are drawn at most."""


def unavailable(wavefunction: Wavefunction) -> str:
    """Why there are none."""
    return why_not(wavefunction) or ("" if rings_of(wavefunction) else "there is no ring of bonded atoms")


def warning(wavefunction: Wavefunction, **parameters: Any) -> str:
    """That large molecules take long."""
    seconds = _SECONDS * (wavefunction.n_basis / _USUAL) ** 2
    known = functional_of(replace(wavefunction, method=parameters.get("method") or wavefunction.method))
    if known is not None and known.is_hybrid and not known.needs_tau:
        seconds *= _COUPLED
    return takes_long(f"ring currents of {wavefunction.n_basis} basis functions take", seconds)


def report(wavefunction: Wavefunction, *, device: str | None = None, **parameters: Any) -> Report:
    """Ring currents; parameters as stated, see `orbitile.analysis.currents`."""
    fields: tuple[Isosurface, ...] = (Isosurface(f"current:{parameters['axis']}"), Isosurface("shielding"))
    if method := parameters["method"]:
        wavefunction = by_method(wavefunction, method)
        fields = ()  # they would be those of the method that the file names
    rings, axis = rings_of(wavefunction), axis_of(wavefunction, parameters["axis"])
    with stage(0.0, 0.4):
        currents = bond_currents(wavefunction, rings, axis)
    shifts = []
    for n, ring in enumerate(rings):
        with stage(0.4 + 0.3 * n / len(rings), 0.4 + 0.3 * (n + 1) / len(rings)):
            shifts.append(ring_shieldings(wavefunction, ring, device))
    height = parameters["height"] * angstrom
    spacing = parameters["spacing"] * angstrom
    arrows, _, _ = plane_arrows(wavefunction, f"current:{parameters['axis']}", (), height, spacing, device, axis)
    with stage(0.7, 1.0):
        lines = current_lines(wavefunction, rings, axis, height, parameters["lines"], device)
    loss = divergence(wavefunction, axis, arrows.places, device)
    tables = [_rings(wavefunction, rings, shifts)]
    if currents:
        tables += [_bonds(wavefunction, currents), _orbitals(wavefunction, currents)]
    return Report(
        "currents",
        f"Ring currents of {wavefunction.title or 'the molecule'}",
        tuple(tables),
        (_scan(rings, shifts),),
        (arrows.paths(), *_paths(lines, axis)),
        fields,
        remarks=(*_remarks(wavefunction), f"{_DIVERGENCE} {loss:.2f} bohr^-1"),
    )


def _paths(lines: Sequence[Streamline], axis: Reals) -> list[Paths]:
    """Streamlines as arrows, those that go around one way apart from those that go the other way."""
    drawn = []
    for name, diatropic in (("diatropic", True), ("paratropic", False)):
        some = tuple(line.points for line in lines if is_diatropic(line, axis) == diatropic and len(line.points) > 1)
        if some:
            drawn.append(Paths(name, some, _COLOURS[name], _TUBE, heads=True))
    return drawn


def _remarks(wavefunction: Wavefunction) -> tuple[str, ...]:
    remarks = ["gauge origins at the points themselves (CTOCD-DZ): strengths want a basis set of triple-zeta quality"]
    if reason := why_uncoupled(wavefunction):
        remarks.append(f"uncoupled: {reason}")
    if np.any((wavefunction.atomic_numbers - wavefunction.core_charges > 0.5) & (wavefunction.core_charges > 0)):
        remarks.append("effective cores: the currents of core electrons are not in it")
    return tuple(remarks)


def _name(wavefunction: Wavefunction, atoms: tuple[int, ...]) -> str:
    return "-".join(f"{SYMBOLS[wavefunction.atomic_numbers[atom]]}{atom + 1}" for atom in atoms)


def _rings(wavefunction: Wavefunction, rings: Sequence[Ring], shifts: list[Shieldings]) -> Table:
    columns = (
        column("ring", range(1, len(rings) + 1)),
        column("atoms", (_name(wavefunction, ring.atoms) for ring in rings)),
        column("nics_0", (found.centre for found in shifts), "ppm", 2, "shift at the centre of the ring"),
        column("nics_0_zz", (found.centre_across for found in shifts), "ppm", 2, "the same, of a field across it"),
        column("nics_1", (found.above for found in shifts), "ppm", 2, "shift 1 Angstrom above the centre"),
        column("nics_1_zz", (found.above_across for found in shifts), "ppm", 2, "the same, of a field across it"),
    )
    return Table("rings", "Rings", columns, atoms=tuple(ring.atoms for ring in rings))


def _bonds(wavefunction: Wavefunction, currents: list[BondCurrent]) -> Table:
    columns = (
        column("bond", (_name(wavefunction, found.atoms) for found in currents)),
        column("ring", (found.ring + 1 for found in currents)),
        column("strength", (found.strength for found in currents), "nA/T", 2, "positive where diatropic"),
        column("diatropic", (found.diatropic for found in currents), "nA/T", 2),
        column("paratropic", (found.paratropic for found in currents), "nA/T", 2),
    )
    return Table("bonds", "Currents through bonds", columns, atoms=tuple(found.atoms for found in currents))


def _orbitals(wavefunction: Wavefunction, currents: list[BondCurrent]) -> Table:
    """Contributions of orbitals, as a mean over the bonds of the first ring."""
    first = [found for found in currents if found.ring == currents[0].ring]
    mean = np.mean([found.by_orbital for found in first], axis=0)
    listed = np.flatnonzero(np.abs(mean) >= _LISTED)
    carried = occupied_orbitals(wavefunction)
    names = [orbital_name(wavefunction, carried[n][1], carried[n][0]) for n in listed]
    energies = [wavefunction.orbitals(spin).energies[n] / electronvolt for spin, n in (carried[n] for n in listed)]
    columns = (
        column("orbital", names),
        column("energy", energies, "eV", 3),
        column("strength", mean[listed], "nA/T", 2, "positive where diatropic"),
    )
    strength = float(np.mean([found.strength for found in first]))
    closure = Closure("sum over all orbitals", float(mean.sum()), strength, "nA/T", 1e-6)
    title = f"Orbitals that carry the current of ring {currents[0].ring + 1}, as a mean over its bonds"
    return Table("orbitals", title, columns, (closure,), fields=tuple(names))


def _scan(rings: Sequence[Ring], shifts: list[Shieldings]) -> Plot:
    curves = [Curve(f"ring {n + 1}", found.heights / angstrom, found.scan) for n, found in enumerate(shifts[:_SCANS])]
    title = "Shift of a field across the ring, along its normal"
    return Plot("scan", title, "height above the centre / Angstrom", "NICS zz / ppm", tuple(curves))
