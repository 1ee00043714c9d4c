"""A tour of the window of analyses, by mouse and keys: python -m tests.hosts.desktop.analysis [FOLDER]

FOLDER gets a picture of each step, and analysis.md as of the tour. Molecules are those of the tour, or of --files.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

from .screen import Screen, missing
from .tour import Tour, write_samples
from .window import Window

WINDOW = "panel()._analysis_window"


class AnalysisTour(Tour):
    """Steps in the window of analyses."""

    def choose(self, title: str) -> None:
        """Choose an analysis of the menu."""
        self.window.screen.click(self.window.at("box(panel().analyse_button)"))
        time.sleep(0.3)
        self.window.choose(title)

    def press(self, widget: str) -> None:
        """Click on a widget of the window of analyses; on the left of it, where a box for a tick is."""
        self.window.screen.click(self.window.at(f"box({WINDOW}.{widget})", (0.08, 0.5)))

    def row(self, row: int) -> None:
        """Click on a row of the table that is seen."""
        view = f"{WINDOW}.view.currentWidget().view"
        cell = f"box({view}.viewport(), {view}.visualRect({view}.model().index({row}, 1)))"
        self.window.screen.click(self.window.at(cell))

    def place(self, curve: int, point: int) -> tuple[int, int]:
        """Where a point of the plot is that is seen; of a stick, half its height."""
        plot = f"{WINDOW}.view.currentWidget()"
        at = f"(lambda at: [at.x(), at.y()])({plot}.mapToGlobal({plot}.place_of({curve}, {point})))"
        x, y = self.window.ask(at)
        return x, y + 20

    def point(self, curve: int, point: int) -> None:
        """Click on it."""
        self.window.screen.click(self.place(curve, point))

    def write(self, parameter: str, text: str) -> None:
        """Type a parameter."""
        self.window.write(f"{WINDOW}.form.inputs[{parameter!r}]", text)

    def take(self, parameter: str) -> None:
        """Click on the button beside it, which takes the selection."""
        button = f"{WINDOW}.form.inputs[{parameter!r}].parentWidget().findChild(QtWidgets.QPushButton)"
        self.window.screen.click(self.window.at(f"box({button})"))

    def tab(self, number: int) -> None:
        """Click on a tab."""
        bar = f"{WINDOW}.view.tabBar()"
        self.window.screen.click(self.window.at(f"box({bar}, {bar}.tabRect({number}))"))


def tour(steps: AnalysisTour) -> None:
    """What a user does with analyses."""
    window = steps.window
    found = f"{WINDOW} is not None and {WINDOW}._report() is not None and at_rest()"
    steps.step("01-menu-empty", lambda: window.screen.click(window.at("box(panel().analyse_button)")))
    window.screen.key("Escape")
    steps.step("02-open", lambda: steps.open("threonine.molden"), "'object:cgo' in str(objects()) and at_rest()")
    steps.step("03-menu", lambda: window.screen.click(window.at("box(panel().analyse_button)")))
    window.screen.key("Escape")
    steps.step("04-charges", lambda: steps.choose("Bond"), found)
    steps.step("05-row", lambda: steps.row(3))
    steps.step("06-no-drawings", lambda: steps.press("drawings_button"))
    steps.step("07-drawings", lambda: steps.press("drawings_button"))
    steps.step("08-everything", lambda: steps.choose("Everything"), f"{found} and 'bcp' in str(objects())")
    steps.step("09-orbital-row", lambda: (steps.tab(3), steps.row(4)), "'threonine_mo5' in objects() and at_rest()")
    steps.step("10-place-row", lambda: (steps.tab(4), steps.row(2)))
    steps.step("11-plot", lambda: steps.tab(0))
    steps.step("12-stick", lambda: steps.point(1, 28), "'threonine_mo29' in objects() and at_rest()")
    steps.step("13-zoomed", lambda: window.screen.turn_wheel(steps.place(1, 28), 5))
    steps.step("14-cloud", lambda: steps.tab(1))
    steps.step("15-remarks", lambda: steps.tab(5))
    steps.step("16-surfaces", lambda: steps.press("surfaces_button"), "'threonine_density' in objects() and at_rest()")
    steps.step("17-slow", lambda: steps.write("steps", "1000"))
    steps.step(
        "18-running",
        lambda: steps.press("run_button"),
        f"not {WINDOW}.progress.isHidden() and {WINDOW}.progress.value() > 5",
    )
    steps.step("19-cancelled", lambda: steps.press("cancel_button"), "at_rest()")
    steps.step(
        "20-selection",
        lambda: (
            window.prompt("select sele, threonine and elem O"),
            steps.write("steps", "2"),
            steps.take("atoms"),
            steps.press("run_button"),
        ),
        found,
    )


def localised(steps: AnalysisTour) -> None:
    """Localised orbitals in the table, walked through by the keys."""
    window = steps.window

    def choose(title: str) -> None:
        window.screen.click(window.at("box(panel().orbitals_box)"))
        time.sleep(0.3)
        view = "panel().orbitals_box.view()"
        rows = window.ask(f"[{view}.model().index(n, 0).data() for n in range({view}.model().rowCount())]")
        cell = f"box({view}.viewport(), {view}.visualRect({view}.model().index({rows.index(title)}, 0)))"
        window.screen.click(window.at(cell))

    ready = "panel().browser.showing.scheme == {!r} and at_rest()"
    steps.step("30-ibo", lambda: choose("IBO"), ready.format("ibo"))
    steps.step("31-a-bond", lambda: window.screen.click(window.at("cell(20, 1)")), "'threonine_ibo_21' in objects()")
    steps.step("32-walk", lambda: window.screen.key("Down", "Down"), "'threonine_ibo_23' in objects() and at_rest()")
    steps.step("33-boys", lambda: choose("Boys"), ready.format("boys"))
    steps.step("34-canonical", lambda: choose("Canonical"), ready.format(""))


def every(steps: AnalysisTour) -> None:
    """All analyses that there are, one after the other, as the menu has them, at what they begin with."""
    window = steps.window
    names = window.ask(
        "[[one.name, one.module.TITLE] for _, those in panel().browser.analysing.offered('threonine') for one in "
        "those if not one.reason and not one.module.GROUP == 'Tests']"
    )
    finding = f"{WINDOW}.analysing.finding"
    done = f"{finding} is not None and not {finding}.is_running and at_rest()"
    for name, title in names:
        steps.step(
            f"40-{name}",
            lambda title=title: steps.choose(title),
            done.replace("not None", f"not None and {WINDOW}.name == {name!r}"),
            60,
        )


def path(steps: AnalysisTour) -> None:
    """Electron flow along a path: orbitals that become bonds are shown by a click, and played."""
    window = steps.window
    done = f"{WINDOW} is not None and {WINDOW}._report() is not None and {WINDOW}.name == 'flow' and at_rest()"
    steps.step("70-path", lambda: steps.open("hcn.h5"), "'object:cgo' in str(objects()) and at_rest()")
    steps.step("71-flow", lambda: steps.choose("Electron flow"), done)
    steps.step("72-orbital", lambda: (steps.tab(2), steps.row(0)), "'ibo' in str(list(session().shelf)) and at_rest()")
    steps.step("73-later", lambda: window.prompt("frame 15"), "at_rest()")
    steps.step("74-plot", lambda: steps.tab(0))


def structure(steps: AnalysisTour) -> None:
    """Atoms without a wavefunction: a pair of molecules from PyMOL's builder, and what holds them together."""
    window = steps.window
    for command in (
        "delete all",
        "fragment ala, one",
        "fragment ala, two",
        "translate [0, 0, 4.2], two",
        "create pair, one or two",
    ):
        window.prompt(command)
    window.prompt("delete one or two")
    done = f"{WINDOW} is not None and {WINDOW}._report() is not None and {WINDOW}.name == 'interactions' and at_rest()"
    steps.step("80-menu", lambda: window.screen.click(window.at("box(panel().analyse_button)")))
    window.screen.key("Escape")
    steps.step("81-interactions", lambda: steps.choose("Weak interactions"), done, 90)
    steps.step("82-surfaces", lambda: steps.press("surfaces_button"), "len(session().shelf) and at_rest()")


