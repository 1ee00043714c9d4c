"""Slices: a field on a plane through chosen atoms, as a surface in the scene, or as a picture.

The picture is a map of colours with its scale, contours and atoms, drawn by matplotlib.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..model.elements import ATOMIC_RADII, SYMBOLS
from ..model.surface import Colouring, Surface
from ..model.units import angstrom
from ..surfaces.colour_maps import MAPS, RGB, rounded_up, tick_labels, ticks
from .presentation import check_picture, matplotlib_module, new_figure, write_picture

if TYPE_CHECKING:
    from ..fields import Field
    from ..model.wavefunction import Wavefunction

_SHARE = 0.95
"""Share of the points of a slice whose values the colours span by default: fields have peaks."""

_MOSTLY = 0.75
"""Share of the points in the valence region that the colours span for the sake of the weaker sign at least."""

_PEAK, _NEAR = 0.7, 3.0
"""Fields have peaks within this share of the radius of an atom, which would hide all else in a range of colours; and
beyond this distance from all nuclei, in bohr, there is little of most."""

_AMPLE, _HARDLY = 2.0, 0.02
"""The colours span this many times the largest value of the weaker sign at most, unless that is hardly there: smaller
than this share of the span."""

_RARE_GASES = (2, 10, 18, 36, 54, 86)

NOISE = 1e-7
"""Values smaller than this are rounding, as of an orbital on its nodal plane: nothing is to be seen there."""

_MOST_POINTS = 4_000_000


@dataclass(frozen=True, eq=False)
class Plane:
    """A lattice of points on a plane.

    Attributes
    ----------
    origin : ndarray, shape (3,)
        The first point, in bohr.
    right, up : ndarray, shape (3,)
        Unit vectors.
    spacing : float
        In bohr.
    shape : (int, int)
        Points along `up` and along `right`.
    """

    origin: NDArray[np.float64]
    right: NDArray[np.float64]
    up: NDArray[np.float64]
    spacing: float
    shape: tuple[int, int]

    @property
    def points(self) -> NDArray[np.float64]:
        """All points, shape (n, 3), in bohr; along `right` fastest."""
        rows, columns = np.indices(self.shape).reshape(2, -1)
        return self.origin + self.spacing * (columns[:, None] * self.right + rows[:, None] * self.up)


@dataclass(frozen=True, eq=False)
class Slice:
    """Values of a field on a plane.

    Attributes
    ----------
    plane : Plane
    values : ndarray of float32 or float64, shape `plane.shape`
    quantity, unit : str
        For people.
    valence : ndarray of bool, shape `plane.shape`, or None
        Points that are near to a nucleus, but outside the core of the atom: those whose values the colours span.
    colour_map : str
        Name of one of `orbitile.surfaces.colour_maps.MAPS` that is customary for the field, or nothing.
    colour_range : float or None
        Largest magnitude of the colours that is customary for the field.
    """

    plane: Plane
    values: NDArray[np.floating]
    quantity: str
    unit: str
    valence: NDArray[np.bool_] | None = None
    colour_map: str = ""
    colour_range: float | None = None


def plane_through(
    wavefunction: Wavefunction,
    atoms: Sequence[int] = (),
    *,
    spacing: float = 0.05 * angstrom,
    margin: float = 2.5 * angstrom,
    height: float = 0.0,
    across: Reals | None = None,
) -> Plane:
    """The plane that lies closest to some atoms, large enough for the whole molecule.

    Parameters
    ----------
    wavefunction
        Its atoms.
    atoms
        Three or more, counted from 0, not all on a line; () for all atoms of the molecule. The first points to the
        second along `right`.
    spacing, margin
        In bohr: between points, and around the projections of all atoms.
    height
        How far in bohr the plane is moved towards who looks at it.
    across : ndarray, shape (3,), optional
        A unit vector: the plane through the middle of the atoms that is perpendicular to it is meant instead.

    Raises
    ------
    OrbitileError
        When the atoms do not define a plane, or the plane would have more than 4 million points.
    """
    positions = wavefunction.positions
    chosen = list(range(len(positions))) if len(atoms) == 0 else list(atoms)
    if any(not 0 <= atom < len(positions) for atom in chosen) or len(set(chosen)) != len(chosen):
        raise OrbitileError(
            f"plane: expected different atoms from 1 to {len(positions)}, got {[a + 1 for a in chosen]}"
        )
    if not (np.isfinite(spacing) and spacing > 0 and np.isfinite(margin) and margin >= 0):
        raise OrbitileError(f"plane: expected a positive spacing and a margin, got {spacing} and {margin} bohr")
    some = positions[chosen]
    middle = some.mean(axis=0)
    _, extents, axes = np.linalg.svd(some - middle)
    if across is None and len(atoms) and (len(chosen) < 3 or extents[1] < 0.05):
        raise OrbitileError("plane: expected three atoms or more that are not on one line")
    normal = axes[2] if across is None else across
    right = some[1] - some[0] if len(atoms) else axes[np.argmin(np.abs(axes @ normal))]
    right = right - normal * (right @ normal)
    right = right / np.linalg.norm(right)
    up = np.cross(normal, right)
    projected = (positions - middle) @ np.stack([right, up], axis=1)
    low, high = projected.min(axis=0) - margin, projected.max(axis=0) + margin
    columns, rows = (max(2, int(np.ceil(length / spacing)) + 1) for length in high - low)
    if columns * rows > _MOST_POINTS:
        raise OrbitileError(f"plane: {columns} x {rows} points are more than 4 million; choose a larger spacing")
    corner = middle + low[0] * right + low[1] * up + height * np.cross(right, up)
    return Plane(corner, right, up, float(spacing), (rows, columns))


def slice_field(
    wavefunction: Wavefunction,
    field: str | Field,
    plane: Plane,
    *,
    device: str | None = None,
    precision: str = "single",
    cancelled: Callable[[], bool] | None = None,
) -> Slice:
    """Evaluate a field on a plane; parameters and errors as for `orbitile.evaluate`."""
    from ..evaluation.points import evaluate
    from ..evaluation.requests import field_of

    resolved = field_of(wavefunction, field)
    values = evaluate(
        wavefunction, resolved, plane.points, device=device, precision=precision, cancelled=cancelled
    ).reshape(plane.shape)
    return Slice(
        plane,
        values,
        resolved.quantity,
        resolved.unit,
        _valence(wavefunction, plane),
        resolved.colour_map or "",
        resolved.colour_range,
    )


_STEP = 0.5 * angstrom
"""Distance of the planes on which a surface is looked for, from above."""
_HALVINGS = 18


def topograph(
    wavefunction: Wavefunction,
    field: str | Field,
    plane: Plane,
    isovalue: float,
    *,
    above: float = 10.0 * angstrom,
    device: str | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Slice:
    """How high above a plane the isosurface of a field is, seen from above: a picture at constant current.

    Parameters
    ----------
    wavefunction, field
        As for `orbitile.evaluate`; `stm:-2` for a microscope's picture.
    plane
        Heights are counted from it; where the field is below the isovalue all the way down, they are 0.
    isovalue
        In the unit of the field.
    above
        Height in bohr from where the surface is looked for.
    device, cancelled
        As for `orbitile.evaluate`.

    Returns
    -------
    Slice
        Heights in Angstrom.

    Raises
    ------
    OrbitileError
        When the field reaches the isovalue nowhere, or everywhere at the top already.
    """
    from ..evaluation.points import evaluate
    from ..evaluation.requests import field_of

    if not (np.isfinite(isovalue) and isovalue > 0):
        raise OrbitileError(f"topograph: expected a positive isovalue, got {isovalue}")
    resolved, points, normal = field_of(wavefunction, field), plane.points, np.cross(plane.right, plane.up)

    def is_above(which: NDArray[np.intp], heights: NDArray[np.float64]) -> NDArray[np.bool_]:
        places = points[which] + heights[:, None] * normal
        values = evaluate(wavefunction, resolved, places, device=device, precision="double", cancelled=cancelled)
        return np.asarray(values > isovalue)

    found = np.zeros(len(points))
    left = np.arange(len(points))
    for height in np.arange(above, -_STEP / 2, -_STEP):
        met = is_above(left, np.full(len(left), height))
        found[left[met]] = height
        left = left[~met]
        if height == above and not len(left):
            raise OrbitileError(f"topograph: the field is above {isovalue:g} at the top already; choose a larger value")
    surface = np.flatnonzero(found > 0)
    if not len(surface):
        raise OrbitileError(f"topograph: the field is below {isovalue:g} everywhere; choose a smaller value")
    low, high = found[surface], found[surface] + _STEP
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        met = is_above(surface, middle)
        low, high = np.where(met, middle, low), np.where(met, high, middle)
    found[surface] = (low + high) / 2
    quantity = f"height at {isovalue:g} {resolved.unit} of {resolved.quantity}"
    return Slice(plane, (found / angstrom).reshape(plane.shape), quantity, "Angstrom")


def _valence(wavefunction: Wavefunction, plane: Plane) -> NDArray[np.bool_]:
    """Points of a plane within 3 bohr of a nucleus, but of none within 0.7 of the radius of the atom."""
    near, core = np.zeros(plane.shape, bool), np.zeros(plane.shape, bool)
    offsets = [plane.spacing * np.arange(n) for n in plane.shape]
    normal = np.cross(plane.right, plane.up)
    for number, position in zip(wavefunction.atomic_numbers, wavefunction.positions - plane.origin, strict=True):
        z = int(number) - (number in _RARE_GASES)  # radii of rare gases are not those of bonded atoms
        radius = _PEAK * ATOMIC_RADII[min(z, len(ATOMIC_RADII) - 1)] * angstrom
        up, right = ((some - position @ axis) ** 2 for some, axis in zip(offsets, (plane.up, plane.right), strict=True))
        squared = up[:, None] + right + (position @ normal) ** 2
        near |= squared < max(_NEAR, 2 * radius) ** 2
        core |= squared < radius**2
    return near & ~core


def colour_range(
    values: NDArray[np.floating], limit: float | None, valence: NDArray[np.bool_] | None = None
) -> tuple[float, float]:
    """Lowest and highest value of the colours: symmetric about 0 where there are negative ones.

    By default they span the values in the valence region, so that peaks at nuclei are cut off and bonds are seen: all
    of them where there is one sign, else 95 % of the magnitudes, but not more than makes the weaker sign visible, nor
    so little that more than a quarter is beyond. The highest value is a round number.

    Raises
    ------
    OrbitileError
        When a limit is given that is not a positive number.
    """
    if limit is not None:
        if not (np.isfinite(limit) and limit > 0):
            raise OrbitileError(f"range of colours: expected a positive number, got {limit}")
        return (-limit, limit) if values.min() < 0 else (0.0, limit)
    chosen = values if valence is None or not valence.any() else values[valence]
    magnitudes = np.abs(chosen)
    signs = values.min() < 0 < values.max()
    most = float(np.quantile(magnitudes, _SHARE if signs or valence is None else 1.0))
    weaker = min(float(chosen.max()), -float(chosen.min()))
    if weaker > _HARDLY * most and (valence is None or valence.any()):
        usual = 0.0 if valence is None else float(np.quantile(magnitudes, _MOSTLY))
        most = min(most, max(_AMPLE * weaker, usual))  # potentials are positive at nuclei, and weak elsewhere
    if most == 0:
        most = float(np.abs(values).max())
    high = rounded_up(most) if most > NOISE else 1.0
    return (-high, high) if values.min() < 0 else (0.0, high)


def colours_of(drawn: Slice, limit: float | None) -> tuple[float, float, str]:
    """Lowest and highest value of the colours of a slice, and the name of their map."""
    low, high = colour_range(drawn.values, drawn.colour_range if limit is None else limit, drawn.valence)
    if drawn.colour_map not in ("", "sequential"):
        low = -high  # the middle of the map is zero
    return low, high, drawn.colour_map or ("signed" if low < 0 else "sequential")


def as_surface(drawn: Slice, limit: float | None = None) -> Surface:
    """A slice as a flat coloured surface, for `orbitile.render` and the mesh formats.

    Parameters
    ----------
    limit
        The colours span -limit to limit; by default see `colour_range`.
    """
    rows, columns = drawn.plane.shape
    corner = (np.arange(rows - 1)[:, None] * columns + np.arange(columns - 1)).reshape(-1)
    faces = np.concatenate(
        [
            np.stack([corner, corner + 1, corner + columns + 1], axis=1),
            np.stack([corner, corner + columns + 1, corner + columns], axis=1),
        ]
    )
    low, high, colour_map = colours_of(drawn, limit)
    if limit is not None and low == 0:
        low, colour_map = -limit, drawn.colour_map or "signed"
    n = rows * columns
    values = drawn.values.reshape(-1).astype(np.float32)
    return Surface(
        vertices=drawn.plane.points.astype(np.float32),
        faces=faces.astype(np.int32),
        normals=np.tile(np.cross(drawn.plane.right, drawn.plane.up), (n, 1)).astype(np.float32),
        phases=np.ones(n, np.int8),
        isovalue=0.0,
        colouring=Colouring(values, low, high, drawn.quantity, drawn.unit, colour_map),
    )


_IN_PLANE = 0.4
"""Atoms nearer to the plane than this, in bohr, are named in black, those farther away in grey."""

_DPI, _FEWEST_DPI, _SMALL = 160, 72, 1000
"""Pixels an inch of a large picture, and of a small one, whose letters are smaller; pixels below which that begins."""

_LETTER = 0.56
"""Mean width of a letter, in units of its height."""


def _on_paper(colour_map: str) -> list[RGB]:
    """The colours of a map with white where the field is zero: a slice is nothing there, as the paper around it."""
    colours = list(MAPS[colour_map])
    if colour_map in ("signed", "sequential"):
        colours[len(colours) // 2 if colour_map == "signed" else 0] = (1.0, 1.0, 1.0)
    return colours


def contour_levels(low: float, high: float, *, even: bool = False) -> NDArray[np.float64]:
    """Levels 1, 2, 5, 10, ... of both signs, over two decades below the highest value; or at equal steps."""
    if even:
        return ticks(low, high, 11)
    top = np.floor(np.log10(high))
    steps = np.array([m * 10.0**e for e in range(int(top) - 2, int(top) + 1) for m in (1, 2, 5)])
    steps = steps[(steps > high / 101) & (steps < high * (1 + 1e-9))]
    return np.concatenate([-steps[::-1], steps]) if low < 0 else steps


def draw_slice(
    drawn: Slice,
    wavefunction: Wavefunction,
    path: str | PathLike[str],
    *,
    limit: float | None = None,
    size: tuple[int, int] = (1600, 1200),
) -> None:
    """Draw a slice: a map of colours with its scale, contours (dashed where negative), and the atoms.

    Parameters
    ----------
    drawn
        From `slice_field`.
    wavefunction
        Its atoms.
    path
        .png, .svg or .pdf. It appears complete or not at all.
    limit
        The colours span -limit to limit; by default see `colour_range`.
    size : (int, int)
        In pixels, of a .png; the others have the same proportions.

    Raises
    ------
    FileError
        When the file has another ending, or cannot be written.
    OrbitileError
        When matplotlib is not installed.
    """
    target = check_picture(path)
    write_picture(slice_figure(drawn, wavefunction, limit=limit, size=size), target)


def slice_figure(
    drawn: Slice, wavefunction: Wavefunction, *, limit: float | None = None, size: tuple[int, int] = (1600, 1200)
) -> Any:
    """The figure of matplotlib that `draw_slice` writes; parameters as there."""
    plane = drawn.plane
    low, high, colour_map = colours_of(drawn, limit)
    shades = matplotlib_module("colors").LinearSegmentedColormap.from_list("orbitile", _on_paper(colour_map), N=512)
    extent = [
        0.0,
        (plane.shape[1] - 1) * plane.spacing / angstrom,
        0.0,
        (plane.shape[0] - 1) * plane.spacing / angstrom,
    ]
    dpi = int(min(max(_DPI * min(size[0], 4 * size[1] / 3) / _SMALL, _FEWEST_DPI), _DPI))
    inches = ((size[0] + 0.01) / dpi, (size[1] + 0.01) / dpi)  # whole pixels, which are rounded down
    figure, axes = new_figure(inches, dpi)
    image = axes.imshow(
        drawn.values, origin="lower", extent=extent, vmin=low, vmax=high, cmap=shades, interpolation="bilinear"
    )
    levels = contour_levels(low, high, even=not drawn.unit)  # what has no unit varies from 0 to about 1
    inside = levels[(levels > drawn.values.min()) & (levels < drawn.values.max())]
    if len(inside):
        dark = colour_map == "sequential"
        axes.contour(
            drawn.values,
            levels=inside,
            extent=extent,
            origin="lower",
            colors=["white" if dark and level > 0.6 * high else "#303030" for level in inside],
            linewidths=0.6,
            linestyles=["dashed" if level < 0 else "solid" for level in inside],
        )
    normal = np.cross(plane.right, plane.up)
    for number, position in zip(wavefunction.atomic_numbers, wavefunction.positions - plane.origin, strict=True):
        near = abs(position @ normal) < _IN_PLANE
        axes.annotate(
            SYMBOLS[int(number)],
            (position @ plane.right / angstrom, position @ plane.up / angstrom),
            ha="center",
            va="center",
            fontsize=9,
            color="black" if near else "#808080",
            bbox={"boxstyle": "circle,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.7},
        )
    axes.set_xlabel("Å")
    axes.set_ylabel("Å")
    figure.suptitle(_in_lines(drawn.quantity.replace("$", r"\$"), 12, inches[0]), fontsize=12)
    empty = float(np.abs(drawn.values).max()) <= NOISE
    stated = "0 everywhere on this plane" if empty else _stated(inside, drawn.unit)
    figure.supxlabel(_in_lines(stated, 8, inches[0]), fontsize=8)
    beyond = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
    extend = beyond[bool(drawn.values.min() < low), bool(drawn.values.max() > high)]
    marks = ticks(low, high, 9)
    bar = figure.colorbar(image, ax=axes, label=_formatted(drawn.unit), extend=extend, shrink=0.9, ticks=marks)
    bar.ax.set_yticklabels(tick_labels(marks))
    return figure


def _in_lines(text: str, points: float, inches: float) -> str:
    """A text broken into lines that a figure has space for, of letters of so many points."""
    letters = max(int(72 * inches / (_LETTER * points)), 8)
    return "\n".join(wrap(text, letters, break_long_words=False, break_on_hyphens=False))


def _formatted(unit: str) -> str:
    """A unit with its powers raised, as matplotlib writes them."""
    return re.sub(r"\^([-+]?[0-9/]+)", r"$^{\1}$", unit)


def _stated(levels: NDArray[np.float64], unit: str) -> str:
    """At which values there are contours, for people."""
    if not len(levels):
        return "no contours"
    positive, negative = levels[levels > 0], levels[levels < 0]
    if len(positive) and np.array_equal(positive, -negative[::-1]):
        stated = [*(["0"] if np.any(levels == 0) else []), *(f"±{level:g}" for level in positive)]
    else:
        stated = [f"{level:g}".replace("-", "−") for level in levels]
    dashed = "; negative ones dashed" if len(negative) else ""
    return f"contours at {', '.join(stated)} {_formatted(unit)}".rstrip() + dashed
