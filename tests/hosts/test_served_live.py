"""A live molecule at the other end of a pipe: the viewer tells where atoms are, and is told where to put them."""

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import OrbitileError
from orbitile.hosts.server.requests import done, read_request, take_places
from orbitile.hosts.server.viewer import ServedViewer
from orbitile.model.geometry import Geometry
from orbitile.model.units import angstrom
from orbitile.scf.calculation import Calculation
from orbitile.scf.engines import engine_of
from orbitile.session.session import Session
from tests.hosts.test_server import Server, read_plt

WATER = [[0.0, 0.0, 0.0], [0.96, 0.0, 0.0], [-0.24, 0.93, 0.0]]
EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "live_from_a_script.py"


class Other:
    """The other end, without a process: what it asks, and the events it is told."""

    def __init__(self, folder):
        self.events = []
        self.host = ServedViewer(self.events.append, folder)
        self.session = Session(self.host)

    def ask(self, command="", *arguments, **more):
        line = json.dumps({"id": 1, "command": command, "arguments": arguments, **more}).encode()
        request = read_request(line)
        take_places(self.session, request)
        answer = done(self.session, request)
        if "error" in answer:
            raise OrbitileError(answer["error"])
        return answer["value"]

    def positions(self):
        return self.host.positions("water") / angstrom


@pytest.fixture
def other(tmp_path):
    one = Other(tmp_path)
    assert one.ask("atoms", "water.xyz", "O H H", " ".join(str(x) for place in WATER for x in place)) == "water"
    return one


def test_atoms_that_the_viewer_has_itself_become_a_molecule_of_their_own(other):
    numbers, geometries = other.host.geometries("water")
    assert numbers.tolist() == [8, 1, 1]
    assert geometries / angstrom == pytest.approx(np.array([WATER]))
    (molecule,) = other.events
    assert np.loadtxt(molecule["file"], skiprows=2, usecols=(1, 2, 3)) == pytest.approx(np.array(WATER))
    assert other.ask("atoms", "water", "He", "0 0 0") == "water_2"
    assert other.host.molecules() == {}  # none has a wavefunction


def test_what_a_viewer_rounds_has_not_moved(other):
    before = other.positions()
    rounded = np.array(WATER, np.float32).astype(float)
    rounded[2] += [0, 0, 0.1]
    other.ask(positions={"water": rounded.tolist()})
    assert np.array_equal(other.positions()[:2], before[:2])
    assert np.allclose(other.positions()[2], [-0.24, 0.93, 0.1], atol=1e-6)


def test_only_atoms_that_move_are_told_and_others_may_be_dragged_meanwhile(other):
    seen = len(other.events)
    target = np.array(WATER)
    target[1] = [1.1, 0, 0]
    other.host.move("water", target * angstrom)
    told = other.events[-1]
    assert (told["event"], told["molecule"], told["atoms"]) == ("move", "water", [1])
    assert np.allclose(told["positions"], [[1.1, 0, 0]], atol=1e-7)
    dragged = [WATER[0], WATER[1], [0, 1, 0]]  # written before that was read
    other.ask(positions={"water": dragged}, seen=seen, dragging=True)
    assert np.allclose(other.positions(), [WATER[0], [1.1, 0, 0], [0, 1, 0]])
    assert other.host.is_dragging()
    other.ask(positions={"water": WATER}, seen=len(other.events), dragging=False)
    assert np.allclose(other.positions(), WATER)
    assert not other.host.is_dragging()


