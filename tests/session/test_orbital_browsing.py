"""Localised orbitals in the table of a window, without a window: listed, shown by their rows, withdrawn."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.gaussians.localised.localisation import SCHEMES
from orbitile.hosts.server.requests import answer
from orbitile.model.units import electronvolt
from orbitile.pictures.orbitals import ENERGY_UNITS, columns_of, conditions_of, described, field_of, gap_of, passes
from orbitile.session.commands import orb_info
from orbitile.session.window.localising import LISTED_ORBITALS
from tests.hosts.conftest import N, series  # noqa: F401  a fixture
from tests.session.test_analysis_browsing import browser, opened  # noqa: F401  a fixture
from tests.session.test_browser import BENZENE, wait


def test_all_schemes_can_be_listed():
    assert {*SCHEMES, ""} == set(LISTED_ORBITALS)


@pytest.mark.slow
def test_localised_orbitals_are_listed_and_shown(browser):  # noqa: F811
    browser.localising.choose("ibo")  # of nothing
    assert browser.showing.scheme == ""
    opened(browser, BENZENE, "benzene")
    assert browser.localising.why_not() == {}
    browser.localising.choose("ibo")
    assert not browser.at_rest()
    wait(browser, browser.at_rest)
    (levels,) = browser.showing.levels
    assert [level.occupied for level in levels[:22]] == [True] * 21 + [False]
    names = [level.symmetry for level in levels[:21]]
    assert sum(name.endswith("core") for name in names) == 6
    assert sum("pi" in name for name in names) == 3
    assert not any(level.mark or level.frontier_name for level in levels)
    unit = ENERGY_UNITS["eV"]
    assert "orbital" in [column.title.strip() for column in columns_of(browser.showing.levels, unit)]
    assert "sigma" in described(next(level for level in levels if "sigma" in level.symmetry), of_one_spin=False)
    rows = [row for row in range(len(levels)) if passes(row, browser.showing.levels, conditions_of("pi", unit))]
    assert {levels[row].symmetry.split()[1] for row in rows if levels[row].occupied} == {"pi"}
    browser.showing.ask_for(levels[20])
    wait(browser, lambda: browser.showing.current() == "benzene_ibo_21" and browser.at_rest())
    assert field_of(browser.showing.wavefunction, levels[20]) == "ibo:21"
    assert browser.showing.level_shown() is levels[20]
    assert browser.showing.acts_on_orbital()
    browser.localising.choose("")
    assert browser.showing.levels[0][20].mark == "HOMO"
    assert browser.showing.level_shown() is None


@pytest.mark.slow
def test_localising_is_withdrawn_and_a_preset_lists_too(browser):  # noqa: F811
    opened(browser, BENZENE, "benzene")
    browser.localising.choose("boys")
    assert browser.cancel()
    assert (browser.showing.scheme, browser.at_rest()) == ("", True)
    assert browser.showing.levels[0][20].mark == "HOMO"
    browser.show_preset("ibo")
    wait(browser, lambda: browser.at_rest() and browser.showing.current())
    assert browser.showing.scheme == "ibo"
    assert browser.showing.level_shown() is browser.showing.levels[0][20]
    browser.session.host.set_there(set())
    browser.molecules.follow()
    assert browser.showing.scheme == ""


@pytest.mark.slow
def test_what_is_listed_of_a_trajectory_is_of_the_frame_that_is_seen(browser, series):  # noqa: F811  fixtures
    """Table, diagram, gap, list of surfaces, orb_info and the request of a viewer."""
    opened(browser, series, "water")
    frames = ob.track(ob.load_trajectory(series))
    host, session = browser.session.host, browser.session

    def energies():
        return [level.energy for level in browser.showing.levels[0]]

    for frame in (4, 0, 2):
        host.set_frame("water", frame)
        expected = frames.followed(frame)
        wait(browser, lambda wanted=expected.alpha.energies: np.allclose(energies(), wanted, atol=1e-9))
        homo = max(energies()[:5])
        assert gap_of(browser.showing.levels[0]) == pytest.approx(min(energies()[5:]) - homo)
        assert next(level for level in browser.showing.levels[0] if level.mark == "HOMO").energy == homo
        text = orb_info.run(session, ["water"]).text
        assert f"frame     {frame + 1} of {N}" in text
        assert f"{homo / electronvolt:.3f}" in text
        rows = answer(session, {"id": 1, "command": "orbitals", "arguments": ["water"], "named": {}})["value"]["rows"]
        assert any(f"{homo / electronvolt:.3f}" in cell for row in rows for cell in row["cells"])
