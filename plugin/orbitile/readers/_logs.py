"""Logs of quantum-chemistry programs: in what the programs differ, what cclib finds, and which method a log names.

cclib does not read logs of ORCA 6, which prints the steps of its iterations otherwise. Of its logs only what orbitals
need is read, into attributes of the names and units that cclib has; headings and tables are those of the logs of ORCA 4
to 6.1.

cclib knows most names of methods beyond the self-consistent field, but the functional of few programs. Excited states
are listed by themselves, so that a log of TD-B3LYP is one of B3LYP, and one of CIS of HF.
"""

from __future__ import annotations

import logging
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import Any

import numpy as np

from ..base.errors import FileError, OrbitileError
from ..files.reading import complete_lines
from ..model.conventions import component_names
from ..model.elements import SYMBOLS
from ..model.units import wavenumber
from ._isolation import OutOfTime, isolated

LOG_PATTERNS = ("*.log", "*.out", "*.output")
"""Names of their logs."""


@dataclass(frozen=True)
class Program:
    """What has to be known about a program to understand its logs.

    Attributes
    ----------
    name : str
        Its name.
    banner : tuple of str
        What stands in the first lines of its logs, one or the other.
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
    banner: tuple[str, ...]
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
    return tuple(("-" if m > 0 and m % 2 else "") + harmonic(m) for m in range(-l, l + 1))


def harmonic(m: int) -> str:
    return f"{'s' if m < 0 else 'c'}{abs(m)}"


_ORCA_D = {"DZ2": "c0", "DXZ": "c1", "DYZ": "s1", "DX2Y2": "c2", "DXY": "s2"}

PROGRAMS = {
    "GAMESS": Program(
        "GAMESS",
        ("GAMESS VERSION",),
        "$CONTRL NPRINT=7 $END",
        "$CONTRL NPRINT=7 $END",
        ("COORDINATES OF ALL ATOMS ARE", "ATOM      ATOMIC"),
        ("EIGENVECTORS", "MOLECULAR ORBITALS"),
        {},
    ),
    "Gaussian": Program(
        "Gaussian",
        ("Entering Gaussian System",),
        "gfinput",
        "pop=full",
        ("Standard orientation:", "Input orientation:", "Z-Matrix orientation:"),
        ("Molecular Orbital Coefficients", "Alpha Molecular Orbital Coefficients", "Natural Orbital Coefficients"),
        {},
    ),
    "ORCA": Program(
        "ORCA",
        ("* O   R   C   A *",),
        "! PrintBasis, or open the .gbw file of the calculation",
        "! PrintMOs, or open the .gbw file of the calculation",
        ("CARTESIAN COORDINATES (ANGSTROEM)",),
        ("MOLECULAR ORBITALS",),
        {label: (2, component) for label, component in _ORCA_D.items()},
        minus=frozenset({(3, 3), (4, 3), (4, 4), (5, 3), (5, 4)}),
    ),
    "NWChem": Program(
        "NWChem",
        ("Northwest Computational Chemistry Package",),
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
        ("Psi4: An Open-Source Ab Initio Electronic Structure Package",),
        "set print_basis true",
        "set print_mos true",
        ("==> Geometry <==",),
        ("==> Molecular Orbitals <==", "==> Alpha-Spin Molecular Orbitals <=="),
        {},
        order=_from_zero,
    ),
    "QChem": Program(
        "Q-Chem",
        ("A Quantum Leap Into The Future Of Chemistry",),
        "PRINT_GENERAL_BASIS TRUE",
        "PRINT_ORBITALS 9999",
        ("Standard Nuclear Orientation",),
        ("RESTRICTED (RHF) MOLECULAR ORBITAL", "ALPHA MOLECULAR ORBITAL", "Final Alpha MO Coefficients"),
        {},
        numbered=True,
    ),
    "Molpro": Program(
        "Molpro",
        ("PROGRAM SYSTEM MOLPRO", "1PROGRAM * "),
        "gprint,basis",
        "gprint,orbitals",
        ("ATOMIC COORDINATES",),
        ("ELECTRON ORBITALS", "NATURAL ORBITALS"),
        {},
    ),
    "GAMESSUK": Program(
        "GAMESS-UK",
        ("GAMESS-UK Input Data Set", "===  G A M E S S - U K    ==="),
        "RUNTYPE SCF, which prints it unless NOPRINT is set",
        "FORMAT HIGH and without NOPRINT VECTORS",
        ("molecular geometry", "point  "),
        ("eigenvectors",),
        {},
    ),
    "Jaguar": Program(
        "Jaguar",
        ("Jaguar version",),
        "ip1=2 in &gen",
        "ip102=8 and ipvirt=-1 in &gen",
        ("Input geometry:", "Symmetrized geometry:", "new geometry:"),
        ("occupied + virtual orbitals: final wave function", "occupied orbitals: final wave function"),
        {},
    ),
    "Molcas": Program(
        "OpenMolcas",
        ("This run of MOLCAS", "OPENMOLCAS"),
        "MOLCAS_PRINT=3; its .scf.h5 or .rasscf.h5 has everything, with all digits",
        "MOLCAS_PRINT=3; its .scf.h5 or .rasscf.h5 has everything, with all digits",
        ("**** Cartesian Coordinates", "Cartesian coordinates in Angstrom:"),
        ("Molecular orbitals for symmetry species",),
        {},
    ),
}
"""Programs by their names in cclib."""


_SLATER = "its basis functions are Slater functions, which are not supported"
_MOLDEN = "its Molden file of the same calculation can be read"

INSTEAD = {
    "ADF": _SLATER,
    "MOPAC": _SLATER,
    "DALTON": f"{_MOLDEN} (molden.inp, in the archive of the calculation)",
    "CFOUR": f"{_MOLDEN} (MOLDEN)",
    "Turbomole": "its orbitals are in the folder of the calculation: give that, or the file control in it",
    "XTB": f"{_MOLDEN} (molden.input, by xtb --molden)",
}
"""What to do with programs whose logs have no orbitals that we read, by their names in cclib."""

OTHERS = {
    "CP2K": ("CP2K|", f"{_MOLDEN} (MO_MOLDEN in PRINT in DFT)"),
    "AMS": ("Amsterdam Modeling Suite", _SLATER),
    "DFTB+": ("|  DFTB+", "its orbitals are in files of its own (eigenvec.bin), which are not read"),
}
"""Programs that cclib does not know: what their logs begin with, and what to do."""

BANNERS = tuple(banner for program in PROGRAMS.values() for banner in program.banner)


def is_log(head: str) -> bool:
    """Whether the beginning of a file is the banner of one of these programs."""
    return not head.lstrip().startswith("[") and any(banner in head for banner in BANNERS)


def missing_error(data: Any, program: Program, path: Path, what: str, remedy: str) -> FileError:
    finished = getattr(data, "metadata", {}).get("success", True)
    end = "" if finished else " and does not end as a finished calculation does"
    return FileError(f"{path.name}: this {program.name} log prints no {what}{end}; run it again with {remedy}")


# ---- what cclib finds, and logs of ORCA 6

_ATOM = re.compile(r"\s*\d+ ([A-Z][a-z]?):?\s+(-?\d+\.\d+)\*?\s+-?\d+\s+\d+\.\d+" + 3 * r"\s+(-?\d+\.\d+)")
_ORBITAL_ENERGY = re.compile(r"\s*(\d+)\s+\d\.\d+\s+(-?\d+\.\d+)\s+-?\d+\.\d+(?:\s+\d+-(\S+))?")
_COEFFICIENTS = re.compile(r"\s*(\d+)([A-Z][a-z]?):?\s+(\d+\S+)\s+(-?\d+\.\d{6}.*)")
_STATE = re.compile(r"STATE\s+\d+:\s+E=\s+(-?\d+\.\d+) au.*?(?:Sym:\s+(\S+)\s*)?(?:Mult\s+(\d+))?$")
_EXCITATION = re.compile(r"\s*(\d+)([ab])\s+(->|<-)\s+(\d+)([ab])\s+:\s+\d+\.\d+ \(c=\s*(-?\d+\.\d+)\)")

_SPINS = {"1": "Singlet", "2": "Doublet", "3": "Triplet", "4": "Quartet", "5": "Quintet"}
"""What cclib calls multiplicities."""


def attributes_of_log(path: Path) -> dict[str, Any]:
    """What a log of ORCA prints last of atoms, basis set, orbitals and excited states.

    Raises
    ------
    FileError
        When a table is cut off, or orbitals are not filled from below.
    ValueError, LookupError
        When it is damaged otherwise.
    """
    log = _Log(path)
    try:
        log.scan()
    except (StopIteration, RuntimeError) as error:  # the second is what becomes of the first in a generator
        raise FileError(f"{path.name}: cut off within a table of this ORCA log") from error
    return log.found


class _Log:
    """A log, line by line."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self.lines = _Lines(path)
        self.found: dict[str, Any] = {"metadata": {"package": "ORCA", "success": False}}
        self.geometries: list[np.ndarray] = []
        self.energies: list[list[float]] = []
        self.groups: list[str] = []

    def scan(self) -> None:
        """Go through all lines, table by table."""
        tables = (
            ("CARTESIAN COORDINATES (A.U.)", self._geometry),
            ("BASIS SET INFORMATION", self._basis_groups),
            ("BASIS SET IN INPUT FORMAT", self._basis),
            ("ORBITAL ENERGIES", self._orbital_energies),
            ("MOLECULAR ORBITALS", self._orbitals),
            ("TD-DFT", self._excited_states),
            ("CIS", self._excited_states),
            ("STATE ", self._excited_state),
        )
        for line in self.lines:
            for heading, read in tables:
                if line.startswith(heading):
                    read(line)
                    break
            else:
                self._statement(line)

    def _statement(self, line: str) -> None:
        words = line.split()
        if words[:2] == ["Program", "Version"]:
            self.found["metadata"]["package_version"] = words[2]
        elif words[:3] == ["Total", "Charge", "Charge"]:
            self.found["charge"] = int(words[-1])
        elif words[:2] == ["Multiplicity", "Mult"]:
            self.found["mult"] = int(words[-1])
        elif line.startswith("Total Energy  ") and words[2] == ":" and words[4] == "Eh":
            self.found.setdefault("scfenergies", []).append(float(words[3]) * ELECTRONVOLT)
        elif words[:5] == ["Your", "calculation", "utilizes", "the", "basis:"]:
            self.found["metadata"]["basis_set"] = " ".join(words[5:])
        elif "ORCA TERMINATED NORMALLY" in line:
            self.found["metadata"]["success"] = True

    def _block(self) -> Iterator[str]:
        """Lines up to an empty one."""
        return takewhile(bool, self.lines)

    def _geometry(self, heading: str) -> None:
        atoms = [match for line in self._block() if (match := _ATOM.match(line))]
        numbers = np.array([SYMBOLS.index(atom[1]) for atom in atoms], np.int64)
        charges = np.array([float(atom[2]) for atom in atoms])
        if not np.array_equal(numbers, self.found.get("atomnos", ())):
            self.geometries = []
        self.geometries.append(np.array([[float(x) for x in atom.group(3, 4, 5)] for atom in atoms]) / BOHR)
        self.found.update(atomnos=numbers, coreelectrons=numbers - charges, atomcoords=np.array(self.geometries))

    def _basis_groups(self, heading: str) -> None:
        self.groups = []
        for line in takewhile(lambda line: not line.startswith("---") or not self.groups, self.lines):
            if atom := re.match(r"Atom\s+\d+([A-Z][a-z]?):?\s+basis set group", line):
                self.groups.append(atom[1])
            elif self.groups:
                break

    def _basis(self, heading: str) -> None:
        """Basis sets by element; one that is printed twice, and differs, cannot be told apart."""
        sets: dict[str, list[Any]] = {}
        next(self.lines)
        for line in takewhile(lambda line: "*****" not in line and not line.startswith("---"), self.lines):
            words = line.split()
            if words[:1] == ["NewGTO"]:
                shells = list(self._shells())
                if sets.setdefault(words[1], shells) != shells:
                    which = f"two basis sets for {words[1]}, and it is unknown which atoms have which"
                    raise FileError(f"{self.name}: {which}; open the .gbw file of the calculation")
        self.found["gbasis"] = [sets[element] for element in self.groups]

    def _shells(self) -> Iterator[tuple[str, list[tuple[float, float]]]]:
        for line in takewhile(lambda line: line.strip() != "end;", self.lines):
            letter, n = line.split()
            rows = [next(self.lines).split() for _ in range(int(n))]
            yield letter, [(float(row[1]), float(row[2])) for row in rows]

    def _orbital_energies(self, heading: str) -> None:
        self.energies = []
        irreps: list[list[str]] = []
        next(self.lines)
        for line in self.lines:
            if row := _ORBITAL_ENERGY.match(line):
                if int(row[1]) == 0:
                    self.energies.append([])
                    irreps.append([])
                self.energies[-1].append(float(row[2]))
                irreps[-1].append(row[3] or "")
            elif line and "NO   OCC" not in line and "SPIN" not in line:
                break
        self.found["mosyms"] = irreps

    def _orbitals(self, heading: str) -> None:
        next(self.lines)
        labels: list[str] = []
        spins: list[list[list[float]]] = []
        occupations: list[list[float]] = []
        energies: list[list[float]] = []
        for line in self.lines:
            numbers = line.split()
            if not numbers:
                continue
            if not all(number.isdecimal() for number in numbers):
                break
            if int(numbers[0]) == 0:
                for part in (spins, occupations, energies):
                    part.append([])
                labels = []
            energies[-1] += [float(word) for word in _words(next(self.lines), len(numbers), 5)]
            occupations[-1] += [float(word) for word in _words(next(self.lines), len(numbers), 5)]
            next(self.lines)  # dashes
            names, columns = self._columns(len(numbers))
            labels = labels or names
            if names != labels:
                raise FileError(f"{self.name}: cut off or damaged within the orbitals")
            spins[-1] += columns
        for table, printed in zip(energies, self.energies, strict=False):
            table[: len(printed)] = printed[: len(table)]  # with more digits
        self.found.update(aonames=labels, moenergies=[np.array(table) * ELECTRONVOLT for table in energies])
        self._fill([np.array(spin) for spin in spins], [np.array(table) for table in occupations])

    def _columns(self, n: int) -> tuple[list[str], list[list[float]]]:
        names, rows = [], []
        for line in self._rows():
            names.append(f"{line[2]}{int(line[1]) + 1}_{line[3].upper()}")
            rows.append([float(word) for word in _words(line[4], n, 6)])
        return names, [list(column) for column in zip(*rows, strict=True)]

    def _rows(self) -> Iterator[re.Match[str]]:
        """Rows of coefficients. No empty line stands between those of some orbitals and the next."""
        for line in self.lines:
            row = _COEFFICIENTS.match(line)
            if row is None:
                self.lines.back(line)
                return
            yield row
        raise FileError(f"{self.name}: cut off within the orbitals")

    def _fill(self, spins: list[np.ndarray], occupations: list[np.ndarray]) -> None:
        """Coefficients and number of electrons, or natural orbitals where occupations are fractions."""
        for name in ("mocoeffs", "nocoeffs", "nooccnos", "nsocoeffs", "nsooccnos", "homos"):
            self.found.pop(name, None)
        if any(np.any(table != np.round(table)) for table in occupations):
            if len(spins) == 1:
                self.found.update(nocoeffs=spins[0], nooccnos=occupations[0])
            else:
                self.found.update(nsocoeffs=spins, nsooccnos=occupations)
            return
        if any(np.any(np.diff(table) > 0) for table in occupations):
            raise FileError(f"{self.name}: its orbitals are not filled from below; open the .gbw file, which is read")
        counts = [np.sum(table > 0) for table in occupations]
        if len(spins) == 1 and np.any(occupations[0] == 1):
            counts.append(np.sum(occupations[0] == 2))
        self.found.update(mocoeffs=spins, homos=[int(count) - 1 for count in counts])

    def _excited_states(self, heading: str) -> None:
        if "EXCITED STATES" in heading and "TRIPLETS" not in heading:
            for name in ("etenergies", "etsecs", "etsyms"):
                self.found[name] = []

    def _excited_state(self, heading: str) -> None:
        state = _STATE.match(heading)
        if state is None or "etsecs" not in self.found:
            return
        rows = [_EXCITATION.match(line) for line in self._block()]
        whole = all(row is not None for row in rows)  # weights without amplitudes are no state that can be shown
        spin = {"a": 0, "b": 1}
        excitations = []
        for row in rows:
            if row is not None:
                ends = (int(row[1]), spin[row[2]]), (int(row[4]), spin[row[5]])
                excitations.append((*(ends if row[3] == "->" else ends[::-1]), float(row[6])))
        self.found["etenergies"].append(float(state[1]) / wavenumber)
        self.found["etsyms"].append("-".join(part for part in (_SPINS.get(state[3], ""), state[2]) if part))
        self.found["etsecs"].append(excitations if whole else [])


