"""Work in the background of which the newest alone matters."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from ...base.watch import Progress, watched

_Result = TypeVar("_Result")

_Work = Callable[[], _Result]
_Done = Callable[["_Result | None", "Exception | None"], None]


class Newest(Generic[_Result]):
    """Does in a thread what was asked for last, one thing at a time.

    What is asked for while something is done withdraws that, which ends at its next checkpoint
    (`base.watch.checkpoint`); what has waited meanwhile is forgotten. There is no thread while there is nothing to
    do. An interrupt of the kernel reaches its main thread alone, and not this one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: tuple[_Work[_Result], _Done[_Result], Progress | None] | None = None
        self._withdrawn = threading.Event()
        self._idle = threading.Event()
        self._idle.set()

    def ask(self, work: _Work[_Result], done: _Done[_Result], progress: Progress | None = None) -> None:
        """Have something done; `done` is called from the thread with result or error, unless withdrawn.

        `progress` is called from there too, with the share that is done.
        """
        with self._lock:
            self._waiting = work, done, progress
            self._withdrawn.set()
            if self._idle.is_set():
                self._idle.clear()
                threading.Thread(target=self._run, name="orbitile view", daemon=True).start()

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._waiting is None:
                    self._idle.set()
                    return
                (work, done, progress), self._waiting = self._waiting, None
                self._withdrawn = withdrawn = threading.Event()
            result, failure = None, None
            try:
                with watched(progress, withdrawn.is_set):
                    result = work()
            except Exception as error:  # whatever it is, who asked is told of it
                failure = error
            if not withdrawn.is_set():
                done(result, failure)
            del work, done, progress, result  # and with them what they hold, while the lock is waited for

    def cancel(self) -> None:
        """Withdraw all that was asked for."""
        with self._lock:
            self._waiting = None
            self._withdrawn.set()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until there is nothing to do; says whether that is so."""
        return self._idle.wait(seconds)
