"""How orbitals and charges answer vibrations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base.arguments import COUNT, TEXT, Argument
from ...base.arrays import Reals
from ...base.errors import OrbitileError
from ...base.watch import checkpoint, tell
from ...fields._frontier import frontier_name, frontier_order
from ...gaussians.overlap import overlap_matrix
from ...model.report import AtomValues, Closure, Report, Table, atom_columns, atom_names, column
from ...model.units import electronvolt
from ...model.vibrations import Vibrations, mode_name
from ...model.wavefunction import Wavefunction

TITLE = "Electrons along vibrations"
HELP = "which vibration opens the gap: changes of orbital energies and charges by mode"
KIND = "vibrations"
GROUP = "Vibrations"
PRIORITY = 57
PARAMETERS = (
    Argument(
        "mode", COUNT, "number of the mode whose charges are listed and drawn", 0, "that which changes the gap most"
    ),
    Argument("orbitals", COUNT, "number of occupied and of unoccupied orbitals", 3, "3"),
    Argument("method", TEXT, "gfn2, a functional such as pbe, or hf", "", "that of the file"),
    Argument("basis", TEXT, "name of the basis set", "", "that of the file"),
)
EXAMPLES = ("orb_vibronic", "orb_vibronic mode=12, method=gfn2")

_MOVED = 0.005
"""Change of a charge in e from which on an atom is named."""

_NAMED = 3
"""Atoms that are named, at most."""

_SOFT = 1.0
"""Wavenumber in cm^-1 below which a mode has no coordinate of its own."""


def unavailable(vibrations: Vibrations) -> str:
    """Why there is nothing to tell."""
    return "" if vibrations.n_modes else "an atom alone has no vibrations"


def report(vibrations: Vibrations, *, device: str | None = None, **parameters: Any) -> Report:
    """Changes by mode; parameters as stated."""
    from ...fields.modes import coordinate_step
    from ...scf.modes import FROZEN, STEP, solved_along, subject_of
    from ...scf.series import Means

    chosen, n = parameters["mode"], vibrations.n_modes
    if chosen > n:
        raise OrbitileError(f"mode: expected a number from 1 to {n}, got {chosen}")
    remarks: list[str] = []
    given = {key: parameters[key] for key in ("method", "basis") if parameters[key]}
    subject = subject_of(vibrations, given=given, report=remarks.append)
    means = None if subject.calculation is None else Means(subject.calculation, device=device)
    at_rest = next(solved_along(subject, 1, np.zeros(1), means))
    names = _frontier(at_rest, parameters["orbitals"])
    slopes, flows = np.full((n, len(names)), np.nan), np.full((n, len(vibrations.masses)), np.nan)
    for mode in range(1, n + 1):
        if abs(vibrations.wavenumbers[mode - 1]) < _SOFT:
            continue
        before, after = solved_along(subject, mode, np.array([-STEP, STEP]), means, (at_rest,))
        step = coordinate_step(vibrations, mode, before, after)
        slopes[mode - 1] = _changes_of_energies(before, after, names) / step
        flows[mode - 1] = (_charges(after) - _charges(before)) / step
        checkpoint()
        tell(mode / n)
    slopes /= electronvolt
    gaps = slopes[:, names.index("LUMO")] - slopes[:, names.index("HOMO")] if "LUMO" in names else np.full(n, np.nan)
    if not chosen:
        ranked = gaps if np.isfinite(gaps).any() else np.abs(flows).max(axis=1)
        chosen = 1 + int(np.nanargmax(np.abs(ranked)))
    spread = math.sqrt(float(np.nansum(gaps**2)) / 2)
    if spread > 0:
        remarks.append(
            f"in the vibrational ground state, where q has a mean square of 1/2, all modes together spread the gap by "
            f"{spread:.3f} eV (root mean square, to first order)"
        )
    by = FROZEN if subject.calculation is None else f"by {subject.calculation}"
    title = f"Electrons along {n} vibration{'s' * (n > 1)}, {by}"
    flow = flows[chosen - 1]
    return Report(
        "vibronic",
        title,
        (_table_of_modes(vibrations, names, slopes, gaps, flows), _table_of_charges(vibrations, chosen, flow)),
        drawings=(AtomValues("charge_flow", tuple(np.round(flow, 6).tolist()), "e", 3),),
        remarks=tuple(remarks),
    )


def _frontier(wavefunction: Wavefunction, n: int) -> list[str]:
    """Names of the orbitals about the gap that there are: HOMO-1, HOMO, LUMO, LUMO+1."""
    occupied, unoccupied = frontier_order(wavefunction, "alpha")
    return [frontier_name(place) for place in range(1 - min(n, len(occupied)), 1 + min(n, len(unoccupied)))]


def _changes_of_energies(before: Wavefunction, after: Wavefunction, names: list[str]) -> Reals:
    """Energies of orbitals, as they are named after a motion, less those of the same orbitals before it, in hartree.

    The same are those that overlap most: by their energies, two of one energy that part would change places.
    """
    occupied, unoccupied = frontier_order(after, "alpha")
    order = {frontier_name(place): index for place, index in enumerate(occupied + unoccupied, 1 - len(occupied))}
    wanted = [order[name] for name in names]
    overlaps = before.alpha.coefficients.T @ (overlap_matrix(before, after) @ after.alpha.coefficients[:, wanted])
    same = np.abs(overlaps).argmax(axis=0)
    return after.alpha.energies[wanted] - before.alpha.energies[same]


def _charges(wavefunction: Wavefunction) -> Reals:
    """Loewdin charges in e."""
    from ..charges import loewdin_orbitals

    real = wavefunction.atomic_numbers > 0
    return (wavefunction.core_charges - loewdin_orbitals(wavefunction).populations)[real]


def _table_of_modes(vibrations: Vibrations, names: list[str], slopes: Reals, gaps: Reals, flows: Reals) -> Table:
    numbers = range(1, vibrations.n_modes + 1)
    atoms = atom_names(vibrations.atomic_numbers)
    told = []
    for flow in flows:
        order = [a for a in np.argsort(-np.abs(np.nan_to_num(flow)), kind="stable") if abs(flow[a]) >= _MOVED]
        told.append(", ".join(f"{atoms[a]} {flow[a]:+.3f}" for a in order[:_NAMED]))
    columns = (
        column("mode", numbers),
        column("wavenumber", vibrations.wavenumbers, "cm^-1", 1),
        column("gap", gaps, "eV", 3, "change of the gap with the dimensionless coordinate q", exponents=False),
        *(
            column(name, slopes[:, k], "eV", 3, f"change of the energy of the {name} with q", exponents=False)
            for k, name in enumerate(names)
        ),
        column("charges", told, about="atoms whose charges change most with q, in e"),
    )
    return Table("modes", "Changes with each mode", columns, fields=tuple(f"mode:{n}" for n in numbers))


def _table_of_charges(vibrations: Vibrations, mode: int, flow: Reals) -> Table:
    closure = Closure("sum of the changes", float(flow.sum()), 0.0, "e", 1e-3)
    columns = (
        *atom_columns(vibrations.atomic_numbers),
        column("change", flow, "e", 4, "change of the Loewdin charge with the dimensionless coordinate q"),
    )
    rows = tuple((atom,) for atom in range(len(flow)))
    return Table("charges", f"Charges along {mode_name(vibrations, mode)}", columns, (closure,), rows)
