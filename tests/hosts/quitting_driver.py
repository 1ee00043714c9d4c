"""Runs inside PyMOL's window: a session that was saved is opened and changed, and then PyMOL is closed in some way.

python -m pymol -q kept.pse quitting_driver.py, with the environment variables REPORT, and HOW: quit, close or
computing.
"""

import os

from pymol import cmd, gui

from tests.hosts.in_pymol import report, run, session, wait


def drive():
    from orbitile.hosts.pymol import open_panel

    wait(lambda: session() is not None and session().host.molecules())
    panel = open_panel()
    wait(lambda: panel.browser.showing.levels[0])
    report["restored"] = [panel.browser.showing.molecule, session().shelf.present()]
    panel.quality_box.setCurrentText("coarse")
    panel.browser.showing.choose_unit("eV")
    panel.browser.showing.ask_for_named("homo")
    wait(lambda: f"{panel.browser.showing.molecule}_homo" in cmd.get_names() and panel.browser.at_rest())
    report["shown"] = session().shelf.present()
    report["worker"] = session().computing.worker.process_id
    if os.environ["HOW"] == "computing":
        panel.quality_box.setCurrentText("fine")
        panel.browser.showing.ask_for_named("esp")


def leave():
    if os.environ["HOW"] == "close":
        gui.get_qtwindow().close()
    else:
        cmd.do("quit")


run(drive, leave)
