"""The objects of Blender that are Orbitile's, found anew whenever they are needed.

None is ever held: undo, redo and opening a file replace all objects of Blender by others. What there is to know of an
object is kept with it, as custom properties, and so is saved, copied and undone with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...base.errors import OrbitileError

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