class _Lines:
    """Lines of a log without their ends, one of which may be put back."""

    def __init__(self, path: Path) -> None:
        self._lines = complete_lines(path, 0)
        self._back: list[str] = []

    def back(self, line: str) -> None:
        """Have a line come again."""
        self._back.append(line)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return self._back.pop() if self._back else next(self._lines).decode("utf-8", "replace").rstrip()


def _words(text: str, n: int, decimals: int) -> list[str]:
    """Numbers of so many decimals, which touch where they are wide."""
    words = re.findall(rf"-?\d+\.\d{{{decimals}}}", text)
    if len(words) != n:
        raise ValueError(f"expected {n} numbers, got {text.strip()[:60]!r}")
    return words


BOHR, ELECTRONVOLT = 1.8897261245, 27.21138505
"""Bohr per Angstrom and electronvolt per hartree as cclib has them, so that its conversions are undone to the digit."""


def parse_log(path: Path, *, part: bool = False) -> tuple[Any, Program]:
    """What cclib finds in a log, or in part of one, where it may stumble over what is missing below the orbitals."""
    attributes, program = isolated(
        attributes_of,
        str(path.absolute()),
        part,
        name=path.name,
        library="cclib",
        imports="cclib",
        size=path.stat().st_size,
    )
    if part:
        attributes["metadata"].pop("success", None)  # what it says of the log is not said of its part
    return SimpleNamespace(**attributes), PROGRAMS[program]


