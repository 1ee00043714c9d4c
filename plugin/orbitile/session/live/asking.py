"""The process of a live molecule, and the one geometry that is asked of it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from concurrent.futures import Future
from copy import deepcopy
from dataclasses import dataclass, replace

from ...pictures.request import Request
from ...workers import Worker, Workers
from ..computing import one_thread
from .calculating import converged
from .order import Converged, Order

_TOO_LONG = 1.0
"""Seconds after which a geometry that is not the newest any more is given up, unless the last one took as long."""

_UNUSUAL = 4.0
"""Times the seconds of the last self-consistent field that another one may take, fields included."""

_MORE = 4.0
"""Times as long that one may take after others were given up: a bond that is torn may not converge for minutes."""


@dataclass(frozen=True, eq=False)
class Asked:
    """A geometry that is being computed.

    Attributes
    ----------
    order : Order
    fields : mapping of str to Request
        What is shown of it when it comes, by surface.
    rests : bool
        Whether the atoms were left alone.
    begin : float
        When it was asked for, by `time.monotonic`.
    job : Future
        Gives a `Converged`.
    is_ahead : bool
        Whether the atoms have not come there yet.
    """

    order: Order
    fields: Mapping[str, Request]
    rests: bool
    begin: float
    job: Future[Converged]
    is_ahead: bool

    def result(self) -> Converged:
        """What has come, or what was raised.

        Arrays that come together share memory, which lives as long as one of them: a geometry, which is kept longer
        than its samples, is given memory of its own.
        """
        found = self.job.result()
        return replace(deepcopy(replace(found, samples=())), samples=found.samples)


class Asking:
    """One process, which computes one geometry at a time.

    Attributes
    ----------
    asked : Asked or None
        What it computes.
    """

    def __init__(self) -> None:
        python = os.environ.get("ORBITILE_PYTHON")
        self._workers = Workers([Worker("the live calculation", python=python, settings=_settings, nice=5)])
        self.asked: Asked | None = None
        self._usual = 0.0
        self._given_up = 0

    @property
    def process_id(self) -> int | None:
        """Number of the process, while it runs."""
        return self._workers.workers[0].process_id

    def submit(self, order: Order, fields: Mapping[str, Request], rests: bool, *, is_ahead: bool) -> None:
        """Have a geometry computed; nothing else is asked for."""
        self.asked = Asked(order, fields, rests, time.monotonic(), self._workers.submit(converged, order), is_ahead)

    def done(self) -> Asked | None:
        """What was asked for, when it is done; it is asked for no more."""
        asked = self.asked
        if asked is None or not asked.job.done():
            return None
        self.asked = None
        if not asked.is_ahead:
            self._given_up = 0
        if not asked.job.cancelled() and asked.job.exception() is None:
            self._usual = asked.job.result().seconds
        return asked

    def withdraw(self) -> None:
        """Ask for nothing any more."""
        if self.asked is not None:
            self.asked.job.cancel()
            self.asked = None

    def withdraw_late(self) -> None:
        """Give up what is not the newest any more when it takes too long: more patiently then, so that some come."""
        patience = max(_TOO_LONG, _UNUSUAL * self._usual) * min(2.0**self._given_up, _MORE)
        if self.asked is not None and time.monotonic() - self.asked.begin > patience:
            self.withdraw()
            self._given_up += 1

    def close(self) -> None:
        """End the process."""
        self._workers.shutdown(wait=False, cancel_futures=True)


def _settings() -> dict[str, str]:
    """Threads of PySCF sleep where they wait: the viewer draws on the same cores, and those that spin hold it up."""
    return {"OMP_WAIT_POLICY": "PASSIVE", **one_thread()}
