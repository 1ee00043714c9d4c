r"""Logs of quantum-chemistry programs, through cclib, where they print basis set and orbital coefficients.

cclib says neither whether shells are pure or Cartesian nor in which order, sign and norm their components are printed.
Where the log labels its basis functions, the labels decide, function by function: the k-th `xy` on an atom belongs to
the k-th d shell of that atom in the basis set. Where it does not (Psi4), or where cclib makes labels up (NWChem), the
order is known per program. What is left open by both is tried, in a stated order of preference, against the overlap of
the orbitals.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import ConventionError, FileError, OrbitileError
from ..files.reading import complete_lines, damage_as_error
from ..model.core_potentials import settled_charges
from ..model.units import wavenumber
from ..model.wavefunction import Excitation, Orbitals, Stated, Wavefunction
from ._logs.orbitals import (
    REMARK,
    basis_of,
    choose_convention,
    columns_of,
    decimals,
    energies_of,
    irreps_of,
    is_complete,
    joined,
    made_orthonormal,
    occupations_of,
)
from ._logs.parsing import BOHR, ELECTRONVOLT, parse_log
from ._logs.programs import LOG_PATTERNS, Program, is_log, missing_error

DESCRIPTION = (
    "logs of Gaussian, ORCA, GAMESS, GAMESS-UK, NWChem, Psi4, Q-Chem, Molpro, Jaguar and OpenMolcas with basis set and "
    "coefficients"
)
PATTERNS = LOG_PATTERNS
KIND = "wavefunction"
ALL_DIGITS = False
recognises = is_log

_SLACK = 1e-3
"""Electrons in orbitals that may be left out: the least occupied natural ones."""


def read(path: Path) -> Wavefunction:
    """Read a wavefunction; the log has to print basis set and coefficients."""
    data, program = parse_log(path)
    return convert(data, program, path)


def convert(data: Any, program: Program, path: Path) -> Wavefunction:
    """The wavefunction in what cclib found; whatever is wrong with it, a `FileError`."""
    with damage_as_error(path, f"{program.name} log", OrbitileError):
        return wavefunction_from(data, program, path)


def wavefunction_from(data: Any, program: Program, path: Path) -> Wavefunction:
    """Wavefunction in our conventions.

    Parameters
    ----------
    data
        The `ccData` object of cclib.
    program
        The program that wrote the log.
    path
        Path of the log, for messages.
    """
    if not hasattr(data, "atomcoords") or not hasattr(data, "atomnos"):
        raise FileError(f"{path.name}: {program.name} log without atoms: cut off, or a calculation that failed at once")
    basis = basis_of(data, program, path)
    columns, natural = columns_of(data, program, path)
    numbers = np.asarray(data.atomnos, np.int64)
    core = numbers - np.asarray(getattr(data, "coreelectrons", np.zeros(len(numbers))), float)
    core, assumed = _settled(data, numbers, core)
    geometries = BOHR * np.asarray(data.atomcoords, float)
    kept = [is_complete(block) for block in columns]
    if not all(chosen.any() for chosen in kept):
        raise missing_error(data, program, path, "orbital coefficients", program.coefficients)
    everything = np.hstack([block[chosen].T for block, chosen in zip(columns, kept, strict=True)])
    pieces: tuple[str, ...] = ()
    try:
        choice, step = choose_convention(data, program, basis, geometries, everything, path)
    except ConventionError:
        whole = joined(data, program, basis, geometries[-1], everything) if program.name == "Jaguar" else None
        if whole is None:
            raise
        choice, step = choose_convention(data, program, whole, geometries, everything, path)
        pieces = (REMARK,)

    occupations, note = occupations_of(data, columns, natural, float(core.sum()))
    unread = sum(occupied[~chosen].sum() for chosen, occupied in zip(kept, occupations, strict=True))
    if unread > _SLACK:
        raise FileError(
            f"{path.name}: the orbitals of {unread:g} electrons are not printed in this {program.name} log, or not as "
            f"cclib reads them; run it again with {program.coefficients}"
        )
    n_decimals = decimals(everything)
    ours = [
        made_orthonormal(choice.shells, geometries[step], choice.applied(block[chosen].T), n_decimals)
        for block, chosen in zip(columns, kept, strict=True)
    ]
    parts = [
        Orbitals(
            ours[spin][0],
            occupied[chosen],
            energies_of(data, spin, len(block))[chosen] if not natural else np.empty(0),
            tuple(np.array(irreps_of(data, spin, len(block)), object)[chosen]) if not natural else (),
        )
        for spin, (block, chosen, occupied) in enumerate(zip(columns, kept, occupations, strict=True))
    ]
    metadata = getattr(data, "metadata", {})
    version = str(metadata.get("package_version", "")).partition("+")[0].rpartition("!")[2]
    method = str(metadata.get("method", ""))
    step_note = f"geometry {step + 1} of {len(geometries)}" if step + 1 < len(geometries) else ""
    remarks = [f"{program.name} {version}".strip() + " log", choice.name, step_note, note]
    return Wavefunction(
        atomic_numbers=np.maximum(numbers, 0),
        positions=geometries[step],
        core_charges=np.maximum(core, 0),
        shells=choice.shells,
        alpha=parts[0],
        beta=parts[1] if len(parts) > 1 else None,
        natural=natural,
        title=str(metadata.get("title", "")).strip(),
        source=str(path),
        program="; ".join(remark for remark in remarks if remark),
        geometries=geometries,
        method="/".join(part for part in (method, str(metadata.get("basis_set", ""))) if part),
        excitations=excitations_of(with_deexcitations(data, program, path), kept) if not natural else (),
        stated=_stated(data, step, len(geometries)),
        remarks=(*assumed, *pieces, *dict.fromkeys(remark for _, remark in ours if remark)),
    )


def _stated(data: Any, step: int, n_steps: int) -> Stated:
    """Charge, multiplicity and the energy of the self-consistent field, where the parser found them.

    Of several geometries there is an energy of the one whose orbitals are read where each has one, or it is the last.
    """
    charge, multiplicity = getattr(data, "charge", None), getattr(data, "mult", None)
    energies = np.asarray(getattr(data, "scfenergies", ()), float).ravel() / ELECTRONVOLT
    each, last = len(energies) == n_steps, step + 1 == n_steps
    energy = energies[step] if each else energies[-1] if last and len(energies) else np.nan
    return Stated(
        None if charge is None else float(charge),
        None if multiplicity is None else int(multiplicity),
        energy=float(energy) if np.isfinite(energy) and energy else None,  # GAMESS prints 0 where it did not converge
    )


def _settled(data: Any, numbers: NDArray[np.int64], core: NDArray[np.float64]) -> tuple[Any, tuple[str, ...]]:
    """Core charges, also of a log whose core potentials the parser does not know, and a remark if so.

    The electrons are then fewer than charge and nuclei ask for, and the HOMO is where the log says.
    """
    homos, charge = list(getattr(data, "homos", ())), getattr(data, "charge", None)
    if charge is None or not homos or np.any(core != numbers):
        return core, ()
    electrons = float(homos[0] + 1 + homos[-1] + 1)
    if float(core.sum()) - float(charge) - electrons < 1.5:
        return core, ()
    return settled_charges(np.maximum(numbers, 0), [core], electrons, float(charge))


_ROWS = {
    "Gaussian": re.compile(r"\s+(\d+)([AB]?)\s*(<-)\s*(\d+)([AB]?)\s+(-?\d*\.\d+)\s*$"),
    "ORCA": re.compile(r"\s*(\d+)([ab])\s+(->|<-)\s+(\d+)([ab])\s+:\s+\d+\.\d+ \(c=\s*(-?\d+\.\d+)\)\s*$"),
    "GAMESS": re.compile(r"\s+(\d+)()\s+()(\d+)()\s+-?\d+\.\d+\s+(-?\d+\.\d+)\s*$"),
}
"""Lines of excited states: an occupied orbital and its spin, the direction, an unoccupied one, the amplitude."""

_STATES = {
    "Gaussian": re.compile(r" Excited State\s+(\d+)"),
    "ORCA": re.compile(r"STATE\s+(\d+):"),
    "GAMESS": re.compile(r" STATE #\s*(\d+)  ENERGY"),
}
"""Lines above them."""


def with_deexcitations(data: Any, program: Program, path: Path) -> Any:
    """Excited states with the de-excitations that cclib leaves out (Gaussian, GAMESS) or turns round (ORCA)."""
    if program.name not in _STATES or not getattr(data, "etsecs", ()):
        return data
    heading, row = _STATES[program.name], _ROWS[program.name]
    first = 0 if program.name == "ORCA" else 1  # which counts orbitals from 0
    states: list[list[Any]] = []
    number, table = 0, False
    # Gaussian's and ours differ where spins share orbitals, as cclib knows of the others
    factor = np.sqrt(2) if program.name == "Gaussian" and len(data.homos) == 1 else 1.0
    for raw in complete_lines(path, 0):
        line = raw.decode("latin-1")
        if state := heading.match(line):
            before, number = number, int(state[1])
            again = number <= before and not (program.name == "ORCA" and len(states) < len(data.etsecs))
            states, table = [*([] if again else states), []], True
        elif table and (match := row.match(line)):
            low, low_spin, direction, high, high_spin, amplitude = match.groups()
            occupied = int(low) - first, int(low_spin in ("B", "b"))
            unoccupied = int(high) - first, int(high_spin in ("B", "b"))
            ends = (occupied, unoccupied) if direction == "->" else (unoccupied, occupied)
            states[-1].append([*ends, factor * float(amplitude)])
        elif program.name != "Gaussian" and not line.strip():
            table = False
    if len(states) == len(data.etsecs):
        own = program.name == "ORCA"
        data.etsecs = [more if own else [*given, *more] for given, more in zip(data.etsecs, states, strict=True)]
    return data


def excitations_of(data: Any, kept: list[NDArray[np.bool_]]) -> tuple[Excitation, ...]:
    """Excited states; those with orbitals whose coefficients are not printed are left out."""
    place = [np.where(chosen, np.cumsum(chosen) - 1, -1) for chosen in kept]
    result = []
    for n, transitions in enumerate(getattr(data, "etsecs", ())):
        rows = [(s, t, spin, a) for (s, spin), (t, other), a in transitions if spin == other and spin < len(place)]
        inside = all(0 <= s < len(place[spin]) and 0 <= t < len(place[spin]) for s, t, spin, _ in rows)
        mapped = [(place[spin][s], place[spin][t], spin, a) for s, t, spin, a in rows] if inside else []
        if not mapped or len(rows) < len(transitions) or min(min(row[:2]) for row in mapped) < 0:
            continue
        source, target, spins, amplitudes = (np.array(column) for column in zip(*mapped, strict=True))
        # X^2 - Y^2: eigenvectors of the response equations are normalised so (occupied orbitals stand first in a log)
        square = float(np.sum(np.where(source < target, 1, -1) * amplitudes**2))
        if not square > 0 or n >= len(getattr(data, "etenergies", ())):
            continue
        strengths, labels = getattr(data, "etoscs", ()), getattr(data, "etsyms", ())
        result.append(
            Excitation(
                source,
                target,
                spins,
                amplitudes / np.sqrt(square),
                float(data.etenergies[n]) * wavenumber,
                float(strengths[n]) if n < len(strengths) else float("nan"),
                str(labels[n]) if n < len(labels) else "",
                square,
            )
        )
    return tuple(result)
