"""What a browser asks of its window, and what it tells it of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ...model.report import Report
from ...pictures.orbitals import Level
from ..analysing import AnalysisOrder
from ..live.status import LiveStatus
from ..seen import Listed


@dataclass(frozen=True, eq=False)
class Finding:
    """An analysis that was asked for, and what came of it.

    Attributes
    ----------
    molecule : str
    order : AnalysisOrder
    given : mapping
        Parameters as the user gave them.
    report : Report or None
        None until it is there.
    problem : str
        Why there is none.
    is_stale : bool
        Whether the molecule has moved on since, to another frame or other places of its atoms.
    """

    molecule: str
    order: AnalysisOrder
    given: Mapping[str, str]
    report: Report | None = None
    problem: str = ""
    is_stale: bool = False

    @property
    def is_running(self) -> bool:
        """Whether it is being computed."""
        return self.report is None and not self.problem


@dataclass(frozen=True)
class Playback:
    """Where the trajectory of a molecule is.

    Attributes
    ----------
    frame : int
        That is shown, from 0; it may lie beyond the last one, where other objects of the viewer have more.
    n_frames : int
    playing : bool
    drawn, doubtful, refused : frozenset of int
        Frames whose surface the viewer has; those of them to which the orbital was followed with a confidence below
        `orbitile.trajectories.tracking.DOUBTFUL`; and frames that have none.
    state : str
        What there is to say of the frame that is shown.
    """

    frame: int
    n_frames: int
    playing: bool
    drawn: frozenset[int]
    doubtful: frozenset[int]
    refused: frozenset[int]
    state: str


class View(Protocol):
    """The window, as the browser sees it."""

    def say(self, text: str, error: bool = False, detail: str = "") -> None:
        """Put a message where it is seen, and what else there is to know where it can be looked up."""
        ...

    def set_busy(self, busy: bool) -> None:
        """Show, or no longer, that something is computed and can be cancelled."""
        ...

    def show_molecule(self) -> None:
        """List the orbitals of `Showing.levels`: another molecule was chosen."""
        ...

    def show_levels(self, chosen: Level | None) -> None:
        """List the orbitals of `Showing.levels` in place of as many before: those of a live molecule, which change.

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
        """Set the controls to `Showing.choices`, and to the surface that they act on."""
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
