"""Spectra: lines broadened to curves, in the units and on the axes on which chemists draw them.

Areas of bands follow from the strengths of lines: infrared ones from integrated absorption coefficients, which are of
the natural logarithm, so that ln 10 stands between both (IUPAC, Pure Appl. Chem. 1996, 68, 2223); ultraviolet ones by
R. S. Mulliken, J. Chem. Phys. 1939, 7, 14; those of circular dichroism by J. A. Schellman, Chem. Rev. 1975, 75, 323.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.special import voigt_profile

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..model.units import electronvolt, wavenumber

SHAPES = ("lorentzian", "gaussian", "voigt")
"""Shapes of a band: of collisions, of surroundings that differ, and of both at once."""

_INFRARED = 100 / np.log(10)
"""Area of a band in L mol^-1 cm^-2 that has 1 km/mol."""
_OSCILLATOR = 1 / 4.319e-9
"""The same of an oscillator strength of 1."""
_ROTATORY = 1 / 2.296e-39
"""The same of a rotatory strength of 1 esu^2 cm^2, for each cm^-1 at which the band is."""
_PER_ELECTRONVOLT = electronvolt / wavenumber
"""One eV in cm^-1."""
NANOMETRE = 1e7 * wavenumber / electronvolt
"""Energy in eV of light of 1 nm: divided by an energy in eV it is a wavelength in nm."""
_LORENTZIAN, _BOTH = 0.5346, 0.2166
"""Width of a Voigt profile from those of its parts (J. J. Olivero, R. L. Longbothum, J. Quant. Spectrosc. Radiat.
Transfer 1977, 17, 233): 0.5346 L + sqrt(0.2166 L^2 + G^2)."""


@dataclass(frozen=True)
class Kind:
    """A kind of spectrum.

    Attributes
    ----------
    title : str
        For people, as in a heading.
    strength : str
        What the strength of a line is, and its unit.
    x_label, y_label : str
        Of the axes.
    area : callable
        Areas of bands in the unit of the y axis times that of the x axis, from positions and strengths.
    fwhm : float
        Usual full width of a band at half its height, in the unit of the x axis.
    descending : bool
        Whether the x axis is drawn from large values on the left to small ones on the right.
    """

    title: str
    strength: str
    x_label: str
    y_label: str
    area: Callable[[Reals, Reals], Reals]
    fwhm: float
    descending: bool = False


_WAVENUMBER, _ABSORPTION = "wavenumber / cm^-1", "molar absorption / L mol^-1 cm^-1"
_DICHROISM = "circular dichroism / L mol^-1 cm^-1"

KINDS: Mapping[str, Kind] = {
    "infrared": Kind(
        "Infrared", "intensity / km/mol", _WAVENUMBER, _ABSORPTION, lambda x, y: y * _INFRARED, 10.0, descending=True
    ),
    "raman": Kind(
        "Raman", "activity / Å^4/u", _WAVENUMBER, "activity / Å^4/u per cm^-1", lambda x, y: y, 10.0, descending=True
    ),
    "vcd": Kind(
        "Vibrational circular dichroism",
        "rotatory strength / 1e-44 esu^2 cm^2",
        _WAVENUMBER,
        _DICHROISM,
        lambda x, y: y * x * 1e-44 * _ROTATORY,
        10.0,
        descending=True,
    ),
    "uv": Kind(
        "Ultraviolet and visible absorption",
        "oscillator strength",
        "energy / eV",
        _ABSORPTION,
        lambda x, y: y * _OSCILLATOR / _PER_ELECTRONVOLT,
        0.4,
    ),
    "ecd": Kind(
        "Electronic circular dichroism",
        "rotatory strength / 1e-40 esu^2 cm^2",
        "energy / eV",
        _DICHROISM,
        lambda x, y: y * x * 1e-40 * _ROTATORY,
        0.4,
    ),
    "nmr": Kind("NMR", "nuclei", "isotropic shielding / ppm", "nuclei per ppm", lambda x, y: y, 0.05),
}
"""Kinds of spectra by name; that of NMR is for each element, as `nmr:H`."""


def kind_named(name: str) -> Kind:
    """The kind of spectra of a name, such as infrared or nmr:H.

    Raises
    ------
    OrbitileError
        When there is none.
    """
    found = KINDS.get(name.partition(":")[0])
    if found is None:
        raise OrbitileError(f"spectrum: expected {', '.join(KINDS)}, got {name[:40]!r}")
    return found


def band(at: Reals, fwhm: float, shape: str = "lorentzian") -> Reals:
    """A band of area 1 about zero.

    Parameters
    ----------
    at : ndarray
        Distances from its middle.
    fwhm
        Full width at half its height, in the same unit.
    shape
        Of `SHAPES`; voigt has a Lorentzian and a Gaussian part of equal widths.

    Raises
    ------
    OrbitileError
        When the shape is none of these.
    """
    if shape == "lorentzian":
        return fwhm / (2 * np.pi) / (at**2 + (fwhm / 2) ** 2)
    deviation = fwhm / np.sqrt(8 * np.log(2))
    if shape == "gaussian":
        return np.exp(-((at / deviation) ** 2) / 2) / (deviation * np.sqrt(2 * np.pi))
    if shape != "voigt":
        raise OrbitileError(f"shape: expected {', '.join(SHAPES)}, got {shape!r}")
    share = 1 / (_LORENTZIAN + np.sqrt(_BOTH + 1))  # of each part, in the whole width
    return np.asarray(voigt_profile(at, share * deviation, share * fwhm / 2))


def broadened(positions: Reals, areas: Reals, at: Reals, fwhm: float, shape: str = "lorentzian") -> Reals:
    """A sum of bands.

    Parameters
    ----------
    positions, areas : ndarray, shape (n,)
        Of the bands.
    at : ndarray, shape (m,)
        Where it is wanted, in the unit of the positions.
    fwhm, shape
        As for `band`.

    Returns
    -------
    ndarray, shape (m,)
    """
    found = np.zeros(len(at))
    for position, area in zip(positions, areas, strict=True):
        found += area * band(at - position, fwhm, shape)
    return found


def transmittance(absorption: Reals, highest: float) -> Reals:
    """Transmittance in percent of a sample of which a tenth of the light comes out where it absorbs as the highest."""
    return 100 * 10.0 ** -(absorption / highest)
