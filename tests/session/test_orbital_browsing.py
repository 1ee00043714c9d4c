"""Localised orbitals in the table of a window, without a window: listed, shown by their rows, withdrawn."""

import pytest

from orbitile.localised.schemes import SCHEMES
from orbitile.session.orbital_browsing import LISTED_ORBITALS
from orbitile.session.orbital_filter import conditions_of, passes
from orbitile.session.orbitals import ENERGY_UNITS, columns_of, described, field_of
from tests.session.test_analysis_browsing import browser, opened  # noqa: F401  a fixture
from tests.session.test_browser import BENZENE, wait


def test_all_schemes_can_be_listed():
    assert {*SCHEMES, ""} == set(LISTED_ORBITALS)


@pytest.mark.slow
def test_localised_orbitals_are_listed_and_shown(browser):  # noqa: F811
    browser.choose_orbitals("ibo")  # of nothing
    assert browser.scheme == ""
    opened(browser, BENZENE, "benzene")
    assert browser.why_not_localised() == {}
    browser.choose_orbitals("ibo")
    assert not browser.at_rest()
    wait(browser, browser.at_rest)
    (levels,) = browser.levels
    assert [level.occupied for level in levels[:22]] == [True] * 21 + [False]
    names = [level.symmetry for level in levels[:21]]
    assert sum(name.endswith("core") for name in names) == 6
    assert sum("pi" in name for name in names) == 3
    assert not any(level.mark or level.frontier_name for level in levels)
    unit = ENERGY_UNITS["eV"]
    assert "orbital" in [column.title.strip() for column in columns_of(browser.levels, unit)]
    assert "sigma" in described(next(level for level in levels if "sigma" in level.symmetry), of_one_spin=False)
    rows = [row for row in range(len(levels)) if passes(row, browser.levels, conditions_of("pi", unit))]
    assert {levels[row].symmetry.split()[1] for row in rows if levels[row].occupied} == {"pi"}
    browser.ask_for(levels[20])
    wait(browser, lambda: browser.current() == "benzene_ibo_21" and browser.at_rest())
    assert field_of(browser.wavefunction, levels[20]) == "ibo:21"
    assert browser.level_shown() is levels[20]
    assert browser.acts_on_orbital()
    browser.choose_orbitals("")
    assert browser.levels[0][20].mark == "HOMO"
    assert browser.level_shown() is None


@pytest.mark.slow
def test_localising_is_withdrawn_and_a_preset_lists_too(browser):  # noqa: F811
    opened(browser, BENZENE, "benzene")
    browser.choose_orbitals("boys")
    assert browser.cancel()
    assert (browser.scheme, browser.at_rest()) == ("", True)
    assert browser.levels[0][20].mark == "HOMO"
    browser.show_preset("ibo")
    wait(browser, lambda: browser.at_rest() and browser.current())
    assert browser.scheme == "ibo"
    assert browser.level_shown() is browser.levels[0][20]
    browser.session.host.set_there(set())
    browser.follow()
    assert browser.scheme == ""
