"""gpu4pyscf: PySCF's calculations on an NVIDIA GPU, where it is installed (it is no extra: a build for each CUDA)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.devices import gpus

from ...base.errors import OrbitileError
from ...model.geometry import Geometry
from ...model.wavefunction import Wavefunction
from ..calculation import Calculation, Response, Solution
from . import pyscf

PRIORITY = 10
PROGRAM = "gpu4pyscf"

_CHARGES = "external charges are not passed on to it; engines orbitile and pyscf have them"


def check(calculation: Calculation) -> None:
    """As PySCF's; external charges are refused, which nobody has tried on the GPU."""
    pyscf.check(calculation)
    if calculation.external_charges is not None:
        raise OrbitileError(f"engine gpu4pyscf: {_CHARGES}")


def obstacle(geometry: Geometry, calculation: Calculation) -> str:
    """Why gpu4pyscf cannot compute this, empty where it can."""
    if calculation.external_charges is not None:
        return _CHARGES
    if not find_spec("gpu4pyscf"):
        return "the package gpu4pyscf is missing: pip install gpu4pyscf-cuda12x, or that of another CUDA"
    return "" if gpus() else "there is no NVIDIA GPU here"


def solve(
    geometry: Geometry,
    calculation: Calculation,
    before: Sequence[Wavefunction] = (),
    device: str | None = None,
    precision: str = "single",
    response: Response | None = None,
    rough: bool = False,
    tight: bool = False,
) -> Solution:
    """As PySCF's; on the first GPU and in double precision, whatever is asked for."""
    found = pyscf.solution(
        geometry, calculation, before, rough, tight, lambda field: field.to_gpu(), lambda call: call()
    )
    return replace(found, wavefunction=replace(found.wavefunction, program=f"{PROGRAM} with {pyscf.PROGRAM}"))


def gradient(
    wavefunction: Wavefunction, calculation: Calculation, device: str | None = None, precision: str = "single"
) -> NDArray[np.float64]:
    """As PySCF's; on the first GPU and in double precision, whatever is asked for."""
    return pyscf.gradient_of(wavefunction, calculation, lambda field: field.to_gpu())
