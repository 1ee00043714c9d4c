"""The direct sum with tables: `taichi_kernels.direct`, `taichi_kernels.radial.table`."""

from __future__ import annotations

from functools import partial

from . import _direct

SUMMARY = "direct sum with whole contractions from tables"
EXACT = True

on_slabs = partial(_direct.on_slabs, "table")
at_points = partial(_direct.at_points, "table")
