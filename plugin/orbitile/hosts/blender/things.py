"""The objects of Blender that are Orbitile's, found anew whenever they are needed.

None is ever held: undo, redo and opening a file replace all objects of Blender by others. What there is to know of an
object is kept with it, as custom properties, and so is saved, copied and undone with it. Lengths become Angstrom here,
which are units of Blender; a frame of a trajectory, from 0, is one of Blender's, from where the scene begins.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...base.errors import OrbitileError
from ...model.units import angstrom
from ...scenes import Mesh
from ...scenes.solids import Shape
from ...surfaces.colour_maps import RGB, linear_light

KIND = "orbitile"
"""Property that says what an object is: `MOLECULE`, `ATOM`, `STICK`, `SURFACE`, `FRAME` or `DRAWING`."""
MOLECULE, ATOM, STICK, SURFACE, FRAME, DRAWING = "molecule", "atom", "stick", "surface", "frame", "drawing"

NAMED = "orbitile_name"
"""Property of a molecule: what it was called when it was last looked at."""
SOURCE = "orbitile_source"
"""Property of a molecule: where its wavefunctions are."""
ORDER = "orbitile_order"
"""Property of a molecule: its place in the order of loading."""
INDEX = "orbitile_index"
"""Property of an atom, and of the surface of a frame: its number, from 0."""
FRAMES = "orbitile_frames"
"""Property of a molecule: how many geometries it has."""
SHOWN = "orbitile_shown"
"""Property of a surface: what it shows, as JSON."""


def all_of(*kinds: str) -> Iterator[Any]:
    """Objects of these kinds, in all scenes."""
    for scene in bpy.data.scenes:
        for thing in scene.objects:
            if thing.get(KIND) in kinds:
                yield thing


def get(name: str, *kinds: str) -> Any:
    """The object of this name, if it is of one of these kinds and in a scene; otherwise None."""
    thing = bpy.data.objects.get(name)
    if thing is None or thing.get(KIND) not in kinds or not thing.users_scene:
        return None
    return thing


def parts_of(thing: Any, *kinds: str) -> list[Any]:
    """The objects of these kinds that belong to an object."""
    return [child for child in thing.children if child.get(KIND) in kinds]


def made(name: str, data: Any, kind: str, collection: Any, parent: Any = None) -> Any:
    """A new object; Blender may call it otherwise where the name is taken."""
    thing = bpy.data.objects.new(name, data)
    thing[KIND] = kind
    collection.objects.link(thing)
    if parent is not None:
        thing.parent = parent
    return thing


def require_object_mode(thing: Any) -> None:
    """Refuse to change an object whose mesh the user is editing.

    Raises
    ------
    OrbitileError
    """
    if thing.mode == "EDIT":
        raise OrbitileError(f"{thing.name} is being edited in Blender: leave its edit mode (Tab) first")


def remove(*things: Any) -> None:
    """Remove objects, with meshes, motions and materials that nothing else has; errors as `require_object_mode`."""
    for thing in things:
        require_object_mode(thing)
    for thing in things:
        data, motion = thing.data, thing.animation_data and thing.animation_data.action
        bpy.data.objects.remove(thing)
        drop(data)
        if motion is not None and not motion.users:
            bpy.data.actions.remove(motion)


def drop(data: Any) -> None:
    """Remove a mesh or curve that nothing has any more, and the materials that were its own."""
    if data is None or data.users:
        return
    materials = [material for material in data.materials if material is not None]
    (bpy.data.meshes if isinstance(data, bpy.types.Mesh) else bpy.data.curves).remove(data)
    for material in materials:
        if not material.users:
            bpy.data.materials.remove(material)


def collection_of(thing: Any) -> Any:
    """The collection that an object is in."""
    return thing.users_collection[0]


def json_of(thing: Any, what: str) -> Any:
    """A property in JSON; None where it is missing or damaged."""
    try:
        return json.loads(thing.get(what, ""))
    except (TypeError, ValueError):
        return None


_LINEAR, _CONSTANT = 1, 0
"""Blender's numbers for how values change between two keys."""


def blender_frame(frame: int) -> int:
    """The frame of Blender that shows a frame of a trajectory."""
    return int(bpy.context.scene.frame_start) + frame


def frame_now(n_frames: int) -> int:
    """The frame of a trajectory that is shown, the first or the last where Blender is before or after them."""
    now = int(bpy.context.scene.frame_current) - int(bpy.context.scene.frame_start)
    return min(max(now, 0), max(n_frames - 1, 0))


def go_to(frame: int) -> None:
    """Show a frame."""
    bpy.context.scene.frame_set(blender_frame(frame))


def end_with(n_frames: int) -> None:
    """Have the scene end with the last frame of the longest trajectory."""
    if n_frames > 1:
        bpy.context.scene.frame_end = blender_frame(n_frames - 1)


def move_along(thing: Any, path: NDArray[np.float64]) -> None:
    """Have an object be at a place in each frame, and in between on a straight line; shape (n_frames, 3)."""
    frames = blender_frame(0) + np.arange(len(path))
    for axis in range(3):
        _key(thing, "location", axis, frames, path[:, axis], _LINEAR)


def show_in(thing: Any, frame: int) -> None:
    """Have an object be seen in one frame only, in the viewport and in renders."""
    at = blender_frame(frame)
    frames, hidden = np.array([at - 1, at, at + 1]), np.array([1.0, 0.0, 1.0])
    for what in ("hide_viewport", "hide_render"):
        _key(thing, what, -1, frames, hidden, _CONSTANT)


def _key(thing: Any, what: str, axis: int, frames: Iterable[int], values: NDArray[Any], how: int) -> None:
    data = thing.animation_data or thing.animation_data_create()
    if data.action is None:
        data.action = bpy.data.actions.new(thing.name)
    curve = data.action.fcurve_ensure_for_datablock(thing, what, **({} if axis < 0 else {"index": axis}))
    points = curve.keyframe_points
    points.clear()
    points.add(len(values))
    points.foreach_set("co", np.stack([np.asarray(frames, np.float64), values], axis=1).ravel())
    points.foreach_set("interpolation", np.full(len(values), how))
    curve.update()


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
