"""A ligand in its protein by clicks, as somebody without a manual goes: python -m tests.hosts.desktop.pocket

PyMOL opens the complex that comes with it, HIV protease with amprenavir; docs/images/pymol-pocket.png is made anew.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from .manual import Manual
from .screen import Screen, missing
from .window import Window

COMPLEX = "$PYMOL_PATH/data/tut/1hpv.pdb"
REPORT = "panel()._analysis_window"


def compute(window: Window) -> None:
    """Load the complex, and have the electrons of its ligand computed from the window until they are seen."""
    window.prompt(f"load {COMPLEX}, mine")
    window.wait("'mine' in objects()")
    window.screen.click(window.at("box(panel().compute_button)"))
    window.choose("Electrons of 478 200 in mine, 35 atoms")
    window.wait("place('Add hydrogens', 'QPushButton') is not None")
    window.click("Add hydrogens", "QPushButton")
    window.wait("find('Add hydrogens', 'QPushButton') is None", 240)
    window.wait("place('Compute', 'QPushButton') is not None")  # its charge is found meanwhile
    window.click("Compute", "QPushButton")
    window.wait("'region_homo' in objects() or any('region_mo' in name for name in objects())", 240)
    window.wait("at_rest()", 240)


def ask_residues(window: Window) -> None:
    """Have the residues around it listed, and click on the first of them."""
    window.screen.click(window.at("box(panel().analyse_button)"))
    window.choose("Residues around it")
    window.wait(f"{REPORT} is not None and {REPORT}._report() is not None and at_rest()", 120)
    time.sleep(1)
    table = f"{REPORT}.view.currentWidget()"
    left, top, *_ = window.ask(f"box({table})")
    window.screen.click((left + 90, top + 80))
    window.wait("'sele' in cmd.get_names('all')")


class Pocket(Manual):
    """With the window of the analysis, too."""

    def _both(self) -> tuple[int, int, int, int]:
        left, top, _, _ = super()._both()
        ends = self.window.ask(f"[box(main_window()), box({REPORT})]")
        right, bottom = (max(at[n] + at[n + 2] for at in ends) + 2 for n in (0, 1))
        return left, top, right - left, bottom - top


def main() -> None:
    if missing():
        sys.exit(missing())
    with tempfile.TemporaryDirectory(prefix="orbitile-pocket-") as place, Screen() as screen:
        folder = Path(place)
        window = Window(screen, folder / "user", Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"))
        window.install()
        with window:
            window.open_panel()
            compute(window)
            ask_residues(window)
            for command in (
                "deselect",
                "set depth_cue, 0",
                "set label_color, yellow",
                "orient region",
                "zoom region, 5",
            ):
                window.prompt(command)
                time.sleep(0.5)
            Pocket(window, folder, folder).keep("pocket")
            window.quit()


if __name__ == "__main__":
    main()