def attributes_of(name: str, part: bool) -> tuple[dict[str, Any], str]:
    """Attributes of cclib's data of a log, or of part of one, with the method, and the program by its name in cclib."""
    attributes, program = _parsed(name, part)
    text = Path(name).read_bytes().decode("latin-1")
    metadata = attributes.setdefault("metadata", {})
    metadata["method"] = method_of(text, program, metadata)
    return attributes, program


def _parsed(name: str, part: bool) -> tuple[dict[str, Any], str]:
    """What a parser finds.

    A damaged number may send its parsers into loops of millions of turns, so they run in a process of their own.
    """
    from importlib.metadata import version

    from cclib.io.ccio import ccopen
    from cclib.parser.logfilewrapper import FileWrapper

    path = Path(name)
    with path.open("rb") as stream:
        if b"\0" in stream.read(4096):
            raise FileError(f"{path.name}: a binary file, expected the log of a quantum-chemistry program")
    program = ""
    with _silence():
        parser = None
        try:
            source, loglevel = str(path.resolve()), logging.CRITICAL + 1
            named = _named_by_banner(path)
            if named is None:
                parser = ccopen(source, loglevel=loglevel, quiet=True)
            else:
                parser = named(FileWrapper(source), loglevel=loglevel)
            program = type(parser).__name__
            if program in PROGRAMS:
                parser.extract = MethodType(_extract_part if part else _extract, parser)
                with _progressing(parser.inputfile):
                    data = parser.parse()
                if program == "ORCA" and not hasattr(data, "atomcoords"):
                    raise EOFError("no atoms")
        except (OutOfTime, OrbitileError):
            raise
        except Exception as error:  # its parsers raise anything
            if program == "ORCA":
                with suppress(ValueError, LookupError):
                    return attributes_of_log(path), program
            what = f"{PROGRAMS[program].name} log" if program in PROGRAMS else "damaged log"
            detail = f"{type(error).__name__}: {error}".rstrip(": ").split("\n")[0]
            raise FileError(
                f"{path.name}: {what} that cclib {version('cclib')} cannot read ({detail}): cut off, or of an unknown "
                "version of the program. Try a Molden file of the same calculation"
            ) from error
        finally:
            if parser is not None:
                parser.inputfile.close()
    if program not in PROGRAMS:
        head = path.read_bytes()[:_HEAD].decode("latin-1")
        others = ((name, what) for name, (banner, what) in OTHERS.items() if banner in head)
        program, other = next(others, (program, ""))
        found = f"a log of {program}" if parser or other else "not a log of any program known to cclib"
        known = ", ".join(p.name for p in PROGRAMS.values())
        raise FileError(f"{path.name}: {found}; {other or INSTEAD.get(program, f'expected one of {known}')}")
    return vars(data), program


