"""Workers of this machine that share its cores."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ..errors import OrbitileError
from .executor import Workers
from .processes import environment, n_cores
from .worker import Worker

_MOST = 1024
"""Workers of one machine: more are a slip of the finger, and each takes some hundred megabytes."""

_ATTEMPTS = 3
"""Processes that one function may end: the first may have ended for another reason, such as another's use of memory."""


def local_workers(n: int | None = None) -> Workers:
    """Workers of this machine, an executor: `with local_workers(4) as workers: ...` ends them in order.

    Parameters
    ----------
    n
        How many; by default as many as there are cores for this process.

    Raises
    ------
    OrbitileError
        When the number is none.

    Notes
    -----
    Linear algebra (`OMP_NUM_THREADS`, `OPENBLAS_NUM_THREADS`, `MKL_NUM_THREADS`) has one thread in each, so that what
    they compute does not depend on their number; kernels and drawing, whose results do not depend on threads, have
    their share of the cores (`ORBITILE_THREADS`, `LP_NUM_THREADS`). What the environment says about these remains.
    """
    n = n_cores() if n is None else n
    if not 1 <= n <= _MOST:
        raise OrbitileError(f"workers: expected 1 to {_MOST}, got {n}")
    settings = partial(_settings, max(1, n_cores() // n))
    return Workers([Worker(f"worker {number}", settings=settings) for number in range(1, n + 1)], _ATTEMPTS)


def _settings(share: int) -> Mapping[str, str]:
    """Environment of a worker that has so many cores."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    several = dict.fromkeys(("ORBITILE_THREADS", "LP_NUM_THREADS"), str(share))
    return {**one, **several, **environment()}
