"""What users do to the window, in any order: python -m tests.hosts.desktop.random_actions [ROUNDS [SEED]]

Each round is thirty actions; some rounds begin with a new PyMOL. After each, PyMOL's log is read, and what is there is
compared with what should be. A round that fails is told with its seed and its actions, and again with as few of them as
fail: --replay SEED does one round, --only 3,7,12 some of its actions.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

from .screen import Screen, missing
from .window import Window

N_ACTIONS = 30
_ROUNDS_OF_ONE_PYMOL = 5
_ESCAPES = 20
"""Times that Escape is pressed until it is a defect that a dialog stays."""
_REST = 90.0
"""Seconds within which everything that was asked for has to be shown."""

_TROUBLE = re.compile(
    r"Traceback|^\w*Error: |^\w*Exception\b|-Error|Warning|invalid|Fatal|Segmentation|QObject|QTimer|QPainter|QThread|"
    r"NoneType|PyMOL: |defect of|internal error|unhandled|leaked",
    re.MULTILINE,
)
"""What does not stand in the log of a PyMOL that works. A clear answer to a wrong command is ` Error: ...`."""


@dataclass
class Folder:
    """Files that the actions open."""

    root: Path
    opened: list[Path] = field(default_factory=list)

    def __post_init__(self) -> None:
        samples = Path(str(files("iodata.test.data") / ""))
        benzene = Path(str(files("orbitile") / "data" / "benzene.molden"))
        (self.root / "other").mkdir(parents=True)
        for source, name in (
            (benzene, "benzene.molden"),
            (samples / "h2o_sto3g.fchk", "water.fchk"),
            (samples / "ch3_hf_sto3g.fchk", "radical.fchk"),
            (samples / "F.molden", "fluorine.molden"),
            (samples / "h_sto3g.fchk", "atom.fchk"),
            (samples / "nh3_orca.molden", "other/benzene.molden"),
            (samples / "peroxide_opt.fchk", "path.fchk"),
        ):
            shutil.copy(source, self.root / name)
        self.files = sorted(path for path in self.root.rglob("*.*") if path.is_file())
        self.broken = self.root / "broken.molden"
        self.broken.write_text("[Molden Format]\n[Atoms] Angs\nC 1 6 0 0\n")


_PYMOLS_OWN = "Visible", "Floating", "External GUI", "Orbitile"
"""Entries of a menu that hides parts of PyMOL's window, the prompt among them."""

Action = Callable[[Window, Folder, random.Random], str]
ACTIONS: list[tuple[int, Action]] = []


def action(weight: int) -> Callable[[Action], Action]:
    """A thing that users do, so many times as often as the rarest."""

    def add(function: Action) -> Action:
        ACTIONS.append((weight, function))
        return function

    return add


@action(8)
def click_orbital(window: Window, folder: Folder, rng: random.Random) -> str:
    rows = window.ask("panel().table.model().rowCount()")
    row = rng.randrange(max(rows, 1))
    column = rng.choice([1, window.ask("panel().table.model().columnCount()") - 1])
    window.ask(
        f"panel().table.scrollTo(panel().table.model().index({row}, 0))"
    )  # for the wheel, which is tried elsewhere
    window.screen.click(window.at(f"cell({row}, {column})"))
    return f"row {row} of {rows}"


@action(6)
def walk(window: Window, folder: Folder, rng: random.Random) -> str:
    keys = rng.choices(["Down", "Up", "Home", "End", "Next", "Prior", "Right", "Left"], [9, 9, 1, 1, 1, 1, 1, 1], k=6)
    window.screen.key(*keys)
    return " ".join(keys)


@action(2)
def click_diagram(window: Window, folder: Folder, rng: random.Random) -> str:
    place = window.at("box(panel().diagram)", (0.4 + 0.5 * rng.random(), rng.random()))
    window.screen.turn_wheel(place, rng.choice([-2, -1, 1, 2]))
    window.screen.click(place)
    return str(place)


