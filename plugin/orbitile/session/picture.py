"""Pictures and films of what a viewer shows: all that they are made from, and what makes them, in a worker process.

What is passed to the worker is plain: surfaces, or the requests for those of other frames, atoms, and a camera.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..base.errors import Cancelled, OrbitileError
from ..base.watch import checkpoint, stage, tell
from ..model.surface import Colouring, Surface
from ..model.volume import Volume
from ..model.wavefunction import DAMAGED
from ..pictures.look import Look
from ..pictures.surface import sampling, volume_drawing_of
from ..pictures.writing import Pixels, write_pictures
from ..renderer import (
    Camera,
    LegendPart,
    annotate,
    cell_spacing,
    legend_of,
    margins,
    pixel_at,
    render_scene,
    round_lattice,
    round_surface,
    write_png,
)
from ..scenes import Mesh, Molecule, Scene, VolumeDrawing, dots, wires
from ..surfaces.colour_maps import RGB
from .sampling import WavefunctionCache, sample
from .shown import Shown, surface_of
from .source import is_volume_file

_LINE = 1 / 700
"""Width of the lines of a mesh, as a share of the height of the picture; dots are three times as wide."""

_FRONT = 0.71
"""One over the mean, over what is seen of a ball, of the walls of glass that a line of sight goes through at each side:
1 / (0.28 + 0.72 cos), see `scenes/shaders/mesh_paint.glsl`."""


@dataclass(frozen=True, eq=False)
class DrawnSurface:
    """A surface of a picture.

    Attributes
    ----------
    name : str
        Object of the viewer.
    shown : Shown
        How it looks, and what to ask for to have it at another frame.
    surface : Surface
        As it is shown now.
    volume : Volume or None
        What is drawn in place of the surface, as fog or a slice.
    colouring : Colouring or None
        Values of a second field at the points of the volume.
    """

    name: str
    shown: Shown
    surface: Surface
    volume: Volume | None = None
    colouring: Colouring | None = None


Pane = tuple[DrawnSurface, ...]
"""Surfaces that are in one another."""

DrawPane = Callable[[Pane, tuple[int, int], RGB | None], Pixels]
"""Draws a pane in a picture of (width, height) pixels on paper of a colour, None for a transparent one."""


@dataclass(frozen=True, eq=False)
class Picture:
    """All that a picture shows.

    Attributes
    ----------
    panes : tuple of Pane
        Surfaces that are in one another; several such sets stand side by side, each with the molecule.
    molecule : Molecule
    camera : Camera
        With an eye.
    size : (int, int)
        Width and height in pixels.
    paper : (red, green, blue) or None
        The background; None for a transparent one.
    legend : bool
        Whether names, isovalues and scales of colours are written on it.
    """

    panes: tuple[Pane, ...]
    molecule: Molecule
    camera: Camera
    size: tuple[int, int]
    paper: RGB | None
    legend: bool = True


@dataclass(frozen=True, eq=False)
class Moment:
    """What changes from one picture of a film to the next.

    Attributes
    ----------
    camera : Camera
    frame : int or None
        Of the trajectories that are shown; None where nothing moves.
    centres : ndarray, shape (n_atoms, 3), or None
        Where the atoms of the molecule are, in bohr; None where nothing moves.
    """

    camera: Camera
    frame: int | None = None
    centres: NDArray[np.float64] | None = None


# Pictures ---------------------------------------------------------------------------------------------------------


def pixels_of(picture: Picture, draw: DrawPane | None = None, above: int | None = None) -> Pixels:
    """Draw a picture: each of its panes by our renderer, or by another one, and a legend below each.

    Parameters
    ----------
    picture : Picture
    draw : DrawPane, optional
        The other renderer.
    above : int, optional
        Pixels of the height of a pane that are left to what is shown; by default what its legend leaves.

    Raises
    ------
    OrbitileError
        When it cannot be drawn: there is no OpenGL.
    """
    width, height = picture.size
    result = np.empty((height, width, 4), np.uint8)
    result[:] = (255, 255, 255, 0) if picture.paper is None else [*(round(255 * ink) for ink in picture.paper), 255]
    above = height_above(picture) if above is None else above
    for (x, y, size), coarse in zip(_places(picture), picture.panes, strict=True):
        seen = size[0], above
        pane = tuple(_round(drawn, picture.camera, above) for drawn in coarse)
        pixels = _drawn(picture, pane, seen) if draw is None else draw(pane, seen, picture.paper)
        result[y : y + above, x : x + size[0]] = pixels
        there = result[y : y + size[1], x : x + size[0]]
        parts = _legend(pane, size, picture.legend)
        result[y : y + size[1], x : x + size[0]] = annotate(there, parts, scale=None, paper=picture.paper)
    return result


def _places(picture: Picture) -> Iterator[tuple[int, int, tuple[int, int]]]:
    """Upper left corner, and size, of each pane, all in pixels; all are of the same height, but for what is left."""
    columns, rows = grid_of(len(picture.panes), picture.size)
    across, down = (
        np.linspace(0, length, n + 1).astype(int) for length, n in zip(picture.size, (columns, rows), strict=True)
    )
    for place in range(len(picture.panes)):
        column, row = place % columns, place // columns
        (x0, x1), (y0, y1) = across[column : column + 2].tolist(), down[row : row + 2].tolist()
        yield x0, y0, (x1 - x0, y1 - y0)


def height_above(picture: Picture) -> int:
    """Pixels of the height of each pane that the highest of their legends leaves free, so that it covers nothing."""
    heights = [
        pixels_above(pane, size, picture.legend)
        for pane, (_, _, size) in zip(picture.panes, _places(picture), strict=True)
    ]
    return min(heights)


def pixels_above(pane: Pane, size: tuple[int, int], legend: bool) -> int:
    """The same for a pane of (width, height) pixels."""
    parts = _legend(pane, size, legend)
    return size[1] - round(margins(size, parts, scale=False)[2] * size[1]) if parts else size[1]


def _legend(pane: Pane, size: tuple[int, int], wanted: bool) -> list[LegendPart]:
    """What is written below a pane: a legend where it is wanted, and where it has to warn of a damaged file."""
    damaged = any(DAMAGED in drawn.surface.quantity for drawn in pane)
    return legend_parts(pane, size) if wanted or damaged else []


def grid_of(n_panes: int, size: tuple[int, int]) -> tuple[int, int]:
    """Columns and rows in which pictures stand side by side, each about as wide as high, as PyMOL has them."""
    columns, rows = 1, 1
    while columns * rows < n_panes:
        wide = size[0] / size[1]
        more_rows, more_columns = wide * (rows + 1) / columns, wide * rows / (columns + 1)
        if max(more_rows, 1 / more_rows) > max(more_columns, 1 / more_columns):
            columns += 1
        else:
            rows += 1
    return columns, rows


def _drawn(picture: Picture, pane: Pane, size: tuple[int, int]) -> Pixels:
    """The surfaces that are in one another, with the molecule, by our renderer."""
    seen = [drawn for drawn in pane if len(drawn.surface.faces) and drawn.shown.look.transparency < 1]
    surfaces = [drawn for drawn in seen if drawn.volume is None]
    meshes = tuple(map(mesh_of, surfaces))
    volumes = tuple(_volume_drawing(drawn, drawn.volume) for drawn in seen if drawn.volume is not None)
    scene = Scene(picture.molecule, meshes, volumes=volumes)
    line = _LINE * size[1] * pixel_at(picture.camera, scene.extent()[0], size[1]) / 2
    styled = tuple(
        wires(mesh, line) if style == "mesh" else dots(mesh, 3 * line) if style == "dots" else mesh
        for mesh, style in zip(meshes, (drawn.shown.look.style for drawn in surfaces), strict=True)
    )
    return render_scene(replace(scene, meshes=styled), picture.camera, size, picture.paper)


def _volume_drawing(drawn: DrawnSurface, volume: Volume) -> VolumeDrawing:
    """A volume in the colours of its surface; a slice hides what is behind it, as in viewers."""
    look = drawn.shown.look
    opacity = 1.0 if look.style == "slice" else 1 - look.transparency
    return VolumeDrawing(volume, drawn.surface.isovalue, look.style, look.colours, opacity, drawn.colouring)


def mesh_of(drawn: DrawnSurface) -> Mesh:
    """The triangles of a surface, in its colours."""
    look = drawn.shown.look
    through = wall_transparency(look, is_coloured=drawn.surface.colouring is not None)
    return Mesh.of(drawn.surface, *look.colours, 1 - through)


def wall_transparency(look: Look, *, is_coloured: bool) -> float:
    """Share of the light that our renderer is to let through a wall seen face on, for it to look like this.

    The rims of glass are denser than its front: a ball of it lets through what it should as a whole. A surface that is
    coloured by a second field is no glass.
    """
    return look.transparency if is_coloured else look.transparency**_FRONT


def _round(drawn: DrawnSurface, camera: Camera, height: int) -> DrawnSurface:
    """The surface with triangles so fine that it looks round in a picture of this height in pixels."""
    if drawn.shown.look.style in ("mesh", "dots"):
        return drawn
    return replace(drawn, surface=round_surface(drawn.surface, pixel_at(camera, drawn.surface.vertices, height)))


def legend_parts(pane: Pane, size: tuple[int, int]) -> list[LegendPart]:
    """What the legend says of surfaces, in a picture of (width, height) pixels."""
    return legend_of([drawn.surface for drawn in pane], [drawn.shown.look.colours for drawn in pane], size)


def refined(picture: Picture, above: int, cache: WavefunctionCache) -> Picture:
    """The picture with surfaces of lattices that are as fine as it shows them; what cannot be had stays as it is."""

    def finer(drawn: DrawnSurface) -> DrawnSurface:
        vertices = drawn.surface.vertices
        try:
            if drawn.volume is not None:
                return _with_larger_volume(drawn, cache)
            found = finer_surface(drawn, cell_spacing(pixel_at(picture.camera, vertices, above)), cache)
        except Cancelled:
            raise
        except OrbitileError:  # its file has changed since, or this process has no device
            return drawn
        return replace(drawn, surface=found)

    return replace(picture, panes=tuple(tuple(map(finer, pane)) for pane in picture.panes))


def finer_surface(drawn: DrawnSurface, spacing: float, cache: WavefunctionCache) -> Surface:
    """A surface that is shown, computed anew on a lattice of this spacing in bohr where that is finer.

    Raises
    ------
    OrbitileError
        When it cannot be computed here.
    """
    surface, request = drawn.surface, drawn.shown.request
    if not len(surface.faces) or drawn.shown.look.style in ("mesh", "dots") or is_volume_file(request.path):
        return surface
    wavefunction, asked = cache.resolved(replace(request, isovalue=surface.isovalue, color_range=None, box=None))
    found = sampling(asked, wavefunction, cache.references)
    finer = round_lattice(found.lattice, spacing)
    if finer is found.lattice or found.field.is_smooth:
        return surface
    found = replace(found, lattice=finer)
    scale = surface.colouring
    if scale is None:
        return found.surface()
    anew = found.coloured(found.surface())
    assert anew.colouring is not None  # it was just coloured
    return replace(anew, colouring=replace(scale, values=anew.colouring.values))


def _with_larger_volume(drawn: DrawnSurface, cache: WavefunctionCache) -> DrawnSurface:
    """A volume in a box that reaches to where nothing of it is seen; the same where its file has no orbitals."""
    if is_volume_file(drawn.shown.request.path):
        return drawn
    request = replace(drawn.shown.request, isovalue=drawn.surface.isovalue, box=None)
    wavefunction, asked = cache.resolved(request)
    found = volume_drawing_of(asked, wavefunction, cache.references, drawn.shown.look.style)
    return replace(drawn, volume=found.volume, colouring=found.colouring)


def save_picture(picture: Picture, target: Path, draw: DrawPane | None = None) -> None:
    """Draw a picture by our renderer, or by another one, into a PNG file, which is there whole or not at all.

    Raises
    ------
    DeviceError
        When there is no OpenGL.
    FileError
        When the file cannot be written.
    """
    above = height_above(picture)
    write_png(target, pixels_of(refined(picture, above, WavefunctionCache()), draw, above))


# Films ------------------------------------------------------------------------------------------------------------


def turning(camera: Camera, centre: NDArray[np.float64], degrees: float, n_pictures: int) -> list[Moment]:
    """Views of a film in which all turns about a vertical line, by so many degrees in all; a full turn closes."""
    assert camera.eye is not None  # a film is seen from somewhere
    from_centre = camera.rotation @ (camera.eye - centre)
    moments = []
    for n in range(n_pictures):
        turned = camera.turned(y=degrees * n / n_pictures)
        moments.append(Moment(replace(turned, eye=centre + turned.rotation.T @ from_centre)))
    return moments


def save_film(picture: Picture, moments: list[Moment], rate: float, target: Path) -> tuple[str, ...]:
    """Draw a film by our renderer; says which frames were left out, and why.

    Parameters
    ----------
    picture : Picture
        The first one.
    moments : list of View
        From where each picture of the film is taken, of which frame.
    rate : float
        Pictures a second.
    target : Path
        As `orbitile.pictures.writing.checked_film` gave it.

    Raises
    ------
    OrbitileError
        When it cannot be drawn or written, or no frame has a surface that could be shown.
    Cancelled
        When it is withdrawn; nothing is left then.
    """
    left_out: list[str] = []
    write_pictures(_film(picture, moments, left_out), target, picture.size, rate)
    return tuple(left_out)


def _film(picture: Picture, moments: list[Moment], left_out: list[str]) -> Iterator[Pixels]:
    cache, above = WavefunctionCache(), height_above(picture)
    n_surfaces = 0
    if not any(drawn.shown.request.frame is not None for pane in picture.panes for drawn in pane):
        picture = refined(picture, above, cache)
    for n, moment in enumerate(moments):
        with stage(n / len(moments), (n + 1) / len(moments)):
            checkpoint()
            seen = replace(picture, camera=moment.camera)
            if moment.centres is not None:
                seen = replace(seen, molecule=replace(picture.molecule, centres=moment.centres))
            if moment.frame is not None:
                panes = tuple(tuple(_at(drawn, moment.frame, cache, left_out) for drawn in pane) for pane in seen.panes)
                seen = refined(replace(seen, panes=tuple(tuple(filter(None, pane)) for pane in panes)), above, cache)
            n_surfaces += sum(map(len, seen.panes))
            pixels = pixels_of(seen, above=above)
            tell(1.0)
        yield pixels
    if left_out and not n_surfaces:
        raise OrbitileError(f"no frame has a surface: {left_out[0]}")


def _at(drawn: DrawnSurface, frame: int, cache: WavefunctionCache, left_out: list[str]) -> DrawnSurface | None:
    """A surface at another frame of its trajectory; None where it has none there."""
    if drawn.shown.request.frame is None:
        return drawn
    request = replace(drawn.shown.request, frame=frame)
    try:
        found = sample(request, cache)
        return replace(drawn, surface=surface_of(drawn.shown, found))
    except Cancelled:
        raise
    except OrbitileError as error:
        left_out.append(f"frame {frame + 1}: {error}")
        return None
