"""What is drawn: balls, sticks, meshes and volumes. Nothing here knows of OpenGL.

Lengths in bohr. Colours are display (sRGB) values between 0 and 1, as they come out of a colour picker.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import RenderError
from ..model.cell import Cell, cell_of
from ..model.elements import SYMBOLS
from ..model.geometry import Geometry, covalent_radius, find_bonds
from ..model.neighbours import nearest
from ..model.report import Drawing
from ..model.surface import Colouring, Surface
from ..model.units import angstrom
from ..model.volume import Volume
from ..model.wavefunction import Wavefunction
from ..surfaces.colour_maps import NEGATIVE, PAIRS, POSITIVE, RGB, colours_of

Colour = str | tuple[float, float, float]
"""A name or hexadecimal string that Pillow knows ("white", "#3d57fb"), or red, green and blue between 0 and 1."""

ColourPair = tuple[Colour, Colour]
"""Colours of the positive and the negative part of a field."""

PALETTES: tuple[ColourPair, ...] = tuple(PAIRS.values())
"""Colours of the positive and the negative part of a first, second, third field in a picture, and so on. Those of the
first two are told apart by colour-blind readers too, all four of them. After the last come those of the first again."""


def parse_colour(colour: Colour, what: str = "colour") -> RGB:
    """Red, green and blue between 0 and 1 (display values).

    Raises
    ------
    RenderError
        For a name that Pillow does not know, or numbers that are not three between 0 and 1.
    """
    from PIL import ImageColor

    try:
        if isinstance(colour, str):
            red, green, blue = (channel / 255 for channel in ImageColor.getrgb(colour)[:3])
        else:
            red, green, blue = (float(channel) for channel in colour)
            if not all(0 <= channel <= 1 for channel in (red, green, blue)):
                raise ValueError
    except (TypeError, ValueError) as error:
        expected = 'a name ("white"), a hexadecimal string ("#3d57fb") or three numbers between 0 and 1'
        raise RenderError(f"{what}: expected {expected}, got {colour!r}") from error
    return red, green, blue


def colours_of_fields(
    surfaces: Sequence[Surface | VolumeDrawing], colours: ColourPair | Sequence[ColourPair]
) -> list[tuple[RGB, RGB]]:
    """Two colours for each surface, for its positive and its negative part; surfaces of one quantity have the same.

    Raises
    ------
    RenderError
        When the colours are neither a pair nor pairs, or one of them is unknown.
    """
    parsed = pairs_of(colours)
    quantities = list(dict.fromkeys(surface.quantity for surface in surfaces if surface.colouring is None))
    order = {quantity: n % len(parsed) for n, quantity in enumerate(quantities)}
    return [parsed[order.get(surface.quantity, 0)] for surface in surfaces]


def pairs_of(colours: ColourPair | Sequence[ColourPair]) -> list[tuple[RGB, RGB]]:
    """Pairs of colours, for a first field, a second one and so on; raises as `colours_of_fields` does."""
    given: Sequence[Any] = colours if not isinstance(colours, str) and isinstance(colours, Sequence) else ()
    are_pairs = len(given) > 0 and all(not isinstance(pair, str) and len(pair) == 2 for pair in given)
    pairs = given if are_pairs else [given]
    if any(len(pair) != 2 for pair in pairs):
        raise RenderError(f"colours: expected two (positive, negative part), or pairs of the fields, got {colours!r}")
    return [(parse_colour(one, "positive colour"), parse_colour(other, "negative colour")) for one, other in pairs]


_JMOL = """
    FFFFFF FFFFFF D9FFFF CC80FF C2FF00 FFB5B5 909090 3050F8 FF0D0D 90E050 B3E3F5 AB5CF2 8AFF00 BFA6A6 F0C8A0 FF8000
    FFFF30 1FF01F 80D1E3 8F40D4 3DFF00 E6E6E6 BFC2C7 A6A6AB 8A99C7 9C7AC7 E06633 F090A0 50D050 C88033 7D80B0 C28F8F
    668F8F BD80E3 FFA100 A62929 5CB8D1 702EB0 00FF00 94FFFF 94E0E0 73C2C9 54B5B5 3B9E9E 248F8F 0A7D8C 006985 C0C0C0
    FFD98F A67573 668080 9E63B5 D47A00 940094 429EB0 57178F 00C900 70D4FF FFFFC7 D9FFC7 C7FFC7 A3FFC7 8FFFC7 61FFC7
    45FFC7 30FFC7 1FFFC7 00FF9C 00E675 00D452 00BF38 00AB24 4DC2FF 4DA6FF 2194D6 267DAB 266696 175487 D0D0E0 FFD123
    B8B8D0 A6544D 575961 9E4FB5 AB5C00 754F45 428296 420066 007D00 70ABFA 00BAFF 00A1FF 008FFF 0080FF 006BFF 545CF2
    785CE3 8A4FE3 A136D4 B31FD4 B31FBA B30DA6 BD0D87 C70066 CC0059 D1004F D90045 E00038 E6002E EB0026
