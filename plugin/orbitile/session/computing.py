"""How a viewer comes by samples: where they are computed and kept, how they are waited for, and how that is withdrawn.

They are computed in a process of its own where there is a window: a crash, a fault of the GPU or a hung driver never
takes the host along. `Computing` waits for what commands ask, `Asking` never waits for what a window asks, and
`Preparing` has kernels made ready while nobody asks for anything.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import CancelledError, Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from ..base.caches import Cache
from ..base.errors import Cancelled, DeviceError, OrbitileError
from ..base.watch import checkpoint, watched
from ..evaluation.preparation import FIRST, PREPARING, STEPS, is_first_use, is_prepared, keep, take_step
from ..model.report import Report
from ..pictures.look import Look
from ..pictures.request import MOST_FACES, Box, Request, Sample, box_of
from ..readers import holds_volumes
from ..scf.calculation import Calculation
from ..workers import Worker, WorkerError, Workers, environment
from .analysing import AnalysisOrder, analysed, answer_analysis
from .calculation import calculation_of_source
from .host import Viewer
from .sampling import ShownTrajectory, WavefunctionCache, answer, in_worker, rehearse, sample
from .source import VALUES, OneFile, Source, is_volume_file

_SILENCE = 0.3
"""Seconds without a word after which a share moves on by itself: more than pass between two reports of work that tells
how far it is."""


class Advance:
    """How far some work has come, as far as is known.

    Parameters
    ----------
    room : float
        By how much the share that is shown may be ahead of the one that was told last, in the end: a process that
        starts, and a compiler, tell nothing.
    seconds : float
        In which it goes half of the way to there.
    """

    def __init__(self, room: float, seconds: float) -> None:
        self._room, self._seconds = room, seconds
        self._shown, self._limit, self._when = 0.0, room, time.monotonic()

    def tell(self, share: float) -> None:
        """Take note of the share that is done; from any thread."""
        shown = max(self.share, share)
        self._shown, self._limit, self._when = shown, max(shown, min(1.0, share + self._room)), time.monotonic()

    @property
    def share(self) -> float:
        """The share to be shown, from 0 to 1; it only grows."""
        quiet = max(0.0, time.monotonic() - self._when - _SILENCE)
        return self._shown + (self._limit - self._shown) * quiet / (quiet + self._seconds)


_MOST_SAMPLES = 150
"""Samples at most: one of another process has a file open, of which there may be some hundred only."""


class SampleCache:
    """Samples most recently used by what was asked for: sources say what their files hold."""

    def __init__(self) -> None:
        self._held = Cache[Sample]("samples", most=_MOST_SAMPLES, size=lambda held: held.n_bytes)

    def known(self, request: Request) -> Sample | None:
        """The sample of a request, if it is there."""
        return self._held.get(request)

    def get(self, request: Request, make: Callable[[Request], Sample]) -> Sample:
        """The sample of a request, made if it is not there; nobody else waits meanwhile."""
        return self._held.of(request, partial(make, request))

    def put(self, sample: Sample) -> None:
        """Keep a sample; the oldest ones go."""
        self._held.put(sample.request, sample)

    def put_behind(self, sample: Sample) -> None:
        """Keep a sample that was computed ahead; the one that was asked for last stays the last to be dropped."""
        newest = self._held.items()[-1:]
        self.put(sample)
        for request, _ in newest:
            self.known(request)

    def last_box(self, path: str, quality: str) -> Box | None:
        """Where the field of a file was sampled last at this quality: a lattice that serves the next one too."""
        for request, held in reversed(self._held.items()):
            if request.path == path and request.quality == quality:
                return box_of(held.volume.lattice)
        return None

    def __contains__(self, request: Request) -> bool:
        return request in self._held

    def __iter__(self) -> Iterator[Sample]:
        """Samples, the one asked for last at the end."""
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)


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


_LOOK = 0.05
"""Seconds between two looks at whether what is read is still wanted."""


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
        try:
            trajectory = self.wavefunctions.kept(source) or ShownTrajectory(source, self.wavefunctions.get)
            if trajectory.is_one_file:
                self.wavefunctions.get(str(OneFile(source.files[0], source.contents[0])))
            else:
                _ = trajectory.geometries, trajectory.first
                self.wavefunctions.keep(trajectory)
        except OrbitileError:
            if self.without_orbitals(source) is None:
                raise

    def without_orbitals(self, source: Source) -> OneFile | None:
        """The file of a source to be shown by its vibrations or spectra alone; None where it holds neither."""
        file = OneFile(source.files[0], source.contents[0], without_orbitals=True)
        has_some = len(source.files) == 1 and self.wavefunctions.lines_in(str(file))
        return file if has_some else None

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


@dataclass(frozen=True)
class Asked:
    """A field as it is asked for; what is None is left to the field."""

    field: str
    isovalue: float | None = None
    color_by: str = ""
    color_range: float | None = None
    look: Look | None = None


_AHEAD_OF_WORD, _HALF_WAY = 0.5, 6.0
"""By how much the share that is shown may be ahead, and how soon, see `Advance`."""


@dataclass(frozen=True)
class Wanted:
    """What was asked for last.

    Attributes
    ----------
    request : Request
    molecule : str
    base : str
        Surface that it is to replace; empty for none.
    future : Future
    """

    request: Request
    molecule: str
    base: str
    future: Future[Sample]


class Asking:
    """Asks for samples and never waits for them.

    Parameters
    ----------
    computing : Computing
        Of the session.

    Attributes
    ----------
    wanted : Wanted or None
        Until it has come, or is withdrawn.
    """

    def __init__(self, computing: Computing) -> None:
        self._computing = computing
        self.wanted: Wanted | None = None
        self._advance = Advance(_AHEAD_OF_WORD, _HALF_WAY)
        self._ahead: tuple[Request, Future[Sample]] | None = None

    @property
    def share(self) -> float:
        """Share of what is wanted that is done."""
        return self._advance.share

    @property
    def is_ahead(self) -> bool:
        """Whether something is computed ahead."""
        return self._ahead is not None

    @property
    def has_come(self) -> bool:
        """Whether what is wanted is there, to be taken."""
        return self.wanted is not None and self.wanted.future.done()

    def want(self, request: Request, molecule: str, base: str) -> bool:
        """Ask for a sample in place of the one asked for before; says whether it has to be computed from now on."""
        self.withdraw()
        future: Future[Sample] | None = None
        if request in self._computing.samples:
            future = done(self._computing.sampled(request))
        elif self._ahead is not None and self._ahead[0] == request:
            future = self._ahead[1]
            self._ahead = None
        self.stop_ahead()
        begins = future is None
        if future is None:
            self._advance = Advance(_AHEAD_OF_WORD, _HALF_WAY)
            future = self._computing.worker.submit(request, self._advance.tell)
        self.wanted = Wanted(request, molecule, base, future)
        return begins

    def take(self) -> Wanted | None:
        """What was wanted, once it has come; its future is done then."""
        if not self.has_come:
            return None
        wanted, self.wanted = self.wanted, None
        return wanted

    def withdraw(self) -> None:
        """Ask no more for what is wanted."""
        if self.wanted is not None:
            self.wanted.future.cancel()
            self.wanted = None

    def look_ahead(self, request: Request) -> None:
        """Have a sample computed that may be asked for next."""
        self._ahead = request, self._computing.worker.submit(request)

    def take_ahead(self) -> bool:
        """Keep what was computed ahead, once it has come; says whether it has."""
        if self._ahead is None or not self._ahead[1].done():
            return False
        future, self._ahead = self._ahead[1], None
        if future.cancelled() or future.exception() is not None:
            return False
        self._computing.samples.put_behind(future.result())
        return True

    def stop_ahead(self) -> None:
        """Compute nothing ahead for now."""
        if self._ahead is not None:
            self._ahead[1].cancel()
            self._ahead = None


def done(result: Sample) -> Future[Sample]:
    """A future that has its result."""
    future: Future[Sample] = Future()
    future.set_result(result)
    return future


_STEP_SECONDS = 1.0
"""In which half of a step is done, about."""

_Call = tuple[Callable[..., Any], tuple[Any, ...]]


class Preparing:
    """Has a worker process compile what was never compiled on this machine, and load what every picture needs.

    It goes on when `look` is called. What is asked of the worker meanwhile has to wait for one step at most.

    Parameters
    ----------
    run : callable
        Has a function run in the worker, as `SampleWorker.run`.
    device : str
        As for `compute`.

    Attributes
    ----------
    device : str
    text : str
        What is to be told; empty where nothing has to be compiled.
    is_over : bool
        Whether there is no more to be done, or it cannot be.
    error : OrbitileError or None
        Why it cannot be.
    """

    def __init__(self, run: Callable[..., Future[Any]], device: str) -> None:
        self._run, self.device = run, device
        self.text, self.is_over = "", False
        self.error: OrbitileError | None = None
        self._advance = Advance(1 / len(STEPS), _STEP_SECONDS)
        self._calls = self._in_order()
        self._next: _Call | None = next(self._calls)
        self._running: Future[Any] | None = None

    def _in_order(self) -> Generator[_Call, Any, None]:
        ready = yield is_prepared, (self.device,)
        if not ready:
            for number in range(len(STEPS)):
                self.text = f"{PREPARING}: {number + 1} of {len(STEPS)}"
                self._advance.tell(number / len(STEPS))
                yield take_step, (number, self.device)
            self._advance.tell(1.0)
            yield keep, (self.device,)
            self.text = ""
        for number in range(FIRST):
            yield take_step, (number, self.device)
        yield rehearse, (self.device,)

    @property
    def share(self) -> float:
        """Share of what has to be compiled that is done."""
        return self._advance.share

    def look(self, is_idle: bool) -> None:
        """Take note of what the worker has done, and have it take the next step if it has nothing else to do."""
        if self._running is not None and self._running.done():
            self._go_on(self._running)
        if self._next is not None and self._running is None and is_idle:
            function, arguments = self._next
            self._running = self._run(function, *arguments)

    def _go_on(self, done: Future[Any]) -> None:
        self._running = None
        try:
            self._next = self._calls.send(done.result())
        except (StopIteration, CancelledError):  # that was all; or the worker is closed
            self.stop()
        except OrbitileError as error:
            self.error = error
            self.stop()

    def stop(self) -> None:
        """Leave the rest for another time; a step under way is completed."""
        self.text, self.is_over, self._next, self._running = "", True, None, None
