"""A reader, an exporter, a field, an analysis, a kernel, an engine, a command of another distribution: a file each."""

import json
import re
import subprocess
import sys
from importlib import invalidate_caches
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import numpy as np
import pytest

import orbitile as ob
from orbitile.commandline import main
from orbitile.exporters import exporter_for
from orbitile.hosts.pymol.file_filters import files_to_export, files_to_open
from orbitile.readers import load_trajectory

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"

PLUGINS = {
    name: dedent(text)
    for name, text in re.findall(r"^    # (orbitile_plugins/\S+)\n((?:    .*\n|\n)+)", PAGE.read_text(), re.MULTILINE)
}
"""The examples of the page that tells how it is done."""


def test_the_page_has_an_example_of_each():
    kinds = {name.split("/")[1] for name in PLUGINS}
    assert kinds == {
        "readers",
        "exporters",
        "fields",
        "gaussians",
        "integrals",
        "scf",
        "hosts",
        "commandline",
        "analysis",
        "session",
    }


@pytest.fixture(autouse=True)
def plugins(tmp_path, monkeypatch):
    """Folder on the path with the three files, beside an atom to read; forgotten afterwards."""
    for name, text in PLUGINS.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    (tmp_path / "h.toyatom").write_text("toy atom 0.8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))  # names it on purpose: it is the current folder
    monkeypatch.syspath_prepend(str(tmp_path))
    invalidate_caches()
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "orbitile_plugins"]:
        del sys.modules[name]


def help_of(capsys, *command):
    with pytest.raises(SystemExit) as end:
        main([*command, "--help"])
    assert end.value.code == 0
    return " ".join(capsys.readouterr().out.split())


def test_a_reader(capsys, tmp_path):
    assert ob.load("h.toyatom").shells[0].exponents.tolist() == [0.8]
    (tmp_path / "of another name").write_text("toy atom 0.5")
    assert load_trajectory("of another name")[0].shells[0].exponents.tolist() == [0.5]
    assert "*.toyatom *.ta" in files_to_open()
    assert "toy atoms" in help_of(capsys, "info")
    assert main(["info", "h.toyatom"]) == 0
    assert "molecule  H, 1 atoms" in capsys.readouterr().out
    (tmp_path / "b.ta").write_text("an empty file")
    with pytest.raises(ob.OrbitileError, match=r"b\.ta: expected 'toy atom' and an exponent"):
        ob.load("b.ta")
    (tmp_path / "a.unknown").write_text("?")
    with pytest.raises(ob.OrbitileError, match=r"\*\.toyatom"):
        ob.load("a.unknown")


def test_an_exporter(capsys, tmp_path):
    lattice = ob.Lattice.around(ob.load("h.toyatom"), 0.5, 2.0)
    volume = ob.Volume(np.full(lattice.shape, -2.5), lattice, "a field")
    ob.save(volume, "a.toyvol")
    assert (tmp_path / "a.toyvol").read_text() == "a field: 2.500000"
    ob.save(volume, "a.txt", format="toy_volume")
    assert (tmp_path / "a.txt").read_text() == "a field: 2.500000"
    assert "*.toyvol" in files_to_export()
    assert ".npz, .plt, .toyvol" in help_of(capsys, "volume")
    assert main(["volume", "h.toyatom", "density", "--points", "21", "--margin", "1", "-o", "b.toyvol"]) == 0
    density = (2 * 0.8 / np.pi) ** 1.5  # at the nucleus
    assert float((tmp_path / "b.toyvol").read_text().split()[-1]) == pytest.approx(density, rel=1e-5)
    with pytest.raises(ob.OrbitileError, match=r"did you mean \.toyvol"):
        exporter_for("a.toyvl", "volume")


def test_a_field(capsys, tmp_path):
    atom = ob.load("h.toyatom")
    assert ("toy-field", "one over the distance from the nearest atom and one bohr") in ob.field_names()
    assert main(["fields"]) == 0
    assert "Toys\n  toy-field              one over" in capsys.readouterr().out
    lattice = ob.Lattice.around(atom, 0.5, 2.0)
    volume = ob.compute(atom, "toy-field", lattice)
    distance = np.linalg.norm(lattice.points(), axis=1).reshape(lattice.shape)
    np.testing.assert_allclose(volume.values, 1 / (1 + distance), rtol=1e-6)
    assert (volume.quantity, volume.unit) == ("closeness", "bohr^-1")
    assert ob.evaluate(atom, "Toy-Field", [[0, 0, 3.0]], precision="double") == pytest.approx(0.25)
    surface = ob.compute_surface(atom, "toy-field", ob.default_isovalue(atom, "toy-field"))
    np.testing.assert_allclose(np.linalg.norm(surface.vertices, axis=1), 1.0, atol=0.02)
    volumes = list(ob.compute_many(atom, ["toy-field", "mo:1", "toy-field"], lattice))
    assert np.array_equal(volumes[0].values, volumes[2].values)
    assert main(["mesh", "h.toyatom", "toy-field", "-o", "a.ply"]) == 0
    assert (tmp_path / "a.ply").exists()
    with pytest.raises(ob.OrbitileError, match="only orbitals have a choice of kernels, not closeness"):
        ob.compute(atom, "toy-field", lattice, kernel="direct")


