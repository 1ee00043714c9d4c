"""Meshes of Blender, from those of scenes. Here lengths become Angstrom, which are Blender's units."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...model.units import angstrom
from ...scenes import Mesh
from ...scenes.solids import Shape
from ...surfaces.colour_maps import RGB, linear_light

COLOURS = "Orbitile"
"""Name of the colour attribute of a mesh whose colours stand for values."""

_SHADER = "Principled BSDF"
_ATOM_ROUGHNESS, _SURFACE_ROUGHNESS = 0.35, 0.45


def element_material(symbol: str, colour: RGB) -> Any:
    """The material of an element: one for all molecules of the file, which the user may change."""
    name = f"Orbitile {symbol}"
    material = bpy.data.materials.get(name)
    if material is None:
        material = _new(name)
        _set(material, "Roughness", _ATOM_ROUGHNESS)
        set_colour(material, colour, 1.0)
    return material


def surface_material(name: str, colour: RGB | None, opacity: float) -> Any:
    """The material of a lobe, made anew in its colour, or with the colours at the vertices."""
    material = bpy.data.materials.get(name) or _new(name)
    _set(material, "Roughness", _SURFACE_ROUGHNESS)
    _set(material, "Specular IOR Level", 0.5 if colour is not None else 0.0)  # a highlight would be read as a value
    tree = material.node_tree
    base = tree.nodes[_SHADER].inputs["Base Color"]
    for link in list(base.links):
        tree.links.remove(link)
    if colour is None:
        reader = tree.nodes.get(COLOURS) or tree.nodes.new("ShaderNodeVertexColor")
        reader.name, reader.layer_name = COLOURS, COLOURS
        tree.links.new(reader.outputs["Color"], base)
    set_colour(material, (1.0, 1.0, 1.0) if colour is None else colour, opacity)
    return material


def set_colour(material: Any, colour: RGB, opacity: float) -> None:
    """Set the colour and the opacity of a material, for renders and for the viewport."""
    linear = linear_light(np.array(colour)).tolist()
    _set(material, "Base Color", (*linear, 1.0))
    material.diffuse_color = (*linear, opacity)
    set_opacity(material, opacity)


def set_opacity(material: Any, opacity: float) -> None:
    """Set how much of what is behind a material is hidden by it, 0 to 1."""
    _set(material, "Alpha", opacity)
    material.diffuse_color[3] = opacity
    material.surface_render_method = "DITHERED" if opacity >= 1 else "BLENDED"


def _new(name: str) -> Any:
    material = bpy.data.materials.new(name)
    if material.node_tree is None:  # before Blender 5 shaders were an option
        material.use_nodes = True
    return material


def _set(material: Any, what: str, value: Any) -> None:
    shader = material.node_tree.nodes.get(_SHADER)
    if shader is not None:  # the user may have built another shader in its place
        shader.inputs[what].default_value = value


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
