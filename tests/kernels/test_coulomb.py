"""Coulomb sums of Hermite Gaussians against sums of the same formula by SciPy, one pair at a time."""

import numpy as np
import pytest

from taichi_kernels import coulomb
from taichi_kernels.coulomb import Gaussians, coulomb_sums
from taichi_kernels.coulomb_kernels import is_written_out
from taichi_kernels.hermite_tables import powers_of
from taichi_kernels.session import session
from taichi_kernels.target import Target
