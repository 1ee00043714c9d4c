"""Isovalues: which ones a volume has, the one that encloses a share, and surfaces that the box cuts."""

from __future__ import annotations

import numpy as np

from ..base.errors import IsovalueError, LatticeError, NoSurface
from ..model.lattice import Lattice
from ..model.surface import Surface
from ..model.units import angstrom
from ..model.volume import Volume
from .enclosure import enclosure


def on_faces(surface: Surface, lattice: Lattice) -> bool:
    """Whether a surface ends at the faces of the lattice that it was extracted from, and is open there."""
    indices = (surface.vertices - lattice.origin) @ np.linalg.inv(lattice.axes)
    last = np.array(lattice.shape) - 1
    return bool(np.any((indices < _ON_FACE) | (indices > last - _ON_FACE)))


_ON_FACE = 1e-3
"""Distance from a face of the lattice, in steps of it, within which a vertex lies on it: they are in float32."""


def reaches_faces(volume: Volume, isovalue: float) -> bool:
    """Whether an isosurface goes on beyond the lattice of a volume: cut by its faces, or a sheet outside as a whole.

    That there is one shows where a field is larger than the isovalue on all the faces, but larger still inside: it has
    not yet fallen to it. A field that grows outwards, as the reduced density gradient, has none.
    """
    values = volume.values
    faces = (values[0], values[-1], values[:, 0], values[:, -1], values[:, :, 0], values[:, :, -1])
    magnitudes = [np.abs(face) for face in faces]
    least, most = min(float(face.min()) for face in magnitudes), max(float(face.max()) for face in magnitudes)
    return least < isovalue <= most or (isovalue <= least and most < max(-float(values.min()), float(values.max())))


CUT = "the surface is cut at the faces of the box: it goes on beyond"
"""What a user is told where it does."""


SHARE = 0.9
"""Share of the probability of an orbital that a surface encloses by default."""


def enclosing_isovalue(volume: Volume, share: float = SHARE) -> float:
    r"""Isovalue of the surface that encloses a share of the probability of an orbital.

    Parameters
    ----------
    volume : Volume
        An orbital. The lattice should hold nearly all of it: the share is taken of what the lattice holds.
    share : float
        Between 0 and 1.

    Returns
    -------
    float
        The isovalue c, in the unit of the volume, for which
        :math:`\int_{|\psi| \geq c} \psi^2 = \mathtt{share} \int \psi^2`, to the resolution of the lattice.

    Raises
    ------
    IsovalueError
        When the share is not between 0 and 1, or the volume is zero everywhere.
    LatticeError
        When a value is not a finite number.

    Notes
    -----
    The definition of G. Haranczyk and M. Gutowski, J. Chem. Theory Comput. 2008, 4, 689. It makes orbitals of
    different spread look comparable, which one isovalue for all of them does not.
    """
    check_share(share)
    range_of(volume)
    norm = float(np.square(volume.values, dtype=np.float64).sum()) * volume.lattice.cell_volume
    if norm == 0:
        raise IsovalueError(f"{name_of(volume)} is zero on the whole lattice: no surface encloses a share of it")
    found = enclosure(volume.values, volume.lattice.cell_volume, share, norm)
    assert found is not None  # all of the norm is on the lattice
    return found.isovalue


def suitable_isovalue(volume: Volume, share: float = SHARE) -> float:
    """An isovalue for a volume of which nothing is known but its values.

    A field of both signs is taken for an orbital, whose surface encloses a share of its square. Of one of a single
    sign, 60 % of its square root are enclosed: of densities that is a surface as chemists draw it, from 0.003 for
    lithium hydride to 0.03 for benzene, in which the cores of heavy atoms, badly sampled, count for little. Where such
    a surface goes on beyond the lattice, the largest that does not is taken, unless that one would be small: then half
    the greatest magnitude.

    Returns
    -------
    float
        In the unit of the volume, rounded to four digits.

    Raises
    ------
    IsovalueError, LatticeError
        As for `enclosing_isovalue`, and for a lattice with a single point along an axis.
    """
    check_shape(volume.lattice, name_of(volume))
    low, high = range_of(volume)
    most, values = max(-low, high), volume.values
    if min(-low, high) > _NOISE * most:
        level = enclosing_isovalue(volume, share)
    else:
        fourth_root = np.maximum(values if high > -low else -values, 0) ** 0.25
        level = enclosing_isovalue(Volume(fourth_root, volume.lattice, volume.quantity), _OF_ROOT) ** 4
    if reaches_faces(volume, level):
        edges = [np.abs(face).max() for axis in range(3) for face in (values.take(at, axis) for at in (0, -1))]
        whole = 1.05 * float(max(edges))
        level = whole if whole < _SMALL * most else most / 2
    return float(f"{level:.4g}")


