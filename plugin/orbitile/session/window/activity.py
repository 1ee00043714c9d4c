"""Something that goes on in a window."""

from __future__ import annotations


class Activity:
    """Something that goes on in a window while its user does other things: a base with nothing under way."""

    @property
    def share(self) -> float | None:
        """Share of the work under way that is done; None where nobody knows."""
        return None

    def tick(self) -> None:
        """Look at what is under way, and do what is due; called every few milliseconds in the viewer's thread."""

    def is_busy(self) -> bool:
        """Whether the user waits for something that can be cancelled."""
        return False

    def at_rest(self) -> bool:
        """Whether everything that was asked for is shown."""
        return not self.is_busy()

    def cancel(self) -> None:
        """Withdraw what is under way."""
