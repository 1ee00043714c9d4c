"""Commands are declared once: what a declaration refuses, and that consoles have what it says."""

import inspect

import pytest

from orbitile.base.arguments import FLAG, NUMBER, PATH, POSITIVE_NUMBER, SHARE, TEXT, Argument, one_of
from orbitile.base.errors import OrbitileError
from orbitile.hosts.server.viewer import ServedViewer
from orbitile.model.lattice import QUALITIES
from orbitile.session.commands import COMMANDS
from orbitile.session.declaration import PYMOL, PYTHON, TCL, Answer, Call, command, read_example
from orbitile.session.session import Session
from taichi_kernels.devices import DEVICES


@command(
    "Answer with what it was given.",
    Argument("first", TEXT, "a word", required=True),
    Argument("number", POSITIVE_NUMBER, "a number", 3.0, "3"),
    Argument("share", SHARE, "a share", None),
    Argument("flag", FLAG, "a flag", False, "0"),
    Argument("choice", one_of("coarse", "fine"), "a choice", "fine"),
    Argument("path", PATH, "a file", None),
)
def echo(session, *values):
    return Answer(None, repr(values))


def test_values_are_read_and_defaults_taken():
    assert echo.run(None, ["word"]).text == "('word', 3.0, None, False, 'fine', None)"
    assert echo.run(None, ["'word'", "", "0.5", "1"], {"choice": "COARSE"}).text.startswith(
        "('word', 3.0, 0.5, True, 'coarse'"
    )
    assert echo.run(None, [17, 1e-3]).text.startswith("('17', 0.001")


@pytest.mark.parametrize(
    ("positional", "named", "words"),
    [
        ([], {}, "first: expected string, got nothing"),
        (["''"], {}, "first: expected string, got nothing"),
        (["a"] * 7, {}, "takes 6 arguments at most, got 7"),
        (["a"], {"first": "b"}, "'first' is given twice"),
        (["a"], {"second": "b"}, "'second' is unknown; expected first, number"),
        (["a", "nan"], {}, "number: expected a positive number, got 'nan'"),
        (["a", "inf"], {}, "number: expected a positive number"),
        (["a", 10**400], {}, "number: expected a number, got a number of very many digits"),
        (["a", True], {}, "number: expected a number, got True"),
        (["a", "1,000"], {}, "number: expected a number, got '1,000'; a comma may part thousands: write a point"),
        (["a", 1, 1.5], {}, "share: expected a number from 0 to 1"),
        (["a", 1, 1, 2], {}, "flag: expected 0 or 1"),
        (["a", 1, 1, 1, "medium"], {}, "choice: expected coarse, fine, got 'medium'"),
        ([["a"]], {}, "first: expected text, got ['a']"),
        ([None], {}, "first: expected text, got None"),
        (["a\nb"], {}, "first: expected text of one line"),
    ],
)
def test_what_cannot_be_read_is_refused(positional, named, words):
    with pytest.raises(OrbitileError) as refused:
        echo.run(None, positional, named)
    assert words in str(refused.value)


def test_usage_and_help_name_every_argument():
    assert echo.usage(PYMOL) == "echo first [, number [, share [, flag [, choice [, path ]]]]]"
    assert echo.usage(TCL) == "echo first [ number [ share [ flag [ choice [ path ]]]]]"
    assert echo.usage(PYTHON) == "echo(first [, number [, share [, flag [, choice [, path ]]]]])"
    for one in COMMANDS:
        for argument in one.arguments:
            assert f"{argument.name} = {argument.kind.name}: " in one.help(PYMOL)
        required = [argument.required for argument in one.arguments]
        assert required == sorted(required, reverse=True)
        assert all(name.startswith("orb_") for name in one.related)


