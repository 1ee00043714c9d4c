"""Files out: one module a format, found by name.

A module states `DESCRIPTION`, `PATTERNS` (file names) and `KIND` ("volume" or "mesh"), and offers
`write(what, path, wavefunction)`, which writes a `Volume` or a `Surface` to a path. For volumes there are also
`write_slabs(header, slabs, path, wavefunction)`, which takes values slab by slab along the first axis, and
`largest_size(header)`, the room that they need on the disk. A new module is all that a new format needs.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import lru_cache
from importlib import import_module
from os import PathLike, fspath
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from ..errors import FileError
from ..files.writing import checked_target, refuse_inputs, written_atomically
from ..model.surface import Surface
from ..model.volume import Volume

if TYPE_CHECKING:
    from ..model.wavefunction import Wavefunction

_KINDS = {"volume": "a volume", "mesh": "a surface"}


@lru_cache
def exporter_modules() -> dict[str, ModuleType]:
    """All exporter modules by name."""
    names = [info.name for info in iter_modules(__path__) if not info.name.startswith("_")]
    return {name: import_module(f"{__name__}.{name}") for name in names}


def save(
    what: Volume | Surface,
    path: str | PathLike[str],
    *,
    format: str | None = None,
    wavefunction: Wavefunction | None = None,
) -> None:
    """Write a volume or a surface to a file, whole or not at all.

    Parameters
    ----------
    what : Volume or Surface
        Volumes go to cube, OpenDX, MRC/CCP4 and npz files; surfaces to PLY, OBJ and binary glTF files.
    path
        The file; an existing one is replaced.
    format : str, optional
        Name of the format ("cube", "opendx", "mrc", "npz", "ply", "obj", "gltf"), where the suffix does not tell.
    wavefunction : Wavefunction, optional
        Its atoms are written along where the format has room for them.

    Raises
    ------
    FileError
        When no format goes by that suffix or name, the format cannot hold what it is given, the file cannot be written,
        or it is the one that the wavefunction was read from. An existing file is then left as it was.
    """
    if not isinstance(what, (Volume, Surface)):
        raise FileError(f"save: expected a Volume or a Surface, got {type(what).__name__}")
    kind = "volume" if isinstance(what, Volume) else "mesh"
    module = exporter_for(path, kind, format=format)
    name = Path(fspath(path)).name
    if isinstance(what, Volume):
        bad = what.values.size - int(np.count_nonzero(np.isfinite(what.values)))
        if bad:
            raise FileError(f"{name}: the volume has {bad} values that are NaN or infinite, which no reader accepts")
    elif not len(what.vertices) or not len(what.faces):
        raise FileError(f"{name}: the surface is empty; choose another isovalue")
    if wavefunction is not None:
        refuse_inputs(path, [wavefunction.source])
    with written_atomically(path) as temporary:
        module.write(what, temporary, wavefunction)


def exporter_for(path: str | PathLike[str], kind: str, *, format: str | None = None) -> ModuleType:
    """The module that would write to a path, for those who want a refusal before the work and not after it.

    Parameters
    ----------
    path
        The file that is to be written.
    kind : str
        "volume" or "mesh".
    format : str, optional
        As in `save`.

    Raises
    ------
    FileError
        When no format goes by that suffix or name, it is of the other kind, or there can be no file of this name.
    """
    try:
        name = Path(fspath(path)).name
    except TypeError as error:
        raise FileError(f"save: expected the name of a file, got {type(path).__name__}") from error
    module = _by_suffix(name, kind) if format is None else _by_name(format, kind)
    if kind != module.KIND:
        raise FileError(
            f"{name}: this format ({module.DESCRIPTION}) holds {_KINDS[module.KIND]}, got {_KINDS[kind]}; for "
            f"{_KINDS[kind]} use {_known(kind)}" + ("" if kind == "mesh" else ", or take its isosurface first")
        )
    checked_target(path)
    return module


def _by_suffix(name: str, kind: str) -> ModuleType:
    lowered = Path(name.lower())
    for module in exporter_modules().values():
        if any(lowered.match(pattern) for pattern in module.PATTERNS):
            return module
    if not lowered.suffix:
        raise FileError(f"{name}: has no suffix, which tells the format; for {_KINDS[kind]} use {_known(kind)}")
    suffixes = {pattern.lstrip("*"): None for module in exporter_modules().values() for pattern in module.PATTERNS}
    raise FileError(
        f"{name}: no format goes by the suffix {lowered.suffix}{_nearest(lowered.suffix, list(suffixes))}; for "
        f"{_KINDS[kind]} use {_known(kind)}"
    )


def _by_name(format: str, kind: str) -> ModuleType:
    modules = exporter_modules()
    wanted = str(format).strip().lower().lstrip(".")
    if wanted in modules:
        return modules[wanted]
    for module in modules.values():
        if f"*.{wanted}" in module.PATTERNS:
            return module
    names = ", ".join(name for name, module in modules.items() if kind == module.KIND)
    raise FileError(f"format {format!r}: no such format{_nearest(wanted, list(modules))}; for {_KINDS[kind]}: {names}")


def _nearest(wanted: str, known: list[str]) -> str:
    close = get_close_matches(wanted, known, 1)
    return f"; did you mean {close[0]}?" if close else ""


def _known(kind: str) -> str:
    modules = [module for module in exporter_modules().values() if kind == module.KIND]
    return ", ".join(pattern.lstrip("*") for module in modules for pattern in module.PATTERNS)


__all__ = ["exporter_for", "exporter_modules", "save"]
