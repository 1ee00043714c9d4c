"""What a window does, without a window: the browser with a host that writes down what it is told to show."""

import os
import shutil
import time
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import orbitile as ob
from orbitile.hosts.server.viewer import ServedViewer
from orbitile.session import commands
from orbitile.session.computing import SampleWorker
from orbitile.session.session import Session
from orbitile.session.window.browser import Browser
from tests.conftest import SAMPLES

BENZENE = str(files("orbitile") / "data" / "benzene.molden")


class Window:
    """Writes down what it is asked to show."""

    def __init__(self):
        self.said, self.errors, self.busy, self.selected, self.playback = [], [], [], None, None
        self.browser, self.rows, self.current, self.first = None, [], "", None

    def say(self, text, error=False, detail=""):
        (self.errors if error else self.said).append(text)

    def set_busy(self, busy):
        self.busy.append(busy)

    def neighbours(self):
        levels = self.browser.showing.levels[0]
        return [] if self.selected is None else [levels[self.selected + 1], levels[self.selected - 1]]

    def is_idle(self):
        return True

    def is_sliding(self):
        return False

    is_typing = is_scrubbing = is_sliding

    def ignore(self, *arguments):
        pass

    show_molecule = show_choices = show_field = show_live = show_analysis = show_levels = chosen = ignore

    def show_surfaces(self, rows, current):
        self.rows, self.current = rows, current

    def opened(self, first):
        self.first = first

    def show_playback(self, playback):
        self.playback = playback


@pytest.fixture(scope="module")
def worker():
    """One process for all of these tests: each would wait until another has loaded its kernels."""
    one = SampleWorker()
    yield one
    one.close()


@pytest.fixture
def browser(tmp_path, monkeypatch, worker):
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    events = []

    def viewer(event):
        events.append(event)
        if event["event"] == "frame":  # it goes there at once
            host.set_frame(event["molecule"], event["frame"])

    host = ServedViewer(viewer, tmp_path)
    window = Window()
    one = Browser(Session(host), window)
    window.browser, one.events, one.window = one, events, window
    one.showing.set_quality("coarse")
    one.session.computing._worker = worker
    yield one
    one.cancel()
    one.session.computing._worker = None  # which would be closed too
    one.close()


def test_what_is_odd_about_a_file_is_said_when_it_is_opened(browser, tmp_path):
    orbitals = Path(BENZENE).read_text().split(" Sym=")
    cut = tmp_path / "cut.molden"
    cut.write_text(" Sym=".join(orbitals[:11]))
    browser.molecules.open(cut)
    wait(browser, lambda: browser.showing.molecule == "cut")
    assert "charge of +22" in browser.molecules.notes[0]
    assert any("charge of +22" in event["text"] for event in browser.events if event["event"] == "message")


