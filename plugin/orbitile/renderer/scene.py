"""What is drawn: balls, sticks, meshes, and the camera that looks at them. Nothing here knows of OpenGL.

Lengths in bohr. Colours are display (sRGB) values between 0 and 1, as they come out of a colour picker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import RenderError
from ..model.surface import Surface
from ..model.units import angstrom
from ..model.wavefunction import Wavefunction
from ..surfaces.colour_maps import colours_of

Floats = NDArray[np.float64]
RGB = tuple[float, float, float]
Margins = tuple[float, float, float, float]
"""What stays free at the left, right, lower and upper edge of a picture, as shares of its width and height."""

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

_CORDERO = """
    0.00 0.31 0.28 1.28 0.96 0.84 0.76 0.71 0.66 0.57 0.58 1.66 1.41 1.21 1.11 1.07 1.05 1.02 1.06 2.03 1.76 1.70
    1.60 1.53 1.39 1.39 1.32 1.26 1.24 1.32 1.22 1.22 1.20 1.19 1.20 1.20 1.16 2.20 1.95 1.90 1.75 1.64 1.54 1.47
    1.46 1.42 1.39 1.45 1.44 1.42 1.39 1.39 1.38 1.39 1.40 2.44 2.15 2.07 2.04 2.03 2.01 1.99 1.98 1.98 1.96 1.94
    1.92 1.92 1.89 1.90 1.87 1.87 1.75 1.70 1.62 1.51 1.44 1.41 1.36 1.36 1.32 1.45 1.46 1.48 1.40 1.50 1.50 2.60
    2.21 2.15 2.06 2.00 1.96 1.90 1.87 1.80 1.69
""".split()
"""Covalent radii from 1 to 96 in Angstrom: B. Cordero et al., Dalton Trans. 2008, 2832; C sp3, Mn to Co low spin."""

GLASS, MATTE, PAPER = 1.0, 0.5, 0.0
"""Finish of a mesh. Glass: light, shade, highlights, and rims that are denser. Matte: colours stand for values, so they
darken a little towards the rim and in no other way (see `draw.DARKEST`). Paper: colours are as they are."""

GHOST_RADIUS, GHOST_COLOUR = 0.14 * angstrom, (0.82, 0.86, 0.92)
"""Radius in bohr and colour of a ghost atom, which has basis functions and no nucleus."""

_INSIDE = 0.5
"""Radius of a ball, in units of the distance of the surface about it that it would hide otherwise."""

STICK_RADIUS = 0.11 * angstrom
"""Radius of a bond, in bohr."""

BOND_TOLERANCE = 0.4 * angstrom
"""Atoms are bonded up to this much beyond the sum of their covalent radii, in bohr; the rule of most viewers."""

NOT_A_BOND = 0.4 * angstrom
"""Atoms that are closer than this, in bohr, are one atom twice (disorder), and not bonded."""


def element_colour(atomic_number: int) -> RGB:
    """Colour of an element in Jmol's scheme; the last colour of the table for elements beyond it."""
    text = _JMOL[min(max(int(atomic_number), 0), len(_JMOL) - 1)]
    red, green, blue = (int(text[i : i + 2], 16) / 255 for i in (0, 2, 4))
    return red, green, blue


def covalent_radius(atomic_number: int) -> float:
    """Covalent radius of an element in bohr (Cordero et al.); 1.5 Angstrom beyond curium."""
    z = int(atomic_number)
    return (float(_CORDERO[z]) if 0 <= z < len(_CORDERO) else 1.5) * angstrom


def ball_radius(atomic_number: int) -> float:
    """Radius in bohr at which an atom is drawn: grows with the covalent radius, but less, so that H stays visible."""
    return 0.16 * angstrom + 0.25 * covalent_radius(atomic_number)


