"""What a browser asks of its window."""

from __future__ import annotations

from typing import Protocol

from .listed import Listed
from .orbitals import Level
from .playback import Playback


class View(Protocol):
    """The window, as the browser sees it."""

    def say(self, text: str, error: bool = False, detail: str = "") -> None:
        """Put a message where it is seen, and what else there is to know where it can be looked up."""
        ...

    def set_busy(self, busy: bool) -> None:
        """Show, or no longer, that something is computed and can be cancelled."""
        ...

    def show_molecule(self) -> None:
        """List the orbitals of `Browser.levels`: another molecule was chosen."""
        ...

    def show_choices(self) -> None:
        """Set the controls to `Browser.choices`, and to the surface that they act on."""
        ...

    def show_surfaces(self, rows: list[Listed], current: str) -> None:
        """List what is shown, and mark the surface that the window acts on; empty for none."""
        ...

    def show_playback(self, playback: Playback | None) -> None:
        """Show where the trajectory is that the molecule is; None where it is none."""
        ...

    def show_field(self, field: str) -> None:
        """Name the field that is asked for, unless another is being typed."""
        ...

    def opened(self, first: Level | None) -> None:
        """A file was opened, and its molecule chosen: select an orbital, which shows it, and take the keys."""
        ...

    def neighbours(self) -> list[Level]:
        """Orbitals next to the one that is selected, the likeliest to be asked for first; empty when none is."""
        ...

    def is_idle(self) -> bool:
        """Whether the window can be seen, so that computing ahead is worth while."""
        ...

    def is_sliding(self) -> bool:
        """Whether the isovalue is being dragged just now."""
        ...

    def is_typing(self) -> bool:
        """Whether an isovalue is being typed just now."""
        ...

    def is_scrubbing(self) -> bool:
        """Whether the slider of the frames is held just now."""
        ...
