"""What is done by a process of its own while a viewer goes on."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError
from typing import Any

from ..base.errors import Cancelled
from ..workers import Worker, Workers


class BackgroundJob:
    """A function that runs in a worker of its own, which ends with it.

    Parameters
    ----------
    worker : Worker
    function : callable
        One that can be sent to it, with its arguments.
    """

    def __init__(self, worker: Worker, function: Callable[..., Any], *arguments: Any) -> None:
        self._workers = Workers([worker])
        self._job = self._workers.submit(function, *arguments)

    @property
    def share(self) -> float:
        """Share of it that is done."""
        return self._job.share

    @property
    def process_id(self) -> int | None:
        """Number of its process, while it runs."""
        return self._workers.workers[0].process_id

    def running(self) -> bool:
        """Whether it is not done yet."""
        return not self._job.done()

    def cancel(self) -> None:
        """End it, and its process."""
        self._workers.shutdown(cancel_futures=True)

    def result(self) -> Any:
        """What the function gave, once it has ended.

        Raises
        ------
        Cancelled
            When `cancel` ended it.
        OrbitileError
            When it failed, with the reason.
        """
        try:
            return self._job.result()
        except CancelledError:
            raise Cancelled("cancelled") from None
        finally:
            self._workers.shutdown(wait=False)
