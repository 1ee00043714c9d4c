"""MRC and CCP4 maps, through mrcfile.

Format: https://www.ccpem.ac.uk/mrc-format/mrc2014 and https://www.ccp4.ac.uk/html/maplib.html. The cell has a along x
and b in the xy plane; lengths in Angstrom become bohr. Where the first point lies is said by ORIGIN (MRC) if it is not
zero, or else by NSTART and the skew transformation (CCP4).
"""

from __future__ import annotations

import importlib
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.errors import FileError
from ..files.reading import check_room
from ..model.lattice import Lattice
from ..model.units import angstrom
from ..model.volume import Volume
from ._formats import lattice_of_file, require_finite

DESCRIPTION = "MRC and CCP4 maps"
PATTERNS = ("*.mrc", "*.map", "*.ccp4")
KIND = "volume"
BYTES_OF_MODE = {0: 1, 1: 2, 2: 4, 6: 2, 12: 2}
"""Bytes a value for each mode (type of the values) that is read."""


def plausible(start: bytes) -> bool:
    """Whether there are bytes that are no text: maps of JavaScript have the suffix too."""
    return b"\0" in start


def read(path: Path) -> tuple[Volume, ...]:
    """Read a map in single precision, whatever the order of its axes, on a lattice that may be skewed."""
    path = Path(path)
    name = path.name
    mrcfile: Any = importlib.import_module("mrcfile")  # imported here because it is not needed for anything else
    try:
        with path.open("rb") as stream:
            size, start = path.stat().st_size, stream.read(1024)
        header = _checked_header(start, name)
        counts = [int(header[key]) for key in ("nx", "ny", "nz")]
        mode, extended = int(header["mode"]), int(header["nsymbt"])
        if min(counts) < 1 or extended < 0 or mode not in BYTES_OF_MODE:
            raise FileError(
                f"{name}: expected positive counts, mode {', '.join(map(str, BYTES_OF_MODE))} and an extended header "
                f"of 0 or more bytes, got counts {counts}, mode {mode}, {extended} bytes; no map of real numbers"
            )
        check_room(name, counts[0] * counts[1] * counts[2], size - 1024 - extended, BYTES_OF_MODE[mode], "values")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # bytes after the values and a wrong machine stamp do no harm
            with mrcfile.open(path, mode="r", permissive=True) as file:
                if file.data is None:
                    raise FileError(f"{name}: its values cannot be read; a damaged MRC/CCP4 map")
                values = _in_order_xyz(np.array(file.data).reshape(counts[::-1]), header, name)
    except OSError as error:
        raise FileError(f"{path}: cannot be read ({error.strerror or error})") from error
    except (ValueError, TypeError, ArithmeticError) as error:
        raise FileError(f"{name}: damaged MRC/CCP4 map ({error})") from error
    except MemoryError as error:
        raise FileError(f"{name}: too large for the memory of this machine") from error
    require_finite(values, name)
    return (Volume(values, _lattice(header, start, values.shape, name), *_labels(header)),)


def _checked_header(start: bytes, name: str) -> Any:
    """The fixed header, in the byte order of the machine stamp unless its mode makes no sense so (as mrcfile does)."""
    utils: Any = importlib.import_module("mrcfile.utils")
    dtypes: Any = importlib.import_module("mrcfile.dtypes")
    if len(start) < 1024:
        raise FileError(f"{name}: expected a header of 1024 bytes, got {len(start)}; truncated, or not a map")
    if start[208:211] != b"MAP":
        raise FileError(f"{name}: expected the mark 'MAP' at byte 209, got {start[208:212]!r}; not an MRC/CCP4 map")
    try:
        order = utils.byte_order_from_machine_stamp(start[212:216])
    except ValueError:  # common enough: Maestro writes its name there
        order = "<"
    headers = [np.frombuffer(start, dtypes.HEADER_DTYPE.newbyteorder(o))[0] for o in (order, "<>".replace(order, ""))]
    header = next((h for h in headers if int(h["mode"]) in (*BYTES_OF_MODE, 4)), headers[0])
    if 401 <= int(header["ispg"]) <= 630:
        raise FileError(f"{name}: a stack of volumes (space group {int(header['ispg'])}), expected a single volume")
    return header


def _axis_order(header: Any, name: str) -> list[int]:
    """Which of x, y, z (0, 1, 2) columns, rows and sections run along."""
    order = [int(header[key]) for key in ("mapc", "mapr", "maps")]
    if order == [0, 0, 0]:  # left out by old programs
        order = [1, 2, 3]
    if sorted(order) != [1, 2, 3]:
        raise FileError(f"{name}: expected MAPC, MAPR, MAPS to be 1, 2, 3 in any order, got {order}")
    return [axis - 1 for axis in order]