@action(4)
def type_field(window: Window, folder: Folder, rng: random.Random) -> str:
    text = rng.choice(
        ["homo", "lumo", "homo-1", "density", "esp", "elf", "mo:2", "mo:3:beta", "spin", "laplacian", "rdg"]
    )
    if rng.random() < 0.4:
        text = rng.choice(["", "mo:9999", "mo:", "difference:nothing.molden", "1..3", "homo+", "density:1", "a" * 300])
    window.write("panel().field_edit", text)
    window.screen.key("Return")
    return repr(text[:30])


@action(3)
def filter_orbitals(window: Window, folder: Folder, rng: random.Random) -> str:
    text = rng.choice(
        ["homo", "occ", "virt", "-20..-5", "3", "nothing", "", "a b c", "homo-2..lumo+2", "7-9", "..", "("]
    )
    window.write("panel().filter_edit", text)
    return repr(text)


@action(4)
def drag_isovalue(window: Window, folder: Folder, rng: random.Random) -> str:
    at = window.at("box(panel().iso_slider)", (rng.random(), 0.5))
    to = window.at("box(panel().iso_slider)", (rng.random(), 0.5))
    window.screen.drag(at, to, 0.2 + rng.random())
    return f"{at} to {to}"


@action(3)
def type_isovalue(window: Window, folder: Folder, rng: random.Random) -> str:
    text = rng.choice(["0.05", "0.001", "1e-3", "-0.02", "0", "nan", "1e9", "", "x", "0,03"])
    window.write("panel().iso_edit", text)
    window.screen.key(rng.choice(["Return", "Tab"]))
    return repr(text)


@action(2)
def toggle_automatic(window: Window, folder: Folder, rng: random.Random) -> str:
    window.screen.click(window.at("box(panel().auto_box)", (0.1, 0.5)))
    return ""


@action(2)
def choose_in_a_list(window: Window, folder: Folder, rng: random.Random) -> str:
    name = rng.choice(["quality_box", "quality_box", "second_box", "device_box", "molecule_box", "molecule_box"])
    window.screen.click(window.at(f"box(panel().{name})"))
    keys = rng.choices(["Down", "Up"], k=rng.randint(1, 3))
    window.screen.key(*keys, rng.choice(["Return", "Return", "Escape"]))
    return f"{name}: {' '.join(keys)}"


