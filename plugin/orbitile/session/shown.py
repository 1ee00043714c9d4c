"""What a host shows: which field of which molecule, at which isovalue, in which colours; plain data, to be saved."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from .request import Box, Request, Sample, box_of

POSITIVE, NEGATIVE = (0.129, 0.4, 0.675), (0.698, 0.094, 0.169)
"""Blue and red of ColorBrewer's RdBu, as in our pictures."""


@dataclass(frozen=True)
class Shown:
    """One field that is shown.

    Attributes
    ----------
    molecule : str
        Object of the host that it belongs to.
    request : Request
        What was computed.
    isovalue : float
        Of the surface, in the unit of the field.
    colours : pair of (red, green, blue)
        Of the positive and of the negative phase.
    transparency : float
        0 opaque, 1 invisible.
    """

    molecule: str
    request: Request
    isovalue: float
    colours: tuple[tuple[float, float, float], tuple[float, float, float]] = (POSITIVE, NEGATIVE)
    transparency: float = 0.35

    def message(self) -> dict[str, Any]:
        """As plain types."""
        return asdict(self)

    @classmethod
    def from_message(cls, message: dict[str, Any]) -> Shown:
        """The inverse of `message`."""
        positive, negative = (tuple(colour) for colour in message["colours"])
        request = Request(**{name: _tuples(part) for name, part in message["request"].items()})
        return cls(message["molecule"], request, message["isovalue"], (positive, negative), message["transparency"])


def _tuples(part: Any) -> Any:
    """Lists as the tuples that they were before they became JSON."""
    return tuple(map(_tuples, part)) if isinstance(part, list) else part


def object_name(molecule: str, field: str) -> str:
    """Name of the object that shows a field: letters, digits and underscores only."""
    plain = field.lower().replace("+", "_p").replace("-", "_m").replace("mo:", "mo").replace("..", "_to_")
    return re.sub(r"[^A-Za-z0-9_]+", "_", f"{molecule}_{plain}")


class SampleCache:
    """Samples most recently used, up to a number of bytes.

    Parameters
    ----------
    limit : int
        In bytes; the sample asked for last is kept whatever its size.
    """

    def __init__(self, limit: int = 512 << 20) -> None:
        self.limit = limit
        self._held: OrderedDict[Request, Sample] = OrderedDict()

    def get(self, request: Request, make: Callable[[Request], Sample]) -> Sample:
        """The sample of a request, made if it is not there."""
        if request not in self._held:
            self.put(make(request))
        self._held.move_to_end(request)
        return self._held[request]

    def put(self, sample: Sample) -> None:
        """Keep a sample, and drop the oldest ones beyond the limit."""
        self._held[sample.request] = sample
        self._held.move_to_end(sample.request)
        while len(self._held) > 1 and sum(held.n_bytes for held in self._held.values()) > self.limit:
            self._held.popitem(last=False)

    def put_behind(self, sample: Sample) -> None:
        """Keep a sample that was computed ahead; the one that was asked for last stays the last to be dropped."""
        newest = next(reversed(self._held), None)
        self.put(sample)
        if newest is not None and newest in self._held:
            self._held.move_to_end(newest)

    def last_box(self, path: str, quality: str) -> Box | None:
        """Where the field of a file was sampled last at this quality: a lattice that serves the next one too."""
        for request in reversed(self._held):
            if request.path == path and request.quality == quality:
                return box_of(self._held[request].volume.lattice)
        return None

    def __contains__(self, request: Request) -> bool:
        return request in self._held

    def __len__(self) -> int:
        return len(self._held)
