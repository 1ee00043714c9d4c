"""How quickly the window of Orbitile answers in PyMOL: python benchmarks/pymol_panel.py FOLDER

FOLDER holds thrb.molden and c60b.molden: `python -m orbitile_benchmarks.systems Thr-b thrb.molden` writes the one, and
the other likewise. PyMOL runs under Xvfb and is clicked on; a click counts until PyMOL has drawn the surface. A timer
of 1 ms in the thread of the window sees how long it stands still.
"""

import os
import resource
import statistics
import sys
import time
from pathlib import Path

from orbitile_benchmarks.in_pymol import runs_in_pymol, tell_from_pymol, told_in_pymol


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "data").resolve()
    for name in ("thrb.molden", "c60b.molden"):
        if not (folder / name).exists():
            sys.exit(f"{folder / name} is not there: python -m orbitile_benchmarks.systems writes it")
    print(told_in_pymol(__file__, BENCHMARK_FOLDER=str(folder)))


class Pulse:
    """Longest time between two turns of the thread of the window."""

    def __init__(self, QtCore):
        self.longest, self._last = 0.0, time.perf_counter()
        self._timer = QtCore.QTimer()
        self._timer.timeout.connect(self._beat)
        self._timer.start(1)

    def _beat(self):
        now = time.perf_counter()
        self.longest = max(self.longest, now - self._last)
        self._last = now

    def reset(self):
        self.longest, self._last = 0.0, time.perf_counter()


def drive(say):
    from pymol import cmd, gui
    from pymol.Qt import QtCore
    from PyQt5.QtTest import QTest

    Qt = QtCore.Qt
    folder = Path(os.environ["BENCHMARK_FOLDER"])

    def wait(condition, seconds=120.0):
        end = time.perf_counter() + seconds
        while not condition():
            if time.perf_counter() > end:
                raise AssertionError("waited in vain")
            QTest.qWait(1)

    from orbitile.hosts.pymol import open_panel
    from orbitile.hosts.pymol.commands import state_of

    state, panel = state_of(cmd), open_panel(cmd)
    pulse, opened = Pulse(QtCore), time.perf_counter()

    def settle():
        wait(lambda: panel.browser.at_rest())
        QTest.qWait(300)

    def shown(base):
        return base in cmd.get_names("objects") and not panel.cancel_button.isVisible()

    def click(row):
        """Milliseconds from the click to the picture; longest standstill until it was computed, and after."""
        cell = panel.table.proxy.index(row, 1)
        panel.table.scrollTo(cell)
        QTest.qWait(30)
        base = f"{panel.browser.showing.molecule}_mo{row + 1}"
        pulse.reset()
        begin = time.perf_counter()
        QTest.mouseClick(panel.table.viewport(), Qt.LeftButton, Qt.NoModifier, panel.table.visualRect(cell).center())
        wait(lambda: panel.browser.showing.asking.wanted is None)
        computing = pulse.longest
        pulse.reset()
        wait(lambda: shown(base))
        gui.get_qtwindow().pymolwidget.repaint()
        took = 1000 * (time.perf_counter() - begin)
        settle()
        return took, 1000 * computing, 1000 * pulse.longest

    def walk(rows):
        # neighbours are not computed ahead here, or nothing would be computed by the click
        panel.is_idle = lambda: False
        results = [click(row) for row in rows]
        del panel.is_idle
        return results

    def row(what, results):
        times, computing, showing = [sorted(column) for column in zip(*results, strict=True)]
        say(
            f"{what:42s} median {statistics.median(times):5.0f} ms, longest {times[-1]:5.0f} ms; the window stands "
            f"still at most {computing[-1]:3.0f} ms while it computes, {showing[-1]:3.0f} ms (median "
            f"{statistics.median(showing):3.0f} ms) while PyMOL takes and draws the surface"
        )

    def frame():
        cmd.turn("y", 1)
        begin = time.perf_counter()
        gui.get_qtwindow().pymolwidget.repaint()
        QTest.qWait(1)
        return 1000 * (time.perf_counter() - begin)

    def open_file(name, base):
        """Milliseconds from the file to the picture of its HOMO."""
        begin = time.perf_counter()
        panel.open(folder / name)
        wait(lambda: shown(base))
        gui.get_qtwindow().pymolwidget.repaint()
        say(f"{name}: {1000 * (time.perf_counter() - begin):.0f} ms from opening it to the picture of its HOMO")
        settle()

    wait(lambda: panel.browser.is_busy() or time.perf_counter() - opened > 2)
    wait(lambda: not panel.browser.is_busy(), 300)  # kernels are compiled, where they were not before
    panel.quality_box.setCurrentText("medium")
    open_file("thrb.molden", "thrb_mo32")
    row("threonine 6-31+G*, medium, warm", walk(range(10, 30)))
    row("threonine 6-31+G*, medium, from the cache", walk([12, 15, 18, 21, 24, 27]))
    updates, begin = 0, time.perf_counter()
    pulse.reset()
    while time.perf_counter() - begin < 3:
        panel.iso_slider.setValue(500 + updates % 200)
        QTest.qWait(1)
        gui.get_qtwindow().pymolwidget.repaint()
        updates += 1
    say(f"isovalue slider, threonine, medium: {updates / 3:.0f} updates a second")
    settle()

    open_file("c60b.molden", "c60b_mo180")
    panel.quality_box.setCurrentText("fine")
    panel.quality_box.activated.emit(2)
    settle()
    row("C60 6-31G*, fine, first click", walk([179]))
    values = list(state.computing.samples)[-1].volume.values
    say(f"    {' x '.join(map(str, values.shape))} = {values.size / 1e6:.2f} M points")
    say(f"    one frame of PyMOL's own drawing of it: {statistics.median(frame() for _ in range(9)):.0f} ms")
    row("C60 6-31G*, fine, warm", walk([178, 170, 165, 160, 184, 150, 140, 130]))
    updates, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < 3:
        panel.iso_slider.setValue(500 + updates % 200)
        QTest.qWait(1)
        gui.get_qtwindow().pymolwidget.repaint()
        updates += 1
    say(f"isovalue slider, C60, fine: {updates / 3:.0f} updates a second")
    settle()

    cmd.delete("c60b")
    cmd.delete("c60b_orb")
    panel.quality_box.setCurrentText("coarse")
    QTest.qWait(1000)
    panel.browser.molecules.choose("thrb")
    settle()

    def memory():
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 1e6

    rows = panel.table.orbitals.rowCount()
    for at in range(60):
        click_fast(panel, at % rows, wait, shown, Qt, QTest)
    before, objects = memory(), len(cmd.get_names("all"))
    for at in range(200):
        click_fast(panel, (7 * at) % rows, wait, shown, Qt, QTest)
    settle()
    say(
        f"200 orbitals in a row: memory {memory() - before:+.0f} MB, {len(cmd.get_names('all')) - objects:+d} objects "
        f"(cache: at most {state.computing.samples.limit / 1e6:.0f} MB)"
    )


def click_fast(panel, row, wait, shown, Qt, QTest):
    cell = panel.table.proxy.index(row, 1)
    panel.table.scrollTo(cell)
    QTest.mouseClick(panel.table.viewport(), Qt.LeftButton, Qt.NoModifier, panel.table.visualRect(cell).center())
    wait(lambda: shown(f"thrb_mo{row + 1}"))


if __name__ == "__main__":
    main()
elif runs_in_pymol():
    tell_from_pymol(drive)
