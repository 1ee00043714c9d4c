"""Measured spectra, to be compared with computed ones: JCAMP-DX by the package jcamp, or two columns of text."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stdout
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np

from ..base.arrays import Reals
from ..base.errors import FileError
from ..base.packages import required
from ..files.encodings import text_of
from ..files.reading import read_bytes, user_path
from .spectra import NANOMETRE

JCAMP = (".jdx", ".dx", ".jcm", ".jcamp")
"""Endings of files in JCAMP-DX."""

_PERCENT = 2.0
"""Transmittance above which it is in percent, as that of nothing is 1."""
_LEAST = 1e-4
"""Least transmittance, below which detectors see noise."""


@dataclass(frozen=True, eq=False)
class Measured:
    """A measured spectrum.

    Attributes
    ----------
    name : str
        For a legend.
    positions : ndarray, shape (n,)
        Ascending, in cm^-1; of visible and ultraviolet light in eV.
    absorption : ndarray, shape (n,)
        In any unit; of a transmittance its negative decadic logarithm.
    is_electronic : bool
        Whether it is of visible or ultraviolet light.
    remark : str
        How the file was understood where it does not tell.
    """

    name: str
    positions: Reals
    absorption: Reals
    is_electronic: bool = False
    remark: str = ""


def read_measured(path: str | PathLike[str]) -> Measured:
    """Read a measured spectrum.

    Raises
    ------
    FileError
        When it cannot be read, or holds no spectrum.
    OrbitileError
        When it needs the package jcamp, which is not installed.
    """
    file = user_path(path)
    text = text_of(read_bytes(file))
    if file.suffix.lower() in JCAMP or text.lstrip().startswith("##"):
        x, y, x_unit, y_unit = _jcamp(file, text)
    else:
        x, y, x_unit, y_unit = _columns(file, text)
    if len(x) < 2 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise FileError(f"{file.name}: expected a spectrum of at least two points, got {len(x)}")
    remarks = [] if y_unit else [f"{file.name}: {_guess(y)}, as its values look"]
    if "micro" in x_unit:
        x = 1e4 / x
    is_electronic = "nano" in x_unit or x_unit in ("nm", "ev")
    if is_electronic and x_unit != "ev":
        x = NANOMETRE / x
    if "transmit" in (y_unit or _guess(y)):
        y = -np.log10(np.maximum(y / (100 if y.max() > _PERCENT else 1), _LEAST))
    order = np.argsort(x, kind="stable")
    return Measured(file.stem, x[order], y[order], is_electronic, "; ".join(remarks))


def _guess(y: Reals) -> str:
    """Transmittance where values are mostly high, absorption where they are mostly low."""
    return "transmittance" if np.median(y) > (y.max() + y.min()) / 2 else "absorption"


def _jcamp(file: Path, text: str) -> tuple[Reals, Reals, str, str]:
    jcamp = required("jcamp", FileError, f"{file.name}: JCAMP-DX needs the package jcamp")
    told = io.StringIO()  # of lines that do not fit each other, the package tells by printing
    try:
        with redirect_stdout(told):
            found = jcamp.read(text.splitlines())
        blocks = [found, *found.get("children", ())]
        found = next((block for block in blocks if len(block.get("x", ()))), found)
        x, y = np.asarray(found["x"], np.float64), np.asarray(found["y"], np.float64)
    except Exception as error:
        raise FileError(f"{file.name}: cannot be read as JCAMP-DX ({error})") from error
    if len(x) != len(y) or "Y-Check" in told.getvalue():
        raise FileError(f"{file.name}: damaged: its checks fail, {len(x)} places and {len(y)} values")
    return x, y, str(found.get("xunits", "")).lower(), str(found.get("yunits", "")).lower()


def _columns(file: Path, text: str) -> tuple[Reals, Reals, str, str]:
    rows = []
    for line in text.splitlines():
        words = re.split(r"[;\s]+|,\s", line.strip().strip(","))
        words = line.split(",") if len(words) == 1 and line.count(",") == 1 else words
        try:
            rows.append((float(words[0].replace(",", ".")), float(words[1].replace(",", "."))))
        except (ValueError, IndexError):
            if len(rows) > 1:
                break  # what stands below a table
            rows = []
    found = np.array(rows, np.float64).reshape(-1, 2)
    return found[:, 0], found[:, 1], "", ""
