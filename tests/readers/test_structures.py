"""Structures from files, their charges by PDB2PQR and files, and selections against PyMOL's."""

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import orbitile as ob
from orbitile.model.structure import Residue
from orbitile.model.units import angstrom
from orbitile.readers.structures import load_structure, select, with_charges
from tests.fuzz.samples import FORMAMIDE, GLYCINE

pytest.importorskip("MDAnalysis", reason="MDAnalysis (extra region) is not installed")

SELECTIONS = (
    "resn 478",
    "byres all within 4 of resn 478",
    "chain A and resn ASP within 8 of resn 478 and elem C",
    "resn 478 around 5 and chain A",
    "chain A and byres resn 478 around 4 or chain B",
    "not byres resn 478 around 4",
    "resi 25+27-30 and name C* and not chain B",
    "resn asp expand 3",
    "chain 'A'+'' and (elem O or name CA)",
    "not resn ASP and chain A",
)


def protease():
    """HIV protease with amprenavir, which comes with PyMOL."""
    pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")
    return str(files("pymol") / "pymol_path/data/tut/1hpv.pdb")


def test_files(tmp_path, monkeypatch):
    path = tmp_path / "two.pdb"
    path.write_text(GLYCINE)
    found = load_structure(path)
    assert found.residues[0] == Residue("A", "52A", "GLY")
    assert found.atomic_numbers.tolist() == [7, 6, 6, 8, 7, 20, 6, 6, 8]
    assert found.positions[1, 0] == pytest.approx(0.05 * angstrom)  # the location that is occupied most
    assert found.formal_charges.tolist() == [1] + 8 * [0]
    bonds = {tuple(pair): order for pair, order in zip(found.bonds.tolist(), found.orders, strict=True)}
    assert bonds == {(0, 1): 1, (1, 2): 1, (2, 3): 2, (2, 4): 1, (6, 7): 0}  # none of the calcium; one is stated
    assert np.isnan(found.partial_charges).all()
    assert any("GLY 52A" in note or "52A of chain A" in note for note in found.notes)
    assert any("2 geometries" in note for note in found.notes)
    path = tmp_path / "formamide.mol2"
    path.write_text(FORMAMIDE)
    other = load_structure(path)
    assert other.orders.tolist() == [2, 1, 1, 1, 1]
    assert other.partial_charges.sum() == pytest.approx(0, abs=1e-6)
    renamed = tmp_path / "formamide.pdb"
    atoms = zip(other.names, other.positions / angstrom, strict=True)
    lines = [f"HETATM{n:5d}  {a:3s} FOR C   7    {x:8.3f}{y:8.3f}{z:8.3f}" for n, (a, (x, y, z)) in enumerate(atoms, 1)]
    renamed.write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)  # where the process that reads it is not
    charged = with_charges(load_structure(renamed.name), path)  # by the name of its one residue
    assert np.array_equal(charged.partial_charges, other.partial_charges)
    assert with_charges(replace(other, residues=(Residue("", "9", "UNL"),)), path).partial_charges[0] == 0.5  # by names
    with pytest.raises(ob.OrbitileError, match="not one of its 6 atoms"):
        with_charges(found, path)
    with pytest.raises(ob.OrbitileError, match=r"formamide.pdb: has no partial charges; PQR and mol2"):
        with_charges(other, renamed)


def test_selections_choose_what_they_do_in_pymol():
    import pymol2

    structure = load_structure(protease())
    with pymol2.PyMOL() as pymol:
        pymol.cmd.load(protease(), "m")
        for text in SELECTIONS:
            theirs = {(atom.chain, atom.resi, atom.name) for atom in pymol.cmd.get_model(text).atom}
            residues = [(atom, structure.residues[structure.residue_of[atom]]) for atom in select(structure, text)]
            assert theirs == {(of.chain, of.number, structure.names[atom]) for atom, of in residues}, text
    for text, what in (("resn 478 abd chain A", "expected and, .* got 'abd'"), ("within 3 of", "got the end")):
        with pytest.raises(ob.OrbitileError, match=what):
            select(structure, text)
    with pytest.raises(ob.OrbitileError, match=r"got none; residues .* 478, ALA"):
        select(structure, "resn LIG")


def test_charges_by_pdb2pqr(tmp_path):
    pytest.importorskip("pdb2pqr", reason="PDB2PQR (extra region) is not installed")
    lines = Path(protease()).read_text().splitlines()
    part = [line for line in lines if (line[:4] == "ATOM" and 24 <= int(line[22:26]) <= 30) or line[17:20] == "478"]
    (tmp_path / "site.pdb").write_text("\n".join(part))
    structure = load_structure(tmp_path / "site.pdb")
    of = {str(residue): n for n, residue in enumerate(structure.residues)}
    nameless = replace(structure, residues=tuple(replace(residue, chain="") for residue in structure.residues))
    for ph, charge, given in ((7, -1, nameless), (1, 0, structure)):
        charged = with_charges(given, "pdb2pqr", ph=ph)
        sums = np.bincount(charged.residue_of, charged.partial_charges, len(charged.residues))
        assert sums[of["ASP 29 of chain A"]] == pytest.approx(charge)
        assert sums[[of["LEU 24 of chain A"], of["LEU 24 of chain B"]]] == pytest.approx(1)  # where chains begin
    assert np.flatnonzero(np.isnan(sums)).tolist() == [of["478 200"]]  # the ligand
    ligand = select(charged, "resn 478")
    before = select(structure, "resn 478")
    assert np.array_equal(charged.positions[ligand], structure.positions[before])
    hydrogens = charged.atomic_numbers == 1
    neighbours = np.bincount(charged.bonds.ravel(), minlength=len(hydrogens))
    assert (neighbours[hydrogens] == 1).all()
    assert any("ASP 29 of chain A" in note and "more protons" in note for note in charged.notes)
    assert any("Not all atoms" in note and "478" in note for note in charged.notes)
