"""A tour of the window with pictures and times: python -m tests.hosts.desktop.tour [FOLDER]

PyMOL is started from an empty home folder, into which Orbitile was installed, and used by mouse and keys. FOLDER gets a
picture of each step, and tour.md, which says how long each took and what was wrong. With --manual the pictures of
docs/pymol.md are made anew. The molecules are computed by PySCF (extra scf) where they are not there yet.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

from .random_actions import trouble_in
from .screen import Screen, missing
from .window import Window

ROOT = Path(__file__).parents[3]
_DIMER = (
    "C -1.889 -0.125 0; O -1.144 1.047 0; O -1.447 -1.215 0; H -0.150 0.970 0; H -2.960 0.110 0;"
    "C 1.889 0.125 0; O 1.144 -1.047 0; O 1.447 1.215 0; H 0.150 -0.970 0; H 2.960 -0.110 0"
)
"""Formic acid twice, for its hydrogen bonds."""


_ALDEHYDE = """7

C  0.00  0.00  0.00
O  1.05  0.60  0.00
H -0.95  0.58  0.00
C  0.00 -1.50  0.00
H  1.02 -1.87  0.00
H -0.51 -1.87  0.89
H -0.51 -1.87 -0.89
"""


def write_samples(folder: Path) -> None:
    """Write the files that the tour opens."""
    from orbitile_benchmarks.systems import SYSTEMS, hartree_fock, path_of

    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(path_of(SYSTEMS["Thr-b"]), folder / "threonine.molden")
    hartree_fock(lambda: _DIMER, "6-31g*")(folder / "dimer.molden")
    shutil.copy(Path(str(files("iodata.test.data") / "")) / "ch3_hf_sto3g.fchk", folder / "methyl.fchk")
    shutil.copy(str(files("orbitile") / "data" / "benzene.molden"), folder)
    (folder / "other").mkdir(exist_ok=True)
    shutil.copy(folder / "dimer.molden", folder / "other" / "benzene.molden")
    path = ROOT / "docs" / "examples" / "hcn_to_hnc.xyz"
    command = [sys.executable, "-m", "orbitile", "scf", path, "--basis", "6-31g*", "-q", "-o", folder / "hcn.h5"]
    subprocess.run(command, check=True)
    (folder / "acetaldehyde.xyz").write_text(_ALDEHYDE)
    command = [sys.executable, "-m", "orbitile", "vibrations", folder / "acetaldehyde.xyz", "--method", "gfn2"]
    command += ["--optimise", "-q", "-o", folder / "acetaldehyde.h5"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


_HEAD = "| step | seconds (mouse and keys) | stood still, ms | bar stood still, s | load | what was wrong |"


class Tour:
    """Steps of a tour, and what they took.

    Parameters
    ----------
    window
        Of PyMOL.
    files
        Folder of `write_samples`.
    pictures
        Folder that gets the pictures.
    """

    def __init__(self, window: Window, files: Path, pictures: Path) -> None:
        self.window, self.files, self.pictures = window, files, pictures
        self.lines = [_HEAD, "|" + "---|" * 6]
        self._read = 0

    def step(
        self,
        name: str,
        do: Callable[[], object],
        until: str = "at_rest()",
        seconds: float = 120,
        meanwhile: float = 0.0,
    ) -> None:
        """Do something, wait until it is there, take a picture, and note what there is to note.

        Another picture is taken so many seconds after it was done, if it is not there by then.
        """
        self.window.ask("pulse.take()")
        begin = time.monotonic()
        do()
        acted = time.monotonic()
        if meanwhile:
            time.sleep(meanwhile)
            self.window.screen.picture(self.pictures / f"{name}-meanwhile.png")
        wrong, still = self._wait(until, seconds)
        took = time.monotonic() - begin
        freezes = self.window.ask("pulse.take()")
        time.sleep(0.7)  # the last of it is drawn
        self.window.screen.picture(self.pictures / f"{name}.png")
        log = self.window.log()
        wrong += trouble_in(log[self._read :])
        self._read = len(log)
        wrong += self.window.ask("strays()")
        longest, place = max(((computed, where) for _, computed, _, where in freezes), default=(0, ""))
        said = "; ".join(wrong).replace("\n", " ") or (place.split(" < ")[0] if longest > 60 else "")
        times = f"{took:.2f} ({acted - begin:.2f}) | {longest} | {still:.2f}"
        self.lines.append(f"| {name} | {times} | {os.getloadavg()[0]:.1f} | {said} |")
        sys.stdout.write(self.lines[-1] + "\n")

    def _wait(self, until: str, seconds: float) -> tuple[list[str], float]:
        """Wait until something is so; says what was wrong, and for how long the bar has not moved meanwhile."""
        begin = moved = time.monotonic()
        still, before = 0.0, None
        while True:
            done, *bar = self.window.ask(f"[bool({until}), *bar()]")
            now = time.monotonic()
            if bar != before or done:
                still, moved, before = max(still, now - moved), now, bar
            if done:
                return [], still
            if now - begin > seconds:
                return [f"not there after {seconds:g} s: {until}"], still
            time.sleep(0.015)

    def wait(self) -> None:
        """Wait until what was asked for is shown, and drawn."""
        time.sleep(0.5)
        self.window.wait("at_rest()", 240)

    # ---- what is done several times

    def open(self, *names: str) -> None:
        """Open files by the button for it."""
        window = self.window
        window.click("Open…")
        window.wait("dialogs()")
        time.sleep(0.3)
        paths = [str(self.files / name) for name in names]
        window.screen.type(paths[0] if len(paths) == 1 else " ".join(f'"{path}"' for path in paths))
        window.screen.key("Return")
        window.wait("not dialogs()")

    def field(self, *words: str) -> None:
        """Choose of the menu of fields."""
        self.window.screen.click(self.window.at("box(panel().field_menu)"))
        time.sleep(0.2)
        self.window.choose(*words)

    def slide(self, start: float, end: float) -> None:
        """Drag the slider of the isovalue from one share of its length to another."""
        slider = "box(panel().iso_slider)"
        self.window.screen.drag(self.window.at(slider, (start, 0.5)), self.window.at(slider, (end, 0.5)), 1.0)

    def type(self, widget: str, text: str) -> None:
        """Type into a field of the window, and press Return."""
        self.window.write(f"panel().{widget}", text)
        self.window.screen.key("Return")

    def row(self, row: int) -> None:
        """Click on a row of the table of orbitals that can be seen."""
        self.window.screen.click(self.window.at(f"cell({row}, 1)"))

    def in_list(self, row: int, column: int, button: int = 1) -> None:
        """Click into the list of what is shown: eye, pin, name, isovalue, colours, transparency, or what deletes."""
        view = "panel().shown_list"
        cell = f"box({view}.viewport(), {view}.visualRect({view}.model().index({row}, {column})))"
        self.window.screen.click(self.window.at(cell), button)


def first_minute(tour: Tour) -> None:
    """Of a new user: nothing is compiled yet."""
    window = tour.window
    tour.step("01-panel", window.open_panel, "panel() is not None")
    tour.step(
        "02-first-picture-cold", lambda: tour.open("threonine.molden"), "len(objects()) > 2 and at_rest()", 240, 2.0
    )
    for number, key in enumerate(("Down", "Down", "Up"), 3):
        tour.step(f"{number:02}-{key.lower()}", lambda key=key: window.screen.key(key))
    tour.step("06-field-menu", lambda: window.screen.click(window.at("box(panel().field_menu)")), "open_entries()")
    tour.step("07-potential", lambda: window.choose("Potential on"), seconds=240)


def showing(tour: Tour) -> None:
    """Fields, looks, and the list of what is shown."""
    window, screen = tour.window, tour.window.screen
    tour.step("10-slid", lambda: tour.slide(0.5, 0.35))
    tour.step("11-frontier", lambda: tour.field("HOMO and LUMO"))
    tour.step("12-mesh", lambda: (screen.click(window.at("box(panel().style_box)")), screen.key("Down", "Return")))
    tour.step("13-hidden", lambda: tour.in_list(0, 0))
    tour.step("14-kept", lambda: (tour.in_list(0, 0), tour.in_list(0, 1)))
    tour.step("15-density-beside-kept", lambda: tour.type("field_edit", "density"))
    tour.step("16-white", lambda: window.prompt("bg_color white"))
    tour.step("17-deleted", lambda: tour.in_list(0, 6))
    tour.step("18-menu-of-a-surface", lambda: tour.in_list(0, 2, button=3), "True")
    screen.key("Escape")
    tour.step("19-localisation", lambda: tour.field("Electron loc"))
    tour.step("20-weak", lambda: (tour.open("dimer.molden"), time.sleep(1), tour.field("Weak inter")))
    tour.step(
        "21-dots", lambda: (screen.click(window.at("box(panel().style_box)")), screen.key("End", "Up", "Up", "Return"))
    )
    screen.click(window.at("box(panel().style_box)"))
    screen.key("Home", "Return")
    window.prompt("bg_color black")


def orbitals(tour: Tour) -> None:
    """The table and the diagram."""
    window, screen = tour.window, tour.window.screen
    tour.step("30-radical", lambda: tour.open("methyl.fchk"), "len(objects()) > 2 and at_rest()")
    for number, words in enumerate(("homo-1..lumo+1", "4-6", "virt", "nothing", "")):
        tour.step(f"{31 + number}-filter", lambda words=words: window.write("panel().filter_edit", words))
    tour.step("36-spin", lambda: tour.field("Spin"))
    header = "box(panel().table.horizontalHeader().viewport())"
    tour.step("37-unit", lambda: screen.click(window.at(header, (0.25, 0.5))), "True")
    screen.key("Escape")


def together(tour: Tour) -> None:
    """The window, PyMOL's prompt and other files."""
    window, screen = tour.window, tour.window.screen
    tour.step("40-benzene", lambda: tour.open("benzene.molden"), "'benzene' in objects() and at_rest()")
    tour.step("41-same-name", lambda: tour.open("other/benzene.molden"), "'benzene_2' in objects() and at_rest()")
    tour.step("42-renamed", lambda: (window.prompt("set_name benzene, ring"), time.sleep(0.7)))
    tour.step("43-deleted", lambda: (window.prompt("delete benzene_2"), time.sleep(0.7)))
    session = window.home / "session.pse"
    tour.step("44-saved", lambda: (window.prompt(f"save {session}"), time.sleep(1)))
    tour.step("45-reinitialize", lambda: (window.prompt("reinitialize"), time.sleep(0.7)))
    tour.step("46-loaded", lambda: (window.prompt(f"load {session}"), time.sleep(1)))
    tour.step("47-at-the-prompt", lambda: (window.prompt(f"load {tour.files / 'methyl.fchk'}"), time.sleep(1)))
    tour.step("48-several", lambda: tour.open("benzene.molden", "dimer.molden"), "'dimer' in objects() and at_rest()")
    tour.step("49-trajectory", lambda: tour.open("hcn.h5"), "'hcn' in objects() and at_rest()")
    play = "box(panel().frame_bar.play_button)"
    tour.step("50-plays", lambda: (screen.click(window.at(play)), time.sleep(3)), "True")
    tour.step("51-stopped", lambda: screen.click(window.at(play)))


