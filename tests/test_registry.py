"""Modules of a kind: found by where they lie, checked against what they have to offer."""

import sys
from importlib import import_module, invalidate_caches
from pathlib import Path
from typing import Protocol

import pytest

from orbitile.base.errors import OrbitileError
from orbitile.base.registry import modules_of


class Greeting(Protocol):
    WORDS: str
    LANGUAGE: str = "English"

    def greet(self, name: str) -> str:
        """Greet somebody."""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Folder of modules of a package and, beside it, one of plugins; both are forgotten afterwards."""
    before = set(sys.modules)
    for path in ("greetings/polite/__init__.py", "greetings/__init__.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    invalidate_caches()
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("greetings", "orbitile_plugins"):
            del sys.modules[name]


def add(folder: Path, name: str, text: str) -> None:
    file = folder / f"{name}.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


GOOD = "WORDS = 'Good day'\ndef greet(name):\n    return f'{WORDS}, {name}'\n"


def test_a_file_is_all_that_a_module_needs(folder):
    add(folder, "greetings/polite/day", GOOD)
    add(folder, "greetings/polite/_helper", "")
    add(folder, "orbitile_plugins/polite/evening", GOOD.replace("day", "evening") + "LANGUAGE = 'British'")
    found = modules_of("greetings.polite", Greeting)
    assert list(found) == ["day", "evening"]
    assert found["evening"].greet("all") == "Good evening, all"
    assert [module.LANGUAGE for module in found.values()] == ["English", "British"]
    assert found["day"] is import_module("greetings.polite.day")


def test_a_higher_priority_goes_first(folder):
    add(folder, "greetings/polite/day", GOOD)
    add(folder, "greetings/polite/early", GOOD)
    add(folder, "orbitile_plugins/polite/night", GOOD + "PRIORITY = 1")
    assert list(modules_of("greetings.polite", Greeting)) == ["night", "day", "early"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("WORDS = ''", r"polite\.new: lacks greet"),
        ("LANGUAGE = ''", r"polite\.new: lacks WORDS, greet"),
        ("import nothing_of_this_name", r"polite\.new: cannot be imported \(ModuleNotFoundError: No module named"),
        ("1 / 0", r"polite\.new: cannot be imported \(ZeroDivisionError"),
    ],
)
@pytest.mark.parametrize("place", ["greetings", "orbitile_plugins"])
def test_a_module_that_does_not_serve_is_named(folder, place, text, message):
    add(folder, f"{place}/polite/new", text)
    with pytest.raises(OrbitileError, match=message):
        modules_of("greetings.polite", Greeting)


def test_a_kind_that_is_not_known_is_refused(folder):
    add(folder, "greetings/polite/day", GOOD + "KIND = 'loud'")
    assert list(modules_of("greetings.polite", Greeting, ("loud", "soft"))) == ["day"]
    with pytest.raises(OrbitileError, match=r"polite\.day: KIND: expected one of quiet, soft, got 'loud'"):
        modules_of("greetings.polite", Greeting, ("quiet", "soft"))


def test_two_of_one_name_are_refused(folder):
    add(folder, "greetings/polite/day", GOOD)
    add(folder, "orbitile_plugins/polite/day", GOOD)
    with pytest.raises(OrbitileError, match=r"orbitile_plugins\.polite\.day: there is greetings\.polite\.day too"):
        modules_of("greetings.polite", Greeting)


def test_a_place_may_be_on_the_path_twice(folder, monkeypatch):
    add(folder, "orbitile_plugins/polite/night", GOOD)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.syspath_prepend(str(folder / ".." / folder.name))
    assert list(modules_of("greetings.polite", Greeting)) == ["night"]


def test_what_is_put_on_the_path_later_is_found(folder, tmp_path, monkeypatch):
    add(folder, "greetings/polite/day", GOOD)
    assert list(modules_of("greetings.polite", Greeting)) == ["day"]
    add(tmp_path / "elsewhere", "orbitile_plugins/polite/night", GOOD)
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))
    assert list(modules_of("greetings.polite", Greeting)) == ["day", "night"]