def wait(browser, condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        browser.tick()
        time.sleep(0.005)


def shown(browser):
    wait(browser, browser.at_rest)
    return [event for event in browser.events if event["event"] == "surface"][-1]


def test_browsing(browser):
    browser.molecules.open("/no/such.molden")
    wait(browser, lambda: browser.window.errors)
    assert "no such file" in browser.window.errors[0]
    browser.molecules.open(BENZENE)
    wait(browser, lambda: browser.showing.molecule == "benzene")
    assert len(browser.showing.levels[0]) == 31
    assert browser.showing.levels[0][20].mark == "HOMO"

    browser.window.selected = 20
    browser.showing.ask_for(browser.showing.levels[0][20])
    first = shown(browser)
    assert first["name"] == "benzene_mo21"
    assert browser.showing.isovalue == first["isovalue"]
    wait(browser, lambda: len(browser.session.computing.samples) >= 3)  # neighbours are computed ahead

    for at in (18, 17, 16, 15):  # faster than anything is computed: only the last one is shown
        browser.showing.ask_for(browser.showing.levels[0][at])
    assert shown(browser)["name"] == "benzene_mo16"
    assert browser.session.shelf.present() == ["benzene_mo16"]

    browser.showing.slide_to(0.05)
    assert shown(browser)["isovalue"] == 0.05
    assert browser.session.shelf["benzene_mo16"].isovalue == 0.05
    browser.showing.choose_isovalue("-3")
    assert "positive number" in browser.window.errors[-1]
    browser.showing.choose_isovalue("0.04")
    assert shown(browser)["isovalue"] == pytest.approx(0.04)

    browser.showing.keep("benzene_mo16", True)
    browser.showing.ask_for_named("density")
    density = shown(browser)
    assert density["name"] == "benzene_density"
    assert density["isovalue"] == 0.02, "an isovalue that was slid to belongs to orbitals"
    assert browser.session.shelf.present() == ["benzene_mo16", "benzene_density"]
    browser.showing.slide_to(0.1)
    assert shown(browser)["isovalue"] == 0.1
    browser.showing.ask_for(browser.showing.levels[0][17])
    assert shown(browser)["isovalue"] == pytest.approx(0.04), "and orbitals have it still"
    assert [(row.name, row.kept) for row in browser.window.rows] == [("benzene_mo16", True), ("benzene_mo18", False)]
    assert browser.window.current == "benzene_mo18"
    browser.molecules.choose_surface("benzene_mo16")
    browser.showing.change_look(style="mesh", transparency=0.5)
    assert shown(browser)["style"] == "mesh"
    assert [row.look.style for row in browser.window.rows] == ["mesh", "surface"], "and the list keeps its order"
    browser.showing.delete("benzene_mo16")
    assert [row.name for row in browser.window.rows] == ["benzene_mo18"]
    browser.showing.ask_for_named("hommo")
    assert "Nearest match" in browser.window.errors[-1]

    browser.session.host.there.discard("benzene")  # as if the user had deleted it
    browser.molecules.follow()
    assert browser.showing.molecule == ""
    assert browser.showing.levels == [[]]
    wait(browser, lambda: browser.window.busy[-1] is False)  # orbitals are computed ahead


@pytest.fixture
def mixed(tmp_path):
    """Benzene three times: as it is, with three orbitals mixed so that none is most of any, and as that."""
    pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")
    still = ob.load(BENZENE)
    coefficients = still.alpha.coefficients.copy()
    rotation = np.array([[2, -1, 2], [2, 2, -1], [-1, 2, 2]]) / 3
    members = [10, 20, 25]  # of different energies, so that they are no set to be turned back
    assert np.diff(still.alpha.energies[members]).min() > 0.1
    coefficients[:, members] = coefficients[:, members] @ rotation
    path = tmp_path / "mixed.h5"
    with ob.SeriesWriter(path) as writer:
        for columns in (still.alpha.coefficients, coefficients, coefficients):
            writer.append(replace(still, alpha=replace(still.alpha, coefficients=columns, irreps=())))
    return path


def test_playback(browser, mixed):
    """Where a trajectory is and what is there of its frames; the player is called here."""
    window, session = browser.window, browser.session

    def follow(condition):
        wait(browser, lambda: session.player.tick() or condition())

    browser.molecules.open(BENZENE)
    wait(browser, lambda: browser.showing.molecule == "benzene")
    assert window.playback is None
    browser.molecules.open(mixed)
    wait(browser, lambda: browser.showing.molecule == "mixed" and window.playback is not None)
    assert (window.playback.frame, window.playback.n_frames) == (0, 3)
    assert window.playback.state == "no orbital is shown"
    browser.playing.play(True)
    assert "Choose an orbital" in window.errors[-1]

    browser.showing.ask_for(browser.showing.levels[0][20])
    follow(lambda: window.playback.drawn == {0, 1, 2})
    assert window.playback.doubtful == {1}
    assert window.playback.refused == set()
    browser.playing.step(1)
    follow(lambda: window.playback.frame == 1)
    assert window.playback.state == "surface shown, tracking confidence 0.67, doubtful"
    browser.playing.step(1)
    browser.playing.step(1)
    follow(lambda: window.playback.frame == 0)
    browser.playing.go_to(2)
    follow(lambda: window.playback.frame == 2)
    assert window.playback.state == "surface shown, tracking confidence 1.00"

    assert not window.playback.playing
    browser.playing.play(True)
    follow(lambda: window.playback.playing and window.playback.frame == 0)
    browser.playing.play(False)
    follow(lambda: not window.playback.playing)
    browser.molecules.choose("benzene")
    wait(browser, lambda: window.playback is None)


def test_a_molecule_that_was_loaded_anew_meanwhile_gets_no_surface_of_the_one_before(browser, tmp_path):
    job = tmp_path / "job.molden"
    shutil.copy(SAMPLES / "nh3_molden_cart.molden", job)
    browser.molecules.open(job)
    wait(browser, lambda: browser.showing.molecule == "job")
    browser.showing.ask_for_named("homo")
    wanted = browser.showing.asking.wanted
    wanted.future.result(60)  # it was computed for the one before, and is looked at when another is there
    shutil.copy(SAMPLES / "neon_turbomole_def2-qzvp.molden", job)
    commands.orb_load.run(browser.session, [str(job)])
    wait(browser, lambda: browser.window.errors)
    assert "job was deleted or loaded anew meanwhile" in browser.window.errors[-1]
    assert browser.session.shelf.present() == []


def test_a_file_that_is_opened_again_is_listed_again(browser):
    for _ in range(2):
        browser.molecules.open(BENZENE)
        wait(browser, browser.at_rest)
        assert len(browser.showing.levels[0]) == 31
        assert "the arrow keys walk" in browser.window.said[-1]


def test_what_is_loaded_at_the_prompt_is_listed(browser):
    browser.molecules.open(BENZENE)
    wait(browser, browser.at_rest)
    commands.orb_load.run(browser.session, [str(SAMPLES / "ethanol.mkl")])
    browser.molecules.follow()
    assert browser.showing.molecule == "ethanol"
    browser.molecules.choose("benzene")
    browser.molecules.follow()
    assert browser.showing.molecule == "benzene"


def test_files_that_are_opened_at_once_are_all_opened(browser):
    browser.molecules.open(BENZENE)
    browser.molecules.open("/no/such.molden")
    browser.molecules.open(SAMPLES / "nh3_molden_cart.molden")
    wait(browser, browser.at_rest)
    assert list(browser.session.host.molecules()) == ["benzene", "nh3_molden_cart"]
    assert browser.showing.molecule == "nh3_molden_cart"
    assert len(browser.window.errors) == 1


@pytest.mark.linux
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such files here")
def test_a_file_that_never_comes_to_an_end_can_be_cancelled_and_holds_nothing_up(browser, tmp_path):
    os.mkfifo(tmp_path / "endless.molden")  # whoever opens it waits for ever
    browser.molecules.open(tmp_path / "endless.molden")
    time.sleep(0.2)
    browser.tick()
    assert browser.cancel()
    browser.molecules.open(BENZENE)
    wait(browser, lambda: browser.showing.molecule == "benzene")
    browser.showing.ask_for_named("homo")
    assert shown(browser)["name"] == "benzene_homo"
    with open(tmp_path / "endless.molden", "w") as stream:  # let the thread go on
        stream.write("[Molden Format]\n")


@pytest.mark.slow
def test_the_look_of_a_preset_is_not_that_of_orbitals(browser):
    browser.molecules.open(BENZENE)
    wait(browser, lambda: browser.showing.molecule == "benzene")
    browser.show_preset("potential")
    wait(browser, lambda: browser.at_rest() and browser.session.shelf.present())
    assert [row.look.transparency for row in browser.window.rows] == [0.25]
    browser.showing.change_look(style="mesh")
    wait(browser, browser.at_rest)
    assert [row.look.transparency for row in browser.window.rows] == [0.25]
    assert (browser.showing.choices.look.style, browser.showing.choices.look.transparency) == ("mesh", 0.35)


def test_a_style_that_cannot_be_drawn_is_never_left_over(browser, monkeypatch):
    showing = browser.showing
    browser.molecules.open(BENZENE)
    wait(browser, lambda: showing.molecule == "benzene")
    showing.ask_for_named("homo")
    assert shown(browser)["style"] == "surface"
    showing.change_look(style="fog")
    assert "in this viewer, got fog" in browser.window.errors[-1]
    assert (shown(browser)["style"], showing.choices.look.style) == ("surface", "surface")
    showing.choices = replace(showing.choices, look=replace(showing.choices.look, style="fog"))  # as of another viewer
    showing.ask_for_named("lumo")
    assert (shown(browser)["name"], shown(browser)["style"]) == ("benzene_lumo", "surface")
    monkeypatch.setattr(ServedViewer, "volume_styles", ("fog", "slice"))
    request = browser.session.shelf["benzene_lumo"].request
    why = browser.session.why_not_drawn
    assert not why("fog", request)
    assert not why("fog", replace(request, frame=0))
    assert "that a second field colours, got slice" in why("slice", replace(request, color_by="esp"))


def test_what_is_shown_beside_kept_orbitals_has_colours_of_its_own(browser):
    browser.molecules.open(BENZENE)
    wait(browser, lambda: browser.showing.molecule == "benzene")
    colours = []
    for orbital in ("homo", "lumo", "homo-1"):
        browser.showing.ask_for_named(orbital)
        wait(browser, lambda orbital=orbital: browser.at_rest() and browser.showing.shown().request.field == orbital)
        colours.append(browser.showing.shown().look.colours)
        browser.showing.keep(browser.showing.current(), True)
    assert len(set(colours)) == 3
    browser.showing.keep(browser.showing.current(), False)
    browser.showing.ask_for_named("lumo+1")  # in the place of the last one, and in its colours
    wait(browser, lambda: browser.at_rest() and browser.showing.shown().request.field == "lumo+1")
    assert browser.showing.shown().look.colours == colours[-1]
    for name in browser.session.shelf.present():
        browser.showing.keep(name, False)
    browser.show_preset("frontier")  # side by side all have those that are usual
    wait(browser, lambda: browser.at_rest() and len(browser.session.shelf.grid) == 2)
    grid = [browser.session.shelf[name].look.colours for name in browser.session.shelf.grid]
    assert grid[0] == grid[1]


def test_closing_withdraws_what_the_window_waits_for_and_no_picture(browser):
    class Saved:
        is_busy, share, outcome = True, None, ""

        def cancel(self):
            self.is_busy = False

    browser.session.saving = saved = Saved()
    browser.molecules.open(BENZENE)
    assert browser.cancel(saving=False)
    assert saved.is_busy
    assert "Cancelled." not in browser.window.said
    assert browser.cancel()
    assert not saved.is_busy
    assert browser.window.said[-1] == "Cancelled."


def test_a_surface_that_the_user_has_named_is_not_replaced(browser):
    browser.molecules.open(BENZENE)
    wait(browser, lambda: browser.showing.molecule == "benzene")
    browser.showing.ask_for_named("homo")
    assert shown(browser)["name"] == "benzene_homo"
    host = browser.session.host
    host.set_there(host.there - {"benzene_homo"} | {"cloud"})
    assert browser.session.shelf.rename("benzene_homo", "cloud")
    assert not browser.session.shelf.rename("benzene", "other")
    browser.showing.ask_for_named("lumo")
    assert shown(browser)["name"] == "benzene_lumo"
    browser.showing.ask_for_named("homo")
    assert shown(browser)["name"] == "benzene_homo"
    assert browser.session.shelf.present() == ["cloud", "benzene_homo"]


def test_an_orbital_of_a_molecule_that_has_just_gone_is_refused_in_words(browser):
    browser.molecules.open(BENZENE)
    wait(browser, lambda: browser.showing.molecule == "benzene")
    browser.session.host.set_there(set())  # deleted by the user, and not looked at yet
    browser.showing.ask_for(browser.showing.levels[0][20])
    assert "benzene was not loaded" in browser.window.errors[-1]
    browser.showing.ask_for_named("lumo")
    browser.showing._look_ahead()  # called by a timer of the window
    wait(browser, browser.at_rest)


def test_what_was_said_of_a_file_that_is_back_is_taken_back(browser, tmp_path):
    job = tmp_path / "job.molden"
    shutil.copy(BENZENE, job)
    browser.molecules.open(job)
    wait(browser, lambda: browser.showing.molecule == "job")
    job.rename(tmp_path / "other.molden")
    browser.showing.wavefunction, browser.showing.listed = None, ("", "")  # as after a saved session was restored
    browser.molecules.follow()
    assert "is missing" in browser.window.errors[-1]
    (tmp_path / "other.molden").rename(job)
    browser.molecules.follow()
    assert len(browser.showing.levels[0]) == 31
    assert browser.window.said[-1] == ""


def test_the_box_of_90_percent_says_what_the_surface_encloses(browser):
    browser.molecules.open(BENZENE)
    wait(browser, lambda: browser.showing.molecule == "benzene" and browser.at_rest())
    browser.showing.ask_for_named("homo")
    shown(browser)
    wait(browser, lambda: browser.showing.is_automatic)
    browser.showing.slide_to(0.05)
    shown(browser)
    wait(browser, lambda: not browser.showing.is_automatic)
    commands.orb_mo.run(browser.session, ["benzene", "lumo", "", "coarse"])  # as at a prompt
    wait(browser, lambda: browser.showing.is_automatic and browser.showing.choices.automatic)
    commands.orb_iso.run(browser.session, [0.06])
    wait(browser, lambda: not browser.showing.is_automatic)
