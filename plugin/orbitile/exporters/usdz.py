"""USDZ files, what phones and tablets show in a room (Quick Look), through OpenUSD's Python (extra `orbitile[usd]`).

The format is that of OpenUSD (https://openusd.org/release/spec_usdz.html). An Angstrom is a centimetre, so that benzene
stands on a table. Balls and sticks of an element are one mesh: phones draw few meshes faster than many.
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from ..base.errors import FileError
from ..base.packages import required
from ..base.temporary import own_folder
from ..model.surface import Surface
from ..model.wavefunction import Wavefunction
from ..scenes import Mesh, Scene, scene_of
from ..scenes.solids import Shape, joined, placed_parts
from ..surfaces.colour_maps import linear_light
from ._trimesh import in_angstrom

DESCRIPTION = "USDZ scene"
PATTERNS = ("*.usdz",)
KIND = "mesh"

_METRES = 0.01
"""A unit of the file, which is an Angstrom of the molecule."""
_ROUGHNESS = 0.45


def write(surface: Surface, path: Path, wavefunction: Wavefunction | None = None) -> None:
    """Write the lobes of a surface."""
    write_scene(scene_of(surface), path)


def write_scene(scene: Scene, path: Path) -> None:
    """Write balls, sticks and the lobes of each mesh, with materials, names and what is shown.

    Raises
    ------
    FileError
        Where OpenUSD is missing.
    OSError
        Where it cannot write.
    """
    required("pxr.Usd", FileError, "USDZ files need the package usd-core", "usd-core")
    library = _Library()
    with TemporaryDirectory(dir=own_folder()) as folder:
        layer, packed = Path(folder) / "scene.usdc", Path(folder) / "scene.usdz"
        try:
            stage = library.usd.Stage.CreateNew(str(layer))
            _Stage(library, stage).fill(scene)
            stage.Save()
            is_written = library.utils.CreateNewUsdzPackage(library.sdf.AssetPath(str(layer)), str(packed))
        except library.error as error:
            raise OSError(f"OpenUSD: {_reason(error)}") from error
        if not is_written or not _is_whole(packed):
            raise OSError("OpenUSD could not write all of it: is the disk full?")
        path.write_bytes(packed.read_bytes())


def _is_whole(package: Path) -> bool:
    """Whether all of a package is there: OpenUSD does not notice when its last bytes find no room."""
    try:
        with ZipFile(package) as parts:
            return parts.testzip() is None
    except (OSError, BadZipFile):
        return False


def _reason(error: Exception) -> str:
    """What it says first of several lines, between quotation marks: the rest follows from that."""
    found = re.search(r": '(.*)'", str(error))
    return found.group(1) if found else " ".join(str(error).split())[:200]


class _Library:
    """The modules of OpenUSD."""

    def __init__(self) -> None:
        modules = ("Usd", "UsdGeom", "UsdShade", "UsdUtils", "Sdf", "Vt")
        loaded: list[Any] = [importlib.import_module(f"pxr.{name}") for name in modules]
        self.usd, self.geom, self.shade, self.utils, self.sdf, self.vt = loaded
        self.error: type[Exception] = importlib.import_module("pxr.Tf").ErrorException


class _Stage:
    """A scene as it is written."""

    def __init__(self, library: _Library, stage: Any) -> None:
        self._library, self._stage = library, stage
        self._materials: dict[tuple[str, tuple[float, ...]], Any] = {}
        geom = library.geom
        geom.SetStageUpAxis(stage, geom.Tokens.y)
        geom.SetStageMetersPerUnit(stage, _METRES)
        root = geom.Xform.Define(stage, "/scene")
        root.GetPrim().SetMetadata("comment", "written by Orbitile; 1 cm an Angstrom")
        stage.SetDefaultPrim(root.GetPrim())

    def fill(self, scene: Scene) -> None:
        """Put all of a scene into it."""
        geom = self._library.geom
        geom.Scope.Define(self._stage, "/scene/materials")
        geom.Xform.Define(self._stage, "/scene/molecule")  # a parent of no type would be passed over by some readers
        parts = placed_parts(scene.molecule)
        for material in dict.fromkeys(part.material for part in parts):
            some = [part for part in parts if part.material == material]
            shape, _ = joined(some, subdivisions=2, sections=16)
            body = self._mesh(f"/scene/molecule/{_word(material)}", in_angstrom(shape))
            self._bind(body, self._material(material, some[0].colour, 1.0))
        for mesh in scene.meshes:
            for lobe in mesh.parts():
                if len(lobe.faces):
                    self._lobe(lobe)

    def _lobe(self, part: Mesh) -> None:
        name = part.name or "surface"
        path = stem = f"/scene/{_word(name)}"
        number = 1
        while self._stage.GetPrimAtPath(path):
            number += 1
            path = f"{stem}_{number}"
        shape = in_angstrom(Shape(part.vertices, part.faces, part.normals))
        body, colour = self._mesh(path, shape), part.colour
        body.CreateDoubleSidedAttr(True)
        for key, value in part.facts.items():
            body.GetPrim().SetCustomDataByKey(f"orbitile:{key}", value)
        body.GetPrim().SetDisplayName(name)
        if colour is None:
            tokens = self._library.geom.Tokens
            colours = linear_light(part.colours[:, :3]).astype(np.float32)
            body.CreateDisplayColorPrimvar(tokens.vertex).Set(self._vectors(colours))
            self._bind(body, self._material(name, None, float(part.colours[:, 3].min())))
        else:
            self._bind(body, self._material(name, colour[:3], colour[3]))

    def _mesh(self, path: str, shape: Shape) -> Any:
        geom, vt = self._library.geom, self._library.vt
        body = geom.Mesh.Define(self._stage, path)
        body.CreatePointsAttr(self._vectors(shape.vertices))
        body.CreateFaceVertexCountsAttr(vt.IntArray.FromNumpy(np.full(len(shape.faces), 3, np.int32)))
        body.CreateFaceVertexIndicesAttr(vt.IntArray.FromNumpy(shape.faces.astype(np.int32).ravel()))
        body.CreateNormalsAttr(self._vectors(shape.normals))
        body.SetNormalsInterpolation(geom.Tokens.vertex)
        body.CreateSubdivisionSchemeAttr(geom.Tokens.none)
        low, high = shape.vertices.min(axis=0), shape.vertices.max(axis=0)
        body.CreateExtentAttr(self._vectors(np.stack([low, high])))
        return body

    def _vectors(self, rows: NDArray[np.floating]) -> Any:
        return self._library.vt.Vec3fArray.FromNumpy(np.ascontiguousarray(rows, np.float32))

    def _material(self, name: str, colour: tuple[float, ...] | None, opacity: float) -> Any:
        """A material of this colour, or of those at the vertices; one that is there already is taken again."""
        shade, types = self._library.shade, self._library.sdf.ValueTypeNames
        key = name, (*(colour or ()), opacity)
        if key in self._materials:
            return self._materials[key]
        path = f"/scene/materials/m{len(self._materials) + 1}_{_word(name)}"
        material = self._materials[key] = shade.Material.Define(self._stage, path)
        shader = shade.Shader.Define(self._stage, f"{path}/surface")
        shader.CreateIdAttr("UsdPreviewSurface")
        shader.CreateInput("roughness", types.Float).Set(_ROUGHNESS)
        shader.CreateInput("metallic", types.Float).Set(0.0)
        shader.CreateInput("opacity", types.Float).Set(opacity)
        diffuse = shader.CreateInput("diffuseColor", types.Color3f)
        if colour is not None:
            diffuse.Set(tuple(linear_light(np.array(colour)).tolist()))
        else:
            reader = shade.Shader.Define(self._stage, f"{path}/colours")
            reader.CreateIdAttr("UsdPrimvarReader_float3")
            reader.CreateInput("varname", types.String).Set("displayColor")
            diffuse.ConnectToSource(reader.CreateOutput("result", types.Float3))
        material.CreateSurfaceOutput().ConnectToSource(shader.ConnectableAPI(), "surface")
        return material

    def _bind(self, body: Any, material: Any) -> None:
        self._library.shade.MaterialBindingAPI.Apply(body.GetPrim()).Bind(material)


def _word(name: str) -> str:
    """A name that OpenUSD accepts: letters, digits and underscores, and no digit first."""
    word = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")
    return word if word and not word[0].isdigit() else f"_{word}"
