"""Vibrations: modes, their spectra, and which atoms move in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arguments import PATHS, POSITIVE_NUMBER, Argument, one_of
from ...base.arrays import Reals
from ...base.errors import OrbitileError
from ...model.report import Curve, Plot, Report, Table, atom_names, column
from ...model.vibrations import Vibrations
from ..measured import JCAMP, Measured, read_measured
from ..spectra import KINDS, SHAPES, band, broadened, transmittance

Labels = NDArray[np.intp]

TITLE = "Vibrations and spectra"
HELP = "normal modes and their infrared, Raman and VCD spectra"
KIND = "vibrations"
GROUP = "Vibrations"
PLOTS = True
INSTANT = True
PRIORITY = 58
PARAMETERS = (
    Argument("fwhm", POSITIVE_NUMBER, "full width at half maximum of a band in cm^-1", 10.0, "10", slider=(1, 100)),
    Argument("shape", one_of(*SHAPES), "shape of a band", SHAPES[0], SHAPES[0]),
    Argument("scale", POSITIVE_NUMBER, "factor for all wavenumbers, as 0.96 for B3LYP", 1.0, "1", slider=(0.85, 1.1)),
    Argument("infrared", one_of("absorption", "transmittance"), "what the infrared spectrum shows", "absorption"),
    Argument(
        "files",
        PATHS,
        "more files of vibrations, or measured spectra (JCAMP-DX, or two columns), whose spectra are drawn too",
        (),
        "none",
    ),
)
EXAMPLES = (
    "orb_vibrations",
    "orb_vibrations scale=0.96, fwhm=15, infrared=transmittance",
    "orb_vibrations files=measured.jdx",
)

_ATTRIBUTES = {"infrared": "infrared", "raman": "raman", "vcd": "rotatory"}
"""Attributes of `Vibrations` by kind of spectrum."""
_MOVING = 0.1
"""Share of the kinetic energy of a mode from which on an atom is named, where others have more."""
_NAMED = 4
"""Atoms that are named, at most."""
_LEAST = 4000.0
"""Wavenumbers in cm^-1 up to which a spectrum goes at least."""
_POINTS_IN_A_WIDTH, _MOST = 8, 20000
"""Points of a curve."""


def unavailable(vibrations: Vibrations) -> str:
    """Why there are none."""
    return "" if vibrations.n_modes else "an atom alone has no vibrations"


def report(vibrations: Vibrations, *, device: str | None = None, **parameters: Any) -> Report:
    """Modes and spectra; parameters as stated, see `orbitile.analysis.spectra`."""
    n, n_imaginary = vibrations.n_modes, vibrations.n_imaginary
    imaginary = f", {n_imaginary} imaginary" if n_imaginary else ""
    others = [_other(file) for file in parameters["files"]]
    plots = tuple(_plot(vibrations, kind, others, **parameters) for kind in _kinds(vibrations))
    read = [one.remark for _, one in others if isinstance(one, Measured) and one.remark]
    return Report(
        "vibrations",
        f"{n} vibration{'s' * (n > 1)}{imaginary}",
        (_modes(vibrations, parameters["scale"]),),
        plots,
        remarks=(*_remarks(vibrations, parameters["scale"]), *read),
        together=True,
    )


def _other(file: Path) -> tuple[str, Vibrations | Measured]:
    """Another file of vibrations, or a measured spectrum, with its name for the legend."""
    from ...readers import load_vibrations

    if file.suffix.lower() in JCAMP:
        return file.stem, read_measured(file)
    try:
        return file.stem, load_vibrations(file)
    except OrbitileError as error:
        try:
            return file.stem, read_measured(file)
        except OrbitileError:
            raise error from None


def _kinds(vibrations: Vibrations) -> Sequence[str]:
    """Spectra that the file has; of none the infrared one, with lines of one height."""
    known = [kind for kind, name in _ATTRIBUTES.items() if np.isfinite(getattr(vibrations, name)).any()]
    return known or ["infrared"]


def _modes(vibrations: Vibrations, scale: float) -> Table:
    numbers = range(1, vibrations.n_modes + 1)
    columns = [column("mode", numbers), column("wavenumber", vibrations.wavenumbers * scale, "cm^-1", 1)]
    if vibrations.symmetries:
        columns.append(column("symmetry", vibrations.symmetries))
    for name, unit, about in (
        ("infrared", "km/mol", "integrated molar absorption coefficient"),
        ("raman", "Å^4/u", "Raman activity"),
        ("rotatory", "1e-44 esu^2 cm^2", "rotatory strength of vibrational circular dichroism"),
    ):
        values = getattr(vibrations, name)
        if len(values):
            columns.append(column(name, values, unit, 1, about, exponents=False))
    columns.append(column("reduced_mass", vibrations.reduced_masses, "u", 2, exponents=False))
    columns.append(column("atoms", _moving(vibrations), about="atoms that move most, by their shares of the motion"))
    return Table("modes", "Normal modes", tuple(columns), fields=tuple(f"mode:{n}" for n in numbers))


def _moving(vibrations: Vibrations) -> list[str]:
    """Which atoms move in each mode, by their shares of its kinetic energy."""
    names = np.array(atom_names(vibrations.atomic_numbers))
    energies = (vibrations.displacements**2).sum(axis=2) * vibrations.masses
    shares = energies / np.maximum(energies.sum(axis=1, keepdims=True), 1e-300)
    listed = []
    for of_mode in shares:
        order = np.argsort(-of_mode, kind="stable")
        moving = [a for a in order if of_mode[a] >= _MOVING * of_mode[order[0]]]
        told = [f"{names[a]} {100 * of_mode[a]:.0f} %" for a in moving[:_NAMED]]
        listed.append(", ".join(told) + ", ..." * (len(moving) > _NAMED))
    return listed


def _lines(vibrations: Vibrations, kind: str, scale: float) -> tuple[Labels, Reals, Reals]:
    """Real modes of a spectrum, their wavenumbers, and the areas of their bands."""
    strengths: Reals = getattr(vibrations, _ATTRIBUTES[kind])
    shown = np.flatnonzero(vibrations.wavenumbers > 0)
    positions = vibrations.wavenumbers[shown] * scale
    is_known = np.isfinite(strengths).any()
    return (
        shown,
        positions,
        KINDS[kind].area(positions, np.nan_to_num(strengths[shown] if is_known else 1.0 + 0 * shown)),
    )


def _plot(
    vibrations: Vibrations,
    kind: str,
    others: Sequence[tuple[str, Vibrations | Measured]],
    *,
    fwhm: float,
    shape: str,
    scale: float,
    infrared: str,
    files: Sequence[Path],
) -> Plot:
    """A spectrum of real modes: curve, and a stick a mode, as high as its own band; those of others are curves."""
    look, is_known = KINDS[kind], bool(np.isfinite(getattr(vibrations, _ATTRIBUTES[kind])).any())
    shown, positions, areas = _lines(vibrations, kind, scale)
    highest = max(_LEAST * (positions < _LEAST).all(), float(np.ceil(positions.max(initial=0.0) / 500 + 0.5) * 500))
    at = np.linspace(0.0, highest, int(min(_MOST, highest / fwhm * _POINTS_IN_A_WIDTH)) + 2)
    curve = broadened(positions, areas, at, fwhm, shape)
    sticks = areas * float(band(np.zeros(1), fwhm, shape)[0])
    top = max(float(curve.max(initial=0.0)), 1e-300)
    drawn = [(Path(vibrations.source).stem or "computed" if others else "", at, curve)]
    for name, other in others:
        if isinstance(other, Vibrations):
            drawn.append((name, at, broadened(*_lines(other, kind, scale)[1:], at, fwhm, shape)))
        elif kind == "infrared" and not other.is_electronic:
            inside = (other.positions > 0) & (other.positions < highest)
            peak = max(float(other.absorption[inside].max(initial=0.0)), 1e-300)
            drawn.append((f"{name}, measured", other.positions[inside], other.absorption[inside] / peak * top))
    title, y_label, y_range, foot = look.title, look.y_label, None, 0.0
    if not is_known:
        title, y_label = "Wavenumbers", "modes, without intensities"
    elif kind == "infrared" and infrared == "transmittance":
        y_label, y_range, foot = "transmittance / %", (0.0, 105.0), 100.0
        drawn = [(name, x, transmittance(y, top)) for name, x, y in drawn]
        sticks = transmittance(sticks, top)
    fields = tuple(f"mode:{n + 1}" for n in shown)
    return Plot(
        kind,
        f"{title}, {shape} bands {fwhm:g} cm^-1 wide{f', wavenumbers times {scale:g}' * (scale != 1)}",
        look.x_label,
        y_label,
        (Curve("", positions, sticks, "sticks", fields=fields, foot=foot), *(Curve(*curve) for curve in drawn)),
        x_range=(highest, 0.0) if look.descending else (0.0, highest),
        y_range=y_range,
    )


def _remarks(vibrations: Vibrations, scale: float) -> tuple[str, ...]:
    remarks = list(vibrations.remarks)
    if scale != 1:
        remarks.insert(0, f"all wavenumbers are multiplied by {scale:g}")
    if vibrations.n_imaginary:
        remarks.append("imaginary wavenumbers are negative; spectra leave these modes out")
    if not any(np.isfinite(getattr(vibrations, name)).any() for name in _ATTRIBUTES.values()):
        remarks.append("the file has no intensities: the sticks of all modes are of one height")
    return tuple(remarks)
