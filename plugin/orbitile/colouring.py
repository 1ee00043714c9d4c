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

SCALE = ((0.698, 0.094, 0.169), (0.957, 0.647, 0.51), (0.969, 0.969, 0.969), (0.573, 0.773, 0.871), (0.129, 0.4, 0.675))
"""From the lower end of the range to the upper one: ColorBrewer's RdBu, red where a potential is negative."""

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
        The colours span -limit to +limit; by default the largest magnitude on the surface, rounded up to two digits.
        Where the field has one sign, they span the values by default.
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
    low, high = float(values.min(initial=0)), float(values.max(initial=0))
    if limit is not None:
        low, high = -limit, limit
    elif low < 0 < high:
        most = max(-low, high)
        digit = 10.0 ** (np.floor(np.log10(most)) - 1)
        high = float(np.ceil(most / digit - 1e-9) * digit)
        low = -high
    elif len(values):
        low, high = float(values.min()), float(values.max())
    return replace(surface, colouring=Colouring(values, low, high, resolved.quantity, resolved.unit))


def colours_of(colouring: Colouring) -> NDArray[np.float32]:
    """Red, green and blue of each value, shape (n, 3), from 0 to 1."""
    span = max(colouring.high - colouring.low, 1e-30)
    place = np.clip((colouring.values - colouring.low) / span, 0, 1) * (len(SCALE) - 1)
    at = np.arange(len(SCALE))
    channels = [np.interp(place, at, [colour[channel] for colour in SCALE]) for channel in range(3)]
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
