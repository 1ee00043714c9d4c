"""What forces need beside an engine."""

from __future__ import annotations

from importlib.util import find_spec

from ..errors import OrbitileError
from .calculation import Calculation
from .level_of_theory import DISPERSION


def check_forces(calculation: Calculation) -> None:
    """Refuse a calculation whose forces would lack a part.

    Raises
    ------
    OrbitileError
        When the method has a correction for dispersion.
    """
    if DISPERSION.fullmatch(calculation.method.strip().lower()):
        raise OrbitileError(
            f"method {calculation.method!r}: a correction for dispersion is not computed, and forces would "
            "lack it; choose a functional without, such as pbe or wb97x-v"
        )


def require_ase() -> None:
    """Refuse a Python that lacks what moves atoms by forces.

    Raises
    ------
    OrbitileError
        When ASE is missing.
    """
    if find_spec("ase") is None:
        raise OrbitileError("forces go to the package ase: pip install 'orbitile[optimisation]'")