def mishaps(steps: AnalysisTour) -> None:
    """What users do while something is computed: delete, rename, go to another frame, save a session, quit."""
    window = steps.window
    finding = f"{WINDOW}.analysing.finding"

    def begin(n_steps: int) -> None:
        steps.choose("Everything")
        steps.write("steps", str(n_steps))
        steps.press("run_button")
        window.wait(f"{finding} is not None and {finding}.is_running")

    if "threonine" not in window.ask("objects()"):
        steps.open("threonine.molden")
        window.wait("'object:cgo' in str(objects()) and at_rest()")
    begin(150)
    steps.step("50-deleted", lambda: window.prompt("delete threonine"), f"not {finding}.is_running and at_rest()")
    steps.step("51-two", lambda: steps.open("threonine.molden", "hcn.h5"), "'hcn' in objects() and at_rest()")
    steps.step("52-frame", lambda: (steps.choose("Everything"), window.prompt("frame 3")), "at_rest()")
    steps.step("53-run", lambda: steps.press("run_button"), f"{finding}.order.frame == 2 and at_rest()")
    steps.step(
        "54-other-frame",
        lambda: window.prompt("frame 5"),
        f"{finding}.is_stale and 'hcn_everything_bcp' not in objects()",
    )
    steps.step(
        "55-back", lambda: window.prompt("frame 3"), f"not {finding}.is_stale and 'hcn_everything_bcp' in objects()"
    )
    steps.step(
        "56-followed",
        lambda: (steps.press("follow_box"), window.prompt("frame 7")),
        f"{finding}.order.frame == 6 and at_rest()",
    )
    steps.step(
        "57-renamed", lambda: window.prompt("set_name hcn, acid"), "'acid_everything_bcp' in objects() and at_rest()"
    )
    session = steps.pictures / "analysis.pse"
    steps.step("58-saved", lambda: window.prompt(f"save {session}"))
    steps.step(
        "59-restored",
        lambda: (window.prompt("delete all"), window.prompt(f"load {session}")),
        "'acid_everything_bcp' in objects() and at_rest()",
    )
    steps.step(
        "60-analysed",
        lambda: (steps.choose("Everything"), window.prompt("frame 2")),
        f"{finding} is not None and {finding}.report is not None and at_rest()",
    )
    begin(400)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--files", type=Path, help="folder of molecules, as the tour writes them")
    parser.add_argument(
        "--part", nargs="*", type=globals().get, help="of the tour: tour, localised, every, path, structure, mishaps"
    )
    options = parser.parse_args()
    if missing():
        sys.exit(missing())
    folder = options.folder or Path(tempfile.mkdtemp(prefix="orbitile-analysis-"))
    samples = options.files or folder / "files"
    if not samples.exists():
        write_samples(samples)
    with Screen() as screen, tempfile.TemporaryDirectory() as home:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        window = Window(screen, Path(home), cache)
        window.install("--no-kernels")
        plugins = str(Path(__file__).parents[1] / "plugins")
        window.environment["PYTHONPATH"] = os.pathsep.join([os.environ.get("PYTHONPATH", ""), plugins])
        with window:
            window.open_panel()
            steps = AnalysisTour(window, samples, folder)
            for part in options.part or (tour, localised, every, path, structure, mishaps):
                part(steps)
            steps.lines.append(f"\nLeft behind: {window.quit() or 'nothing'}")
    (folder / "analysis.md").write_text("\n".join(steps.lines) + "\n")
    sys.stdout.write(f"{steps.lines[-1]}\nPictures and analysis.md are in {folder}\n")


if __name__ == "__main__":
    main()
