"""Patterns of names of fields, as a menu asks for what is left open in them."""

import pytest

from orbitile.fields import field_names, resolve, unavailable
from orbitile.pictures.orbitals import asked_for, completed, largest, parts_of, takes_several_files

ANSWERS = {"number": "3", "file": "other.molden"}


@pytest.mark.parametrize(
    ("pattern", "kinds", "name"),
    [
        ("density", [], "density"),
        ("kinetic:k", [], "kinetic:k"),
        ("homo-N", ["number"], "homo-3"),
        ("mo:N:alpha", ["number", "choice"], "mo:3:beta"),
        ("density:homo-2..homo", ["number", "number"], "density:mo:3..mo:3"),
        ("density:alpha", ["choice"], "density:beta"),
        ("nto:N:hole", ["number"], "nto:3:hole"),
        ("gradient:x", ["choice"], "gradient:y"),
        ("hessian:xy", ["choice"], "hessian:yy"),
        ("nocv:N:to:FILE", ["number", "file"], "nocv:3:to:other.molden"),
        ("fukui0:FILE,FILE", ["file", "file"], "fukui0:other.molden,other.molden"),
    ],
)
def test_what_is_open_in_a_pattern_is_asked_for(pattern, kinds, name):
    asked = asked_for(pattern)
    assert [part.kind for part in asked] == kinds
    assert completed(pattern, [ANSWERS.get(part.kind) or part.options[1] for part in asked]) == name


def test_every_name_that_can_be_given_by_answers_is_a_field(benzene):
    missing = unavailable(benzene)
    tried = [name for name, _ in field_names() if name not in missing and "FILE" not in name]
    assert len(tried) > 15
    for pattern in tried:
        assert all(part.kind in ("text", "number", "choice") for part in parts_of(pattern))
        for at in (0, -1):
            answers = [part.options[at] if part.options else "2" for part in asked_for(pattern)]
            assert resolve(benzene, completed(pattern, answers), None).quantity


def test_numbers_end_where_the_orbitals_do(benzene):
    n = len(benzene.alpha)
    limits = {pattern: largest(pattern, benzene) for pattern in ("homo-N", "lumo+N", "mo:N", "nto:N:hole")}
    assert limits == {"homo-N": 20, "lumo+N": n - 22, "mo:N": n, "nto:N:hole": 0}
    for pattern in ("homo-N", "lumo+N", "mo:N"):
        resolve(benzene, completed(pattern, [str(limits[pattern])]), None)


def test_a_difference_takes_several_files():
    sentences = dict(field_names())
    taking = [name for name, sentence in sentences.items() if takes_several_files(name, sentence)]
    assert taking == [
        "difference:FILE",
        "deformation:FILE",
        "pauli:FILE",
        "nocv:N:FILE",
        "nocv:N:to:FILE",
        "nocv:N:from:FILE",
    ]
