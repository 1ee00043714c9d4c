"""The direct sum with tables: `direct` and `radial.table` of `taichi_kernels.direct_sums`."""

from __future__ import annotations

from functools import partial

from . import _family

SUMMARY = "direct sum with whole contractions from tables"
EXACT = True

on_slabs = partial(_family.on_slabs, "table")
at_points = partial(_family.at_points, "table")
