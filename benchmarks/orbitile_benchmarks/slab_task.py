"""The task of `benchmarks/cluster.py`, in a module that workers find by its name."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from orbitile.evaluation.several_devices import Plan, compute_slab


def repeated_slab(plan: Plan | None, seconds: float, comes_back: bool) -> tuple[float, NDArray[np.floating] | None]:
    """Compute the first slab of a plan until so many seconds are over; how many they were, and perhaps the values.

    Without a plan the time is slept away, and the values are ones.
    """
    begin = time.perf_counter()
    while True:
        if plan is None:
            time.sleep(seconds)
            return time.perf_counter() - begin, np.ones((200, 200, 200), np.float32) if comes_back else None
        values: NDArray[np.floating] = compute_slab(plan, 0)
        spent = time.perf_counter() - begin
        if spent >= seconds:
            return spent, values if comes_back else None
