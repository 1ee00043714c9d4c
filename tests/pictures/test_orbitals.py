"""The orbitals of a molecule as a window lists them."""

from dataclasses import replace

import numpy as np
import pytest

from orbitile.model.units import electronvolt
from orbitile.pictures.orbitals import (
    ENERGY_UNITS,
    EXPLANATION,
    Level,
    columns_of,
    conditions_of,
    described,
    gap_of,
    levels_of,
    passes,
)

EV, HARTREE = ENERGY_UNITS["eV"], ENERGY_UNITS["hartree"]
IRREPS = ["a1", "b2", "e1g", "e1g", "a1", "b2", "a2", "a1"]
ENERGIES = [-300.0, -20.5, -13.6, -13.6, -9.25, 1.5, 2.5, 30.0]


def levels(occupied=5, energies=ENERGIES, spin="alpha"):
    """Eight orbitals, energies in electronvolt."""
    return [
        Level(spin, index, energy * electronvolt, float(index < occupied), irrep, index + 1 - occupied)
        for index, (energy, irrep) in enumerate(zip(energies, IRREPS, strict=True))
    ]


def numbers(text, *sets, unit=EV):
    """Numbers of the orbitals that a filter leaves."""
    listed = list(sets) or [levels()]
    conditions = conditions_of(text, unit)
    return [row + 1 for row in range(8) if passes(row, listed, conditions)]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("", [1, 2, 3, 4, 5, 6, 7, 8]),
        ("homo", [5]),
        ("HOMO-1", [4]),
        ("lumo+1", [7]),
        ("lumo−1", [5]),
        ("homo-1..lumo+1", [4, 5, 6, 7]),
        ("..homo-3", [1, 2]),
        ("lumo+1..", [7, 8]),
        ("7", [7]),
        ("2-4", [2, 3, 4]),
        ("6-", [6, 7, 8]),
        ("e1g", [3, 4]),
        ("a1", [1, 5, 8]),
        ("a1 occ", [1, 5]),
        ("virt", [6, 7, 8]),
        ("unocc a", [7, 8]),
        ("-21..-9", [2, 3, 4, 5]),
        ("0..", [6, 7, 8]),
        ("..-100", [1]),
        ("-13.6", [3, 4]),
        ("homo lumo", []),
        ("nonsense", []),
    ],
)
def test_words_leave_what_they_say(text, left):
    assert numbers(text) == left


@pytest.mark.parametrize(("typed", "left"), [("hom", [5]), ("homo-", [5]), ("homo-1..lu", [4, 5, 6, 7, 8])])
def test_a_word_that_is_being_typed_empties_nothing(typed, left):
    assert numbers(typed) == left


def test_energies_are_in_the_unit_that_is_shown():
    assert numbers("-0.6..-0.3", unit=HARTREE) == [3, 4, 5]
    assert numbers("-0.33", unit=HARTREE) == [5]


def test_of_two_spins_one_and_the_same_orbital_has_all_the_words():
    beta = levels(occupied=3, spin="beta")
    assert numbers("homo", levels(), beta) == [3, 5]
    assert numbers("virt b2", levels(), beta) == [6]
    assert numbers("virt e1g", levels(), beta) == [4]  # beta only


def test_an_ion_without_energies_has_a_filter_and_no_gap():
    ion = levels(energies=[np.nan] * 8)
    assert numbers("homo-1..lumo", ion) == [4, 5, 6]
    assert numbers("-20..", ion) == []
    assert np.isnan(gap_of(ion))
    energy = columns_of([ion], EV)[1]
    assert energy.text(ion[0]) == "-"
    assert "no energy" in described(ion[0], of_one_spin=False)


def test_gaps_are_between_homo_and_lumo():
    assert gap_of(levels()) / electronvolt == pytest.approx(10.75)
    for incomplete in (levels(occupied=8), levels(occupied=0), []):
        assert np.isnan(gap_of(incomplete))


def test_whole_occupations_have_no_decimals():
    def shown(those):
        occupation = next(column for column in columns_of([those], EV) if column.what == "occupation")
        return [occupation.text(level) for level in those[:2]]

    assert shown(levels()) == ["1", "1"]
    natural = [replace(levels()[0], occupation=1.97), replace(levels()[1], occupation=-0.001)]
    assert shown(natural) == ["1.97", "0.00"]


def test_columns_of_two_spins_stand_side_by_side():
    columns = columns_of([levels(), levels(spin="beta")], HARTREE)
    assert [column.title for column in columns] == [
        *("#", "Eα / hartree", "", "Eβ / hartree", ""),
        *("sym.α", "sym.β", "occ.α", "occ.β"),
    ]
    assert [column.spin for column in columns] == [0, 0, 0, 1, 1, 0, 1, 0, 1]
    assert columns[3].text(levels()[4]) == "-0.33993"


def test_a_molecule_is_listed_by_place_and_energy(benzene):
    (listed,) = levels_of(benzene)
    assert [level.mark for level in listed[19:23]] == ["", "HOMO", "LUMO", ""]
    assert {level.frontier_name for level in listed[18:20]} == {"HOMO-1", "HOMO-2"}  # degenerate
    np.testing.assert_array_equal([level.energy for level in listed], benzene.alpha.energies)
    assert described(listed[20], of_one_spin=False).startswith("Orbital 21, HOMO")


def test_every_kind_of_word_is_explained():
    assert all(word in EXPLANATION for word in ("7-9", "homo-3..lumo+3", "occ", "a1g", "-20..-5"))