def _named_by_banner(path: Path) -> Any:
    """cclib's parser for the program whose banner comes first, None where there is none.

    cclib takes the program that is named last or most, be it in the name of a basis set or of a file.
    """
    from cclib.io import ccio

    content = path.read_bytes()
    places = {
        name: min(place for banner in program.banner if (place := content.find(banner.encode())) >= 0)
        for name, program in PROGRAMS.items()
        if any(banner.encode() in content for banner in program.banner)
    }
    return getattr(ccio, min(places, key=places.__getitem__)) if places else None


_HEAD = 1 << 14
"""Bytes of a log in which its program names itself."""

_STUCK, _STUCK_PER_BYTE = 0.3, 2e-8
"""Processor time in seconds in which a parser has to come to another line of the log."""


@contextmanager
def _progressing(stream: Any) -> Iterator[None]:
    """Stop a parser that does not go on in a log; one that has come to its end may take its time."""
    last = -1

    def look(*_: object) -> None:
        nonlocal last
        if stream.pos == last and stream.file_pointer < len(stream.files):
            name = Path(str(stream.filenames[0])).name
            raise FileError(f"{name}: damaged near byte {stream.pos}: a number there asks for more than a log can hold")
        last = stream.pos

    if sys.platform == "win32":  # which has no such clock: the process is ended when it has taken too long
        yield
    else:
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

    if _orthogonal_basis(parser, line):
        return
    heading = getattr(parser, "electronorbitals", "") or line  # that of the other spin, which Molpro's parser has seen
    try:
        type(parser).extract(parser, stream, line)
    except StopIteration as error:
        if heading.lstrip().startswith(PROGRAMS[type(parser).__name__].orbitals):
            raise EOFError("within the orbitals") from error
        raise
    except InvalidVersion:  # Psi4 as Debian builds it names no branch, and cclib then makes up 1.3.2.dev+-zzzzzzz
        parser.package_version = Version(parser.metadata["legacy_package_version"])


