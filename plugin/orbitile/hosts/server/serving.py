"""Reading requests from one stream and writing answers to another, until the first ends."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import threading
import time
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

from ...base.errors import OrbitileError
from ...base.temporary import own_folder
from ...session.commands import orb_cancel
from ...session.session import Session
from .requests import BadRequest, answer, done, greeting, read_request, take_places
from .viewer import NO_LIVE, ServedViewer, Tell

_LONGEST = 1 << 20
"""Bytes of a request, at most."""
_PATIENCE = 5.0
"""Time in seconds that a computation may take to stop when there is nobody left to tell."""
_EVERY = 0.1
"""Interval between two attempts to stop it, in seconds."""


def tell_live(session: Session, host: ServedViewer) -> None:
    """Tell how it is with the live molecule, where that has changed: its status, with the last energy alone."""
    live = session.live.now
    if live is None:
        host.tell_change(NO_LIVE)
        return
    parts = asdict(live.status)
    energies = parts.pop("energies")
    host.tell_change({"event": "live", **parts, "energy": energies[-1][1] if energies else None})


def serve(input: BinaryIO, output: BinaryIO, ends: queue.SimpleQueue[None]) -> None:
    """Answer requests until the input ends.

    Parameters
    ----------
    input, output
        Binary streams.
    ends
        What is put here ends it too.
    """
    lock = threading.Lock()

    def tell(message: dict[str, Any]) -> None:
        try:
            with lock:
                output.write(json.dumps(message).encode() + b"\n")
                output.flush()
        except (OSError, ValueError):
            pass  # nobody listens any more: the input is about to end too

    temporary = TemporaryDirectory(dir=own_folder())
    with temporary as folder:
        host = ServedViewer(tell, Path(folder))
        session = Session(host)
        tell(greeting(folder))
        waiting: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        ended = threading.Event()

        def listen() -> None:
            _listen(input, session, tell, waiting)
            ends.put(None)

        def leave() -> None:
            ends.get()
            ended.set()
            waiting.put(None)
            for _ in range(round(_PATIENCE / _EVERY)):  # again and again: a computation may be about to begin
                session.cancel()
                time.sleep(_EVERY)  # this thread ends with the process
            temporary.cleanup()
            os._exit(1)

        for function in (listen, leave):
            threading.Thread(target=function, daemon=True).start()
        while not ended.is_set():
            with contextlib.suppress(queue.Empty):  # nothing was asked for: time for a tick
                request = waiting.get(timeout=host.period)
                if request is None:
                    break
                reply = done(session, request)
                tell_live(session, host)
                tell(reply)
            host.tick()
            tell_live(session, host)
        session.live.end()


def _listen(
    input: BinaryIO,
    session: Session,
    tell: Tell,
    waiting: queue.SimpleQueue[dict[str, Any] | None],
) -> None:
    """Hand requests on; what cannot be one, and what stops the one under way, is answered here and now.

    Where atoms are is taken note of here too: a request that waits for the live molecule is to know of it.
    """
    while line := input.readline(_LONGEST):
        if not line.endswith(b"\n"):
            refused = BadRequest(f"expected a line of JSON of less than {_LONGEST} bytes", line)
            while line and not line.endswith(b"\n"):
                line = input.readline(_LONGEST)
            if line:
                tell({"id": refused.id, "error": str(refused)})
            continue
        if not line.strip():
            continue
        try:
            request = read_request(line)
        except BadRequest as error:
            tell({"id": error.id, "error": str(error)})
            continue
        try:
            take_places(session, request)
        except OrbitileError as error:
            tell({"id": request["id"], "error": str(error)})
            continue
        if request["command"] == orb_cancel.name:
            tell(answer(session, request))
        else:
            waiting.put(request)


def main() -> None:
    """Serve on standard input and output; what libraries print goes to standard error."""
    # A reader of our own: Python's ending would wait for the thread that still reads from sys.stdin. It has to end in
    # its own way, since Taichi keeps its compiled kernels for the next time only then.
    input, output = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    ends: queue.SimpleQueue[None] = queue.SimpleQueue()
    for name in ("SIGTERM", "SIGHUP", "SIGINT"):
        if hasattr(signal, name):  # no exception, which could be lost in a finaliser or come while it cleans up
            signal.signal(getattr(signal, name), lambda number, frame: ends.put(None))
    serve(input, output, ends)
