"""A document as bytes: a number, JSON of that length, and the arrays that the JSON refers to, each of them once.

Positions of vertices are whole numbers from 0 to 65535 across the box of their mesh, so that they are off by less than
its hundred-thousandth part; normals are whole numbers from -127 to 127, colours from 0 to 255. Since that compresses
well, vertices and normals are stored as the differences of successive ones, modulo 65536 and 256, and each corner of a
face as how far it is below the least vertex that no face before has used. `scripts/unpack.js` is the inverse.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..scenes import Mesh, Scene
from .document import Choice, Document, Slide

_STEPS = 65535

Floats = NDArray[np.float64]


class _Arrays:
    """Arrays one after the other, and where each of them is."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._known: dict[tuple[str, bytes], int] = {}
        self.index: list[tuple[int, int, str]] = []
        self._end = 0

    def add(self, array: NDArray[Any]) -> int:
        """Number of an array, which is added unless its like is there."""
        kind, content = array.dtype.str[1:], array.astype(array.dtype.newbyteorder("<")).tobytes()
        if (kind, content) not in self._known:
            self._known[kind, content] = len(self.index)
            self.index.append((self._end, array.size, kind))
            content += bytes(-len(content) % 4)
            self._end += len(content)
            self.parts.append(content)
            return len(self.index) - 1
        return self._known[kind, content]


def packed(document: Document) -> bytes:
    """A document as the viewer takes it."""
    arrays = _Arrays()
    header = {
        "title": document.title,
        "atoms": document.atoms,
        "n_frames": document.n_frames,
        "rotation": document.rotation.tolist(),
        "middle": document.middle.tolist(),
        "choices": [_choice(choice) for choice in document.choices],
        "slides": [_slide(slide, document.middle, arrays) for slide in document.slides],
        "arrays": arrays.index,
    }
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    return b"".join([len(text).to_bytes(4, "little"), text, *arrays.parts])


def _choice(choice: Choice) -> dict[str, Any]:
    return {**vars(choice), "energy": choice.energy if math.isfinite(choice.energy) else None}


def _slide(slide: Slide, middle: Floats, arrays: _Arrays) -> dict[str, Any]:
    plain = {name: value for name, value in vars(slide).items() if name not in ("scene", "legends")}
    legends = [vars(legend) for legend in slide.legends]
    return {**plain, "legends": legends, **_scene(slide.scene, middle, arrays)}


def _scene(scene: Scene, middle: Floats, arrays: _Arrays) -> dict[str, Any]:
    molecule = scene.molecule
    sticks = np.broadcast_to(molecule.stick_radius, len(molecule.bonds))
    return {
        "lit": scene.lit,
        "centres": arrays.add((molecule.centres - middle).astype(np.float32)),
        "radii": arrays.add(molecule.radii.astype(np.float32)),
        "colours": arrays.add(_bytes(molecule.colours)),
        "bonds": arrays.add(molecule.bonds.astype(np.uint32)),
        "sticks": arrays.add(sticks.astype(np.float32)),
        "meshes": [_mesh(mesh, middle, arrays) for mesh in scene.meshes],
    }


def _mesh(mesh: Mesh, middle: Floats, arrays: _Arrays) -> dict[str, Any]:
    vertices = np.asarray(mesh.vertices, np.float64) - middle
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    step = np.maximum(high - low, 1e-9) / _STEPS
    places = np.round((vertices - low) / step).astype(np.uint16)
    return {
        "name": mesh.name,
        "finish": float(mesh.finish),
        "low": low.tolist(),
        "step": step.tolist(),
        "vertices": arrays.add(_differences(places)),
        "normals": arrays.add(_differences(np.round(127 * np.clip(mesh.normals, -1, 1)).astype(np.int8))),
        "colours": arrays.add(_bytes(mesh.colours)),
        "faces": arrays.add(_below_new(mesh.faces)),
    }


def _differences(rows: NDArray[Any]) -> NDArray[Any]:
    """Of each row and the one before, modulo the range of the type."""
    found = rows.copy()
    found[1:] -= rows[:-1]
    return found


def _below_new(faces: NDArray[np.integer]) -> NDArray[np.uint32]:
    """How far each corner is below the least vertex above all of those before it."""
    corners = faces.reshape(-1).astype(np.int64)
    new = np.maximum.accumulate(np.concatenate([[-1], corners]))[:-1] + 1
    return (new - corners).astype(np.uint32)  # modulo 2^32, where vertices are left out


def _bytes(shares: NDArray[np.floating]) -> NDArray[np.uint8]:
    """Shares from 0 to 1 as whole numbers to 255."""
    whole: NDArray[np.uint8] = np.round(255 * np.clip(shares, 0, 1)).astype(np.uint8)
    return whole