def _check(array: NDArray[np.generic], shape: tuple[int | None, ...], what: str) -> None:
    """Shape and finite values of an array of a scene."""
    if array.ndim != len(shape) or any(n is not None and n != m for n, m in zip(shape, array.shape, strict=True)):
        wanted = tuple("any" if n is None else n for n in shape)
        raise RenderError(f"{what}: expected an array of shape {wanted}, got {array.shape}")
    if not np.all(np.isfinite(array)):
        raise RenderError(f"{what}: expected finite numbers, got NaN or infinity")


def _zeros(*shape: int) -> Floats:
    return np.zeros(shape)


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
    stick_radius : float
        In bohr.
    """

    centres: Floats = field(default_factory=lambda: _zeros(0, 3))
    radii: Floats = field(default_factory=lambda: _zeros(0))
    colours: Floats = field(default_factory=lambda: _zeros(0, 3))
    bonds: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    stick_radius: float = STICK_RADIUS

    def __post_init__(self) -> None:
        n = len(self.centres)
        _check(self.centres, (n, 3), "centres of balls")
        _check(self.radii, (n,), "radii of balls")
        _check(self.colours, (n, 3), "colours of balls")
        _check(self.bonds, (None, 2), "bonds")

    @classmethod
    def of(cls, wavefunction: Wavefunction) -> Molecule:
        """Balls and sticks for the atoms of a wavefunction; ghosts are small pale balls without sticks."""
        numbers, positions = wavefunction.atomic_numbers, wavefunction.positions
        real = np.flatnonzero(numbers > 0)
        return cls(
            centres=positions,
            radii=np.array([ball_radius(z) if z else GHOST_RADIUS for z in numbers]),
            colours=np.array([element_colour(z) if z else GHOST_COLOUR for z in numbers]).reshape(-1, 3),
            bonds=real[find_bonds(numbers[real], positions[real])],
        )

    def showing(self, meshes: Sequence[Mesh]) -> Molecule:
        """The same, with smaller balls where they would hide a whole mesh, such as that of a core orbital."""
        from scipy.spatial import cKDTree

        radii, stick_radius = self.radii.copy(), self.stick_radius
        if not len(self.centres):
            return self
        tree = cKDTree(self.centres)
        for mesh in meshes:
            for vertices in (
                mesh.vertices[:: len(mesh.vertices) // 64 + 1],
                mesh.vertices,
            ):  # a few tell of most meshes
                distances, nearest = tree.query(vertices)
                is_hidden = bool(np.all(distances < self.radii[nearest]))
                if not is_hidden:
                    break
            if not is_hidden:
                continue
            within = np.full(len(radii), np.inf)
            np.minimum.at(within, nearest, _INSIDE * distances)
            radii = np.minimum(radii, within)
            stick_radius = min(stick_radius, float(within.min()))
        return replace(self, radii=radii, stick_radius=stick_radius)


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
    """

    vertices: NDArray[np.floating]
    faces: NDArray[np.integer]
    normals: NDArray[np.floating]
    colours: NDArray[np.floating]
    finish: float = GLASS

    def __post_init__(self) -> None:
        n = len(self.vertices)
        _check(self.vertices, (n, 3), "vertices of a surface")
        _check(self.normals, (n, 3), "normals of a surface")
        _check(self.colours, (n, 4), "colours of a surface")
        _check(self.faces, (None, 3), "faces of a surface")
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
            return cls(surface.vertices, surface.faces, surface.normals, colours, finish)
        palette = np.array([[*negative, opacity], [*positive, opacity]], dtype=np.float32)
        return cls(surface.vertices, surface.faces, surface.normals, palette[(surface.phases > 0).astype(np.intp)])

    @property
    def is_opaque(self) -> bool:
        """Whether nothing can be seen through it."""
        return bool((self.colours[:, 3] >= 1).all())


