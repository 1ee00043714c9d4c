"""The direct sum with exact Gaussians: `taichi_kernels.direct`, `taichi_kernels.radial.exact`."""

from __future__ import annotations

from functools import partial

from . import _direct

SUMMARY = "direct sum over atoms, shells and primitives, by powers of two"
EXACT = True

on_slabs = partial(_direct.on_slabs, "exact")
at_points = partial(_direct.at_points, "exact")
