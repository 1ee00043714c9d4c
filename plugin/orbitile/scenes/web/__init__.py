"""Molecules and surfaces that turn in a browser, the same in a page and in a notebook.

    scenes -> Slide, Document -> packed (bytes) -> page (one HTML file) | the view of a notebook

The viewer is JavaScript in `scripts/`: modules without dependencies that draw by WebGL 2, with the shaders of
`orbitile.scenes`. Nothing is fetched from anywhere. The modules import each other by their files, for editors and
people. A page and a widget need one text: they stand in it one after the other, without their imports and exports,
those first that others import.

Lengths in bohr, energies in hartree. All texts are plain: the viewer puts them in as text, never as markup.

A document as bytes is a number, JSON of that length, and the arrays that the JSON refers to, each of them once.
Positions of vertices are whole numbers from 0 to 65535 across the box of their mesh, so that they are off by less than
its hundred-thousandth part; normals are whole numbers from -127 to 127, colours from 0 to 255. Since that compresses
well, vertices and normals are stored as the differences of successive ones, modulo 65536 and 256, and each corner of a
face as how far it is below the least vertex that no face before has used. `scripts/unpack.js` is the inverse.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import Reals
from ...base.errors import RenderError
from ...model.surface import Surface
from ...model.units import electronvolt
from ...surfaces.colour_maps import RGB, colours_along, tick_labels, ticks
from .. import Mesh, Scene, shader_source
from .computing import Computing

_STOPS = 17
"""Colours of a scale; the browser blends between them."""


@dataclass(frozen=True)
class Choice:
    """Something that can be chosen: an orbital, or another field.

    Attributes
    ----------
    field, color_by : str
        Names as for `orbitile.compute`; the second is empty for the colours of phases.
    title : str
        For people: HOMO-1, density coloured by electrostatic potential.
    number : int
        Of an orbital, from 1, in the order of the file; 0 for other fields.
    spin : str
        alpha or beta where they differ, otherwise empty.
    energy : float
        Of an orbital, in hartree; NaN where there is none.
    occupation : float
    label : str
        Symmetry, or what the file calls the orbital.
    """

    field: str
    color_by: str = ""
    title: str = ""
    number: int = 0
    spin: str = ""
    energy: float = math.nan
    occupation: float = 0.0
    label: str = ""


@dataclass(frozen=True)
class Legend:
    """What colours stand for.

    Attributes
    ----------
    heading : str
        Quantity, unit.
    patches : tuple of (str, str)
        Colour as #rrggbb, and what it stands for; empty where there is a scale.
    scale : tuple of str
        Colours from the low end to the high one.
    ticks : tuple of (float, str)
        Place on the scale from 0 to 1, and what stands there.
    """

    heading: str
    patches: tuple[tuple[str, str], ...] = ()
    scale: tuple[str, ...] = ()
    ticks: tuple[tuple[float, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Slide:
    """One picture that can be turned.

    Attributes
    ----------
    scene : Scene
    field, color_by : str
        What was chosen, as in a `Choice`.
    title : str
        For people.
    isovalue : float
        In atomic units; 0 where there is no isosurface.
    range : (float, float)
        Isovalues that may be asked for in its place; equal where there are no others.
    frame : int
        Of a trajectory, from 0.
    legends : tuple of Legend
    remark : str
        What has to be known of it, in a line: why there is no surface.
    """

    scene: Scene
    field: str = ""
    color_by: str = ""
    title: str = ""
    isovalue: float = 0.0
    range: tuple[float, float] = (0.0, 0.0)
    frame: int = 0
    legends: tuple[Legend, ...] = ()
    remark: str = ""


@dataclass(frozen=True, eq=False)
class Document:
    """All that a view shows.

    Attributes
    ----------
    title : str
    slides : tuple of Slide
        The first is shown first.
    choices : tuple of Choice
    atoms : tuple of str
        What the atoms are called, as C1; empty where they are not to be labelled.
    n_frames : int
    rotation : ndarray, shape (3, 3)
        Rows: the directions in space that point right, up, and towards the viewer at first.
    middle : ndarray, shape (3,)
        A place in the middle of it all; positions are packed relative to it.
    spectrum : mapping
        Modes along which the molecule moves, their spectra and their table, in plain types, as `scripts/modes.js` reads
        them; empty for none.
    computing : tuple of Computing
        What the page computes orbitals from, one for each frame; empty where it computes none. Each frame has a slide
        then, whose molecule is drawn with them.
    note : str
        What has to be known of all of it, as a sentence: why the page does not compute.
    energies, occupations : ndarray of float32, shape (n_frames, n_choices)
        Of the choices in each frame, in hartree and in electrons; NaN where there is none. Empty where those that the
        choices have hold in all frames.
    """

    title: str = ""
    slides: tuple[Slide, ...] = ()
    choices: tuple[Choice, ...] = ()
    atoms: tuple[str, ...] = ()
    n_frames: int = 1
    rotation: Reals = field(default_factory=lambda: np.eye(3))
    middle: Reals = field(default_factory=lambda: np.zeros(3))
    spectrum: Mapping[str, Any] = field(default_factory=dict)
    computing: tuple[Computing, ...] = ()
    note: str = ""
    energies: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    occupations: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    def __post_init__(self) -> None:
        for name, shape in (("rotation", (3, 3)), ("middle", (3,))):
            array = np.asarray(getattr(self, name), np.float64)
            if array.shape != shape or not np.isfinite(array).all():
                raise RenderError(f"{name} of a view: expected finite numbers of shape {shape}, got {array.tolist()}")
            object.__setattr__(self, name, array)
        for slide in self.slides:
            if not 0 <= slide.frame < self.n_frames:
                raise RenderError(f"frame of a slide: expected 0 to {self.n_frames - 1}, got {slide.frame}")
        if len(self.computing) not in (0, self.n_frames):
            raise RenderError(f"computing of a view: expected {self.n_frames}, one a frame, got {len(self.computing)}")
        for name in ("energies", "occupations"):
            shape, expected = getattr(self, name).shape, (self.n_frames, len(self.choices))
            if shape not in ((0, 0), expected):
                raise RenderError(f"{name} of a view: expected the shape {expected}, got {shape}")


def legend_of(surface: Surface, pair: tuple[RGB, RGB]) -> Legend:
    """What the colours of a surface stand for; the pair is for its positive and its negative part."""
    colouring, unit = surface.colouring, f" {surface.unit}" if surface.unit else ""
    if colouring is None:
        signs = [phase for phase in (1, -1) if np.any(surface.phases == phase)]
        plus = "+" if len(signs) == 2 else ""
        patches = tuple(
            (_hexadecimal(pair[phase < 0]), f"{'−' if phase < 0 else plus}{surface.isovalue:.3g}{unit}")
            for phase in signs
        )
        return Legend(surface.quantity, patches)
    low, high = colouring.low, colouring.high
    marks = ticks(low, high, 5)
    colours = colours_along(colouring.colour_map, np.linspace(0, 1, _STOPS))
    places = ((marks - low) / (high - low)).tolist()
    return Legend(
        f"{colouring.quantity} ({colouring.unit})" if colouring.unit else colouring.quantity,
        scale=tuple(_hexadecimal(colour) for colour in colours.tolist()),
        ticks=tuple(zip(places, tick_labels(marks), strict=True)),
    )


def _hexadecimal(colour: RGB) -> str:
    return "#" + "".join(f"{round(255 * channel):02x}" for channel in colour)


_STEPS = 65535


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
        "spectrum": document.spectrum,
        "computing": [_computing(computing, arrays) for computing in document.computing],
        "note": document.note,
        "levels": [
            [arrays.add(energies), arrays.add(occupations)]
            for energies, occupations in zip(document.energies, document.occupations, strict=True)
        ],
        "arrays": arrays.index,
    }
    text = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 4)
    return b"".join([len(text).to_bytes(4, "little"), text, *arrays.parts])


def _choice(choice: Choice) -> dict[str, Any]:
    return {**vars(choice), "energy": choice.energy if math.isfinite(choice.energy) else None}


def _slide(slide: Slide, middle: Reals, arrays: _Arrays) -> dict[str, Any]:
    plain = {name: value for name, value in vars(slide).items() if name not in ("scene", "legends")}
    legends = [vars(legend) for legend in slide.legends]
    return {**plain, "legends": legends, **_scene(slide.scene, middle, arrays)}


def _computing(computing: Computing, arrays: _Arrays) -> dict[str, Any]:
    names = ("centre", "exponent", "degree", "matrix", "columns", "counts", "unit")
    return {
        **vars(computing),
        **{name: arrays.add(getattr(computing, name)) for name in names},
        "planes": [arrays.add(plane) for plane in computing.planes],
        "sums": [vars(sum_of_squares) for sum_of_squares in computing.sums],
    }


def _scene(scene: Scene, middle: Reals, arrays: _Arrays) -> dict[str, Any]:
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


def _mesh(mesh: Mesh, middle: Reals, arrays: _Arrays) -> dict[str, Any]:
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
    return np.round(255 * np.clip(shares, 0, 1)).astype(np.uint8)


# ---- a page

_MODULES = ("elements", "unpack", "geometry", "fog", "drawing", "turning", "controls", "diagram", "viewer")

COMPUTING = ("lattice", "sums", "isosurface", "extraction", "computing", "links", "molecule")
"""Modules of pages that compute, behind those of the viewer."""

_SHADERS = ("sphere_vertex", "sphere_fragment", "stick_vertex", "stick_fragment", "mesh_vertex", "mesh_fragment")

_OPENGL, _WEBGL = "#version 330 core", "#version 300 es\nprecision highp float;\nprecision highp int;"


@cache
def viewer_script(*ends: str) -> str:
    """The viewer as one text, and behind it modules of those names that use it."""
    shaders = {name: shader_source(name).replace(_OPENGL, _WEBGL) for name in _SHADERS}
    texts = [f"const SHADERS = {json.dumps(shaders)};", f"const ELECTRONVOLTS = {1 / electronvolt!r}; // in a hartree"]
    texts += [module(name) for name in (*_MODULES, *ends)]
    return "\n\n".join(texts) + "\n"


def module(name: str, package: str = __package__) -> str:
    """A module in the `scripts/` of a package, without its imports and exports."""
    text = (files(package) / "scripts" / f"{name}.js").read_text(encoding="utf-8")
    text = re.sub(r"^import [^;]*;.*\n", "", text, flags=re.MULTILINE)
    return re.sub(r"^export (?!default)", "", text, flags=re.MULTILINE).strip()


@cache
def style() -> str:
    """The style sheet."""
    return (files(__package__) / "scripts" / "style.css").read_text(encoding="utf-8")


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
<script type="module">{script}</script>
</body>
</html>
"""