@dataclass(frozen=True, eq=False)
class Scene:
    """All that is drawn.

    Attributes
    ----------
    molecule : Molecule
    meshes : tuple of Mesh
    lit : bool
        False for flat colours without light and shade, and opacity that does not grow towards the rim.
    """

    molecule: Molecule = field(default_factory=Molecule)
    meshes: tuple[Mesh, ...] = ()
    lit: bool = True

    def extent(self) -> tuple[Floats, Floats]:
        """Spheres that together hold all that is drawn: centres, shape (n, 3), and radii, shape (n,), in bohr."""
        centres = [self.molecule.centres, *(mesh.vertices for mesh in self.meshes)]
        radii = [self.molecule.radii, *(np.zeros(len(mesh.vertices)) for mesh in self.meshes)]
        return np.concatenate(centres).astype(np.float64), np.concatenate(radii).astype(np.float64)


def find_bonds(atomic_numbers: NDArray[np.int64], positions: Floats) -> NDArray[np.int64]:
    """Pairs of atoms at covalent distance, shape (m, 2), sorted."""
    from scipy.spatial import cKDTree

    radii = np.array([covalent_radius(z) for z in atomic_numbers])
    if len(radii) < 2:
        return np.zeros((0, 2), np.int64)
    pairs = cKDTree(positions).query_pairs(2 * radii.max() + BOND_TOLERANCE, output_type="ndarray").astype(np.int64)
    distances = np.linalg.norm(positions[pairs[:, 0]] - positions[pairs[:, 1]], axis=1)
    bonded = (distances < radii[pairs].sum(axis=1) + BOND_TOLERANCE) & (distances > NOT_A_BOND)
    kept: NDArray[np.int64] = pairs[bonded]
    return kept[np.lexsort((kept[:, 1], kept[:, 0]))]


