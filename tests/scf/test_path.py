"""Paths between two structures: barriers as tblite has them, searches taken up, what is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import Cancelled, OrbitileError
from orbitile.commandline import main
from orbitile.model.units import angstrom, electronvolt

pytest.importorskip("ase", reason="ASE (extra optimisation) is not installed")
tblite = pytest.importorskip("tblite.interface", reason="tblite (extra xtb) is not installed")
pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")

GFN2 = ob.Calculation("gfn2")
PYRAMID = "4\n\nN 0 0 {n}\nH 0.94 0 {h}\nH -0.47 0.81 {h}\nH -0.47 -0.81 {h}\n"


@pytest.fixture
def ends(tmp_path):
    """Ammonia, and the same after its inversion."""
    found = tmp_path / "up.xyz", tmp_path / "down.xyz"
    for path, n in zip(found, (0.1, -0.1), strict=True):
        path.write_text(PYRAMID.format(n=n, h=-2.7 * n))
    return found


def test_ammonia_turns_over_its_plane(ends, tmp_path):
    found = ob.reaction_path(*ends, tmp_path / "path.h5", GFN2, images=5)
    saddle = found.trajectory[found.saddle]
    calculator = tblite.Calculator("GFN2-xTB", saddle.atomic_numbers, saddle.positions)
    calculator.set("verbosity", 0)
    direct = calculator.singlepoint()
    assert found.energies[found.saddle] == pytest.approx(direct.get("energy"), abs=1e-6)
    assert np.linalg.norm(direct.get("gradient"), axis=1).max() < 4.5e-4
    assert found.barriers[0] == pytest.approx(found.barriers[1], abs=1e-6)
    assert found.barriers[0] == pytest.approx(0.009737, abs=1e-5)
    assert (found.wavenumbers < -50).sum() == 1
    flat = saddle.positions - saddle.positions.mean(axis=0)
    assert np.linalg.svd(flat)[1][2] < 2e-3
    normal = np.linalg.svd(flat)[2][2]
    np.testing.assert_allclose(np.abs(found.mode @ normal)[1:], 1.0, atol=0.01)
    assert len(found.trajectory) == 5
    assert len(ob.load_trajectory(tmp_path / "path-mode.h5")) == 12
    assert sorted(path.name for path in tmp_path.iterdir()) == ["down.xyz", "path-mode.h5", "path.h5", "up.xyz"]


@pytest.mark.slow
def test_a_search_that_was_killed_goes_on(ends, tmp_path, capsys):
    command = ["path", *map(str, ends), "--method", "gfn2", "--images", "5", "-o", str(tmp_path / "path.h5")]
    with subprocess.Popen([sys.executable, "-m", "orbitile", *command], stderr=subprocess.DEVNULL) as process:
        state = tmp_path / "path.h5.parts" / "band.npz"
        while process.poll() is None:
            if state.exists() and "band" in np.load(state).files:
                os.kill(process.pid, signal.SIGKILL)
                break
            time.sleep(0.01)
    assert not (tmp_path / "path.h5").exists()
    assert main([*command[:-2], "-o", str(tmp_path / "other.h5")]) == 0
    assert "barrier: 6.11 kcal/mol" in capsys.readouterr().out
    lines = []
    found = ob.reaction_path(
        *ends,
        tmp_path / "path.h5",
        GFN2,
        images=5,
        largest_force=0.02 * electronvolt / angstrom,
        report=lines.append,
    )
    assert lines[0] == "going on where it was interrupted"
    assert not [line for line in lines if "structure, step" in line]
    assert found.barriers[0] == pytest.approx(0.009737, abs=1e-5)
    assert not state.parent.exists()


def test_what_cannot_be_is_refused(ends, tmp_path):
    other = tmp_path / "other.xyz"
    for atoms, reason in (
        ("4\n\nH 0 0 0\nN 1 0 0\nH 1 1 0\nH 1 0 1\n", "atom 1 is N and H"),
        ("3\n\nN 0 0 0\nH 1 0 0\nH 0 1 0\n", "got 4 and 3 of them"),
        (ends[0].read_text(), "are the same one after"),
    ):
        other.write_text(atoms)
        with pytest.raises(OrbitileError, match=reason):
            ob.reaction_path(ends[0], other, tmp_path / "path.h5", GFN2)
    mode = tmp_path / "path-mode.h5"
    mode.write_text("of somebody else")
    with pytest.raises(OrbitileError, match="path-mode"):
        ob.reaction_path(*ends, tmp_path / "path.h5", GFN2)
    assert mode.read_text() == "of somebody else"
    mode.unlink()
    with pytest.raises(OrbitileError, match="images"):
        ob.reaction_path(*ends, tmp_path / "path.h5", GFN2, images=4)
    with pytest.raises(Cancelled):
        ob.reaction_path(*ends, tmp_path / "path.h5", GFN2, cancelled=lambda: True)
    assert not list(tmp_path.glob("path*"))
