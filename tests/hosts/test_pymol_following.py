"""What the user does by PyMOL's own means, saved sessions and the end of PyMOL, with the window of Orbitile open."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import SAMPLES
from tests.hosts.test_pymol_panel import environment, in_window, installed, needs_window

pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")

HERE = Path(__file__).parent
KERNELS = {"XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))}
"""Where compiled kernels are kept, outside the empty home folder of a test."""
COMPLAINTS = ("Error", "Warning", "invalid", "Traceback")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home folder with Orbitile installed and two molecules."""
    folder = tmp_path_factory.mktemp("home")
    installed(folder)
    shutil.copy(SAMPLES / "nh3_molden_cart.molden", folder / "one.molden")
    shutil.copy(SAMPLES / "ethanol.mkl", folder / "two.mkl")
    return folder


def reported(file, out):
    assert file.exists(), out
    report = json.loads(file.read_text())
    assert report.pop("done", False), report
    assert [word for word in COMPLAINTS if word in out] == []
    return report


@pytest.mark.slow
@needs_window
def test_the_window_follows_what_is_done_to_objects(home, tmp_path):
    """Renaming, deleting, enabling, grouping, states, a session saved and loaded, `reinitialize` at any time."""
    file = tmp_path / "report.json"
    driver = HERE / "following_driver.py"
    out = in_window(driver, home, REPORT=str(file), FOLDER=str(home), **KERNELS)
    report = reported(file, out)
    assert report["set aside"] == ["one_orb", "two"]
    assert report["renamed"] == ["other"]
    assert report["beside"] == ["favourite", "other_homo_m1"]
    kept = ["mine", "other", "other_homo_m1", "other_homo_m1_map", "other_orb", "two"]
    assert report["after delete"] == kept
    assert report["nothing"] == [0, []]
    assert report["again"] == [kept, ["other_homo_m1"], "other"]
    assert report["walked"] == ["other_lumo"]
    assert report["in the end"] == []


@pytest.mark.linux
@pytest.mark.slow
@needs_window
@pytest.mark.parametrize("how", ["quit", "close", "computing"])
def test_a_saved_session_is_taken_up_by_another_pymol_that_ends_in_order(home, tmp_path, how):
    session = tmp_path / "kept.pse"
    script = tmp_path / "save.pml"
    script.write_text(
        f"import orbitile.hosts.pymol\norb_load {home / 'one.molden'}, other\norb_mo other, homo-1, quality=coarse\n"
        f"orb_load {home / 'two.mkl'}\nsave {session}\n"
    )
    command = [sys.executable, "-m", "pymol", "-cq", str(script)]
    subprocess.run(command, env=environment(home, **KERNELS), check=True, timeout=80, capture_output=True)
    file, folder = tmp_path / "report.json", tmp_path / "t"  # short: the path of a socket has 107 characters
    folder.mkdir()
    more = {"REPORT": str(file), "HOW": how, "TMPDIR": str(folder), **KERNELS}
    out = in_window(HERE / "quitting_driver.py", home, opened=(session,), **more)
    report = reported(file, out)
    assert report["restored"] == ["other", ["other_homo_m1"]]
    assert report["shown"] == ["other_homo"]
    end = time.monotonic() + 60
    while Path(f"/proc/{report['worker']}").exists() or list(folder.glob("orbitile*")):
        assert time.monotonic() < end, "the worker or its folder is left"
        time.sleep(0.1)
    assert "'unit': 'eV'" in (home / ".pymolpluginsrc.py").read_text()
