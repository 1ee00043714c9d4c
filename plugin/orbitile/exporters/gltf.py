"""Binary glTF scenes (.glb), through trimesh: normals at the vertices, materials, names, and what is shown as extras.

The format is glTF 2.0 (https://registry.khronos.org/glTF/specs/2.0/glTF-2.0.html). It takes lengths for metres; ours
are in Angstrom, so that a molecule has the size of a room rather than of nothing. The extras of each mesh say so.
Colours are in linear light, as the format has them.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model.surface import Surface
from ..model.units import angstrom
from ..model.wavefunction import Wavefunction
from ..scenes import Mesh, Scene
from ..scenes.solids import Shape, placed_parts, unit_ball, unit_stick
from ..surfaces.colour_maps import linear_light
from ._trimesh import described, in_angstrom, trimesh_of

DESCRIPTION = "binary glTF scene"
PATTERNS = ("*.glb",)
KIND = "mesh"

_ROUGHNESS = {"ball": 0.35, "surface": 0.5}
_VERTICES, _INDICES = 34962, 34963
"""What a buffer is for: the format's numbers, those of OpenGL."""
_WHITE = (1.0, 1.0, 1.0)


def write(surface: Surface, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write a surface, its colours in linear light, and what it shows as extras of the mesh."""
    mesh = trimesh_of(surface)
    materials = _Materials()
    colours = _linear(mesh.visual.vertex_colors / 255)
    mesh.visual = materials.visual(surface.quantity or "surface", _WHITE, 1.0, "surface")
    mesh.visual.vertex_attributes["color"] = colours
    path.write_bytes(_glb(mesh, materials))


def write_scene(scene: Scene, path: Path) -> None:
    """Write balls and sticks, each shape once and placed again and again, and the lobes of each mesh.

    Each is a node with a name; materials are those of the elements, and of the lobes.
    """
    trimesh: Any = importlib.import_module("trimesh")  # imported here because it takes a second
    whole, materials = trimesh.Scene(base_frame="scene"), _Materials()
    _add_molecule(whole, scene, materials)
    for mesh in scene.meshes:
        for part in mesh.parts():
            if len(part.faces):
                name = _free_name(part.name or "surface", whole.graph.nodes)
                whole.add_geometry(_trimesh_of_part(part, materials), node_name=name, geom_name=name)
    path.write_bytes(_glb(whole, materials))


def _add_molecule(whole: Any, scene: Scene, materials: _Materials) -> None:
    shapes = {"ball": unit_ball(2), "stick": unit_stick(16)}
    if len(scene.molecule.centres):
        whole.graph.update(frame_from="scene", frame_to="molecule")
    for part in placed_parts(scene.molecule):
        geometry = f"{part.shape} {part.material}"
        transform = part.transform.copy()
        transform[:3] /= angstrom
        if geometry in whole.geometry:
            whole.graph.update(frame_from="molecule", frame_to=part.name, matrix=transform, geometry=geometry)
            continue
        body = _trimesh(shapes[part.shape], {})
        body.visual = materials.visual(part.material, part.colour, 1.0, "ball")
        whole.add_geometry(
            body, node_name=part.name, geom_name=geometry, parent_node_name="molecule", transform=transform
        )


def _trimesh_of_part(part: Mesh, materials: _Materials) -> Any:
    body = _trimesh(in_angstrom(Shape(part.vertices, part.faces, part.normals)), described(part.facts))
    name, colour = part.name or "surface", part.colour
    if colour is not None:
        body.visual = materials.visual(name, colour[:3], colour[3], "surface")
        return body
    body.visual = materials.visual(name, _WHITE, 1.0, "surface", blends=not part.is_opaque)
    body.visual.vertex_attributes["color"] = _linear(part.colours)
    return body


def _trimesh(shape: Shape, metadata: dict[str, Any]) -> Any:
    trimesh: Any = importlib.import_module("trimesh")
    return trimesh.Trimesh(shape.vertices, shape.faces, vertex_normals=shape.normals, metadata=metadata, process=False)


class _Materials:
    """Materials by name, whose colours trimesh would round to eight bits, too few for dark ones in linear light."""

    def __init__(self) -> None:
        self._factors: dict[str, list[float]] = {}

    def visual(self, name: str, colour: tuple[float, ...], opacity: float, kind: str, *, blends: bool = False) -> Any:
        """What trimesh shows a mesh by; a name that another material has is numbered.

        What is behind it is seen where it `blends`, as it does unless it is opaque itself.
        """
        visual: Any = importlib.import_module("trimesh.visual")
        factor = [*linear_light(np.array(colour)).tolist(), opacity]
        if self._factors.get(name, factor) != factor:
            name = _free_name(name, self._factors)
        self._factors[name] = factor
        material = visual.material.PBRMaterial(
            name=name,
            baseColorFactor=[255, 255, 255, 255],
            metallicFactor=0.0,
            roughnessFactor=_ROUGHNESS[kind],
            alphaMode="BLEND" if blends or opacity < 1 else "OPAQUE",
            doubleSided=kind == "surface",
        )
        return visual.TextureVisuals(material=material)

    def complete(self, tree: dict[str, Any]) -> None:
        """Put the colours into the materials of a file, and say what its buffers are for."""
        for material in tree.get("materials", ()):
            material["pbrMetallicRoughness"]["baseColorFactor"] = self._factors[material["name"]]
        for primitive in (primitive for mesh in tree["meshes"] for primitive in mesh["primitives"]):
            indices = tree["accessors"][primitive["indices"]]
            tree["bufferViews"][indices["bufferView"]]["target"] = _INDICES
            for attribute in primitive["attributes"].values():
                accessor = tree["accessors"][attribute]
                stride = 12 if accessor["type"] == "VEC3" else 4  # the corners of a unit ball are its normals too
                tree["bufferViews"][accessor["bufferView"]] |= {"target": _VERTICES, "byteStride": stride}


def _free_name(name: str, taken: Any) -> str:
    """The name, with a number where something else has it."""
    names = (name, *(f"{name} {number}" for number in range(2, len(taken) + 3)))
    return next(free for free in names if free not in taken)


def _glb(what: Any, materials: _Materials) -> bytes:
    return what.export(file_type="glb", include_normals=True, tree_postprocessor=materials.complete)


def _linear(colours: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Colours for the display as bytes in linear light; alpha stays."""
    linear = linear_light(colours)
    linear[:, 3] = colours[:, 3]
    return np.round(linear * 255).astype(np.uint8)
