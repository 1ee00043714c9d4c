"""What is in a wavefunction, for people and for programs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ..fields._frontier import frontier_order
from ..model.conventions import ANGULAR_MOMENTUM_LETTERS
from ..model.elements import SYMBOLS
from ..model.geometry import formula
from ..model.units import angstrom, electronvolt
from ..model.wavefunction import Orbitals, Spin, Wavefunction
from .notes import notes

_AROUND = 10
"""Orbitals shown on each side of the HOMO-LUMO gap, unless all are asked for."""


def basis_summary(wavefunction: Wavefunction) -> str:
    """Number of functions, shells and primitives, and which shells are pure or Cartesian."""
    kinds = Counter((shell.angular_momentum, shell.pure) for shell in wavefunction.shells)
    parts = []
    for (momentum, pure), count in sorted(kinds.items()):
        form = "" if momentum < 2 else " pure" if pure else " Cartesian"
        parts.append(f"{count} {ANGULAR_MOMENTUM_LETTERS[momentum]}{form}")
    primitives = sum(len(shell.exponents) for shell in wavefunction.shells)
    shells = f"{len(wavefunction.shells)} shells ({', '.join(parts)})"
    return f"{wavefunction.n_basis} functions in {shells}, {primitives} primitives"


def core_potential_note(wavefunction: Wavefunction) -> str:
    """Which atoms have an effective core potential and how many electrons it stands for; empty without any."""
    notes = {}
    for number, charge in zip(wavefunction.atomic_numbers, wavefunction.core_charges, strict=True):
        if number > 0 and 0 < charge < number - 0.5:
            notes[SYMBOLS[number]] = f"{SYMBOLS[number]} ({number - charge:g} electrons)"
    return ", ".join(notes.values())


def cell_parameters(wavefunction: Wavefunction) -> str:
    """Lengths of the vectors of its cell and the angles between them, for people."""
    vectors = wavefunction.cell / angstrom
    lengths = np.linalg.norm(vectors, axis=1)
    cosines = (vectors @ vectors.T) / np.outer(lengths, lengths)
    angles = np.degrees(np.arccos(np.clip(cosines[[1, 0, 0], [2, 2, 1]], -1, 1)))
    listed = " x ".join(f"{length:.4g}" for length in lengths)
    return f"{listed} Angstrom, angles {', '.join(f'{angle:.4g}' for angle in angles)} degrees"


def frontier_marks(wavefunction: Wavefunction, spin: Spin) -> dict[int, str]:
    """Index of the HOMO and of the LUMO of one set of orbitals, with these names."""
    occupied, unoccupied = frontier_order(wavefunction, spin)
    marks = {occupied[-1]: "HOMO"} if occupied else {}
    if unoccupied:
        marks[unoccupied[0]] = "LUMO"
    return marks


def _sets(wavefunction: Wavefunction) -> list[tuple[Spin, str, Orbitals]]:
    """Each spin, its name where there are two, and its orbitals."""
    spins = wavefunction.spins
    return [(spin, spin if len(spins) > 1 else "", wavefunction.orbitals(spin)) for spin in spins]


def as_dictionary(wavefunction: Wavefunction) -> dict[str, Any]:
    """Everything but the coefficients, in plain types; lengths in Angstrom, energies in electronvolt."""
    orbitals = []
    for spin, label, those in _sets(wavefunction):
        marks = frontier_marks(wavefunction, spin)
        for n in range(len(those)):
            energy = float(those.energies[n] / electronvolt)
            orbitals.append(
                {
                    "number": n + 1,
                    "spin": label or "both",
                    "energy_eV": energy if np.isfinite(energy) else None,
                    "occupation": float(those.occupations[n]),
                    "symmetry": those.irreps[n],
                    "name": those.labels[n],
                    "frontier": marks.get(n),
                }
            )
    return {
        "file": wavefunction.source,
        "title": wavefunction.title,
        "format": wavefunction.program,
        "method": wavefunction.method,
        "formula": formula(wavefunction),
        "charge": round(wavefunction.charge, 6),
        "multiplicity": wavefunction.multiplicity,
        "electrons": wavefunction.n_electrons,
        "kind": wavefunction.kind,
        "notes": list(notes(wavefunction)),
        "cell_angstrom": (wavefunction.cell / angstrom).tolist(),
        "effective_core_potentials": core_potential_note(wavefunction),
        "basis": {
            "functions": wavefunction.n_basis,
            "shells": len(wavefunction.shells),
            "primitives": sum(len(shell.exponents) for shell in wavefunction.shells),
            "summary": basis_summary(wavefunction),
        },
        "atoms": [
            {
                "element": SYMBOLS[number],
                "core_charge": float(charge),
                "position_angstrom": [float(x) for x in position / angstrom],
            }
            for number, charge, position in zip(
                wavefunction.atomic_numbers, wavefunction.core_charges, wavefunction.positions, strict=True
            )
        ],
        "orbitals": orbitals,
        "excitations": [
            {
                "number": n,
                "energy_eV": excitation.energy / electronvolt,
                "oscillator_strength": excitation.strength if np.isfinite(excitation.strength) else None,
                "label": excitation.label,
            }
            for n, excitation in enumerate(wavefunction.excitations, 1)
        ],
    }


def as_text(wavefunction: Wavefunction, everything: bool = False) -> str:
    """A page for people: header and table of orbitals, those near the frontier unless `everything` is wanted."""
    charge = round(wavefunction.charge, 3) + 0.0
    multiplicity = "not stated" if wavefunction.multiplicity is None else wavefunction.multiplicity
    some = len(wavefunction.alpha) < wavefunction.n_basis
    in_file = f", {len(wavefunction.alpha)} for {wavefunction.n_basis} functions" if some else ""
    ghosts = int(wavefunction.is_ghost.sum())
    atoms = f"{wavefunction.n_atoms - ghosts} atoms" + (f" and {ghosts} ghost{'s' * (ghosts > 1)}" if ghosts else "")
    lines = [
        f"file      {wavefunction.source} ({wavefunction.program})",
        *([f"title     {wavefunction.title}"] if wavefunction.title else []),
        *([f"method    {wavefunction.method}"] if wavefunction.method else []),
        f"molecule  {formula(wavefunction) or 'no atoms but ghosts'}, {atoms}, "
        f"charge {charge:+g}, multiplicity {multiplicity}",
        f"electrons {round(wavefunction.n_electrons, 4):g}, {wavefunction.kind} orbitals{in_file}",
        f"basis     {basis_summary(wavefunction)}",
    ]
    if note := core_potential_note(wavefunction):
        lines.append(f"core      effective core potentials on {note}")
    if len(wavefunction.cell):
        lines.append(f"cell      {cell_parameters(wavefunction)}")
    lines += [f"note      {note}" for note in notes(wavefunction)]
    sets = _sets(wavefunction)
    with_symmetry = any(any(those.irreps or ()) for _, _, those in sets)
    header = f"{'orbital':>8}  {'energy / eV':>12}  {'occupation':>10}"
    header += "  symmetry" if with_symmetry else ""
    longest = max((len(label) for _, _, those in sets for label in those.labels), default=0)
    header += f"  {'name':<{longest}}".rstrip() if longest else ""
    for spin, label, those in sets:
        marks = frontier_marks(wavefunction, spin)
        lines += ["", *([f"{label} orbitals"] if label else []), header]
        shown = range(len(those))
        if not everything and marks and len(those) > 2 * _AROUND + 4:
            shown = range(max(0, min(marks) - _AROUND), min(len(those), max(marks) + _AROUND + 1))
        if shown.start > 0:
            lines.append(f"{'...':>8}  ({shown.start} below; --all shows them)")
        for n in shown:
            energy = float(those.energies[n] / electronvolt)
            row = f"{n + 1:>8}  {energy:>12.3f}" if np.isfinite(energy) else f"{n + 1:>8}  {'-':>12}"
            row += f"  {those.occupations[n]:>10.4f}"
            row += f"  {those.irreps[n] or '-':<8}" if with_symmetry else ""
            row += f"  {those.labels[n] or '-':<{longest}}" if longest else ""
            lines.append((row + f"  {marks.get(n, '')}").rstrip())
        if shown.stop < len(those):
            lines.append(f"{'...':>8}  ({len(those) - shown.stop} above; --all shows them)")
    if wavefunction.excitations:
        lines += ["", f"{'excited':>8}  {'energy / eV':>12}  {'strength':>10}  (fields transition:N, nto:N:hole)"]
        for n, excitation in enumerate(wavefunction.excitations, 1):
            strength = f"{excitation.strength:>10.4f}" if np.isfinite(excitation.strength) else f"{'-':>10}"
            lines.append(f"{n:>8}  {excitation.energy / electronvolt:>12.3f}  {strength}  {excitation.label}".rstrip())
    return "\n".join(lines)
