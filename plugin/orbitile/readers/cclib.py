r"""Logs of quantum-chemistry programs, through cclib, where they print basis set and orbital coefficients.

cclib says neither whether shells are pure or Cartesian nor in which order, sign and norm their components are printed.
Where the log labels its basis functions, the labels decide, function by function: the k-th `xy` on an atom belongs to
the k-th d shell of that atom in the basis set. Where it does not (Psi4), or where cclib makes labels up (NWChem), the
order is known per program. What is left open by both is tried, in a stated order of preference, against the overlap of
the orbitals.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Flags, Indices, Reals
from ..base.errors import ConventionError, FileError, OrbitileError
from ..files.encodings import text_of
from ..files.reading import complete_lines, damage_as_error
from ..gaussians.orthonormality import TOLERANCE
from ..gaussians.overlap import shell_overlap
from ..model.conventions import ANGULAR_MOMENTUM_LETTERS, angular_normalization, cartesian_powers, component_names
from ..model.core_potentials import settled_charges
from ..model.units import wavenumber
from ..model.wavefunction import Excitation, Orbitals, Shell, Stated, Wavefunction
from ._contractions import normalised, order_and_signs
from ._logs import BOHR, ELECTRONVOLT, LOG_PATTERNS, Program, harmonic, is_log, missing_error, parse_log

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
        lacks = f"cclib finds no orbitals of {unread:g} electrons in this {program.name} log"
        raise FileError(f"{path.name}: {lacks}; run it again with {program.coefficients}")
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


def _settled(data: Any, numbers: NDArray[np.int64], core: Reals) -> tuple[Any, tuple[str, ...]]:
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


def excitations_of(data: Any, kept: list[Flags]) -> tuple[Excitation, ...]:
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


# ---- basis set and orbitals

RawShell = tuple[int, int, Reals, Reals]
"""Atom, angular momentum, exponents, coefficients."""


def basis_of(data: Any, program: Program, path: Path) -> list[RawShell]:
    """Shells of all atoms in the order of the log, contractions normalised to one."""
    gbasis = getattr(data, "gbasis", None)
    if not gbasis and program.name == "NWChem":
        gbasis = nwchem_basis(path, data)
    if not gbasis:
        raise missing_error(data, program, path, "basis set", program.basis)
    if program.name == "Q-Chem" and len(gbasis) % len(data.atomnos) == 0:
        gbasis = gbasis[-len(data.atomnos) :]  # printed at each geometry, and cclib adds it up
    if len(gbasis) != len(data.atomnos):
        raise FileError(f"{path.name}: expected a basis set of {len(data.atomnos)} atoms, got {len(gbasis)}")
    shells: list[RawShell] = []
    for atom, entries in enumerate(gbasis):
        for letter, primitives in entries:
            l = ANGULAR_MOMENTUM_LETTERS.index(str(letter).lower())
            exponents, coefficients = np.array(primitives, float).T
            used = coefficients != 0
            if not used.any():
                raise FileError(
                    f"{path.name}: the basis set of this {program.name} log has a function without coefficients on "
                    f"atom {atom + 1}, as cclib reads it; try a Molden file of the same calculation"
                )
            exponents, coefficients = exponents[used], coefficients[used]
            shells.append((atom, l, exponents, normalised(exponents, coefficients, l)))
    return shells


def nwchem_basis(path: Path, data: Any) -> list[list[tuple[str, list[tuple[float, float]]]]]:
    """The basis set of an NWChem log with pure functions, which cclib passes over."""
    text = text_of(path.read_bytes())
    start = text.rfind('Basis "ao basis" -> "')
    rows = re.findall(r"^[ \t]*\d+ (\S+)[ \t]+\d+\.\d{4}(?:[ \t]+-?\d+\.\d+){3}[ \t]*$", text, re.MULTILINE)
    tags = rows[-len(data.atomnos) :]
    if start < 0 or len(tags) != len(data.atomnos):
        return []
    blocks: dict[str, list[tuple[str, list[tuple[float, float]]]]] = {}
    current: list[tuple[str, list[tuple[float, float]]]] = []
    numbers: list[int] = []
    for line in text[start:].split("\n")[2:]:
        if heading := re.match(r"\s{1,4}(\S+) \(.+\)\s*$", line):
            current = blocks.setdefault(heading[1], [])
            numbers = []
        elif entry := re.match(r"\s*(\d+) ([A-Z])\s+(\S+)\s+(\S+)\s*$", line):
            if int(entry[1]) not in numbers:
                numbers.append(int(entry[1]))
                current.append((entry[2], []))
            current[-1][1].append((float(entry[3]), float(entry[4])))
        elif line.strip() and not re.match(r"[-\s]+$|\s*Exponent\s+Coefficients", line):
            break
    return [blocks[tag] for tag in tags] if set(tags) <= set(blocks) else []


_DEVIATIONS = 6
"""Standard deviations that rounding is allowed to move a norm or an overlap of two orbitals."""


def decimals(values: Reals) -> int:
    """Number of decimals that values are printed with."""
    sample = values.ravel()[:100_000]
    return next((n for n in range(3, 12) if np.allclose(sample, np.round(sample, n), rtol=0, atol=1e-13)), 12)


def noise(image: Reals, n_decimals: int) -> float:
    """What rounding can do to the norm of an orbital C: an error of each coefficient, times twice (S C)."""
    one = 2 * 10.0**-n_decimals / np.sqrt(12)
    return float(_DEVIATIONS * one * np.sqrt(np.einsum("mi,mi->i", image, image)).max())


def made_orthonormal(
    shells: Sequence[Shell], positions: Reals, coefficients: Reals, n_decimals: int
) -> tuple[Reals, str]:
    """Orbitals of one spin, made orthonormal where rounding alone keeps them from being so, and a remark if they were.

    Symmetric orthonormalisation changes orbitals by the least that there is (P. O. Loewdin, J. Chem. Phys. 1950, 18,
    365): here by less than what was rounded off.

    Parameters
    ----------
    shells
        Of the basis set.
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    coefficients : ndarray, shape (n_basis, n_orbitals)
        In our conventions.
    n_decimals
        Digits behind the point in the log.
    """
    image = shell_overlap(shells, positions, shells, positions) @ coefficients
    overlap = coefficients.T @ image
    deviation = float(np.abs(overlap - np.eye(len(overlap))).max())
    if deviation <= TOLERANCE or deviation > noise(image, n_decimals):
        return coefficients, ""
    values, vectors = np.linalg.eigh(overlap)
    return coefficients @ (vectors / np.sqrt(values)) @ vectors.T, (
        f"orbitals are printed with {n_decimals} decimals, with which they are orthonormal within {deviation:.0e} "
        "only; they were made orthonormal within these digits"
    )


class Function(NamedTuple):
    """A basis function as a label names it: one component of a shell of an atom (from 0)."""

    atom: int
    angular_momentum: int
    pure: bool
    component: str
    sign: int = 1


_MOST_GEOMETRIES = 50
"""Geometries of a log that are tried, from the last one backwards."""


@dataclass(frozen=True, eq=False)
class Choice:
    """Rows of the log's coefficients in our order, and the factors that take them to our signs and norms."""

    name: str
    shells: tuple[Shell, ...]
    rows: Indices
    factors: Reals

    def applied(self, coefficients: Reals) -> Reals:
        """Coefficients in our conventions."""
        return coefficients[self.rows] * self.factors[:, None]