def test_what_is_no_place_of_an_atom_is_refused(other):
    for wrong, why in (
        ({"water": WATER[:2]}, "expected 3 atoms, got 2"),
        ({"ice": WATER}, "the name of a molecule with one geometry, got 'ice'"),
        ({"water": [[0, 0]] * 3}, "three numbers an atom"),
        ({"water": [[0, 0, float("nan")]] * 3}, "three numbers an atom"),
        ({"water": [[0, 0, True]] * 3}, "three numbers an atom"),
        ([WATER], "three numbers an atom"),
    ):
        with pytest.raises(OrbitileError, match=why):
            other.ask(positions=wrong)
    for wrong in (("x", "O Q", "0 0 0 1 1 1"), ("x", "O", "0 0"), ("x", "", ""), ("x", "O", "0 0 a")):
        with pytest.raises(OrbitileError, match="atoms: expected"):
            other.ask("atoms", *wrong)
    with pytest.raises(OrbitileError, match="no molecule with one geometry and 2 atoms"):
        other.host.move("water", np.zeros((2, 3)))
    assert np.allclose(other.positions(), WATER)


def test_what_the_viewer_has_deleted_is_nowhere(other):
    other.ask(objects=[])
    assert other.host.positions("water") is None
    with pytest.raises(OrbitileError, match="no molecule is called 'water'"):
        other.host.geometries("water")


def solution(places):
    """Of water at these places in Angstrom."""
    water = Geometry(np.array([8, 1, 1]), np.array(places) * angstrom)
    calculation = Calculation("pbe", "sto-3g")
    return engine_of("auto", water, calculation).solve(water, calculation, (), "cpu", "single")


@pytest.mark.slow
def test_the_surface_that_is_told_at_last_is_that_of_the_orbital_where_the_atoms_are():
    server = Server()
    try:
        server.ask("atoms", ["water", "O H H", " ".join(str(x) for place in WATER for x in place)])
        server.ask("orb_live", ["water"])
        assert server.ask("orb_settle")[0]["surface"]["redrawn"]
        moved = [WATER[0], [1.06, 0, 0], WATER[2]]
        server.write(b'{"id": 0, "dragging": true}\n')
        server.read()
        request = {"id": "settled", "command": "orb_settle", "positions": {"water": moved}}
        server.write(json.dumps(request).encode() + b"\n")
        server.write(b'{"id": "let go", "dragging": false}\n')  # the one before waits for this
        told, events = {}, []
        while "let go" not in told or "settled" not in told:
            message = server.read()
            if "event" in message:
                events.append(message)
            else:
                told[message["id"]] = message
        assert "error" not in told["settled"]
        transparencies = {event["transparency"] for event in events if event["event"] == "transparency"}
        assert sorted(transparencies) == pytest.approx([0.35, 0.65])  # moved along, and converged
        expected = solution(moved)
        live = [event for event in events if event["event"] == "live"][-1]
        assert (live["molecule"], live["stage"]) == ("water", "converged")
        assert live["energy"] == pytest.approx(expected.energy, abs=1e-7)
        volume = read_plt([event for event in events if event["event"] == "volume"][-1]["file"])
        orbital = ob.evaluate(expected.wavefunction, "homo", volume.lattice.points()[::97], device="cpu")
        values = volume.values.ravel()[::97]
        assert min(np.abs(values - orbital).max(), np.abs(values + orbital).max()) < 1e-4
        request = {"id": "waits", "command": "orb_settle", "positions": {"water": WATER}, "dragging": True}
        server.write(json.dumps(request).encode() + b"\n")
        while server.read().get("event") != "volume":
            pass
        server.write(b'{"id": "ends", "command": "orb_cancel"}\n')
        while (message := server.read()).get("id") != "waits":
            pass
        assert message["error"] == "cancelled"
        assert server.ask("orb_live")[0]["live"]["molecule"] == ""
    finally:
        server.close()


@pytest.mark.slow
def test_the_example_of_a_script_prints_energies_and_writes_surfaces(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    monkeypatch.setattr(sys, "argv", ["live_from_a_script.py", str(tmp_path)])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(list(tmp_path.glob("homo_*.ply"))) == 3
    for line in lines:
        words = line.split()
        energy = solution([WATER[0], [float(words[0]), 0, 0], WATER[2]]).energy
        assert float(words[2]) == pytest.approx(energy, abs=1e-7)
