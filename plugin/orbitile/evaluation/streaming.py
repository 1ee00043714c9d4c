"""Fields on lattices that need not fit in memory: from slab to slab into a file."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import closing
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from ..base.errors import FileError
from ..base.watch import Cancel, Progress, watched
from ..exporters import Exporter, exporter_for, exporter_modules, placed, write_slabs
from ..exporters import zarr as stores
from ..fields import Field
from ..files.writing import checked_target, refuse_inputs
from ..model.lattice import Lattice
from ..model.volume import VolumeHeader
from ..model.wavefunction import Wavefunction
from .cluster import prepared_on_cluster
from .devices import Cluster, Devices, dtype_of, several
from .lattices import computed_slabs
from .requests import field_of

_MARGIN = 1 << 20
"""Bytes for what stands in a file beside the values: header, atoms."""


def compute_to_file(
    wavefunction: Wavefunction,
    field: str | Field,
    lattice: Lattice,
    path: str | PathLike[str],
    *,
    format: str | None = None,
    device: Devices = None,
    precision: str = "single",
    progress: Progress | None = None,
    cancelled: Cancel | None = None,
) -> None:
    """Evaluate a field on a lattice and write it to a file slab by slab, without holding it.

    The values are those of `compute`, bit by bit. Memory: one slab, of 8 planes or 8 million points, whichever is more,
    and its screening lists. In an MRC/CCP4 file z is the fastest axis and x the slowest, and the header says so (MAPC,
    MAPR, MAPS); `save`, which has the whole volume at hand, writes them the other way round. To a Zarr store the
    workers of a Dask cluster write what they compute themselves, if they see its folder.

    Parameters
    ----------
    wavefunction, field, lattice, device, precision, progress, cancelled
        As for `compute`.
    path
        The file; an existing one is replaced once the new one is whole.
    format
        As for `save`: "cube", "opendx", "mrc" or "npz", where the suffix does not tell.

    Raises
    ------
    FileError
        When the format cannot hold the lattice, the disk has no room for the file, it cannot be written, or it is the
        one that the wavefunction was read from. Nothing is left behind then.
    FieldError, LatticeError, DeviceError, Cancelled
        As for `compute`.
    """
    exporter = exporter_for(path, "volume", format=format)
    refuse_inputs(path, [wavefunction.source])
    resolved = field_of(wavefunction, field)
    header = VolumeHeader(lattice, dtype_of(precision), resolved.quantity, resolved.unit)
    if exporter.largest_size is not None:
        _require_space(path, exporter, exporter.largest_size(header) + _MARGIN)
    devices = several(device)
    if isinstance(devices, Cluster) and exporter is exporter_modules()["zarr"]:
        with (
            watched(progress, cancelled),
            placed(exporter, path) as store,
            prepared_on_cluster(devices, wavefunction, field, lattice, precision) as task,
        ):
            stores.create(store, header, wavefunction)
            task.write(store, lattice)
            stores.finish(store, lattice)
        return
    slabs = computed_slabs(
        wavefunction,
        field if devices else resolved,  # other processes know it by its name
        lattice,
        device=device,
        precision=precision,
        progress=progress,
        cancelled=cancelled,
    )
    # closed here, since it holds the device
    with closing(slabs), placed(exporter, path) as temporary:
        write_slabs(exporter, header, _finite(slabs), temporary, wavefunction)


def _finite(slabs: Iterable[NDArray[np.floating]]) -> Iterator[NDArray[np.floating]]:
    for slab in slabs:
        if not np.isfinite(slab).all():
            raise FileError("the field has values that are NaN or infinite here, which no reader accepts")
        yield slab


def _require_space(path: str | PathLike[str], exporter: Exporter, needed: int) -> None:
    """Refuse a file for which the disk has no room, before anything is computed."""
    target = checked_target(path, exporter.replaces)
    try:
        free = shutil.disk_usage(target.parent).free
    except OSError:  # not every file system tells: writing will
        return
    if needed > free:
        raise FileError(
            f"{path}: needs {needed / 1e9:.3g} GB of disk, {free / 1e9:.3g} GB are free in {target.parent}; choose "
            "another folder, a larger spacing, or .mrc (4 bytes a point)"
        )
