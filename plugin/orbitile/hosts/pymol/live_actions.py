"""What the user does with a live molecule in the window."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .file_filters import SERIES
from .saving import ask_target
from .widgets import take_keys

if TYPE_CHECKING:
    from .panel import Panel


def connect_live(panel: Panel) -> None:
    """Have what the user does in the bar of live molecules done."""
    bar, browser = panel.live_bar, panel.browser
    bar.menu.aboutToShow.connect(lambda: bar.offer(_molecules(panel)))
    bar.begun.connect(partial(_begin, panel))
    bar.ended.connect(lambda: _tell(panel, browser.live.end()))
    bar.relaxed.connect(lambda hardness: _tell(panel, browser.live.relax(hardness)))
    bar.undo_button.clicked.connect(lambda: _tell(panel, browser.live.undo()))
    bar.scan_button.clicked.connect(lambda: _tell(panel, browser.live.scan()))
    bar.scanned.connect(lambda index: _tell(panel, browser.live.scan_to(index)))
    bar.path_button.clicked.connect(lambda: _ask_path(panel))


def _molecules(panel: Panel) -> list[str]:
    """Molecules of PyMOL, those without orbitals too."""
    return panel.session.host.cmd.get_names_of_type("object:molecule")  # type: ignore[attr-defined]  # it is PyMOL's


def _begin(panel: Panel, name: str, *level: Any) -> None:
    name = name or panel.browser.showing.molecule or next(reversed(_molecules(panel)), "")
    if name:
        _tell(panel, panel.browser.live.start(name, *level))
    else:
        panel.live_bar.refuse("PyMOL has no molecule: load one, or build one (Build > Fragment)")


def _tell(panel: Panel, problem: str) -> None:
    if problem:
        panel.live_bar.refuse(problem)


def _ask_path(panel: Panel) -> None:
    live = panel.browser.live.status
    path = None if live is None else ask_target(panel, "Save path", f"{live.molecule}.h5", SERIES)
    take_keys(panel)
    if path is not None:
        _tell(panel, panel.browser.live.save_path(path))
