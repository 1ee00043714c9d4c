"""What forces need beside an engine."""

from __future__ import annotations

from importlib.util import find_spec

from ..errors import OrbitileError


def require_ase() -> None:
    """Refuse a Python that lacks what moves atoms by forces.

    Raises
    ------
    OrbitileError
        When ASE is missing.
    """
    if find_spec("ase") is None:
        raise OrbitileError("forces go to the package ase: pip install 'orbitile[optimisation]'")
