"""Files in: one module a source, found by name.

A module that reads wavefunctions offers `read(path) -> Wavefunction`; one that reads volumes offers
`read_volumes(path) -> tuple[Volume, ...]`. Both state `DESCRIPTION` and `PATTERNS` (file names), and may offer
`recognises(head)` for files whose beginning gives them away whatever their name.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from ..check import checked
from ..errors import FileError, OrbitileError
from ..volume import Volume
from ..wavefunction import Wavefunction


@lru_cache
def reader_modules() -> dict[str, ModuleType]:
    """All reader modules by name."""
    return {info.name: import_module(f"{__name__}.{info.name}") for info in iter_modules(__path__)}


def load(path: str | PathLike[str]) -> Wavefunction:
    """Read a wavefunction from the output of a quantum-chemistry program, and check it.

    Parameters
    ----------
    path
        A Molden, fchk, mkl, wfn, wfx, mwfn or TREXIO file, or a log of Gaussian, ORCA, GAMESS, NWChem, Psi4, Q-Chem or
        Molpro in which basis set and orbital coefficients are printed.

    Raises
    ------
    FileError
        When the file cannot be read, is of no known format, is damaged, or lacks basis set or orbitals.
    ConventionError
        When its orbitals are not orthonormal in any convention that we know; such a file is never drawn.
    """
    file = _checked_path(path)
    return checked(_wavefunction_reader(file).read(file))


def load_volumes(path: str | PathLike[str]) -> tuple[Volume, ...]:
    """Read the volumes in a cube, OpenDX, MRC/CCP4 or Orbitile `.npz` file.

    Raises
    ------
    FileError
        When the file cannot be read, is of no known format, or is damaged.
    """
    file = _checked_path(path)
    module = _by_name(file, "read_volumes")
    if module is None:
        raise FileError(f"{file.name}: not a volume by its name. Known: {_known('read_volumes')}")
    volumes: tuple[Volume, ...] = module.read_volumes(file)
    return volumes


def _checked_path(path: str | PathLike[str]) -> Path:
    file = Path(fspath(path)).expanduser()
    try:
        if file.is_dir() and not any(
            file.match(p) for m in reader_modules().values() for p in getattr(m, "FOLDERS", ())
        ):
            raise FileError(f"{file}: is a folder, expected a file")
        if not file.exists():
            raise FileError(f"{file}: no such file{_neighbour(file)}")
        if file.is_file() and file.stat().st_size == 0:
            raise FileError(f"{file.name}: the file is empty")
    except OSError as error:
        raise FileError(f"{file}: cannot be read ({error.strerror})") from error
    except ValueError as error:  # a NUL character in the name
        raise FileError(f"{str(file)!r}: not a file name ({error})") from error
    return file


def _neighbour(file: Path) -> str:
    from difflib import get_close_matches

    try:
        names = [entry.name for entry in file.parent.iterdir()]
    except OSError:
        return f" (nor a folder {file.parent})"
    close = get_close_matches(file.name, names, 1)
    return f". Did you mean {close[0]}?" if close else ""


def _wavefunction_reader(file: Path) -> ModuleType:
    modules = [module for module in reader_modules().values() if hasattr(module, "read")]
    if file.is_file():
        try:
            with file.open("rb") as stream:
                start = stream.read(4096)
        except OSError as error:
            raise FileError(f"{file}: cannot be read ({error.strerror})") from error
        head = start.decode("utf-8", errors="replace")
        for module in modules:
            if hasattr(module, "recognises") and module.recognises(head):
                return module
        binary = b"\0" in start
    else:
        binary = False
    named = _by_name(file, "read")
    if named is not None and (not binary or getattr(named, "BINARY", False)):
        return named
    if _by_name(file, "read_volumes") is not None:
        raise FileError(f"{file.name}: holds a volume, not a wavefunction; read it with load_volumes")
    if binary:
        hint = "; a Gaussian .chk file becomes readable by formchk" if file.suffix.lower() == ".chk" else ""
        raise FileError(f"{file.name}: a binary file of no known format{hint}. Known: {_known('read')}")
    raise FileError(f"{file.name}: not recognised by its beginning nor by its name. Known: {_known('read')}")


def _by_name(file: Path, offers: str) -> ModuleType | None:
    name = Path(file.name.lower())
    for module in reader_modules().values():
        if hasattr(module, offers) and any(name.match(pattern) for pattern in module.PATTERNS):
            return module
    return None


def _known(offers: str) -> str:
    return ", ".join(p for module in reader_modules().values() if hasattr(module, offers) for p in module.PATTERNS)


__all__ = ["OrbitileError", "load", "load_volumes", "reader_modules"]
