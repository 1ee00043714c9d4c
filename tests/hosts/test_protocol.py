"""The pipe: both ends check the number of the protocol, and requests are declared once."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import orbitile
from orbitile.hosts.server.protocol import PROTOCOL
from orbitile.hosts.server.requests import REQUESTS, greeting, read_request
from orbitile.hosts.server.serving import tell_live
from orbitile.hosts.server.viewer import ServedViewer
from orbitile.hosts.server.window import VERBS, ServedWindow
from orbitile.session.live.live import LiveStatus
from orbitile.session.session import Session
from tests.hosts.test_vmd import in_vmd

TCL = Path(orbitile.__file__).parent / "hosts" / "vmd"
needs_tcl = pytest.mark.skipif(shutil.which("tclsh") is None, reason="tclsh is not installed")


def test_the_number_is_that_of_vmd():
    stated = re.search(r"variable protocol (\d+)", (TCL / "orbitile.tcl").read_text(encoding="utf-8"))
    assert int(stated[1]) == greeting("")["protocol"] == PROTOCOL


def test_the_number_is_that_of_the_client_in_javascript():
    client = Path(__file__).parents[2] / "docs" / "examples" / "triangles.mjs"
    stated = re.search(r"const PROTOCOL = (\d+);", client.read_text(encoding="utf-8"))
    assert int(stated[1]) == PROTOCOL


@pytest.mark.slow
def test_the_server_refuses_a_viewer_of_another_protocol():
    done = subprocess.run(
        [sys.executable, "-m", "orbitile", "serve"],
        input=json.dumps({"id": 1, "protocol": 99, "command": "orb_surfaces"}) + "\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    replies = {reply["id"]: reply for reply in map(json.loads, done.stdout.splitlines()) if "id" in reply}
    expected = "the server speaks version 1, the viewer version 99; install both from the same Orbitile"
    assert replies[1]["error"].startswith(f"protocol: {expected}")
    assert read_request(b'{"protocol": 1}')["protocol"] == PROTOCOL
    assert read_request(b"{}")["protocol"] is None  # a script that tells no number is not checked


@needs_tcl
@pytest.mark.parametrize(("stated", "number"), [('"protocol": 99, ', "99"), ("", "none")])
def test_vmd_ends_a_server_of_another_protocol(tmp_path, stated, number):
    server = tmp_path / "server.py"
    ready = f'{{"event": "ready", {stated}"version": "9.9", "folder": "", "commands": []}}'
    server.write_text(f"import sys\nprint({ready!r}, flush=True)\nsys.stdin.read()\n")
    script = f"""
        set orbitile::command [list {{{sys.executable}}} {{{server}}}]
        puts [catch orb_surfaces problem]
        puts $problem
        puts "pipe: '$orbitile::channel'"
        """
    out = in_vmd(tmp_path, script)
    assert out[0] == "1"
    assert out[1].startswith(
        f"orbitile has ended: protocol: VMD speaks version 1, the server version {number}; install"
    )
    assert "orbitile install vmd" in out[1]
    assert out[2] == "pipe: ''"


@needs_tcl
@pytest.mark.slow
def test_a_command_that_came_after_the_installation_is_known_once_the_server_runs(tmp_path):
    script = """
        rename ::orb_info {}
        set orbitile::names [lsearch -all -inline -not $orbitile::names orb_info]
        orb_load $benzene
        puts [llength [info commands ::orb_info]]
        puts [expr {"orb_info" in $orbitile::names}]
        """
    assert in_vmd(tmp_path, script) == ["1", "1"]


def test_whatever_the_window_of_vmd_tells_is_declared():
    text = "\n".join(file.read_text(encoding="utf-8") for file in TCL.rglob("*.tcl"))
    text = re.sub(r"#.*", "", text)
    told = set(re.findall(r"(?<![\w:$-])(?:tell|tell_soon|::tell) ([a-z_]+)\b", text))
    assert len(told) > 20
    assert told <= set(VERBS)
    asked = set(re.findall(r"\bask ([a-z]+) ", text)) | set(re.findall(r'\\"command\\": \\"([a-z]+)', text))
    assert {"directions", "frame", "window"} < asked
    assert asked
    assert asked <= set(REQUESTS)


def test_a_live_molecule_is_told_of_in_one_way_with_a_window_too(tmp_path):
    told = []
    host = ServedViewer(told.append, tmp_path)
    session = Session(host)
    window = session.panel = ServedWindow(session, host)
    try:
        status = LiveStatus("m", "hf/sto-3g", "converged", "is there", ((0.0, -75.0), (1.0, -75.5)))
        session.live.now = SimpleNamespace(status=status, following=SimpleNamespace(knows=lambda source: False))
        window.show_live(status)
        tell_live(session, host)
        tell_live(session, host)
        session.live.now = None
        window.show_live(None)
        tell_live(session, host)
        events = [message for message in told if message["event"] == "live"]
        assert [message["molecule"] for message in events] == ["m", ""]
        assert events[0]["energy"] == -75.5
        assert "energies" not in events[0]
    finally:
        window.browser.close()


def test_the_first_message_describes_all_requests():
    message = json.loads(json.dumps(greeting("")))
    said = {request["name"]: request for request in message["requests"] + message["window"]}
    assert set(said) == {*REQUESTS, *VERBS}
    assert said["open"]["words"] == ["paths", "..."]
    assert all(request["help"] for request in said.values())
