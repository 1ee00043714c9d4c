"""Errors from one process to another: our own arrive as they are, any other as an internal error of the worker."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import NamedTuple

from ..base.errors import OrbitileError


class WorkerError(OrbitileError):
    """A worker failed, rather than the function that it ran."""


class WorkerNotStarted(WorkerError):
    """A worker could not be started, or did not connect."""


class WorkerEnded(WorkerError):
    """A worker died, or hung and was ended.

    Attributes
    ----------
    status : int or None
        Its exit status, or minus the signal that ended it; None when it stood still.
    """

    status: int | None = None


class _InWorker(Exception):
    """The traceback of an error in a worker, and what it wrote last: shown as the cause of the error here."""


class Failure(NamedTuple):
    """What is sent of an error, since an exception itself may not go through a pickle.

    Attributes
    ----------
    classes : tuple of (module, name)
        Of an error of ours: its class and those that it is derived from; none for any other.
    message, traceback : str
    """

    classes: tuple[tuple[str, str], ...]
    message: str
    traceback: str

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """What is sent of this error."""
        ours = [base for base in type(error).__mro__ if issubclass(base, OrbitileError)]
        message = str(error) if ours else f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")
        classes = tuple((base.__module__, base.__qualname__) for base in ours)
        return cls(classes, message, "".join(traceback.format_exception(error)))

    def error(self, name: str, said: Sequence[str]) -> OrbitileError:
        """The error here: of the first of its classes that can be found; `name` and `said` are those of the worker."""
        for module, qualified_name in self.classes:
            with suppress(ImportError, AttributeError):
                found: type[OrbitileError] = getattr(import_module(module), qualified_name)
                error = found.__new__(found)
                OrbitileError.__init__(error, self.message)
                return error
        error = WorkerError(f"internal error in {name} (please report): {self.message[:300]}")
        error.__cause__ = _InWorker("\n".join([self.traceback, *said]))
        return error