@action(10)
def click_anything(window: Window, folder: Folder, rng: random.Random) -> str:
    words, (left, top, width, height) = rng.choice(window.ask("clickable()"))
    at = left + int(rng.random() * width), top + int(rng.random() * height)
    button = rng.choice([1, 1, 1, 3])
    window.screen.click(at, button)
    time.sleep(0.15)
    said = f"{words!r} with button {button}"
    for _ in range(2):  # a menu, and what opens beside it
        entries = [entry for entry in window.ask("open_entries()") if entry[0] not in _PYMOLS_OWN]
        if entries:
            text, (left, top, width, height) = rng.choice(entries)
            window.screen.click((left + width // 2, top + height // 2))
            said += f" > {text!r}"
            time.sleep(0.15)
    _leave_dialogs(window, rng)
    return said


def _leave_dialogs(window: Window, rng: random.Random) -> None:
    """Leave what asks something, with or without an answer."""
    for _ in range(4):
        if not window.ask("dialogs() or drops_down()"):
            return
        window.screen.key(rng.choice(["Escape", "Escape", "Return"]))
        time.sleep(0.2)
    _escape(window)


def _escape(window: Window) -> None:
    """Close what asks something, by the keys; where Qt gives them to another window, after a click on it."""
    for turn in range(_ESCAPES):
        if not window.ask("dialogs() or drops_down()"):
            return
        title = "box(_shown(QtWidgets.QDialog)[-1]) if dialogs() else None"
        if turn % 5 == 4 and window.ask(title):
            window.screen.click(window.at(title, (0.02, 0.02)))
        window.screen.key("Escape")
        time.sleep(0.2)
    raise RuntimeError(f"Escape does not close {window.ask('dialogs()')}")


@action(2)
def choose_colour(window: Window, folder: Folder, rng: random.Random) -> str:
    window.screen.click(window.at("box(panel().pair_button)"))
    window.wait("open_entries()")
    free = [place for text, place in window.ask("open_entries()") if text.startswith("Other colour")]
    left, top, width, height = rng.choice(free)
    window.screen.click((left + width // 2, top + height // 2))
    window.wait("dialogs()")
    text = rng.choice(["#00aa55", "#ffffff", "#000000"])
    window.write("find('#', 'QLineEdit')", text)
    window.screen.key(rng.choice(["Return", "Escape"]))
    return text


@action(2)
def drag_transparency(window: Window, folder: Folder, rng: random.Random) -> str:
    ends = [window.at("box(panel().transparency_slider)", (rng.random(), 0.5)) for _ in range(2)]
    window.screen.drag(ends[0], ends[1], 0.3)
    return f"{ends[0]} to {ends[1]}"


@action(4)
def open_file(window: Window, folder: Folder, rng: random.Random) -> str:
    path = rng.choice([*folder.files, *folder.files, folder.broken, folder.root / "absent.molden"])
    window.click("Open…")
    window.wait("dialogs()")
    time.sleep(0.2)
    window.screen.type(str(path))
    window.screen.key("Return")
    time.sleep(0.3)
    _escape(window)
    return path.name


@action(1)
def open_recent(window: Window, folder: Folder, rng: random.Random) -> str:
    window.screen.click(window.at("box(panel().open_button)", (0.93, 0.5)))
    time.sleep(0.2)
    window.screen.key(*["Down"] * rng.randint(1, 3), "Return")
    _leave_dialogs(window, rng)
    return ""


@action(2)
def cancel(window: Window, folder: Folder, rng: random.Random) -> str:
    if window.ask("panel().cancel_button.isVisible()"):
        window.screen.click(window.at("box(panel().cancel_button)"))
        return ""
    return "nothing to cancel"


@action(3)
def turn_view(window: Window, folder: Folder, rng: random.Random) -> str:
    left, top, width, height = window.ask("box(main_window().pymolwidget)")
    free = min(width, window.ask("box(panel())[0] if panel() is not None else 9999") - left) - 10
    ends = [(left + rng.randint(5, max(free, 6)), top + rng.randint(5, height - 30)) for _ in range(2)]
    window.screen.drag(ends[0], ends[1], 0.3, button=rng.choice([1, 1, 2, 3]))
    window.screen.key("Escape")
    return f"{ends[0]} to {ends[1]}"


@action(1)
def close_and_open(window: Window, folder: Folder, rng: random.Random) -> str:
    for _ in range(3):  # it may be on its way to where it docks
        if window.ask("panel() is not None"):
            window.screen.click(window.at("box(panel().findChild(QtWidgets.QWidget, 'qt_dockwidget_closebutton'))"))
            time.sleep(0.5)
    window.wait("panel() is None")
    if rng.random() < 0.5:
        window.prompt("orb_panel")
    else:
        window.choose("Plugin", "Orbitile")
    window.wait("panel() is not None")
    return ""


@action(1)
def dock_or_undock(window: Window, folder: Folder, rng: random.Random) -> str:
    window.screen.click(window.at("box(panel().findChild(QtWidgets.QWidget, 'qt_dockwidget_floatbutton'))"))
    return ""


@action(9)
def command(window: Window, folder: Folder, rng: random.Random) -> str:
    objects = window.ask("objects()")
    molecules = window.ask("list(session().host.molecules()) if session() else []")
    surfaces = window.ask("list(session().shelf) if session() else []")
    if not objects:
        text = rng.choice(
            [f"orb_load {rng.choice(folder.files)}", "orb_info", "orb_next", "orb_surfaces", "orb_preset"]
        )
        window.prompt(text)
        return text
    any_one, others = rng.choice(list(objects)), [name for name in objects if name not in molecules + surfaces]
    molecule, surface = rng.choice(molecules or others), rng.choice(surfaces or molecules or others)
    text = rng.choice(
        [
            f"delete {any_one}",
            f"delete {molecule}",
            f"delete {surface}",
            f"set_name {molecule}, mine{rng.randrange(1000)}",
            f"set_name {surface}, mine{rng.randrange(1000)}",
            f"disable {any_one}",
            f"enable {any_one}",
            f"group mine_group{rng.randrange(3)}, {any_one}",
            "ungroup " + any_one,
            "zoom",
            "orient " + molecule,  # a surface may have given way by the time that the command is typed
            "hide everything",
            "show sticks",
            "bg_color white",
            "set orthoscopic, 1",
            "refresh",
            "rebuild",
            "get_view",
            f"orb_load {rng.choice(folder.files)}",
            f"orb_mo {molecule}, homo",
            f"orb_mo {molecule}, {rng.choice(['lumo+1', '1', 'homo-99', 'x'])}",
            f"orb_field {molecule}, density, 0.01, color_by=esp",
            f"orb_field {molecule}, {rng.choice(['elf', 'spin', 'nothing'])}",
            f"orb_iso {rng.choice(['0.03', '-1', 'x'])}",
            f"orb_style {rng.choice(['mesh', 'dots', 'surface', 'x'])}, {surface}",
            f"orb_hide {surface}",
            f"orb_unhide {surface}",
            f"orb_keep {surface}",
            f"orb_keep {surface}, 0",
            f"orb_delete {surface}",
            f"orb_preset {molecule}, {rng.choice(['potential', 'nci', 'spin', 'elf', 'frontier', 'x'])}",
            "orb_preset",
            "orb_surfaces",
            f"load {rng.choice(folder.files)}",
            "orb_next",
            "orb_prev",
            f"orb_color {rng.choice(['green', 'nocolour'])}, orange, 0.5",
            "orb_cancel",
            "orb_info",
            "frame 2",
            "mplay",
            "mstop",
        ]
    )
    window.prompt(text)
    return text


@action(7)
def live(window: Window, folder: Folder, rng: random.Random) -> str:
    name = window.ask("session().live.now.molecule if session() and session().live.now else ''")
    if not name:
        name, fragment = f"mine{rng.randrange(1000)}", rng.choice(["methane", "formamide", "methanol", "acetylene"])
        window.prompt(f"fragment {fragment}, {name}")
        text = f"orb_live {name}{rng.choice(['', '', ', sto-3g, hf', ', 3-21g', ', sto-3g, pbe, 1'])}"
    else:
        index, step = (
            rng.randint(1, 4),
            rng.choice(["[0.1, 0, 0]", "[0, -0.2, 0.1]", "[0.02, 0.02, 0.02]", "[4, 0, 0]"]),
        )
        text = rng.choice(
            [
                *[f"translate {step}, {name} and index {index}, camera=0"] * 4,
                f"rotate x, 30, {name}, camera=0",
                "orb_undo",
                "orb_undo",
                "orb_relax",
                "orb_relax off",
                "orb_scan 1-2",
                "orb_scan_to 1.2",
                "orb_live",
                f"orb_live {name}, 3-21g",
                f"orb_mo {name}, lumo",
                f"orb_field {name}, density, 0.01, color_by=esp",
                f"orb_path {folder.root}/path{rng.randrange(3)}.h5",
                f"set_name {name}, mine{rng.randrange(1000)}",
                f"h_add {name}",
                f"remove {name} and index {index}",
                f"alter {name} and index {index}, elem='F'",
                f"create mine_copy{rng.randrange(3)}, {name}",
                f"disable {name}",
                f"enable {name}",
                f"delete {name}",
                "undo",
            ]
        )
    window.prompt(text)
    return text


@action(3)
def drag_atom(window: Window, folder: Folder, rng: random.Random) -> str:
    name = window.ask("session().live.now.molecule if session() and session().live.now else ''")
    if not name:
        return "nothing is live"
    window.prompt("edit_mode")
    place = window.ask(f"atom({name!r}, 0) if {name!r} in objects() else None")
    if place is None:
        return f"{name} has gone"
    x, y = place[:2]
    to = x + rng.randint(-60, 60), y + rng.randint(-60, 60)
    window.screen.do("keydown", "ctrl")
    try:
        window.screen.drag((x, y), to, 0.5 + 2 * rng.random(), pause=rng.choice([0.05, 0.5]))
    finally:
        window.screen.do("keyup", "ctrl")
    window.prompt("edit_mode 0")
    return f"{name} from {x, y} to {to}"


@action(1)
def save_and_load(window: Window, folder: Folder, rng: random.Random) -> str:
    window.prompt(f"save {folder.root}/session.pse")
    time.sleep(0.5)
    between = rng.choice(["reinitialize", "", "delete all"])
    if between:
        window.prompt(between)
    window.prompt(f"load {folder.root}/session.pse")
    time.sleep(0.3)
    return between


@action(1)
def reinitialize(window: Window, folder: Folder, rng: random.Random) -> str:
    window.prompt("reinitialize")
    return ""


@action(1)
def export(window: Window, folder: Folder, rng: random.Random) -> str:
    window.prompt(f"orb_export {folder.root}/out{rng.choice(['.cube', '.ply', '.nothing', '/no/folder.cube'])}")
    return ""


@dataclass
class Round:
    """Some actions in a row.

    Attributes
    ----------
    seed : int
        What they are follows from it.
    only : list of int, optional
        Those that are done.
    """

    seed: int
    only: list[int] | None = None

    def actions(self) -> Iterable[tuple[int, Action, random.Random]]:
        """Number, function, and source of chance of each."""
        rng = random.Random(self.seed)
        chosen = rng.choices([each for _, each in ACTIONS], [weight for weight, _ in ACTIONS], k=N_ACTIONS)
        seeds = [rng.randrange(2**32) for _ in chosen]
        for number, (each, seed) in enumerate(zip(chosen, seeds, strict=True)):
            if self.only is None or number in self.only:
                yield number, each, random.Random(seed)

    def run(self, window: Window, folder: Folder) -> tuple[list[str], list[str]]:
        """Do them; gives what was done, and what is wrong afterwards."""
        done, wrong = [], []
        before = len(window.log())
        for number, each, rng in self.actions():
            try:
                if window.ask("panel() is None"):
                    window.open_panel()
                _know_place(window, done[-1].split()[1] if done else "")
                detail = each(window, folder, rng)
            except LookupError as error:  # there is no such thing to click on now
                detail = f"not possible: {error}"
            except (TimeoutError, RuntimeError) as error:
                done.append(f"{number} {each.__name__}")
                wrong = [f"{each.__name__}: {error}", *trouble_in(window.log()[before:])]
                if window.process.poll() is None:
                    wrong.append(str(window.ask("[dialogs(), entries(), panel() and box(panel()), windows()]")))
                return done, wrong
            done.append(f"{number} {each.__name__} {detail}")
            time.sleep(rng.choice([0.0, 0.05, 0.3, 1.0]))
        try:
            window.prompt("orb_play 0")
            window.screen.key("Escape")
            if window.ask("live() is not None"):
                window.prompt("orb_relax off")
            window.wait("at_rest() and (live() is None or live()[-1])", _REST)
            time.sleep(0.7)  # the window looks twice a second what was done at the prompt
            wrong += window.ask("strays()")
        except (TimeoutError, RuntimeError, LookupError) as error:
            wrong.append(str(error))
        return done, wrong + trouble_in(window.log()[before:])


def _know_place(window: Window, before: str) -> None:
    """Have Qt know where the window is: now and then it misses that a window manager has placed what was undocked."""
    if before in ("dock_or_undock", "click_anything", "close_and_open"):
        time.sleep(0.4)
    for _ in range(5):
        place = window.ask("box(panel())[:2] if panel() is not None and panel().isFloating() else None")
        if place is None or tuple(place) == window.screen.corner_of("Orbitile"):
            return
        button = "panel().findChild(QtWidgets.QWidget, 'qt_dockwidget_floatbutton')"
        window.ask(f"QtCore.QTimer.singleShot(0, {button}.click)")
        time.sleep(0.5)


def trouble_in(text: str) -> list[str]:
    """Passages of PyMOL's log that tell of something wrong."""
    lines, found, at = text.splitlines(), [], 0
    while at < len(lines):
        line = lines[at]
        if _TROUBLE.search(line) and not line.startswith("PyMOL>"):
            found.append("log: " + "\n     ".join(lines[at : at + 14]))
            at += 13
        at += 1
    return found


def run_rounds(rounds: list[Round], folder: Path, say: Callable[[str], None] = print) -> list[str]:
    """What was wrong in several rounds."""
    trouble: list[str] = []
    answers: set[str] = set()
    freezes: dict[str, list[float]] = {}
    with Screen() as screen, ExitStack() as stack:
        window, samples = None, Folder(folder / "files")
        for number, each in enumerate(rounds):
            if window is None:
                window = Window(screen, folder / f"pymol{number}", _kernels())
                window.install("--no-kernels")  # they are compiled as they are needed
                stack.enter_context(window)
                window.open_panel()
            begin = time.monotonic()
            done, wrong = each.run(window, samples)
            with open(folder / "actions.log", "a") as log:
                log.write("\n  ".join([f"round {number}, seed {each.seed}:", *done]) + "\n")
            alive = window.process.poll() is None
            if not alive:
                wrong.append(f"PyMOL has ended with {window.process.returncode}")
            answers |= set(re.findall(r"^ Error: .*", window.log(), re.MULTILINE))
            if alive and not wrong:
                for _, milliseconds, _, place in window.ask("pulse.take()"):
                    freezes.setdefault(place.split(" < ")[0], []).append(milliseconds)
                memory = window.ask("memory()")
                say(f"round {number}, seed {each.seed}: {time.monotonic() - begin:.0f} s, {memory} MB")
            if wrong:
                screen.picture(folder / f"seed{each.seed}.png")
            if alive and (wrong or (number + 1) % _ROUNDS_OF_ONE_PYMOL == 0):
                try:
                    wrong += window.quit()
                except (LookupError, RuntimeError, TimeoutError) as error:
                    wrong.append(f"quitting: {error}")
            if wrong:
                text = "\n  ".join([f"seed {each.seed}:", *done, "WRONG:", *wrong])
                say(text)
                trouble.append(text)
            elif (number + 1) % _ROUNDS_OF_ONE_PYMOL:
                window.prompt("reinitialize")
                continue
            stack.close()
            window = None
    for place, times in sorted(freezes.items(), key=lambda item: -max(item[1])):
        if max(times) > 60:
            say(f"stood still {len(times)} times, {max(times):.0f} ms of computing at most: {place}")
    for answer in sorted(answers):
        say(f"answered:{answer}")
    return trouble


def shrink(each: Round, folder: Path) -> Round:
    """The round with as few actions as fail, by leaving out halves, quarters and so on."""
    kept = list(range(N_ACTIONS))
    size = N_ACTIONS // 2
    while size:
        for start in range(0, len(kept), size):
            fewer = kept[:start] + kept[start + size :]
            with tempfile.TemporaryDirectory(dir=folder) as place:
                if fewer and run_rounds([Round(each.seed, fewer)], Path(place), lambda text: None):
                    kept = fewer
                    break
        else:
            size //= 2
    return Round(each.seed, kept)


def _kernels() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rounds", type=int, nargs="?", default=100)
    parser.add_argument("seed", type=int, nargs="?", default=0)
    parser.add_argument("--replay", type=int, metavar="SEED", help="one round")
    parser.add_argument("--only", metavar="NUMBERS", help="some of its actions")
    parser.add_argument("--shrink", action="store_true", help="find the fewest of its actions that fail")
    options = parser.parse_args()
    if missing():
        sys.exit(missing())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # not without PyMOL and its screen
    folder = Path(tempfile.mkdtemp(prefix="orbitile-trial-"))
    rounds = [Round(options.seed + number) for number in range(options.rounds)]
    if options.replay is not None:
        rounds = [Round(options.replay, [int(n) for n in options.only.split(",")] if options.only else None)]
    if options.shrink:
        fewest = shrink(rounds[0], folder)
        sys.stdout.write(f"--replay {fewest.seed} --only {','.join(map(str, fewest.only or []))}\n")
    trouble = run_rounds(rounds, folder)
    sys.stdout.write(f"{len(trouble)} of {len(rounds)} rounds failed; what there is lies in {folder}\n")
    sys.exit(bool(trouble))


if __name__ == "__main__":
    main()
