"""What a browser asks of its window."""

from __future__ import annotations

from typing import Protocol

from .finding import Finding
from .listed import Listed
from .live.status import LiveStatus
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

    def show_levels(self, chosen: Level | None) -> None:
        """List the orbitals of `Browser.levels` in place of as many before: those of a live molecule, which change.

        What is selected, filtered and scrolled to stays; the one that is selected may have another number.
        """
        ...

    def show_live(self, status: LiveStatus | None) -> None:
        """Show what there is to say of the live molecule; None where none is live."""
        ...

    def show_analysis(self, finding: Finding) -> None:
        """Show an analysis that was asked for: that it runs, what it found, or what is in its way."""
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

    def chosen(self) -> Level | None:
        """The orbital that is selected; None where none is."""
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
