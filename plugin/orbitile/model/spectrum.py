"""Lines of a spectrum, as a program has computed them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from .geometry import Displayed, Geometry
from .wavefunction import frozen


@dataclass(frozen=True, eq=False)
class Spectrum(Displayed):
    """Lines, not broadened; `orbitile.analysis.spectra.KINDS` tells of units and axes of each kind.

    Attributes
    ----------
    kind : str
        infrared, raman, vcd, uv, ecd, or nmr:H and its like for each element.
    positions : ndarray, shape (n,)
        In cm^-1 of vibrations, in eV of excited states, isotropic shieldings in ppm of nuclei.
    strengths : ndarray, shape (n,)
        In km/mol, Angstrom^4/u, 1e-44 esu^2 cm^2 (vcd), oscillator strengths, 1e-40 esu^2 cm^2 (ecd), nuclei.
    labels : tuple of str
        What each line is called, such as a symmetry or an atom; empty where nothing is known.
    geometry : Geometry or None
        Of the molecule, where it is known.
    source : str
        The file.
    title, method : str
    remarks : tuple of str
        What the reader should know before believing it, a sentence each.
    """

    kind: str
    positions: Reals
    strengths: Reals
    labels: tuple[str, ...] = ()
    geometry: Geometry | None = None
    source: str = ""
    title: str = ""
    method: str = ""
    remarks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        n = len(self.positions)
        for name in ("positions", "strengths"):
            value = frozen(getattr(self, name), np.float64, (n,), f"{name} of a spectrum")
            object.__setattr__(self, name, value)
        if self.labels and len(self.labels) != n:
            raise OrbitileError(f"labels of a spectrum: expected {n}, got {len(self.labels)}")
