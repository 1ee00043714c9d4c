"""What installs Orbitile into Blender, as far as it needs no Blender; and with one, by Blender's own means."""

import json
import os
import re
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from orbitile import __version__
from orbitile.base.errors import OrbitileError
from orbitile.hosts.blender import installation
from orbitile.session.commands import COMMANDS, functions_of
from orbitile.session.declaration import Answer

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    tomllib = pytest.importorskip("tomli")

ROOT = Path(__file__).parents[2]
NEEDS_BLENDER = pytest.mark.skipif(find_spec("bpy") is None, reason="Blender's Python is not here: pip install bpy")


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A user of Linux with some versions of Blender."""
    for name in ("APPDATA", "BLENDER_USER_RESOURCES", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    for version in ("3.6", "4.5", "5.0", "cache"):
        (tmp_path / ".config" / "blender" / version).mkdir(parents=True)
    return tmp_path


def manifest(text):
    found = tomllib.loads(text)
    assert found["schema_version"] == "1.0.0"
    assert re.fullmatch(r"[a-z_][a-z0-9_]*", found["id"])
    assert found["version"] == __version__
    assert 0 < len(found["tagline"]) <= 64
    assert found["tagline"][-1].isalnum()  # no full stop, the rules say
    assert all(0 < len(reason) <= 64 and reason[-1].isalnum() for reason in found["permissions"].values())
    assert found["license"] == ["SPDX:GPL-3.0-or-later"]
    return found


def test_it_is_installed_for_each_version_and_removed(home):
    written = [home / ".config" / "blender" / version / installation._EXTENSION for version in ("4.5", "5.0")]
    assert installation.status() == ""
    lines = installation.install("/usr/bin/python3")
    assert [line for line in lines if line.startswith("wrote")] == [f"wrote {folder}" for folder in written]
    assert installation.status() == ", ".join(map(str, written))
    manifest((written[0] / "blender_manifest.toml").read_text())
    places = json.loads((written[0] / "places.json").read_text())
    assert places["python"] == "/usr/bin/python3"
    assert all((Path(folder) / "orbitile").is_dir() for folder in places["folders"][:1])
    compile((written[0] / "__init__.py").read_text(), "__init__.py", "exec")
    installation.install()
    assert len(installation.uninstall()) == 2
    assert installation.status() == ""
    assert installation.uninstall() == ["nothing to remove: no Blender of this user has Orbitile"]


def test_without_a_blender_it_says_what_to_do(tmp_path, monkeypatch):
    for name in ("APPDATA", "BLENDER_USER_RESOURCES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    with pytest.raises(OrbitileError, match="start Blender once"):
        installation.install()


@pytest.mark.parametrize(
    ("system", "variables", "folder"),
    [
        ("win32", {"APPDATA": "data"}, "data/Blender Foundation/Blender/5.0"),
        ("darwin", {"HOME": "home"}, "home/Library/Application Support/Blender/5.0"),
        ("linux", {"XDG_CONFIG_HOME": "config"}, "config/blender/5.0"),
    ],
)
def test_where_blender_keeps_extensions(system, variables, folder, tmp_path, monkeypatch):
    for name in ("APPDATA", "BLENDER_USER_RESOURCES", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, str(tmp_path / value))
    monkeypatch.setattr("sys.platform", system)
    (tmp_path / folder).mkdir(parents=True)
    assert installation.extension_folders() == [tmp_path / folder / "extensions" / "user_default" / "orbitile"]
    monkeypatch.setenv("BLENDER_USER_RESOURCES", str(tmp_path / "own"))
    assert installation.extension_folders() == [tmp_path / "own" / "extensions" / "user_default" / "orbitile"]


@pytest.fixture(scope="module")
def extension(tmp_path_factory):
    path = tmp_path_factory.mktemp("extension") / "orbitile.zip"
    command = [sys.executable, str(ROOT / "install" / "blender-zip"), str(path)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == f"{path}\n"
    return path


def test_the_zip_is_an_extension(extension):
    with zipfile.ZipFile(extension) as archive:
        names = archive.namelist()
        manifest(archive.read("blender_manifest.toml").decode())
    assert {"__init__.py", "LICENSE", "orbitile/__init__.py", "taichi_kernels/__init__.py"} <= set(names)
    assert "orbitile/data/benzene.molden" in names
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc")]
    assert extension.stat().st_size < 5_000_000


@pytest.mark.slow
@NEEDS_BLENDER
def test_blender_finds_nothing_wrong_with_the_zip(extension):
    found = subprocess.run(
        [sys.executable, "-c", "import bpy; print('at', bpy.utils.resource_path('LOCAL'), sep='=')"],
        check=True,
        capture_output=True,
        text=True,
    )
    local = re.findall(r"^at=(.+)$", found.stdout, re.MULTILINE)[0]
    tool = Path(local) / "scripts" / "addons_core" / "bl_pkg" / "cli" / "blender_ext.py"
    command = [sys.executable, str(tool), "validate", "--valid-tags=", str(extension)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


_INSTALLS = """
import sys, bpy
bpy.ops.extensions.package_install_files(filepath=sys.argv[1], repo="user_default", enable_on_install=True)
import orbitile
assert "user_default" in orbitile.__file__, orbitile.__file__
from importlib.resources import files
bpy.ops.orbitile.load(filename=str(files("orbitile") / "data" / "benzene.molden"))
bpy.ops.orbitile.mo(quality="coarse")
print("vertices", len(bpy.data.objects["benzene_homo"].data.vertices))
"""


@pytest.mark.slow
@NEEDS_BLENDER
def test_blender_installs_the_zip_and_computes(extension, tmp_path):
    environment = {**os.environ, "BLENDER_USER_RESOURCES": str(tmp_path / "user"), "ORBITILE_DEVICE": "cpu"}
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, "-c", _INSTALLS, str(extension)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert re.search(r"^vertices \d{3,}$", done.stdout, re.MULTILINE), done.stdout + done.stderr


def test_commands_are_functions():
    asked, told = [], []

    def run(command, positional, named):
        asked.append((command.name, positional, named))
        return Answer("shown", "for people")

    functions = functions_of(run, told.append)
    assert list(functions) == [command.name for command in COMMANDS]
    assert functions["orb_mo"]("a", orbital="lumo") == "shown"
    assert asked == [("orb_mo", ("a",), {"orbital": "lumo"})]
    assert told == []
    functions["orb_info"]()
    assert told == ["for people"]
    assert "USAGE" in functions["orb_mo"].__doc__
