"""What all fields have in common, and what those have that do not say otherwise."""

import pickle
import re

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import FieldError
from orbitile.evaluation.requests import field_of
from orbitile.fields import Field, field_groups, field_names

_OF_EXCITED_STATES = ("attachment", "change", "detachment", "electron", "hole", "nto", "transition")
_OF_FILES_BESIDE = ("polarisation", "esp-", "mode:")
_OF_ALL_ORBITALS = ("current", "shielding")
_OF_SURROUNDINGS = ("hirshfeld", "dnorm", "di", "de", "shapeindex", "curvedness", "contact", "fingerprint", "void")
_OTHERS = (*_OF_EXCITED_STATES, *_OF_FILES_BESIDE, *_OF_ALL_ORBITALS)
_NOT_OF_BENZENE = ("spin", "phase", "magnetisation", *_OTHERS)

NAMES = [
    re.sub(r"\bN\b", "1", name)
    for name, _ in field_names()
    if "FILE" not in name and not name.startswith(_NOT_OF_BENZENE) and name.partition(":")[0] not in _OF_SURROUNDINGS
]


@pytest.mark.parametrize("name", NAMES)
def test_a_field_can_be_sent_to_another_process(name, benzene):
    field = field_of(benzene, name)
    points = benzene.positions[:4] + np.array([0.3, 0.2, 0.9])
    here = ob.evaluate(benzene, field, points, device="cpu")
    isovalue = field.isovalue or 0.05
    sent = pickle.loads(pickle.dumps(field))
    assert np.array_equal(ob.evaluate(benzene, sent, points, device="cpu"), here)
    assert np.array_equal(sent.enclosing_box(isovalue), field.enclosing_box(isovalue))
    assert (sent.quantity, sent.unit, sent.isovalue) == (field.quantity, field.unit, field.isovalue)


@pytest.mark.parametrize("name", NAMES)
def test_a_field_without_a_customary_isovalue_knows_how_far_it_spreads(name, benzene):
    field = field_of(benzene, name)
    assert (field.isovalue is None) == (field.spread is not None)
    members = field.degenerate_set
    assert members.fields[members.place] is field
    assert len(members.energies) == len(members.fields)


class Plain(Field):
    """One that states what it has to, and nothing else."""

    quantity, unit, isovalue = "nothing", "", 0.5

    def at_points(self, target):
        return lambda points: np.zeros(len(points), target.dtype)

    def enclosing_box(self, isovalue):
        return np.full(3, -1.0), np.full(3, 1.0)


def test_what_a_field_need_not_state(benzene):
    field, lattice = Plain(), ob.Lattice.around(benzene, 2.0, 1.0)
    assert field_of(benzene, field) is field
    assert field.with_kernel("auto") is field
    with pytest.raises(FieldError, match="not nothing"):
        field.with_kernel("direct")
    assert field.neighbour(1) is None
    assert not field.joins(field)
    assert not field.is_enclosed(np.full(3, -9.0), np.full(3, 9.0), 0.1)
    assert ob.default_isovalue(benzene, field) == 0.5
    assert not ob.compute(benzene, field, lattice, device="cpu").values.any()
    assert ob.enclosing_lattice(benzene, field, 0.5).spacings == pytest.approx(0.15 * 1.889726, rel=1e-3)
    first, second = ob.compute_many(benzene, [field, "homo"], lattice, device="cpu")
    assert not first.values.any()
    assert second.values.any()


def test_orbitals_have_neighbours_in_the_file(benzene):
    assert field_of(benzene, "mo:3").neighbour(2) == "mo:5"
    assert field_of(benzene, "homo").neighbour(-1) == "mo:20"
    with pytest.raises(FieldError, match="the file holds"):
        field_of(benzene, "mo:1").neighbour(-1)
    assert field_of(benzene, "density").neighbour(1) is None


def test_the_same_orbital_is_one_object_while_others_are_asked_for(benzene):
    homo = field_of(benzene, "homo")
    assert field_of(benzene, "lumo") is not homo
    assert field_of(benzene, "HOMO") is homo
    assert homo.with_kernel("direct") is homo.with_kernel("direct")
    assert homo.with_kernel("direct").with_kernel("auto").kernel == "direct"


def test_groups_hold_every_field_once_those_first_that_are_wanted_most():
    groups = field_groups()
    titles = [title for title, _ in groups]
    assert titles[:4] == ["Orbitals", "Localised orbitals", "Electron density", "Electrostatic potential"]
    assert len(set(titles)) == len(titles)
    assert [pair for _, names in groups for pair in names] == field_names()
    assert len(dict(field_names())) == len(field_names())


def test_sentences_fit_a_line_of_a_menu():
    for name, sentence in field_names():
        assert len(sentence) < 100, name
        assert sentence[0].isupper(), name
        assert not sentence.endswith("."), name
