"""Electron flow along a path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arguments import SHARE, Argument, atom_list, one_of
from ...base.arrays import Reals
from ...model.geometry import formula
from ...model.report import (
    AtomValues,
    Closure,
    Curve,
    Isosurface,
    Paths,
    Plot,
    Report,
    Table,
    atom_columns,
    atom_names,
    column,
)
from ...model.trajectory import Trajectory
from . import takes_long

if TYPE_CHECKING:
    from ..flow import Flow, FlowOfSpin

    Orbital = tuple[FlowOfSpin, int]

TITLE = "Electron flow"
HELP = "localised orbitals along a path: which bond each becomes, and how far it moves"
GROUP = "Orbitals"
PLOTS = True
KIND = "trajectory"
PRIORITY = 70
PARAMETERS = (
    Argument("scheme", one_of("ibo", "pm_iao"), "localisation scheme", "ibo", "intrinsic bond orbitals"),
    Argument(
        "least",
        SHARE,
        "smallest change, in e, for an orbital to be shown that is not of a bond made or broken",
        0.3,
        "0.3",
    ),
)
EXAMPLES = ("orb_flow", "orb_flow least=0.1")

_MOST_CURVES = 12
"""Orbitals in a plot."""

_MOST_SURFACES = 3
"""Orbitals whose surfaces go with the report: those of bonds that are made or broken, and that change most."""

_GAIN = 0.05
"""Electrons from which on an atom is told that gains or loses them."""

_ATOMS = 3
"""Atoms that are told, each way."""

_DOUBTFUL = 0.7
"""Confidence below which an orbital may be another one."""

_MISSED = 1e-3
"""Growth of the functional of localisation, by orbitals that were not followed, that is told."""

_ARROW = 0.3
"""Way in bohr from which on the centre of an orbital gets an arrow."""

_SLOW = 75.0
"""Basis functions squared times frames, in units of 1,000, that are followed in a second on two cores."""


def unavailable(trajectory: Trajectory) -> str:
    """Why there is no flow."""
    return "" if len(trajectory) > 1 else "this is a single geometry; electron flow needs a path of at least two"


def warning(trajectory: Trajectory, **parameters: Any) -> str:
    """That a long path takes long."""
    first = next(iter(trajectory), None)
    seconds = 0.0 if first is None else len(trajectory) * first.n_basis**2 / (1e3 * _SLOW)
    return takes_long(f"following orbitals through {len(trajectory)} frames takes", seconds)


def report(trajectory: Trajectory, *, device: str | None = None, **parameters: Any) -> Report:
    """Electron flow; parameters as stated, see `orbitile.analysis.flow`."""
    from ..flow import flow

    found = flow(trajectory, parameters["scheme"])
    orbitals = [(spin, n) for spin in found.spins for n in range(spin.electrons.shape[2])]
    changed = {
        (spin.spin, n) for pair in set().union(*found.bonds) if (one := found.of_bond(pair)) for spin, n in [one]
    }
    orbitals.sort(key=lambda one: ((one[0].spin, one[1]) not in changed, -float(one[0].change[:, one[1]].max())))
    active = [
        (spin, n) for spin, n in orbitals if (spin.spin, n) in changed or spin.change[:, n].max() >= parameters["least"]
    ]
    fields = tuple(_field(found, parameters["scheme"], one) for one in orbitals)
    drawings: list[Any] = [_arrows(active)] if _arrows(active).lines else []
    gained = found.charges[-1] - found.charges[0]
    drawings.append(AtomValues("charge_gained", tuple(np.round(gained, 10).tolist()), "e"))
    return Report(
        "flow",
        f"Electron flow of {formula(found.first)} through {len(found.frames)} frames",
        (_orbitals(found, orbitals, fields), _atoms(found)),
        (
            _plot(found, active, fields, "change", "change of the electrons on the atoms / e"),
            _plot(found, active, fields, "distance", "displacement of the centre / bohr"),
        ),
        tuple(drawings),
        tuple(Isosurface(field) for field in fields[: min(len(active), max(_MOST_SURFACES, len(changed)))]),
        _remarks(found, parameters["least"], fields[: len(active)]),
    )


def _field(found: Flow, scheme: str, one: Orbital) -> str:
    spin, n = one
    return f"{scheme}:{n + 1}" + (f":{spin.spin}" if len(found.spins) > 1 else "")


def _orbitals(found: Flow, orbitals: list[Orbital], fields: tuple[str, ...]) -> Table:
    from ...gaussians.localised.names import main_atoms

    change = [spin.change[:, n] for spin, n in orbitals]
    moved = [spin.electrons[-1, :, n] - spin.electrons[0, :, n] for spin, n in orbitals]
    columns = (
        column("orbital", fields, about="name of its field"),
        column("at_start", (spin.names[0][n] for spin, n in orbitals)),
        column("at_end", (spin.names[-1][n] for spin, n in orbitals)),
        column("change", (one[-1] for one in change), "e", 3, "of its electrons on the atoms, in the last frame"),
        column("largest", (one.max() for one in change), "e", 3, "change in any frame"),
        column("way", (spin.distance[-1, n] for spin, n in orbitals), "bohr", 3, "of its centre"),
        column("from", (_told(found, -one) for one in moved), about="atoms that lose electrons of it, in e"),
        column("to", (_told(found, one) for one in moved), about="atoms that gain electrons of it, in e"),
        column("confidence", (spin.confidence[:, n].min() for spin, n in orbitals), decimals=3),
    )
    of_orbitals = sum(spin.electrons.sum(axis=(1, 2)) for spin in found.spins)
    worst = int(np.argmax(np.abs(of_orbitals - found.electrons)))
    on_atoms, expected = float(of_orbitals[worst]), float(found.electrons[worst])
    closures = (
        Closure("electrons of all orbitals on the atoms", on_atoms, expected, "e", 1e-6),
        Closure("lowest confidence", min(float(spin.confidence.min()) for spin in found.spins), 1.0, "", 1 - _DOUBTFUL),
    )
    atoms = tuple(
        tuple(sorted({*main_atoms(spin.electrons[0, :, n]), *main_atoms(spin.electrons[-1, :, n])}))
        for spin, n in orbitals
    )
    return Table("orbitals", "Localised orbitals along the path", columns, closures, atoms, fields)


def _told(found: Flow, gain: Reals) -> str:
    """Atoms that gain, with the electrons: C1 0.64 H3 0.10."""
    names = atom_names(found.first.atomic_numbers)
    order = np.argsort(-gain, kind="stable")[:_ATOMS]
    return " ".join(f"{names[atom]} {gain[atom]:.2f}" for atom in order if gain[atom] > _GAIN)


def _atoms(found: Flow) -> Table:
    """Charges of the atoms at the ends of the path."""
    first, last = found.charges[[0, -1]]
    n = len(first)
    columns = (
        *atom_columns(found.first.atomic_numbers),
        column("charge_at_start", first, "e"),
        column("charge_at_end", last, "e"),
        column("gained", last - first, "e", about="change of the charge; gained electrons count as negative"),
    )
    closure = Closure("charge gained by all", float((last - first).sum()), 0.0, "e", 1e-6)
    return Table(
        "atoms", "Charges of the atoms from these orbitals", columns, (closure,), tuple((a,) for a in range(n))
    )


def _plot(found: Flow, active: list[Orbital], fields: tuple[str, ...], what: str, label: str) -> Plot:
    curves = []
    for (spin, n), field in zip(active[:_MOST_CURVES], fields, strict=False):
        name = f"{field} {spin.names[0][n]} -> {spin.names[-1][n]}"
        y = getattr(spin, what)[:, n]
        curves.append(Curve(name, found.length, y, fields=(field,) * len(y)))
    title = "Electrons that move" if what == "change" else "Centres of orbitals"
    return Plot(what, title, "path / bohr", label, tuple(curves))


def _arrows(active: list[Orbital]) -> Paths:
    """The way of the centre of each orbital that takes part."""
    lines = tuple(spin.centres[:, n] for spin, n in active if spin.distance[-1, n] > _ARROW)
    return Paths("flow", lines, heads=True)


def _by_reason(problems: dict[int, str]) -> dict[str, str]:
    """Frames that were left out, as a list of their numbers, by the reason."""
    reasons: dict[str, list[int]] = {}
    for index, reason in problems.items():
        reasons.setdefault(reason, []).append(index)
    return {reason: atom_list(sorted(frames)) for reason, frames in reasons.items()}


def _remarks(found: Flow, least: float, active: tuple[str, ...]) -> tuple[str, ...]:
    remarks, atom = [], atom_names(found.first.atomic_numbers)
    for pairs, what in zip(found.bonds, ("made", "broken"), strict=True):
        names = [f"{atom[a]}-{atom[b]}" for a, b in sorted(pairs)]
        if names:
            remarks.append(f"{what}, by the distance of the atoms: {', '.join(names)}")
    if not active:
        remarks.append(f"no orbital changes by {least:g} e or more: along this path no bond is made or broken")
    for reason, left_out in _by_reason(found.problems).items():
        those = f"frame {left_out} was" if left_out.isdigit() else f"frames {left_out} were"
        remarks.append(f"{those} left out: {reason}")
    for index, atoms in found.exchanged:
        named = ", ".join(atom[n] for n in atoms)
        remarks.append(
            f"in frame {index + 1} {named} seem to have exchanged their numbers, and orbitals are followed by number"
        )
    if found.missed > _MISSED:
        remarks.append(
            f"in the last frame other orbitals are better localised (their functional is larger by "
            f"{found.missed:.2g}), so the assignment of the final orbitals is not unique"
        )
    for spin in found.spins:
        for n in np.flatnonzero(spin.confidence.min(axis=0) < _DOUBTFUL).tolist():
            frame = found.frames[int(np.argmin(spin.confidence[:, n]))] + 1
            remarks.append(
                f"{spin.names[0][n]} may have become another orbital in frame {frame}: the frames around it "
                "are too far apart, or its character changes abruptly there"
            )
    return tuple(remarks)