def decoded(label: str, program: Program) -> Function:
    """The basis function that a label of cclib's, such as `C1_2PX` or `O3_4D+1`, names.

    Raises
    ------
    ConventionError
        When the label means nothing to us.
    """
    match = re.fullmatch(r"[A-Za-z]*?(\d+)_\s*[\d*]*\s*(\S.*?)\s*", label)
    if match is not None:
        atom, name = int(match[1]) - 1, match[2].upper().replace(" ", "")
        if name in program.labels:
            l, component = program.labels[name]
            return Function(atom, l, True, component)
        if name == "S":
            return Function(atom, 0, False, "1")
        if powers := re.fullmatch(r"[PDFGHI]?([XYZ]+)", name):
            l = len(powers[1])
            return Function(atom, l, False, "".join(sorted(powers[1].lower())))
        if spherical := re.fullmatch(r"([A-Z])(?:([+-]?)(\d+)|(\d+)([+-]))", name):
            l = ANGULAR_MOMENTUM_LETTERS.find(spherical[1].lower())
            m = int(spherical[3] or spherical[4]) * (-1 if "-" in (spherical[2], spherical[5]) else 1)
            if program.numbered:
                m -= l + 1
            if l > 1 and abs(m) <= l:
                return Function(atom, l, True, harmonic(m), -1 if (l, abs(m)) in program.minus else 1)
    raise ConventionError(f"{program.name} label {label!r}: not the label of a known basis function")