def _orthogonal_basis(parser: Any, line: str) -> bool:
    """Whether a table of GAMESS has coefficients over Loewdin's functions (NPRINT=9): its heading is between dashes."""
    above, parser.line_above = getattr(parser, "line_above", ""), line.strip()
    return line.strip() == "EIGENVECTORS" and len(above) > 30 and set(above) == {"-"}


def _extract_part(parser: Any, stream: Any, line: str) -> None:
    """The same, but what cannot be read below the orbitals ends the log."""
    from cclib.parser.logfileparser import StopParsing

    try:
        _extract(parser, stream, line)
    except Exception as error:  # its parsers raise anything
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


# ---- methods

_FLAGS = re.MULTILINE


def method_of(text: str, package: str, metadata: dict[str, Any]) -> str:
    """Name of the method, "" where the log does not tell.

    Parameters
    ----------
    text
        The log.
    package
        The program, by its name in cclib.
    metadata
        What cclib found: `methods`, `functional`.
    """
    found = _STATED[package](text) if package in _STATED else ""
    correlated = _correlated(metadata.get("methods", ()))
    return found or correlated or _tidy(str(metadata.get("functional") or "")) or _any_scf(metadata.get("methods", ()))


def _last(pattern: str, text: str) -> str:
    """The group of the last match, in capitals."""
    found = re.findall(pattern, text, _FLAGS)
    return found[-1].strip().upper() if found else ""


def _gamess(text: str) -> str:
    """The tables of options; input cards are not always heeded."""
    scf = _last(r"^ +SCFTYP=(\w+) ", text)
    functional = _last(r"^ +(?:SCFTYP=.* )?DFTTYP=(\S+)", text)
    if not scf and not functional:
        return ""
    level, coupled, ci = (_last(rf"\b{word}", text) for word in (r"MPLEVL= *(\d)", r"CCTYP *=(\S+)", r"CITYP *=(\S+)"))
    if functional not in ("", "NONE"):
        grimme = _last(r"GRIMME'S EMPIRICAL DISPERSION CORRECTION= (\w)", text) == "T"
        version = (_last(r"^ +DFT-?(D[234])\b", text) or "D") if grimme else ""
        if "DFT-D DISPERSION CORRECTION" in text:  # of Firefly
            version = "D" + (_last(r"^ INPUT CARD>.*\bVERSN=(\d)", text) or "")
        return _with(functional, version)
    if coupled not in ("", "NONE"):
        return coupled
    if level not in ("", "0"):
        return f"MP{level}"
    if ci not in ("", "NONE", "CIS", "SFCIS", "TDDFT"):
        return f"CI ({ci})"
    semiempirical = _last(r"GBASIS=(AM1|PM3|MNDO|RM1)\b", text)
    return semiempirical or ("HF" if scf in ("RHF", "UHF", "ROHF") else scf)


