r"""Logs of quantum-chemistry programs, through cclib, where they print basis set and orbital coefficients.

cclib says neither whether shells are pure or Cartesian nor in which order, sign and norm their components are printed.
Where the log labels its basis functions, the labels decide, function by function: the k-th `xy` on an atom belongs to
the k-th d shell of that atom in the basis set. Where it does not (Psi4), or where cclib makes labels up (NWChem), the
order is known per program. What is left open by both is tried, in a stated order of preference, against the overlap of
the orbitals.
"""

from __future__ import annotations

import logging
import re
import signal
import tempfile
import threading
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import ConventionError, FileError, OrbitileError
from ..files.plain import PlainFile, text_of
from ..files.reading import complete_lines, excerpt
from ..gaussians.check import TOLERANCE, checked
from ..gaussians.overlap import shell_overlap
from ..model.conventions import ANGULAR_MOMENTUM_LETTERS, angular_normalization, cartesian_powers, component_names
from ..model.core_potentials import settled_charges
from ..model.wavefunction import Excitation, Orbitals, Shell, Stated, Wavefunction
from ._isolation import OutOfTime, isolated

DESCRIPTION = "logs of Gaussian, ORCA, GAMESS, NWChem, Psi4, Q-Chem and Molpro with basis set and coefficients"
PATTERNS = ("*.log", "*.out", "*.output")


class Function(NamedTuple):
    """A basis function as a label names it: one component of a shell of an atom (from 0)."""

    atom: int
    angular_momentum: int
    pure: bool
    component: str
    sign: int = 1


@dataclass(frozen=True)
class Program:
    """What has to be known about a program to understand its logs.

    Attributes
    ----------
    name, banner : str
        Name, and a line at the beginning of its logs.
    basis, coefficients : str
        How to make it print the basis set and all orbital coefficients.
    geometry, orbitals : tuple of str
        How the lines above a geometry and above orbitals (those of alpha spin) begin, after spaces.
    labels : dict
        Labels of basis functions that the general rules would misread: their angular momentum and component.
    numbered : bool
        Whether `D 1`, `D 2`, ... number the pure components from -l to l.
    minus : set
        Angular momenta and m of pure functions that have the opposite sign of ours.
    order : function or None
        Component names of a shell, given its angular momentum and whether it is pure, with a minus where the sign is
        opposite to ours: the order in which it prints functions without labels. None where the log has labels.
    calculation : tuple of str
        How the lines above a calculation begin, where only the first one below a geometry is one at this geometry.
    """

    name: str
    banner: str
    basis: str
    coefficients: str
    geometry: tuple[str, ...]
    orbitals: tuple[str, ...]
    labels: dict[str, tuple[int, str]]
    numbered: bool = False
    minus: frozenset[tuple[int, int]] = frozenset()
    order: Callable[[int, bool], tuple[str, ...]] | None = None
    calculation: tuple[str, ...] = ()


def _from_zero(l: int, pure: bool) -> tuple[str, ...]:
    """0, +1, -1, +2, -2, ... also for p shells, where that is z, x, y; Cartesian functions as ours."""
    return ("z", "x", "y") if l == 1 and pure else component_names(l, pure)


def _ascending(l: int, pure: bool) -> tuple[str, ...]:
    """-l, ..., l with a minus sign for odd positive m; p shells x, y, z; Cartesian functions as ours."""
    if l < 2 or not pure:
        return component_names(l, pure)
    return tuple(("-" if m > 0 and m % 2 else "") + _harmonic(m) for m in range(-l, l + 1))


def _harmonic(m: int) -> str:
    return f"{'s' if m < 0 else 'c'}{abs(m)}"


_ORCA_D = {"DZ2": "c0", "DXZ": "c1", "DYZ": "s1", "DX2Y2": "c2", "DXY": "s2"}

