"""Other processes that do the work of a command: of this machine, or of a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..base.errors import OrbitileError

if TYPE_CHECKING:
    import argparse


def add_executor(parser: Any) -> None:
    """Add the options that say who does the work."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--workers", type=int, metavar="N", help="processes of this machine, which share its cores")
    group.add_argument(
        "--dask", metavar="ADDRESS", help="of the scheduler of a Dask cluster, such as tcp://host:8786 (extra cluster)"
    )


@contextmanager
def executor_of(options: argparse.Namespace, default: int | None = None) -> Iterator[Executor | None]:
    """Who does the work that is asked for, ended at the end of the block: in order, or at once after an error.

    Parameters
    ----------
    options
        Of a command with `add_executor`.
    default
        Workers of this machine where nothing is asked for; without it, None stands for this process alone.

    Raises
    ------
    OrbitileError
        When the number of workers is none, or there is no cluster.
    """
    from ..workers import local_workers

    n = default if options.workers is None and options.dask is None else options.workers
    if n is not None and n < 1:
        raise OrbitileError(f"--workers: expected 1 or more, got {n}")
    executor: Executor | None = None
    if options.dask is not None:
        from ..workers.dask import dask_executor

        executor = dask_executor(options.dask)
    elif n is not None:
        executor = local_workers(n)
    if executor is None:
        yield None
        return
    try:
        yield executor
    except BaseException:
        executor.shutdown(cancel_futures=True)
        raise
    executor.shutdown()
