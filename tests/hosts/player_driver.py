"""Runs inside PyMOL's window: plays a trajectory with its slider, its own player and ours; writes down what happened.

python -m pymol -q player_driver.py, with the environment variables REPORT, SERIES and, for a picture, PICTURE.
"""

import os
import time

from pymol import cmd
from pymol.Qt import QtWidgets
from PyQt5.QtTest import QTest

from tests.hosts.in_pymol import report, run, wait


def map_there(base, state):
    field = cmd.get_volume_field(f"{base}_map", state, 1)
    return not isinstance(field, int) and field.size > 8


class Ticks:
    """Longest call of what the window is kept waiting by."""

    def __init__(self, player):
        self.longest, self._tick = 0.0, player.tick

    def __call__(self):
        begin = time.perf_counter()
        self._tick()
        self.longest = max(self.longest, time.perf_counter() - begin)


def drive():
    from orbitile.hosts.pymol import commands
    from orbitile.hosts.pymol.commands import state_of

    session = state_of(cmd)
    player = session.player
    ticks = Ticks(player)
    player.tick = ticks
    commands.orb_load(os.environ["SERIES"], "film")
    n = cmd.count_states("film")
    base = commands.orb_mo("film", "homo", 0.05, "coarse")
    wait(lambda: len(player.drawn(base)) >= min(n, 12))
    report["computed ahead"] = player.drawn(base)

    # the slider of PyMOL's window, as its keys move it
    cmd.frame(n)
    wait(player.at_rest)
    report["last frame"] = [n - 1 in player.drawn(base), session.shelf[base].request.frame, map_there(base, n)]
    cmd.frame(n // 2)
    cmd.frame(n // 2 - 1)  # backwards from here
    wait(player.at_rest)
    report["scrubbed"] = [session.shelf[base].request.frame, map_there(base, n // 2 - 1)]

    # another orbital and another isovalue while it plays
    commands.orb_play(30)
    wait(lambda: cmd.get_state() > n // 2 + 1)
    report["played"] = cmd.get_state()
    commands.orb_iso(0.08)
    wait(lambda: len(player.drawn(base)) > 3)
    report["isovalue"] = [session.shelf[base].isovalue, player.rate]
    now = cmd.get_state()
    wait(lambda: cmd.get_state() != now)
    other = commands.orb_next(quiet=1)
    wait(lambda: len(player.drawn(other)) > 3)
    report["orbital"] = [base in cmd.get_names("objects"), other in cmd.get_names("objects")]
    wait(lambda: player.drawn(other) == list(range(n)))
    commands.orb_play(0)
    wait(player.at_rest)

    # PyMOL's own player
    cmd.mset(f"1 -{n}")
    before = cmd.get_frame()
    cmd.mplay()
    wait(lambda: cmd.get_frame() != before)
    cmd.mstop()
    wait(player.at_rest)
    report["own player"] = cmd.get_state() - 1 in player.drawn(other)
    if os.environ.get("PICTURE"):
        QTest.qWait(300)
        QtWidgets.QApplication.primaryScreen().grabWindow(0).save(os.environ["PICTURE"])

    # the limit
    # bytes of one state, which are nobody's business but the limit's
    size = max(player._films[other].drawn.values())
    session.player.memory = 1
    player.trim()
    kept = max(1, (1 << 20) // size)
    for state in range(1, n + 1):
        cmd.frame(state)
        wait(lambda state=state: state - 1 in player.drawn(other))
        report["most kept"] = max(report.get("most kept", 0), len(player.drawn(other)))
    report["may be kept"] = kept
    session.player.memory = 1024

    # the panel acts on the film
    from orbitile.hosts.pymol import open_panel

    panel = open_panel(cmd)
    wait(lambda: panel.table.orbitals.rowCount() > 3)
    cmd.frame(2)
    panel.select("alpha", 3)
    wait(lambda: "film_mo4" in cmd.get_names("objects"))
    wait(lambda: len(player.drawn("film_mo4")) >= n)
    report["panel"] = [session.shelf["film_mo4"].request.frame, player.drawn("film_mo4") == list(range(n))]
    panel.iso_slider.setValue(700)
    wait(lambda: panel.browser.at_rest())
    isovalue = session.shelf["film_mo4"].isovalue
    cmd.frame(3)
    wait(lambda: 2 in player.drawn("film_mo4"))
    report["slider of the panel"] = abs(session.shelf["film_mo4"].isovalue / isovalue - 1) < 1e-6
    report["longest tick"] = ticks.longest

    # orbitals for an object without any; the window lives meanwhile
    cmd.delete("film")
    cmd.load_raw("2\n\nH 0 0 0\nH 0 0 0.74\n2\n\nH 0 0 0\nH 0 0 0.9\n", "xyz", "h2", 1)
    commands.orb_scf("h2", "sto-3g", filename=os.environ["REPORT"] + ".h5")
    begin, beats = time.monotonic(), 0
    while "h2" not in session.host.molecules():
        QTest.qWait(5)
        beats += 1
        assert time.monotonic() - begin < 60
    report["beats during the calculation"] = beats
    report["computed"] = commands.orb_mo("h2", "homo", 0.05, "coarse")


run(drive)
