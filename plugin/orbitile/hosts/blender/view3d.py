"""The view of Blender's first window, where it has one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray


def views() -> Iterator[tuple[Any, Any, Any]]:
    """The views of three dimensions that are open, each with its window and the region that is drawn to."""
    manager = bpy.context.window_manager
    for window in manager.windows if manager is not None else ():
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                region = next((region for region in area.regions if region.type == "WINDOW"), None)
                if region is not None:
                    yield window, area, region


def redraw() -> None:
    """Have the sidebars drawn anew."""
    for _, area, _ in views():
        area.tag_redraw()


def look_at(things: Sequence[Any]) -> None:
    """Bring objects and what belongs to them into view; what is selected stays so."""
    view = next(views(), None)
    if view is None or not things:
        return
    window, area, region = view
    everything = {part for thing in things for part in (thing, *thing.children_recursive)}
    selected = list(bpy.context.selected_objects)
    with bpy.context.temp_override(window=window, area=area, region=region):
        for thing in bpy.context.view_layer.objects:
            thing.select_set(thing in everything)
        bpy.ops.view3d.view_selected()
        for thing in bpy.context.view_layer.objects:
            thing.select_set(thing in selected)


def directions() -> NDArray[np.float64] | None:
    """What points to the right, up, and towards the user, shape (3, 3); None without a view."""
    view = next(views(), None)
    if view is None:
        return None
    return np.array(view[1].spaces.active.region_3d.view_matrix, np.float64)[:3, :3]
