"""The messages of the server as JSON Schema: every message that tests get from a server is held to it."""

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import orbitile
from orbitile.hosts.server.requests import REQUESTS, done, read_request, schema
from orbitile.hosts.server.schema import EVENTS, VALUES
from orbitile.hosts.server.viewer import ServedViewer
from orbitile.session.session import Session

BENZENE = str(Path(orbitile.__file__).parent / "data" / "benzene.molden")


@cache
def validator(name=""):
    """Of messages of the server, or of a definition; None without jsonschema."""
    try:
        from jsonschema import Draft202012Validator
    except ImportError:
        return None
    if name:  # one of the definitions of the whole, which is checked once
        return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": validator().schema["$defs"]})
    told = json.loads(json.dumps(schema()))
    Draft202012Validator.check_schema(told)
    return Draft202012Validator(told)


def hold(message, name=""):
    """Have a message fit the schema."""
    if (fits := validator(name)) is not None:
        fits.validate(message)


def test_a_session_fits_the_schema(tmp_path):
    pytest.importorskip("jsonschema")
    told = []
    session = Session(ServedViewer(lambda event: told.append(json.loads(json.dumps(event))), tmp_path))
    requests = [
        {"id": 1, "command": "orb_load", "arguments": [BENZENE]},
        {"id": 2, "command": "orb_mo", "named": {"orbital": "lumo", "quality": "coarse"}, "objects": ["benzene"]},
        {"id": "x", "command": "triangles", "arguments": []},
        {"id": 3, "command": "orbitals", "arguments": ["benzene", "hartree", "homo..lumo"]},
        {"id": 4, "command": "orb_iso", "arguments": [-1], "seen": 2, "protocol": 1},
        {"id": 5, "command": "orb_delete", "arguments": ["benzene_lumo"], "hidden": []},
        {"positions": {"benzene": [[0, 0, 1.5]]}, "dragging": True},
    ]
    for request in requests:
        hold(request, "request")
        parts = read_request(json.dumps(request).encode())
        parts["positions"] = {}  # of one atom: the server would refuse them, but as a request they are well formed
        answer = json.loads(json.dumps(done(session, parts)))
        hold(answer)
        assert ("error" in answer) == (request.get("id") == 4)
        if "error" not in answer and "command" in request:
            hold(answer["value"], f"values/{request['command']}")
    assert {event["event"] for event in told} >= {"molecule", "surface", "volume", "remove"}
    for event in told:
        hold(event)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("request", {"comand": "orb_mo"}),
        ("request", {"command": "orb_nothing"}),
        ("request", {"command": "orb_mo", "named": {"colour": "blue"}}),
        ("request", {"command": "orb_mo", "arguments": [1, 2, 3, 4, 5]}),
        ("request", {"command": "orb_mo", "named": {"quality": "finest"}}),
        ("request", {"command": "window", "arguments": ["dance"]}),
        ("request", {"command": "window", "arguments": ["keep", "benzene_homo"]}),
        ("request", {"positions": {"water": [[0, 0]]}}),
        ("request", {"dragging": 1}),
        ("event", {"event": "frame", "molecule": "water"}),
        ("event", {"event": "busy", "busy": True, "more": 1}),
        ("event", {"event": "unheard"}),
        ("answer", {"id": 1, "value": None, "text": "", "error": ""}),
    ],
)
def test_what_is_no_message_does_not_fit(name, message):
    jsonschema = pytest.importorskip("jsonschema")
    with pytest.raises(jsonschema.ValidationError):
        hold(message, name)


def test_it_names_all_events_and_values_there_are():
    sources = (Path(orbitile.__file__).parent / "hosts" / "server").glob("*.py")
    told = {name for file in sources for name in re.findall(r'"event": "(\w+)"', file.read_text(encoding="utf-8"))}
    assert set(EVENTS) == told
    assert set(VALUES) == {name for name, request in REQUESTS.items() if request.answer != "none"}


@pytest.mark.slow
def test_it_is_printed():
    printed = subprocess.run(
        [sys.executable, "-m", "orbitile", "serve", "--schema"], capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(printed.stdout) == json.loads(json.dumps(schema()))
