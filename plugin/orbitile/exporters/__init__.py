"""Files out: one module a format, found by name; `Exporter` says what each of them offers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..base.errors import FileError
from ..base.registry import modules_of
from ..files.writing import Replaces, checked_target, folder_written_atomically, refuse_inputs, written_atomically
from ..model.surface import Surface
from ..model.volume import Volume, VolumeHeader
from ..model.wavefunction import Wavefunction
from ..scenes import Scene

KINDS: dict[str, tuple[type, str]] = {
    "volume": (Volume, "a volume"),
    "mesh": (Surface, "a surface"),
    "scene": (Scene, "a scene"),
    "geometry": (Wavefunction, "the atoms of a molecule"),
}
"""What a format may hold: its class, and in words."""

Slabs = Iterable[NDArray[np.floating]]


class Exporter(Protocol):
    """What a module offers that writes a format."""

    DESCRIPTION: str
    """For people, such as "Gaussian cube file"."""
    PATTERNS: tuple[str, ...]
    """Names of its files in small letters, such as "*.cube"; the first is the customary one."""
    KIND: str
    """What it holds, of `KINDS`."""
    write_slabs: Callable[[VolumeHeader, Slabs, Path, Wavefunction | None], None] | None = None
    """Optional: write a volume whose values come slab by slab along the first axis, to a path, with the atoms of a
    wavefunction. Without it a volume is held in memory while it is computed."""
    replaces: Replaces | None = None
    """Of a format whose files are folders, and of no other: which folders a new one may replace."""
    largest_size: Callable[[VolumeHeader], int] | None = None
    """Optional: bytes that the values of a volume take in a file, at most."""
    write_scene: Callable[[Scene, Path], None] | None = None
    """Optional, of a format of another kind that has room for whole scenes too: write one to a path."""

    def write(self, what: Any, path: Path, wavefunction: Wavefunction | None = None) -> None:
        """Write what is of its kind to a path, and the atoms of a wavefunction where the format has room for them.

        Lengths come in bohr. The file is put in place when it is whole, so nothing has to be done when writing fails.
        Raises an `OrbitileError` when the format cannot hold what it is given.
        """


def exporter_modules() -> Mapping[str, Exporter]:
    """All exporter modules by name."""
    return modules_of(__name__, Exporter, tuple(KINDS))


def save(
    what: Volume | Surface | Scene | Wavefunction,
    path: str | PathLike[str],
    *,
    format: str | None = None,
    wavefunction: Wavefunction | None = None,
) -> None:
    """Write a volume, a surface, a scene or the atoms of a molecule to a file, whole or not at all.

    Parameters
    ----------
    what : Volume, Surface, Scene or Wavefunction
        Volumes go to cube, OpenDX, MRC/CCP4, npz, plt and VDB files and to Zarr stores; surfaces and scenes to PLY,
        OBJ, binary glTF and USDZ files and MolViewSpec archives, and for printers to STL and 3MF files; geometries of a
        wavefunction to XYZ files.
    path
        The file; an existing one is replaced.
    format : str, optional
        Name of the format ("cube", "opendx", "mrc", "npz", "plt", "vdb", "zarr", "ply", "obj", "gltf", "usdz", "mvsx",
        "stl", "threemf", "xyz"), where the suffix does not tell.
    wavefunction : Wavefunction, optional
        Its atoms are written along where the format has room for them.

    Raises
    ------
    FileError
        When no format goes by that suffix or name, the format cannot hold what it is given, the file cannot be written,
        or it is the one that the wavefunction was read from. An existing file is then left as it was.
    """
    kind = next((kind for kind, (type_, _) in KINDS.items() if isinstance(what, type_)), None)
    if kind is None:
        raise FileError(f"save: expected a Volume, a Surface, a Scene or a Wavefunction, got {type(what).__name__}")
    exporter = exporter_for(path, kind, format=format)
    name = Path(fspath(path)).name
    if isinstance(what, Volume):
        bad = what.values.size - int(np.count_nonzero(np.isfinite(what.values)))
        if bad:
            raise FileError(f"{name}: the volume has {bad} values that are NaN or infinite, which no reader accepts")
    elif isinstance(what, Surface) and (not len(what.vertices) or not len(what.faces)):
        raise FileError(f"{name}: the surface is empty; choose another isovalue")
    source = what if isinstance(what, Wavefunction) else wavefunction
    if source is not None:
        refuse_inputs(path, [source.source])
    with placed(exporter, path) as temporary:
        if isinstance(what, Scene) and exporter.write_scene is not None:
            exporter.write_scene(what, temporary)
        else:
            exporter.write(what, temporary, wavefunction)


def exporter_for(path: str | PathLike[str], kind: str, *, format: str | None = None) -> Exporter:
    """The module that would write to a path, for those who want a refusal before the work and not after it.

    Parameters
    ----------
    path
        The file that is to be written.
    kind : str
        What is to be written, of `KINDS`.
    format : str, optional
        As in `save`.

    Raises
    ------
    FileError
        When no format goes by that suffix or name, it is of another kind, or there can be no file of this name.
    """
    try:
        name = Path(fspath(path)).name
    except TypeError as error:
        raise FileError(f"save: expected the name of a file, got {type(path).__name__}") from error
    exporter = _by_suffix(name, kind) if format is None else _by_name(format, kind)
    if not _holds(exporter, kind):
        (_, held), (_, given) = KINDS[exporter.KIND], KINDS[kind]
        raise FileError(
            f"{name}: this format ({exporter.DESCRIPTION}) holds {held}, got {given}; for {given} use {_known(kind)}"
            + (", or take its isosurface first" if kind == "volume" and exporter.KIND == "mesh" else "")
        )
    checked_target(path, exporter.replaces)
    return exporter


def placed(exporter: Exporter, path: str | PathLike[str]) -> AbstractContextManager[Path]:
    """A temporary file to write, or folder to fill, that is put in place when the block is left without an error.

    Raises
    ------
    FileError
        As `written_atomically` and `folder_written_atomically`.
    """
    replaces = exporter.replaces
    return written_atomically(path) if replaces is None else folder_written_atomically(path, replaces)


def kind_of(path: str | PathLike[str]) -> str:
    """What the format holds that goes by the suffix of a path, of `KINDS`; a volume where there is none."""
    exporter = _of_suffix(Path(fspath(path)).name)
    return "volume" if exporter is None else exporter.KIND


def holds_scenes(path: str | PathLike[str]) -> bool:
    """Whether a file is one that holds a whole scene, by its name."""
    exporter = _of_suffix(Path(fspath(path)).name)
    return exporter is not None and _holds(exporter, "scene")


def patterns(kind: str) -> list[str]:
    """Names of files that can hold something of a kind: "*.cube", "*.cub", "*.dx", ..."""
    return [pattern for exporter in _of_kind(kind) for pattern in exporter.PATTERNS]


def suffixes(kind: str) -> str:
    """The customary suffix of each format for something of a kind, with commas between: ".cube, .dx, .mrc"."""
    return ", ".join(sorted(exporter.PATTERNS[0].lstrip("*") for exporter in _of_kind(kind)))


def write_slabs(
    exporter: Exporter, header: VolumeHeader, slabs: Slabs, path: Path, wavefunction: Wavefunction | None
) -> None:
    """Write a volume whose values come slab by slab along the first axis; held in memory if the format asks for it."""
    if exporter.write_slabs is not None:
        exporter.write_slabs(header, slabs, path, wavefunction)
    else:
        values = np.concatenate(list(slabs))
        exporter.write(Volume(values, header.lattice, header.quantity, header.unit), path, wavefunction)


def _holds(exporter: Exporter, kind: str) -> bool:
    return kind == exporter.KIND or (kind == "scene" and exporter.write_scene is not None)


def _of_kind(kind: str) -> list[Exporter]:
    return [exporter for exporter in exporter_modules().values() if _holds(exporter, kind)]


def _of_suffix(name: str) -> Exporter | None:
    lowered = Path(name.lower())
    fitting = (e for e in exporter_modules().values() if any(lowered.match(pattern) for pattern in e.PATTERNS))
    return next(fitting, None)


def _by_suffix(name: str, kind: str) -> Exporter:
    exporter = _of_suffix(name)
    if exporter is not None:
        return exporter
    suffix = Path(name.lower()).suffix
    use = f"for {KINDS[kind][1]} use {_known(kind)}"
    if not suffix:
        raise FileError(f"{name}: has no suffix to tell the format; {use}")
    known = [pattern.lstrip("*") for exporter in exporter_modules().values() for pattern in exporter.PATTERNS]
    raise FileError(f"{name}: unknown suffix {suffix}{_nearest(suffix, known)}; {use}")


def _by_name(format: str, kind: str) -> Exporter:
    exporters = exporter_modules()
    wanted = str(format).strip().lower().lstrip(".")
    if wanted in exporters:
        return exporters[wanted]
    for exporter in exporters.values():
        if f"*.{wanted}" in exporter.PATTERNS:
            return exporter
    names = ", ".join(name for name, exporter in exporters.items() if _holds(exporter, kind))
    nearest = _nearest(wanted, list(exporters))
    raise FileError(f"format {format!r}: no such format{nearest}; for {KINDS[kind][1]}: {names}")


def _nearest(wanted: str, known: list[str]) -> str:
    close = get_close_matches(wanted, known, 1)
    return f"; did you mean {close[0]}?" if close else ""


def _known(kind: str) -> str:
    return ", ".join(pattern.lstrip("*") for pattern in patterns(kind))
