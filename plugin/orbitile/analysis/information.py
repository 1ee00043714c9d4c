"""What is in a wavefunction, for people and for programs, and notes on what is unusual about it, in plain sentences.

A file says many things twice: electrons by their number and by the occupations, their order by energies and by places,
the size of the basis set by functions and by orbitals. Where two do not go together, one of them may be damaged, or the
calculation was unusual; nobody but the reader can tell, so it is said and nothing is refused. What cannot be right is
refused by `orbitile.gaussians.orthonormality`.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.caches import Derived
from ..base.errors import OrbitileError
from ..fields._frontier import frontier_order
from ..gaussians.overlap import kinetic_energy
from ..model.conventions import ANGULAR_MOMENTUM_LETTERS
from ..model.core_potentials import believable, is_usual
from ..model.elements import SYMBOLS
from ..model.geometry import formula
from ..model.neighbours import pairs_among
from ..model.report import atom_names
from ..model.units import angstrom, electronvolt
from ..model.vibrations import STRENGTHS, Vibrations
from ..model.wavefunction import Orbitals, Shell, Spin, Wavefunction
from .thermochemistry import PRESSURE, thermochemistry

_CLOSE = 0.8
"""Distance of two nuclei in bohr, below which no molecule has them: 1.4 in hydrogen, the shortest bond."""

_SAME = 1e-6
"""Energies in hartree this close are equal: orbitals of one level come in any order."""

_NUMBERING = re.compile(r"^\d+\.?")
"""Numbers in front of symmetry labels: 3a1 is the third orbital of a1, 3.1 that of the first representation."""

_WITHOUT_VIRTUALS = ("wfn", "wfx")
"""Formats whose functions are primitives, and which need not have unoccupied orbitals."""


def notes(wavefunction: Wavefunction) -> tuple[str, ...]:
    """What is odd about a wavefunction, a sentence each; empty for most."""

    def make() -> tuple[str, ...]:
        of_parts = (of(wavefunction) for of in (_of_electrons, _of_orbitals, _of_atoms, _of_basis, _of_kinetic_energy))
        return (*wavefunction.remarks, *chain.from_iterable(of_parts))

    return _NOTES.of(wavefunction, None, make)


_NOTES = Derived[tuple[str, ...]]("numbers")


def _of_electrons(wavefunction: Wavefunction) -> list[str]:
    """Charge, multiplicity and electrons, as stated and as the occupations have them."""
    result = []
    stated, charge, electrons = wavefunction.stated, wavefunction.charge, wavefunction.n_electrons
    n_nuclei = int(np.count_nonzero(wavefunction.core_charges))
    if electrons < 0.5:
        result.append("the orbitals hold no electrons: there is no HOMO")
    elif stated.charge is not None and abs(charge - stated.charge) > 0.02:
        result.append(
            f"the file states a charge of {stated.charge:+g}, but its nuclei and occupations give {round(charge, 3):+g}"
        )
    elif not believable(charge, n_nuclei):
        result.append(
            f"its nuclei and occupations give a charge of {round(charge, 3):+g}, which is implausible: electrons "
            "or orbitals are missing, or nuclear charges are wrong"
        )
    if _lacks_beta(wavefunction):
        result.append(
            "each occupied orbital holds one electron and the charge is positive: the beta orbitals are missing, or "
            "the file is cut off before them"
        )
    if abs(electrons - round(electrons)) > 0.02:
        result.append(f"the occupations add up to {electrons:.4f} electrons, which is not a whole number")
    shared = wavefunction.beta is None
    fewer = electrons - 2 * float(wavefunction.alpha.occupations.sum())
    if not shared and fewer > 0.5:
        result.append(f"there are {fewer:g} more beta than alpha electrons, which programs avoid")
    if stated.alpha is not None and stated.beta is not None:
        sums = [float(wavefunction.alpha.occupations.sum()), electrons - float(wavefunction.alpha.occupations.sum())]
        said = [stated.alpha, stated.beta]
        if abs(sum(said) - electrons) > 0.02 or (not shared and abs(sums[0] - said[0]) > 0.02):
            have = f"{electrons:g}" if shared else f"{sums[0]:g} and {sums[1]:g}"
            result.append(
                f"the file states {said[0]:g} alpha and {said[1]:g} beta electrons, but its occupations add up to "
                f"{have}"
            )
    if stated.multiplicity is not None and electrons >= 0.5:
        if not (wavefunction.natural and shared) and wavefunction.multiplicity != stated.multiplicity:
            result.append(
                f"the file states a multiplicity of {stated.multiplicity}, but its occupations give "
                f"{wavefunction.multiplicity}"
            )
        elif (round(electrons) + stated.multiplicity) % 2 == 0:
            result.append(f"a multiplicity of {stated.multiplicity} does not go with {electrons:g} electrons")
    return result


def _lacks_beta(wavefunction: Wavefunction) -> bool:
    """Whether orbitals look like the alpha ones of an unrestricted calculation: several, none with two electrons."""
    occupied = wavefunction.alpha.occupations[wavefunction.alpha.occupations > 1e-6]
    alone = wavefunction.capacity == 2 and len(occupied) > 1 and bool(np.all(np.abs(occupied - 1) < 1e-6))
    return alone and wavefunction.stated.charge is None and wavefunction.charge > 0.5


def _of_orbitals(wavefunction: Wavefunction) -> list[str]:
    """Number, occupations and energies of the orbitals."""
    result = []
    alpha, beta, n = wavefunction.alpha, wavefunction.beta, wavefunction.n_basis
    n_pure = sum(2 * shell.angular_momentum + 1 for shell in wavefunction.shells)  # some write those in Cartesian ones
    by_format = wavefunction.program.partition(";")[0] in _WITHOUT_VIRTUALS
    if beta is not None and len(alpha) != len(beta) and not by_format:
        result.append(f"there are {len(alpha)} alpha but {len(beta)} beta orbitals in a basis of {n} functions")
    elif (
        len(alpha) not in (n, n_pure, wavefunction.stated.n_orbitals)
        and wavefunction.spinors is None
        and not by_format
        and not np.any(alpha.occupations < 1e-6)  # with an unoccupied one among them, no occupied one is missing
    ):
        result.append(
            f"the file has {len(alpha)} of the {n} orbitals of its basis set and no unoccupied one: those were "
            "left out by the program, or the file is cut off"
        )
    for name, orbitals in (("" if beta is None else "alpha ", alpha), ("beta ", beta)):
        if orbitals is None:
            continue
        capacity = wavefunction.capacity
        occupations = orbitals.occupations
        deviation = np.abs(occupations - np.round(occupations))
        fractional = (deviation > 1e-5) | ((deviation > 1e-9) & (np.round(occupations) == 0))
        if fractional.sum() == 1:
            result.append(
                f"{name}orbital {_first(fractional)} is the only one whose occupation is not a whole number, "
                f"{occupations[fractional][0]:g}"
            )
        outside = (occupations < -0.02) | (occupations > capacity + 0.02)
        if outside.any():
            result.append(
                f"{name}orbital {_first(outside)} has an occupation of {occupations[outside][0]:g}, outside 0 to "
                f"{capacity}"
            )
        if any(orbitals.labels):  # whose order is that of their names
            continue
        if wavefunction.natural:
            everything, falls = np.arange(len(orbitals)), np.count_nonzero(np.diff(occupations) < 0)
            rising = occupations if 2 * falls < len(orbitals) else -occupations
            result += _of_order(orbitals, everything, rising, f"{name}orbital", "occupations")
        else:
            result += _of_filling(wavefunction, orbitals, name)
    return result


def _first(mask: NDArray[np.bool_]) -> int:
    return int(np.flatnonzero(mask)[0]) + 1


def _of_filling(wavefunction: Wavefunction, orbitals: Orbitals, name: str) -> list[str]:
    """Whether orbitals are filled from below, and sorted by their energies among those filled alike."""
    filled, energies = np.round(orbitals.occupations), orbitals.energies
    has_energies = bool(np.all(np.isfinite(energies)) and np.any(energies != 0))
    result = []
    if has_energies:
        heaviest = int(wavefunction.atomic_numbers.max(initial=0))
        lowest = float(energies.min())
        if lowest < -(0.6 * heaviest**2 + 5):
            result.append(
                f"{name}orbital {int(energies.argmin()) + 1} has an energy of {lowest:g} hartree, lower than an "
                f"electron can have at {SYMBOLS[heaviest]}"
            )
        for some in sorted(set(filled.tolist())):  # np.unique would import numpy.ma
            those = np.flatnonzero(filled == some)
            result += _of_order(orbitals, those, energies[those], f"{name}orbital", "energies")
        full = (filled == filled.max()) & (filled > 0)
        for fewer, more, text, what in (
            (filled == 1, filled == 2, "the singly occupied orbital {} lies", "doubly occupied"),
            (filled == 0, full, f"{name}orbital {{}} is empty and lies", "occupied"),
        ):
            if fewer.any() and more.any() and energies[more].max() > energies[fewer].min() + _SAME:
                low, high = np.where(fewer, energies, np.inf).argmin(), np.where(more, energies, -np.inf).argmax()
                result.append(
                    f"{text.format(low + 1)} below orbital {high + 1}, which is {what} ({energies[low]:.4f} and "
                    f"{energies[high]:.4f} hartree)"
                )
        # singly occupied ones below doubly occupied ones, in energy and in the file
        suspicious = not result and bool(np.any(np.diff(filled[np.argsort(energies, kind="stable")]) > 0))
    else:
        suspicious = len(set(orbitals.irreps)) < 2
    if suspicious and np.any(rises := np.diff(filled) > 0):
        n = _first(rises)
        result.append(f"{name}orbital {n} holds {filled[n - 1]:g} electrons and orbital {n + 1} holds {filled[n]:g}")
    return result


def _of_order(orbitals: Orbitals, some: NDArray[np.intp], values: Reals, what: str, quantity: str) -> list[str]:
    """The one of some orbitals whose value is out of the rising order of all others.

    Programs sort all orbitals, or write those of each irreducible representation in a block of its own. Where more are
    out of order, they are not sorted at all, as localised ones.
    """
    labels = np.array([_NUMBERING.sub("", label) for label in orbitals.irreps], object)
    n_labels = len(set(labels.tolist()))
    in_blocks = n_labels > 1 and np.count_nonzero(labels[1:] != labels[:-1]) == n_labels - 1
    for label in dict.fromkeys(labels[some].tolist()) if in_blocks else [None]:
        block = np.flatnonzero(labels[some] == label) if in_blocks else np.arange(len(some))
        there = values[block]
        falls = np.flatnonzero(np.diff(there) < -_SAME)
        if len(falls) != 1:
            continue
        for place in (int(falls[0]), int(falls[0]) + 1):
            if np.all(np.diff(np.delete(there, place)) >= -_SAME):
                number = int(some[block[place]]) + 1
                return [
                    f"{what} {number} is out of the order of {quantity} ({abs(there[place]):g} in magnitude): one of "
                    "them is damaged, or the orbitals are not sorted"
                ]
    return []


def _of_atoms(wavefunction: Wavefunction) -> list[str]:
    """Nuclei that lie on each other, and core charges that no potential has."""
    result = []
    real = np.flatnonzero(wavefunction.core_charges)
    names = atom_names(wavefunction.atomic_numbers)
    first, second = pairs_among(wavefunction.positions[real], _CLOSE)
    if len(first):
        one, other = int(real[first[0]]), int(real[second[0]])
        distance = float(np.linalg.norm(wavefunction.positions[one] - wavefunction.positions[other])) / angstrom
        result.append(f"atoms {names[one]} and {names[other]} are {distance:.2f} Angstrom apart, closer than any bond")
    cores = wavefunction.atomic_numbers - wavefunction.core_charges
    for n in real.tolist():
        number = int(wavefunction.atomic_numbers[n])
        if number > 0 and not is_usual(number, round(float(cores[n]), 6)):
            result.append(
                f"atom {names[n]} has a nuclear charge of {wavefunction.core_charges[n]:g}, which is neither "
                "that of the element nor that of a usual core potential"
            )
            break
    return result


def _of_basis(wavefunction: Wavefunction) -> list[str]:
    """Atoms of one element whose functions are the same but for one shell: a file has those of each atom by itself."""
    of_atoms: dict[int, list[Shell]] = {}
    for shell in wavefunction.shells:
        of_atoms.setdefault(shell.atom, []).append(shell)
    kinds: dict[tuple[int, tuple[tuple[int, bool, int], ...]], dict[int, list[Shell]]] = {}
    for atom, shells in of_atoms.items():
        form = tuple((shell.angular_momentum, shell.pure, len(shell.exponents)) for shell in shells)
        kinds.setdefault((int(wavefunction.atomic_numbers[atom]), form), {})[atom] = shells
    for (number, _), atoms in kinds.items():
        first, *others = atoms
        for other in others if number else ():
            pairs = list(zip(atoms[first], atoms[other], strict=True))
            different = [n for n, (one, two) in enumerate(pairs, 1) if not _are_alike(one, two)]
            if len(different) == 1 and len(pairs) > 1:
                names = atom_names(wavefunction.atomic_numbers)
                return [
                    f"the basis functions of {names[first]} and {names[other]} are the same but for those of "
                    f"shell {different[0]}: an exponent or a contraction coefficient of one of the two may be damaged"
                ]
    return []


def _are_alike(one: Shell, other: Shell) -> bool:
    if one.exponents is other.exponents and one.coefficients is other.coefficients:
        return True
    return bool(
        np.allclose(one.exponents, other.exponents, _DIGITS, 0.0)
        and np.allclose(one.coefficients, other.coefficients, _DIGITS, _DIGITS)
    )


_DIGITS = 1e-7
"""Relative deviation of numbers that a program computed twice, or rounded."""

_KINETIC = 1e-5
"""Largest deviation of a kinetic energy from that of the file, as a share of it. Those of programs are within 2e-6."""

_MOST_FUNCTIONS = 1000
"""Of basis sets whose kinetic energy is computed: of larger ones it would take longer than to read the file."""


def _of_kinetic_energy(wavefunction: Wavefunction) -> list[str]:
    """Energy and virial ratio of the file against the orbitals: hardly a number of these leaves the two the same."""
    stated = wavefunction.stated.kinetic
    if stated is None or wavefunction.n_basis > _MOST_FUNCTIONS or wavefunction.spinors is not None:
        return []
    found = kinetic_energy(wavefunction)
    if abs(found - stated) <= _KINETIC * stated:
        return []
    return [
        f"by the energies in the file the electrons have a kinetic energy of {stated:.6f} hartree, but its orbitals "
        f"give {found:.6f}: a coordinate, an exponent, a coefficient or an occupation is damaged, or they are of "
        "another method"
    ]


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


def facts(wavefunction: Wavefunction, vibrations: Vibrations | None = None) -> tuple[tuple[str, str], ...]:
    """What supporting information tells of a calculation: what, and its value with the unit, for people.

    What the file does not state is left out. Energies are in hartree; those of the vibrations are of an ideal gas, as
    `orbitile.analysis.thermochemistry.thermochemistry` has them by default.
    """
    stated, of_electrons = wavefunction.stated, not wavefunction.promolecule
    energy, method, multiplicity = stated.energy, wavefunction.method, wavefunction.multiplicity
    if vibrations is not None:
        energy = vibrations.energy if energy is None and np.isfinite(vibrations.energy) else energy
        method, multiplicity = method or vibrations.method, multiplicity or vibrations.multiplicity or None
    rows = [
        ("title", wavefunction.title.strip()),
        ("formula", formula(wavefunction)),
        ("program or format", wavefunction.program if of_electrons else ""),
        ("method", method),
        ("basis set", basis_summary(wavefunction) if of_electrons else ""),
        ("effective core potentials", core_potential_note(wavefunction)),
        ("charge", f"{round(wavefunction.charge, 3) + 0.0:g}" if of_electrons else ""),
        ("multiplicity", "" if multiplicity is None else str(multiplicity)),
        ("total energy", "" if energy is None else f"{energy:.8f} hartree"),
        *(_of_vibrations(vibrations, energy) if vibrations is not None else ()),
        *(("note", note) for note in (notes(wavefunction) if of_electrons else ["the file has no orbitals"])),
    ]
    return tuple((what, value) for what, value in rows if value)


def _of_vibrations(vibrations: Vibrations, energy: float | None) -> list[tuple[str, str]]:
    """Imaginary modes, and the energies with the zero-point energy and of an ideal gas."""
    imaginary = ", ".join(f"{value:.1f}" for value in vibrations.wavenumbers if value < 0)
    rows = [("imaginary frequencies", f"{vibrations.n_imaginary} ({imaginary} cm^-1)" if imaginary else "0")]
    try:
        found = thermochemistry(vibrations)
    except OrbitileError as error:
        return [*rows, ("free energy", f"none: {error}")]
    at = f"{found.temperature:g} K"
    at_pressure = f"{at} and {found.pressure / PRESSURE:g} atm, symmetry number {found.symmetry_number}"
    rows.append(("zero-point energy", f"{found.zero_point_energy:.6f} hartree"))
    for name, correction, where in (
        ("energy at 0 K", found.zero_point_energy, ""),
        ("enthalpy", found.enthalpy_correction, f" at {at}"),
        ("free energy", found.free_energy_correction, f" at {at_pressure}"),
    ):
        if energy is not None:
            rows.append((name, f"{energy + correction:.6f} hartree{where}"))
        elif where:
            rows.append((f"{name} correction", f"{correction:.6f} hartree{where}"))
    return rows


def vibrations_as_dictionary(vibrations: Vibrations) -> dict[str, Any]:
    """How many modes there are, the lowest in cm^-1 (negative if imaginary), and which of their strengths are known."""
    return {
        "n_modes": vibrations.n_modes,
        "n_imaginary": vibrations.n_imaginary,
        "lowest_wavenumber": float(vibrations.wavenumbers[0]) if vibrations.n_modes else None,
        "strengths": [name for name in STRENGTHS if len(getattr(vibrations, name))],
        "remarks": list(vibrations.remarks),
    }


def vibrations_as_text(vibrations: Vibrations) -> str:
    """The same in a line, as of 33 vibrations, 1 imaginary (-1520 cm^-1); infrared, raman. Remarks are below."""
    imaginary = ", ".join(f"{value:.0f} cm^-1" for value in vibrations.wavenumbers[:3] if value < 0)
    found = vibrations_as_dictionary(vibrations)
    parts = f"{vibrations.n_modes} vibrations" + (
        f", {vibrations.n_imaginary} imaginary ({imaginary})" if imaginary else ""
    )
    line = "; ".join(filter(None, (parts, ", ".join(found["strengths"]))))
    return "\n".join((line, *(f"note: {remark}" for remark in vibrations.remarks)))


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