def choose_convention(
    data: Any, program: Program, basis: Sequence[RawShell], geometries: Reals, coefficients: Reals, path: Path
) -> tuple[Choice, int]:
    """The first candidate in which the orbitals are normalised as well as the printed digits allow, and its geometry.

    The last geometry is preferred; logs of optimisations that print orbitals only once may need another one.
    """
    n_basis = len(coefficients)
    try:
        candidates = candidates_of(data, program, basis, n_basis)
    except OrbitileError as error:
        raise ConventionError(f"{path.name}: {error}") from error
    if not candidates:
        got = f"{n_basis} coefficients in each orbital of this {program.name} log"
        raise ConventionError(f"{path.name}: {got} fit its basis set neither with pure nor with Cartesian functions")
    residuals = []
    for step in range(len(geometries) - 1, max(-1, len(geometries) - 1 - _MOST_GEOMETRIES), -1):
        for candidate in candidates:
            residual, allowed = _residual(candidate, geometries[step], coefficients)
            if residual <= max(TOLERANCE, allowed):
                return candidate, step
            if step == len(geometries) - 1:
                residuals.append(f"{candidate.name or 'as printed'}: {residual:.1e}")
    raise ConventionError(
        f"{path.name}: norms of the orbitals of this {program.name} log are off by more than its digits explain "
        f"({', '.join(residuals)}); orbitals and geometry of different steps, or an unknown order of basis functions"
    )


def candidates_of(data: Any, program: Program, basis: Sequence[RawShell], n_basis: int) -> list[Choice]:
    """What the rows of the coefficients may be, by labels or by the order that the program is known for."""
    if program.order is not None:
        return list(_by_order(program.order, basis, n_basis))
    labels = list(getattr(data, "aonames", ()))
    return list(_by_label([decoded(label, program) for label in labels], basis, n_basis))


def _residual(choice: Choice, positions: Reals, coefficients: Reals) -> tuple[float, float]:
    """Largest deviation of a norm from one, and what the last printed digit can do to it."""
    overlap = shell_overlap(choice.shells, positions, choice.shells, positions)
    ours = choice.applied(coefficients)
    image = overlap @ ours
    norms = np.einsum("mi,mi->i", ours, image)
    return float(np.max(np.abs(norms - 1))), noise(image, decimals(coefficients))


