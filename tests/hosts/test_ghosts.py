"""Ghost atoms, which have basis functions and no nucleus, in the renderer and in the viewers."""

import shutil

import numpy as np
import pytest

import orbitile as ob
from orbitile.exporters import save
from orbitile.model.units import angstrom
from orbitile.scenes.scene import GHOST_RADIUS, Molecule
from tests.conftest import SAMPLES
from tests.hosts.test_vmd import in_vmd

from . import vmd_module

DIMER = SAMPLES / "water_dimer_ghost.fchk"


@pytest.fixture
def dimer():
    return ob.load(DIMER)


def test_the_renderer_draws_small_balls_without_sticks(dimer):
    molecule = Molecule.of(dimer)
    ghosts = np.flatnonzero(dimer.is_ghost)
    np.testing.assert_array_equal(molecule.centres, dimer.positions)
    assert np.all(molecule.radii[ghosts] == GHOST_RADIUS)
    assert molecule.radii[~dimer.is_ghost].min() > GHOST_RADIUS
    assert len(molecule.bonds) == 2
    assert not np.isin(molecule.bonds, ghosts).any()


def test_volumes_keep_ghosts_as_such(dimer, tmp_path):
    lattice = ob.Lattice.around(dimer, spacing=1.0, margin=2.0)
    volume = ob.compute(dimer, "homo", lattice, device="cpu")
    for suffix in ("cube", "npz"):
        save(volume, tmp_path / f"homo.{suffix}", wavefunction=dimer)
        (again,) = ob.load_volumes(tmp_path / f"homo.{suffix}")
        np.testing.assert_allclose(again.values, volume.values, atol=1e-5)
    atoms = (tmp_path / "homo.cube").read_text().splitlines()[6:12]
    assert sorted(float(line.split()[0]) for line in atoms) == [0, 0, 0, 1, 1, 8]


def test_pymol(dimer, monkeypatch, capsys):
    pymol2 = pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")
    from orbitile.hosts.pymol import commands

    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    with pymol2.PyMOL() as instance:
        cmd = instance.cmd
        commands.register(cmd)
        name = commands.orb_load(str(DIMER), _self=cmd)
        assert "without nuclear charge" in capsys.readouterr().out
        assert (cmd.count_atoms(name), cmd.count_atoms("elem X and name X")) == (6, 3)
        assert cmd.get_coords(name) == pytest.approx(dimer.positions / angstrom, abs=1e-5)
        model = cmd.get_model(name)
        assert len(model.bond) == 2
        assert all(model.atom[n].symbol != "X" for bond in model.bond for n in bond.index)
        assert cmd.count_atoms("bound_to elem X") == 0


def test_vmd_as_a_module(dimer, monkeypatch):
    from orbitile.hosts.vmd.viewer import VMDViewer

    vmd = vmd_module.make()
    VMDViewer(vmd).add_molecule("dimer", dimer, 0)
    number = vmd.molecule.listall()[0]
    assert vmd.molrep.num(number) == 2
    assert vmd.molrep.get_style(number, 1) == "CPK 0.5 0.0 20.0 20.0"
    assert vmd.molrep.get_material(number, 1) == "Transparent"


@pytest.mark.skipif(shutil.which("tclsh") is None, reason="tclsh is not installed")
def test_vmd(tmp_path):
    out = in_vmd(tmp_path, f"puts [orb_load {{{DIMER}}}]\nforeach rep $vmd(0,reps) {{ puts $rep }}")
    real, ghosts = out[-2:]
    assert "CPK 1.0 0.3 20.0 20.0" in real
    assert "selection {not name X}" in real
    assert "CPK 0.5 0.0 20.0 20.0" in ghosts
    assert "selection {name X}" in ghosts
    assert "Transparent" in ghosts
