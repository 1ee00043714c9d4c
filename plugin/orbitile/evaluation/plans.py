"""A field on a lattice for whoever computes a slab of it: in this process, in a worker, or on another machine.

A slab is computed by a plain function of a plan and a number, `compute_slab`, so that any executor of
`concurrent.futures` can have it done.
"""

from __future__ import annotations

import dataclasses
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.errors import DeviceError
from ..base.watch import stage
from ..fields import Field
from ..model.lattice import Lattice
from ..model.wavefunction import Wavefunction
from .devices import account_of
from .requests import field_of
from .ring import hold
from .slabs import Cuts, Slabs, slabs_of

Array = NDArray[Any]


@dataclasses.dataclass(frozen=True)
class Pickled:
    """An object as plain data, told from others by its key: a process that has it reads no further."""

    key: str
    data: NDArray[np.uint8] = dataclasses.field(compare=False)


@dataclasses.dataclass(frozen=True)
class Plan:
    """A field on a lattice, for whoever computes a slab of it.

    Attributes
    ----------
    wavefunction : Pickled
    request : Pickled
        Field, lattice and precision. Both may be sent apart, see `DaskExecutor.keep`.
    """

    wavefunction: Pickled
    request: Pickled


def slab_cuts(plan: Plan) -> Cuts:
    """The slabs of a plan, the same everywhere; errors as for `compute_slab`."""
    with _failing_as_a_device():
        return _prepared(plan).slabs.cuts


def compute_slab(plan: Plan, n: int, out: Array | None = None, ring: Array | None = None) -> Array:
    """Compute one slab on the device of this process.

    Parameters
    ----------
    plan : Plan
    n : int
        Number of the slab.
    out : ndarray, shape of the slab, optional
        Where its values are written to, in memory that is shared with this process.
    ring : ndarray, optional
        Shared memory that will be written to again and again, and is held until there is another.

    Returns
    -------
    ndarray, shape of the slab
        `out`, or a new array.

    Raises
    ------
    OrbitileError
        As for the same request on one device.
    """
    from taichi_kernels.session import session

    with _failing_as_a_device():
        prepared = _prepared(plan)
        start, stop = prepared.slabs.cuts[n]
        if out is None:
            out = np.empty((stop - start, *prepared.shape[1:]), np.dtype(prepared.precision))
        prepared.out = out
        with session(None, prepared.precision):
            if ring is not None:
                hold(ring)
            prepared.slabs.fill(start, stop, out)
    return out


def compute_planes(plan: Plan, start: int, stop: int) -> Array:
    """Compute planes of a lattice on the device of this process; errors as for `compute_slab`.

    Parameters
    ----------
    plan : Plan
    start, stop : int
        The first plane, a multiple of 8, and the one behind the last, a multiple of 8 or the number of planes.

    Returns
    -------
    ndarray, shape (stop - start, ny, nz)
        The values of slabs, bit by bit: where the cuts matter they are at multiples of 8 planes.
    """
    from taichi_kernels.session import session

    with _failing_as_a_device():
        prepared = _prepared(plan)
        step = prepared.slabs.cuts[0][1]
        values = np.empty((stop - start, *prepared.shape[1:]), np.dtype(prepared.precision))
        with session(None, prepared.precision):
            for first in range(start, stop, step):
                last = min(first + step, stop)
                with stage((first - start) / len(values), (last - start) / len(values)):
                    prepared.slabs.fill(first, last, values[first - start : last - start])
    return values


def release() -> None:
    """Let go of tables on the device; the wavefunction and the memory of a ring are kept for the next plan."""
    _prepared_on.cache_clear()


@dataclasses.dataclass(eq=False)
class _Prepared:
    """A plan with its tables on the device; `out` keeps memory mapped that is written to again and again."""

    slabs: Slabs
    shape: tuple[int, int, int]
    precision: str
    out: Array | None = None


@lru_cache(maxsize=1)
def _wavefunction(pickled: Pickled) -> Wavefunction:
    return pickle.loads(pickled.data.data)


@lru_cache(maxsize=1)
def _request(pickled: Pickled) -> tuple[str | Field, Lattice, str]:
    return pickle.loads(pickled.data.data)


def _prepared(plan: Plan) -> _Prepared:
    from taichi_kernels.session import generation, session

    with session(None, _request(plan.request)[2]) as device:
        return _prepared_on(plan, device, generation())


@lru_cache(maxsize=1)
def _prepared_on(plan: Plan, device: str, generation: int) -> _Prepared:
    """Within a session of the device, with whose generation it is lost: others use this process too, on a cluster."""
    from taichi_kernels.target import Target

    field, lattice, precision = _request(plan.request)
    wavefunction = _wavefunction(plan.wavefunction)
    slabs = slabs_of(wavefunction, field_of(wavefunction, field), lattice, Target(device, precision))
    return _Prepared(slabs, lattice.shape, precision)


@contextmanager
def _failing_as_a_device() -> Iterator[None]:
    """What goes wrong with a device is its error."""
    from taichi_kernels.devices import DeviceUnavailable

    try:
        yield
    except (DeviceUnavailable, RuntimeError) as error:
        raise DeviceError(account_of(error)) from error
    except MemoryError as error:
        raise DeviceError("the process of a device has no memory left for this") from error
