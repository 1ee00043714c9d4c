"""What forces need beside an engine."""

from __future__ import annotations

from importlib.util import find_spec

from ..errors import OrbitileError
from ..packages import install_command


def require_ase() -> None:
    """Refuse a Python that lacks what moves atoms by forces.

    Raises
    ------
    OrbitileError
        When ASE is missing.
    """
    if find_spec("ase") is None:
        raise OrbitileError(f"forces go to the package ase: {install_command('ase')}")
