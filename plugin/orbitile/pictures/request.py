"""What is asked for, by a command, a host or a notebook, and what comes back from a worker; options of pictures.

Requests and samples are plain data: the worker may run under another Python with another NumPy
(`orbitile.workers.transport`).

An option is declared here once. The command line, the consoles of viewers and batches take its name, kind, default and
help from here, and hand on what they are given by that name: one of `OF_SURFACES` is a part of `Request`, one of
`OF_DRAWINGS` an argument of `orbitile.render`. So a new option is a line here, and whatever it changes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import arguments
from ..base.arguments import FLAG, POSITIVE_NUMBER, TEXT, WHOLE_NUMBER, Argument, one_of
from ..base.errors import Cancelled, OrbitileError
from ..base.watch import checkpoint
from ..model.lattice import QUALITIES, Lattice
from ..model.surface import Surface
from ..model.units import angstrom
from ..model.volume import Volume
from ..scenes.scene import OPACITY, VALUE_OPACITY, VOLUME_STYLES
from ..surfaces.isosurface import isosurface
from ..surfaces.isovalue import SHARE
from .words import DEFAULT_ISOVALUE, quality_spacings


@dataclasses.dataclass(frozen=True)
class Option(Argument):
    """An option of a picture.

    Attributes
    ----------
    metavar : str
        What stands for its value in the help of the command line.
    is_length : bool
        Whether people give a length in Angstrom, which a `Request` has in bohr.
    """

    metavar: str = ""
    is_length: bool = False

    def value(self, given: Any) -> Any:
        """What a request has: in its units, and the default where nothing was given."""
        if given is None:
            return self.default
        return given * angstrom if self.is_length else given

    def accepts(self, value: Any) -> bool:
        """Whether a request may have this value."""
        with contextlib.suppress(OrbitileError):
            return value == self.default or bool(self.kind.read(self.name, value) == value)
        return False


ISOVALUE = Option("isovalue", POSITIVE_NUMBER, "in atomic units", None, DEFAULT_ISOVALUE, metavar="V")
QUALITY = Option("quality", one_of(*QUALITIES), f"spacing {quality_spacings()} Angstrom", "medium", "medium")
COLOR_BY = Option(
    "color_by",
    TEXT,
    "a second field that colours the surface, such as esp",
    otherwise="two colours",
    completes="fields",
    metavar="FIELD",
)
COLOR_RANGE = Option(
    "color_range",
    POSITIVE_NUMBER,
    "the colours span minus this to plus this, in the unit of the second field",
    None,
    "from the data",
    metavar="V",
)
SPACING = Option(
    "spacing",
    POSITIVE_NUMBER,
    "spacing of the lattice in Angstrom, in place of the quality",
    None,
    "",
    metavar="H",
    is_length=True,
)
POINTS = Option(
    "points", WHOLE_NUMBER, "points along the longest edge of the lattice, in place of the quality", None, metavar="N"
)
MARGIN = Option(
    "margin",
    POSITIVE_NUMBER,
    "margin of a box around the atoms, in Angstrom",
    None,
    "a box proven to hold the whole surface",
    metavar="D",
    is_length=True,
)
KERNEL = Option(
    "kernel",
    TEXT,
    "kernel for an orbital: auto, separable, direct, ...",
    "auto",
    "auto; `orbitile fields` lists them",
    metavar="NAME",
)
DEVICE = Option("device", TEXT, "auto, cuda, vulkan or cpu", None, "$ORBITILE_DEVICE, else auto")
PRECISION = Option("precision", one_of("single", "double"), "precision of the values", "single", "single")

IN_CONSOLES = (ISOVALUE, QUALITY, COLOR_BY, COLOR_RANGE)
"""Options of a surface that the consoles of viewers have; viewers choose lattice and device themselves."""

OF_SURFACES = (*IN_CONSOLES, SPACING, POINTS, MARGIN, KERNEL, DEVICE, PRECISION)
"""Options of a surface, parts of `Request`."""

SIZE = Option("size", TEXT, "width and height in pixels", "1600x1200", "1600x1200", metavar="WxH")
BACKGROUND = Option("background", TEXT, "a colour, or transparent", "white", "white", metavar="COLOUR")
COLORS = Option(
    "colors",
    TEXT,
    "colours of the two phases, such as '#3d57fb,#ec6e19'; two more for each further field",
    None,
    metavar="POS,NEG[,...]",
)
OPACITIES = Option(
    "opacity",
    arguments.SHARE,
    "opacity of the surfaces, 0 to 1",
    None,
    f"{OPACITY:g}; {VALUE_OPACITY:g} with --color-by, 1 with --plane",
)
TURN = Option(
    "turn",
    TEXT,
    "degrees to turn the molecule about the horizontal axis, the vertical one and the line of sight, from the view "
    "along its shortest extent",
    None,
    metavar="X,Y,Z",
)
LEGEND = Option("legend", FLAG, "names of the fields, isovalues and scales of colours in the picture")
SCALE = Option("scale", FLAG, "a scale bar; the picture is orthographic then")
ORTHOGRAPHIC = Option("orthographic", FLAG, "without perspective")

MODE = Option("mode", WHOLE_NUMBER, "arrows along a normal mode of the file, by its number from 1", None, metavar="N")

ANALYSIS = Option(
    "analysis",
    TEXT,
    "points, paths and arrows of an analysis, such as currents, or currents:axis=z,height=1",
    None,
    metavar="NAME[:PARAMETER=V,...]",
)

DRAWN_AS = Option(
    "style",
    one_of("surface", *VOLUME_STYLES),
    "isosurface; or the values themselves, as fog that is dense where they are large, or as a slice across the line of "
    "sight",
    "surface",
    "surface",
)

OF_DRAWINGS = (SIZE, BACKGROUND, COLORS, OPACITIES, TURN, LEGEND, SCALE, ORTHOGRAPHIC)
"""Options of a drawing, arguments of `orbitile.render`: colors as colours, and turn as a camera."""

OPTIONS = {option.name: option for option in (*OF_SURFACES, *OF_DRAWINGS)}
"""All options of pictures by name."""


Box = tuple[tuple[float, float, float], float, tuple[int, int, int]]
"""Origin in bohr, spacing in bohr and shape of a lattice along x, y and z."""

Corners = tuple[tuple[float, float, float], tuple[float, float, float]]

_WASTE = 1.6
"""Points of a lattice that is used again, in points of the one that would do."""


def box_of(lattice: Lattice) -> Box:
    """A lattice of equal spacing along x, y and z in plain numbers."""
    x, y, z = lattice.origin.tolist()
    return (x, y, z), float(lattice.axes[0, 0]), lattice.shape


def lattice_of(box: Box) -> Lattice:
    """The inverse of `box_of`."""
    return Lattice(np.array(box[0]), np.eye(3) * box[1], box[2])


def shared_lattice(needed: Lattice, box: Box | None) -> Lattice:
    """The lattice that is needed, or the given one, extended where it does not reach."""
    if box is None or needed.periodic or not math.isclose(box[1], needed.axes[0, 0], rel_tol=1e-9):
        return needed
    origin, spacing, shape = np.array(box[0]), box[1], np.array(box[2])
    low = np.minimum(np.floor((needed.origin - origin) / spacing + 1e-6), 0)
    end = needed.origin + (np.array(needed.shape) - 1) * spacing
    high = np.maximum(np.ceil((end - origin) / spacing - 1e-6) + 1, shape)
    nx, ny, nz = (int(n) for n in high - low)
    if nx * ny * nz > _WASTE * needed.n_points:
        return needed
    return Lattice(origin + low * spacing, needed.axes, (nx, ny, nz))


@dataclasses.dataclass(frozen=True)
class Request:
    """An isosurface of a field of a wavefunction, and what decides on its lattice.

    Attributes
    ----------
    path : str
        The wavefunction: a file, `OneFile` as text where it is to hold what it held; of a trajectory `Source` as text.
        Empty where whoever asks has it at hand.
    field : str
        Name of the field.
    quality : str
        coarse, medium or fine.
    isovalue : float or None
        Of the surface; None picks one that encloses `share`.
    share : float
        Share of the field's square that the default isovalue encloses.
    device : str or None
    precision : str
        As for `orbitile.compute`.
    color_by : str
        Name of a second field that colours the surface; empty for the colours of its phases.
    color_range : float or None
        The colours span minus this to plus this; None picks a range from the data.
    most_faces : int or None
        Triangles of the surface, at most about so many: where there would be more, it is extracted from every second
        point of the lattice, or fewer. The volume keeps all of them.
    frame : int or None
        Of a trajectory, from 0; None for the wavefunction of a file. All frames have the same isovalue: that which
        suits the first one, where none is given.
    references : tuple of str
        Files that the field and the second one refer to, each as `OneFile` as text.
    room : pair of (x, y, z) or None
        Corners of the box that holds the atoms in all frames, in bohr: one lattice is to serve all of them, if that
        does not make it much larger. Not compared.
    box : Box or None
        Lattice of a sample shown before. Where it fits about as well it is used again, or extended: a host can then
        write the values into a map that it has. No part of what is asked for, so not compared.
    spacing : float or None
        Of the lattice in bohr, in place of the quality.
    points : int or None
        Along the longest edge, in place of the quality.
    margin : float or None
        Of the box around the atoms, in bohr; None for the box that encloses the surface.
    kernel : str
        Of an orbital.
    """

    path: str
    field: str
    quality: str = "medium"
    isovalue: float | None = None
    share: float = SHARE
    device: str | None = "auto"
    precision: str = "single"
    color_by: str = ""
    color_range: float | None = None
    most_faces: int | None = None
    frame: int | None = None
    references: tuple[str, ...] = ()
    room: Corners | None = dataclasses.field(default=None, compare=False)
    box: Box | None = dataclasses.field(default=None, compare=False)
    spacing: float | None = None
    points: int | None = None
    margin: float | None = None
    kernel: str = "auto"


@dataclasses.dataclass(frozen=True, eq=False)
class Sample:
    """A sampled field with one isosurface.

    Attributes
    ----------
    request : Request
    volume : Volume
    surface : Surface
        At `isovalue`.
    isovalue : float
        The one asked for, or the one picked.
    device : str
        What computed it.
    step : int
        The surface was extracted from every `step`-th point of the volume along each axis.
    seconds : float
        What it took in the worker, from the wavefunction to the mesh.
    confidence : float or None
        Of an orbital that was followed along a trajectory, see `orbitile.trajectories.tracking.Match`.
    """

    request: Request
    volume: Volume
    surface: Surface
    isovalue: float
    device: str
    step: int = 1
    seconds: float = 0.0
    confidence: float | None = None

    @property
    def n_bytes(self) -> int:
        """Memory that the arrays take."""
        s = self.surface
        colours = () if s.colouring is None else (s.colouring.values,)
        return sum(a.nbytes for a in (self.volume.values, s.vertices, s.faces, s.normals, s.phases, *colours))


def surface_within(
    volume: Volume,
    isovalue: float,
    most_faces: int | None,
    extract: Callable[[Volume, float], Surface] = isosurface,
) -> tuple[Surface, int]:
    """Isosurface of about `most_faces` triangles at most, see `Request`, and its step.

    The step is 1 where it is of all points of the volume, 2 where of every second. `extract` makes it: `isosurface`, or
    `orbitile.extract_surface` where many are to be made.

    Raises
    ------
    OrbitileError
        As `orbitile.surfaces.isosurface.isosurface` does.
    """
    if most_faces is None or volume.values.size < _FEW_POINTS:
        return extract(volume, isovalue), 1
    step = 2
    while True:
        checkpoint()
        try:
            surface = extract(volume.every(step), isovalue)
        except Cancelled:
            raise
        except OrbitileError:  # so small a surface that it lies between these points
            return extract(volume, isovalue), 1
        checkpoint(0.5)
        whole = len(surface.faces) * step**2  # the number of triangles goes with the square of the resolution
        if whole <= most_faces:
            return extract(volume, isovalue), 1
        if len(surface.faces) <= most_faces:
            return surface, step
        step = max(step + 1, math.ceil(math.sqrt(whole / most_faces)))


MOST_FACES = 90_000
"""Triangles that a viewer can be given without its window standing still; volume and export keep all of them."""

_FEW_POINTS = 300_000
"""Volumes of fewer points are extracted whole without a look: it takes milliseconds."""