""".split()
"""Colours of the elements from 0 (ghost) to 109 in Jmol's scheme (https://jmol.sourceforge.net/jscolors)."""

GHOST_RADIUS, GHOST_COLOUR = 0.14 * angstrom, (0.82, 0.86, 0.92)
"""Radius in bohr and colour of a ghost atom, which has basis functions and no nucleus."""

_INSIDE = 0.5
"""Radius of a ball, in units of the distance of the surface about it that it would hide otherwise."""

STICK_RADIUS = 0.11 * angstrom
"""Radius of a bond, in bohr."""


EDGE_RADIUS, EDGE_COLOUR = 0.025 * angstrom, (0.45, 0.45, 0.45)
"""Radius in bohr and colour of the edges of a cell."""


def element_colour(atomic_number: int) -> RGB:
    """Colour of an element in Jmol's scheme; the last colour of the table for elements beyond it."""
    text = _JMOL[min(max(int(atomic_number), 0), len(_JMOL) - 1)]
    red, green, blue = (int(text[i : i + 2], 16) / 255 for i in (0, 2, 4))
    return red, green, blue


def ball_radius(atomic_number: int) -> float:
    """Radius in bohr at which an atom is drawn: grows with the covalent radius, but less, so that H stays visible."""
    return 0.16 * angstrom + 0.25 * covalent_radius(atomic_number)


