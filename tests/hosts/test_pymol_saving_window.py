"""Dialogs and menus by which what is shown is saved, in PyMOL's own window under Xvfb."""

import json
import shutil
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.pictures import shares_of_colours

pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")

from tests.hosts.test_pymol_help import headings
from tests.hosts.test_pymol_panel import in_window

pytestmark = pytest.mark.skipif(
    shutil.which("xvfb-run") is None or find_spec("PyQt5") is None, reason="xvfb-run or PyQt5 is not installed"
)

BENZENE = str(files("orbitile") / "data" / "benzene.molden")


def was_quick(stood_still):
    """Whether the window answered while something was drawn, also on a busy machine; in seconds."""
    longest, whole = stood_still
    return longest < max(0.6, whole / 2)


@pytest.mark.slow
def test_pictures_films_menus_and_help(tmp_path):
    from PIL import Image

    folder, report_file = tmp_path / "saved", tmp_path / "report.json"
    folder.mkdir()
    driver = Path(__file__).with_name("saving_driver.py")
    out = in_window(driver, tmp_path, REPORT=str(report_file), FILE=BENZENE, FOLDER=str(folder))
    assert report_file.exists(), out
    report = json.loads(report_file.read_text())
    assert report.get("done"), report.get("error", "") + report.get("status", "")
    assert report["unconnected"] == []
    assert {"Save picture…", "Save film…", "Copy commands", "Manual\tF1"} <= set(report["more"])
    assert {"Hide", "Keep", "Style", "Save volume…", "Save surface…", "Delete"} <= set(report["surface menu"])
    assert report["copied"][0].startswith("orb_load ")
    assert report["copied"][1].startswith("orb_field benzene, homo, ")
    assert report["copied"][-1].startswith("set_view (")
    assert report["render line"].startswith("orbitile render ")
    assert report["hidden"]
    assert report["style"] == "mesh"
    assert report["size"] == [2 * length for length in report["view"]]
    for by in ("orbitile", "ray"):
        with Image.open(folder / f"{by}.png") as picture:
            assert list(picture.size) == report["size"]
        assert min(shares_of_colours(folder / f"{by}.png")[:2]) > 0.002
        assert was_quick(report[f"{by} stood still"])
    assert report["asked"] == ["SavePicture", "QFileDialog"]
    with Image.open(folder / "asked.png") as picture:
        assert picture.width == 200
    assert report["film begun"]
    assert len(list((folder / "turn").iterdir())) == 10
    assert was_quick(report["film stood still"])
    assert report["stopped after"] < 10
    assert report["left"] == ["asked.png", "orbitile.png", "ray.png", "turn"]
    assert report["manual at"] == "What is shown"
    assert report["manual then at"] == "Trajectories"
    assert set(report["headings"]) == headings()  # Qt has read all of it
    assert report["manuals"] == 1
