"""SciPy without the parts of NumPy that nobody needs.

When SciPy is imported it copies all names that NumPy lists (`scipy._lib.array_api_compat.numpy`). NumPy imports some of
its parts when they are first asked for, so that a compiler of Fortran, a testing framework and others come along, which
takes as long as the rest of SciPy.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


def import_scipy() -> None:
    """Import what the reading of a wavefunction needs of SciPy, unless it is there."""
    if "scipy.special" in sys.modules:
        return
    with _listing_what_is_there():
        import scipy.spatial
        import scipy.special  # noqa: F401 - imported for whoever needs it next


@contextmanager
def _listing_what_is_there() -> Iterator[None]:
    """NumPy lists the names that it has; all others are there as before."""
    namespace = vars(np)
    there = sorted(namespace)
    before = {name: namespace[name] for name in ("__all__", "__dir__")}
    namespace.update(__all__=[name for name in np.__all__ if name in namespace], __dir__=lambda: there)
    try:
        yield
    finally:
        namespace.update(before)
