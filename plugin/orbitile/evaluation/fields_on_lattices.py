"""Where a field meets a lattice or points: device, memory, slabs, progress, cancellation."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from taichi_kernels.target import PRECISIONS, Target

from ..errors import DeviceError, FieldError, IsovalueError, LatticeError, OrbitileError
from ..fields import Field, resolve
from ..fields.orbital import Orbital, together
from ..gaussians.extent import directions
from ..kernels import AUTO, checked_name
from ..kernels._tolerances import tolerances
from ..memory import available_memory
from ..model.charges import PointCharges
from ..model.lattice import QUALITIES, Lattice, spacing_for, spacing_of
from ..model.surface import Surface
from ..model.units import angstrom
from ..model.volume import Volume
from ..model.wavefunction import Wavefunction
from ..surfaces.enclosure import enclosure, enclosure_along_rays
from ..surfaces.isosurface import isosurface, isosurface_in_session, working_bytes
from ..surfaces.isovalue import check_share, on_faces, positive_isovalue
from ..watch import Cancel, Progress, Watch, checkpoint, stage, tell, watched
from .several_devices import prepared, several
from .slabs import MOST_POINTS, at_tiles, slabs_of

_RESERVE = 256 << 20
"""Bytes left to everything but the result."""

_SMALL = 1 << 25
"""Bytes of a result below which nobody asks how much memory there is: asking takes as long as a small orbital."""

_TOGETHER = 1 << 25
"""Values of several orbitals that are computed at once, at most: 128 MiB in single precision, 0.2 s on a CPU."""

_CLOSE = 3 * QUALITIES["medium"]
"""Distance in bohr of a surface from an atom below which the spacing of a lattice follows it."""

_MOST_RESOLVING = 1 << 24
"""Points of a lattice up to which it does."""

_ELSEWHERE, _BEYOND = 0.05, 2e-4
"""Shares of what is outside the surface that may be on other atoms, and farther from the atom, of an orbital on one."""

_RAYS, _RAYS_INSIDE, _RATIO, _FEWEST_RADII = 256, 40, 1.14, 8
"""Directions from that atom, fewer where little of the orbital is, and ratio of neighbouring radii."""

_STEPS, _FEWEST_STEPS = 6.0, 4.0
"""Points of the lattice for a default isovalue between an atom and the surface; where they are many, fewer."""

_POINTS, _MOST = 1 << 17, 1 << 23
"""Points that such a lattice has before they are many, of all orbitals together, and at most."""

_OUTSIDE, _MISSING = 3e-3, 0.02
"""Shares of what is outside the surface that the first lattice may leave out, by an estimate, and by its own values."""

_ROUGH, _SMOOTH, _ATTEMPTS = 0.9, 0.7, 5
"""Change from point to point at the surface, in units of the isovalue, above which a finer lattice is taken; what that
one aims at; and how often."""

_AGREEING, _DRAWN, _NO_GAP = 0.009, 0.0195, 1e-6
"""Difference of the logarithms of the isovalues in a degenerate set; by how much each may be moved for that, which
changes the share by 0.4 %; and difference of energies in hartree that parts no set."""

_FAINTEST = tolerances(np.dtype(np.float64)).isovalue


def compute(
    wavefunction: Wavefunction,
    field: str | Field,
    lattice: Lattice,
    *,
    device: str | None = None,
    precision: str = "single",
    kernel: str = "auto",
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> Volume:
    """Evaluate a field on a lattice.

    Parameters
    ----------
    wavefunction
        From `load`.
    field
        Name of a field: `homo`, `lumo+1`, `mo:17:beta`, ...
    lattice
        Where: any origin, axes and shape. Orthogonal axes, in any orientation, are fastest by far; then those of
        which one is at right angles to the other two.
    device
        `auto` (the default: CUDA, then a real Vulkan GPU, then the CPU), `cuda`, `vulkan` or `cpu`; or several of one
        machine, each in a process of its own: `cuda:0,1`, `cuda:all`.
    precision
        `single` (error below 2e-6 of the largest value) or `double` (below 1e-12).
    kernel
        Of an orbital: `auto`, the fastest by recorded measurements, or one of `orbitile.kernels.kernel_names()`. Those
        that approximate Gaussians have errors of their own (docs/kernels.md), in single precision only.
    progress
        Called with the share that is done, from 0 to 1.
    cancelled
        Asked now and then; when it says True the computation stops.

    Returns
    -------
    Volume
        Values of float32 or float64, in atomic units.

    Raises
    ------
    FieldError
        For an unknown field, or a kernel other than `auto` for a field that is not an orbital.
    OrbitileError
        For an unknown kernel, or one that does not serve this lattice, device or precision.
    LatticeError
        When the result would not fit in memory; nothing has been allocated then.
    DeviceError
        When the device cannot be used.
    Cancelled
        When `cancelled` said so.
    """
    dtype = dtype_of(precision)
    with watched(progress, cancelled):
        resolved = with_kernel(field_of(wavefunction, field), kernel)
        require_memory(lattice, dtype.itemsize)
        if devices := _several(device, resolved):
            with prepared(devices, wavefunction, field, lattice, precision) as task:
                values = task.whole()
            return Volume(values, lattice, resolved.quantity, resolved.unit)
        with device_session(device, precision) as target:
            slabs = slabs_of(resolved, lattice, target)
            values = np.empty(lattice.shape, dtype)
            for start, stop in slabs.cuts:
                with stage(start / lattice.shape[0], stop / lattice.shape[0]):
                    slabs.fill(start, stop, values[start:stop])
                tell(stop / lattice.shape[0])
    return Volume(values, lattice, resolved.quantity, resolved.unit)


def computed_slabs(
    wavefunction: Wavefunction,
    field: str | Field,
    lattice: Lattice,
    *,
    device: str | None = None,
    precision: str = "single",
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> Generator[NDArray[np.floating], None, None]:
    """Evaluate a field on a lattice that need not fit in memory: the values of `compute`, slab by slab.

    Parameters
    ----------
    wavefunction, field, lattice, device, precision, progress, cancelled
        As for `compute`.

    Yields
    ------
    ndarray of float32 or float64, shape (planes, ny, nz)
        The next planes along the first axis, in order. It is written over when the next slab is asked for.
    """
    watch = Watch(progress, cancelled)
    with watch.stage():
        resolved = field_of(wavefunction, field)
    dtype = dtype_of(precision)
    if devices := _several(device, resolved):
        with prepared(devices, wavefunction, field, lattice, precision) as task:
            yield from task.slabs(watch)
        return
    with device_session(device, precision) as target:
        with watch.stage():
            slabs = slabs_of(resolved, lattice, target)
        held = np.empty((max(stop - start for start, stop in slabs.cuts), *lattice.shape[1:]), dtype)
        for start, stop in slabs.cuts:
            with watch.stage(start / lattice.shape[0], stop / lattice.shape[0]):
                slabs.fill(start, stop, held[: stop - start])
            yield held[: stop - start]
            with watch.stage():
                tell(stop / lattice.shape[0])


def compute_many(
    wavefunction: Wavefunction,
    fields: Iterable[str | Field],
    lattice: Lattice,
    *,
    device: str | None = None,
    precision: str = "single",
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> Iterator[Volume]:
    """Evaluate several fields on one lattice, one after the other as they are asked for.

    Orbitals that stand side by side are computed together as long as they hold 32 million values at most: they share
    tables and screening, and cost less than each alone. Their values differ from those of `compute` by no more than the
    error that either may have. The volumes of such a group share one array.

    Parameters
    ----------
    wavefunction, lattice, device, precision, cancelled
        As for `compute`.
    fields
        Names of fields.
    progress
        Called with the share of all fields that is done.

    Yields
    ------
    Volume
        In the order of the fields. Those of one group at most are in memory, unless the caller keeps them.

    Raises
    ------
    FieldError, LatticeError, DeviceError, Cancelled
        As for `compute`; for an unknown field before anything is computed.
    """
    watch = Watch(progress, cancelled)
    with watch.stage():
        resolved = [field_of(wavefunction, field) for field in fields]
    dtype_of(precision)
    return _computed(wavefunction, resolved, lattice, device, precision, watch)


def _computed(
    wavefunction: Wavefunction,
    fields: list[Field],
    lattice: Lattice,
    device: str | None,
    precision: str,
    watch: Watch,
) -> Iterator[Volume]:
    done = 0
    while done < len(fields):
        group = _group(fields[done:], lattice)
        alone = len(group) < 2 or _several(device, group[0])
        values = None
        if not alone:
            with watch.stage(done / len(fields), (done + len(group)) / len(fields)):
                checkpoint()
                values = _together(group, lattice, device, precision)
        if values is None:
            with watch.stage(done / len(fields), (done + 1) / len(fields)):
                volume = compute(wavefunction, fields[done], lattice, device=device, precision=precision)
            yield volume
            done += 1
        else:
            for one, field in zip(values, group, strict=True):
                yield Volume(one, lattice, field.quantity, field.unit)
            done += len(group)
        with watch.stage():
            tell(done / len(fields))


def _group(fields: list[Field], lattice: Lattice) -> list[Orbital]:
    """The orbitals of one wavefunction at the head of a list that are few enough to be computed together."""
    group: list[Orbital] = []
    for field in fields[: _TOGETHER // lattice.n_points]:
        if not isinstance(field, Orbital) or (group and field.wavefunction is not group[0].wavefunction):
            break
        group.append(field)
    return group


def _together(
    orbitals: list[Orbital], lattice: Lattice, device: str | None, precision: str
) -> NDArray[np.floating] | None:
    """Values of several orbitals, shape (n, nx, ny, nz), or None where they have nothing to share."""
    with device_session(device, precision) as target:
        evaluate = together(orbitals, lattice, target)
        if evaluate is None:
            return None
        nx, ny, nz = lattice.shape
        out = target.empty((len(orbitals) * nx, ny, nz))
        evaluate(0, nx, out)
        values: NDArray[np.floating] = out if isinstance(out, np.ndarray) else out.to_numpy()
        return values.reshape(len(orbitals), nx, ny, nz)


def compute_on_device(
    wavefunction: Wavefunction,
    field: str | Field,
    lattice: Lattice,
    *,
    device: str | None = None,
    precision: str = "single",
    kernel: str = "auto",
) -> Any:
    """Evaluate a field on a lattice and leave the values on the device.

    Beside the values, lists of what matters where take about as much memory, for densities several times as much.

    Parameters
    ----------
    wavefunction, field, lattice, device, precision, kernel
        As for `compute`.

    Returns
    -------
    array on the device, shape `lattice.shape`
        `to_numpy()` brings it home. It is lost when another device is asked for.

    Raises
    ------
    LatticeError
        When the field is not an orbital and has no separable form on this lattice, or the points are too many.
    DeviceError
        When the device cannot be used, or its lists for this lattice would be too long.
    """
    resolved = with_kernel(field_of(wavefunction, field), kernel)
    with device_session(device, precision) as target:
        from taichi_kernels.arrays import allocate
        from taichi_kernels.launching import synchronise

        evaluate = resolved.on_slabs(lattice, target)
        if evaluate is None:
            raise LatticeError(
                "values stay on the device for fields with a separable form (no potentials) on lattices with an axis "
                "at right angles to the other two; use compute"
            )
        if lattice.n_points > MOST_POINTS:
            raise LatticeError(
                f"values stay on the device for {MOST_POINTS} points at most, got {lattice.n_points}; use compute"
            )
        out = allocate(lattice.shape, target.dtype)
        evaluate(0, lattice.shape[0], out)
        synchronise()
        return out


def compute_surface(
    wavefunction: Wavefunction,
    field: str | Field,
    isovalue: float,
    lattice: Lattice | None = None,
    *,
    device: str | None = None,
    precision: str = "single",
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> Surface:
    """Isosurface of a field, without its values on a lattice.

    On a GPU the values stay there and the mesh alone is brought home, where the points of the lattice are 67 million at
    most and the field has a kernel for it: an orbital on any lattice, other fields (but the electrostatic potential)
    where an axis is at right angles to the other two. Lists of what matters where take the memory of the values once
    more, or several times that for densities. Otherwise this is `isosurface` of what `compute` gives.

    Parameters
    ----------
    wavefunction, field, device, precision, progress
        As for `compute`.
    isovalue
        Positive, in atomic units.
    lattice
        Where to sample; without one the `enclosing_lattice` of medium quality.
    cancelled
        Asked now and then; when it says True the computation stops.

    Returns
    -------
    Surface
        As from `isosurface`.

    Raises
    ------
    IsovalueError
        When the isovalue is not a positive number, or the field reaches it nowhere on the lattice.
    OrbitileError
        As `compute` does.
    """
    dtype = dtype_of(precision)
    with watched(progress, cancelled):
        resolved = field_of(wavefunction, field)
        isovalue = positive_isovalue(isovalue, resolved.quantity)
        if isovalue < (faintest := tolerances(dtype).isovalue):
            other = ", or double precision" if isovalue >= _FAINTEST else ""
            raise IsovalueError(
                f"isovalue of {resolved.quantity}: values below {faintest:g} are errors of {precision} "
                f"precision, got {isovalue:g}; choose a larger one{other}"
            )
        if lattice is None:
            lattice = enclosing_lattice(wavefunction, resolved, isovalue)
        with device_session(device, precision) as target:
            evaluate = None
            if not target.on_host and _fits_kernel(lattice):
                evaluate = resolved.on_slabs(lattice, target)
            if evaluate is not None:
                checkpoint()
                values = target.empty(lattice.shape)
                evaluate(0, lattice.shape[0], values)
                tell(1.0)
                return isosurface_in_session(values, lattice, isovalue, resolved.quantity, resolved.unit, target)
            require_memory(lattice, dtype.itemsize + working_bytes(dtype), "and its isosurface ")
            volume = compute(wavefunction, resolved, lattice, device=device, precision=precision)
        checkpoint(1.0)
        return isosurface(volume, isovalue)


def extract_surface(volume: Volume, isovalue: float, *, device: str | None = None) -> Surface:
    """Isosurface of a volume by the kernel that `compute_surface` uses, for a program that extracts many.

    The same surface as from `isosurface`, several times as fast, for half a second at the first call of a process.

    Parameters
    ----------
    volume, isovalue
        As for `isosurface`.
    device
        As for `compute`.

    Returns
    -------
    Surface
        As from `isosurface`.

    Raises
    ------
    IsovalueError, LatticeError
        As `isosurface` does.
    DeviceError
        When the device cannot be used.
    """
    if not _fits_kernel(volume.lattice):
        return isosurface(volume, isovalue)
    with device_session(device, "single") as target:
        from taichi_kernels.arrays import send

        values: Any = np.ascontiguousarray(volume.values, target.dtype)
        if not target.on_host:
            home, values = values, target.empty(values.shape)
            send(values, home)
        return isosurface_in_session(values, volume.lattice, isovalue, volume.quantity, volume.unit, target)


def surface_in_motion(
    wavefunction: Wavefunction,
    field: str | Field,
    isovalue: float,
    lattice: Lattice,
    *,
    device: str | None = None,
) -> Surface:
    """Isosurface of one frame of many, as fast as it can be had.

    What frames of one basis set share is kept from one to the next: the packed basis set and the layout of the kernel
    as long as a frame lives that has it, the workspace on the device as long as the lattice stays. On a GPU the values
    stay there; on a CPU the surface is extracted by the kernel too, whose loading takes half a second, once.

    Parameters
    ----------
    wavefunction, field, isovalue, lattice, device
        As for `compute_surface`.

    Returns
    -------
    Surface
        As from `isosurface`.

    Raises
    ------
    OrbitileError
        As `compute_surface` does.
    """
    with device_session(device, "single") as target:
        if not target.on_host:
            return compute_surface(wavefunction, field, isovalue, lattice, device=device)
        return extract_surface(compute(wavefunction, field, lattice, device=device), isovalue, device=device)


def _fits_kernel(lattice: Lattice) -> bool:
    from taichi_kernels.marching_cubes import MOST_POINTS

    return lattice.n_points <= MOST_POINTS


def evaluate(
    wavefunction: Wavefunction,
    field: str | Field,
    points: ArrayLike,
    *,
    device: str | None = None,
    precision: str = "single",
    kernel: str = "auto",
    cancelled: Cancel | None = None,
) -> NDArray[np.floating]:
    """Evaluate a field at points.

    Parameters
    ----------
    wavefunction, field, device, precision, kernel
        As for `compute`.
    points : array_like, shape (n, 3)
        In bohr.
    cancelled
        Asked now and then; when it says True the computation stops.

    Returns
    -------
    ndarray of float32 or float64, shape (n,)
        In atomic units.

    Raises
    ------
    OrbitileError
        When the points have another shape or are not finite numbers; otherwise as for `compute`.
    Cancelled
        When `cancelled` said so.
    """
    dtype = dtype_of(precision)
    where = checked_points(points)
    values = np.empty(len(where), dtype)
    with watched(cancelled=cancelled):
        resolved = with_kernel(field_of(wavefunction, field), kernel)
        with device_session(device, precision) as target:
            at_tiles(resolved.at_points(target), where, values)
    return values


def potential_of_charges(
    charges: PointCharges, points: ArrayLike, *, device: str | None = None, precision: str = "single"
) -> NDArray[np.float64]:
    """Electrostatic potential of given charges at points.

    Parameters
    ----------
    charges
        From `load_charges` or `charges_of_density`. They stay on the device between calls.
    points : array_like, shape (n, 3)
        In bohr.
    device
        As for `compute`.
    precision
        `single`: terms in single precision, error below 3e-7 of the sum of |q| / distance; `double`: 1e-13.

    Returns
    -------
    ndarray of float64, shape (n,)
        In hartree/e. At a point charge it is large and finite.
    """
    where = checked_points(points)
    with device_session(device, precision) as target:
        return charges.potential_in_session(where, target)


def checked_points(points: ArrayLike) -> NDArray[np.float64]:
    """Points as an array of shape (n, 3).

    Raises
    ------
    OrbitileError
        When they have another shape or are not finite numbers.
    """
    try:
        where = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise OrbitileError(f"points: expected numbers of shape (n, 3), got {type(points).__name__}") from error
    if where.ndim != 2 or where.shape[1] != 3:
        raise OrbitileError(f"points: expected shape (n, 3), got {where.shape}")
    if not np.all(np.abs(where) < 1e7):
        raise OrbitileError("points: expected finite coordinates below 1e7 bohr, got NaN, infinity or larger")
    return where


def enclosing_lattice(
    wavefunction: Wavefunction,
    field: str | Field,
    isovalue: float,
    *,
    spacing: float | None = None,
    points: int | None = None,
    quality: str = "medium",
) -> Lattice:
    """A lattice that holds the whole isosurface of a field: outside it the field is smaller than the isovalue, proven.

    For the electrostatic potential, which falls too slowly for a bound, it is an estimate, and reaches 30 bohr at most;
    `is_cut` tells whether the surface is whole.

    Parameters
    ----------
    wavefunction, field
        As for `compute`.
    isovalue
        Positive, in atomic units.
    spacing
        In bohr.
    points
        Number of points along the longest edge, in place of a spacing.
    quality
        Where neither is given: `coarse`, `medium` or `fine`, 0.25, 0.15 or 0.075 Angstrom; less for a surface that is
        close to its atoms, see `resolving_spacing`. Fields whose isosurfaces are thin (the reduced density gradient) or
        end where the density falls (the ionisation energy) take down to a third of that, see `Field.fewest_points`.
    """
    resolved = field_of(wavefunction, field)
    if not (np.isfinite(isovalue) and isovalue >= _FAINTEST):
        raise LatticeError(f"isovalue: expected a positive number of {_FAINTEST:g} or more, got {isovalue}")
    low, high = resolved.enclosing_box(isovalue)
    first, last = wavefunction.positions.min(axis=0), wavefunction.positions.max(axis=0)
    step = spacing
    if spacing is None and points is None:
        step = resolving_spacing(wavefunction, resolved, isovalue, quality)
        if step < spacing_of(quality) and np.all(low < high):
            # a surface close to a few atoms does not need a fine lattice about all the others
            first, last = low, high
            step = max(step, float(np.prod(high - low) / _MOST_RESOLVING) ** (1 / 3))
    # atoms stay inside, and one more point on each side closes the surface
    low, high = np.minimum(low, first), np.maximum(high, last)
    if points is not None:
        if points < 4:
            raise LatticeError(f"points along the longest edge: expected 4 or more, got {points}")
        step = spacing_for(low, high, points - 2)
    elif spacing is None and resolved.fewest_points:
        assert step is not None
        step = min(step, max(step / 3, float(np.prod(high - low) / resolved.fewest_points) ** (1 / 3)))
    assert step is not None
    return Lattice.box(low - step, high + step, step)


def is_cut(
    surface: Surface, wavefunction: Wavefunction, field: str | Field, lattice: Lattice, *, device: str | None = None
) -> bool:
    """Whether an isosurface goes on beyond the lattice that it was extracted from.

    Parameters
    ----------
    surface
        From `compute_surface`.
    wavefunction, field, lattice, device
        With which it was computed.
    """
    if on_faces(surface, lattice):
        return True
    resolved = field_of(wavefunction, field)
    if resolved.is_bounded:
        return False
    # the outer sheet about an ion, which is round, may lie outside as a whole
    ends = np.array([[0.0, 0, 0], np.array(lattice.shape) - 1.0])
    corners = np.array([[ends[i, 0], ends[j, 1], ends[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])
    values = evaluate(wavefunction, resolved, lattice.origin + corners @ lattice.axes, device=device)
    return bool(np.any(np.abs(values) >= surface.isovalue))


def resolving_spacing(wavefunction: Wavefunction, field: str | Field, isovalue: float, quality: str) -> float:
    """Spacing in bohr of a named quality, halved until it shows the surface of an orbital that is compact.

    As often as the surface is closer to an atom than three spacings of medium quality, 0.45 Angstrom: so cores are not
    passed over, and other orbitals have the spacing of the quality. Fields that are no orbitals have it too.

    Parameters
    ----------
    wavefunction, field
        As for `compute`.
    isovalue
        In atomic units.
    quality
        `coarse`, `medium` or `fine`.
    """
    step, resolved = spacing_of(quality), field_of(wavefunction, field)
    if not isinstance(resolved, Orbital):
        return step
    radius = resolved.spread.radius_at(isovalue)
    if not np.isfinite(radius):
        return step  # it has no such surface
    return float(step / 2 ** max(0, int(np.ceil(np.log2(_CLOSE / radius)))))


def fits(wavefunction: Wavefunction, field: str | Field, isovalue: float, lattice: Lattice) -> bool:
    """Whether a lattice along x, y and z is proven to hold the isosurface of an orbital, as `enclosing_lattice` would.

    False for other fields and lattices: it stands for "not known". Quicker by far than a new lattice.
    """
    resolved = field_of(wavefunction, field)
    if not isinstance(resolved, Orbital) or not np.array_equal(lattice.axes, np.diag(np.diag(lattice.axes))):
        return False
    step = np.diag(lattice.axes)
    low, high = lattice.origin + step, lattice.origin + (np.array(lattice.shape) - 2) * step
    inside = np.all(low <= wavefunction.positions) and np.all(wavefunction.positions <= high)
    return bool(inside) and resolved.is_enclosed(low, high, isovalue)


def default_isovalue(
    wavefunction: Wavefunction, field: str | Field, share: float = 0.9, *, device: str | None = None
) -> float:
    """An isovalue that shows a field well.

    For an orbital, the one whose surface encloses a share of the square of the orbital, whatever its extent; other
    fields have a customary one.

    Parameters
    ----------
    wavefunction, field, device
        As for `compute`.
    share
        0.9 stands for 90 % of the electron that the orbital describes.

    Returns
    -------
    float
        In the unit of the field, rounded to four digits. The share is met within 0.005: an orbital on one atom is
        sampled along rays from it, others on a lattice whose spacing follows from how close the surface comes to the
        atoms. Within this, those of degenerate orbitals agree to 1 %, unless their shapes differ too much for that.
    """
    field = field_of(wavefunction, field)
    if field.isovalue is not None:
        return field.isovalue
    assert isinstance(field, Orbital)  # every other field has one
    check_share(share)
    return float(f"{_in_degenerate_set(field, share, device):.4g}")


def _in_degenerate_set(orbital: Orbital, share: float, device: str | None) -> float:
    """Isovalue of an orbital, drawn towards those of the orbitals that it is degenerate with.

    The shapes of a degenerate set differ, and so do the isovalues that enclose a share: by 3 % for the d orbitals of
    an atom. They are moved to their middle until they differ by `_AGREEING`. Where some would have to move by more
    than `_DRAWN`, the set is parted at its widest gap, for orbitals may be close in energy by accident; and where there
    is no gap, each keeps its own.
    """
    wavefunction, members = orbital.wavefunction, orbital.degenerate
    asked, known = wavefunction.cache.get("isovalues", (None, {}))
    if asked != (share, device):  # those of one share are kept, and so as many as there are orbitals
        known = {}
        wavefunction.cache["isovalues"] = (share, device), known
    key = orbital.spin, members
    if key not in known:
        known[key] = np.log(_enclosing_isovalues([orbital.sibling(index) for index in members], share, device))
    values: NDArray[np.float64] = known[key]
    energies, mine = wavefunction.orbitals(orbital.spin).energies[list(members)], members.index(orbital.index)
    begin, end = 0, len(members)
    while end - begin > 1:
        low, high = values[begin:end].min(), values[begin:end].max()
        if high - low <= _AGREEING + 2 * _DRAWN:
            kept = min(1.0, _AGREEING / max(high - low, _AGREEING))
            return float(np.exp((low + high) / 2 + kept * (values[mine] - (low + high) / 2)))
        gaps = np.diff(energies[begin:end])
        widest = begin + 1 + int(np.argmax(gaps))
        if gaps.max() < _NO_GAP:
            break
        begin, end = (widest, end) if mine >= widest else (begin, widest)
    return float(np.exp(values[mine]))


def _enclosing_isovalues(orbitals: Sequence[Orbital], share: float, device: str | None) -> list[float]:
    """Isovalues that enclose a share of each orbital: along rays where it is on one atom, else on lattices."""
    on_atoms = [one.spread.atoms(_ELSEWHERE * (1 - share)) for one in orbitals]
    spread_out = [one for one, atoms in zip(orbitals, on_atoms, strict=True) if len(atoms) > 1]
    on_lattices = iter(_isovalues_on_lattices(spread_out, share, device) if spread_out else ())
    return [
        _isovalue_along_rays(one, int(atoms[0]), share, device) if len(atoms) == 1 else next(on_lattices)
        for one, atoms in zip(orbitals, on_atoms, strict=True)
    ]


def _isovalue_along_rays(orbital: Orbital, atom: int, share: float, device: str | None) -> float:
    nearest, farthest = orbital.spread.range(atom, _BEYOND * (1 - share))
    border = orbital.spread.range(atom, 1 - share)[0]
    zones = [
        (np.geomspace(near, far, max(_FEWEST_RADII, 2 + int(np.log(far / near) / np.log(_RATIO)))), rays)
        for near, far, rays in ((nearest, border, _RAYS_INSIDE), (border, farthest, _RAYS))
    ]
    part_of = 2 if orbital.is_even_or_odd else 1  # a hemisphere is enough
    along = {rays: directions(part_of * rays)[:rays] for _, rays in zones}
    offsets = np.concatenate([(radii[:, None, None] * along[rays]).reshape(-1, 3) for radii, rays in zones])
    values = evaluate(orbital.wavefunction, orbital, orbital.spread.position[atom] + offsets, device=device)
    parts = np.split(values.astype(np.float64), [len(zones[0][0]) * _RAYS_INSIDE])
    return enclosure_along_rays(
        [(radii, part.reshape(-1, rays)) for (radii, rays), part in zip(zones, parts, strict=True)], share, 1.0
    )


def _isovalues_on_lattices(orbitals: Sequence[Orbital], share: float, device: str | None) -> list[float]:
    """Of orbitals that are alike, on the same lattices."""
    guesses = [one.spread.isovalue(share) for one in orbitals]
    boxes = np.array([one.spread.box(_OUTSIDE * (1 - share)) for one in orbitals])
    low, high = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
    step = min(one.spread.radius_at(guess) for one, guess in zip(orbitals, guesses, strict=True)) / _STEPS
    room = float(np.prod(high - low + 4 * step))
    step = max(step, min(step * _STEPS / _FEWEST_STEPS, (room * len(orbitals) / _POINTS) ** (1 / 3)))
    for _ in range(_ATTEMPTS):
        step = max(step, (float(np.prod(high - low + 4 * step)) / _MOST) ** (1 / 3))
        lattice = Lattice.box(low - 2 * step, high + 2 * step, step)
        volumes = compute_many(orbitals[0].wavefunction, orbitals, lattice, device=device)
        found = [enclosure(volume.values, lattice.cell_volume, share, 1.0) for volume in volumes]
        shown = [one for one in found if one is not None]
        guesses = [guess if one is None else one.isovalue for guess, one in zip(guesses, found, strict=True)]
        if len(shown) < len(found):
            step /= 2
        elif max(one.missing for one in shown) > _MISSING * (1 - share):
            margin = 0.15 * float((high - low).max())
            low, high = low - margin, high + margin
        elif (variation := max(one.variation for one in shown)) > _ROUGH:
            step *= _SMOOTH / min(variation, 4 * _SMOOTH)
        else:
            break
    return guesses


def require_memory(lattice: Lattice, itemsize: int, what: str = "") -> None:
    """Refuse a lattice that would not fit in memory with so many bytes a point.

    `what` says what they hold beside the values.

    Raises
    ------
    LatticeError
        Says what would fit.
    """
    if lattice.n_points * itemsize < _SMALL:
        return
    needed = lattice.n_points * itemsize + _RESERVE
    available = available_memory()
    if available is None or needed <= available:
        return
    factor = (needed / max(available - _RESERVE, 1 << 20)) ** (1 / 3) * 1.01
    spacing = lattice.spacings / angstrom * factor
    raise LatticeError(
        "a lattice of {} x {} x {} points {}needs {:.1f} GB of memory, {:.1f} GB are available; a spacing of {:.3g} "
        "Angstrom in place of {:.3g} would fit, and `orbitile volume` or compute_to_file write it to a file without "
        "holding it".format(*lattice.shape, what, needed / 1e9, available / 1e9, spacing[0], spacing[0] / factor)
    )


def field_of(wavefunction: Wavefunction, field: str | Field) -> Field:
    """The field that a name stands for; a `Field` is handed back as it is.

    Raises
    ------
    FieldError
        When there is none, or what is given as a wavefunction is something else.
    """
    if not isinstance(wavefunction, Wavefunction):
        raise FieldError(f"expected a wavefunction, as from load(...), got {type(wavefunction).__name__}")
    if isinstance(field, str) or not hasattr(field, "at_points"):
        return resolve(wavefunction, field)  # type: ignore[arg-type]  # which refuses what is no name
    return field


def with_kernel(field: Field, kernel: str) -> Field:
    """The same field, computed by a kernel of one's choice.

    Raises
    ------
    OrbitileError
        When there is no such kernel.
    FieldError
        When the field is not an orbital, for any kernel but `auto`.
    """
    if isinstance(field, Orbital):
        return field if kernel == AUTO else field.with_kernel(kernel)
    if checked_name(kernel) != AUTO:
        raise FieldError(
            f"kernel {kernel}: only orbitals have a choice of kernels, and {field.quantity} is none; leave it at auto"
        )
    return field


def _several(device: str | None, field: Field) -> tuple[str, ...]:
    """Several devices, or none where one is asked for. They know fields by name, and so no choice of a kernel."""
    devices = several(device)
    if devices and isinstance(field, Orbital) and field.kernel != AUTO:
        raise OrbitileError(
            f"kernel {field.kernel}: several devices at once compute with auto only; name one device, such as cuda"
        )
    return devices


def dtype_of(precision: str) -> np.dtype[np.floating]:
    """NumPy's type of numbers in a precision that was asked for.

    Raises
    ------
    OrbitileError
        When it is neither single nor double.
    """
    if precision not in PRECISIONS:
        raise OrbitileError(f"precision: expected {' or '.join(PRECISIONS)}, got {precision!r}")
    return np.dtype(precision)


def one_device(device: str | None) -> str:
    """Name of the one device that a request stands for, `ORBITILE_DEVICE` where it does not say.

    Raises
    ------
    DeviceError
        When there is no such device, or devices are asked for by number.
    """
    from taichi_kernels.devices import DeviceUnavailable, choose

    if named := several(device):
        raise DeviceError(
            f"device {','.join(named)}: only volume, compute, compute_to_file and compute_many take devices by number; "
            "here say cuda, with CUDA_VISIBLE_DEVICES=1 for another GPU, or cpu"
        )
    try:
        return choose(device)
    except DeviceUnavailable as error:
        raise DeviceError(str(error)) from error


@contextmanager
def device_session(device: str | None, precision: str) -> Iterator[Target]:
    """Hold the device that a request stands for, with its errors made ours."""
    from taichi_kernels.devices import DeviceUnavailable
    from taichi_kernels.session import session

    dtype_of(precision)
    one_device(device)
    try:
        with session(device, precision) as name:
            yield Target(name, precision)
    except DeviceUnavailable as error:
        raise DeviceError(str(error)) from error
    except RuntimeError as error:  # what Taichi raises when a device fails or its memory is used up
        raise DeviceError(f"the device failed: {' '.join(str(error).split())[:300]}") from error
