"""Sums of Gaussians on lattices and at points: from an expansion to the kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .expansion import GaussianExpansion, reach
from .lattice import Lattice
from .packing import rotate_terms

_MANY = 4096
"""Gaussians from which on a CPU deals with few planes at a time, each with the Gaussians that reach it."""

_PLANES = 32


def on_slabs(
    expansion: GaussianExpansion, lattice: Lattice, tolerance: float, precision: str, device: str
) -> Callable[[int, int, Any], None] | None:
    """Evaluator for slabs of a lattice with orthogonal axes in any orientation; None for a skewed lattice.

    Parameters
    ----------
    expansion
        The sum.
    lattice
        Where.
    tolerance
        Bound on what screening may cost at any point.
    precision, device
        Of tables and sums: single or double; the device of the current session.
    """
    if not lattice.is_orthogonal:
        return None
    from taichi_kernels.orbital_lattice import layout, orbital_on_lattice

    frame = lattice.axes / lattice.spacings[:, None]
    local = GaussianExpansion(
        expansion.centre - lattice.origin,
        expansion.exponent,
        expansion.degree,
        expansion.first_term,
        expansion.terms,
    )
    if not np.array_equal(frame, np.eye(3)):
        terms = rotate_terms(local.terms, local.degree, frame)
        local = GaussianExpansion(local.centre @ frame.T, local.exponent, local.degree, local.first_term, terms)
    hx, hy, hz = lattice.spacings.tolist()
    many = len(local) > _MANY
    radius = reach(local, tolerance / (2 * len(local))) if many else None
    inside = tolerance / 2 if many else tolerance
    plane = lattice.shape[1:]

    def evaluate(start: int, stop: int, out: Any) -> None:
        step = _PLANES if many and isinstance(out, np.ndarray) else stop - start
        for first in range(start, stop, step):
            last = min(first + step, stop)
            chosen = local
            if radius is not None:
                low = np.array([first * hx, 0.0, 0.0])
                high = np.array([(last - 1) * hx, (plane[0] - 1) * hy, (plane[1] - 1) * hz])
                outside = np.maximum(np.maximum(low - local.centre, local.centre - high), 0.0)
                chosen = local.chosen(np.einsum("nd,nd->n", outside, outside) < radius**2)
            part = out[first - start : last - start] if step < stop - start else out
            orbital_on_lattice(
                layout(chosen.degree),
                chosen.centre,
                chosen.exponent,
                chosen.terms,
                (hx, hy, hz),
                (last - first, *plane),
                first,
                inside,
                precision,
                device,
                part,
            )

    return evaluate
