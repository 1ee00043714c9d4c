"""Vibrations in a window, without one: noticed, listed, a row that moves the molecule, and what ends the motion."""

import numpy as np
import pytest

from orbitile import Calculation, compute_vibrations
from orbitile.session import commands
from tests.readers.test_spectra import SHIELDINGS
from tests.scf.test_vibrations import WATER
from tests.session.test_analysis_browsing import browser, opened  # noqa: F401  fixtures, which pytest finds by name
from tests.session.test_browser import wait


@pytest.mark.slow  # the worker starts, and a surface is drawn
def test_a_row_moves_the_molecule_until_another_thing_is_shown(browser, tmp_path):  # noqa: F811  the fixture's name is that of the argument
    pytest.importorskip("tblite", reason="tblite (extra xtb) is not installed")
    compute_vibrations(WATER, tmp_path / "modes.h5", Calculation("gfn2"))
    opened(browser, tmp_path / "modes.h5", "modes")
    session, host, analysing = browser.session, browser.session.host, browser.analysing
    wait(browser, lambda: analysing.noticed("modes") == ("vibrations",))
    rest = host.positions("modes")
    browser.showing.ask_for_named("homo")
    wait(browser, lambda: "modes_homo" in session.shelf and browser.at_rest())
    assert analysing.analyse("vibrations", "modes", {"fwhm": "20"}) == ""
    wait(browser, lambda: analysing.finding.report is not None)
    table = analysing.finding.report.table("modes")
    analysing.choose_row(table, 1)
    assert session.motion.now.mode == 2
    assert analysing.vibrating.text.startswith("mode 2, ")
    assert host.hidden({"modes_homo": "modes"}) == {"modes_homo"}
    session.motion.hold(1.0)
    moved = host.positions("modes") - rest
    assert np.linalg.norm(moved, axis=1).max() * 0.529177 == pytest.approx(0.4, abs=1e-4)
    analysing.vibrating.change(amplitude=0.2, arrows=True)
    session.motion.hold(-1.0)
    np.testing.assert_allclose(host.positions("modes") - rest, -moved / 2, atol=1e-5)
    assert host.drawn["modes", "mode"] == ("mode",)
    session.shelf.set_visible("modes_homo", True)
    session.motion.tick()
    assert session.motion.now is None
    np.testing.assert_allclose(host.positions("modes"), rest, atol=1e-8)
    assert ("modes", "mode") not in host.drawn


def test_a_log_of_spectra_opens_without_orbitals(browser, tmp_path):  # noqa: F811  the fixture's name is that of the argument
    (tmp_path / "water.out").write_text(SHIELDINGS["orca"])
    answer = commands.orb_load.run(browser.session, [str(tmp_path / "water.out")])
    assert "spectra (nmr:H, nmr:O); orb_spectra water shows them; without orbitals" in answer.text
    wait(browser, lambda: browser.analysing.noticed("water") == ("spectra",))
    assert "31.50" in commands.orb_spectra.run(browser.session, ["water"]).text