_OF_ROOT = 0.6
"""Share of the square root of a field of a single sign that is enclosed."""

_NOISE, _SMALL = 0.01, 0.8
"""Shares of the greatest magnitude up to which values of the other sign are inaccuracies, and above which a surface is
small."""


def check_share(share: float) -> None:
    """Refuse what is no share of the probability of an orbital.

    Raises
    ------
    IsovalueError
        When it is not between 0 and 1.
    """
    if not 0 < share < 1:
        raise IsovalueError(f"share of the probability to enclose: expected a number between 0 and 1, got {share!r}")


def positive_isovalue(isovalue: float, name: str, volume: Volume | None = None) -> float:
    """The isovalue as a float; with a volume, an error also says which values there are.

    Raises
    ------
    IsovalueError
        When it is not a positive number.
    """
    try:
        number = float(isovalue)
    except (TypeError, ValueError):
        number = float("nan")
    if not (np.isfinite(number) and number > 0):
        known = ""
        if volume is not None:
            smallest, largest = range_of_magnitude(volume)
            known = f"; |value| goes from {smallest:.3g} to {largest:.3g}{_unit(volume.unit)} on this lattice"
        raise IsovalueError(
            f"isovalue of {name}: expected a positive number (both signs of the field are drawn), got {isovalue!r}"
            + known
        )
    return number


def single_precision_level(isovalue: float) -> float:
    """The isovalue, rounded to float32, so that all comparisons with values in float32 agree."""
    with np.errstate(over="ignore"):
        return float(np.float32(isovalue))


def check_shape(lattice: Lattice, name: str) -> None:
    """Refuse a lattice with a single point along an axis.

    Raises
    ------
    LatticeError
        When there is one.
    """
    if min(lattice.shape) < 2:
        raise LatticeError(
            f"isosurface of {name}: expected 2 or more points along each axis, got a lattice of shape "
            f"{lattice.shape}; sample the field on a lattice with a volume"
        )


def no_surface(isovalue: float, name: str, unit: str, smallest: float, largest: float, lattice: Lattice) -> NoSurface:
    """The error for an isovalue that a volume, with values from smallest to largest, does not reach."""
    finer = ""
    if isovalue > largest:
        finer = f", or for a small surface a spacing below {lattice.spacings.max() / angstrom:.3g} Angstrom"
    return NoSurface(
        f"isovalue {isovalue:g} of {name}: nothing has this value on the lattice, where |value| goes from "
        f"{smallest:.3g} to {largest:.3g}{_unit(unit)}; choose an isovalue between the two{finer}"
    )


def range_of(volume: Volume) -> tuple[float, float]:
    """Least and greatest value of a volume, which must be finite."""
    low, high = float(volume.values.min()), float(volume.values.max())
    if not (np.isfinite(low) and np.isfinite(high)):
        bad = int(np.count_nonzero(~np.isfinite(volume.values)))
        raise LatticeError(f"{name_of(volume)}: expected finite values, got {bad} that are NaN or infinite")
    return low, high


def range_of_magnitude(volume: Volume) -> tuple[float, float]:
    """Least and greatest magnitude in a volume."""
    low, high = range_of(volume)
    smallest = max(low, -high, 0.0) if low > 0 or high < 0 else float(np.abs(volume.values).min())
    return smallest, max(abs(low), abs(high))


def name_of(volume: Volume) -> str:
    """Quantity of a volume, for messages."""
    return volume.quantity or "this volume"


def _unit(unit: str) -> str:
    return f" {unit}" if unit else ""
