"""Analyses in a window, without a window: offered, asked for, withdrawn, drawn while the molecule is as it was."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from orbitile.analysis.reports import analyses
from orbitile.hosts.server.viewer import ServedViewer
from orbitile.session.session import Session
from orbitile.session.window.browser import Browser
from tests.hosts.conftest import series  # noqa: F401  a fixture
from tests.session.test_browser import BENZENE, Window, wait

PLUGINS = Path(__file__).parents[1] / "hosts" / "plugins"


class AnalysisWindow(Window):
    """Writes down what it is told of analyses."""

    def __init__(self):
        super().__init__()
        self.findings = []

    def show_analysis(self, finding):
        self.findings.append(finding)


class Drawing(ServedViewer):
    """Writes down what it is to draw, and has atoms that can be moved."""

    def __init__(self, folder):
        super().__init__(self._tell, folder)
        self.drawn, self.selection, self.centred = {}, (), None

    def _tell(self, event):
        if event["event"] == "frame":
            self.set_frame(event["molecule"], event["frame"])

    def put_drawings(self, molecule, name, drawings):
        self.drawn.pop((molecule, name), None)
        if drawings:
            self.drawn[molecule, name] = tuple(one.name for one in drawings)

    def select(self, molecule, atoms):
        self.selection = molecule, tuple(atoms)

    def centre(self, place):
        self.centred = place


@pytest.fixture
def browser(tmp_path, monkeypatch):
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    monkeypatch.syspath_prepend(str(PLUGINS))
    monkeypatch.setenv("PYTHONPATH", str(PLUGINS), prepend=":")
    window = AnalysisWindow()
    one = Browser(Session(Drawing(tmp_path)), window)
    window.browser, one.window = one, window
    one.showing.set_quality("coarse")
    yield one
    one.close()


def opened(browser, path, name):
    browser.molecules.open(path)
    wait(browser, lambda: browser.showing.molecule == name and browser.at_rest())


def offered(browser, molecule):
    return {one.name: one.reason for _, those in browser.analysing.offered(molecule) for one in those}


def test_every_module_is_offered_with_the_reason_why_not(browser):
    assert set(offered(browser, "")) == set(analyses())
    assert offered(browser, "")["everything"] == "no molecule with orbitals is open"
    opened(browser, BENZENE, "benzene")
    found = offered(browser, "benzene")
    assert found["charges"] == found["everything"] == found["distances"] == ""
    titles = [title for title, _ in browser.analysing.offered("benzene")]
    assert titles[-1] == "Tests"
    assert len(set(titles)) == len(titles)


@pytest.mark.slow
def test_an_analysis_is_asked_for_drawn_and_looked_at(browser):
    opened(browser, BENZENE, "benzene")
    assert browser.analysing.analyse("everything", "benzene", {"steps": "no"}).startswith("steps: expected")
    assert browser.analysing.analyse("everything", "benzene", {"steps": "3", "fragments": "1-6; 7-12"}) == ""
    assert browser.analysing.finding.is_running
    assert not browser.at_rest()
    wait(browser, lambda: browser.analysing.finding.report is not None)
    report, host = browser.analysing.finding.report, browser.session.host
    assert report.remarks[1] == "Fragments 1-6: 1-6; 7-12: 7-12."
    assert host.drawn == {("benzene", "everything"): ("value", "bcp", "steps")}
    browser.analysing.choose_row(report.table("atoms"), 3)
    assert host.selection == ("benzene", (3,))
    browser.analysing.choose_row(report.table("places"), 2)
    np.testing.assert_allclose(host.centred, report.table("places").places[2])
    browser.analysing.choose_row(report.table("orbitals"), 4)
    wait(browser, lambda: "benzene_mo5" in browser.session.shelf and browser.at_rest())
    browser.analysing.show_drawings(report.drawings[1:2])
    assert host.drawn == {("benzene", "everything"): ("bcp",)}
    assert browser.analysing.drawings_shown() == report.drawings[1:2]
    browser.analysing.show_surfaces()
    wait(browser, lambda: "benzene_density" in browser.session.shelf and browser.at_rest())
    assert browser.session.shelf["benzene_density"].request.color_by == "esp"
    before = len(browser.window.findings)
    assert browser.analysing.analyse("everything", "benzene", {"steps": "3", "fragments": "1-6; 7-12"}) == ""
    assert browser.analysing.finding.report is report  # it was kept
    assert len(browser.window.findings) == before + 1


@pytest.mark.slow
def test_withdrawn_and_deleted_meanwhile(browser):
    opened(browser, BENZENE, "benzene")
    assert browser.analysing.warning("everything", "benzene", {"steps": "1000"}) == "This takes about 20 s."
    browser.analysing.analyse("everything", "benzene", {"steps": "3000"})
    wait(browser, lambda: browser.analysing.share > 0)
    assert browser.cancel()
    assert browser.analysing.finding.problem == "Cancelled."
    browser.showing.ask_for_named("homo")  # the worker is free
    wait(browser, lambda: browser.showing.current() and browser.at_rest(), 20)
    browser.analysing.analyse("everything", "benzene", {"steps": "30"})
    browser.session.host.set_there({"other"})
    browser.molecules.follow()
    wait(browser, lambda: not browser.analysing.finding.is_running)
    assert browser.analysing.finding.report is not None
    assert browser.analysing.finding.is_stale
    assert browser.session.host.drawn == {}
    browser.analysing.choose_row(browser.analysing.finding.report.table("orbitals"), 1)
    assert "was deleted" in browser.window.errors[-1]


@pytest.mark.slow
def test_of_a_trajectory_the_frame_that_is_seen(browser, series):  # noqa: F811
    opened(browser, series, "water")
    host = browser.session.host
    host.set_frame("water", 2)
    browser.analysing.analyse("everything", "water", {"steps": "0"})
    wait(browser, lambda: browser.analysing.finding.report is not None)
    assert browser.analysing.finding.order.frame == 2
    assert ("water", "everything") in host.drawn
    host.set_frame("water", 4)
    wait(browser, lambda: browser.analysing.finding.is_stale)
    browser.session.drawn.follow()
    assert host.drawn == {}
    host.set_frame("water", 2)
    wait(browser, lambda: not browser.analysing.finding.is_stale)
    browser.session.drawn.follow()
    assert ("water", "everything") in host.drawn
    browser.analysing.follows = True
    host.set_frame("water", 5)
    wait(browser, lambda: browser.analysing.finding.order.frame == 5 and browser.analysing.finding.report is not None)
    assert ("water", "everything") in host.drawn


@pytest.mark.slow
def test_two_molecules(browser, tmp_path):
    shutil.copy(BENZENE, tmp_path / "other.molden")
    opened(browser, BENZENE, "benzene")
    opened(browser, tmp_path / "other.molden", "other")
    assert browser.analysing.subjects("everything") == ["benzene", "other"]
    for molecule in ("benzene", "other"):
        browser.analysing.analyse("distances", molecule, {})
        wait(browser, lambda: browser.analysing.finding.report is not None)
    browser.analysing.analyse("everything", "benzene", {"steps": "0"})
    wait(browser, lambda: browser.analysing.finding.report is not None)
    assert browser.showing.molecule == "other"
    browser.analysing.show_field("mo:3")
    assert browser.showing.molecule == "benzene"
    wait(browser, lambda: "benzene_mo3" in browser.session.shelf)


@pytest.mark.slow
def test_an_object_without_a_wavefunction_is_free_atoms(browser):
    host = browser.session.host
    numbers, positions = np.array([8, 1, 1]), np.array([[0.0, 0.0, 0.2], [0.0, 1.4, -0.9], [0.0, -1.4, -0.9]])
    host.add_atoms("guest", numbers, positions)
    assert offered(browser, "guest")["everything"] == "guest has no wavefunction"
    assert offered(browser, "guest")["distances"] == ""
    assert browser.analysing.subjects("distances") == ["guest"]
    assert browser.analysing.subjects("everything") == []
    assert browser.analysing.analyse("distances", "guest", {}) == ""
    wait(browser, lambda: browser.analysing.finding.report is not None)
    browser.analysing.choose_row(browser.analysing.finding.report.table("atoms"), 1)
    assert host.selection == ("guest", (1,))
    browser.analysing.show_field("density")
    wait(browser, lambda: "guest_density" in browser.session.shelf and browser.at_rest())
    assert not browser.analysing.finding.is_stale
    assert offered(browser, "guest")["everything"] == "guest has no wavefunction"
    first = host.molecules()["guest"]
    host.move("guest", positions + 1.0)
    browser.analysing.show_field("density")  # where the atoms are now
    wait(browser, lambda: host.molecules()["guest"] != first and browser.at_rest())
    assert browser.analysing.finding.is_stale