_EXCHANGE = r"(?:S|XA|B|O|G96|PW91|mPW|MPW|PBE|TPSS|RevTPSS|BRx|PKZB|PBEh|wPBEh)"
"""Exchange functionals of Gaussian, which stand before a minus."""


def _gaussian(text: str) -> str:
    """The archive entry, or the lines of the self-consistent field where a log does not end with one."""
    name = ""
    entries = [(start, mark) for mark in "\\|" if (start := text.rfind(f"1{mark}1{mark}")) >= 0]
    for start, mark in entries:
        fields = re.sub(r"\r?\n ?", "", text[start : start + 600]).split(mark)
        if len(fields) > 5 and re.fullmatch(r"(?:RO|R|U)?[A-Z][\w().,+*-]*(?: TD\S*)?", fields[4], re.IGNORECASE):
            name = re.sub(r"-(?:FC|FU|RW|Full)$|-FC\b.*", "", fields[4].split(" ")[0])
    stated = re.findall(r"^ SCF Done: +E\(([^)]*(?:\([^)]*\))?[^)]*)\)", text, _FLAGS)
    if not name and stated:
        whole = re.findall(r"\bEx\+Corr=(\S+)", text)
        if "+HF" in stated[-1]:  # as versions before 2009 write hybrids
            name = whole[-1] if whole else ""
        else:
            name = stated[-1]
        if re.search(r"^ *E[0-9a-zA-Z() ]*= .* EUMP2 = |\bCCSD\(T\)= ", text, _FLAGS):
            return ""  # cclib tells which
    name = re.sub(r"^(?:RO|R|U)(?=[A-Za-z])(?!ev)", "", name)
    name = re.sub(r"^TDA?-", "", re.sub(r"^EOMCC.*", "EOM-CCSD", name))
    if re.match(r"CIS", name, re.IGNORECASE):
        name = "HF"
    if pair := re.fullmatch(rf"({_EXCHANGE})-([A-Z]\w*)", name):
        name = pair[1] if pair[2] in (pair[1], "PBE") and pair[1] in ("PBE", "PW91", "TPSS") else pair[1] + pair[2]
    version = _last(r"^ R6Disp: +(?:Adding )?Grimme-(D\d(?:\(BJ\))?)", text)
    return _with(_tidy(name), version)


_ORCA_FUNCTIONALS = frozenset(
    """
    HFS LDA LSD VWN VWN5 VWN3 PWLDA BP86 BP BLYP OLYP GLYP XLYP PW91 MPWPW MPWLYP PBE RPBE REVPBE RPW86PBE PWP
    B1LYP B3LYP B3LYP/G O3LYP X3LYP B1P B3P B1P86 B3P86 B3PW91 PW1PW MPW1PW MPW1LYP PBE0 REVPBE0 REVPBE38
    BHANDHLYP TPSS TPSSH TPSS0 REVTPSS SCANFUNC RSCAN R2SCAN R2SCANH R2SCAN0 R2SCAN50 M06L M06 M062X M06-2X
    PW6B95 B97-D B97-D3 B97-D4 B97M-V B97M-D3BJ B97M-D4 WB97 WB97X WB97X-D3 WB97X-D3BJ WB97X-D4 WB97X-V WB97M-V
    WB97M-D3BJ WB97M-D4 CAM-B3LYP LC-BLYP LC-PBE WR2SCAN B2PLYP MPW2PLYP B2GP-PLYP B2K-PLYP B2T-PLYP PWPB95
    DSD-BLYP DSD-PBEP86 DSD-PBEB95 B2NC-PLYP WB2PLYP WB2GP-PLYP WB97X-2 RSX-QIDH RSX-0DH PBE-QIDH PBE0-DH
    WPBEPP86 REVDSD-PBEP86-D4/2021 REVDSD-PBEP86/2021 WB88PP86 HF-3C PBEH-3C B97-3C R2SCAN-3C WB97X-3C
    """.split()
)
_ORCA_BEYOND = re.compile(
    r"(?:(?:DLPNO|LPNO|RI|DF|SCS|OO|O)-)*(?:MP[234]|MP2\.5|CCSD(?:\(T\))?|QCISD(?:\(T\))?|NEVPT2)"
)
_ORCA_PARTS = {
    ("B88", "LYP", "0.2"): "B3LYP",
    ("B88", "LYP", ""): "BLYP",
    ("B88", "P86", ""): "BP86",
    ("PBE", "PBE", ""): "PBE",
    ("PBE", "PBE", "0.25"): "PBE0",
}
"""Functionals by exchange, correlation and share of exact exchange, of a log without its input."""


def _orca(text: str) -> str:
    """Words of the input, of the last calculation that a log of several has."""
    words = [
        word
        for line in re.findall(r"^\|\s*\d+>\s*(?:!|(?:%method\s+)?functional\s)(.*)$", text, _FLAGS | re.IGNORECASE)
        for word in line.split("#")[0].upper().split()
    ]
    composite = [word for word in words if word.endswith("-3C")]
    kind = _last(r"^ (?:Ab initio Hamiltonian|Density Functional) +Method +\.+ (\S+)\(GTOs\)", text)
    if composite or kind not in ("DFT", "HARTREE-FOCK"):
        return composite[-1] if composite else ""
    if kind == "HARTREE-FOCK":
        return next((word for word in reversed(words) if _ORCA_BEYOND.fullmatch(word)), "HF")
    share = float(_last(r"ScalHFX +\.+ +(\d*\.\d+)", text) or 0)
    parts = [_last(rf"^ {what} Functional +{what} +\.+ (\S+)", text) for what in ("Exchange", "Correlation")]
    known = _ORCA_PARTS.get((parts[0], parts[1], f"{share:g}" if share else ""), "-".join(parts))
    name = next((word for word in reversed(words) if word in _ORCA_FUNCTIONALS), known)
    version = _last(r"^ *DFTD(\d) V", text)
    damping = "(BJ)" if version == "3" and re.search("USING Becke-Johnson damping", text, re.IGNORECASE) else ""
    return _with("BP86" if name == "BP" else name, f"D{version}{damping}" if version else "")


