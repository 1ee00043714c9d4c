"""A region as a file beside its wavefunction, so that its surroundings are found again.

`ligand.region` beside `ligand.h5` is a NumPy archive with all parts of a `Region` and of its `Structure`. Which charges
a wavefunction was computed in is told by its method, which names them by their content.
"""

from __future__ import annotations

import shutil
from dataclasses import fields, replace
from os import PathLike
from typing import Any

import numpy as np

from ..base.errors import FileError
from ..base.watch import stage
from ..exporters._series import require_series, write_series
from ..files.reading import user_path
from ..files.writing import written_atomically
from ..model.external_charges import ExternalCharges
from ..model.geometry import Geometry
from ..model.structure import Residue, Structure
from ..model.wavefunction import Wavefunction
from ..readers._surroundings import at_same_places, check_surroundings, file_of, parts_of_region
from ..readers._surroundings import region_file as region_file
from ..readers._surroundings import vacuum_file as vacuum_file
from .calculation import Solution, sound
from .engines import engine_of
from .region import Link, Region, at_geometry
from .series import Means

_ARRAYS = ("atomic_numbers", "positions", "residue_of", "bonds", "orders", "formal_charges", "partial_charges")
_TEXTS = ("names", "notes")
_CHARGES = tuple(part.name for part in fields(ExternalCharges))


def save_region(region: Region, path: str | PathLike[str]) -> None:
    """Write a region; see `region_file` for where it is looked for.

    Raises
    ------
    FileError
        When it cannot be written.
    """
    structure, external = region.structure, region.external
    parts = {f"structure/{name}": getattr(structure, name) for name in _ARRAYS}
    parts |= {f"structure/{name}": np.array(getattr(structure, name), np.str_) for name in _TEXTS}
    parts["structure/residues"] = np.array([(of.chain, of.number, of.name) for of in structure.residues], np.str_)
    parts |= {name: getattr(region, name) for name in ("atoms", "owners", "sites", "shifts")}
    parts["links"] = np.array([(link.inside, link.outside) for link in region.links], np.int64).reshape(-1, 2)
    parts["shares"] = np.array([link.share for link in region.links])
    parts["electrons"] = np.array([region.charge, region.unpaired])
    parts["notes"] = np.array(region.notes, np.str_)
    for name in ("atomic_numbers", "positions"):
        parts[f"geometry/{name}"] = getattr(region.geometry, name)
    for name in () if external is None else _CHARGES:
        parts[f"external/{name}"] = getattr(external, name)
    with written_atomically(path) as unfinished, unfinished.open("wb") as stream:
        np.savez_compressed(stream, **parts)


def require_region(path: str | PathLike[str], *, vacuum: bool) -> None:
    """Refuse to write a region beside a file, or to it, that would replace what is none; before anything is computed.

    Parameters
    ----------
    path
        The series file of the region.
    vacuum
        Whether there is to be one in vacuum beside it.

    Raises
    ------
    FileError
        With what is there.
    """
    for file in (path, vacuum_file(path)) if vacuum else (path,):
        require_series(file)
    if (file := region_file(path)).exists():
        try:
            load_region(file)
        except FileError as error:
            raise FileError(f"{file}: is there already, and no region; give another name") from error


def compute_region(
    region: Region, means: Means, path: str | PathLike[str], *, vacuum: bool
) -> tuple[Solution, Solution | None]:
    """Compute a region, if asked for also without its surroundings, and write all that stands beside a series file.

    What an earlier region of that name had in vacuum is removed.

    Returns
    -------
    tuple
        In the field, or in vacuum where the region has no surroundings; in vacuum where it has.

    Raises
    ------
    OrbitileError
        As of `engine_of` and the engine.
    """
    calculation, geometry, how = means.calculation, sound(region.geometry), (means.device, means.precision)
    solver, old = engine_of(means.engine, geometry, calculation), vacuum_file(path)
    is_old = region_file(path).exists() and old.exists()
    twice = vacuum and calculation.external_charges is not None
    with stage(0, 0.6 if twice else 1):
        found = solver.solve(geometry, calculation, (), *how)
    write_series(path, found.wavefunction, str(calculation))
    save_region(region, region_file(path))
    if not twice:
        if is_old:
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        return found, None
    free = replace(calculation, external_charges=None)
    with stage(0.6, 1):
        alone = solver.solve(geometry, free, (found.wavefunction,), *how)
    write_series(old, alone.wavefunction, str(free))
    return found, alone


def load_region(path: str | PathLike[str]) -> Region:
    """Read a region that `save_region` wrote.

    Raises
    ------
    FileError
        When there is no such file, or it is damaged.
    """
    with parts_of_region(user_path(path)) as parts:
        of_atoms: dict[str, Any] = {name: parts[f"structure/{name}"] for name in _ARRAYS}
        of_atoms |= {name: tuple(parts[f"structure/{name}"].tolist()) for name in _TEXTS}
        residues = tuple(Residue(*row) for row in parts["structure/residues"].tolist())
        charge, unpaired = parts["electrons"].tolist()
        ends = zip(parts["links"].tolist(), parts["shares"].tolist(), strict=True)
        charges = {name: parts[f"external/{name}"] for name in _CHARGES if f"external/{name}" in parts}
        return Region(
            Structure(**of_atoms, residues=residues),
            parts["atoms"],
            tuple(Link(inside, outside, share) for (inside, outside), share in ends),
            Geometry(parts["geometry/atomic_numbers"], parts["geometry/positions"]),
            ExternalCharges(**charges) if charges else None,
            parts["owners"],
            parts["sites"],
            parts["shifts"],
            charge,
            unpaired,
            tuple(parts["notes"].tolist()),
        )


def region_of(wavefunction: Wavefunction) -> Region:
    """The region of a wavefunction, from the file beside that which it was read from, with its atoms where they are.

    Raises
    ------
    FileError
        When there is none, or it is of other charges than those in whose field the wavefunction was computed.
    """
    file = region_file(file_of(wavefunction))
    region = load_region(file)
    if region.external is not None:
        check_surroundings(wavefunction, region.external, file)
    if at_same_places(wavefunction.positions, region.geometry.positions):
        return region
    return at_geometry(region, Geometry(wavefunction.atomic_numbers, wavefunction.positions))