_BODY = """<main><h1 class="orbitile-hidden">{title}</h1><div id="orbitile-view" class="orbitile-page"></div></main>
<noscript>This view needs JavaScript.</noscript>
<script id="orbitile-document" type="text/plain">{document}</script>"""

_WHOLE_WINDOW = "html, body { margin: 0; height: 100%; }"


def html_page(title: str, style: str, body: str, script: str) -> str:
    """A page in one file, whose policy lets its own style sheet and script do something, and nothing else.

    Parameters
    ----------
    title : str
        Plain text.
    style, script : str
        The only ones that the browser applies and runs: the policy has their digests (W3C, Content Security Policy
        Level 3, section 2.3.1). Pictures may be part of the page, and workers be begun from texts of the script, for
        which the same policy holds; nothing may be fetched.
    body : str
        HTML, in which all texts of files are escaped.
    """
    style, script = f"\n{style.strip()}\n", f"\n{script.strip()}\n"
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data: blob:; "
        "worker-src blob:; base-uri 'none'; form-action 'none'"
    )
    return _PAGE.format(policy=policy, title=html.escape(title), style=style, body=body, script=script)


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


def coded(document: Document) -> str:
    """A document as text: its bytes compressed (zlib) and in base64."""
    return base64.b64encode(zlib.compress(packed(document), 9)).decode("ascii")


def page(document: Document) -> str:
    """The page of a document: its arrays as text, the viewer as it is."""
    ends = ("spectrum", "modes") if document.spectrum else (*COMPUTING, "page")
    title = document.title or "Orbitile"
    body = _BODY.format(title=html.escape(title), document=coded(document))
    return html_page(title, f"{_WHOLE_WINDOW}\n{style()}", body, viewer_script(*ends))


def iframe(document: Document, name: str = "") -> str:
    """The page of a document as a part of another page, by whose scripts and styles it is not touched.

    Parameters
    ----------
    document : Document
    name : str
        By which scripts of the other page find it (`data-orbitile`).
    """
    return (
        f'<iframe data-orbitile="{html.escape(name)}" title="{html.escape(document.title or "Orbitile")}" '
        f'style="width:100%;height:480px;border:0" allow="fullscreen" srcdoc="{html.escape(page(document))}">'
        "</iframe>"
    )