@dataclass(frozen=True, eq=False)
class Molecule:
    """Balls and sticks.

    Attributes
    ----------
    centres : ndarray, shape (n, 3)
        Of the balls, in bohr.
    radii : ndarray, shape (n,)
        In bohr.
    colours : ndarray, shape (n, 3)
    bonds : ndarray of int, shape (m, 2)
        Balls that a stick joins; each half has the colour of its ball.
    stick_radius : float or ndarray, shape (m,)
        In bohr, of all bonds or of each.
    symbols : tuple of str
        Of the elements of the balls; none where they are not known.
    """

    centres: Reals = field(default_factory=lambda: np.zeros((0, 3)))
    radii: Reals = field(default_factory=lambda: np.zeros(0))
    colours: Reals = field(default_factory=lambda: np.zeros((0, 3)))
    bonds: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    stick_radius: float | Reals = STICK_RADIUS
    symbols: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.centres)
        check_array(self.centres, (n, 3), "centres of balls")
        check_array(self.radii, (n,), "radii of balls")
        check_array(self.colours, (n, 3), "colours of balls")
        check_array(self.bonds, (None, 2), "bonds")
        if np.ndim(self.stick_radius):
            check_array(np.asarray(self.stick_radius), (len(self.bonds),), "radii of bonds")

    @classmethod
    def of(cls, atoms: Wavefunction | Geometry) -> Molecule:
        """Balls and sticks for the atoms of a wavefunction; ghosts are small pale balls without sticks.

        Of a periodic system, atoms at a face of the cell are drawn at the opposite one too, and the edges of the cell
        are thin sticks.
        """
        numbers, positions = atoms.atomic_numbers, atoms.positions
        cell = cell_of(atoms) if isinstance(atoms, Wavefunction) else None
        if cell is not None:
            which, positions = cell.with_faces(positions)
            numbers = numbers[which]
        real = np.flatnonzero(numbers > 0)
        molecule = cls(
            centres=positions,
            radii=np.array([ball_radius(z) if z else GHOST_RADIUS for z in numbers]),
            colours=np.array([element_colour(z) if z else GHOST_COLOUR for z in numbers]).reshape(-1, 3),
            bonds=real[find_bonds(numbers[real], positions[real])],
            symbols=tuple(SYMBOLS[z] for z in numbers),
        )
        return molecule if cell is None else molecule.with_edges(cell)

    def with_edges(self, cell: Cell) -> Molecule:
        """The same, and the edges of a cell."""
        ends = cell.edges().reshape(-1, 3)
        n = len(ends)
        return Molecule(
            centres=np.concatenate([self.centres, ends]),
            radii=np.concatenate([self.radii, np.full(n, EDGE_RADIUS)]),
            colours=np.concatenate([self.colours, np.tile(EDGE_COLOUR, (n, 1))]),
            bonds=np.concatenate([self.bonds, len(self.centres) + np.arange(n).reshape(-1, 2)]),
            stick_radius=np.concatenate([np.full(len(self.bonds), self.stick_radius), np.full(n // 2, EDGE_RADIUS)]),
            symbols=(*self.symbols, *("cell",) * n) if self.symbols else (),
        )

    def showing(self, surfaces: Sequence[NDArray[np.floating]]) -> Molecule:
        """The same, with smaller balls where they would hide a whole surface, such as that of a core orbital.

        Parameters
        ----------
        surfaces
            Vertices of each surface, shape (n, 3), in bohr.
        """
        if not len(self.centres):
            return self
        radii, stick_radius = self.radii.copy(), self.stick_radius
        for vertices in surfaces:
            few = vertices[:: len(vertices) // 64 + 1]  # tell of most surfaces that they are seen
            for points in (few, vertices):
                distances, centres = nearest(points, self.centres)
                is_hidden = bool(np.all(distances < self.radii[centres]))
                if not is_hidden:
                    break
            if is_hidden:
                within = np.full(len(radii), np.inf)
                np.minimum.at(within, centres, _INSIDE * distances)
                radii = np.minimum(radii, within)
                stick_radius = np.minimum(stick_radius, within.min())
        return replace(self, radii=radii, stick_radius=stick_radius)


def check_array(array: NDArray[np.generic], shape: tuple[int | None, ...], what: str) -> None:
    """Refuse an array of another shape, or one that is not finite; None in the shape is for any length.

    Raises
    ------
    RenderError
        Naming `what` it is.
    """
    if array.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, array.shape, strict=True)):
        wanted = tuple("any" if n is None else n for n in shape)
        raise RenderError(f"{what}: expected an array of shape {wanted}, got {array.shape}")
    if not np.all(np.isfinite(array)):
        raise RenderError(f"{what}: expected finite numbers, got NaN or infinity")


GLASS, MATTE, PAPER = 1.0, 0.5, 0.0
"""Finish of a mesh. Glass: light, shade, highlights, and rims that are denser. Matte: colours stand for values, so they
darken a little towards the rim and in no other way (see `shaders/mesh_paint.glsl`). Paper: colours are as they are."""


OPACITY, VALUE_OPACITY = 0.65, 0.92
"""Of a lobe whose colours stand for its sign, and of a surface whose colours stand for values: the molecule is seen
through that, and little is mixed into its colours."""


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles with a colour and an opacity at each vertex.

    Attributes
    ----------
    vertices, normals : ndarray, shape (n, 3)
        Positions in bohr, unit normals.
    faces : ndarray of int, shape (m, 3)
    colours : ndarray, shape (n, 4)
        Red, green, blue and opacity.
    finish : float
        How light falls on it: `GLASS`, `MATTE` or `PAPER`.
    name : str
        What it shows, for people: "HOMO (orbital 21)".
    phases : ndarray of int, shape (n,)
        Sign of the field at each vertex, where the colours stand for it; otherwise of no length.
    facts : mapping
        What it shows, for files that have room for it; see `facts_of`.
    """

    vertices: NDArray[np.floating]
    faces: NDArray[np.integer]
    normals: NDArray[np.floating]
    colours: NDArray[np.floating]
    finish: float = GLASS
    name: str = ""
    phases: NDArray[np.integer] = field(default_factory=lambda: np.zeros(0, np.int8))
    facts: Mapping[str, str | float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = len(self.vertices)
        if len(self.phases):
            check_array(self.phases, (n,), "phases of a surface")
        check_array(self.vertices, (n, 3), "vertices of a surface")
        check_array(self.normals, (n, 3), "normals of a surface")
        check_array(self.colours, (n, 4), "colours of a surface")
        check_array(self.faces, (None, 3), "faces of a surface")
        if len(self.faces) and not (self.faces.min() >= 0 and self.faces.max() < n):
            raise RenderError(
                f"faces of a surface: expected indices from 0 to {n - 1}, got {self.faces.min()} to {self.faces.max()}"
            )

    @classmethod
    def of(cls, surface: Surface, positive: RGB, negative: RGB, opacity: float) -> Mesh:
        """A surface in the colours of its second field, or else with one colour for each sign of the field."""
        if surface.colouring is not None:
            alpha = np.full((len(surface.vertices), 1), opacity, np.float32)
            colours = np.hstack([colours_of(surface.colouring), alpha])
            finish = MATTE if surface.isovalue else PAPER
            shape = surface.vertices, surface.faces, surface.normals
            name = surface.quantity or surface.colouring.quantity
            return cls(*shape, colours, finish, name, facts=facts_of(surface))
        palette = np.array([[*negative, opacity], [*positive, opacity]], dtype=np.float32)
        colours = palette[(surface.phases > 0).astype(np.intp)]
        return cls(
            surface.vertices,
            surface.faces,
            surface.normals,
            colours,
            name=surface.quantity,
            phases=surface.phases,
            facts=facts_of(surface),
        )

    def parts(self) -> list[Mesh]:
        """Its lobes, those of each sign as a mesh that is named for it; itself where there is one sign, or none."""
        words = {phase: word for phase, word in ((1, "positive"), (-1, "negative")) if phase in self.phases}
        return [self._part(phase, word) for phase, word in words.items()] if len(words) > 1 else [self]

    def _part(self, phase: int, word: str) -> Mesh:
        kept = self.phases == phase
        index = np.cumsum(kept) - 1
        return replace(
            self,
            vertices=self.vertices[kept],
            faces=index[self.faces[kept[self.faces[:, 0]]]],
            normals=self.normals[kept],
            colours=self.colours[kept],
            phases=self.phases[kept],
            name=f"{self.name}, {word}".removeprefix(", "),
        )

    @property
    def colour(self) -> tuple[float, float, float, float] | None:
        """Red, green, blue and opacity, where they are the same everywhere."""
        if not len(self.colours) or (self.colours != self.colours[0]).any():
            return None
        red, green, blue, opacity = (float(channel) for channel in self.colours[0])
        return red, green, blue, opacity

    @property
    def is_opaque(self) -> bool:
        """Whether nothing can be seen through it."""
        return bool((self.colours[:, 3] >= 1).all())


def facts_of(surface: Surface) -> dict[str, str | float]:
    """What a surface shows: quantity, isovalue, unit, and the range of its colours."""
    facts: dict[str, str | float] = {
        "quantity": " ".join(surface.quantity.split()),
        "isovalue": float(surface.isovalue),
        "unit": " ".join(surface.unit.split()),
    }
    scale = surface.colouring
    if scale is not None:
        facts["colours"] = f"{scale.quantity} from {scale.low:g} to {scale.high:g} {scale.unit}"
    return facts


VOLUME_STYLES = ("fog", "slice")
"""What a volume itself can be drawn as: all of it, or a plane across the line of sight."""

_DENSE = 0.3
"""Extinction of fog where the magnitude is the isovalue, times the mean chord; as in `web/scripts/fog.js`."""

_DENSEST = 8.0
"""Times that at most, so that cores do not hide what is around them, as there and in `shaders/volume_fragment.glsl`."""

_FAINT = 0.5
"""Isovalues from which on fog is to be in the picture; what is thinner may be cut off."""

_ORBITAL = "bohr^-3/2"
"""Unit of orbitals: their fog goes with the square, which is a density."""


@dataclass(frozen=True, eq=False)
class VolumeDrawing:
    """A volume that is drawn itself, in place of an isosurface of it.

    Attributes
    ----------
    volume : Volume
    isovalue : float
        Positive, in the unit of the volume. Fog has its usual density there; a slice has a line.
    style : str
        fog: all of the volume, the denser the larger its values are. slice: the plane across the line of sight through
        the middle of the picture, of full colour from three isovalues on.
    colours : pair of (red, green, blue)
        Of positive and of negative values, from 0 to 1; `scene_of` gives those of the picture.
    opacity : float
        From 0 to 1. Fog has its usual density at 0.65.
    colouring : Colouring or None
        Values of a second field at the points of the volume, z fastest, which colour it in place of the sign; how much
        of it is seen follows from the volume itself.

    Raises
    ------
    RenderError
        When the isovalue is not positive, there is no such style, or there is another number of values to colour by.
    """

    volume: Volume
    isovalue: float
    style: str = "fog"
    colours: tuple[RGB, RGB] = (POSITIVE, NEGATIVE)
    opacity: float = OPACITY
    colouring: Colouring | None = None

    def __post_init__(self) -> None:
        if self.colouring is not None and self.colouring.values.size != self.volume.values.size:
            raise RenderError(
                f"colouring of a volume that is drawn: expected {self.volume.values.size} values, one a point, got "
                f"{self.colouring.values.size}"
            )
        if self.style not in VOLUME_STYLES:
            raise RenderError(f"style of a volume: expected {' or '.join(VOLUME_STYLES)}, got {self.style!r}")
        if not 0 < self.isovalue < np.inf:
            raise RenderError(f"isovalue of a volume that is drawn: expected a positive number, got {self.isovalue!r}")

    @property
    def quantity(self) -> str:
        """Of the volume."""
        return self.volume.quantity

    @property
    def unit(self) -> str:
        """Of the volume."""
        return self.volume.unit

    @property
    def is_plane(self) -> bool:
        """Whether it is drawn as a slice."""
        return self.style == "slice"

    @property
    def is_squared(self) -> bool:
        """Whether fog goes with the square of the values, as for orbitals, or with their magnitude."""
        return self.volume.unit == _ORBITAL

    @property
    def density(self) -> float:
        """Extinction at the isovalue, in 1/bohr."""
        return _DENSE * self.opacity / OPACITY / self.chord

    @cached_property
    def chord(self) -> float:
        r"""Mean length in bohr of a line of sight through the inside of the isosurface, of a lobe where it has several.

        Of a body of volume :math:`V` and surface :math:`S` it is :math:`4V/S` (Cauchy; see L. A. Santalo, Integral
        Geometry and Geometric Probability, 1976, chapter 4), with a quarter of the surface being the mean area of the
        shadow. The shadows along the axes of the lattice stand for all. The whole box counts where no value reaches
        the isovalue.
        """
        inside = np.abs(self.volume.values) >= self.isovalue
        if not inside.any():
            inside[:] = True
        shadows = 0.0
        for axis, spacing in enumerate(self.volume.lattice.spacings):
            along = np.moveaxis(inside, axis, 0)
            entries = np.count_nonzero(along[0]) + np.count_nonzero(along[1:] & ~along[:-1])
            shadows += entries / float(spacing)
        return 3 * np.count_nonzero(inside) / shadows

    @cached_property
    def closed(self) -> Volume:
        """The volume, with the points behind the last ones where it is periodic."""
        return self.volume.closed

    def shares(self) -> NDArray[np.float32] | None:
        """Where a second field that colours it is in the range of the colours, 0 to 1, at the points of `closed`."""
        if self.colouring is None:
            return None
        low, high = self.colouring.low, self.colouring.high
        shares = np.nan_to_num((self.colouring.values - low) / max(high - low, 1e-30)).astype(np.float32)
        return replace(self.volume, values=shares.reshape(self.volume.values.shape)).closed.values

    @cached_property
    def phases(self) -> NDArray[np.int8]:
        """The signs of the values that reach the isovalue: 1, -1 or both."""
        values = self.volume.values
        reached = values.max() >= self.isovalue, values.min() <= -self.isovalue
        return np.array([sign for sign, there in zip((1, -1), reached, strict=True) if there], np.int8)

    def extinction(self, values: NDArray[np.floating]) -> Reals:
        r"""Extinction of fog in 1/bohr where the field has some values, shape as theirs.

        .. math::  \tau = 0.3 \min(|v|^p, 8) / l

        where :math:`v` is the value in isovalues, :math:`p` is 2 for orbitals, else 1, and :math:`l` is `chord`: fog is
        proportional to a density, and what is seen through depends on the shape of the field but not on its size.
        """
        magnitude = np.abs(values / self.isovalue)
        return np.asarray(self.density * np.minimum(magnitude**2 if self.is_squared else magnitude, _DENSEST))

    def dense_points(self, most: int = 20_000) -> Reals:
        """Points of the lattice where it can be seen, shape (n, 3), in bohr: all, or every so many of them."""
        volume = self.closed
        index = np.argwhere(np.abs(volume.values) >= _FAINT * self.isovalue)
        points: Reals = volume.lattice.origin + index[:: len(index) // most + 1] @ volume.lattice.axes
        return points

    def corners(self) -> Reals:
        """Corners of its box, shape (8, 3), in bohr."""
        lattice = self.closed.lattice
        ends = (np.indices((2, 2, 2)).reshape(3, 8).T * (np.array(lattice.shape) - 1)) @ lattice.axes
        return np.asarray(lattice.origin + ends)


Drawable = Surface | VolumeDrawing
"""What a scene is made from beside its molecule."""


@dataclass(frozen=True, eq=False)
class Scene:
    """All that is drawn.

    Attributes
    ----------
    molecule : Molecule
    meshes : tuple of Mesh
    lit : bool
        False for flat colours without light and shade, and opacity that does not grow towards the rim.
    labels : tuple of (position, text)
        Written beside positions in bohr, shape (3,).
    volumes : tuple of VolumeDrawing
        Only pictures of our own renderer show them.
    """

    molecule: Molecule = field(default_factory=Molecule)
    meshes: tuple[Mesh, ...] = ()
    lit: bool = True
    labels: tuple[tuple[Reals, str], ...] = ()
    volumes: tuple[VolumeDrawing, ...] = ()

    def extent(self) -> tuple[Reals, Reals]:
        """Spheres that together hold all that is to be seen: centres, shape (n, 3), and radii, shape (n,), in bohr."""
        points = [*(mesh.vertices for mesh in self.meshes), *(volume.dense_points() for volume in self.volumes)]
        return self._spheres(points)

    def bounds(self) -> tuple[Reals, Reals]:
        """Spheres beyond which nothing is drawn, as of `extent`: thin fog at the edges of a volume is within, too."""
        points = [*(mesh.vertices for mesh in self.meshes), *(volume.corners() for volume in self.volumes)]
        return self._spheres(points)

    def _spheres(self, points: Sequence[NDArray[np.floating]]) -> tuple[Reals, Reals]:
        centres = np.concatenate([self.molecule.centres, *points]).astype(np.float64)
        radii = np.zeros(len(centres))
        radii[: len(self.molecule.radii)] = self.molecule.radii
        return centres, radii


def make_scene(
    surfaces: Sequence[Surface | VolumeDrawing],
    wavefunction: Wavefunction | Geometry | None,
    colours: Sequence[tuple[RGB, RGB]],
    opacities: Sequence[float],
) -> Scene:
    """The scene of surfaces and, where there is one, the molecule of a wavefunction.

    Each surface has a colour for its positive and its negative part, and an opacity. The latter is that of a lobe,
    whose front and back are two walls: two layers of opacity w let through (1 - w)^2.
    """
    seen = [drawn for drawn in zip(surfaces, colours, opacities, strict=True) if drawn[2] > 0]
    meshes = tuple(
        Mesh.of(surface, *pair, 1 - np.sqrt(1 - opacity))
        for surface, pair, opacity in seen
        if isinstance(surface, Surface) and len(surface.faces)
    )
    volumes = tuple(
        replace(drawing, colours=pair, opacity=opacity)
        for drawing, pair, opacity in seen
        if isinstance(drawing, VolumeDrawing)
    )
    molecule = Molecule() if wavefunction is None else Molecule.of(wavefunction)
    shown = [*(mesh.vertices for mesh in meshes), *(drawing.dense_points() for drawing in volumes)]
    return Scene(molecule.showing([points for points in shown if len(points)]), meshes, volumes=volumes)


def scene_of(
    surfaces: Drawable | Sequence[Drawable] = (),
    wavefunction: Wavefunction | Geometry | None = None,
    *,
    colours: ColourPair | Sequence[ColourPair] = PALETTES,
    opacity: float | None = None,
    drawings: Sequence[Mesh | Drawing] = (),
) -> Scene:
    """The scene of surfaces and a molecule, for `render` and for files that hold scenes.

    Parameters
    ----------
    surfaces : Surface or VolumeDrawing, or sequence of them
        What is to be seen; () for the bare molecule.
    wavefunction : Wavefunction or Geometry, optional
        Its atoms are balls and sticks.
    colours
        Of the parts where the field is positive and negative: names, hexadecimal strings, or three numbers from 0 to 1.
        Several such pairs are for several fields: surfaces of one quantity share a pair.
    opacity : float, optional
        Of a lobe seen face on, from 0 to 1: its front and its back together. By default 0.65, and 0.92 for a surface
        that is coloured by a second field: the molecule can be seen through it. With 1 its colours are those of the
        legend.
    drawings : sequence of Mesh or Drawing
        What else is to be seen: points with their labels, paths and arrows of a report (`Report.drawings`), or meshes.
        Values of atoms are left out.

    Raises
    ------
    RenderError
        When an argument does not fit, or nothing would be seen.
    """
    from .drawings import with_drawings

    drawn = checked_surfaces(surfaces)
    if wavefunction is not None and not isinstance(wavefunction, Wavefunction | Geometry):
        raise RenderError(f"wavefunction of a scene: expected a Wavefunction, got {type(wavefunction).__name__}")
    pairs = colours_of_fields(drawn, colours)
    if opacity is not None and (
        isinstance(opacity, bool) or not isinstance(opacity, (int, float, np.number)) or not 0 <= opacity <= 1
    ):
        raise RenderError(f"opacity: expected a number from 0 to 1, got {opacity!r}")
    usual = [_usual_opacity(surface) for surface in drawn]
    scene = make_scene(drawn, wavefunction, pairs, usual if opacity is None else [float(opacity)] * len(drawn))
    scene = with_drawings(scene, drawings)
    if not len(scene.extent()[0]):
        raise RenderError("nothing to draw: give a surface that has triangles, or a wavefunction for its molecule")
    return scene


def _usual_opacity(drawn: Drawable) -> float:
    if isinstance(drawn, VolumeDrawing):
        return 1.0 if drawn.is_plane else OPACITY
    if drawn.colouring is None:
        return OPACITY
    return VALUE_OPACITY if drawn.isovalue else 1.0  # a plane hides nothing


def checked_surfaces(surfaces: Drawable | Sequence[Drawable]) -> tuple[Drawable, ...]:
    """The surfaces and volumes of a scene, of which there may be a single one.

    Raises
    ------
    RenderError
        When they are something else.
    """
    if isinstance(surfaces, Drawable):
        return (surfaces,)
    drawn = tuple(surfaces) if isinstance(surfaces, Iterable) else (surfaces,)
    for surface in drawn:
        if not isinstance(surface, Drawable):
            raise RenderError(
                "surfaces of a scene: expected Surface objects (`isosurface`) or VolumeDrawing objects, got "
                f"{type(surface).__name__}"
            )
    return drawn
