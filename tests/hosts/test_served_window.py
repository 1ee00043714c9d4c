"""The window of a viewer at a pipe: what its user does goes to the server, which tells what to show."""

import json

import pytest

from orbitile.fields import field_names
from orbitile.session.presets import PRESETS
from tests.hosts.test_server import BENZENE, Server


class Window(Server):
    """Keeps what it is told, by event."""

    def __init__(self):
        super().__init__()
        self.told = {}
        self.events = []

    def do(self, *words):
        self.write(json.dumps({"id": "window", "command": "window", "arguments": words}).encode() + b"\n")

    def until(self, condition):
        """Read on until something is the case."""
        while not condition():
            message = self.read()
            if "event" in message:
                self.told[message["event"]] = message
                self.events.append(message)
            else:
                self.told["answer"] = message

    def done(self, *words):
        """Do something and wait for its answer, and for all that it asks for."""
        self.told.pop("answer", None)
        self.do(*words)
        self.until(lambda: "answer" in self.told and not self.told["busy"]["busy"])
        return self.told["answer"]

    def shown(self):
        return [surface["name"] for surface in self.told["shown"]["surfaces"]]


@pytest.fixture(scope="module")
def window():
    window = Window()
    window.done("show")
    window.done("quality", "coarse")
    window.do("open", BENZENE)
    window.until(lambda: window.told.get("shown", {}).get("current") == "benzene_mo21")
    yield window
    window.close()


@pytest.mark.slow
def test_it_says_what_can_be_shown(window):
    offered = [field["name"] for group in window.ready["fields"] for field in group["fields"]]
    assert sorted(offered) == sorted(name for name, _ in field_names())
    assert [preset["name"] for preset in window.ready["presets"]] == [preset.name for preset in PRESETS]
    parts = {field["name"]: field["parts"] for group in window.ready["fields"] for field in group["fields"]}
    assert [part["kind"] for part in parts["nto:N:hole"]] == ["text", "number", "text"]
    assert [part["several"] for part in parts["difference:FILE"] if part["kind"] == "file"] == [True]


def test_opening_a_file_shows_its_homo(window):
    assert window.told["opened"]["row"] == "mo:21"
    assert window.told["table"]["molecule"] == "benzene"
    assert len(window.told["table"]["rows"]) == 31
    assert "excit" in window.told["table"]["unavailable"]["excitation"]
    assert window.told["molecules"]["names"] == ["benzene"]


@pytest.mark.slow
def test_each_orbital_takes_the_place_of_the_one_before_unless_that_is_kept(window):
    window.done("orbital", "mo:20")
    window.until(lambda: window.shown() == ["benzene_mo20"])
    assert window.told["shown"]["row"] == "mo:20"
    window.done("keep", "benzene_mo20", "1")
    window.done("orbital", "mo:19")
    window.until(lambda: window.shown() == ["benzene_mo20", "benzene_mo19"])
    window.done("surface", "benzene_mo20")
    window.until(lambda: window.told["shown"]["current"] == "benzene_mo20")
    window.done("delete", "benzene_mo20")
    window.until(lambda: window.shown() == ["benzene_mo19"])


@pytest.mark.slow
def test_the_controls_are_told_what_they_act_on(window):
    window.done("preset", "potential", "")
    window.until(lambda: window.told["choices"]["second"] == "esp")
    choices = window.told["choices"]
    assert (choices["is_orbital"], choices["isovalue"], choices["scale"]["colour_map"]) == (False, 0.001, "signed")
    window.done("range", "0.03")
    window.until(lambda: window.told["choices"]["scale"]["high"] == 0.03)
    window.done("orbital", "mo:21")
    window.until(lambda: window.told["choices"]["is_orbital"])
    assert window.told["choices"]["scale"] is None


def test_commands_are_followed(window):
    there = ["benzene", *window.shown()]
    before_the_answer, _ = window.ask("orb_style", ["dots"], objects=there)
    window.told.update(before_the_answer)
    window.until(lambda: window.told["choices"]["look"]["style"] == "dots")
    window.done("style", "surface")


def test_a_filter_stays_when_the_unit_changes(window):
    window.done("filter", "homo..")
    assert window.told["filtered"]["rows"][0] == "mo:21"
    del window.told["filtered"]
    window.done("unit", "hartree")
    assert window.told["table"]["filter"] == "homo.."
    assert window.told["filtered"]["rows"][0] == "mo:21"
    window.done("filter", "")


def test_what_is_under_way_is_cancelled(window):
    window.done("quality", "fine")
    window.do("field", "esp")
    window.until(lambda: window.told["busy"]["busy"])
    window.write(b'{"id": 1, "command": "orb_cancel"}\n')
    window.until(lambda: window.told["said"]["text"] == "Cancelled.")
    window.until(lambda: not window.told["busy"]["busy"])
    window.done("quality", "coarse")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["nonsense"], "expected one of show, hide"),
        ([], "expected one of show, hide"),
        (["automatic"], "expected 1 word, got 0"),
        (["style", "fur"], "surface, two-sided, mesh, dots"),
        (["unit", "furlong"], "eV or hartree"),
        (["orbital", "mo:400"], "an orbital of the table"),
    ],
)
def test_what_cannot_be_done_is_refused(window, words, problem):
    assert problem in window.done(*words)["error"]
