"""Periodic systems in viewers: the edges of the cell, and surfaces that end at its faces."""

import shutil

import numpy as np
import pytest

import orbitile
from orbitile.model.cell import cell_of
from orbitile.model.units import angstrom
from tests.crystals import water, write_molden
from tests.hosts.test_vmd import in_vmd

pytest.importorskip("pyscf.pbc.gto", reason="PySCF (extra scf) is not installed")


@pytest.fixture
def file(tmp_path):
    return write_molden(tmp_path / "water.molden", water())


@pytest.mark.slow
def test_pymol(file, monkeypatch):
    pymol2 = pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")
    from orbitile.hosts.pymol import commands

    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    cell = cell_of(orbitile.load(file))
    with pymol2.PyMOL() as instance:
        cmd = instance.cmd
        commands.register(cmd)
        name = commands.orb_load(str(file), _self=cmd)
        edges = [one for one in cmd.get_names() if "edges" in one or "cell" in one]
        assert edges
        low, high = np.array(cmd.get_extent(edges[-1])) * angstrom
        assert low == pytest.approx(cell.corners().min(axis=0), abs=0.2)
        assert high == pytest.approx(cell.corners().max(axis=0), abs=0.2)
        surface = commands.orb_mo(name, "homo", _self=cmd)
        low, high = np.array(cmd.get_extent(surface.split()[0])) * angstrom
        assert np.all(low > cell.corners().min(axis=0) - 0.01)
        assert np.all(high < cell.corners().max(axis=0) + 0.01)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tclsh") is None, reason="tclsh is not installed")
def test_vmd(file, tmp_path):
    out = in_vmd(tmp_path, f"puts [orb_load {{{file}}}]")
    assert "water" in out[-1]
