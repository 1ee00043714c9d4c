"""Sampled fields that are kept for the next time they are asked for."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator

from .request import Box, Request, Sample, box_of


class SampleCache:
    """Samples most recently used, up to a number of bytes, by what was asked for: sources say what their files hold.

    Parameters
    ----------
    limit : int
        In bytes; the sample asked for last is kept whatever its size.
    most : int
        Samples at most: one of another process has a file open, of which there may be some hundred only.
    """

    def __init__(self, limit: int = 512 << 20, most: int = 150) -> None:
        self.limit, self.most = limit, most
        self._held: OrderedDict[Request, Sample] = OrderedDict()
        self._lock = threading.RLock()

    def known(self, request: Request) -> Sample | None:
        """The sample of a request, if it is there."""
        with self._lock:
            held = self._held.get(request)
            if held is not None:
                self._held.move_to_end(request)
        return held

    def get(self, request: Request, make: Callable[[Request], Sample]) -> Sample:
        """The sample of a request, made if it is not there; nobody else waits meanwhile."""
        held = self.known(request)
        if held is None:
            held = make(request)
            self.put(held)
        return held

    def put(self, sample: Sample) -> None:
        """Keep a sample, and drop the oldest ones beyond the limit."""
        with self._lock:
            self._held[sample.request] = sample
            self._held.move_to_end(sample.request)
            while len(self._held) > 1 and self._is_too_much():
                self._held.popitem(last=False)

    def _is_too_much(self) -> bool:
        return len(self._held) > self.most or sum(held.n_bytes for held in self._held.values()) > self.limit

    def put_behind(self, sample: Sample) -> None:
        """Keep a sample that was computed ahead; the one that was asked for last stays the last to be dropped."""
        with self._lock:
            newest = next(reversed(self._held), None)
            self.put(sample)
            if newest is not None and newest in self._held:
                self._held.move_to_end(newest)

    def last_box(self, path: str, quality: str) -> Box | None:
        """Where the field of a file was sampled last at this quality: a lattice that serves the next one too."""
        with self._lock:
            for request in reversed(self._held):
                if request.path == path and request.quality == quality:
                    return box_of(self._held[request].volume.lattice)
        return None

    def __contains__(self, request: Request) -> bool:
        with self._lock:
            return request in self._held

    def __iter__(self) -> Iterator[Sample]:
        """Samples, the one asked for last at the end."""
        with self._lock:
            return iter(list(self._held.values()))

    def __len__(self) -> int:
        return len(self._held)
