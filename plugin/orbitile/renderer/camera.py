"""The camera that looks at a scene, and how fine a surface and its lattice have to be to look round through it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..base.arrays import Reals
from ..base.errors import RenderError
from ..model.lattice import Lattice
from ..model.surface import Surface
from ..scenes.scene import Scene
from ..surfaces.subdivision import subdivided

Margins = tuple[float, float, float, float]
"""What stays free at the left, right, lower and upper edge of a picture, as shares of its width and height."""


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
    depths : (float, float) or None
        Distances before the eye between which things are seen, in bohr; None to see everything.
    """

    rotation: Reals = field(default_factory=lambda: np.eye(3))
    eye: Reals | None = None
    field_of_view: float = 18.0
    orthographic: bool = False
    height: float | None = None
    depths: tuple[float, float] | None = None

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
            raise RenderError(f"orthographic camera with an eye: expected a height in bohr, got {self.height!r}")
        if self.depths is not None and not 0 <= self.depths[0] < self.depths[1]:
            raise RenderError(f"depths of a camera: expected two distances, the nearer first, got {self.depths!r}")
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

    def framed(self, scene: Scene, aspect: float, margins: Margins = (0.04, 0.04, 0.04, 0.04)) -> Camera:
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

    def reach(self, centres: Reals, radii: Reals | float, aspect: float, margins: Margins) -> Reals:
        """How far spheres reach towards the right, left, upper and lower plane of view and the viewer, shape (5,).

        What several sets of spheres reach together is the largest of each number, `numpy.maximum`; see `held`.
        """
        x, y, z = self.rotation @ centres.T
        left, right, bottom, top = np.zeros(4) if self.orthographic else self._edges(aspect, margins)
        towards = ((x, z, right), (-x, z, left), (y, z, top), (-y, z, bottom))
        planes = [(across + depth * slope + radii * np.hypot(1, slope)).max() for across, depth, slope in towards]
        return np.array([*planes, (z + radii).max()])

    def held(self, reach: Reals, aspect: float, margins: Margins) -> Camera:
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

    def without_perspective(self, middle: Reals) -> Camera:
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
                "orthographic picture (as with a scale bar): the scene is behind the camera; move its eye"
            )
        height = float(2 * depth * np.tan(np.radians(self.field_of_view) / 2))
        return replace(self, orthographic=True, height=height)

    def pixels_of(self, points: Reals, size: tuple[int, int]) -> Reals:
        """Where points in bohr, shape (n, 3), are in a picture of (width, height) pixels.

        Returns
        -------
        ndarray, shape (n, 3)
            Pixels from the left and from the top, and the distance from the eye along the line of sight in bohr. The
            camera has an eye.
        """
        assert self.eye is not None
        right, up, towards = self.rotation @ (points - self.eye).T
        seen = self.height or -2 * towards * np.tan(np.radians(self.field_of_view) / 2)  # bohr over the whole height
        width, height = size
        return np.stack([width / 2 + right * height / seen, height / 2 - up * height / seen, -towards], axis=1)

    def _edges(self, aspect: float, margins: Margins) -> Reals:
        """Of the planes of view less the margins: slopes, or for an orthographic camera shares of the height."""
        half = 0.5 if self.orthographic else np.tan(np.radians(self.field_of_view) / 2)
        return half * np.array([aspect, aspect, 1, 1]) * (1 - 2 * np.array(margins))


def default_camera(points: ArrayLike) -> Camera:
    """`Camera.facing`, and for points in a plane from aslant: face on, the lobes of a pi orbital hide each other.

    Parameters
    ----------
    points : shape (n, 3)
        Positions of atoms, in bohr.
    """
    where = np.asarray(points, np.float64).reshape(-1, 3)
    camera = Camera.facing(where)
    if len(where) < 3:
        return camera
    spread = np.linalg.svd(where - where.mean(axis=0), compute_uv=False)
    flat = spread[2] < 0.05 * spread[1]
    return camera.turned(x=-60, y=15) if flat else camera


def _closest(basis: Reals, preferred: Reals) -> Reals:
    """The unit vector, in the space of the columns of a basis, nearest to the first preferred one that is near it."""
    for direction in preferred:
        projection: Reals = basis @ (basis.T @ direction)
        if np.linalg.norm(projection) > 0.5:  # true of one of three directions at right angles at least
            break
    return projection / np.linalg.norm(projection)


_CELL_PIXELS = 12
"""Size in pixels of the cells of a lattice that shows the edges and thin walls of a field, as those of ELF."""

_EDGE_PIXELS = 6
"""Length in pixels of the edges of triangles at which an outline looks round."""

_MOST_FACES = 250_000
"""Triangles that a surface is not subdivided beyond."""

_NEARLY = 0.75
"""A lattice stays as it is whose spacing would become less than that much finer: nobody sees the difference."""

_MOST_POINTS = 3_000_000
"""Points of a lattice up to which a surface is refined for the sake of a picture."""


def pixel_at(camera: Camera, points: NDArray[np.floating], height: int) -> float:
    """What a pixel of a picture of this height shows at the depth of the middle of points, in bohr.

    The camera has an eye, or is not placed yet: then nothing is known, and a pixel shows a bohr.
    """
    if camera.eye is None or not len(points):
        return 1.0
    middle = (points.min(axis=0) + points.max(axis=0)) / 2
    depth = max(float((camera.eye - middle) @ camera.rotation[2]), 1e-3)
    return (camera.height or 2 * depth * float(np.tan(np.radians(camera.field_of_view) / 2))) / height


def cell_spacing(pixel: float) -> float:
    """Spacing of a lattice, in bohr, that shows the detail of a field where a pixel shows so many bohr."""
    return _CELL_PIXELS * pixel


def round_surface(surface: Surface, pixel: float) -> Surface:
    """The surface with triangles so small that its outline looks round where a pixel shows so many bohr."""
    if not len(surface.faces):
        return surface
    a, b = (surface.vertices[surface.faces[:: len(surface.faces) // 1000 + 1, corner]] for corner in (0, 1))
    length = float(np.linalg.norm(b - a, axis=1).mean()) / pixel
    while length > _EDGE_PIXELS and 4 * len(surface.faces) <= _MOST_FACES:
        surface, length = subdivided(surface), length / 2
    return surface


def round_lattice(lattice: Lattice, spacing: float) -> Lattice:
    """The box of a lattice with this spacing where that is finer, but no more than three million points."""
    steps = np.array(lattice.shape) - 1
    coarsest = float((lattice.cell_volume * steps.prod() / _MOST_POINTS) ** (1 / 3))
    factor = max(spacing, coarsest) / float(lattice.spacings.max())
    if factor > _NEARLY or not lattice.is_orthogonal:
        return lattice
    nx, ny, nz = (int(n) + 1 for n in np.ceil(steps / factor))
    return replace(lattice, axes=lattice.axes * (steps / (nx - 1, ny - 1, nz - 1))[:, None], shape=(nx, ny, nz))
