"""What cclib finds in a log, in a process of its own, and logs of ORCA 6, which cclib does not read.

ORCA 6 prints the steps of its iterations otherwise. Of its logs only what orbitals need is read, into attributes of the
names and units that cclib has; headings and tables are those of the logs of ORCA 4 to 6.1.
"""

from __future__ import annotations

import logging
import re
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import Any

import numpy as np

from ...base.errors import FileError, OrbitileError
from ...files.reading import complete_lines
from ...model.elements import SYMBOLS
from ...model.units import wavenumber
from .._isolation import OutOfTime, isolated
from .methods import method_of
from .programs import INSTEAD, OTHERS, PROGRAMS, Program

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
                    raise FileError(
                        f"{self.name}: two basis sets for {words[1]}, and the log does not say which atoms have which; "
                        "open the .gbw file of the calculation"
                    )
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
            raise FileError(
                f"{self.name}: its orbitals are not filled from below; open the .gbw file of the calculation, which "
                "is read with its occupations"
            )
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
        attributes_of, str(path.absolute()), part, name=path.name, library="cclib", size=path.stat().st_size
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
                f"{path.name}: {what} that cclib {version('cclib')} cannot read: cut off, or of a version of the "
                f"program that it does not know ({detail}). A Molden file of the same calculation would do"
            ) from error
        finally:
            if parser is not None:
                parser.inputfile.close()
    if program not in PROGRAMS:
        head = path.read_bytes()[:_HEAD].decode("latin-1")
        program, other = next(
            ((name, what) for name, (banner, what) in OTHERS.items() if banner in head), (program, "")
        )
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
            raise FileError(
                f"{Path(str(stream.filenames[0])).name}: damaged near byte {stream.pos}, beyond which cclib does not "
                "get: a number there asks for more than a log can hold"
            )
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
