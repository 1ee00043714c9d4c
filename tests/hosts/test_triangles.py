"""Triangles over the pipe, for viewers that extract no isosurfaces, and the client in JavaScript that reads them."""

import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import OrbitileError
from orbitile.hosts.server.protocol import PROTOCOL
from orbitile.model.units import angstrom
from tests.hosts.test_served_live import Other

BENZENE = str(files("orbitile") / "data" / "benzene.molden")
CLIENT = Path(__file__).parents[2] / "docs" / "examples" / "triangles.mjs"
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")


def arrays_of(answer):
    """The arrays of an answer, read as docs/server.md says."""
    data = Path(answer["file"]).read_bytes()
    return {
        name: np.frombuffer(
            data, {"float32": "<f4", "int32": "<i4"}[one["type"]], np.prod(one["shape"]), one["offset"]
        ).reshape(one["shape"])
        for name, one in answer["arrays"].items()
    }


@pytest.fixture
def other(tmp_path):
    one = Other(tmp_path)
    one.ask("orb_load", BENZENE)
    return one


def test_triangles_of_an_orbital_lie_where_it_has_the_isovalue(other):
    other.ask("orb_mo", "benzene", "homo", "0.05", "fine")
    arrays = arrays_of(other.ask("triangles", "benzene_homo"))
    corners, outside = arrays["vertices"][arrays["faces"]], arrays["normals"][arrays["faces"]].sum(axis=1)
    values = ob.evaluate(ob.load(BENZENE), "homo", arrays["vertices"].astype(float) * angstrom)
    errors = np.abs(values - 0.05 * arrays["phases"])  # of linear interpolation between points, largest at nuclei
    assert np.median(errors) < 2e-4
    assert errors.max() < 5e-3
    facing = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert ((facing * outside).sum(axis=1) > 0).mean() > 0.99
    surface = next(event for event in reversed(other.events) if event["event"] == "surface")
    colours = np.array(surface["colours"])[(arrays["phases"] < 0).astype(int)]
    assert arrays["colours"][:, :3] == pytest.approx(colours, abs=1e-6)
    assert arrays["colours"][:, 3] == pytest.approx(1 - surface["transparency"])


def test_triangles_follow_the_isovalue_and_keep_the_colours_of_a_second_field(other):
    other.ask(
        "orb_field",
        named={"name": "benzene", "field": "density", "color_by": "esp", "isovalue": "0.01", "quality": "coarse"},
    )
    before = arrays_of(other.ask("triangles"))
    other.ask("orb_iso", "0.1")
    after = arrays_of(other.ask("triangles"))
    assert np.abs(after["vertices"]).max() < np.abs(before["vertices"]).max()
    for arrays in (before, after):
        assert len(np.unique(arrays["colours"][:, :3], axis=0)) > 100


def test_triangles_of_nothing_are_refused(other):
    with pytest.raises(OrbitileError, match="no orbital is shown"):
        other.ask("triangles", "benzene_homo")


def client(tmp_path, orbital, source="-m orbitile serve"):
    command = [shutil.which("node"), str(CLIENT), BENZENE, orbital, sys.executable, *source.split()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)


@needs_node
@pytest.mark.slow
def test_the_client_in_javascript_reads_triangles_and_errors(tmp_path, monkeypatch, other):
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    other.ask("orb_mo", "benzene", "homo")
    told = other.ask("triangles")
    n_vertices, n_faces = (told["arrays"][name]["shape"][0] for name in ("vertices", "faces"))
    done = client(tmp_path, "homo")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"benzene_homo: {n_vertices} vertices, {n_faces} triangles, within ")
    assert float(done.stdout.split()[-2]) == pytest.approx(np.abs(arrays_of(told)["vertices"]).max())
    done = client(tmp_path, "hommo")
    assert done.returncode == 1
    assert "hommo" in done.stderr


@needs_node
def test_the_client_in_javascript_ends_at_a_server_of_another_protocol(tmp_path):
    server = tmp_path / "server.py"
    server.write_text('import sys\nprint(\'{"event": "ready", "protocol": 99}\', flush=True)\nsys.stdin.read()\n')
    done = client(tmp_path, "homo", str(server))
    assert done.returncode == 1
    assert f"this client speaks version {PROTOCOL}, the server version 99" in done.stderr
