"""Atoms dragged by a mouse while their molecule is live: python -m tests.hosts.desktop.live [FOLDER] [--chains 6,20]

PyMOL is started as for the tour, in its editing mode. With --chains, alkanes of so many carbon atoms are computed by
GFN2-xTB, and dragged at their end; otherwise small molecules with PBE/STO-3G. FOLDER gets pictures of each drag, and
live.md: converged geometries a second, how long the window stood still, energies, and what was left behind in memory
and processes.
"""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from orbitile.model.geometry import Geometry
from orbitile.scf.calculation import Calculation
from orbitile.scf.engines import engine_of
from orbitile_benchmarks.geometries import alkane

from .random_actions import trouble_in
from .screen import Point, Screen, missing
from .window import Window

MOLECULES = {
    "water": "O 0 -0.1 0; H 0.79 0.55 0; H -0.79 0.55 0",
    "hcn": "C -0.5 0 0; N 0.65 0 0; H -1.57 0.02 0",
    "ethanol": "C 1.1879 -0.3829 0; C 0 0.5526 0; O -1.1867 -0.2472 0; H -1.9237 0.385 0; H 2.0985 0.2306 0;"
    "H 1.1184 -1.0093 0.8869; H 1.1184 -1.0093 -0.8869; H -0.0227 1.1812 0.8852; H -0.0227 1.1812 -0.8852",
}
"""Atoms in Angstrom."""

_A_SECOND = 30
"""Moves of the mouse a second."""
_HEAD = (
    "| drag | s | converged a second | stood still, ms | over 60 ms | MB before, after "
    "| energy at rest | less that of orbitile scf | busy in | was wrong |"
)


@dataclass(frozen=True)
class Drag:
    """What a drag gave.

    Attributes
    ----------
    name : str
    seconds : float
        That the button was held.
    n_converged : int
        Geometries meanwhile.
    freezes : list
        Of `watcher.Pulse`.
    megabytes : pair of float
        That PyMOL held before and after.
    status : list
        Of `watcher.live`, at rest.
    afresh : float
        Energy of a calculation that knows nothing of those before, where the atoms are at rest.
    busy : list of str
        Where the window computed for longer than 60 ms at a time, which a busy machine makes it do.
    wrong : list of str
        What the log tells.
    """

    name: str
    seconds: float
    n_converged: int
    freezes: list[Any]
    megabytes: tuple[float, float]
    status: list[Any]
    afresh: float
    busy: list[str]
    wrong: list[str]

    def line(self) -> str:
        """A line of the table."""
        stood, computed = (max((freeze[at] for freeze in self.freezes), default=0) for at in (0, 1))
        many = [sum(freeze[at] > 60 for freeze in self.freezes) for at in (0, 1)]
        rate, (before, after) = self.n_converged / self.seconds, self.megabytes
        energy = self.status[3][1]
        busy, wrong = ("; ".join(found).replace("\n", " ") for found in (self.busy, self.wrong))
        return (
            f"| {self.name} | {self.seconds:.1f} | {rate:.1f} | {stood} ({computed} computing) | {many[0]} ({many[1]}) "
            f"| {before:.0f}, {after:.0f} | {energy:.7f} | {energy - self.afresh:.1e} | {busy} | {wrong} |"
        )


PBE = Calculation("pbe", "sto-3g")


class Mouse:
    """Drags atoms in a window of PyMOL, and notes what happens.

    Parameters
    ----------
    window
        Of PyMOL.
    pictures
        Folder that gets pictures.
    calculation
        Of all molecules.
    """

    def __init__(self, window: Window, pictures: Path, calculation: Calculation = PBE) -> None:
        self.window, self.pictures, self._calculation = window, pictures, calculation
        self._read = 0

    def load(self, name: str, geometry: str = "") -> None:
        """Have a molecule, or one of `MOLECULES`, in the middle of the window, in editing mode, and make it live."""
        window, calculation = self.window, self._calculation
        atoms = (geometry or MOLECULES[name]).split(";")
        path = self.pictures / f"{name}.xyz"
        path.write_text("\n".join([str(len(atoms)), name, *(atom.strip() for atom in atoms)]) + "\n")
        window.prompt("set auto_zoom, 0")
        window.prompt(f"load {path}, {name}")
        for command in ("edit_mode", "show sticks spheres", "set sphere_scale, 0.22", "set stick_radius, 0.12"):
            window.prompt(command)
        window.prompt(f"zoom {name}, 2.5")
        window.prompt(f"orb_live {name}, method={calculation.method}")
        self.rest()

    def rest(self, seconds: float = 90) -> list[Any]:
        """Wait until all that is shown has converged."""
        self.window.wait("live() is None or live()[-1]", seconds)
        found: list[Any] = self.window.ask("live()")
        return found

    def drag(self, name: str, molecule: str, atom: int, places: Iterable[Point], pictures: int = 4) -> Drag:
        """Hold an atom by the mouse, and take it through places, counted from where it is, in pixels."""
        window, screen = self.window, self.window.screen
        x, y = window.ask(f"atom({molecule!r}, {atom})")[:2]
        stops = [(x + right, y - up) for right, up in places]
        words: list[object] = ["mousemove", x, y, "sleep", 0.2, "keydown", "ctrl", "mousedown", 1, "sleep", 0.1]
        for stop in stops:
            words += ["mousemove", *stop, "sleep", 1 / _A_SECOND]
        words += ["mouseup", 1, "keyup", "ctrl"]
        memory = window.ask("memory()")
        window.ask("pulse.take()")
        before = window.ask("live()")[2]
        begin = time.monotonic()
        hand = subprocess.Popen(["xdotool", *map(str, words)], env=screen.environment)
        expected = len(stops) / _A_SECOND
        for n in range(pictures):
            time.sleep(max(0.0, begin + expected * (n + 0.7) / pictures - time.monotonic()))
            screen.picture(self.pictures / f"{name}-{n + 1}.png")
        hand.wait(expected + 60)
        seconds = time.monotonic() - begin
        n_converged = window.ask("live()")[2] - before
        freezes = window.ask("pulse.take()")
        busy = [freeze[3] for freeze in freezes if freeze[1] > 60][:3]
        status = self.rest()
        time.sleep(0.7)
        screen.picture(self.pictures / f"{name}-rest.png")
        log = window.log()
        wrong = trouble_in(log[self._read :])
        self._read = len(log)
        memories = memory, window.ask("memory()")
        return Drag(name, seconds, n_converged, freezes, memories, status, self._afresh(molecule), busy, wrong)

    def _afresh(self, molecule: str) -> float:
        """Energy of a molecule where its atoms are, as `orbitile scf` computes it."""
        numbers, positions = self.window.ask(f"[part.tolist() for part in session().host.geometries({molecule!r})]")
        geometry = Geometry(np.array(numbers), np.array(positions[0]))
        return engine_of("auto", geometry, self._calculation).solve(geometry, self._calculation).energy

    def way_over(self, seconds: float = 6.0) -> list[Point]:
        """Half an ellipse about carbon and nitrogen of HCN, from where hydrogen is to the other side."""
        hydrogen, *others = (self.window.ask(f"atom('hcn', {atom})")[0] for atom in (2, 0, 1))
        middle, n = sum(others) / 2 - hydrogen, round(seconds * _A_SECOND)
        angles = [math.pi * (1 - k / n) for k in range(1, n + 1)]
        return [(round(middle * (1 + math.cos(angle))), round(0.7 * middle * math.sin(angle))) for angle in angles]