def _in_order_xyz(data: NDArray[Any], header: Any, name: str) -> NDArray[np.float32]:
    order = _axis_order(header, name)[::-1]  # of the axes of `data`: sections, rows, columns
    return np.ascontiguousarray(data.transpose([order.index(axis) for axis in range(3)]), dtype=np.float32)


def _lattice(header: Any, start: bytes, shape: tuple[int, ...], name: str) -> Lattice:
    lengths = np.array([header["cella"][key] for key in "xyz"], dtype=np.float64)
    angles = np.array([header["cellb"][key] for key in ("alpha", "beta", "gamma")], dtype=np.float64)
    intervals = np.array([header[key] for key in ("mx", "my", "mz")], dtype=np.int64)
    if not np.all(np.isfinite(lengths)) or np.any(lengths <= 0) or np.any(intervals < 1):
        got = f"{lengths.tolist()} and {intervals.tolist()}"
        raise FileError(f"{name}: expected positive cell lengths and intervals, got {got}; an image, or damaged")
    if np.all(angles == 0):  # left out by old programs
        angles = np.full(3, 90.0)
    if not np.all((angles > 0) & (angles < 180)):
        raise FileError(f"{name}: expected cell angles between 0 and 180 degrees, got {angles.tolist()}")
    axes = cell_axes(lengths, angles) / intervals[:, None]
    if not np.all(np.isfinite(axes)):
        raise FileError(f"{name}: no cell has the angles {angles.tolist()}")
    origin = np.array([header["origin"][key] for key in "xyz"], dtype=np.float64)
    if not np.any(origin):
        order = _axis_order(header, name)
        first = np.zeros(3)
        first[order] = [int(header[key]) for key in ("nxstart", "nystart", "nzstart")]
        origin, axes = _unskewed(first @ axes, axes, header, start, name)
    nx, ny, nz = shape
    return lattice_of_file(name, origin * angstrom, axes * angstrom, (nx, ny, nz))


def cell_axes(lengths: Reals, angles: Reals) -> Reals:
    """Vectors of a unit cell with a along x and b in the xy plane.

    Parameters
    ----------
    lengths, angles : ndarray, shape (3,)
        a, b, c; alpha, beta, gamma in degrees.

    Returns
    -------
    ndarray, shape (3, 3)
        One vector a row, in the unit of the lengths; NaN where no cell has these angles.
    """
    cosines = np.where(angles == 90, 0.0, np.cos(np.radians(angles)))
    sine = np.sqrt(1 - cosines[2] ** 2)
    y = (cosines[0] - cosines[1] * cosines[2]) / sine
    with np.errstate(invalid="ignore"):
        z = np.sqrt(1 - cosines[1] ** 2 - y**2)
    unit = np.array([[1.0, 0.0, 0.0], [cosines[2], sine, 0.0], [cosines[1], y, z]])
    return unit * lengths[:, None]


def _unskewed(origin: Reals, axes: Reals, header: Any, start: bytes, name: str) -> tuple[Reals, Reals]:
    """Undo the skew transformation of CCP4, Xo(map) = S (Xo(atoms) - t), where the header has one."""
    order = header.dtype["nx"].byteorder
    prefix = order if order in "<>" else "="
    if int(np.frombuffer(start, prefix + "i4", 1, 96)[0]) != 1 or int(header["nversion"]) in (20140, 20141):
        return origin, axes
    skew = np.frombuffer(start, prefix + "f4", 9, 100).astype(np.float64).reshape(3, 3)
    shift = np.frombuffer(start, prefix + "f4", 3, 136).astype(np.float64)
    if not np.all(np.isfinite(skew)) or abs(np.linalg.det(skew)) < 1e-6:
        raise FileError(f"{name}: the skew matrix of the header cannot be inverted: {skew.tolist()}")
    inverse = np.linalg.inv(skew)
    return inverse @ origin + shift, axes @ inverse.T


def _labels(header: Any) -> tuple[str, str]:
    """Quantity and unit from the labels, where Orbitile wrote them."""
    texts = [bytes(label).decode("ascii", errors="replace").strip("\0 ") for label in header["label"]]
    if not any("Orbitile" in text for text in texts):
        return "", ""
    found = {key: next((t[len(key) :] for t in texts if t.startswith(key)), "") for key in ("quantity: ", "unit: ")}
    return found["quantity: "], found["unit: "]