def _nwchem(text: str) -> str:
    """The functional by its name or its parts, of the last ground state."""
    end = text.find("NWChem TDDFT Module")
    start = text.rfind("XC Information", 0, len(text) if end < 0 else end)
    if start < 0:
        return ""
    block = text[start : start + 1500].split("Grid Information")[0]
    dispersion = _last(r"^ *DFT-(D\d(?:BJ)?) Model", text)
    if named := re.search(r"^ *(.*?) +Method XC (?:Potential|Functional)", block, _FLAGS):
        return _with(_NWCHEM_SUMS.get(named[1], named[1].removesuffix(" metaGGA")), dispersion)
    parts = re.findall(r"^ *(\S.*?) +(?:Exchange|Correlation)(?: +Functional| +Potential)? +([\d.]+)", block, _FLAGS)
    if not parts:
        return ""
    names: dict[str, float] = {}
    for name, factor in parts:
        fitting = (short for start, short in _NWCHEM.items() if name.startswith(start))
        whole = next(fitting, name.removesuffix(" metaGGA"))
        names.setdefault("HF" if name.startswith("Hartree-Fock") else whole, float(factor))
    if len(names) > 1:
        parts_of_others = ("LDA81", "PW92")  # of P86, PBE ...
        names = {name: factor for name, factor in names.items() if name not in parts_of_others}
    if whole := next((name for name in names if re.match(r"M(?:0[568]|11)", name)), ""):
        return _with(whole, dispersion)  # its exchange and correlation are listed beside its share of exact exchange
    if names.keys() == {"HF"} and names["HF"] != 1:
        return ""  # the rest is from a library, whose functionals are listed otherwise
    joined = "+".join(name if factor == 1 else f"{factor:g}*{name}" for name, factor in names.items())
    return _with(_NWCHEM_SUMS.get(joined, joined), dispersion)


_NWCHEM = {
    "Slater": "S",
    "Becke 1988": "B88",
    "Perdew 1981": "LDA81",
    "Perdew 1986": "P86",
    "Perdew 1991 LDA": "PW92",
    "PerdewBurkeErn": "PBE",
    "Lee-Yang-Parr": "LYP",
    "VWN V": "VWN5",
    "VWN I RPA": "VWN1RPA",
    "CAM-Becke88": "CAM-B88",
}
"""Parts of functionals by how their names begin."""

_NWCHEM_SUMS = {
    "B88+P86": "BP86",
    "B88+LYP": "BLYP",
    "S+VWN5": "SVWN5",
    "TPSS+TPSS03": "TPSS",
    "0.25*HF+0.75*PBE": "PBE0",
    "0.5*HF+0.5*S+0.5*B88+LYP": "BHandHLYP",
    "0.53*HF+0.47*B88+0.73*LYP": "B2PLYP",
    "HF+CAM-B88+0.19*VWN5+0.81*LYP": "CAM-B3LYP",
    "HF+CAM-B88+0.81*LYP+0.19*VWN5": "CAM-B3LYP",
    "PBE96": "PBE",
    "TPSS hybrid": "TPSSh",
    "Becke half-and-half": "BHandH",
}
"""Names of sums."""


def _qchem(text: str) -> str:
    """The input, since the log prints functionals by their parts."""
    options = {
        key.lower(): value.upper()
        for key, value in re.findall(
            r"^\s*(method|exchange|correlation|dft_d)\b\s*=?\s*([A-Za-z]\S*)", _rem(text), re.MULTILINE | re.IGNORECASE
        )
    }
    name = options.get("method") or options.get("exchange", "")
    correlation = options.get("correlation", "NONE")
    if "method" not in options and correlation not in ("NONE", "FALSE"):
        pair = name + correlation
        known = {"BLYP", "BP86", "SVWN", "BOP", "OLYP", "PW91PW91", "PBEPBE", "TPSSTPSS"}
        together = "PBE" if pair == "PBEPBE" else pair if pair in known else f"{name}-{correlation}"
        name = correlation if name == "HF" else together
    if re.match(r"(?:S?OS)?R?CIS|EOM|ADC|TDDFT", name):
        name = "HF"
    dispersion = options.get("dft_d", "FALSE")
    suffixes = {"FALSE": "", "NONE": "", "0": "", "D3_BJ": "D3(BJ)", "EMPIRICAL": "D2", "TRUE": "D2"}
    short = dispersion.split("_")[0]
    return _with(name, suffixes.get(dispersion, suffixes.get(short, short)))


def _rem(text: str) -> str:
    """The last section of options of the input."""
    start = text.lower().rfind("\n$rem")
    end = text.lower().find("$end", start)
    return text[start:end] if 0 <= start < end else ""


