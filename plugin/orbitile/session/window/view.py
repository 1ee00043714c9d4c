"""What a browser asks of its window, what it tells it of, and what a user sets there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from ...model.lattice import QUALITIES
from ...model.report import Report
from ...pictures.look import STYLES, Look
from ...pictures.orbitals import ENERGY_UNITS, Level
from ..analysing import AnalysisOrder
from ..live.live import LiveStatus
from ..seen import Listed
from ..shown import are_rows, is_number

TWO_COLOURS = "two colours"
"""What a window offers in place of a second field."""


@dataclass(frozen=True)
class Choices:
    """What is set in the window, for what is shown next.

    Attributes
    ----------
    quality : str
    automatic : bool
        Each orbital gets the isovalue whose surface encloses 90 % of its density, in place of `isovalue`.
    isovalue : float
        Of orbitals. All other fields begin with their own.
    look : Look
    rate : int
        Frames of a trajectory a second, at most, when it is played.
    unit : str
        Of the energies of orbitals, one of `ENERGY_UNITS`.
    """

    quality: str = "medium"
    automatic: bool = True
    isovalue: float = 0.03
    look: Look = field(default_factory=Look)
    rate: int = 10
    unit: str = next(iter(ENERGY_UNITS))


def choices_of(settings: dict[str, Any]) -> Choices:
    """What was set the last time, as kept by `settings_of`; what is damaged is as at first."""
    pair = [settings.get(name) for name in ("positive", "negative")]
    colours: Any = tuple(tuple(colour) if isinstance(colour, list | tuple) else colour for colour in pair)
    quality, rate, unit, style = (settings.get(name) for name in ("quality", "rate", "unit", "style"))
    transparency: Any = settings.get("transparency")
    choices, look = Choices(), Look()
    if isinstance(quality, str) and quality in QUALITIES:
        choices = replace(choices, quality=quality)
    if isinstance(rate, int) and is_number(rate, 1, 1000):
        choices = replace(choices, rate=rate)
    if isinstance(unit, str) and unit in ENERGY_UNITS:
        choices = replace(choices, unit=unit)
    if are_rows(colours, 0.0, 1.0):
        look = replace(look, colours=colours)
    if is_number(transparency, 0, 100):
        look = replace(look, transparency=transparency / 100)
    if style in STYLES:
        look = replace(look, style=style)
    return replace(choices, look=look)


def settings_of(choices: Choices) -> dict[str, Any]:
    """Those of the choices that are kept, in plain types; `choices_of` takes no style that few viewers have."""
    return {
        "quality": choices.quality,
        "positive": list(choices.look.colours[0]),
        "negative": list(choices.look.colours[1]),
        "transparency": round(100 * choices.look.transparency),
        "style": choices.look.style,
        "rate": choices.rate,
        "unit": choices.unit,
    }


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
    """The window, as the browser sees it; one that inherits it has nothing chosen and nothing under way."""

    def say(self, text: str, error: bool = False, detail: str = "") -> None:
        """Put a message where it is seen, and what else there is to know where it can be looked up."""

    def set_busy(self, busy: bool) -> None:
        """Show, or no longer, that something is computed and can be cancelled."""

    def show_molecule(self) -> None:
        """List the orbitals of `Showing.levels`: another molecule was chosen."""

    def show_levels(self, chosen: Level | None) -> None:
        """List the orbitals of `Showing.levels` in place of as many before: those of a live molecule, which change.

        What is selected, filtered and scrolled to stays; the one that is selected may have another number.
        """

    def show_live(self, status: LiveStatus | None) -> None:
        """Show what there is to say of the live molecule; None where none is live."""

    def show_analysis(self, finding: Finding) -> None:
        """Show an analysis that was asked for: that it runs, what it found, or what is in its way."""

    def show_choices(self) -> None:
        """Set the controls to `Showing.choices`, and to the surface that they act on."""

    def show_surfaces(self, rows: list[Listed], current: str) -> None:
        """List what is shown, and mark the surface that the window acts on; empty for none."""

    def show_playback(self, playback: Playback | None) -> None:
        """Show where the trajectory is that the molecule is; None where it is none."""

    def show_field(self, field: str) -> None:
        """Name the field that is asked for, unless another is being typed."""

    def opened(self, first: Level | None) -> None:
        """A file was opened, and its molecule chosen: select an orbital, which shows it, and take the keys."""

    def chosen(self) -> Level | None:
        """The orbital that is selected; None where none is."""
        return None

    def neighbours(self) -> list[Level]:
        """Orbitals next to the one that is selected, the likeliest to be asked for first; empty when none is."""
        return []

    def is_idle(self) -> bool:
        """Whether the window can be seen, so that computing ahead is worth while."""
        return False

    def is_sliding(self) -> bool:
        """Whether the isovalue is being dragged just now."""
        return False

    def is_typing(self) -> bool:
        """Whether an isovalue is being typed just now."""
        return False

    def is_scrubbing(self) -> bool:
        """Whether the slider of the frames is held just now."""
        return False