@dataclass(frozen=True, eq=False)
class Camera:
    """Where the picture is taken from.

    Attributes
    ----------
    rotation : ndarray, shape (3, 3)
        Rows: the directions in space that point right, up, and out of the picture towards the viewer.
    eye : ndarray, shape (3,), or None
        Position of the viewer in bohr; None to move back until everything is in the picture.
    field_of_view : float
        Angle between the upper and the lower edge of the picture, in degrees: the larger, the stronger perspective.
    orthographic : bool
        Without perspective: equal lengths are equal in the picture, whatever their depth.
    height : float or None
        Of an orthographic camera with an eye: from the lower to the upper edge of the picture, in bohr.
    """

    rotation: Floats = field(default_factory=lambda: np.eye(3))
    eye: Floats | None = None
    field_of_view: float = 18.0
    orthographic: bool = False
    height: float | None = None

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        try:
            rotation = np.array(self.rotation, dtype=np.float64)
            eye = None if self.eye is None else np.array(self.eye, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise RenderError(f"camera: expected numbers ({error})") from error
        if rotation.shape != (3, 3) or not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-6):
            raise RenderError(
                f"rotation of a camera: expected three unit vectors at right angles, got {self.rotation!r}"
            )
        if np.linalg.det(rotation) < 0:
            raise RenderError("rotation of a camera: right, up and towards the viewer are left-handed: a mirror image")
        if eye is not None and (eye.shape != (3,) or not np.all(np.isfinite(eye))):
            raise RenderError(f"eye of a camera: expected a position of three numbers in bohr, got {self.eye!r}")
        if not 1 <= self.field_of_view <= 120:
            raise RenderError(f"field of view of a camera: expected 1 to 120 degrees, got {self.field_of_view!r}")
        if self.orthographic and eye is not None and not (self.height and 0 < self.height < np.inf):
            raise RenderError(
                f"camera: orthographic with an eye, it needs the height of the picture in bohr, got {self.height!r}"
            )
        set_(self, "rotation", rotation)
        set_(self, "eye", eye)

    @classmethod
    def from_direction(cls, direction: ArrayLike, up: ArrayLike = (0, 1, 0)) -> Camera:
        """Camera that looks at the molecule from a direction.

        Parameters
        ----------
        direction : shape (3,)
            From the molecule to the viewer; its length does not matter.
        up : shape (3,)
            Points upwards in the picture; replaced where it is parallel to the direction.
        """
        towards, upwards = np.asarray(direction, np.float64), np.asarray(up, np.float64)
        if towards.shape != (3,) or upwards.shape != (3,) or not np.linalg.norm(towards) > 0:
            raise RenderError(f"camera: expected two directions of three numbers, got {direction!r} and {up!r}")
        towards = towards / np.linalg.norm(towards)
        right = np.cross(upwards, towards)
        if np.linalg.norm(right) < 1e-6 * max(1.0, float(np.linalg.norm(upwards))):
            right = np.cross(np.roll(np.eye(3)[np.argmax(np.abs(towards))], 1), towards)
        right /= np.linalg.norm(right)
        return cls(np.array([right, np.cross(towards, right), towards]))

    @classmethod
    def facing(cls, points: ArrayLike) -> Camera:
        """Camera that looks along the direction in which points extend least; they extend most from left to right.

        Parameters
        ----------
        points : shape (n, 3)
            Positions of atoms, in bohr.

        Notes
        -----
        Where axes are equivalent, and to choose between an axis and its opposite, the picture stays as close as it
        can to x to the right, y up and z towards the viewer. Atoms on a line, and single atoms, are seen at an angle
        to x, y and z: straight along an axis, the two lobes of a p orbital would hide each other.
        """
        points = np.asarray(points, np.float64).reshape(-1, 3)
        covariance = np.cov(points.T, bias=True) if len(points) > 1 else np.zeros((3, 3))
        variances, axes = np.linalg.eigh(covariance)
        same = 1e-3 * variances[2] + 1e-8  # more than the rounding of coordinates in files
        oblique = cls().turned(x=25, y=-30)
        if variances[2] - variances[0] <= same:
            return oblique
        right = _closest(axes[:, variances >= variances[2] - same], np.eye(3))
        if variances[1] <= same:
            towards = _closest(axes[:, :2], oblique.rotation[::-1])
        else:
            towards = _closest(axes[:, variances <= variances[0] + same], np.eye(3)[::-1])
        return cls(np.array([right, np.cross(towards, right), towards]))

    def turned(self, x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Camera:
        """The same camera with the molecule turned before it, in degrees.

        Parameters
        ----------
        x
            About the horizontal axis: positive brings the top towards the viewer.
        y
            About the vertical axis: positive brings the left side towards the viewer.
        z
            About the line of sight: positive turns anticlockwise.
        """
        turns = np.eye(3)
        for axis, angle in enumerate((x, y, z)):
            sine, cosine = np.sin(np.radians(angle)), np.cos(np.radians(angle))
            turn = np.eye(3)
            i, j = (axis + 1) % 3, (axis + 2) % 3
            turn[[i, i, j, j], [i, j, i, j]] = cosine, -sine, sine, cosine
            turns = turn @ turns
        return replace(self, rotation=turns @ self.rotation)

    def framed(
        self,
        scene: Scene,
        aspect: float,
        margins: Margins = (0.04, 0.04, 0.04, 0.04),
    ) -> Camera:
        r"""The camera moved to where all of the scene is in the picture, and as large as it can be.

        Parameters
        ----------
        scene : Scene
            Needs something to draw.
        aspect : float
            Width over height of the picture.
        margins : left, right, bottom, top
            What stays free at the edges, as a share of the width or the height.

        Notes
        -----
        A sphere at (x, y, z) of radius r is left of the plane through the eye with slope t when
        :math:`x - e_x + r \sqrt{1 + t^2} \leq t (e_z - z)`. That is linear in the position of the eye, so the
        nearest eye that satisfies it for all spheres and all four planes can be written down.
        """
        centres, radii = scene.extent()
        if len(centres) == 0:
            raise RenderError("nothing to draw: give a surface, or a wavefunction for its molecule")
        return self.held(self.reach(centres, radii, aspect, margins), aspect, margins)

    def reach(self, centres: Floats, radii: Floats | float, aspect: float, margins: Margins) -> Floats:
        """How far spheres reach towards the right, left, upper and lower plane of view and the viewer, shape (5,).

        What several sets of spheres reach together is the largest of each number, `numpy.maximum`; see `held`.
        """
        x, y, z = self.rotation @ centres.T
        left, right, bottom, top = np.zeros(4) if self.orthographic else self._edges(aspect, margins)
        towards = ((x, z, right), (-x, z, left), (y, z, top), (-y, z, bottom))
        planes = [(across + depth * slope + radii * np.hypot(1, slope)).max() for across, depth, slope in towards]
        return np.array([*planes, (z + radii).max()])

    def held(self, reach: Floats, aspect: float, margins: Margins) -> Camera:
        """The camera moved to where what reaches so far is in the picture, and as large as it can be."""
        left, right, bottom, top = self._edges(aspect, margins)
        needed = (reach[0] + reach[1]) / (left + right), (reach[2] + reach[3]) / (bottom + top)
        front = reach[4] + 1.0  # before everything, also where the scene is a single point
        extent = max(*needed, 1.0 if self.orthographic else front)  # the height, or the distance that makes it
        across = [
            (reach[0] - extent * right - reach[1] + extent * left) / 2,
            (reach[2] - extent * top - reach[3] + extent * bottom) / 2,
        ]
        height = float(extent) if self.orthographic else None
        depth = front if self.orthographic else extent
        return replace(self, eye=self.rotation.T @ np.array([*across, depth]), height=height)

    def without_perspective(self, middle: Floats) -> Camera:
        """The orthographic camera that shows what is at the depth of a point as large as this one does.

        Raises
        ------
        RenderError
            When the point is behind the eye.
        """
        if self.orthographic or self.eye is None:
            return replace(self, orthographic=True)
        depth = float((self.eye - middle) @ self.rotation[2])
        if depth <= 0:
            raise RenderError(
                "orthographic picture (a scale bar makes it one): the middle of the scene is behind the camera; move "
                "its eye"
            )
        height = float(2 * depth * np.tan(np.radians(self.field_of_view) / 2))
        return replace(self, orthographic=True, height=height)

    def _edges(self, aspect: float, margins: Margins) -> Floats:
        """Of the planes of view less the margins: slopes, or for an orthographic camera shares of the height."""
        half = 0.5 if self.orthographic else np.tan(np.radians(self.field_of_view) / 2)
        edges: Floats = half * np.array([aspect, aspect, 1, 1]) * (1 - 2 * np.array(margins))
        return edges


def _closest(basis: Floats, preferred: Floats) -> Floats:
    """The unit vector, in the space of the columns of a basis, nearest to the first preferred one that is near it."""
    for direction in preferred:
        projection: Floats = basis @ (basis.T @ direction)
        if np.linalg.norm(projection) > 0.5:  # true of one of three directions at right angles at least
            break
    return projection / np.linalg.norm(projection)


def default_camera(points: ArrayLike) -> Camera:
    """`Camera.facing`, and for points in a plane from aslant: face on, the lobes of a pi orbital hide each other.

    Parameters
    ----------
    points : shape (n, 3)
        Positions of atoms, in bohr.
    """
    where = np.asarray(points, np.float64).reshape(-1, 3)
    camera = Camera.facing(where)
    spread = np.linalg.svd(where - where.mean(axis=0), compute_uv=False)
    flat = len(where) > 2 and spread[2] < 0.05 * spread[1]
    return camera.turned(x=-60, y=15) if flat else camera


def make_scene(
    surfaces: Sequence[Surface],
    wavefunction: Wavefunction | None,
    colours: Sequence[tuple[RGB, RGB]],
    opacities: Sequence[float],
) -> Scene:
    """The scene of surfaces and, where there is one, the molecule of a wavefunction.

    Each surface has a colour for its positive and its negative part, and an opacity. The latter is that of a lobe,
    whose front and back are two walls: two layers of opacity w let through (1 - w)^2.
    """
    meshes = tuple(
        Mesh.of(surface, *pair, 1 - np.sqrt(1 - opacity))
        for surface, pair, opacity in zip(surfaces, colours, opacities, strict=True)
        if len(surface.faces) and opacity > 0
    )
    return Scene(Molecule() if wavefunction is None else Molecule.of(wavefunction).showing(meshes), meshes)