def _psi4(text: str) -> str:
    functionals = "\n".join(re.findall(r"^.*Composite Functional.*$", text, _FLAGS))
    functional = _last(r"=> (?:Composite Functional: )?(\S+?)(?: Composite Functional)? <= *$", functionals)
    if functional:
        return re.sub(r"ZERO$", "", functional.removesuffix("2B")) if "-D" in functional else functional
    is_correlated = re.search(r"MP2 Energies|CC[A-Z()]* (?:Energy|correlation)", text, re.I)
    return "HF" if "=> Energetics <=" in text and not is_correlated else ""


def _molpro(text: str) -> str:
    """The table of times at the end names what was computed, the first functional of the last self-consistent field."""
    done = re.findall(r"^ +(\S.*(?:HF|KS)-SCF)\b", text, _FLAGS)
    names = done[-1].split() if done else []
    beyond = next((name for name in names if _CORRELATED.fullmatch(name.upper())), "")
    if beyond:
        return beyond.upper()
    if not re.search(r"PROGRAM \* [RU]?KS-SCF", text):
        is_beyond = re.search(r"PROGRAM \* (?:MULTI|CASSCF)", text)
        return "HF" if re.search(r"PROGRAM \* (?:RHF|UHF|ROHF)?-?SCF", text) and not is_beyond else ""
    functional = _last(r"^ *Density functional group +([^=\s]+)", text)
    if not functional:
        parts = dict.fromkeys(re.findall(r"^ *Functional: +([\w-]+)", text, _FLAGS))
        functional = "+".join(parts)
    version = _last(r"^ *\S+ +(D\d) dispersion correction +-", text)
    return _with(_tidy(functional), version)


def _gamess_uk(text: str) -> str:
    beyond = _last(r"^ +(mp[23]) calculation *$", text)
    functional = _last(r"^ *(\S+) exchange-correlation functional selected", text)
    if not functional and "CCP1 DFT" in text:
        functional = _last(r"^ *>>>>> *DFT +(\S+)", text)
    return beyond or functional or ("HF" if re.search(r"SCF TYPE +\w*[ru]hf|SCF TYPE +(?:rhf|uhf|gvb)", text) else "")


def _jaguar(text: str) -> str:
    beyond = _last(r"^ *Post-SCF correlation type: (\S+)", text)
    kind = _last(r"^ *SCF type: *(.*?) *$", text) or _last(r"^ *SCF calculation type: *(.*?) *$", text)
    if beyond or "DFT" not in kind:
        return beyond or ("HF" if "HF" in kind else "")
    short = _last(r"^ *SCF calculation type: *U?R?O?DFT\((.+?)\)", text)
    return short or _last(r"\(([^()]+)\) *$", kind) or kind.partition("=")[2]


def _molcas(text: str) -> str:
    modules = re.findall(r"--- Start Module: (\w+)", text)
    coupled = "CCSD(T)" if "Triples" in text else "CCSD"
    beyond = {"mbpt2": "MP2", "ccsdt": coupled, "caspt2": "CASPT2", "rasscf": "RASSCF"}
    name = next((beyond[module] for module in reversed(modules) if module in beyond), "")
    if name:
        return name
    if "Total KS-DFT energy" in text:
        return _last(r"^ *(?:UHF +)?(\S+) +iterations: Energy and convergence", text)
    return "HF" if "Total SCF energy" in text else ""


_STATED: dict[str, Callable[[str], str]] = {
    "GAMESS": _gamess,
    "Gaussian": _gaussian,
    "ORCA": _orca,
    "NWChem": _nwchem,
    "QChem": _qchem,
    "Psi4": _psi4,
    "Molpro": _molpro,
    "GAMESSUK": _gamess_uk,
    "Jaguar": _jaguar,
    "Molcas": _molcas,
}
"""What reads the method in a log, by the program's name in cclib."""

_CORRELATED = re.compile(
    r"(?:(?:DF|RI|SCS|DLPNO|LPNO|PNO|L|U|R|RO)-?)*(?:MP[2-5]\S*|CC[SD2-3]\S*|QCI\S*|CISD\S*|MRCI\S*|CASSCF|MULTI|ACPF|RS[23]C?)"
)


def _correlated(methods: Any) -> str:
    """The last method beyond the self-consistent field that cclib names."""
    names = [str(name).replace("CCSD-T", "CCSD(T)") for name in methods if _CORRELATED.fullmatch(str(name).upper())]
    return names[-1] if names else ""


def _any_scf(methods: Any) -> str:
    names = [re.sub(r"^(?:RO|R|U)(?=HF$)", "", str(name)) for name in methods]
    return names[-1] if names and names[-1] != "DFT" else ""


def _tidy(name: str) -> str:
    """A name without its spin, as the programs' manuals write it."""
    return "HF" if name.upper() in ("RHF", "UHF", "ROHF") else name.strip()


def _with(name: str, dispersion: str) -> str:
    """A functional with its dispersion correction, unless its name has one."""
    has_one = re.search(r"(?:-D\d?(?:\(?BJ\)?|ZERO)?|D3|97XD|97D|-V)$", name.upper())
    return name if not dispersion or not name or has_one else f"{name}-{dispersion}"
