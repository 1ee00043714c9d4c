"""Files of commands: the wavefunction, or the volumes, that a command works on, and the page that it writes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..base.errors import FileError, OrbitileError
from ._console import tell

if TYPE_CHECKING:
    from ..model.geometry import Geometries, Geometry
    from ..model.surface import Surface
    from ..model.trajectory import Trajectory
    from ..model.volume import Volume
    from ..model.wavefunction import Wavefunction
    from ..scenes import VolumeDrawing
    from ..scenes.web import Document


def wavefunction_of(options: argparse.Namespace) -> Wavefunction:
    """What the file holds, or a frame of it; what is odd about it is told."""
    wavefunction = load_frame(options)
    tell_notes(options, wavefunction)
    return wavefunction


def load_frame(options: argparse.Namespace) -> Wavefunction:
    """What the file holds, or the frame that the options ask for."""
    from ..readers import load, load_trajectory

    if options.frame is None:
        return load(options.file)
    trajectory = load_trajectory(options.file)
    return trajectory[chosen_frame(options, trajectory)]


def chosen_frame(options: argparse.Namespace, frames: Trajectory | Geometries) -> int:
    """The frame that the options ask for, as an index from 0."""
    if not 1 <= options.frame <= len(frames):
        raise FileError(f"{frames.name}: --frame: expected a number from 1 to {len(frames)}, got {options.frame}")
    return int(options.frame) - 1


def tell_notes(options: argparse.Namespace, wavefunction: Wavefunction) -> None:
    """Tell what is odd about a wavefunction."""
    from ..analysis.information import notes

    for note in () if options.quiet else notes(wavefunction):
        tell(f"{wavefunction.source.rpartition('/')[2]}: note: {note}")


_ORBITALS_ONLY = ("color_by", "plane", "spacing", "points", "margin", "frame")
"""Options that need orbitals, or several frames."""


def is_sampled(options: argparse.Namespace) -> bool:
    """Whether the file of a command is one of volumes."""
    from ..readers import may_hold_volumes

    return may_hold_volumes(options.file)


def surface_in(options: argparse.Namespace, field: str | None, isovalue: float | None) -> Surface:
    """The surface of a volume in a file; isovalue and errors as of `_volume_in`."""
    from ..surfaces.isosurface import isosurface

    return isosurface(*_volume_in(options, field, isovalue))


def volume_drawing_in(options: argparse.Namespace, field: str | None, isovalue: float | None) -> VolumeDrawing:
    """A volume of a file as fog or a slice; isovalue and errors as of `_volume_in`."""
    from ..scenes import VolumeDrawing

    return VolumeDrawing(*_volume_in(options, field, isovalue), options.style)


def _volume_in(options: argparse.Namespace, field: str | None, isovalue: float | None) -> tuple[Volume, float]:
    """A volume of a file, and an isovalue that suits its values where none is given.

    Raises
    ------
    OrbitileError
        When the file cannot be read, or an option asks for what takes orbitals.
    """
    from ..session.source import VALUES, chosen, volumes_of
    from ..surfaces.isovalue import suitable_isovalue

    given = [name for name in _ORBITALS_ONLY if getattr(options, name, None) is not None]
    if given:
        raise OrbitileError(
            f"{options.file}: holds values on a lattice and no orbitals; leave out --{given[0].replace('_', '-')}"
        )
    volume = chosen(volumes_of(options.file), field or VALUES, options.file)
    return volume, suitable_isovalue(volume) if isovalue is None else isovalue


def molecule_in(options: argparse.Namespace) -> Wavefunction | None:
    """The atoms that a file of volumes names, as free atoms; None where it names none."""
    from ..gaussians.promolecule import promolecule
    from ..readers import load_atoms

    geometry = load_atoms(options.file)
    return None if geometry is None else promolecule(geometry, source=options.file)


def information_on_volumes(options: argparse.Namespace) -> dict[str, Any]:
    """What is in a file of volumes: lattice, range and integrals of each, and the atoms; lengths in Angstrom."""
    import numpy as np

    from ..model.elements import SYMBOLS
    from ..model.units import angstrom
    from ..readers import load_atoms
    from ..session.source import volumes_of

    atoms: Geometry | None = load_atoms(options.file)
    found = [_facts(volume, angstrom) for volume in volumes_of(options.file)]
    return {
        "file": options.file,
        "volumes": found,
        "elements": [] if atoms is None else [SYMBOLS[number] for number in atoms.atomic_numbers],
        "positions": [] if atoms is None else np.round(atoms.positions / angstrom, 8).tolist(),
    }


def _facts(volume: Volume, angstrom: float) -> dict[str, Any]:
    import numpy as np

    from ..surfaces.isovalue import suitable_isovalue

    lattice, values = volume.lattice, volume.values
    try:
        isovalue: float | None = suitable_isovalue(volume)
    except OrbitileError:  # nothing but zeros, or no box at all
        isovalue = None
    return {
        "quantity": volume.quantity,
        "unit": volume.unit,
        "points": list(lattice.shape),
        "origin": (lattice.origin / angstrom).tolist(),
        "axes": (lattice.axes / angstrom).tolist(),
        "minimum": float(values.min()),
        "maximum": float(values.max()),
        "integral": float(values.sum(dtype=np.float64)) * lattice.cell_volume,
        "integral_of_square": float(np.einsum("xyz,xyz->", values, values, dtype=np.float64)) * lattice.cell_volume,
        "isovalue": isovalue,
    }


def volumes_as_text(found: dict[str, Any]) -> str:
    """What `information_on_volumes` found, for people."""
    import numpy as np

    from ..session.source import VALUES

    elements = found["elements"]
    counts = "".join(f"{element}{elements.count(element)}" for element in sorted(set(elements)))
    lines = [f"file      {found['file']}", f"atoms     {f'{len(elements)}, {counts}' if elements else 'none named'}"]
    for number, facts in enumerate(found["volumes"], 1):
        name = VALUES if len(found["volumes"]) == 1 else f"{VALUES}:{number}"
        axes, unit = np.array(facts["axes"]), f" {facts['unit']}" if facts["unit"] else ""
        steps = np.linalg.norm(axes, axis=1)
        skewed = np.abs(axes - np.diag(np.diag(axes))).max() > 1e-6 * steps.max()
        lengths = steps * (np.array(facts["points"]) - 1)
        lines += [
            "",
            f"volume    {facts['quantity'] or 'values'}{f' in{unit}' if unit else ''}; as a FIELD {name}",
            f"points    {' x '.join(map(str, facts['points']))}, {' x '.join(f'{step:.4g}' for step in steps)} "
            f"Angstrom apart{', axes not along x, y, z' if skewed else ''}",
            f"box       {' x '.join(f'{length:.2f}' for length in lengths)} Angstrom from "
            f"{', '.join(f'{value:.2f}' for value in facts['origin'])}",
            f"values    {facts['minimum']:.4g} to {facts['maximum']:.4g}{unit}",
            f"integral  {facts['integral']:.6g}, of the square {facts['integral_of_square']:.6g} (lengths in bohr)",
        ]
        if facts["isovalue"] is not None:
            lines.append(f"isovalue  {facts['isovalue']:.4g} by default")
    return "\n".join(lines)


_PAGES = (".html", ".htm")


def is_page(output: str) -> bool:
    """Whether a file is a page, by its name."""
    return output.lower().endswith(_PAGES)


def write_page(document: Document, output: str, source: str) -> None:
    """Write the page of a document, whole or not at all, and print its name and size."""
    from ..scenes.web import page

    write_text_of_page(page(document), output, [source])


def write_text_of_page(text: str, output: str, sources: Sequence[str]) -> None:
    """Write a page that was made of some files, whole or not at all, and print its name and size."""
    from ..exporters import exporter_for
    from ..files.writing import refuse_inputs, written_atomically

    exporter_for(output, "scene")
    refuse_inputs(output, sources)
    with written_atomically(output) as temporary:
        temporary.write_text(text, encoding="utf-8")
    print(f"{output}: {Path(output).stat().st_size / 1024:.0f} kB")
