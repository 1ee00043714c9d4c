r"""Logs of quantum-chemistry programs, through cclib, where they print basis set and orbital coefficients.

cclib says neither whether shells are pure or Cartesian nor in which order, sign and norm their components are printed.
Where the log labels its basis functions, the labels decide, function by function: the k-th `xy` on an atom belongs to
the k-th d shell of that atom in the basis set. Where it does not (Psi4), or where cclib makes labels up (NWChem), the
order is known per program. What is left open by both is tried, in a stated order of preference, against the overlap of
the orbitals.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import ConventionError, FileError, OrbitileError
from ..model.core_potentials import settled_charges
from ..model.wavefunction import Orbitals, Stated, Wavefunction
from ._logs.basis import basis_of
from ._logs.conventions import choose_convention
from ._logs.digits import decimals, made_orthonormal
from ._logs.excitations import excitations_of, with_deexcitations
from ._logs.jaguar import REMARK, joined
from ._logs.orbitals import columns_of, energies_of, irreps_of, is_complete, occupations_of
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
    try:
        with np.errstate(all="ignore"):
            return wavefunction_from(data, program, path)
    except FileError:
        raise
    except (OrbitileError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
        raise FileError(f"{path.name}: damaged {program.name} log ({type(error).__name__}: {error})") from error


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
