"""A region as a file beside its wavefunction, so that its surroundings are found again.

`ligand.region` beside `ligand.h5` is a NumPy archive with all parts of a `Region` and of its `Structure`. Which charges
a wavefunction was computed in is told by its method, which names them by their content.
"""

from __future__ import annotations

from dataclasses import fields
from os import PathLike
from typing import Any

import numpy as np

from ..files.reading import user_path
from ..files.writing import written_atomically
from ..model.external_charges import ExternalCharges
from ..model.geometry import Geometry
from ..model.structure import Residue, Structure
from ..model.wavefunction import Wavefunction
from ..readers._surroundings import at_same_places, check_surroundings, file_of, parts_of_region
from ..readers._surroundings import region_file as region_file
from ..readers._surroundings import vacuum_file as vacuum_file
from .region import Link, Region, at_geometry

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
