"""Sampled fields that are kept for the next time they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from ..base.caches import Cache
from .request import Box, Request, Sample, box_of

_MOST = 150
"""Samples at most: one of another process has a file open, of which there may be some hundred only."""


class SampleCache:
    """Samples most recently used by what was asked for: sources say what their files hold."""

    def __init__(self) -> None:
        self._held = Cache[Sample]("samples", most=_MOST, size=lambda sample: sample.n_bytes)

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
        for request, sample in reversed(self._held.items()):
            if request.path == path and request.quality == quality:
                return box_of(sample.volume.lattice)
        return None

    def __contains__(self, request: Request) -> bool:
        return request in self._held

    def __iter__(self) -> Iterator[Sample]:
        """Samples, the one asked for last at the end."""
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)