PROGRAMS = {
    "GAMESS": Program(
        "GAMESS",
        "GAMESS VERSION",
        "$CONTRL NPRINT=7 $END",
        "$CONTRL NPRINT=7 $END",
        ("COORDINATES OF ALL ATOMS ARE", "ATOM      ATOMIC"),
        ("EIGENVECTORS", "MOLECULAR ORBITALS"),
        {},
    ),
    "Gaussian": Program(
        "Gaussian",
        "Entering Gaussian System",
        "gfinput",
        "pop=full",
        ("Standard orientation:", "Input orientation:", "Z-Matrix orientation:"),
        ("Molecular Orbital Coefficients", "Alpha Molecular Orbital Coefficients", "Natural Orbital Coefficients"),
        {},
    ),
    "ORCA": Program(
        "ORCA",
        "* O   R   C   A *",
        "! PrintBasis",
        "! PrintMOs",
        ("CARTESIAN COORDINATES (ANGSTROEM)",),
        ("MOLECULAR ORBITALS",),
        {label: (2, component) for label, component in _ORCA_D.items()},
        minus=frozenset({(3, 3), (4, 3), (4, 4), (5, 3), (5, 4)}),
    ),
    "NWChem": Program(
        "NWChem",
        "Northwest Computational Chemistry Package",
        "print basis",
        'print "final vectors" "final vectors analysis"',
        ('Geometry "geometry" -> "',),
        ("Final MO vectors",),
        {},
        order=_ascending,
        calculation=("NWChem SCF Module", "NWChem DFT Module"),
    ),
    "Psi4": Program(
        "Psi4",
        "Psi4: An Open-Source Ab Initio Electronic Structure Package",
        "set print_basis true",
        "set print_mos true",
        ("==> Geometry <==",),
        ("==> Molecular Orbitals <==", "==> Alpha-Spin Molecular Orbitals <=="),
        {},
        order=_from_zero,
    ),
    "QChem": Program(
        "Q-Chem",
        "A Quantum Leap Into The Future Of Chemistry",
        "PRINT_GENERAL_BASIS TRUE",
        "PRINT_ORBITALS 9999",
        ("Standard Nuclear Orientation",),
        ("RESTRICTED (RHF) MOLECULAR ORBITAL", "ALPHA MOLECULAR ORBITAL", "Final Alpha MO Coefficients"),
        {},
        numbered=True,
    ),
    "Molpro": Program(
        "Molpro",
        "PROGRAM SYSTEM MOLPRO",
        "gprint,basis",
        "gprint,orbitals",
        ("ATOMIC COORDINATES",),
        ("ELECTRON ORBITALS", "NATURAL ORBITALS"),
        {},
    ),
}
"""Programs by their names in cclib."""

_GEOMETRY = tuple(line.encode() for program in PROGRAMS.values() for line in program.geometry)
_CALCULATION = tuple(line.encode() for program in PROGRAMS.values() for line in program.calculation)
_ORBITALS = tuple(line.encode() for program in PROGRAMS.values() for line in program.orbitals)


def recognises(head: str) -> bool:
    """Whether the beginning of a file is the banner of one of these programs."""
    return not head.lstrip().startswith("[") and any(program.banner in head for program in PROGRAMS.values())


def read(path: Path) -> Wavefunction:
    """Read a wavefunction.

    Raises
    ------
    FileError
        When the file is no log of a program that we know, is damaged, or prints no basis set or no coefficients.
    ConventionError
        When no convention of the program that we know makes its orbitals normalised.
    """
    data, program = _parsed(path)
    return _converted(data, program, path)


