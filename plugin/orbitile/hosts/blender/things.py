"""The objects of Blender that are Orbitile's, found anew whenever they are needed.

None is ever held: undo, redo and opening a file replace all objects of Blender by others. What there is to know of an
object is kept with it, as custom properties, and so is saved, copied and undone with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import bpy

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
