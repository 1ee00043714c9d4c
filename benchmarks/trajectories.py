"""How many frames a second, and where the time of a frame goes: python benchmarks/trajectories.py FOLDER

FOLDER holds thrb.molden and c60b.molden, as `orbitile bench` makes them. From each a series of frames is
made: atoms swing about their places, and the orbitals are made orthonormal where the atoms are. With --pymol the film
is played in PyMOL under Xvfb, and a timer of 1 ms in the thread of its window sees how long it stands still.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from orbitile_benchmarks.in_pymol import runs_in_pymol, tell_from_pymol, told_in_pymol

ISOVALUE = 0.03


def frames(path: Path, n: int):
    """A molecule swinging: displacements of a few hundredths of an Angstrom, each atom about its own place."""
    import orbitile as ob
    from orbitile.gaussians.overlap import overlap_matrix

    still = ob.load(path)
    rng = np.random.default_rng(1)
    one, other = rng.normal(scale=0.06, size=(2, *still.positions.shape))
    for phase in np.linspace(0, 2 * np.pi, n, endpoint=False):
        where = still.positions + np.sin(phase) * one + np.sin(2 * phase) * other
        moved = replace(still, positions=where, geometries=np.empty(0))
        values, axes = np.linalg.eigh(overlap_matrix(moved).toarray())
        roots = np.sqrt(values)
        left, _, right = np.linalg.svd(((axes * roots) @ axes.T) @ still.alpha.coefficients, full_matrices=False)
        coefficients = ((axes / roots) @ axes.T) @ (left @ right)
        orbitals = ob.Orbitals(coefficients, still.alpha.occupations, still.alpha.energies)
        yield replace(moved, alpha=orbitals)


def series_of(path: Path, folder: Path, n: int) -> Path:
    """The series file of a swinging molecule."""
    import orbitile as ob

    target = folder / f"{path.stem}.h5"
    with ob.SeriesWriter(target) as writer:
        for frame in frames(path, n):
            writer.append(frame)
    return target


class Clock:
    """Milliseconds of each stage of each frame."""

    def __init__(self) -> None:
        self.spent: dict[str, list[float]] = {}
        self._since = 0.0

    def start(self) -> None:
        self._since = time.perf_counter()

    def stage(self, name: str) -> None:
        now = time.perf_counter()
        self.spent.setdefault(name, []).append(1000 * (now - self._since))
        self._since = now

    def tell(self, what: str) -> None:
        medians = {name: float(np.median(times)) for name, times in self.spent.items()}
        shortest = {name: min(times) for name, times in self.spent.items()}
        print(f"{what}: milliseconds a frame, median (least)")
        for name, value in medians.items():
            print(f"    {name:34s} {value:7.2f} ({shortest[name]:.2f})")
        print(f"    {'together':34s} {sum(medians.values()):7.2f} ({sum(shortest.values()):.2f})")


def run(series: Path, what: str, spacing: float | None, points: int | None, device: str, n: int) -> None:
    """From the wavefunction to the mesh, whole and stage by stage."""
    import orbitile as ob
    from orbitile.evaluation.boxes import fits
    from orbitile.evaluation.requests import field_of
    from orbitile.evaluation.surfaces import surface_in_motion
    from orbitile.fields.orbital import orbital_of
    from orbitile.hosts.pymol.graphics import drawing_of
    from orbitile.pictures.request import Request, Sample
    from orbitile.surfaces.colour_maps import NEGATIVE, POSITIVE
    from orbitile.workers import pack, unpack

    path = ob.follow(ob.load_trajectory(series, kept=n + 1))
    first = path[0]
    room = path.geometries()
    box = ob.enclosing_lattice(first, "homo", ISOVALUE, spacing=spacing, points=points)
    step = float(box.axes[0, 0])
    low = box.origin - first.positions.min(axis=0) + room.min(axis=(0, 1))
    high = box.origin + (np.array(box.shape) - 1) * step - first.positions.max(axis=0) + room.max(axis=(0, 1))
    lattice = ob.Lattice.box(low, high, step)
    number = orbital_of(first, "homo").index + 1
    field = f"mo:{number}"
    surface = surface_in_motion(first, field, ISOVALUE, lattice, device=device)
    print(f"{what}: {lattice.shape} = {lattice.n_points / 1e6:.2f} million points, {len(surface.faces)} triangles")

    fresh = [replace(path[index]) for index in range(n)]  # nothing derived from them is kept
    rounds = []
    for _ in range(3):
        fresh = [replace(frame) for frame in fresh]
        begin = time.perf_counter()
        for frame in fresh:
            fits(frame, field, ISOVALUE, lattice)
            surface_in_motion(frame, field, ISOVALUE, lattice, device=device)
        rounds.append(n / (time.perf_counter() - begin))
    print(f"    from the wavefunction to the mesh on {device}: {max(rounds):.1f} frames a second (best of 3 rounds)")

    rounds = []
    for _ in range(3):
        read = ob.follow(ob.load_trajectory(series))
        begin = time.perf_counter()
        for index in range(n):
            one = read[index]
            fits(one, field, ISOVALUE, lattice)
            surface_in_motion(one, field, ISOVALUE, lattice, device=device)
        rounds.append(n / (time.perf_counter() - begin))
    print(f"    from the file to the mesh, orbitals followed: {max(rounds):.1f} frames a second (best of 3 rounds)")

    clock = Clock()
    reading = ob.follow(raw := ob.load_trajectory(series))
    for index in range(n):
        clock.start()
        raw[index]
        clock.stage("reading, and the check")
        one = reading[index]
        clock.stage("following")
        one = replace(one)
        clock.start()
        orbital = field_of(one, field)
        _ = orbital._terms, orbital._sample
        clock.stage("coefficients and packing")
        fits(one, field, ISOVALUE, lattice)
        clock.stage("does the lattice hold it")
        volume = ob.compute(one, field, lattice, device=device)
        clock.stage("tables and kernel, values at home")
        surface = ob.extract_surface(volume, ISOVALUE, device=device)
        clock.stage("extraction")
        request = Request(str(series), field, frame=index)
        sample = Sample(request, volume, surface, ISOVALUE, device)
        unpack(pack(sample)[0])
        clock.stage("hand-over between processes")
        drawing_of(surface, (POSITIVE, NEGATIVE))
        clock.stage("instructions for PyMOL")
    clock.tell(what)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--frames", type=int, default=100)
    parser.add_argument("--large", action="store_true", help="C60 too, at 5 million points")
    parser.add_argument("--pymol", action="store_true", help="on the screen of PyMOL too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        threonine = series_of(options.folder / "thrb.molden", folder, options.frames)
        medium = 0.15 / 0.529177210903
        run(threonine, "threonine 6-31+G*, medium", medium, None, options.device, options.frames)
        if options.large:
            c60 = series_of(options.folder / "c60b.molden", folder, 10)
            run(c60, "C60 6-31G*", None, 172, options.device, 10)
        if options.pymol:
            print(told_in_pymol(__file__, BENCHMARK_SERIES=str(threonine)))


def drive(say) -> None:
    """Inside PyMOL: the first pass, which computes; the second, which does not; another isovalue while it plays."""
    from pymol import cmd, gui
    from pymol.Qt import QtCore
    from PyQt5.QtTest import QTest

    from orbitile.hosts.pymol import commands
    from orbitile.hosts.pymol.commands import state_of

    gaps, last = [0.0], time.perf_counter()

    def beat() -> None:
        nonlocal last
        now = time.perf_counter()
        gaps.append(now - last)
        last = now

    timer = QtCore.QTimer()
    timer.timeout.connect(beat)
    timer.start(1)

    def wait(condition, seconds=120.0) -> None:
        end = time.perf_counter() + seconds
        while not condition():
            if time.perf_counter() > end:
                raise AssertionError("waited in vain")
            QTest.qWait(1)

    ticks = 0.0
    session = state_of(cmd)
    tick = session.player.tick

    def timed() -> None:
        nonlocal ticks
        begin = time.perf_counter()
        tick()
        ticks = max(ticks, time.perf_counter() - begin)

    session.player.tick = timed  # type: ignore[method-assign]  # to be timed
    handed: list[float] = []
    put_surface = session.host.put_surface

    def timed_put(*arguments, **keywords) -> None:
        begin = time.perf_counter()
        put_surface(*arguments, **keywords)
        handed.append(time.perf_counter() - begin)

    session.host.put_surface = timed_put  # type: ignore[method-assign]  # to be timed
    widget = gui.get_qtwindow().pymolwidget
    painted: list[int] = []  # states of the film as PyMOL draws them, when it draws by itself
    paint = widget.paintGL

    def recorded() -> None:
        paint()
        painted.append(cmd.get_state())

    widget.paintGL = recorded
    begin = time.perf_counter()
    commands.orb_load(os.environ["BENCHMARK_SERIES"], "film")
    say(f"orb_load: {1000 * (time.perf_counter() - begin):.0f} ms")
    commands.orb_mo("film", "homo", ISOVALUE)
    n = cmd.count_states("film")
    wait(lambda: len(session.player.drawn("film_homo")) > 12)  # the worker has started
    for what in ("first pass, computed as it plays", "second pass, from memory"):
        QTest.qWait(300)
        gaps, ticks, last = [0.0], 0.0, time.perf_counter()
        del painted[:]
        begin = time.perf_counter()
        commands.orb_play(120)
        wait(lambda: len(changes(painted)) > n)
        took = time.perf_counter() - begin
        commands.orb_play(0)
        say(
            f"{what}: {n / took:.1f} frames a second on screen, {skipped(painted, n)} of {n} passed over; "
            f"the window stands still for {1000 * max(gaps):.0f} ms at most, for more than 60 ms "
            f"{sum(gap > 0.06 for gap in gaps)} times; our part of it for {1000 * ticks:.0f} ms at most"
        )
    few, all_there = min(handed[:10]), min(handed[-10:])
    say(f"handing a frame over: {1000 * few:.0f} ms with few frames there, {1000 * all_there:.0f} ms with {n}")
    cmd.turn("y", 1)
    begin = time.perf_counter()
    for _ in range(10):
        cmd.turn("y", 1)
        widget.repaint()
    say(f"PyMOL's own drawing of one frame: {100 * (time.perf_counter() - begin):.1f} ms")
    say(f"memory of drawn frames: {session.player.taken() / 2**20:.0f} MB of {session.player.memory} MB")


def changes(painted: list[int]) -> list[int]:
    """The states that were drawn one after the other, each once."""
    return [state for n, state in enumerate(painted) if n == 0 or state != painted[n - 1]]


def skipped(painted: list[int], n: int) -> int:
    """States that the film went through without being drawn."""
    shown = changes(painted)
    return sum((b - a) % n - 1 for a, b in pairwise(shown))


if __name__ == "__main__":
    main()
elif runs_in_pymol():
    tell_from_pymol(drive)
