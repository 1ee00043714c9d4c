"""Makes the pictures of docs/pymol.md anew: python -m tests.hosts.desktop.manual [FOLDER OF MOLECULES]

Each is what the screen shows after a few clicks; the molecules are those of the tour.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

from .live import Mouse
from .screen import Screen, missing
from .tour import ROOT, Tour, write_samples
from .window import Window

_IMAGES = ROOT / "docs" / "images"
_MARGIN = 2
_FRAME = 22
"""Pixels that the window manager puts above a window."""


class Manual(Tour):
    """A tour that keeps pictures of both windows, without the screen about them."""

    def keep(self, name: str) -> None:
        """Save what is seen as a picture of the manual."""
        self.window.screen.move((1450, 930))  # no tooltip
        time.sleep(1.2)
        path = self.window.screen.picture(_IMAGES / f"pymol-{name}.png", self._both())
        with Image.open(path) as picture:
            few = picture.quantize(256, palette=picture.quantize(256), dither=Image.Dither.FLOYDSTEINBERG)
        few.save(path, optimize=True)  # half as large, and looks the same
        sys.stdout.write(f"{path}: {path.stat().st_size} bytes\n")

    def _both(self) -> tuple[int, int, int, int]:
        """Where PyMOL's window and that of Orbitile are, with menus that are open."""
        analysis = "filter(None, [panel()._analysis_window])"
        boxes = self.window.ask(f"[*map(box, [main_window(), panel(), *{analysis}, *_shown(QtWidgets.QMenu)])]")
        boxes = [box for box in boxes if box is not None]
        left, top = max(min(at[0] for at in boxes) - _MARGIN, 0), min(at[1] for at in boxes) - _FRAME
        right, bottom = max(at[0] + at[2] for at in boxes), max(at[1] + at[3] for at in boxes)
        return left, top, right - left + _MARGIN, bottom - top + _MARGIN


def take(manual: Manual) -> None:
    """Go through what the page tells of."""
    window, screen = manual.window, manual.window.screen
    window.open_panel()
    manual.open("threonine.molden")
    manual.wait()
    manual.keep("panel")
    screen.click(window.at("box(panel().field_menu)"))
    manual.keep("fields")
    window.choose("Potential on")
    manual.wait()
    manual.keep("potential")
    manual.field("HOMO and LUMO")
    manual.wait()
    manual.keep("frontier")
    manual.in_list(1, 6)
    manual.in_list(0, 1)
    manual.type("field_edit", "density")
    manual.wait()
    screen.click(window.at("box(panel().style_box)"))
    screen.key("Down", "Return")
    manual.wait()
    manual.keep("list")
    screen.click(window.at("box(panel().style_box)"))
    screen.key("Home", "Return")
    window.prompt("delete all")
    time.sleep(1)
    manual.open("dimer.molden")
    manual.wait()
    manual.field("Weak inter")
    manual.wait()
    window.prompt("turn y, 50")
    manual.keep("weak")
    window.prompt("delete all")
    time.sleep(1)
    manual.open("hcn.h5")
    manual.wait()
    window.prompt("frame 10")
    manual.wait()
    manual.keep("trajectory")
    window.prompt("delete all")
    time.sleep(1)


def take_live(manual: Manual) -> None:
    """Drag the hydrogen atom of HCN until it is on its way to nitrogen."""
    mouse = Mouse(manual.window, manual.pictures)
    mouse.load("hcn")
    manual.window.prompt("zoom hcn, 1.5")
    time.sleep(1)
    mouse.drag("live", "hcn", 2, mouse.way_over()[:150], 0)
    manual.keep("live")


def take_vibrations(manual: Manual) -> None:
    """Have acetaldehyde move along its C=O stretch, with arrows."""
    window, screen, analysis = manual.window, manual.window.screen, "panel()._analysis_window"
    window.prompt("delete all")
    time.sleep(1)
    manual.open("acetaldehyde.h5")
    manual.wait()
    window.wait('panel().line_buttons["vibrations"].isVisible()')
    screen.click(window.at('box(panel().line_buttons["vibrations"])'))
    window.wait(f"{analysis} is not None and {analysis}._report() is not None and at_rest()")
    window.prompt("orient acetaldehyde; zoom acetaldehyde, 1.5")
    view = f"{analysis}.view"
    strongest = window.ask(f"int({view}.plot().plot.curves[0].y.argmax())")
    at = f"(lambda at: [at.x(), at.y()])({view}.plot().mapToGlobal({view}.plot().place_of(0, {strongest})))"
    x, y = window.ask(at)
    screen.click((x, y + 10))
    screen.click(window.at(f"box({analysis}.motion_bar.arrows_box)", (0.08, 0.5)))
    time.sleep(1)
    manual.keep("vibrations")


def main() -> None:
    if missing():
        sys.exit(missing())
    with tempfile.TemporaryDirectory(prefix="orbitile-manual-") as place, Screen() as screen:
        folder = Path(place)
        files = Path(sys.argv[1]) if len(sys.argv) > 1 else folder / "files"
        if not files.exists():
            write_samples(files)
        window = Window(screen, folder / "user", Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"))
        window.install()
        with window:
            manual = Manual(window, files, folder)
            take(manual)
            take_live(manual)
            take_vibrations(manual)
            window.quit()


if __name__ == "__main__":
    main()
