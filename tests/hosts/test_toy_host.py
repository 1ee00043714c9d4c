"""A host of another distribution, by files alone: it is found, installed, and shows what the commands ask for."""

import re
import sys
from importlib import import_module, invalidate_caches
from importlib.resources import files
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import pytest

from orbitile.base.errors import OrbitileError
from orbitile.commandline import main
from orbitile.hosts import hosts, installable_hosts
from orbitile.pictures.request import Request
from orbitile.session.commands import (
    orb_color,
    orb_export,
    orb_field,
    orb_film,
    orb_info,
    orb_iso,
    orb_load,
    orb_mo,
    orb_next,
    orb_picture,
)
from orbitile.session.session import Session
from orbitile.session.shelf import Shelf
from orbitile.session.shown import Shown
from tests.pictures import shares_of_colours

BENZENE = str(files("orbitile") / "data" / "benzene.molden")

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"

_EXAMPLE = re.compile(r"^    # orbitile_plugins/hosts/toy\.py\n((?:    .*\n|\n)+)", re.MULTILINE)
TOY = dedent(_EXAMPLE.findall(PAGE.read_text())[0])
"""The example of the page that tells how it is done."""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """The module of the toy, which lies in a folder on the path."""
    folder = tmp_path / "orbitile_plugins" / "hosts"
    folder.mkdir(parents=True)
    (folder / "toy.py").write_text(TOY)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    invalidate_caches()
    yield import_module("orbitile_plugins.hosts.toy")
    for name in [name for name in sys.modules if name.partition(".")[0] == "orbitile_plugins"]:
        del sys.modules[name]


@pytest.fixture
def session(toy):
    session = Session(toy.ToyViewer())
    yield session
    session.player.close()


def last(session, kind):
    return [call for call in session.host.calls if call[0] == kind][-1]


def test_it_is_installed_by_its_name(toy, capsys):
    assert hosts()["toy"].TITLE == "Toy viewer"
    assert "server" in hosts()
    assert "server" not in installable_hosts()
    with pytest.raises(SystemExit):
        main(["install", "--help"])
    assert "blender, pymol, toy or vmd" in capsys.readouterr().out
    assert main(["install", "toy", "--python", "other", "--no-kernels"]) == 0
    assert main(["install", "toy", "--uninstall"]) == 0
    assert capsys.readouterr().out == "installed for other\nremoved\n"
    assert main(["install", "nowhere"]) == 2
    assert "expected one of blender, pymol, toy, vmd" in capsys.readouterr().err


