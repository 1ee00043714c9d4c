"""The compiler: the one place where Taichi is imported."""

import numpy as np
import taichi as ti

_NUMBERS = {np.dtype(np.int32): ti.i32, np.dtype(np.float32): ti.f32, np.dtype(np.float64): ti.f64}


def number(dtype: object) -> object:
    """Taichi's type for numbers of a NumPy type: int32, float32 or single, float64 or double."""
    return _NUMBERS[np.dtype(dtype)]
