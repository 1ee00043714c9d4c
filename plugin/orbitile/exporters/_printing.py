"""What the formats of printers share: a scene as solid bodies in millimetres, which do not overlap.

Unions and differences are those of manifold3d (extra `orbitile[printing]`), whose bodies have no holes, no edges with
more than two faces, and no faces through one another.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError
from ..model.surface import Surface
from ..model.units import angstrom
from ..scenes import Mesh, Molecule, Scene, scene_of
from ..scenes.solids import placed_parts

SCALES = (10.0, 5.0, 2.0, 1.0, 0.5, 0.2, 0.1)
"""Millimetres an Angstrom: the first at which a scene is no larger than `BED` is taken, or else the last."""
BED = 200.0
"""Millimetres: what has room on most printers."""
THINNEST = 2.0
"""Diameter of a stick in millimetres, at least: thinner ones break."""

_OVERLAP = 0.02
"""Millimetres by which half a stick reaches into the other half, so that they are one body."""
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
    colours : ndarray of uint8, shape (m, 3, 4)
        Of the corners of each face, for the display.
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
    manifold = _library()
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


def _library() -> Any:
    try:
        return importlib.import_module("manifold3d")
    except ImportError as error:
        raise FileError("files for printers need the package manifold3d: pip install 'orbitile[printing]'") from error


def _molecule(manifold: Any, molecule: Molecule, scale: float) -> Any:
    """Balls and sticks as one body, none thinner than can be printed."""
    least = THINNEST / 2 / scale * angstrom
    sticks = np.maximum(molecule.stick_radius, least)
    thick = replace(
        molecule, radii=np.maximum(molecule.radii, 1.2 * np.max(sticks, initial=least)), stick_radius=sticks
    )
    shapes = {
        "ball": manifold.Manifold.sphere(1.0, 32).to_mesh(),
        "stick": manifold.Manifold.cylinder(1.0, 1.0, 1.0, 24).to_mesh(),
    }
    solids = []
    for part in placed_parts(thick):
        shape, transform = shapes[part.shape], part.transform.copy()
        transform[:3] *= scale / angstrom
        if part.shape == "stick":
            length = np.linalg.norm(transform[:3, 2])
            transform[:3, 2] *= 1 + _OVERLAP / length
        corners = shape.vert_properties[:, :3] @ transform[:3, :3].T + transform[:3, 3]
        colours = np.tile([*part.colour, 1.0], (len(corners), 1))
        solids.append(_solid(manifold, corners, shape.tri_verts, colours))
    return manifold.Manifold.batch_boolean(solids, manifold.OpType.Add)


def _closed(manifold: Any, part: Mesh, scale: float) -> Any:
    """A lobe as a body."""
    solid = _solid(manifold, part.vertices * (scale / angstrom), part.faces, part.colours)
    if solid.status() != manifold.Error.NoError or solid.num_tri() == 0:
        raise FileError(
            f"{part.name or 'surface'}: this surface is not closed, so it has no inside to print: a plane, or one that "
            "the box cuts; take a larger box (--margin), or write a .glb file"
        )
    return solid


def _solid(manifold: Any, corners: NDArray[Any], faces: NDArray[Any], colours: NDArray[Any]) -> Any:
    properties = np.ascontiguousarray(np.hstack([corners, colours]), np.float32)
    return manifold.Manifold(manifold.Mesh(properties, np.ascontiguousarray(faces, np.uint32)))


def _body(name: str, solid: Any) -> Body:
    mesh = solid.simplify(_TOLERANCE).to_mesh()
    same = np.arange(len(mesh.vert_properties), dtype=np.uint32)  # corners in several colours are several vertices
    same[mesh.merge_from_vert] = mesh.merge_to_vert
    used, faces = np.unique(same[mesh.tri_verts], return_inverse=True)
    colours = np.clip(np.round(255 * mesh.vert_properties[:, 3:7]), 0, 255).astype(np.uint8)
    return Body(
        name,
        np.ascontiguousarray(mesh.vert_properties[used, :3]),
        faces.reshape(-1, 3).astype(np.uint32),
        colours[mesh.tri_verts],
    )
