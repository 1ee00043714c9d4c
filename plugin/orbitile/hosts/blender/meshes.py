"""Meshes of Blender, from those of scenes. Here lengths become Angstrom, which are Blender's units."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...model.units import angstrom
from ...scenes import Mesh
from ...scenes.solids import Shape
from ...surfaces.colour_maps import linear_light
from .materials import COLOURS, surface_material


def data_of_shape(name: str, shape: Shape) -> Any:
    """A mesh of triangles, lit smoothly; its lengths are taken as they are."""
    data = bpy.data.meshes.new(name)
    _fill(data, shape.vertices, shape.faces, shape.normals)
    return data


def data_of_mesh(name: str, mesh: Mesh) -> Any:
    """A mesh with its materials: one for each sign of the field, or one whose colours are those of the vertices."""
    data = bpy.data.meshes.new(name)
    _fill(data, mesh.vertices / angstrom, mesh.faces, mesh.normals)
    opacity = float(mesh.colours[:, 3].min(initial=1.0))
    if not len(mesh.phases):
        layer = data.color_attributes.new(COLOURS, "FLOAT_COLOR", "POINT")
        colours = np.hstack([linear_light(mesh.colours[:, :3]), mesh.colours[:, 3:]])
        layer.data.foreach_set("color", colours.astype(np.float32).ravel())
        data.materials.append(surface_material(f"{name} values", None, opacity))
        return data
    numbers = np.zeros(len(mesh.faces), np.int32)
    signs = mesh.phases[mesh.faces[:, 0]] if len(mesh.faces) else np.zeros(0)
    for phase, word in ((1, "positive"), (-1, "negative")):
        vertices = np.flatnonzero(mesh.phases == phase)
        if len(vertices):
            red, green, blue, _ = mesh.colours[vertices[0]].tolist()
            numbers[signs == phase] = len(data.materials)
            data.materials.append(surface_material(f"{name} {word}", (red, green, blue), opacity))
    data.polygons.foreach_set("material_index", numbers)
    return data


def _fill(data: Any, vertices: NDArray[Any], faces: NDArray[Any], normals: NDArray[Any]) -> None:
    data.vertices.add(len(vertices))
    data.vertices.foreach_set("co", vertices.astype(np.float32).ravel())
    data.loops.add(3 * len(faces))
    data.loops.foreach_set("vertex_index", faces.astype(np.int32).ravel())
    data.polygons.add(len(faces))
    data.polygons.foreach_set("loop_start", np.arange(0, 3 * len(faces), 3, dtype=np.int32))
    data.update(calc_edges=True)
    data.shade_smooth()
    if len(faces):
        data.normals_split_custom_set_from_vertices(normals.astype(np.float32))