def _by_label(functions: Sequence[Function], basis: Sequence[RawShell], n_basis: int) -> Iterator[Choice]:
    """The order that the labels state: the k-th function of a name belongs to the k-th shell."""
    if len(functions) != n_basis:
        raise ConventionError(f"{len(functions)} labelled basis functions, expected {n_basis}")
    rows: dict[tuple[int, int, str], list[int]] = defaultdict(list)
    purity: dict[tuple[int, int], set[bool]] = defaultdict(set)
    for row, function in enumerate(functions):
        rows[function.atom, function.angular_momentum, function.component].append(row)
        purity[function.atom, function.angular_momentum].add(function.pure)
    taken: dict[tuple[int, int], int] = defaultdict(int)
    shells, order = [], []
    for atom, l, exponents, contraction in basis:
        k = taken[atom, l]
        taken[atom, l] += 1
        pure = True in purity[atom, l]
        try:
            order += [rows[atom, l, name][k] for name in component_names(l, pure)]
        except IndexError as error:
            shell = f"{ANGULAR_MOMENTUM_LETTERS[l]} shell {k + 1} of atom {atom + 1}"
            raise ConventionError(
                f"labels of the basis functions do not cover {shell}; run the calculation without symmetry"
            ) from error
        shells.append(Shell(atom, l, pure, exponents, contraction))
    if len(order) != n_basis:
        raise ConventionError(f"basis set of {len(order)} functions, but {n_basis} labels")
    signs = np.array([functions[row].sign for row in order], float)
    yield from _with_norms("", tuple(shells), np.array(order, np.intp), signs)


def _by_order(
    order: Callable[[int, bool], tuple[str, ...]], basis: Sequence[RawShell], n_basis: int
) -> Iterator[Choice]:
    """The order that the program is known for, with pure and Cartesian functions as their number allows."""
    for pure in (True, False):
        shells = tuple(Shell(atom, l, pure, *contraction) for atom, l, *contraction in basis)
        if sum(shell.n_functions for shell in shells) != n_basis:
            continue
        theirs = {shell: order(shell.angular_momentum, pure) for shell in shells}
        rows, signs = order_and_signs(shells, theirs.__getitem__)
        polarised = any(shell.angular_momentum > 1 for shell in shells)
        name = ("pure" if pure else "Cartesian") + " functions" if polarised else ""
        yield from _with_norms(name, shells, rows, signs)


def _with_norms(name: str, shells: tuple[Shell, ...], rows: Indices, signs: Reals) -> Iterator[Choice]:
    """Candidates for the norm of Cartesian functions: each one normalised, or all as x^l."""
    yield Choice(name, shells, rows, signs)
    if any(shell.angular_momentum > 1 and not shell.pure for shell in shells):
        factors = np.concatenate([_shared_norm(shell) for shell in shells])
        yield Choice("Cartesian functions with the norm of x^l", shells, rows, signs * factors)


def _shared_norm(shell: Shell) -> Reals:
    if shell.pure:
        return np.ones(shell.n_functions)
    l = shell.angular_momentum
    return np.array([angular_normalization((l, 0, 0)) / angular_normalization(p) for p in cartesian_powers(l)])


def columns_of(data: Any, program: Program, path: Path) -> tuple[list[Reals], bool]:
    """Coefficients by spin, orbitals in rows, and whether they are natural orbitals."""
    for name in ("mocoeffs", "nocoeffs", "nsocoeffs"):
        blocks = getattr(data, name, None)
        if blocks is None or len(blocks) == 0:
            continue
        natural = name != "mocoeffs"
        spins = [np.asarray(blocks, float)] if name == "nocoeffs" else [np.asarray(block, float) for block in blocks]
        if not natural:  # NWChem logs may hold several sets, the last of which counts
            spins = spins[-1 if len(getattr(data, "homos", (0,))) == 1 else -2 :]
            if len(spins) < len(getattr(data, "moenergies", ())):
                raise FileError(f"{path.name}: energies of two spins, but orbitals of one: cut off")
        return spins, natural
    raise missing_error(data, program, path, "orbital coefficients", program.coefficients)


def is_complete(block: Reals) -> Flags:
    """Which orbitals have all their coefficients: others are left at NaN or zero by cclib."""
    return np.isfinite(block).all(axis=1) & np.any(block != 0, axis=1)


