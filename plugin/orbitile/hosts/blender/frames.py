"""Frames: a frame of a trajectory, counted from 0, is one of Blender's, counted from where the scene begins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

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
