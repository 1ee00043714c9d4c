"""Types of arrays, by the numbers that they hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Indices = NDArray[np.intp]
Flags = NDArray[np.bool_]