def energies_of(data: Any, spin: int, n: int) -> Reals:
    """Energies in hartree as the log printed them; NaN for those that it does not print."""
    energies = np.full(n, np.nan)
    printed = getattr(data, "moenergies", ())
    if spin < len(printed):
        values = np.array([np.nan if e is None else e for e in printed[spin]], float)[:n]
        energies[: len(values)] = values / ELECTRONVOLT
    return energies


def irreps_of(data: Any, spin: int, n: int) -> list[str]:
    """Symmetries of the orbitals of a spin; empty where the log does not print them."""
    printed = getattr(data, "mosyms", ())
    labels = [] if spin >= len(printed) else [str(label or "") for label in printed[spin]]
    return labels if len(labels) == n else [""] * n


def occupations_of(data: Any, columns: Sequence[Reals], natural: bool, core_charge: float) -> tuple[list[Reals], str]:
    """Occupations by spin, and a note where they are not those that the log states."""
    if natural:
        numbers = data.nooccnos if len(columns) == 1 and hasattr(data, "nooccnos") else data.nsooccnos
        spins = [numbers] if len(columns) == 1 else numbers
        return [np.asarray(spin, float) for spin in spins], ""
    homos = [int(homo) + 1 for homo in getattr(data, "homos", ())]
    counts = (homos[0], homos[-1]) if homos else None
    note = ""
    if hasattr(data, "charge") and hasattr(data, "mult"):
        electrons, unpaired = round(core_charge - float(data.charge)), int(data.mult) - 1
        stated = ((electrons + unpaired) // 2, (electrons - unpaired) // 2)
        if counts is None or sum(counts) != electrons:
            counts, note = stated, "occupations from charge and multiplicity"
    if counts is None:
        raise ValueError("number of electrons not found")
    each = [(np.arange(len(block)) < n).astype(float) for block, n in zip(columns, counts, strict=False)]
    if len(columns) == 1:
        n = len(columns[0])
        each = [(np.arange(n) < counts[0]).astype(float) + (np.arange(n) < counts[1])]
    return each, note


REMARK = "the pieces in which the log prints contractions were put together so that the orbitals are orthonormal"


def joined(
    data: Any, program: Program, basis: Sequence[RawShell], positions: Reals, coefficients: Reals
) -> list[RawShell] | None:
    """The basis set with the pieces of each kind of contraction in the ratio that makes the orbitals normalised.

    The last primitive of such a contraction has the coefficient 1, as if it were alone. Its ratio to the others is
    found by least squares of the norms of all orbitals, which are many more than kinds of contractions.

    Returns
    -------
    list or None
        None where no contraction is in pieces.
    """
    from scipy.optimize import least_squares

    printed = [entry for atom in data.gbasis for entry in atom]
    split = [len(primitives) > 1 and abs(primitives[-1][1] - 1) < 1e-6 for _, primitives in printed]
    kinds: dict[tuple[int, bytes], int] = {}
    for (_, l, exponents, _), is_split in zip(basis, split, strict=True):
        if is_split:
            kinds.setdefault((l, exponents.tobytes()), len(kinds))
    if not kinds:
        return None

    def with_ratios(ratios: Reals) -> list[RawShell]:
        shells = []
        for (atom, l, exponents, contraction), (_, primitives), is_split in zip(basis, printed, split, strict=True):
            if is_split:
                pieces = np.array(primitives, float)[:, 1]
                pieces[:-1] *= np.exp(ratios[kinds[l, exponents.tobytes()]])
                contraction = normalised(exponents, pieces, l)
            shells.append((atom, l, exponents, contraction))
        return shells

    def errors(ratios: Reals) -> Reals:
        choice = candidates_of(data, program, with_ratios(ratios), len(coefficients))[0]
        ours = choice.applied(coefficients)
        overlap = shell_overlap(choice.shells, positions, choice.shells, positions)
        return np.asarray(np.einsum("mi,mn,ni->i", ours, overlap, ours) - 1, np.float64)

    return with_ratios(least_squares(errors, np.zeros(len(kinds)), x_scale=0.5).x)