def _converted(data: Any, program: Program, path: Path) -> Wavefunction:
    """The wavefunction in what cclib found; whatever is wrong with it, a `FileError`."""
    try:
        with np.errstate(all="ignore"):
            return wavefunction_from(data, program, path)
    except FileError:
        raise
    except (OrbitileError, ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
        raise FileError(f"{path.name}: damaged {program.name} log ({type(error).__name__}: {error})") from error


def read_trajectory(path: Path) -> LogFrames:
    """Frames of a log: the geometries at which it prints orbitals.

    Raises
    ------
    FileError
        When the file cannot be read.
    """
    return LogFrames(path)


class LogFrames:
    """`Frames` of a `Trajectory`, found by their places in the log; nothing else is kept in memory.

    What stands from the heading of one geometry to that of the next is a step, and a frame where orbitals are printed
    in it. cclib keeps the last orbitals of a log only. A frame is therefore read as a log of its own: what stands above
    the first orbitals of all, which has the basis set and what the parser expects to have seen, and the step. Where its
    orbitals are not orthonormal at this geometry, the one before is tried: GAMESS prints one more geometry when an
    optimisation ends unfinished.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = PlainFile(path, any_encoding=True)
        self._scanned = 0
        self._header = 0
        self._step = _Step(0, 0)
        self._calculations = 0
        self._steps: list[_Step] = []
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """Name of the file."""
        return self._path.name

    def __len__(self) -> int:
        with self._lock:
            self._scan()
            return max(len(self._steps), 1)

    def _scan(self) -> None:
        """Find the steps in what was added to the file since the last time."""
        for line in complete_lines(self._file.path, self._scanned):
            text = line.lstrip()
            if text.startswith(_GEOMETRY):
                self._step, self._calculations = _Step(self._step.start, self._scanned), 0
            elif text.startswith(_CALCULATION):
                self._calculations += 1
            elif text.startswith(_ORBITALS) and not self._step.end and self._calculations < 2:
                self._header = self._header or self._scanned
                self._steps.append(self._step)
                self._step.end = self._scanned
            self._scanned += len(line)
            if self._step.end and self._calculations < 2:
                self._step.end = self._scanned

    def read(self, index: int) -> Wavefunction:
        """Read and check one frame."""
        if not self._steps:
            return replace(checked(read(self._file.path)), source=str(self._path))
        step = self._steps[index]
        try:
            return self._read(index, step.start, step.end)
        except ConventionError:
            with suppress(OrbitileError):  # of the two, the first error is the one to be told
                return self._read(index, step.previous, step.end)
            raise

    def _read(self, index: int, start: int, end: int) -> Wavefunction:
        text = excerpt(self._file.path, 0, self._header)
        if start > self._header:
            text += b"\n\n"  # the parser may look one line beyond a table, and must not miss the heading of the step
        text += excerpt(self._file.path, max(start, self._header), end)
        with tempfile.TemporaryDirectory() as folder:
            alone = Path(folder, f"{self._path.stem[:100]}, frame {index + 1}{self._path.suffix[:20]}")
            alone.write_text(text_of(text), encoding="utf-8", newline="\n")
            wavefunction = checked(_converted(*_parsed(alone, part=True), alone))
        return replace(wavefunction, source=f"{self._path}, frame {index + 1}", geometries=wavefunction.positions[None])


@dataclass
class _Step:
    """Places in a log: of the geometry before, of the geometry, and of the end of the step; 0 without orbitals."""

    previous: int
    start: int
    end: int = 0


def _parsed(path: Path, *, part: bool = False) -> tuple[Any, Program]:
    """What cclib finds in a log, or in part of one, where it may stumble over what is missing below the orbitals."""
    attributes, program = isolated(
        attributes_of, str(path), part, name=path.name, library="cclib", size=path.stat().st_size
    )
    if part:
        attributes["metadata"].pop("success", None)  # what it says of the log is not said of its part
    return SimpleNamespace(**attributes), PROGRAMS[program]


def attributes_of(name: str, part: bool) -> tuple[dict[str, Any], str]:
    """Attributes of cclib's data of a log, or of part of one, and the name of the program in cclib.

    A damaged number may send its parsers into loops of millions of turns, so they run in a process of their own.
    """
    from importlib.metadata import version

    from cclib.io.ccio import ccopen

    path = Path(name)
    with path.open("rb") as stream:
        if b"\0" in stream.read(4096):
            raise FileError(f"{path.name}: a binary file, expected the log of a quantum-chemistry program")
    program = ""
    with _silence():
        parser = None
        try:
            parser = ccopen(str(path.resolve()), loglevel=logging.CRITICAL + 1, quiet=True)
            program = type(parser).__name__
            if program in PROGRAMS:
                parser.extract = MethodType(_extract_part if part else _extract, parser)
                with _progressing(parser.inputfile):
                    data = parser.parse()
        except (OutOfTime, OrbitileError):
            raise
        except Exception as error:  # its parsers raise whatever comes
            what = f"{PROGRAMS[program].name} log" if program in PROGRAMS else "damaged log"
            detail = f"{type(error).__name__}: {error}".rstrip(": ").split("\n")[0]
            raise FileError(
                f"{path.name}: {what} that cclib {version('cclib')} cannot read: cut off, or of a version of the "
                f"program that it does not know ({detail}). A Molden file of the same calculation would do"
            ) from error
        finally:
            if parser is not None:
                parser.inputfile.close()
    if program not in PROGRAMS:
        known = ", ".join(p.name for p in PROGRAMS.values())
        found = "not a log of any program known to cclib" if parser is None else f"a log of {program}"
        raise FileError(f"{path.name}: {found}, expected one of {known}")
    return vars(data), program


_STUCK, _STUCK_PER_BYTE = 0.3, 2e-8
"""Processor time in seconds in which a parser has to come to another line of the log."""


@contextmanager
def _progressing(stream: Any) -> Iterator[None]:
    """Stop a parser that does not go on in a log; one that has come to its end may take its time."""
    last = -1

    def look(*_: object) -> None:
        nonlocal last
        if stream.pos == last and stream.file_pointer < len(stream.files):
            raise FileError(
                f"{Path(str(stream.filenames[0])).name}: damaged near byte {stream.pos}, beyond which cclib does not "
                "get: a number there asks for more than a log can hold"
            )
        last = stream.pos

    before = signal.signal(signal.SIGPROF, look)
    allowed = _STUCK + _STUCK_PER_BYTE * stream.size
    signal.setitimer(signal.ITIMER_PROF, allowed, allowed)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _extract(parser: Any, stream: Any, line: str) -> None:
    """What cclib's parser does with a line; but orbitals that are cut off are an error, and not left incomplete."""
    from packaging.version import InvalidVersion, Version

    heading = getattr(parser, "electronorbitals", "") or line  # that of the other spin, which Molpro's parser has seen
    try:
        type(parser).extract(parser, stream, line)
    except StopIteration as error:
        if heading.lstrip().startswith(PROGRAMS[type(parser).__name__].orbitals):
            raise EOFError("within the orbitals") from error
        raise
    except InvalidVersion:  # Psi4 as Debian builds it names no branch, and cclib then makes up 1.3.2.dev+-zzzzzzz
        parser.package_version = Version(parser.metadata["legacy_package_version"])


def _extract_part(parser: Any, stream: Any, line: str) -> None:
    """The same, but what cannot be read below the orbitals ends the log."""
    from cclib.parser.logfileparser import StopParsing

    try:
        _extract(parser, stream, line)
    except Exception as error:  # its parsers raise whatever comes
        if isinstance(error, EOFError) or not hasattr(parser, "mocoeffs"):
            raise
        raise StopParsing from error
    finally:
        # cclib leaves no more geometries of a Gaussian log than it counts steps, and here it would count too few
        vars(parser).pop("optstatus", None)


_silencing = threading.Lock()


@contextmanager
def _silence() -> Iterator[None]:
    """No notes of cclib on the terminal."""
    logger = logging.getLogger("cclib")
    with _silencing, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        disabled, logger.disabled = logger.disabled, True
        try:
            yield
        finally:
            logger.disabled = disabled


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
    basis = _basis(data, program, path)
    columns, natural = _columns(data, program, path)
    numbers = np.asarray(data.atomnos, np.int64)
    core = numbers - np.asarray(getattr(data, "coreelectrons", np.zeros(len(numbers))), float)
    core, assumed = _settled(data, numbers, core)
    geometries = _bohr(np.asarray(data.atomcoords, float))
    kept = [_complete(block) for block in columns]
    if not all(chosen.any() for chosen in kept):
        raise _missing(data, program, path, "orbital coefficients", program.coefficients)
    everything = np.hstack([block[chosen].T for block, chosen in zip(columns, kept, strict=True)])
    choice, step = _chosen(data, program, basis, geometries, everything, path)

    occupations, note = _occupations(data, columns, natural, float(core.sum()))
    parts = [
        Orbitals(
            choice.applied(block[chosen].T),
            occupied[chosen],
            _energies(data, spin, len(block))[chosen] if not natural else np.empty(0),
            tuple(np.array(_irreps(data, spin, len(block)), object)[chosen]) if not natural else (),
        )
        for spin, (block, chosen, occupied) in enumerate(zip(columns, kept, occupations, strict=True))
    ]
    metadata = getattr(data, "metadata", {})
    version = str(metadata.get("package_version", "")).partition("+")[0].rpartition("!")[2]
    method = str(metadata.get("functional") or next(iter(metadata.get("methods", ())), ""))
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
        excitations=_excitations(_with_deexcitations(data, program, path), kept) if not natural else (),
        stated=_stated(data),
        remarks=assumed,
    )


