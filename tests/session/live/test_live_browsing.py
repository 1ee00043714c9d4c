"""A window lists the orbitals of a live molecule in place, and says what is in the way."""

from concurrent.futures import Future
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from orbitile.hosts.server.viewer import ServedViewer
from orbitile.model.wavefunction import Orbitals
from orbitile.pictures.request import Request
from orbitile.session.host import VolumeDrawing
from orbitile.session.live.live import LiveStatus
from orbitile.session.live.order import Converged
from orbitile.session.session import Session
from orbitile.session.shown import Shown
from orbitile.session.source import OneFile
from orbitile.session.window.browser import Browser
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
        return None if self.selected is None else self.browser.showing.levels[0][self.selected]


@pytest.fixture
def browser(tmp_path, monkeypatch):
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    window = LiveWindow()
    one = Browser(Session(ServedViewer(lambda event: None, tmp_path)), window)
    window.browser, one.window = one, window
    one.molecules.open(BENZENE)
    wait(one, lambda: one.showing.molecule == "benzene" and one.at_rest())
    yield one
    one.session.live.now = None
    one.close()


class Followed:
    """What is known of the geometries that were reached."""

    def __init__(self):
        self.first_names, self.last = {}, {}

    def name_now(self, source, name):
        first = self.first_names.get(source, {}).get(name, name)
        return next((now for now, then in self.last.items() if then == first), name)


def reached(browser, places, name):
    """A geometry that was reached, with the orbitals of the file at other places."""
    session = browser.session
    if session.live.now is None:
        browser.first, browser.followed = session.wavefunction("benzene"), Followed()
    wavefunction, alpha = browser.first, browser.first.alpha
    order = np.arange(len(alpha))
    order[list(places)] = list(places.values())
    moved = Orbitals(alpha.coefficients[:, order], alpha.occupations, alpha.energies + 0.001)
    names = {f"mo:{now + 1}": f"mo:{then + 1}" for now, then in enumerate(order)}
    source = str(OneFile(f"/{name}.h5", "content"))
    browser.followed.first_names[source] = browser.followed.last = names
    found = Converged(wavefunction.positions, replace(wavefunction, alpha=moved), source, names, -1.0, 3, 0.1)
    status = LiveStatus("benzene", "pbe/sto-3g", "converged", name)
    session.live.now = SimpleNamespace(
        molecule="benzene", found=found, status=status, following=browser.followed, close=lambda: None
    )
    session.host.adopt("benzene", source)
    wait(browser, lambda: browser.showing.wavefunction is found.wavefunction, 10)
    return source


PLACES = ({}, {19: 20, 20: 19}, {19: 18, 18: 19}, {})


def test_the_orbital_that_is_shown_stays_selected(browser):
    window = browser.window
    shelf, filled = browser.session.shelf, window.filled
    shown = Shown("benzene", Request(browser.session.source("benzene"), "mo:20"), 0.05)
    shelf.put("surface", shown, VolumeDrawing(0.05, [1, -1], None), None)
    for number, places in enumerate(PLACES):
        reached(browser, places, f"at{number}")
        assert window.selected == places.get(19, 19)  # the surface is still that of the file
        browser.molecules.follow()
    assert browser.showing.levels[0][3].energy == pytest.approx(browser.first.alpha.energies[3] + 0.001)
    source = reached(browser, {19: 20, 20: 19}, "after")
    shelf.turn_to("surface", replace(shown, request=replace(shown.request, path=source, field="mo:21")))
    reached(browser, {}, "back")  # before the surface
    assert window.selected == 19
    assert window.filled == filled  # the table was never begun anew
    assert [status.text for status in window.told] == ["at0", "at1", "at2", "at3", "after", "back"]


def test_the_orbital_that_is_asked_for_stays_selected(browser):
    window = browser.window
    window.selected, browser.showing.asking.wanted = 19, SimpleNamespace(future=Future())
    for number, places in enumerate(PLACES):
        reached(browser, places, f"at{number}")
        assert window.selected == places.get(19, 19)


def test_nothing_is_selected_that_was_not(browser):
    reached(browser, {19: 20, 20: 19}, "somewhere")
    assert browser.window.listed == [None]


def test_what_is_in_the_way_is_given(browser):
    assert "no molecule" in browser.live.start("nothing", "sto-3g", "pbe", 0, 0, smearing="300 K")
    kept = {"basis": "sto-3g", "method": "pbe", "solvent": "", "smearing": "300 K"}
    assert browser.showing.settings["live"] == kept
    for refused in (browser.live.relax(0.5), browser.live.undo(), browser.live.scan()):
        assert "no molecule is live" in refused
    assert browser.live.end() == ""
    assert browser.window.told == []


def test_why_a_molecule_is_live_no_longer_is_told(browser):
    reached(browser, {}, "somewhere")
    browser.session.live.now, browser.session.live.problem = None, "benzene was deleted"
    wait(browser, lambda: browser.window.told[-1] is None, 10)
    assert browser.window.errors == ["benzene was deleted"]
    browser.tick()
    assert len(browser.window.errors) == 1
