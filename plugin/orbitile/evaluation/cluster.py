"""One field on a Dask cluster: slabs of its lattice are tasks.

A worker of the cluster computes on the device of its process: `ORBITILE_DEVICE` there, or the best that there is. The
slabs are those of one device, and so are the values.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..base.memory import share
from ..base.watch import tell
from ..exporters import zarr as stores
from ..fields import Field
from ..files.zarr import HEADING
from ..model.lattice import Lattice
from ..model.wavefunction import Wavefunction
from ..workers import ahead, awaited, first_done
from ..workers.dask import dask_executor
from .devices import Cluster
from .several_devices import Plan, Task, compute_planes, compute_slab, ending_as_a_device, planned
from .slabs import Cuts

_Result = TypeVar("_Result")


@dataclasses.dataclass(frozen=True, eq=False)
class ClusterTask(Task):
    """A plan, and the cluster that computes it."""

    def whole(self) -> NDArray[Any]:
        """All values; slabs come as they are done, so that a slow worker keeps the others waiting at the end only."""
        values = np.empty(self.shape, self.dtype)

        def take(start: int, stop: int, slab: NDArray[Any]) -> None:
            values[start:stop] = slab

        self._in_any_order(self.cuts, lambda n: self.executor.submit(compute_slab, self.plan, n), take)
        return values

    def write(self, store: Path, lattice: Lattice) -> None:
        """Write all values to a Zarr store that was created: workers write the rows where they see its folder."""
        is_seen = awaited(self.executor.submit(_is_seen, store))

        def submit(n: int) -> Future[NDArray[Any] | None]:
            return self.executor.submit(_write_row, self.plan, store, lattice, *rows[n])

        def take(start: int, stop: int, values: NDArray[Any] | None) -> None:
            if values is not None:
                stores.write_rows(store, lattice, start, values)

        rows = stores.rows(lattice)
        self._in_any_order(rows, submit, take, comes_here=not is_seen)

    def _in_any_order(
        self,
        cuts: Cuts,
        submit: Callable[[int], Future[_Result]],
        take: Callable[[int, int, _Result], None],
        comes_here: bool = True,
    ) -> None:
        """Have all cuts computed, and each taken when it is done."""
        pending: dict[Future[_Result], int] = {}
        numbers = iter(range(len(cuts)))
        done = 0
        try:
            while True:
                most = self._most_ahead(cuts) if comes_here else ahead(self.executor)
                for n in islice(numbers, max(0, most - len(pending))):
                    pending[submit(n)] = n
                if not pending:
                    return
                for future in first_done(pending):
                    start, stop = cuts[pending.pop(future)]
                    with ending_as_a_device():
                        take(start, stop, future.result())
                    done += stop - start
                    tell(done / self.shape[0])
        finally:
            for future in pending:
                future.cancel()

    def _most_ahead(self, cuts: Cuts) -> int:
        """It follows how many workers there are, and what fits in memory here."""
        planes = max(stop - start for start, stop in cuts)
        size = planes * self.shape[1] * self.shape[2] * self.dtype.itemsize
        return max(2, min(ahead(self.executor), share("slabs under way", size)))


def _is_seen(store: Path) -> bool:
    return (store / HEADING).is_file()


def _write_row(plan: Plan, store: Path, lattice: Lattice, start: int, stop: int) -> NDArray[Any] | None:
    """Compute a row of a store and write it, or return it where the folder of the store is not seen."""
    values = compute_planes(plan, start, stop)
    if not _is_seen(store):
        return values
    stores.write_rows(store, lattice, start, values)
    return None


@contextmanager
def prepared_on_cluster(
    cluster: Cluster, wavefunction: Wavefunction, field: str | Field, lattice: Lattice, precision: str
) -> Iterator[ClusterTask]:
    """A field on a lattice on a cluster; one of its workers finds how the lattice is cut.

    Raises
    ------
    DeviceError
        When there is no such cluster, it has no scheduler or no worker for long, or a slab ends all that take it.
    OrbitileError
        As for the same request on one device.
    """
    executor = dask_executor(cluster.scheduler)
    with planned(executor, 1, wavefunction, field, lattice, precision) as task:
        yield ClusterTask(**vars(task))
