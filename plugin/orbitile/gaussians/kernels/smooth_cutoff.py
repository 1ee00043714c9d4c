"""The direct sum with Gaussians that end smoothly, `radial.smooth_cutoff` of `taichi_kernels.direct_sums`."""

from __future__ import annotations

from functools import partial

import numpy as np

from . import PreparedOrbital, _family

SUMMARY = "direct sum with Gaussians that go smoothly to zero: no visible edge at the cut-off"
EXACT = False

on_slabs = partial(_family.on_slabs, "smooth_cutoff")
at_points = partial(_family.at_points, "smooth_cutoff")


def error_bound(orbital: PreparedOrbital) -> float:
    r"""Bound on what the approximation costs an orbital anywhere, without rounding, in bohr^-3/2.

    The sum over shells and primitives of the bound on the angular factor times
    :math:`|d_p| \zeta_p^{-l/2} \max_t t^{l/2} |g(t) - e^{-t}|`.
    """
    from taichi_kernels.direct_sums.radial.smooth_cutoff import largest_error

    envelopes = orbital.envelopes
    l = envelopes.angular_momentum
    worst = np.array([largest_error(int(n)) for n in range(int(l.max()) + 1)])[l]
    terms = envelopes.amplitude[envelopes.shell] * envelopes.weight * envelopes.exponent ** (-l / 2) * worst
    return float(terms.sum())
