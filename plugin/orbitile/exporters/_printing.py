"""What the formats of printers share: a scene as solid bodies in millimetres, which do not overlap.

Unions and differences are those of manifold3d (extra `orbitile[printing]`), whose bodies have no holes, no edges with
more than two faces, and no faces through one another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import FileError
from ..base.packages import required
from ..model.surface import Surface
from ..model.units import angstrom
from ..scenes import Mesh, Molecule, Scene, scene_of
from ..scenes.solids import stick_between, unit_stick

SCALES = (10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1)
"""Millimetres an Angstrom: the first at which a scene is no larger than `BED` is taken, or else the last."""
BED = 200.0
"""Millimetres: what has room on most printers."""
THINNEST = 2.0
"""Diameter of a stick in millimetres, at least: thinner ones break."""

_SECTIONS = 24
"""Sides of a stick, and triangles around a ball."""
_TOLERANCE = 0.002
"""Millimetres below which triangles are taken together; printers are ten times as coarse."""


@dataclass(frozen=True, eq=False)
class Body:
    """A closed body.

    Attributes
    ----------
    name : str
    vertices : ndarray of float32, shape (n, 3)
        In millimetres.
    faces : ndarray of uint32, shape (m, 3)
    colours : ndarray of uint8, shape (m, 3, 3)
        Red, green and blue of the corners of each face, for the display.
    """

    name: str
    vertices: NDArray[np.float32]
    faces: NDArray[np.uint32]
    colours: NDArray[np.uint8]


def scale_of(scene: Scene) -> float:
    """Millimetres an Angstrom at which a scene is printed."""
    centres, radii = scene.extent()
    reach = (centres + radii[:, None]).max(axis=0) - (centres - radii[:, None]).min(axis=0)
    size = float(reach.max()) / angstrom
    return next((scale for scale in SCALES if size * scale <= BED), SCALES[-1])


def scale_text(scale: float) -> str:
    """The scale of a file, for people."""
    return f"Orbitile; lengths in millimetres, {scale:g} mm an Angstrom"


def bodies_of(what: Scene | Surface, *, united: bool) -> tuple[list[Body], float]:
    """The molecule and the lobes of a scene as bodies that do not overlap, and their scale in millimetres an Angstrom.

    Parameters
    ----------
    what : Scene or Surface
    united : bool
        One body of all, in place of one for the molecule and for each lobe, each without what is of those before it.

    Raises
    ------
    FileError
        When a mesh is not closed, so that it has no inside, or manifold3d is missing.
    """
    manifold = required("manifold3d", FileError, "files for printers need the package manifold3d")
    scene = what if isinstance(what, Scene) else scene_of(what)
    scale = scale_of(scene)
    solids: list[tuple[str, Any]] = []
    if len(scene.molecule.centres):
        solids.append(("molecule", _molecule(manifold, scene.molecule, scale)))
    for part in (part for mesh in scene.meshes for part in mesh.parts()):
        if len(part.faces):
            solids.append((part.name or "surface", _closed(manifold, part, scale)))
    add, subtract = manifold.OpType.Add, manifold.OpType.Subtract
    if united:
        whole = manifold.Manifold.batch_boolean([solid for _, solid in solids], add)
        return [_body("scene", whole)], scale
    bodies, before = [], manifold.Manifold()
    for name, solid in solids:
        rest = manifold.Manifold.batch_boolean([solid, before], subtract)
        before = manifold.Manifold.batch_boolean([before, solid], add)
        if rest.num_tri():
            bodies.append(_body(name, rest))
    return bodies, scale


def _molecule(manifold: Any, molecule: Molecule, scale: float) -> Any:
    """Balls and sticks as one body, none thinner than can be printed."""
    least = THINNEST / 2 / scale * angstrom
    sticks = np.maximum(molecule.stick_radius, least)
    radii = np.maximum(molecule.radii, 1.2 * np.max(sticks, initial=least))
    thick = replace(molecule, radii=radii, stick_radius=sticks)
    solids = []
    ball = manifold.Manifold.sphere(1.0, _SECTIONS).to_mesh()
    for centre, radius, colour in zip(thick.centres, thick.radii, thick.colours, strict=True):
        corners = ball.vert_properties[:, :3] * radius + centre
        colours = np.tile(colour, (len(corners), 1))
        solids.append(_solid(manifold, corners * (scale / angstrom), ball.tri_verts, colours))
    radii = np.broadcast_to(thick.stick_radius, len(thick.bonds))
    for bond, radius in zip(thick.bonds, radii, strict=True):
        first, second = thick.centres[bond]
        transform = stick_between(first, second, float(radius))
        corners, faces, halves, same = _stick()
        corners = corners @ transform[:3, :3].T + transform[:3, 3]
        colours = thick.colours[bond[halves]]
        solids.append(_solid(manifold, corners * (scale / angstrom), faces, colours, same))
    return manifold.Manifold.batch_boolean(solids, manifold.OpType.Add)


@cache
def _stick() -> tuple[Reals, NDArray[np.int64], NDArray[np.int64], tuple[NDArray[Any], NDArray[Any]]]:
    """A closed cylinder of two halves: corners, faces, the half of each corner, and which corners are the same."""
    wall = unit_stick(_SECTIONS)
    half = wall.vertices * [1, 1, 0.5]
    n, m = len(half), _SECTIONS
    corners = np.concatenate([half, half + np.array([0, 0, 0.5]), [[0, 0, 0], [0, 0, 1]]])
    first = np.arange(m)
    second = (first + 1) % m
    lid = np.stack([np.full(m, 2 * n + 1), first + n + m, second + n + m], axis=1)
    bottom = np.stack([np.full(m, 2 * n), second, first], axis=1)
    faces = np.concatenate([wall.faces, wall.faces + n, bottom, lid])
    halves = np.concatenate([np.zeros(n, np.int64), np.ones(n, np.int64), [0, 1]])
    return corners, faces, halves, (first + n, first + m)


def _closed(manifold: Any, part: Mesh, scale: float) -> Any:
    """A lobe as a body."""
    solid = _solid(manifold, part.vertices * (scale / angstrom), part.faces, part.colours[:, :3])
    if solid.status() != manifold.Error.NoError or solid.num_tri() == 0:
        got = "a plane or one that the box cuts; take a larger box (--margin), or write a .glb file"
        raise FileError(f"{part.name or 'surface'}: expected a closed surface to print, got {got}")
    return solid


def _solid(
    manifold: Any,
    corners: NDArray[Any],
    faces: NDArray[Any],
    colours: NDArray[Any],
    same: tuple[NDArray[Any], NDArray[Any]] = (np.zeros(0), np.zeros(0)),
) -> Any:
    """A body of corners in colours, red, green and blue; corners at the same place are told, each with the other."""
    properties = np.ascontiguousarray(np.hstack([corners, colours]), np.float32)
    joined = [np.ascontiguousarray(one, np.uint32) for one in same]
    return manifold.Manifold(manifold.Mesh(properties, np.ascontiguousarray(faces, np.uint32), *joined))


def _body(name: str, solid: Any) -> Body:
    mesh = solid.simplify(_TOLERANCE).to_mesh()
    same = np.arange(len(mesh.vert_properties), dtype=np.uint32)  # corners in several colours are several vertices
    same[mesh.merge_from_vert] = mesh.merge_to_vert
    used, faces = np.unique(same[mesh.tri_verts], return_inverse=True)
    colours = np.clip(np.round(255 * mesh.vert_properties[:, 3:]), 0, 255).astype(np.uint8)
    return Body(
        name,
        np.ascontiguousarray(mesh.vert_properties[used, :3]),
        faces.reshape(-1, 3).astype(np.uint32),
        colours[mesh.tri_verts],
    )