def _stated(data: Any) -> Stated:
    """Charge and multiplicity, where the parser found them."""
    charge, multiplicity = getattr(data, "charge", None), getattr(data, "mult", None)
    return Stated(None if charge is None else float(charge), None if multiplicity is None else int(multiplicity))


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


_DEEXCITATION = re.compile(r"\s+(\d+)([AB]?)\s*<-\s*(\d+)([AB]?)\s+(-?\d*\.\d+)\s*$")


def _with_deexcitations(data: Any, program: Program, path: Path) -> Any:
    """Excited states as Gaussian prints them, with the de-excitations that cclib leaves out of them."""
    if program.name != "Gaussian" or not getattr(data, "etsecs", ()):
        return data
    states: list[list[Any]] = []
    number = 0
    factor = np.sqrt(2) if len(data.homos) == 1 else 1.0  # as cclib scales the others where spins share orbitals
    for raw in complete_lines(path, 0):
        line = raw.decode("latin-1")
        if line.startswith(" Excited State"):
            before, number = number, int(float(line.split()[2].rstrip(":")))
            states = [*(states if number > before else []), []]
        elif states and "<-" in line and (match := _DEEXCITATION.match(line)):
            low, low_spin, high, high_spin, amplitude = match.groups()
            occupied, unoccupied = (int(low) - 1, int(low_spin == "B")), (int(high) - 1, int(high_spin == "B"))
            states[-1].append([unoccupied, occupied, factor * float(amplitude)])
    if len(states) == len(data.etsecs):
        data.etsecs = [[*one, *more] for one, more in zip(data.etsecs, states, strict=True)]
    return data


