"""A window lists the orbitals of a live molecule in place, and says what is in the way."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from orbitile.hosts.server.viewer import ServedViewer
from orbitile.model.wavefunction import Orbitals
from orbitile.session.browser import Browser
from orbitile.session.live.order import Converged
from orbitile.session.live.status import LiveStatus
from orbitile.session.session import Session
from orbitile.session.source import OneFile
from tests.session.test_browser import BENZENE, Window, wait


class LiveWindow(Window):
    """Writes down what it is told of a live molecule."""

    def __init__(self):
        super().__init__()
        self.listed, self.told, self.filled = [], [], 0

    def show_molecule(self):
        self.filled += 1

    def show_levels(self, chosen):
        self.listed.append(chosen)
        self.selected = None if chosen is None else chosen.index

    def show_live(self, status):
        self.told.append(status)

    def chosen(self):
        return None if self.selected is None else self.browser.levels[0][self.selected]


@pytest.fixture
def browser(tmp_path, monkeypatch):
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    window = LiveWindow()
    one = Browser(Session(ServedViewer(lambda event: None, tmp_path)), window)
    window.browser, one.window = one, window
    one.open(BENZENE)
    wait(one, lambda: one.molecule == "benzene" and one.at_rest())
    yield one
    one.session.live = None
    one.close()


def reached(browser, places, name):
    """A geometry that was reached, with the orbitals of the file at other places."""
    wavefunction = browser.session.wavefunction("benzene") if browser.session.live is None else browser.first
    browser.first = wavefunction
    order = np.arange(len(wavefunction.alpha))
    order[list(places)] = list(places.values())
    alpha = wavefunction.alpha
    moved = Orbitals(alpha.coefficients[:, order], alpha.occupations, alpha.energies + 0.001)
    names = {f"mo:{now + 1}": f"mo:{then + 1}" for now, then in enumerate(order)}
    source = str(OneFile(f"/{name}.h5", "content"))
    found = Converged(wavefunction.positions, replace(wavefunction, alpha=moved), source, names, -1.0, 3, 0.1)
    status = LiveStatus("benzene", "pbe/sto-3g", "converged", name)
    browser.session.live = SimpleNamespace(molecule="benzene", found=found, status=status, close=lambda: None)
    browser.session.host.adopt("benzene", source)
    return found


def test_the_selected_orbital_stays_itself(browser):
    window = browser.window
    filled, window.selected = window.filled, 19
    for places, expected in (({}, 19), ({19: 20, 20: 19}, 20), ({19: 18, 18: 19, 20: 20}, 18), ({}, 19)):
        found = reached(browser, places, f"at{len(window.listed)}")
        wait(browser, lambda found=found: browser.wavefunction is found.wavefunction, 10)
        assert window.selected == expected
    assert len(window.listed) == 4
    assert browser.levels[0][3].energy == pytest.approx(browser.first.alpha.energies[3] + 0.001)
    browser.follow()
    assert window.filled == filled  # the table was never begun anew
    assert [status.text for status in window.told] == ["at0", "at1", "at2", "at3"]


def test_nothing_is_selected_that_was_not(browser):
    reached(browser, {19: 20, 20: 19}, "somewhere")
    wait(browser, lambda: browser.window.listed, 10)
    assert browser.window.listed == [None]


def test_what_is_in_the_way_is_given(browser):
    assert "no molecule" in browser.start_live("nothing", "sto-3g", "pbe", 0, 0)
    assert browser.settings["live"] == {"basis": "sto-3g", "method": "pbe"}
    for refused in (browser.relax(0.5), browser.undo(), browser.scan()):
        assert "no molecule is live" in refused
    assert browser.end_live() == ""
    assert browser.window.told == []
