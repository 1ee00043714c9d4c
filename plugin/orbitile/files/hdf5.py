"""HDF5 files: the library, and its errors made ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from ..errors import FileError, OrbitileError

MAGIC = b"Orbitile series 1\n"

USER_BLOCK = 512


def library(name: str, what: str = "series files") -> ModuleType:
    """The package h5py, for a file of that name; what sort of file it is, for people.

    Raises
    ------
    FileError
        When it is not installed.
    """
    try:
        import h5py
    except ImportError as error:
        raise FileError(f"{name}: {what} need the package h5py: pip install 'orbitile[trajectories]'") from error
    module: ModuleType = h5py
    return module


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """What h5py raises of a damaged file, in one line."""
    try:
        yield
    except OrbitileError as error:
        raise FileError(f"{path.name}: {error}") from error
    except (OSError, KeyError, ValueError, TypeError, RuntimeError, IndexError, AttributeError) as error:
        detail = str(error).split("\n")[0]
        raise FileError(f"{path.name}: damaged series file ({type(error).__name__}: {detail})") from error