_WAVENUMBER = 4.556335252912e-6  # hartree per cm^-1, CODATA 2018


def _excitations(data: Any, kept: list[NDArray[np.bool_]]) -> tuple[Excitation, ...]:
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
        if square <= 0 or n >= len(getattr(data, "etenergies", ())):
            continue
        strengths, labels = getattr(data, "etoscs", ()), getattr(data, "etsyms", ())
        result.append(
            Excitation(
                source,
                target,
                spins,
                amplitudes / np.sqrt(square),
                float(data.etenergies[n]) * _WAVENUMBER,
                float(strengths[n]) if n < len(strengths) else float("nan"),
                str(labels[n]) if n < len(labels) else "",
            )
        )
    return tuple(result)


def _missing(data: Any, program: Program, path: Path, what: str, remedy: str) -> FileError:
    finished = getattr(data, "metadata", {}).get("success", True)
    end = "" if finished else " and does not end as a finished calculation does"
    return FileError(f"{path.name}: this {program.name} log prints no {what}{end}; run it again with {remedy}")


_BOHR, _ELECTRONVOLT = 1.8897261245, 27.21138505
"""Bohr per Angstrom and electronvolt per hartree as cclib has them, so that its conversions are undone to the digit."""


def _bohr(angstrom: NDArray[np.float64]) -> NDArray[np.float64]:
    """The lengths that cclib had converted, as the program printed them."""
    return angstrom * _BOHR


# Basis set --------------------------------------------------------------------------------------------------------

RawShell = tuple[int, int, NDArray[np.float64], NDArray[np.float64]]
"""Atom, angular momentum, exponents, coefficients."""


