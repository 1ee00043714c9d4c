"""Computing in a process of its own: a crash, a fault of the GPU or a hung driver never takes the host along."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, TypeVar

from ..workers import Worker, Workers, environment
from .request import Request, Sample
from .sampling import answer

_Result = TypeVar("_Result")

_NICE = 5
"""How far the process steps back where processors are few: the window of the viewer is to be drawn first."""

_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""For the linear algebra of a frame: matrices are small, and several threads take longer to meet than to compute."""


class SampleWorker:
    """The worker of a viewer, one process (`orbitile.workers`) that answers requests in their order.

    Parameters
    ----------
    python : str, optional
        Interpreter to run it with, one that has Taichi; otherwise the one that `ORBITILE_PYTHON` names, otherwise
        that of this process.
    patience : float
        Seconds that it may go on with a request that was withdrawn, while another waits.
    """

    def __init__(self, python: str | None = None, patience: float = 5.0) -> None:
        self._python, self._patience = python or os.environ.get("ORBITILE_PYTHON"), patience
        self._workers = self._begun()

    def _begun(self) -> Workers:
        worker = Worker("the worker", python=self._python, settings=one_thread, patience=self._patience, nice=_NICE)
        return Workers([worker])

    def submit(self, request: Request, progress: Callable[[float], None] | None = None) -> Future[Sample]:
        """Ask for a sample; `progress` is called from another thread with the share that is done.

        Returns
        -------
        Future
            Its exception is an `OrbitileError`: what was wrong with the request, or how the worker ended.
        """
        job = self._workers.submit(answer, request)
        job.progress = progress
        return job

    def run(self, function: Callable[..., _Result], *arguments: Any) -> Future[_Result]:
        """Have a function of a module run in the process, after what was asked for before."""
        return self._workers.submit(function, *arguments)

    @property
    def process_id(self) -> int | None:
        """Process number of the worker, while it runs."""
        return self._workers.workers[0].process_id

    def close(self) -> None:
        """End the process; pending requests are cancelled, and a later one starts another process."""
        workers, self._workers = self._workers, self._begun()
        workers.shutdown(cancel_futures=True)


def one_thread() -> Mapping[str, str]:
    """The environment of a process whose linear algebra is that of small matrices."""
    return {**_ONE_THREAD, **environment()}
