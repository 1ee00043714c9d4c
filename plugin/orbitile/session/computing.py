"""How a viewer comes by samples: where they are computed, how they are waited for, and how that is withdrawn."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

from ..base.caches import Cache
from ..base.errors import Cancelled, DeviceError
from ..base.watch import checkpoint, watched
from ..evaluation.preparation import PREPARING, is_first_use
from ..model.report import Report
from ..readers import holds_volumes
from ..scf.calculation import Calculation
from ..workers import WorkerError
from .analysing import AnalysisOrder, analysed, answer_analysis
from .calculation import calculation_of_source
from .host import Viewer
from .request import MOST_FACES, Request, Sample
from .sample_worker import SampleWorker
from .samples import SampleCache
from .sampling import WavefunctionCache, in_worker, sample
from .shown_trajectory import ShownTrajectory
from .source import OneFile, Source
from .volume_file import VALUES, is_volume_file

_LOOK = 0.05
"""Seconds between two looks at whether what is read is still wanted."""

_Result = TypeVar("_Result")


class Computing:
    """What computes for one viewer.

    Parameters
    ----------
    viewer : Viewer
        Told of progress, and kept alive while something is waited for.

    Attributes
    ----------
    device : str
        What computes.
    samples, wavefunctions, reports
        Caches.
    in_worker : bool
        Whether scripts use the worker process too: that of a film has followed the orbitals already.
    """

    def __init__(self, viewer: Viewer) -> None:
        self._viewer = viewer
        self.device = "auto"
        self.samples = SampleCache()
        self.wavefunctions = WavefunctionCache()
        self.reports = Cache[Report]("analyses")
        self.in_worker = False
        self._worker: SampleWorker | None = None
        self._asked: list[Future[Any]] = []
        self._computing = False
        self._cancelled = threading.Event()
        self._announced: set[str] = set()

    @property
    def worker(self) -> SampleWorker:
        """The worker process of this viewer; it starts at the first request."""
        if self._worker is None:
            self._worker = SampleWorker()
            atexit.register(self._worker.close)
        return self._worker

    def close(self) -> None:
        """End the worker process, if it was started; the next request starts another."""
        if self._worker is not None:
            self._worker.close()

    @property
    def is_waited_for(self) -> bool:
        """Whether a command waits for something."""
        return bool(self._asked)

    def sample(self, request: Request) -> Sample:
        """Answer a request and wait for it.

        A viewer with a window is kept alive, and out of the way of crashes, by the worker; a script needs no second
        process.

        Raises
        ------
        OrbitileError
            When it cannot be met, or `cancel` withdraws it.
        """
        in_worker = self._uses_worker()
        if not is_volume_file(request.path):  # which takes no kernel
            self._announce(in_worker)
        if in_worker:
            return self._waited(self.worker.submit(request, self._viewer.progress))
        with self.cancellable() as cancelled:
            return sample(request, self.wavefunctions, self._viewer.progress, cancelled)

    @contextmanager
    def cancellable(self) -> Iterator[Callable[[], bool]]:
        """Have `cancel` withdraw what is done in the block, which asks what it is given whether that was called."""
        self._cancelled.clear()
        self._computing = True
        try:
            yield self._cancelled.is_set
        finally:
            self._computing = False

    def _uses_worker(self) -> bool:
        return bool(self._viewer.has_window() or self.in_worker or os.environ.get("ORBITILE_PYTHON"))

    def _announce(self, in_worker: bool) -> None:
        """Tell before the first request that kernels have to be compiled, where they never were."""
        if self.device in self._announced:
            return
        self._announced.add(self.device)
        with suppress(DeviceError, WorkerError):  # the request tells of it
            first = self.worker.run(is_first_use, self.device) if in_worker else None
            if is_first_use(self.device) if first is None else self._waited(first):
                self._viewer.say(f"{PREPARING} ...")

    def sampled(self, request: Request) -> Sample:
        """The sample of a request, from the cache if it is there."""
        return self.samples.get(request, self.sample)

    def report(self, order: AnalysisOrder) -> Report:
        """Do an analysis and wait for it; where and how as for `sample`.

        Raises
        ------
        OrbitileError
            When it cannot be done, or `cancel` withdraws it.
        """
        report = self.reports.get(order)
        if report is not None:
            return report
        if self._uses_worker():
            report = self._waited(self.ask_report(order, self._viewer.progress))
        else:
            with self.cancellable() as cancelled:
                report = analysed(order, self.wavefunctions, self._viewer.progress, cancelled)
        self.reports.put(order, report)
        return report

    def ask_report(self, order: AnalysisOrder, progress: Callable[[float], None] | None = None) -> Future[Report]:
        """Have the worker process do an analysis; `progress` is called from another thread."""
        job = self.worker.run(answer_analysis, order)
        vars(job)["progress"] = progress
        return job

    def calculation(
        self, source: str, given: Mapping[str, Any], otherwise: Calculation, engine: str
    ) -> tuple[Calculation, tuple[str, ...]]:
        """The calculation that a wavefunction came from, as far as an engine has it; see `calculation_for`."""
        return self.of_wavefunctions(calculation_of_source, source, dict(given), otherwise, engine)

    def of_wavefunctions(self, function: Callable[..., _Result], *arguments: Any) -> _Result:
        """What a function of a cache of wavefunctions gives, which is called where samples are computed.

        Raises
        ------
        Cancelled
            When `cancel` is called meanwhile; otherwise as the function does.
        """
        if self._uses_worker():
            return self._waited(self.worker.run(in_worker, function, *arguments))
        return function(self.wavefunctions, *arguments)

    def read(self, source: Source) -> None:
        """Read what is going to be asked for, so that nobody need wait for it then."""
        source = source if source.contents else source.noted()
        if len(source.files) == 1 and holds_volumes(source.files[0]):
            self.samples.get(self.of_file(str(OneFile(source.files[0], source.contents[0]))), self._sample_apart)
            return
        trajectory = self.wavefunctions.kept(source) or ShownTrajectory(source, self.wavefunctions.get)
        if trajectory.is_one_file:
            self.wavefunctions.get(str(OneFile(source.files[0], source.contents[0])))
        else:
            _ = trajectory.geometries, trajectory.first
            self.wavefunctions.keep(trajectory)

    def of_file(self, source: str) -> Request:
        """The request for the first volume in a file of such."""
        most_faces = MOST_FACES if self._viewer.has_window() else None
        return Request(source, VALUES, device=self.device, most_faces=most_faces)

    def _sample_apart(self, request: Request) -> Sample:
        """Answer a request in a thread of its own."""
        if not self._uses_worker():
            return sample(request, self.wavefunctions)
        asked = self.worker.submit(request)
        try:
            while not asked.done():
                wait([asked], _LOOK)
                checkpoint()
            return asked.result()
        finally:
            asked.cancel()

    def aside(self, function: Callable[[], _Result]) -> _Result:
        """The result of a function that does not touch the viewer, whose window is kept alive meanwhile.

        Raises
        ------
        Cancelled
            When `cancel` is called meanwhile; nobody waits for the function then.
        """
        return self._waited(in_thread(function)) if self._viewer.has_window() else function()

    def _waited(self, future: Future[_Result]) -> _Result:
        self._asked.append(future)  # a window that is alive takes commands, which may wait too
        try:
            self._viewer.wait(future)
            return future.result()
        except CancelledError:
            raise Cancelled("cancelled") from None
        finally:
            future.cancel()  # when the waiting was interrupted
            self._asked.remove(future)

    def cancel(self) -> bool:
        """Withdraw what is waited for, from any thread; says whether there was anything."""
        computing = self._computing
        if computing:
            self._cancelled.set()
        for asked in list(self._asked):
            computing = asked.cancel() or computing
        return computing


def in_thread(function: Callable[[], _Result]) -> Future[_Result]:
    """What a function will give, called in a thread of its own, in which another one need not wait for it.

    The future can be cancelled until the function has returned, which ends at its next checkpoint then, if it comes to
    one.
    """
    future: Future[_Result] = Future()

    def run() -> None:
        try:
            with watched(cancelled=future.cancelled):
                result = function()
        except BaseException as error:
            if future.set_running_or_notify_cancel():
                future.set_exception(error)
        else:
            if future.set_running_or_notify_cancel():
                future.set_result(result)

    threading.Thread(target=run, daemon=True).start()
    return future