def test_an_analysis(capsys, tmp_path):
    (tmp_path / "two.xyz").write_text("2\n\nH 0 0 0\nH 0 0 0.529177210903\n")
    report = ob.distances(ob.load("h.toyatom"), scale=2)
    assert report.table("atoms")["distance"].tolist() == [0.0]
    assert main(["distances", "two.xyz", "--scale", "3", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["tables"]["atoms"]
    assert found["columns"]["distance"] == pytest.approx([0.0, 3.0])
    assert main(["distances", "two.xyz", "-o", "a.csv"]) == 0
    assert capsys.readouterr().out == "a.csv\n"
    assert (tmp_path / "a.csv").read_text() == "atom,element,distance\n1,H,0.0\n2,H,1.0\n"
    assert main(["distances", "two.xyz", "--scale", "0"]) == 2
    assert "scale: expected a positive number, got '0'" in capsys.readouterr().err
    with pytest.raises(ob.OrbitileError, match=r"distances: the parameter 'size' is unknown; expected scale"):
        ob.distances(ob.load("h.toyatom"), size=2)
    assert "distances distances of the atoms from the origin" in help_of(capsys)


def test_a_density_functional():
    atom = ob.load("h.toyatom")
    found = ob.energies(atom, "x_alpha_70", level=1, device="cpu")
    assert found.exchange_correlation == pytest.approx(
        1.05 * ob.energies(atom, "slater", level=1, device="cpu").exchange_correlation
    )


def test_a_kernel(capsys):
    atom = ob.load("h.toyatom")
    assert main(["fields"]) == 0
    assert "toy-kernel             plain sum over all Gaussians" in capsys.readouterr().out
    lattice = ob.Lattice.around(atom, 0.5, 2.0)
    expected = ob.compute(atom, "mo:1", lattice, precision="double").values
    for precision, tolerance in (("single", 1e-6), ("double", 1e-12)):
        values = ob.compute(atom, "mo:1", lattice, precision=precision, kernel="toy-kernel").values
        np.testing.assert_allclose(values, expected, atol=tolerance)
    points = lattice.points()[::7]
    assert ob.evaluate(atom, "mo:1", points, kernel="toy-kernel") == pytest.approx(expected.reshape(-1)[::7], abs=1e-6)
    with pytest.raises(ob.OrbitileError, match="toy-kernel"):
        ob.compute(atom, "mo:1", lattice, kernel="toy")


def test_a_command(capsys):
    assert main(["say-again", "hello", "--times", "3"]) == 0
    assert capsys.readouterr().out == "hello hello hello\n"
    assert "say-again say a word again and again" in help_of(capsys)
    assert "--times TIMES" in help_of(capsys, "say-again")


def test_the_commands_of_viewers(tmp_path):
    """Consoles have the command, and help names the formats; all is made at the import, so in a process of its own."""
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from orbitile.session.commands import COMMANDS\n"
    program += "from orbitile.session.declaration import PYTHON\n"
    program += "from orbitile.hosts.server.viewer import ServedViewer\nfrom orbitile.session.session import Session\n"
    program += "named = {command.name: command for command in COMMANDS}\n"
    program += "print(*(named[name].help(PYTHON) for name in ('orb_load', 'orb_export', 'orb_count')))\n"
    program += "from orbitile.session.presets import preset_named, surfaces_of; import orbitile\n"
    program += "print(surfaces_of(preset_named('toy'), orbitile.load('h.toyatom')), named['orb_preset'].help(PYTHON))\n"
    program += "session = Session(ServedViewer(lambda message: None, '.'))\n"
    program += "print(named['orb_count'].run(session, ['1']).text, named['orb_help'].run(session).text)"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "toy atoms" in said
    assert ".toyvol" in said
    assert 'orb_count("5")' in said
    assert "0 surfaces, few" in said
    assert "PresetSurface(field='toy-field', isovalue=0.4, color_by='density', transparency=0.25)" in said
    assert "toy, how close the atoms are, coloured by the density" in " ".join(said.split())
    assert "orb_count Count the surfaces that are shown" in " ".join(said.split())


def test_an_activity_of_a_window(tmp_path):
    """It is tried by itself, without a window, and a window has it."""
    from orbitile_plugins.hosts.toy import ToyViewer
    from orbitile_plugins.session.window.activities import many_surfaces

    from orbitile.session.session import Session
    from orbitile.session.window.browser import Browser
    from orbitile.session.window.view import View

    class Listening(View):
        said = ()

        def say(self, text, error=False, detail=""):
            self.said += (text,)

    session, view = SimpleNamespace(shelf=SimpleNamespace(present=lambda: ["a"] * 10)), Listening()
    activity = many_surfaces.begin(SimpleNamespace(session=session, view=view))
    activity.tick()
    activity.tick()
    assert view.said == ("10 surfaces are shown: each of them takes memory.",)
    assert not activity.is_busy()
    assert activity.at_rest()
    browser = Browser(Session(ToyViewer()), Listening())
    try:
        assert any(isinstance(one, many_surfaces.ManySurfaces) for one in browser.activities)
        browser.tick()
    finally:
        browser.close()


def test_an_engine():
    pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")
    pytest.importorskip("pyscf", reason="PySCF (extra scf) is not installed")
    Path("he.xyz").write_text("1\n\nHe 0 0 0\n")
    (wavefunction,) = ob.compute_series("he.xyz", "he.h5", ob.Calculation("bare", "cc-pvtz"))
    assert wavefunction.alpha.energies[0] == pytest.approx(-2, abs=0.05)
    with pytest.raises(ob.OrbitileError, match="engine bare: it has no method but bare"):
        ob.compute_series("he.xyz", "b.h5", ob.Calculation("hf"), engine="bare")
