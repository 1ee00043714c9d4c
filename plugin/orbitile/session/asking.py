"""What a window has asked of the worker process: one sample that is wanted, and one that is computed ahead."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass

from .advance import Advance
from .computing import Computing
from .look import Look
from .request import Request, Sample


@dataclass(frozen=True)
class Asked:
    """A field as it is asked for; what is None is left to the field."""

    field: str
    isovalue: float | None = None
    color_by: str = ""
    color_range: float | None = None
    look: Look | None = None


_ROOM, _SECONDS = 0.5, 6.0
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
        self._advance = Advance(_ROOM, _SECONDS)
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
            self._advance = Advance(_ROOM, _SECONDS)
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
