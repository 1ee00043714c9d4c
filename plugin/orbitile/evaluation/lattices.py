"""Fields on lattices."""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.arrays import DeviceArray

from ..base.errors import LatticeError, OrbitileError
from ..base.memory import share
from ..base.watch import Cancel, Progress, Watch, checkpoint, stage, tell, watched
from ..fields import Field
from ..gaussians.kernels import AUTO
from ..model.lattice import Lattice
from ..model.volume import Volume
from ..model.wavefunction import Wavefunction
from .devices import Cluster, Devices, device_session, dtype_of, several
from .requests import field_of
from .slabs import MOST_POINTS, fits_device, launches, lies_within, on_slabs, require_lattice, slabs_of

if TYPE_CHECKING:
    from .cluster import ClusterTask
    from .several_devices import Task

_TOGETHER = share("fields at once", 4)
"""Values of several fields that are computed at once, at most, which takes 0.2 s on a CPU."""


def compute(
    wavefunction: Wavefunction,
    field: str | Field,
    lattice: Lattice,
    *,
    device: Devices = None,
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
        which one is at right angles to the other two. Of a periodic system, those that lie in its cell.
    device
        `auto` (the default: CUDA, then a real Vulkan GPU, then the CPU), `cuda`, `vulkan` or `cpu`; or several of one
        machine, each in a process of its own: `cuda:0,1`, `cuda:all`; or the workers of a Dask cluster: `dask`,
        `dask:tcp://host:8786` or a `distributed.Client` (docs/clusters.md).
    precision
        `single` (error below 2e-6 of the largest value) or `double` (below 1e-12).
    kernel
        Of an orbital: `auto`, the fastest by recorded measurements, for few points on a CPU the one that needs no
        compiler; or one of `gaussians.kernels.kernel_names()`. Those that approximate Gaussians have own errors
        (docs/kernels.md), in single precision only.
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

    Examples
    --------
    >>> wfn = ob.load("benzene.molden")
    >>> volume = ob.compute(wfn, "homo", ob.Lattice.around(wfn, spacing=0.4, margin=5.0))
    >>> volume.values.shape, volume.quantity, volume.unit
    ((50, 47, 26), 'HOMO (orbital 21)', 'bohr^-3/2')
    """
    dtype = dtype_of(precision)
    with watched(progress, cancelled):
        resolved = field_of(wavefunction, field).with_kernel(kernel)
        require_lattice(lattice, dtype.itemsize)
        if devices := _several(device, resolved):
            with _prepared(devices, wavefunction, field, lattice, precision) as task:
                values = task.whole()
            return Volume(values, lattice, resolved.quantity, resolved.unit)
        launching = launches(wavefunction, [resolved], lattice, precision)
        with device_session(device, precision, launching=launching) as target:
            slabs = slabs_of(wavefunction, resolved, lattice, target)
            values = np.empty(lattice.shape, dtype)
            with made_present(values) if target.device == "vulkan" else nullcontext():
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
    device: Devices = None,
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
        with _prepared(devices, wavefunction, field, lattice, precision) as task:
            yield from task.slabs(watch)
        return
    launching = launches(wavefunction, [resolved], lattice, precision)
    with device_session(device, precision, launching=launching) as target:
        with watch.stage():
            slabs = slabs_of(wavefunction, resolved, lattice, target)
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
    device: Devices = None,
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
    device: Devices,
    precision: str,
    watch: Watch,
) -> Iterator[Volume]:
    done = 0
    while done < len(fields):
        group = _group(fields[done:], lattice)
        alone = len(group) < 2 or _several(device, group[0]) or not lies_within(wavefunction, lattice)
        values = None
        if not alone:
            with watch.stage(done / len(fields), (done + len(group)) / len(fields)):
                checkpoint()
                launching = launches(wavefunction, group, lattice, precision)
                values = _together(group, lattice, device, precision, launching)
        if values is None:
            with watch.stage(done / len(fields), (done + 1) / len(fields)):
                volume = compute(wavefunction, fields[done], lattice, device=device, precision=precision)
            yield volume
            done += 1
        else:
            for part, field in zip(values, group, strict=True):
                yield Volume(part, lattice, field.quantity, field.unit)
            done += len(group)
        with watch.stage():
            tell(done / len(fields))


def _group(fields: list[Field], lattice: Lattice) -> list[Field]:
    """The fields at the head of a list that may be computed together, and are few enough."""
    group = fields[:1]
    for field in fields[1 : _TOGETHER // lattice.n_points]:
        if not group[0].joins(field):
            break
        group.append(field)
    return group


def _together(
    fields: Sequence[Field], lattice: Lattice, device: Devices, precision: str, launching: bool
) -> NDArray[np.floating] | None:
    """Values of several fields, shape (n, nx, ny, nz), or None where they have nothing to share."""
    with device_session(device, precision, launching=launching) as target:
        evaluate = fields[0].together(fields[1:], lattice, target)
        if evaluate is None:
            return None
        nx, ny, nz = lattice.shape
        out = target.empty((len(fields) * nx, ny, nz))
        evaluate(0, nx, out)
        values: NDArray[np.floating] = out if isinstance(out, np.ndarray) else out.to_numpy()
        return values.reshape(len(fields), nx, ny, nz)


def compute_on_device(
    wavefunction: Wavefunction,
    field: str | Field,
    lattice: Lattice,
    *,
    device: str | None = None,
    precision: str = "single",
    kernel: str = "auto",
) -> DeviceArray:
    """Evaluate a field on a lattice and leave the values on the device.

    Beside the values, lists of what matters where take about as much memory, for densities several times as much.

    Parameters
    ----------
    wavefunction, field, lattice, device, precision, kernel
        As for `compute`.

    Returns
    -------
    array on the device, shape `lattice.shape`
        `to_numpy()` copies it to the host. It is lost when another device is asked for.

    Raises
    ------
    LatticeError
        When the field is not an orbital and has no separable form on this lattice, or the points are too many for it or
        for the memory of the device.
    DeviceError
        When the device cannot be used, or its lists for this lattice would be too long.
    """
    resolved = field_of(wavefunction, field).with_kernel(kernel)
    with device_session(device, precision) as target:
        from taichi_kernels.arrays import allocate
        from taichi_kernels.devices import probe
        from taichi_kernels.launching import synchronise

        evaluate = on_slabs(wavefunction, resolved, lattice, target)
        if evaluate is None:
            raise LatticeError(
                "values can stay on the device only for fields with a separable form (no potentials) on "
                "lattices with an "
                "axis at right angles to the other two; use compute"
            )
        if lattice.n_points > MOST_POINTS:
            raise LatticeError(
                f"values can stay on the device for at most {MOST_POINTS} points, got {lattice.n_points}; use compute"
            )
        if not fits_device(lattice, target):
            memory = probe(target.device).memory or 0
            raise LatticeError(
                f"values on {lattice.n_points} points, with what is computed beside them, would take more than half of "
                f"the {memory / 1e9:.1f} GB of {target.device}; use compute, which goes slab by slab"
            )
        out = allocate(lattice.shape, target.dtype)
        evaluate(0, lattice.shape[0], out)
        synchronise()
        return out


def _prepared(
    devices: tuple[str, ...] | Cluster, wavefunction: Wavefunction, field: str | Field, lattice: Lattice, precision: str
) -> AbstractContextManager[Task | ClusterTask]:
    if isinstance(devices, Cluster):  # what reaches other processes is imported where it is wanted
        from .cluster import prepared_on_cluster

        return prepared_on_cluster(devices, wavefunction, field, lattice, precision)
    from .several_devices import prepared

    return prepared(devices, wavefunction, field, lattice, precision)


def _several(device: Devices, field: Field) -> tuple[str, ...] | Cluster:
    """Several devices, or none where one is asked for. They know fields by name, and so no choice of a kernel."""
    devices = several(device)
    if devices and field.kernel != AUTO:
        raise OrbitileError(
            f"kernel {field.kernel}: several devices at once compute with auto only; name one device, such as cuda"
        )
    return devices


# ---- memory of results: a page of new memory is found and cleared when it is first written to, which takes a thread
# 0.2 s a GB, longer than a GPU takes for an orbital, and than the copy. Linux does that for many pages at once, when
# asked (since 5.14, 2021); elsewhere nothing is done, and the copy finds the pages as before.

_POPULATE_WRITE = 23
"""MADV_POPULATE_WRITE of Linux: make pages present for writing, whatever is in them stays."""

_THREADS = 4
"""Threads that make pages present; more would wait for each other."""

_PIECE = share("pages")
"""Bytes that a thread deals with at once: a millisecond or two."""

_PAGE = 1 << 12


@contextmanager
def made_present(array: NDArray[Any]) -> Iterator[None]:
    """Make the pages of an array present, from its beginning on, while the block runs; values do not change.

    What is not present when the block ends is left to whoever writes there.

    Parameters
    ----------
    array : ndarray
        One that is not contiguous is left alone.
    """
    populate = _populate()
    if populate is None or array.nbytes < 2 * _PIECE or not array.flags.c_contiguous:
        yield
        return
    begin = -(-array.ctypes.data // _PAGE) * _PAGE
    end = (array.ctypes.data + array.nbytes) // _PAGE * _PAGE
    pieces, over = iter(range(begin, end, _PIECE)), Event()

    def make() -> None:
        for first in pieces:  # one iterator: each thread takes the next piece
            if over.is_set() or populate(first, min(_PIECE, end - first), _POPULATE_WRITE):
                return

    with ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1)) as threads:
        for _ in range(_THREADS):
            threads.submit(make)
        try:
            yield
        finally:
            over.set()


@lru_cache
def _populate() -> Any:
    """`madvise` of the system, which runs beside Python's threads; None where it does not know this."""
    if platform.system() != "Linux":
        return None
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    return madvise
