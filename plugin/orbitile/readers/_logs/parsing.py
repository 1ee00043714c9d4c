"""What cclib finds in a log, in a process of its own."""

from __future__ import annotations

import logging
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import Any

import numpy as np

from ...errors import FileError, OrbitileError
from .._isolation import OutOfTime, isolated
from .methods import method_of
from .orca import attributes_of_log
from .programs import INSTEAD, OTHERS, PROGRAMS, Program

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
        except Exception as error:  # its parsers raise whatever comes
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
