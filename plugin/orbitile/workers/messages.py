"""What a worker and the process that it works for tell each other, one function at a time."""

from __future__ import annotations

from dataclasses import dataclass

from .transport import Packed


@dataclass(frozen=True)
class Run:
    """To a worker: a function with its arguments and keywords."""

    call: Packed


@dataclass(frozen=True)
class Withdraw:
    """To a worker: what it runs is not wanted any more."""


@dataclass(frozen=True)
class End:
    """To a worker: there is nothing more to do."""


@dataclass(frozen=True)
class Progress:
    """From a worker: it has begun, or come so far with what it runs."""

    share: float


@dataclass(frozen=True)
class Done:
    """From a worker: what the function returned."""

    result: Packed


@dataclass(frozen=True)
class Raised:
    """From a worker: what the function raised.

    Attributes
    ----------
    classes : tuple of (module, name)
        Of our own errors: the class and those that it is derived from; none for any other exception.
    message : str
    out_of_memory : bool
    traceback : str
        For people.
    """

    classes: tuple[tuple[str, str], ...]
    message: str
    out_of_memory: bool
    traceback: str
