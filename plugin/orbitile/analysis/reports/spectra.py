"""Spectra of excited states and of nuclei."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...base.arguments import NUMBER, POSITIVE_NUMBER, Argument, one_of
from ...base.arrays import Reals
from ...model.report import Curve, Plot, Report, Table, column
from ...model.spectrum import Spectrum
from ..spectra import NANOMETRE, SHAPES, band, broadened, kind_named

TITLE = "UV, ECD and NMR spectra"
HELP = "ultraviolet, circular dichroism and NMR spectra that a file has"
KIND = "spectra"
GROUP = "Excited states"
PLOTS = True
INSTANT = True
PRIORITY = 59
PARAMETERS = (
    Argument("fwhm", POSITIVE_NUMBER, "full width at half maximum of a band in eV or ppm", None, "0.4 eV; 0.05 ppm"),
    Argument("shape", one_of(*SHAPES), "shape of a band", "gaussian", "gaussian"),
    Argument("axis", one_of("energy", "wavelength"), "of excited states: eV or nm", "energy", "energy"),
    Argument("reference", NUMBER, "shielding in ppm of what chemical shifts are counted from", None, "shieldings"),
)
EXAMPLES = ("orb_spectra", "orb_spectra axis=wavelength, fwhm=0.3", "orb_spectra reference=31.8")

_POINTS, _AROUND = 2000, 3.0
"""Points of a curve, and how many widths it goes beyond the first and the last line."""


def unavailable(spectra: Sequence[Spectrum]) -> str:
    """Why there are none."""
    return "" if any(map(_is_ours, spectra)) else "the file holds no spectra of excited states or nuclei"


def _is_ours(spectrum: Spectrum) -> bool:
    return spectrum.kind in ("uv", "ecd") or spectrum.kind.startswith("nmr")


def report(spectra: Sequence[Spectrum], *, device: str | None = None, **parameters: Any) -> Report:
    """Spectra; parameters as stated, see `orbitile.analysis.spectra`."""
    ours = [spectrum for spectrum in spectra if _is_ours(spectrum)]
    titles = [_title(spectrum) for spectrum in ours]
    remarks = dict.fromkeys(remark for spectrum in ours for remark in spectrum.remarks)
    return Report(
        "spectra",
        ", ".join(titles),
        tuple(_table(spectrum, parameters["reference"]) for spectrum in ours),
        tuple(_plot(spectrum, **parameters) for spectrum in ours),
        remarks=tuple(remarks),
    )


def _title(spectrum: Spectrum) -> str:
    element = spectrum.kind.partition(":")[2]
    return f"{kind_named(spectrum.kind).title}{f' of {element}' * bool(element)}"


def _name(spectrum: Spectrum) -> str:
    return spectrum.kind.replace(":", "_")


def _fields(spectrum: Spectrum) -> tuple[str, ...]:
    """Natural transition orbitals of each excited state, hole and electron; nuclei have none."""
    if spectrum.kind.startswith("nmr"):
        return ()
    return tuple(f"nto:{n}:hole:1 nto:{n}:electron:1" for n in range(1, len(spectrum.positions) + 1))


def _shifted(spectrum: Spectrum, reference: float | None) -> Reals:
    return spectrum.positions if reference is None else reference - spectrum.positions


def _table(spectrum: Spectrum, reference: float | None) -> Table:
    is_nmr = spectrum.kind.startswith("nmr")
    columns = [column("line", range(1, len(spectrum.positions) + 1))]
    if spectrum.labels:
        columns.append(column("nucleus" if is_nmr else "label", spectrum.labels))
    if is_nmr:
        columns.append(column("shielding", spectrum.positions, "ppm", 2))
        if reference is not None:
            columns.append(column("shift", _shifted(spectrum, reference), "ppm", 2))
        return Table(_name(spectrum), _title(spectrum), tuple(columns))
    unit = "1e-40 esu^2 cm^2" if spectrum.kind == "ecd" else ""
    columns += [
        column("energy", spectrum.positions, "eV", 3),
        column("wavelength", NANOMETRE / spectrum.positions, "nm", 1),
        column("strength", spectrum.strengths, unit, 4, kind_named(spectrum.kind).strength),
    ]
    return Table(_name(spectrum), _title(spectrum), tuple(columns), fields=_fields(spectrum))


def _plot(spectrum: Spectrum, *, fwhm: float | None, shape: str, axis: str, reference: float | None) -> Plot:
    look, is_nmr = kind_named(spectrum.kind), spectrum.kind.startswith("nmr")
    width, x_label, descending = fwhm or look.fwhm, look.x_label, False
    positions = _shifted(spectrum, reference) if is_nmr else spectrum.positions
    if is_nmr and reference is not None:
        x_label, descending = "chemical shift / ppm", True
    areas = look.area(positions, np.nan_to_num(spectrum.strengths))
    low, high = float(positions.min()) - _AROUND * width, float(positions.max()) + _AROUND * width
    at = np.linspace(low if is_nmr else max(low, 0.2), high, _POINTS)
    curve = broadened(positions, areas, at, width, shape)
    sticks = areas * float(band(np.zeros(1), width, shape)[0])
    if axis == "wavelength" and not is_nmr:
        at, positions, x_label = NANOMETRE / at[::-1], NANOMETRE / positions, "wavelength / nm"
        curve = curve[::-1]
    unit = "ppm" if is_nmr else "eV"
    return Plot(
        _name(spectrum),
        f"{_title(spectrum)}, {shape} bands {width:g} {unit} wide",
        x_label,
        look.y_label,
        (Curve("", positions, sticks, "sticks", fields=_fields(spectrum)), Curve("", at, curve)),
        x_range=(float(at[-1]), float(at[0])) if descending else (float(at[0]), float(at[-1])),
    )
