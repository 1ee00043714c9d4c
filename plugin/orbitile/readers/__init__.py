"""Files in: one module a source, found by name.

A module that reads wavefunctions offers `read(path) -> Wavefunction`; one that reads volumes offers
`read_volumes(path) -> tuple[Volume, ...]`; one that reads files of many wavefunctions offers
`read_trajectory(path) -> Frames`; one that reads geometries alone offers
`read_geometries(path, topology) -> Geometries`. All state `DESCRIPTION` and `PATTERNS` (file names), and may offer
`recognises(head)` for files whose beginning gives them away whatever their name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

import numpy as np

from ..errors import FileError, OrbitileError
from ..files.plain import PlainFile, beginning, name_within
from ..files.reading import user_path
from ..gaussians.check import checked
from ..model.geometry import Geometries
from ..model.trajectory import Trajectory
from ..model.volume import Volume
from ..model.wavefunction import Wavefunction


@lru_cache
def reader_modules() -> dict[str, ModuleType]:
    """All reader modules by name."""
    return {
        info.name: import_module(f"{__name__}.{info.name}")
        for info in iter_modules(__path__)
        if not info.name.startswith("_")
    }


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
    with PlainFile(file) as plain, np.errstate(all="ignore"):  # absurd numbers, which are refused
        try:
            wavefunction = checked(_wavefunction_reader(plain.path).read(plain.path))
        except FileError:
            raise
        except OrbitileError as error:  # the model refuses what the reader took for a wavefunction
            raise FileError(f"{file.name}: {error}") from error
    return wavefunction if plain.path == file else replace(wavefunction, source=str(file))


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
    with PlainFile(file) as plain:
        volumes: tuple[Volume, ...] = module.read_volumes(plain.path)
    return volumes


class FileFrames:
    """Frames in files of their own: `Frames` of a `Trajectory`."""

    def __init__(self, files: tuple[Path, ...]) -> None:
        self._files = files

    @property
    def name(self) -> str:
        """The first and the last file."""
        names = [file.name for file in self._files]
        return names[0] if len(names) == 1 else f"{names[0]} ... {names[-1]}"

    def __len__(self) -> int:
        return len(self._files)

    def read(self, index: int) -> Wavefunction:
        """Read and check the wavefunction of one file."""
        return load(self._files[index])


def load_trajectory(source: str | PathLike[str] | Iterable[str | PathLike[str]], *, kept: int = 4) -> Trajectory:
    """Open a trajectory; its frames are read when they are asked for.

    Parameters
    ----------
    source
        A series file; a Molden file of several frames; a log that prints orbitals at several geometries (many programs
        print them at the first and the last one of an optimisation unless told otherwise); any file that `load` reads,
        for a trajectory of one frame; a pattern such as "scan/*.molden", whose files are taken in natural order (2
        before 10); or several files, in the order given.
    kept
        Number of frames that stay in memory.

    Raises
    ------
    FileError
        When there is no such file, none matches the pattern, or it is of no known format. A frame that cannot be read
        is no error here, but where it is asked for.
    """
    if not isinstance(source, (str, PathLike)):
        files = tuple(_checked_path(path) for path in source)
        if not files:
            raise FileError("trajectory: expected files, got none")
        if len(files) > 1:
            return Trajectory(FileFrames(files), kept)
        source = files[0]
    text = fspath(source)
    if any(letter in text for letter in "*?[") and not _exists(text):
        return load_trajectory(_matching(text), kept=kept)
    file = _checked_path(text)
    module = _trajectory_reader(file)
    return Trajectory(FileFrames((file,)) if module is None else module.read_trajectory(file), kept)


def load_geometries(path: str | PathLike[str], topology: str | PathLike[str] | None = None) -> Geometries:
    """Open a trajectory of geometries without orbitals.

    Parameters
    ----------
    path
        An xyz or extended xyz file; with a topology DCD, XTC, TRR, NetCDF; PDB, GRO.
    topology
        File that names the elements, where `path` does not.

    Raises
    ------
    FileError
        When a file is missing, damaged, or of no known format.
    """
    file = _checked_path(path)
    module = _by_name(file, "read_geometries")
    if module is None:
        raise FileError(f"{file.name}: not a trajectory of geometries by its name. Known: {_known('read_geometries')}")
    geometries: Geometries = module.read_geometries(file, None if topology is None else _checked_path(topology))
    return geometries


def natural_order(path: str | PathLike[str]) -> list[tuple[int, int | str]]:
    """Key by which to sort names so that numbers in them count as numbers: frame2 before frame10."""
    return [(0, int(part)) if part.isdigit() else (1, part) for part in re.split(r"(\d+)", fspath(path)) if part]


def _exists(text: str) -> bool:
    try:
        return user_path(text).exists()
    except (OSError, FileError, ValueError):  # a name too long, ~name of nobody here, a NUL character
        return False


def _matching(pattern: str) -> list[str]:
    from glob import glob

    found = sorted(glob(str(user_path(pattern))), key=natural_order)
    if not found:
        raise FileError(f"{pattern}: no such file, and none matches this as a pattern")
    return found


def _trajectory_reader(file: Path) -> ModuleType | None:
    """The module that reads many frames of such a file, or None where one frame is all that it can hold."""
    if not file.is_file():
        return None
    head = beginning(file).decode("utf-8", errors="replace")
    offering = [module for module in reader_modules().values() if hasattr(module, "read_trajectory")]
    recognising = (module for module in offering if module.recognises(head))
    return next(recognising, None)


def _checked_path(path: str | PathLike[str]) -> Path:
    file = user_path(path)
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
        start = beginning(file)
        head = start.decode("utf-8", errors="replace")
        for module in modules:
            if hasattr(module, "recognises") and module.recognises(head):
                return module
        frames = _trajectory_reader(file)
        if frames is not None:
            n = len(frames.read_trajectory(file))
            raise FileError(
                f"{file.name}: holds a trajectory of {n} frame{'' if n == 1 else 's'}, not one wavefunction; "
                "choose one with --frame, in Python with load_trajectory"
            )
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
    name = Path(name_within(file).lower())
    for module in reader_modules().values():
        if hasattr(module, offers) and any(name.match(pattern) for pattern in module.PATTERNS):
            return module
    return None


def _known(offers: str) -> str:
    return ", ".join(p for module in reader_modules().values() if hasattr(module, offers) for p in module.PATTERNS)


__all__ = [
    "OrbitileError",
    "load",
    "load_geometries",
    "load_trajectory",
    "load_volumes",
    "natural_order",
    "reader_modules",
]
