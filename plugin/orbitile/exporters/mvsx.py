"""MolViewSpec archives, what Mol* opens: through the package of the format (extra `orbitile[molstar]`).

The format is that of A. Midlik et al. (Nucleic Acids Res. 2025, 53, W408; https://molstar.org/mol-view-spec-docs). The
molecule is a structure file with its bonds, so that its atoms can be picked and told; each lobe is a mesh.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import FileError
from ..base.packages import required
from ..model.surface import Surface
from ..model.units import angstrom
from ..model.wavefunction import Wavefunction
from ..scenes import Mesh, Molecule, Scene, scene_of

DESCRIPTION = "MolViewSpec archive"
PATTERNS = ("*.mvsx",)
KIND = "mesh"

_STRUCTURE = "molecule.sdf"
_SHADES = 31
"""Steps of red, green and blue in the colours of triangles: each colour is a group of them."""
_DIGITS = 4
"""Of places in Angstrom."""


def write(surface: Surface, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write the lobes of a surface."""
    write_scene(scene_of(surface), path)


def write_scene(scene: Scene, path: Path) -> None:
    """Write the molecule, the edges of its cell, labels, and the lobes of each mesh.

    Raises
    ------
    FileError
        Where the package molviewspec is missing.
    OSError
        Where it cannot write.
    """
    library = required("molviewspec", FileError, "MolViewSpec archives need the package molviewspec")
    builder = library.create_builder()
    builder.canvas(background_color="#ffffff")
    assets = {}
    is_atom = _atoms_of(scene.molecule)
    if is_atom.any():
        assets[_STRUCTURE] = _structure(scene.molecule, is_atom).encode()
        _add_atoms(builder, scene.molecule, is_atom)
    _add_edges(builder, scene.molecule, is_atom)
    for mesh in scene.meshes:
        for lobe in mesh.parts():
            if len(lobe.faces):
                _add_lobe(builder, lobe)
    if scene.labels:
        texts = builder.primitives(label_color="#000000")
        for place, text in scene.labels:
            texts.label(position=_places(place)[0], text=text, label_size=0.4)
    title = "; ".join(dict.fromkeys(mesh.name for mesh in scene.meshes if mesh.name)) or "molecule"
    library.MVSX(data=builder.get_state(title=title), assets=assets, compresslevel=9).dump(path)


def _places(points: NDArray[np.floating]) -> list[tuple[float, float, float]]:
    """Places in bohr as rows of numbers in Angstrom."""
    rows = np.round(np.reshape(points, (-1, 3)).astype(np.float64) / angstrom, _DIGITS) + 0.0  # no -0.0
    return [(x, y, z) for x, y, z in rows.tolist()]


def _colour(channels: NDArray[np.floating]) -> str:
    return "#" + "".join(f"{round(255 * float(value)):02x}" for value in channels[:3])


def _atoms_of(molecule: Molecule) -> NDArray[np.bool_]:
    """Which of the balls are atoms, and not ends of the edges of a cell, or ghosts."""
    return np.array([symbol.isalpha() and symbol not in ("X", "cell") for symbol in molecule.symbols], bool)


def _structure(molecule: Molecule, is_atom: NDArray[np.bool_]) -> str:
    """Atoms and bonds as a connection table V3000, which has no limit of 999 atoms."""
    number = np.cumsum(is_atom)
    bonds = [(a, b) for a, b in molecule.bonds.tolist() if is_atom[a] and is_atom[b]]
    places = _places(molecule.centres)
    lines = ["", "  Orbitile", "", "  0  0  0     0  0            999 V3000", "M  V30 BEGIN CTAB"]
    lines += [f"M  V30 COUNTS {number[-1]} {len(bonds)} 0 0 0", "M  V30 BEGIN ATOM"]
    for n in np.flatnonzero(is_atom).tolist():
        x, y, z = places[n]
        lines.append(f"M  V30 {number[n]} {molecule.symbols[n]} {x} {y} {z} 0")
    lines += ["M  V30 END ATOM", "M  V30 BEGIN BOND"]
    lines += [f"M  V30 {k} 1 {number[a]} {number[b]}" for k, (a, b) in enumerate(bonds, 1)]
    return "\n".join([*lines, "M  V30 END BOND", "M  V30 END CTAB", "M  END", "$$$$", ""])


def _add_atoms(builder: Any, molecule: Molecule, is_atom: NDArray[np.bool_]) -> None:
    structure = builder.download(url=_STRUCTURE).parse(format="sdf").model_structure()
    drawn = structure.component(selector="all").representation(type="ball_and_stick")
    first = {molecule.symbols[n]: n for n in np.flatnonzero(is_atom)[::-1].tolist()}
    for symbol, n in first.items():
        drawn.color(color=_colour(molecule.colours[n]), selector={"type_symbol": symbol})


def _add_edges(builder: Any, molecule: Molecule, is_atom: NDArray[np.bool_]) -> None:
    """Bonds that are none of the structure: the edges of a cell, and what has no symbols."""
    left = [(a, b) for a, b in molecule.bonds.tolist() if not (is_atom.any() and is_atom[a] and is_atom[b])]
    if not left:
        return
    places = _places(molecule.centres)
    radii = np.broadcast_to(molecule.stick_radius, len(molecule.bonds))
    edges = builder.primitives(color=_colour(molecule.colours[left[0][0]]))
    for a, b in left:
        edges.tube(start=places[a], end=places[b], radius=float(radii.min()) / angstrom)


def _told(lobe: Mesh) -> str:
    """What is told of a lobe under the pointer: its name, and the isovalue with its unit."""
    if "isovalue" not in lobe.facts:
        return lobe.name or "surface"
    return f"{lobe.name or 'surface'}, isovalue {lobe.facts['isovalue']:g} {lobe.facts['unit']}".rstrip()


def _add_lobe(builder: Any, lobe: Mesh) -> None:
    opacity = round(float(lobe.colours[:, 3].min()), 3)
    group = builder.primitives(opacity=opacity, tooltip=_told(lobe))
    vertices = [value for place in _places(lobe.vertices) for value in place]
    given: dict[str, Any] = {"triangle_groups": [0] * len(lobe.faces), "color": _colour(lobe.colours[0])}
    if lobe.colour is None:
        shades = np.rint(lobe.colours[:, :3][lobe.faces].mean(axis=1) * _SHADES).astype(int)
        colours, groups = np.unique(shades, axis=0, return_inverse=True)
        given["triangle_groups"] = groups.reshape(-1).tolist()
        given["group_colors"] = {n: _colour(colour / _SHADES) for n, colour in enumerate(colours)}
    group.mesh(vertices=vertices, indices=lobe.faces.reshape(-1).tolist(), **given)
