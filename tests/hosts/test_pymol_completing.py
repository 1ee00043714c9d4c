"""What PyMOL's Python lacks is installed after a yes, and not before."""

import json
import os
from pathlib import Path

import pytest

from orbitile.hosts._requirements import COMPILER, CONTEXTS, NEEDED
from tests.hosts.test_pymol_panel import in_window, needs_window

ROOT = Path(__file__).parents[2]

PIP = """
import os, sys, time
from pathlib import Path
where = Path(os.environ["WHERE"])
with (where / "calls").open("a") as log:
    log.write(" ".join(sys.argv[1:]) + "\\n")
mode = os.environ["MODE"]
if mode == "offline":
    print("WARNING: Retrying after connection broken by NewConnectionError: Failed to establish a new connection")
    sys.exit(1)
if mode == "refused":
    print("error: externally-managed-environment")
    print("This environment is externally managed")
    sys.exit(1)
if mode == "slow":
    print("collecting", flush=True)
    time.sleep(60)
for name in ("taichi", "quadrants", "skimage"):
    (where / "site" / f"installed_{name}").touch()
"""


@pytest.mark.slow
@needs_window
def test_what_is_missing_is_installed_after_a_yes(tmp_path):
    for folder in ("site", "stand_in/pip"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "stand_in" / "pip" / "__init__.py").touch()
    (tmp_path / "stand_in" / "pip" / "__main__.py").write_text(PIP, encoding="utf-8")
    report_file = tmp_path / "report.json"
    home = tmp_path / "home"
    home.mkdir()
    path = os.pathsep.join([str(tmp_path / "stand_in"), *filter(None, [os.environ.get("PYTHONPATH")])])
    out = in_window(
        Path(__file__).with_name("completing_driver.py"),
        home,
        REPORT=str(report_file),
        WHERE=str(tmp_path),
        MODE="refused",
        STAND_IN=path,
    )
    assert report_file.exists(), out
    report = json.loads(report_file.read_text(encoding="utf-8"))
    assert report.get("done"), report
    compiler = next(iter(COMPILER.values()))
    assert f'-m pip install "scikit-image>=0.22" "{compiler}"' in report["text"]
    assert "pypi.org" in report["text"]
    assert "Nothing is downloaded or installed before you press Install" in report["text"]
    assert report["default"]
    assert report["calls after no"] == []
    assert report["remembered"]
    offline, refused = report["answers"]
    assert "offline?" in offline
    assert refused.startswith("pip did not install them: error: externally-managed-environment\n\nPress Install")
    assert report["while it runs"] == "Cancel"
    assert report["ended"]
    assert report["then"] == [""]
    assert len(report["calls"]) == 4
    assert all(call.startswith(f"install scikit-image>=0.22 {compiler}") for call in report["calls"])


def test_what_is_asked_for_is_what_the_project_depends_on():
    tomllib = pytest.importorskip("tomllib", reason="Python 3.10 has no reader of TOML")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = {entry.partition(";")[0].strip(): entry for entry in project["dependencies"]}
    del wanted["threadpoolctl>=3.1"]  # without it all works, if slowly
    other = {entry for entry in wanted.values() if "python_version" in entry}
    assert set(NEEDED.values()) | set(CONTEXTS.values()) == {
        name for name, entry in wanted.items() if entry not in other
    }
    assert next(iter(COMPILER.values())) in {name for name, entry in wanted.items() if entry in other}
