"""What the mesh formats share: a surface as a mesh of trimesh."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files.encodings import plain
from ..model.surface import Surface
from ..model.units import angstrom
from ..scenes import Scene, facts_of
from ..scenes.solids import Shape, solid_of
from ..surfaces.colour_maps import NEGATIVE, POSITIVE, colours_of


def trimesh_of(surface: Surface) -> Any:
    """Mesh with normals and colours at the vertices, in Angstrom; what it shows goes into its metadata."""
    trimesh: Any = importlib.import_module("trimesh")  # imported here because it takes a second
    return trimesh.Trimesh(
        vertices=surface.vertices.astype(np.float64) / angstrom,
        faces=surface.faces,
        vertex_normals=surface.normals,
        vertex_colors=_colours(surface),
        metadata=described(facts_of(surface)),
        process=False,
    )


def in_angstrom(shape: Shape) -> Shape:
    """A shape whose lengths are in bohr, in Angstrom."""
    return shape._replace(vertices=shape.vertices.astype(np.float64) / angstrom)


def trimesh_of_scene(scene: Scene) -> Any:
    """The same of a whole scene, molecule and meshes as one, with opacities."""
    trimesh: Any = importlib.import_module("trimesh")
    meshes = [solid_of(scene.molecule, subdivisions=2, sections=16), *scene.meshes]
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes[:-1])])
    return trimesh.Trimesh(
        vertices=np.concatenate([mesh.vertices for mesh in meshes]).astype(np.float64) / angstrom,
        faces=np.concatenate([mesh.faces + start for mesh, start in zip(meshes, starts, strict=True)]),
        vertex_normals=np.concatenate([mesh.normals for mesh in meshes]),
        vertex_colors=np.round(255 * np.concatenate([mesh.colours for mesh in meshes])).astype(np.uint8),
        process=False,
    )


def mesh_and_comments(what: Surface | Scene) -> tuple[Any, list[str]]:
    """A surface or a scene as one mesh, and what it shows as lines of ASCII text."""
    if isinstance(what, Surface):
        return trimesh_of(what), comments(facts_of(what))
    return trimesh_of_scene(what), comments(*(mesh.facts for mesh in what.meshes if mesh.facts))


def _colours(surface: Surface) -> NDArray[np.uint8]:
    """Those of the second field, or of the phases: red, green, blue and alpha, shape (n, 4)."""
    if surface.colouring is None:
        shown: NDArray[np.floating] = np.where(surface.phases[:, None] > 0, POSITIVE, NEGATIVE)
    else:
        shown = colours_of(surface.colouring)
    colours = np.full((len(surface.vertices), 4), 255, np.uint8)
    colours[:, :3] = np.round(255 * shown)
    return colours


def described(facts: Mapping[str, Any]) -> dict[str, Any]:
    """What a mesh shows, of which the facts are given, and in which units."""
    return {"generator": "Orbitile", **facts, "length_unit": "angstrom"}


def comments(*shown: Mapping[str, Any]) -> list[str]:
    """The same of one surface or several, of which the facts are given, as lines of ASCII text."""
    lines = ["written by Orbitile; lengths in Angstrom"]
    for facts in shown:
        lines.append(f"{facts['quantity'] or 'surface'} at isovalue +/-{facts['isovalue']:g} {facts['unit']}")
        if "colours" in facts:
            lines.append(f"colours: {facts['colours']}")
    return [" ".join(plain(line).split()).encode("ascii", errors="replace").decode()[:200] for line in lines]
