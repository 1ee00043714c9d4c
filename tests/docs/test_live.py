"""The first example of the page on live molecules, as a script of PyMOL in an empty home."""

import os
import re
import subprocess
import sys

import pytest

from tests.docs.pages import DOCS


@pytest.mark.slow
def test_the_first_example_runs_as_it_stands(tmp_path):
    for package in ("pymol", "pyscf", "ase", "h5py"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    (found, *_) = re.findall(r"^((?:    .*\n)+)", (DOCS / "live.md").read_text(), flags=re.M)
    lines = [line.strip() for line in found.splitlines()]
    script = tmp_path / "live.pml"
    script.write_text("\n".join(["/from orbitile.hosts.pymol.commands import register; register()", *lines, ""]))
    done = subprocess.run(
        [sys.executable, "-m", "pymol", "-cq", str(script)],
        cwd=tmp_path,
        env={**os.environ, "HOME": str(tmp_path), "ORBITILE_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert "Error" not in done.stdout + done.stderr, done.stdout
    assert "is no longer live" in done.stdout
    assert (tmp_path / "dragged.h5").exists()
