"""Surfaces and volumes as PyMOL holds them: compiled graphics objects and maps, in Angstrom."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pymol import commanding
from scipy.ndimage import map_coordinates

from ...base.temporary import own_folder
from ...exporters import save
from ...model.lattice import Lattice
from ...model.surface import Surface
from ...model.units import angstrom
from ...model.volume import Volume
from ...pictures.look import Look
from ...surfaces.colour_maps import colours_of
from ...surfaces.isosurface import lobe
from ...surfaces.subdivision import corners_of, edges_of

_PIECE = 5000
"""Number of triangles, edges or vertices handled at once."""

_BEGIN, _END, _VERTEX, _NORMAL, _COLOR = 2.0, 3.0, 4.0, 5.0, 6.0  # of pymol.cgo
_PRIMITIVES = {"surface": 4.0, "two-sided": 4.0, "mesh": 1.0, "dots": 0.0}
"""What PyMOL calls the triangles, lines and points that a surface is drawn from, by style."""

_FOG = ((0.5, 0.0), (1.0, 0.015), (4.0, 0.08))
"""Values in isovalues, and how dense fog that is not transparent is there."""
_MORE = 4
"""How many times its points a volume may have on a lattice along x, y and z."""
_SLICE = 3.0
"""Value in isovalues at which a slice has the full colour."""


def drawing_of(surface: Surface, look: Look) -> list[float]:
    """Drawing instructions of a surface: colours, and normal and position of each corner of what it is drawn from.

    PyMOL wants a list of Python's numbers. About six triangles share a vertex, so its numbers are made once and then
    referred to, which is three times as fast. The list grows in pieces, so that in a thread it does not hold up others.

    A surface is drawn from its triangles, a mesh from their edges, dots from its vertices.
    """
    instructions: list[float] = []
    for phase, colour in zip((1, -1), look.colours, strict=True):
        part = lobe(surface, phase)
        if len(part.faces) == 0:
            continue
        inked = part.colouring is not None
        numbers = np.empty((len(part.vertices), 12 if inked else 8), object)
        numbers[:, -8], numbers[:, -4] = _NORMAL, _VERTEX
        if part.colouring is not None:
            numbers[:, 0] = _COLOR
            numbers[:, 1:4] = colours_of(part.colouring)
        for first in range(0, len(numbers), _PIECE):
            piece = slice(first, first + _PIECE)
            numbers[piece, -7:-4] = part.normals[piece]
            numbers[piece, -3:] = part.vertices[piece] / angstrom
        if look.style in ("mesh", "dots"):  # edges and dots have no side that is lit
            numbers = np.delete(numbers, np.s_[-8:-4], axis=1)
        instructions += [_BEGIN, _PRIMITIVES[look.style], _COLOR, *colour]
        corners = _corners(part, look.style)
        for first in range(0, len(corners), _PIECE):
            instructions += numbers[corners[first : first + _PIECE].reshape(-1)].reshape(-1).tolist()
        instructions.append(_END)
    return instructions


def _corners(surface: Surface, style: str) -> NDArray[np.int32]:
    """Vertices of each triangle, edge or point that a surface is drawn from."""
    if style == "mesh":
        return edges_of(surface.faces)
    return corners_of(surface.faces)[:, None] if style == "dots" else surface.faces


@dataclass(frozen=True)
class DrawnVolume:
    """What a volume is drawn from in place of its surface.

    Attributes
    ----------
    style : str
        One of `orbitile.pictures.look.VOLUME_STYLES`.
    isovalue : float
        Of the surface, in the unit of the field.
    look : Look
        Colours and transparency.
    state : int
        Of the map, from 1. There is one at a time: PyMOL's volumes with gaps among their states read freed memory.
    """

    style: str
    isovalue: float
    look: Look
    state: int = 1


@contextmanager
def _without_zoom(cmd: Any) -> Iterator[None]:
    """Keep the view, which PyMOL fits to new slices and volumes."""
    before = cmd.get("auto_zoom")
    cmd.set("auto_zoom", 0)
    try:
        yield
    finally:
        cmd.set("auto_zoom", before)


def put_fog(cmd: Any, name: str, map_name: str, drawn: DrawnVolume) -> None:
    """Draw a map as fog: nothing below half of the isovalue, and denser the larger the values are."""
    opacity = 1 - drawn.look.transparency
    positive, negative = drawn.look.colours
    stops = [(multiple * drawn.isovalue, density * opacity) for multiple, density in _FOG]
    ramp = [(-value, *negative, density) for value, density in reversed(stops)]
    ramp += [(value, *positive, density) for value, density in stops]
    with _without_zoom(cmd):
        cmd.volume(name, map_name, source_state=drawn.state)
    cmd.volume_color(name, [float(number) for stop in ramp for number in stop])


def put_slice(cmd: Any, name: str, map_name: str, ramp: str, drawn: DrawnVolume) -> None:
    """Draw the plane of a map across the line of sight, in colours that a ramp explains."""
    positive, negative = drawn.look.colours
    end = _SLICE * drawn.isovalue
    # PyMOL crashes where a colour is of integers
    colours = [[float(part) for part in colour] for colour in (negative, (1, 1, 1), positive)]
    cmd.ramp_new(ramp, "none", [-end, 0.0, end], colours)
    with _without_zoom(cmd):
        cmd.slice_new(name, map_name, 1, drawn.state)
    cmd.set("slice_track_camera", 1, name)
    cmd.color(ramp, name)


def nothing_at(corner: NDArray[np.float64]) -> Volume:
    """Stands for the volume of a frame that is not there, at a corner of the others, in bohr."""
    return Volume(np.zeros((2, 2, 2), np.float32), Lattice(corner, np.eye(3) / 100, (2, 2, 2)))


def put_map(cmd: Any, name: str, volume: Volume, state: int | None = None) -> None:
    """Make or replace a map, or one state of it. Values of a map of equal lattice are written into its own memory.

    Not those of a state: PyMOL tells the extent of all states together only.

    PyMOL's bricks are orthogonal; other lattices go through an MRC file in memory.
    """
    if state is None:
        if _write_map(cmd, name, volume):
            return
        commanding.delete(name, _self=cmd)
        state = 1
    if _is_brick(volume):
        from chempy.brick import Brick

        values, (origin, spacing) = np.asarray(volume.values, np.float32), _brick(volume)
        brick = Brick()  # its own from_numpy makes the values double, at twice the time for large maps
        brick.lvl, brick.dim = values, list(values.shape)
        brick.grid, brick.origin = spacing.tolist(), origin.tolist()
        brick.range = (spacing * (np.array(values.shape) - 1)).tolist()
        cmd.load_brick(brick, name, state, zoom=0)
        return
    normalize = cmd.get("normalize_ccp4_maps")
    cmd.set("normalize_ccp4_maps", 0)
    try:
        with TemporaryDirectory(dir=own_folder()) as folder:
            path = Path(folder) / "map.mrc"
            save(volume, path)
            cmd.load_raw(path.read_bytes(), "mrc", name, state, zoom=0)
    finally:
        cmd.set("normalize_ccp4_maps", normalize)


def upright(volume: Volume) -> Volume:
    """The volume by linear interpolation on a lattice along x, y and z, of four times its points at most; 0 beyond."""
    lattice, closed = volume.lattice, volume.closed
    corners = closed.lattice.origin + (
        (np.indices((2, 2, 2)).reshape(3, 8).T * (np.array(closed.values.shape) - 1)) @ closed.lattice.axes
    )
    low, high = corners.min(axis=0), corners.max(axis=0)
    spacing = max(float(lattice.spacings.min()), float(np.prod(high - low) / (_MORE * closed.values.size)) ** (1 / 3))
    box = Lattice.box(low, high, spacing)
    values = np.empty(box.shape, np.float32)
    inverse = np.linalg.inv(lattice.axes)
    for n in range(box.shape[0]):  # a layer at a time: its points take many times the memory of its values
        layer = np.stack(np.meshgrid([n], *map(np.arange, box.shape[1:]), indexing="ij"), axis=-1).reshape(-1, 3)
        index = (box.origin + layer @ box.axes - lattice.origin) @ inverse
        values[n] = map_coordinates(closed.values, index.T, order=1).reshape(box.shape[1:])
    return replace(volume, values=values, lattice=box)


def _is_brick(volume: Volume) -> bool:
    axes = volume.lattice.axes
    return bool(np.array_equal(axes, np.diag(np.diag(axes))) and np.all(np.diag(axes) > 0))


def _brick(volume: Volume) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Origin and spacing in Angstrom."""
    return volume.lattice.origin / angstrom, np.diag(volume.lattice.axes) / angstrom


def _write_map(cmd: Any, name: str, volume: Volume) -> bool:
    """Write values into the memory of a map of equal lattice; says whether there is one."""
    if not _is_brick(volume) or name not in cmd.get_names_of_type("object:map"):
        return False
    if cmd.count_states(name) != 1:
        return False
    values, (origin, spacing) = volume.values, _brick(volume)
    low, high = (np.array(corner) for corner in cmd.get_extent(name))
    if not np.allclose(low, origin, atol=1e-4) or not np.allclose(
        high, origin + spacing * (np.array(values.shape) - 1), atol=1e-4
    ):
        return False
    try:
        field = cmd.get_volume_field(name, 1, 0)
        if field.shape != values.shape or not field.flags.writeable:
            return False
        field[...] = values
    except (AttributeError, ValueError, RuntimeError, TypeError):  # marked experimental: any release may change it
        return False
    return True
