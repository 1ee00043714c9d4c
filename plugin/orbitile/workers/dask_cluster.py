"""Dask clusters: the package, the scheduler that a request means, and what goes wrong there as errors of ours."""

from __future__ import annotations

import atexit
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any
from weakref import WeakSet

from ..errors import DeviceError
from ..packages import install_command
from .failures import WorkerError, WorkerNotStarted

START = "start one with `dask scheduler`, and workers with `dask worker tcp://HOST:8786 --nthreads 1`"
"""What to do about a cluster that is not there, for messages."""

PATIENCE = 300.0
"""Seconds for which a cluster may be without a scheduler, or without any worker, before what is asked of it fails."""

RESOURCE = "CUDA"
"""The resource of workers that compute on a GPU: `dask worker --resources CUDA=1`."""

_EVERY = 2.0
"""Seconds between two looks at which workers there are."""

_CONNECTION = 5.0
"""Seconds that one attempt to connect takes."""

_PAUSE = 0.05
"""Seconds between two looks at whether the client is connected again."""


def library() -> ModuleType:
    """The package distributed.

    Raises
    ------
    DeviceError
        When it is not installed.
    """
    try:
        import distributed
    except ImportError as error:
        raise DeviceError(
            f"computing on a Dask cluster needs the package distributed: {install_command('distributed')}"
        ) from error
    module: ModuleType = distributed
    return module


class Cluster:
    """A cluster that is being used: its client, kept connected, and which workers there are.

    Parameters
    ----------
    client : distributed.Client
    patience : float
        Seconds for which it may be without a scheduler, or without any worker.

    Attributes
    ----------
    address : str
        Of the scheduler.
    n_workers : int
        Worker processes; those that offer a GPU where there are such.
    resources : dict of str to int
        What a task asks of its worker: a GPU where there are some.
    """

    def __init__(self, client: Any, patience: float) -> None:
        self.patience = patience
        self.address: str = client.scheduler.address
        self.n_workers = 0
        self.resources: dict[str, int] = {}
        self._client = client
        self._security = client.security
        self._looked = self._without = 0.0
        self._look(client)

    @property
    def is_closed(self) -> bool:
        """Whether its client has given up, or was closed."""
        return self._client.status in ("closed", "closing")

    def has_life(self) -> None:
        """Take note that there was a worker just now, or begin to wait for one."""
        self._without = 0.0

    def connected(self, is_wanted: Callable[[], bool]) -> Any:
        """The client, when it is connected; a new one where it gave up.

        Raises
        ------
        WorkerNotStarted
            When there is no scheduler for longer than `patience`, or nobody wants it any more.
        """
        until = time.monotonic() + self.patience
        while self._client.status != "running":
            if time.monotonic() > until or not is_wanted():
                raise WorkerNotStarted(
                    f"no scheduler of Dask answers at {self.address} for {self.patience:g} s; what it was asked for is "
                    f"submitted again if one is back in that time: {START}"
                )
            if self.is_closed:
                with suppress(OSError):
                    self._client = connected(self.address, self._security)
            time.sleep(_PAUSE)
            self.has_life()
        if not self.n_workers:
            self._look(self._client)
        return self._client

    def watch(self, is_wanted: Callable[[], bool]) -> None:
        """Look now and then which workers there are.

        Time in which nobody looked, since the machine slept or stood still, is not time without workers.

        Raises
        ------
        WorkerNotStarted
            When there is no scheduler, or no worker, for longer than `patience`.
        """
        since = time.monotonic() - self._looked
        if since < _EVERY:
            return
        self._without += min(since, 2 * _EVERY)
        self._look(self.connected(is_wanted))
        if self._without > self.patience:
            raise WorkerNotStarted(
                f"the Dask cluster at {self.address} has had no worker for {self.patience:g} s; start some with "
                f"`dask worker {self.address} --nthreads 1`"
            )

    def _look(self, client: Any) -> None:
        self._looked = time.monotonic()
        try:
            workers = client.scheduler_info()["workers"].values()
        except (OSError, KeyError):  # it has just lost the scheduler
            return
        gpus = sum(worker["resources"].get(RESOURCE, 0) >= 1 for worker in workers)
        self.resources = {RESOURCE: 1} if gpus else {}
        self.n_workers = gpus or len(workers)
        if self.n_workers:
            self.has_life()


def usual() -> Any:
    """The client that this process has made last, otherwise the address that Dask is configured with.

    Raises
    ------
    DeviceError
        When there is neither.
    """
    try:
        return library().default_client()
    except ValueError:
        from dask import config

        address = config.get("scheduler-address", None)
    if not address:
        raise DeviceError(
            "device dask: this process has no Dask client, and DASK_SCHEDULER_ADDRESS is not set; name the scheduler, "
            f"as in dask:tcp://HOST:8786, or {START}"
        )
    return str(address)


def connected(address: str, security: Any = None) -> Any:
    """A client of our own of the scheduler at an address.

    Raises
    ------
    OSError
        When none answers.
    ValueError
        For what is no address.
    """
    distributed = library()
    if not address.startswith("inproc:"):  # which has neither
        distributed.comm.get_address_host_port(address)  # a client of an address that cannot be read would not end
    if not _ours:
        atexit.register(_close_all)  # after distributed has registered its own end, so that ours comes first
    with _quietly():
        client = distributed.Client(address, security=security, timeout=_CONNECTION, set_as_default=False)
    _ours.add(client)
    return client


def reached(address: str) -> Any:
    """The same, with errors for a user.

    Raises
    ------
    DeviceError
        When none answers.
    """
    try:
        return connected(address)
    except (OSError, ValueError) as error:
        text = " ".join(str(error).split())[:200]
        raise DeviceError(f"no scheduler of Dask answers at {address} ({text}); {START}") from error


_ours: WeakSet[Any] = WeakSet()


def _close_all() -> None:
    """Close our clients while their threads still run: at the end of the process each would be waited for in vain."""
    with _quietly():
        for client in list(_ours):
            with suppress(Exception):  # the process ends: whatever state its connection is in
                client.close(timeout=_CONNECTION + 1)


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the log of a client, whose errors are told as ours."""
    log = logging.getLogger("distributed.client")
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before


def defect(error: Any) -> WorkerError:
    """What Dask raises that is neither an error of a function nor a connection that was lost."""
    text = " ".join(str(error).split())
    if isinstance(error, (ImportError, AttributeError)) or "deserializ" in text:
        failure = WorkerError(
            f"the Dask cluster does not have this Orbitile ({type(error).__name__}: {text[:200]}): install the same "
            "environment for scheduler, workers and client"
        )
    else:
        failure = WorkerError(f"the Dask cluster failed ({type(error).__name__}: {text[:300]})")
    failure.__cause__ = error if isinstance(error, BaseException) else None
    return failure
