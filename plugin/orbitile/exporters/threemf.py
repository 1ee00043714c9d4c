"""3MF files for printers, through lib3mf: a body for the molecule and for each lobe, in colours and millimetres.

The format is that of the 3MF Consortium (https://3mf.io/spec/), with its extension for materials; the library is the
consortium's own (extra `orbitile[printing]`).
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import FileError
from ..base.packages import required
from ..model.surface import Surface
from ..model.wavefunction import Wavefunction
from ..scenes import Scene
from ._printing import Body, bodies_of, scale_text

DESCRIPTION = "3MF bodies for printing"
PATTERNS = ("*.3mf",)
KIND = "mesh"


def write(what: Scene | Surface, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write the lobes of a surface, or molecule and lobes of a scene, as bodies of one object.

    Raises
    ------
    FileError
        Where a surface is not closed, or a package is missing.
    """
    library = required("lib3mf", FileError, "3MF files need the package lib3mf", "lib3mf", "manifold3d")
    bodies, scale = bodies_of(what, united=False)
    wrapper = library.get_wrapper()
    model = wrapper.CreateModel()
    model.SetUnit(library.ModelUnit.MilliMeter)
    model.GetMetaDataGroup().AddMetaData("", "Description", scale_text(scale), "xs:string", True)
    whole = model.AddComponentsObject()
    whole.SetName("scene")
    for body in bodies:
        whole.AddComponent(_mesh(library, model, body), wrapper.GetIdentityTransform())
    model.AddBuildItem(whole, wrapper.GetIdentityTransform())
    buffer = model.QueryWriter("3mf").WriteToBuffer()
    path.write_bytes(bytes(buffer))


write_scene = write


def _mesh(library: Any, model: Any, body: Body) -> Any:
    """A body as an object of the model: of one material, or with the colours of its corners."""
    mesh = model.AddMeshObject()
    mesh.SetName(body.name)
    mesh.SetGeometry(_array(library.Position, body.vertices.astype(np.float32)), _array(library.Triangle, body.faces))
    colours, which = np.unique(body.colours.reshape(-1, 3), axis=0, return_inverse=True)
    if len(colours) == 1:
        group = model.AddBaseMaterialGroup()
        number = group.AddMaterial(body.name, library.Color(*colours[0].tolist(), 255))
        mesh.SetObjectLevelProperty(group.GetResourceID(), number)
        return mesh
    group = model.AddColorGroup()
    numbers = np.array([group.AddColor(library.Color(*colour, 255)) for colour in colours.tolist()], np.uint32)
    corners = numbers[which.reshape(-1, 3)]
    properties = np.hstack([np.full((len(corners), 1), group.GetResourceID(), np.uint32), corners])
    mesh.SetAllTriangleProperties(_array(library.TriangleProperties, properties))
    mesh.SetObjectLevelProperty(group.GetResourceID(), int(numbers[0]))
    return mesh


def _array(kind: Any, values: Any) -> Any:
    """An array of the library's structures from rows of their numbers."""
    rows = np.ascontiguousarray(values)
    assert ctypes.sizeof(kind) == rows.strides[0]
    return list((kind * len(rows)).from_buffer_copy(rows))