def _basis(data: Any, program: Program, path: Path) -> list[RawShell]:
    """Shells of all atoms in the order of the log, contractions normalised to one."""
    gbasis = getattr(data, "gbasis", None)
    if not gbasis and program.name == "NWChem":
        gbasis = _nwchem_basis(path, data)
    if not gbasis:
        raise _missing(data, program, path, "basis set", program.basis)
    if program.name == "Q-Chem" and len(gbasis) % len(data.atomnos) == 0:
        gbasis = gbasis[-len(data.atomnos) :]  # printed at each geometry, and cclib adds it up
    if len(gbasis) != len(data.atomnos):
        raise FileError(f"{path.name}: basis set of {len(gbasis)} atoms, expected {len(data.atomnos)}")
    shells: list[RawShell] = []
    for atom, entries in enumerate(gbasis):
        for letter, primitives in entries:
            l = ANGULAR_MOMENTUM_LETTERS.index(str(letter).lower())
            exponents, coefficients = np.array(primitives, float).T
            used = coefficients != 0
            exponents, coefficients = exponents[used], coefficients[used]
            norm = _self_overlap(exponents, coefficients, l)
            if not norm > 0:
                raise FileError(f"{path.name}: {letter} shell of atom {atom + 1} has no norm: {primitives}")
            shells.append((atom, l, exponents, coefficients / np.sqrt(norm)))
    return shells


def _self_overlap(exponents: NDArray[np.float64], coefficients: NDArray[np.float64], l: int) -> float:
    """Norm of a contraction of normalised primitives."""
    a, b = exponents[:, None], exponents[None, :]
    return float(coefficients @ ((2 * np.sqrt(a * b) / (a + b)) ** (l + 1.5)) @ coefficients)


def _nwchem_basis(path: Path, data: Any) -> list[list[tuple[str, list[tuple[float, float]]]]]:
    """The basis set of an NWChem log with pure functions, which cclib passes over."""
    text = text_of(path.read_bytes())
    start = text.rfind('Basis "ao basis" -> "')
    tags = re.findall(r"^[ \t]*\d+ (\S+)[ \t]+\d+\.\d{4}(?:[ \t]+-?\d+\.\d+){3}[ \t]*$", text, re.MULTILINE)[
        -len(data.atomnos) :
    ]
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


# Orbitals ---------------------------------------------------------------------------------------------------------


def _columns(data: Any, program: Program, path: Path) -> tuple[list[NDArray[np.float64]], bool]:
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
    raise _missing(data, program, path, "orbital coefficients", program.coefficients)


