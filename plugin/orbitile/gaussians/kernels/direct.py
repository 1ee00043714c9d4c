"""The direct sum with exact Gaussians: `direct` and `radial.exact` of `taichi_kernels.direct_sums`."""

from __future__ import annotations

from functools import partial

from . import _family

SUMMARY = "direct sum over atoms, shells and primitives, by powers of two"
EXACT = True

on_slabs = partial(_family.on_slabs, "exact")
at_points = partial(_family.at_points, "exact")
