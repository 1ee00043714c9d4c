"""Runs inside PyMOL's window: what the user does to objects of ours by PyMOL's own means, while the panel is open.

python -m pymol -q following_driver.py, with the environment variables REPORT and FOLDER, which has two molecules.
"""

import os
from pathlib import Path

from pymol import cmd

from tests.hosts.in_pymol import report, run, session, wait

FOLDER = Path(os.environ["FOLDER"])


def names():
    return set(cmd.get_names("objects"))


def seen():
    return set(cmd.get_names("objects", enabled_only=1))


def drive():
    from orbitile.hosts.pymol import open_panel

    panel = open_panel()
    browser, shelf = panel.browser, session().shelf
    panel.quality_box.setCurrentText("coarse")
    panel.open(FOLDER / "one.molden")
    wait(lambda: browser.showing.molecule == "one" and shelf.present() and panel.browser.at_rest())
    (first,) = shelf.present()
    report["first"] = first

    cmd.do("orb_load " + str(FOLDER / "two.mkl"))  # at the prompt: the window lists it
    wait(lambda: browser.showing.molecule == "two")
    report["set aside"] = sorted(seen())
    cmd.do("enable one")
    wait(lambda: first in seen())
    cmd.do("disable two")
    panel.molecule_box.setCurrentText("one")
    panel.molecule_box.activated.emit(panel.molecule_box.currentIndex())
    wait(lambda: browser.showing.molecule == "one")

    cmd.do("group mine, one two")  # into a group of the user's
    browser.showing.ask_for_named("lumo")
    wait(lambda: "one_lumo" in names() and panel.browser.at_rest())
    cmd.do("set_name one, other")
    wait(lambda: browser.showing.molecule == "other")
    report["renamed"] = [shelf[name].molecule for name in shelf.present()]
    cmd.do("set_name one_lumo, favourite")
    wait(lambda: "favourite" in shelf.present())
    browser.showing.ask_for_named("homo-1")
    wait(lambda: "other_homo_m1" in names() and panel.browser.at_rest())
    report["beside"] = sorted(shelf.present())
    cmd.do("delete favourite")
    wait(lambda: shelf.present() == ["other_homo_m1"])
    report["after delete"] = sorted(names())
    cmd.do("disable mine")
    cmd.do("enable mine")

    cmd.do(f"save {FOLDER / 'kept.pse'}")
    cmd.do("set state, 5")
    cmd.do("reinitialize")
    wait(lambda: not names() and browser.showing.molecule == "" and not browser.showing.levels[0])
    report["nothing"] = [panel.molecule_box.count(), list(shelf)]
    cmd.do(f"load {FOLDER / 'kept.pse'}")
    wait(lambda: browser.showing.molecule and browser.showing.levels[0])
    report["again"] = [sorted(names()), shelf.present(), browser.showing.molecule]
    panel.molecule_box.setCurrentText("other")
    panel.molecule_box.activated.emit(panel.molecule_box.currentIndex())
    browser.showing.ask_for_named("lumo")
    wait(lambda: "other_lumo" in names() and panel.browser.at_rest())
    report["walked"] = shelf.present()
    cmd.do("delete all")
    wait(lambda: not names() and browser.showing.molecule == "")

    panel.open(FOLDER / "one.molden")  # reinitialize while it is computed
    wait(lambda: browser.showing.molecule == "one")
    browser.showing.ask_for_named("lumo+1")
    cmd.do("reinitialize")
    wait(lambda: panel.browser.at_rest() and browser.showing.molecule == "")
    report["in the end"] = sorted(names())


run(drive)
