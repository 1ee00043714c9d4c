"""Natural bond orbitals against NBO 7, from the same geometries and basis sets."""

import pytest

import orbitile as ob

from .charges.samples import solved
from .charges.test_natural_populations import METHYLAMINE


@pytest.fixture(scope="module")
def methylamine():
    return ob.natural_bonds(solved(METHYLAMINE, "3-21g")[1])


def row_of(table, name):
    return list(table["name"]).index(name)


def test_methylamine(methylamine):
    """RHF/3-21G, the example of the manual of NBO, by NBO 7.0.4; atom 3 is trans to the lone pair."""
    table = methylamine.table("orbitals")
    expected = {
        "C1 core": (1.99978, -11.18041),
        "N2 core": (1.99983, -15.43259),
        "N2 lone pair": (1.97796, -0.42062),
        "C1-N2 bond": (1.99846, -0.80721),
        "C1-H3 bond": (1.99858, -0.65805),
        "N2-H6 bond": (1.99440, -0.76603),
        "C1-H3 antibond": (0.01567, 0.68807),
        "H3 Rydberg": (0.00163, 0.94880),
    }
    for name, (occupancy, energy) in expected.items():
        row = row_of(table, name)
        assert table["occupancy"][row] == pytest.approx(occupancy, abs=2e-5)
        assert table["energy"][row] == pytest.approx(energy, abs=4e-4)
    assert table["hybrids"][row_of(table, "C1-N2 bond")] == "40.1% C1 s21.8 p78.2; 59.9% N2 s30.8 p69.2"


def test_donations_in_methylamine(methylamine):
    """By the same program: E(2) in kcal/mol to its digits, but for 0.01."""
    table = methylamine.table("donations")
    found = dict(zip(zip(table["donor"], table["acceptor"], strict=True), table["energy"], strict=True))
    expected = {
        ("N2 lone pair", "C1-H3 antibond"): 8.19,
        ("N2 lone pair", "C1-H4 antibond"): 1.53,
        ("C1-H4 bond", "N2-H6 antibond"): 2.77,
        ("N2-H6 bond", "C1-H4 antibond"): 2.88,
        ("C1-H3 bond", "N2 Rydberg 1"): 0.86,
        ("N2 core", "N2 Rydberg 3"): 0.67,
        ("C1 core", "C1 Rydberg 3"): 0.51,
    }
    assert {pair: found[pair] for pair in expected} == pytest.approx(expected, abs=0.015)
    assert len(found) == 10