def _complete(block: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which orbitals have all their coefficients: others are left at NaN or zero by cclib."""
    complete: NDArray[np.bool_] = np.isfinite(block).all(axis=1) & np.any(block != 0, axis=1)
    return complete


def _energies(data: Any, spin: int, n: int) -> NDArray[np.float64]:
    """Energies in hartree as the log printed them; NaN for those that it does not print."""
    energies = np.full(n, np.nan)
    printed = getattr(data, "moenergies", ())
    if spin < len(printed):
        values = np.array([np.nan if e is None else e for e in printed[spin]], float)[:n]
        energies[: len(values)] = values / _ELECTRONVOLT
    return energies


def _irreps(data: Any, spin: int, n: int) -> list[str]:
    printed = getattr(data, "mosyms", ())
    labels = [] if spin >= len(printed) else [str(label or "") for label in printed[spin]]
    return labels if len(labels) == n else [""] * n


def _occupations(
    data: Any, columns: Sequence[NDArray[np.float64]], natural: bool, core_charge: float
) -> tuple[list[NDArray[np.float64]], str]:
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


# Conventions ------------------------------------------------------------------------------------------------------


_MOST_GEOMETRIES = 50
"""Geometries of a log that are tried, from the last one backwards."""


@dataclass(frozen=True, eq=False)
class Choice:
    """Rows of the log's coefficients in our order, and the factors that take them to our signs and norms."""

    name: str
    shells: tuple[Shell, ...]
    rows: NDArray[np.intp]
    factors: NDArray[np.float64]

    def applied(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Coefficients in our conventions."""
        return coefficients[self.rows] * self.factors[:, None]


def decoded(label: str, program: Program) -> Function:
    """The basis function that a label of cclib's, such as `C1_2PX` or `O3_4D+1`, names.

    Raises
    ------
    ConventionError
        When the label means nothing to us.
    """
    match = re.fullmatch(r"[A-Za-z]*?(\d+)_\s*\d*\s*(\S.*?)\s*", label)
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
        if harmonic := re.fullmatch(r"([A-Z])(?:([+-]?)(\d+)|(\d+)([+-]))", name):
            l = ANGULAR_MOMENTUM_LETTERS.find(harmonic[1].lower())
            m = int(harmonic[3] or harmonic[4]) * (-1 if "-" in (harmonic[2], harmonic[5]) else 1)
            if program.numbered:
                m -= l + 1
            if l > 1 and abs(m) <= l:
                return Function(atom, l, True, _harmonic(m), -1 if (l, abs(m)) in program.minus else 1)
    raise ConventionError(f"{program.name} label {label!r} names no basis function that we know")


def _chosen(
    data: Any,
    program: Program,
    basis: Sequence[RawShell],
    geometries: NDArray[np.float64],
    coefficients: NDArray[np.float64],
    path: Path,
) -> tuple[Choice, int]:
    """The first candidate in which the orbitals are normalised as well as the printed digits allow, and its geometry.

    The last geometry is preferred; logs of optimisations that print orbitals only once may need another one.
    """
    n_basis = len(coefficients)
    labels = list(getattr(data, "aonames", ()))
    try:
        if program.order is not None:
            candidates = list(_by_order(program.order, basis, n_basis))
        else:
            candidates = list(_by_label([decoded(label, program) for label in labels], basis, n_basis))
    except OrbitileError as error:
        raise ConventionError(f"{path.name}: {error}") from error
    if not candidates:
        raise ConventionError(
            f"{path.name}: {n_basis} coefficients in each orbital of this {program.name} log, which fits its basis set "
            "neither with pure nor with Cartesian functions"
        )
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


def _residual(choice: Choice, positions: NDArray[np.float64], coefficients: NDArray[np.float64]) -> tuple[float, float]:
    """Largest deviation of a norm from one, and six standard deviations of what the last printed digit can do to it."""
    overlap = shell_overlap(choice.shells, positions, choice.shells, positions)
    ours = choice.applied(coefficients)
    image = overlap @ ours
    norms = np.einsum("mi,mi->i", ours, image)
    unit = 10.0 ** -_decimals(coefficients)
    noise = 2 * unit / np.sqrt(12) * np.sqrt(np.einsum("mi,mi->i", image, image))
    return float(np.max(np.abs(norms - 1))), float(6 * noise.max())


def _decimals(values: NDArray[np.float64]) -> int:
    """Number of decimals that the values are printed with."""
    sample = values.ravel()[:100_000]
    return next((n for n in range(3, 12) if np.allclose(sample, np.round(sample, n), rtol=0, atol=1e-13)), 12)


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
            raise ConventionError(
                f"labels of the basis functions do not cover {ANGULAR_MOMENTUM_LETTERS[l]} shell {k + 1} of atom "
                f"{atom + 1}; where symmetry shortens them, run the calculation without symmetry"
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
        rows: list[int] = []
        signs: list[float] = []
        for shell in shells:
            l, first = shell.angular_momentum, len(rows)
            theirs = order(l, pure)
            place = {name.lstrip("-"): n for n, name in enumerate(theirs)}
            for name in component_names(l, pure):
                rows.append(first + place[name])
                signs.append(-1.0 if theirs[place[name]].startswith("-") else 1.0)
        polarised = any(shell.angular_momentum > 1 for shell in shells)
        name = ("pure" if pure else "Cartesian") + " functions" if polarised else ""
        yield from _with_norms(name, shells, np.array(rows, np.intp), np.array(signs))


def _with_norms(
    name: str, shells: tuple[Shell, ...], rows: NDArray[np.intp], signs: NDArray[np.float64]
) -> Iterator[Choice]:
    """Candidates for the norm of Cartesian functions: each one normalised, or all as x^l."""
    yield Choice(name, shells, rows, signs)
    if any(shell.angular_momentum > 1 and not shell.pure for shell in shells):
        factors = np.concatenate([_shared_norm(shell) for shell in shells])
        yield Choice(
            "Cartesian functions with the norm of x^l",
            shells,
            rows,
            signs * factors,
        )


def _shared_norm(shell: Shell) -> NDArray[np.float64]:
    if shell.pure:
        return np.ones(shell.n_functions)
    l = shell.angular_momentum
    return np.array([angular_normalization((l, 0, 0)) / angular_normalization(p) for p in cartesian_powers(l)])
