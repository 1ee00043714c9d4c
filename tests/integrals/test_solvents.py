"""Dielectric constants, against PySCF's table of the same database."""

import re

import pytest

from orbitile.base.errors import OrbitileError
from orbitile.integrals import solvents
from orbitile.integrals.solvents import dielectric_constant

IN_PYSCF = {"diethyl ether": "diethylether", "dimethylacetamide": "N,N-dimethylacetamide"}
IN_PYSCF |= {"dimethylformamide": "N,N-dimethylformamide", "dimethyl sulfoxide": "dimethylsulfoxide"}
IN_PYSCF |= {"ethyl acetate": "ethylethanoate", "methyl acetate": "methylethanoate", "formic acid": "formicacid"}
IN_PYSCF |= {"sulfolane": "tetrahydrothiophene-S,S-dioxide", "tert-butanol": "2-methyl-2-propanol"}


def test_constants_are_those_of_the_database():
    smd = pytest.importorskip("pyscf.solvent.smd")
    for name, constant in solvents._CONSTANTS.items():
        its = IN_PYSCF.get(name, name)
        expected = smd.solvent_db[its if its in smd.solvent_db else f"n-{its}"][5]
        assert constant == pytest.approx(expected, abs=5e-4), name
    for other, full in solvents._OTHER_NAMES.items():
        assert dielectric_constant(other) == solvents._CONSTANTS[full]


@pytest.mark.parametrize(
    ("text", "expected"), [(" Water", 78.3553), ("n-Hexane", 1.8819), ("THF", 7.4257), ("4.5", 4.5)]
)
def test_a_solvent_is_a_name_or_a_number(text, expected):
    assert dielectric_constant(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("watr", "did you mean water"),
        ("unobtainium", "give its dielectric constant"),
        ("1", "above 1"),
        ("nan", "above 1"),
        ("-5", "above 1"),
    ],
)
def test_what_is_no_solvent_is_refused(text, message):
    with pytest.raises(OrbitileError, match=re.escape(message)):
        dielectric_constant(text)