def swaying(width: float, seconds: float, turns: int) -> list[Point]:
    """Places on small circles about where an atom is, and back to that."""
    n = round(seconds * _A_SECOND)
    angles = [2 * math.pi * turns * k / n for k in range(1, n + 1)]
    return [(round(width * (math.cos(angle) - 1)), round(width * math.sin(angle))) for angle in angles]


def over(mouse: Mouse) -> list[Drag]:
    """HCN becomes HNC: hydrogen goes over from carbon to nitrogen, by hand; and back."""
    mouse.load("hcn", MOLECULES["hcn"])
    there = mouse.way_over()
    back = [(x - there[-1][0], y - there[-1][1]) for x, y in reversed([(0, 0), *there[:-1]])]
    drags = [mouse.drag("hcn-to-hnc", "hcn", 2, there, 6), mouse.drag("hnc-to-hcn", "hcn", 2, back, 2)]
    mouse.window.prompt("orb_live")
    mouse.window.prompt("delete all")
    return drags


def long(mouse: Mouse, seconds: float = 30.0) -> list[Drag]:
    """Ethanol: the hydrogen of its OH group is held for long."""
    mouse.load("ethanol", MOLECULES["ethanol"])
    return [mouse.drag("ethanol-30s", "ethanol", 3, swaying(14, seconds, round(seconds / 3)), 5)]


def chain(mouse: Mouse, n: int, seconds: float) -> list[Drag]:
    """An alkane: the hydrogen at its end goes in circles."""
    name = f"c{n}"
    mouse.load(name, alkane(n))
    places = swaying(max(3, 84 / n), seconds, round(seconds / 3))  # the longer, the farther from the eye
    found = [mouse.drag(f"{name}-{3 * n + 2}-atoms", name, 3 * n + 1, places, 3)]
    mouse.window.prompt("orb_live")
    mouse.window.prompt("delete all")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--seconds", type=float, default=30, help="of the long drag")
    parser.add_argument("--chains", help="carbon atoms of alkanes that are dragged instead, with commas between")
    options = parser.parse_args()
    if missing():
        sys.exit(missing())
    folder = options.folder or Path(tempfile.mkdtemp(prefix="orbitile-live-"))
    folder.mkdir(parents=True, exist_ok=True)
    lines = [_HEAD, "|" + "---|" * 10]
    parts: list[Callable[[Mouse], list[Drag]]] = [over, lambda mouse: long(mouse, options.seconds)]
    if options.chains:
        parts = [partial(chain, n=int(n), seconds=options.seconds) for n in options.chains.split(",")]
    calculation = Calculation("gfn2") if options.chains else PBE
    with Screen() as screen, tempfile.TemporaryDirectory() as home:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        window = Window(screen, Path(home), cache)
        sys.stdout.write(window.install())
        with window:
            window.open_panel()
            mouse = Mouse(window, folder, calculation)
            for part in parts:
                for drag in part(mouse):
                    lines.append(drag.line())
                    sys.stdout.write(lines[-1] + "\n")
            n_before = len(window.descendants())
            window.prompt("orb_live")
            time.sleep(3)
            lines.append(f"\nProcesses while live and 3 s after: {n_before}, {len(window.descendants())}")
            lines.append(f"Load: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
            lines.append(f"Left behind: {window.quit() or 'nothing'}")
    (folder / "live.md").write_text("\n".join(lines) + "\n")
    sys.stdout.write("\n".join(lines[-3:]) + f"\nPictures and live.md are in {folder}\n")


if __name__ == "__main__":
    main()