def saving(tour: Tour) -> None:
    """Pictures, films, commands to copy, help."""
    window, screen = tour.window, tour.window.screen
    tour.step("60-benzene", lambda: tour.open("benzene.molden"), "at_rest()")
    rows = window.ask("panel().shown_list.model().rowCount()")
    tour.step("61-menu-of-a-surface", lambda: tour.in_list(rows - 1, 2, button=3), "open_entries()")
    screen.key("Escape")
    more = "box(panel().more_button)"
    tour.step("62-more", lambda: screen.click(window.at(more)), "open_entries()")
    tour.step("63-picture", lambda: window.choose("Save picture"), "dialogs()")
    for number, (words, path) in enumerate((("", "picture.png"), ("Save film", "turn.mp4"))):
        target = tour.pictures / path
        target.unlink(missing_ok=True)
        if words:
            screen.click(window.at(more))
            window.choose(words)
            window.wait("dialogs()")
        screen.key("Return")
        time.sleep(0.7)
        screen.key("ctrl+a")
        screen.type(str(target))
        saved = f"os.path.exists({str(target)!r})"
        tour.step(f"{64 + number}-saved", lambda: screen.key("Return"), saved, 300, 4.0 if words else 0.0)
    tour.step("66-manual", lambda: (screen.click(window.at("box(panel().filter_edit)")), screen.key("F1")), "True")
    screen.key("Escape")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--warm", action="store_true", help="with the kernels that this machine has compiled")
    options = parser.parse_args()
    if missing():
        sys.exit(missing())
    folder = options.folder or Path(tempfile.mkdtemp(prefix="orbitile-tour-"))
    files = folder / "files"
    if not files.exists():
        write_samples(files)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") if options.warm else None
    with Screen() as screen:
        shutil.rmtree(folder / "user", ignore_errors=True)
        window = Window(screen, folder / "user", cache)
        sys.stdout.write(window.install())
        with window:
            tour = Tour(window, files, folder)
            for part in (first_minute, showing, orbitals, together, saving):
                try:
                    part(tour)
                except (LookupError, RuntimeError, TimeoutError) as error:
                    tour.lines.append(f"| {part.__name__} | | | | | ended: {error} |")
                    sys.stdout.write(tour.lines[-1] + "\n")
            tour.lines.append(f"\nLeft behind: {window.quit() or 'nothing'}")
    (folder / "tour.md").write_text("\n".join(tour.lines) + "\n")
    sys.stdout.write(f"{tour.lines[-1]}\nPictures and tour.md are in {folder}\n")


if __name__ == "__main__":
    main()
