"""What the viewer at the other end is told of the molecule whose electrons follow its atoms."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from ...session.live.status import LiveStatus
from ...session.session import Session
from .viewer import ServedViewer

_NOTHING: dict[str, Any] = {"event": "live", "molecule": ""}


class LiveNews:
    """Tells how it is with the live molecule whenever that has changed.

    Parameters
    ----------
    session : Session
        Of the viewer.
    host : ServedViewer
        The viewer.
    """

    def __init__(self, session: Session, host: ServedViewer) -> None:
        self._session, self._host = session, host
        self._told = _NOTHING

    def tell(self) -> None:
        """Tell what has changed since this was called last."""
        live = self._session.live
        message = _NOTHING if live is None else message_of(live.status)
        if message != self._told:
            self._told = message
            self._host.tell(message)


def message_of(status: LiveStatus) -> dict[str, Any]:
    """The event that tells of a live molecule: its status, with the last of the energies alone."""
    parts = asdict(status)
    energies = parts.pop("energies")
    return {"event": "live", **parts, "energy": energies[-1][1] if energies else None}
