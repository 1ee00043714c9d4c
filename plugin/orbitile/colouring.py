"""Surfaces coloured by a second field: values at the vertices, their colours, and where they are largest and least."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .elements import SYMBOLS
from .errors import OrbitileError
from .surface import Colouring, Surface

if TYPE_CHECKING:
    from .wavefunction import Wavefunction

RGB = tuple[float, float, float]

MAPS: dict[str, tuple[RGB, ...]] = {
    name: tuple((int(c[0:2], 16) / 255, int(c[2:4], 16) / 255, int(c[4:6], 16) / 255) for c in colours.split())
    for name, colours in {
        "signed": "b2182b d6604d f4a582 fddbc7 f7f7f7 d1e5f0 92c5de 4393c3 2166ac",
        "sequential": "ffffff eef8c0 c7e9b4 7fcdbb 41b6c4 1d91c0 225ea8 253494",
        "interaction": "1f3fb8 2c6fd0 33a3c4 3dbb94 55bf55 a6c93a e8b92e e0702c bb1a26",
    }.items()
}
"""Colour maps by name: equally spaced colours from the lower end of a range to the upper one, linear in between.

signed
    Red, white, blue (ColorBrewer's RdBu): red where a potential is negative. Its middle is zero.
sequential
    White, yellow, green, blue (ColorBrewer's YlGnBu): for values of one sign.
interaction
    Blue, green, red: attraction, van der Waals contact and repulsion, as sign(lambda2) rho is shown since E. R. Johnson
    et al., J. Am. Chem. Soc. 2010, 132, 6498.
"""

_APART = 1.6
"""Distance in bohr within which only one extremum of a kind is listed."""


def coloured(
    surface: Surface,
    wavefunction: Wavefunction,
    field: str,
    limit: float | None = None,
    *,
    device: str | None = None,
    precision: str = "single",
    cancelled: Callable[[], bool] | None = None,
) -> Surface:
    """A surface with the values of a field at its vertices.

    Parameters
    ----------
    surface
        From `isosurface`.
    wavefunction, field, device, precision
        As for `orbitile.evaluate`.
    limit
        The colours span -limit to +limit; by default what is customary for the field, else the largest magnitude on
        the surface, rounded up to a round number. Where the field has one sign, they span the values by default.
    cancelled
        Asked now and then; when it says True the computation stops.

    Raises
    ------
    OrbitileError
        When the limit is not a positive number; otherwise as `orbitile.evaluate` does.
    Cancelled
        When `cancelled` said so.
    """
    from .evaluation import evaluate
    from .fields import resolve

    if limit is not None and not (np.isfinite(limit) and limit > 0):
        raise OrbitileError(f"range of colours: expected a positive number, got {limit}")
    resolved = resolve(wavefunction, field)
    values = evaluate(
        wavefunction, resolved, surface.vertices, device=device, precision=precision, cancelled=cancelled
    ).astype(np.float32)
    customary = getattr(resolved, "colour_range", None)
    colour_map = getattr(resolved, "colour_map", None)
    low, high = float(values.min(initial=0)), float(values.max(initial=0))
    if limit is None and customary is not None:
        limit = float(customary)
    if limit is not None:
        low, high = -limit, limit
    elif low < 0 < high:
        high = rounded_up(max(-low, high))
        low = -high
    elif len(values):
        low, high = _round_ends(float(values.min()), float(values.max()))
        colour_map = colour_map or "sequential"
    return replace(
        surface, colouring=Colouring(values, low, high, resolved.quantity, resolved.unit, colour_map or "signed")
    )


_ROUND = (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)


def rounded_up(value: float) -> float:
    """The next round number: 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6 or 8 times a power of ten; 1 for 0."""
    if value <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(f"{power * next(step for step in _ROUND if step * power >= value * (1 - 1e-6)):.3g}")


def _round_ends(low: float, high: float) -> tuple[float, float]:
    """A range of one sign, widened to multiples of a round number."""
    span = high - low if high - low > 1e-6 * max(abs(low), abs(high)) else max(abs(high), abs(low), 1e-30)
    step = 10.0 ** np.floor(np.log10(span)) / 2
    first, last = np.floor(low / step + 1e-6), np.ceil(high / step - 1e-6)
    return float(f"{first * step:.12g}"), float(f"{max(last, first + 1) * step:.12g}")


def ticks(low: float, high: float, most: int = 5) -> NDArray[np.float64]:
    """Round numbers at equal steps within a range, `most` at most: both its ends among them where that is possible."""
    power = 10.0 ** np.floor(np.log10(high - low) - 2)
    slack = 1e-6 * (high - low)
    usual, at_ends = [], []
    for m, n in ((m, n) for n in range(4) for m in (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0)):
        step = m * power * 10**n
        first, last = np.ceil(low / step - 1e-6), np.floor(high / step + 1e-6)
        if 1 < last - first + 1 <= most:
            marks: NDArray[np.float64] = np.arange(first, last + 1) * step
            if m in (1.0, 2.0, 2.5, 5.0):
                usual.append(marks)
            if abs(marks[0] - low) < slack and abs(marks[-1] - high) < slack:
                at_ends.append(marks)
    return next(iter(at_ends + usual), np.array([low, high]))


def tick_labels(values: NDArray[np.float64]) -> list[str]:
    """Numbers with as many digits as tell them apart, and proper minus signs; powers of ten where they are tiny."""
    most = float(np.abs(values).max(initial=0))
    if most and not 1e-4 <= most < 1e5:
        texts = [f"{value:.3g}" for value in values]
    else:
        digits = next(
            n for n in range(12) if np.allclose(np.round(values, n), values, rtol=0, atol=1e-6 * most + 1e-12)
        )
        texts = [f"{value:.{digits}f}" if value else "0" for value in values]
    return [text.replace("-", "−") for text in texts]


def colours_of(colouring: Colouring) -> NDArray[np.float32]:
    """Red, green and blue of each value, shape (n, 3), from 0 to 1."""
    span = max(colouring.high - colouring.low, 1e-30)
    return colours_along(colouring.colour_map, (colouring.values - colouring.low) / span)


def colours_along(colour_map: str, shares: NDArray[np.floating]) -> NDArray[np.float32]:
    """Red, green and blue at shares of the range of a map (see `MAPS`) from 0 to 1, shape (n, 3)."""
    anchors = MAPS[colour_map]
    place = np.clip(shares, 0, 1) * (len(anchors) - 1)
    at = np.arange(len(anchors))
    channels = [np.interp(place, at, [colour[channel] for colour in anchors]) for channel in range(3)]
    return np.stack(channels, axis=1).astype(np.float32)


@dataclass(frozen=True)
class Extremum:
    """A place on a surface where the field that colours it is largest or least among its surroundings.

    Attributes
    ----------
    kind : str
        maximum or minimum.
    value : float
        In the unit of the field.
    position : tuple of three float
        In bohr.
    atom : int
        The nearest atom, from 0.
    """

    kind: str
    value: float
    position: tuple[float, float, float]
    atom: int


def extrema(surface: Surface, wavefunction: Wavefunction) -> list[Extremum]:
    """Maxima and minima of the field that colours a surface, the most pronounced of each kind first.

    A vertex counts that is the largest (or least) within 1.6 bohr. On a density surface these are the V_S,max and
    V_S,min of P. Politzer and J. S. Murray (Theor. Chem. Acc. 2002, 108, 134).

    Raises
    ------
    OrbitileError
        When the surface is not coloured.
    """
    from scipy.spatial import cKDTree

    if surface.colouring is None:
        raise OrbitileError("extrema: this surface is not coloured by a field")
    vertices, values = surface.vertices, surface.colouring.values
    tree, atoms = cKDTree(vertices), cKDTree(wavefunction.positions)
    found = []
    for kind, sign in (("maximum", 1.0), ("minimum", -1.0)):
        left = np.ones(len(values), bool)
        taken: list[Extremum] = []
        # the largest of all is a maximum; what is near it is none; of the rest, one at the edge of that is none either
        for at in np.argsort(-sign * values):
            if not left[at]:
                continue
            near = np.array(tree.query_ball_point(vertices[at], _APART))
            left[near] = False
            if sign * values[at] >= (sign * values[near]).max():
                x, y, z = (float(c) for c in vertices[at])
                taken.append(Extremum(kind, float(values[at]), (x, y, z), int(atoms.query(vertices[at])[1])))
        found += taken
    return found


def as_text(found: list[Extremum], wavefunction: Wavefunction, unit: str) -> str:
    """The extrema as a table."""
    from .units import angstrom

    factor = 627.5095 if unit == "hartree/e" else None  # kcal/mol, CODATA 2018
    lines = [f"{'':8s} {unit:>12s} {'kcal/mol' if factor else '':>9s}   nearest atom   position / Angstrom"]
    for one in found:
        x, y, z = np.array(one.position) / angstrom
        symbol = SYMBOLS[int(wavefunction.atomic_numbers[one.atom])]
        energy = f"{one.value * factor:9.2f}" if factor else " " * 9
        lines.append(
            f"{one.kind:8s} {one.value:12.5f} {energy}   {symbol + str(one.atom + 1):12s} {x:9.3f} {y:9.3f} {z:9.3f}"
        )
    return "\n".join(lines)