def test_where_orbitile_is_installed_is_told(toy, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.delenv("APPDATA", raising=False)
    assert main(["install", "--no-kernels"]) == 0
    assert "toy  Toy viewer, found at /somewhere/toy; Orbitile is not installed\n" in capsys.readouterr().out
    assert main(["install", "vmd", "--no-kernels"]) == 0
    capsys.readouterr()
    assert main(["install", "--no-kernels"]) == 0
    assert f"Orbitile is installed in {tmp_path / '.vmdrc'}" in capsys.readouterr().out


def test_a_host_that_lacks_a_title_is_refused_by_its_name(toy, tmp_path, monkeypatch):
    other = tmp_path / "other"
    (other / "orbitile_plugins" / "hosts" / "dumb").mkdir(parents=True)
    (other / "orbitile_plugins" / "hosts" / "dumb" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(other))
    invalidate_caches()
    with pytest.raises(OrbitileError, match=r"hosts\.dumb: lacks TITLE"):
        hosts()


def test_a_host_that_can_be_installed_in_part_is_refused(toy, tmp_path, monkeypatch, capsys):
    half = tmp_path / "other" / "orbitile_plugins" / "hosts" / "half"
    half.mkdir(parents=True)
    (half / "__init__.py").write_text('TITLE = "Half"')
    (half / "installation.py").write_text("def install(python=None): return []")
    monkeypatch.syspath_prepend(str(tmp_path / "other"))
    invalidate_caches()
    assert installable_hosts()["half"] == "Half"
    assert main(["install", "half"]) == 2
    assert "half.installation: lacks find, status, uninstall" in capsys.readouterr().err


def test_commands_show_and_change_a_surface(session, tmp_path):
    assert orb_load.run(session, [BENZENE]).value == "benzene"
    assert last(session, "molecule") == ("molecule", "benzene", 12)
    name = orb_mo.run(session, ["", "homo", "", "coarse"]).value
    _, shown, molecule, isovalue, _, _ = last(session, "surface")
    assert (shown, molecule) == (name, "benzene") == ("benzene_homo", "benzene")
    assert session.shelf[name].isovalue == isovalue
    orb_iso.run(session, [0.05])
    assert last(session, "surface")[3] == session.shelf[name].isovalue == 0.05
    orb_color.run(session, ["green", "#ff0000", 0.5])
    assert last(session, "surface")[4] == ((0, 128 / 255, 0), (1, 0, 0))
    assert session.shelf[name].look.transparency == 0.5
    following = orb_next.run(session).value
    assert last(session, "remove") == ("remove", name)
    assert session.shelf.present() == [following]
    orb_export.run(session, [str(tmp_path / "next.cube")])
    assert (tmp_path / "next.cube").exists()
    density = orb_field.run(session, ["benzene", "density", 0.01, "coarse", "esp"]).value
    assert last(session, "surface")[5].quantity == "electrostatic potential"
    assert session.shelf.present() == [following, density]
    assert "C" in orb_info.run(session).text

    session.host.there.discard("benzene")  # as if the user had deleted it
    session.shelf.follow()
    assert session.shelf.present() == []
    assert {call[1] for call in session.host.calls if call[0] == "remove"} == {name, following, density}


def test_trajectories_are_refused_in_words_by_a_viewer_without_frames(session, tmp_path):
    pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")
    import orbitile as ob

    path = tmp_path / "film.h5"
    with ob.SeriesWriter(path) as writer:
        for _ in range(2):
            writer.append(ob.load(BENZENE))
    with pytest.raises(OrbitileError, match="this viewer has no frames"):
        orb_load.run(session, [str(path)])
    assert session.host.objects() == set()


def test_what_a_viewer_need_not_do_has_defaults(session):
    host = session.host
    host.adopt("a", "a.molden")
    host.there.add("a")
    assert host.molecules() == {"a": "a.molden"}
    host.there.clear()
    assert host.molecules() == {}
    assert (host.legal_name("a b"), host.renamed(), host.settings(), host.has_window()) == ("a b", {}, {}, False)
    assert host.every(10, print) is False
    with pytest.raises(OrbitileError, match="cannot hand over atoms"):
        host.geometries("a")
    with pytest.raises(OrbitileError, match="expected a name such as blue"):
        host.colour("no colour at all")


def test_observers_of_the_shelf_are_told(toy):
    told = []

    class Observer:
        def surface_removed(self, name):
            told.append(("removed", name))

        def surface_renamed(self, old, new):
            told.append(("renamed", old, new))

        def molecule_renamed(self, old, new):
            told.append(("molecule", old, new))

    class Renaming(toy.ToyViewer):
        names: dict = {}  # noqa: RUF012 - one test, one instance

        def renamed(self):
            names, self.names = self.names, {}
            return names

    viewer = Renaming()
    shelf = Shelf(viewer)
    shelf.observe(Observer())
    viewer.there |= {"job", "job_homo"}
    shelf.put("job_homo", Shown("job", Request("job.molden", "homo"), 0.05), SimpleNamespace(isovalue=0.05), None)
    viewer.there |= {"cloud"}
    viewer.there -= {"job_homo"}
    assert shelf.rename("job_homo", "cloud")
    assert shelf["cloud"].kept
    viewer.there ^= {"job", "other"}
    viewer.names = {"job": "other"}
    shelf.look()
    assert (shelf["cloud"].molecule, shelf.molecule_now("job")) == ("other", "other")
    assert shelf.last_of("other") == "cloud"
    assert set(shelf.saved()) == {"cloud"}
    viewer.there -= {"cloud"}
    shelf.follow()
    assert "cloud" not in shelf
    assert told == [("renamed", "job_homo", "cloud"), ("molecule", "job", "other"), ("removed", "cloud")]


@pytest.mark.slow
def test_a_host_that_does_not_say_where_it_looks_from_has_pictures_too(session, tmp_path):
    from PIL import Image

    molecule = orb_load.run(session, [BENZENE]).value
    orb_mo.run(session, [molecule, "homo", 0.03, "coarse"])
    orb_picture.run(session, [str(tmp_path / "homo.png"), 320])
    with Image.open(tmp_path / "homo.png") as picture:
        assert picture.size == (320, 240)
    assert min(shares_of_colours(tmp_path / "homo.png")[:2]) > 0.05
    orb_film.run(session, [str(tmp_path / "turn"), 64, 48, "", "", 3])
    assert len(list((tmp_path / "turn").iterdir())) == 3
    with pytest.raises(OrbitileError, match="no ray tracer"):
        orb_picture.run(session, [str(tmp_path / "ray.png"), 64, 48, "ray"])