def test_examples_are_as_they_are_typed_in_each_viewer():
    (example,) = [one.examples[-1] for one in COMMANDS if one.name == "orb_load"]
    call = read_example(example)
    assert PYMOL.line(call) == example == "orb_load scan/*.molden, scan, interpolate=2"
    assert TCL.line(call) == "orb_load scan/*.molden scan -interpolate 2"
    assert PYTHON.line(call) == 'orb_load("scan/*.molden", "scan", interpolate="2")'
    assert TCL.line(Call("orb_mo", ('a "$[b]" {c', "homo"))) == 'orb_mo "a \\"\\$\\[b\\]\\" \\{c" homo'
    for one in COMMANDS:
        ours = [call for call in map(read_example, one.examples) if call is not None]
        lines = [line for line in one.examples if line.startswith("orb_")]
        assert [PYMOL.line(call).replace('"', "") for call in ours] == lines
        assert all(ours in one.help(PYTHON) for ours in map(PYTHON.line, ours))


def test_help_lists_all_commands_by_topic_and_explains_each(tmp_path):
    session = Session(ServedViewer(lambda message: None, tmp_path))
    (ours,) = [one for one in COMMANDS if one.name == "orb_help"]
    text = ours.run(session).text
    assert [line.split()[0] for line in text.splitlines() if line.startswith("  ")] == [one.name for one in COMMANDS]
    assert max(map(len, text.splitlines())) < 180
    for one in COMMANDS:
        for name in (one.name, one.name.removeprefix("orb_").upper()):
            assert ours.run(session, [name]).text == one.help(TCL)
    assert "orb_settle" in ours.run(session, ["live molecules"]).text
    with pytest.raises(OrbitileError, match="got 'orb_modes'; nearest match: orb_mo"):
        ours.run(session, ["orb_modes"])


def test_pymol_has_the_declared_arguments():
    pytest.importorskip("pymol", reason="PyMOL (extra pymol) is not installed")
    from orbitile.hosts.pymol.commands import PYMOL_COMMANDS

    for one in COMMANDS:
        parameters = list(inspect.signature(PYMOL_COMMANDS[one.name]).parameters)
        assert parameters == [*(argument.name for argument in one.arguments), "quiet", "_self"]


def test_words_complete_arguments(tmp_path):
    session = Session(ServedViewer(lambda message: None, tmp_path))
    words = {
        (one.name, argument.name): session.words_for(argument)
        for one in COMMANDS
        for argument in one.arguments
        if argument.has_words
    }
    assert words["orb_device", "device"] == ["auto", *DEVICES]
    assert words["orb_mo", "quality"] == words["orb_field", "quality"] == list(QUALITIES)
    assert {"density", "elf", "lumo+1"} <= set(words["orb_field", "color_by"])
    assert words["orb_mo", "name"] == words["orb_iso", "name"] == []  # nothing is loaded, nothing shown
    session.player.close()


def test_pymol_completes_them():
    pytest.importorskip("pymol", reason="PyMOL (extra pymol) is not installed")
    from pymol import cmd

    from orbitile.hosts.pymol import commands

    commands.register()
    for place, name, word in ((0, "orb_device", "vulkan"), (3, "orb_mo", "medium"), (1, "orb_field", "elf")):
        words, argument, _ = cmd.auto_arg[place][name]
        assert word in words().keywords
        assert argument == next(one for one in COMMANDS if one.name == name).arguments[place].name


def test_each_pymol_has_a_session_of_its_own():
    pymol2 = pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")
    from pymol import cmd

    from orbitile.hosts.pymol.commands import state_of

    first = state_of(cmd)
    with pymol2.PyMOL() as one, pymol2.PyMOL() as other:
        sessions = [first, state_of(one.cmd), state_of(other.cmd)]
        assert len({id(session) for session in sessions}) == 3
        assert state_of(one.cmd) is sessions[1]
        assert sessions[1].host.cmd is one.cmd


def test_decimal_commas_where_they_are_unambiguous():
    assert [NUMBER.read("number", text) for text in ("0,03", "-1,5e-2", ",5", "0,125")] == [0.03, -0.015, 0.5, 0.125]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_what_is_required_comes_first(command):
    """PyMOL's commands are functions with these arguments."""
    required = [argument.required for argument in command.arguments]
    assert required == sorted(required, reverse=True)
