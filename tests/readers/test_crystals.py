"""Crystals from CIF files."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import FileError
from orbitile.model.geometry import formula
from orbitile.model.units import angstrom
from tests.crystals import UREA

pytest.importorskip("gemmi", reason="gemmi (extra crystals) is not installed")


def read(tmp_path, text, name="urea.cif"):
    (tmp_path / name).write_text(text)
    return ob.load(tmp_path / name)


def test_a_molecule_on_special_positions_is_completed_and_comes_first(tmp_path):
    crystal = read(tmp_path, UREA)
    assert crystal.promolecule
    assert sorted(crystal.atomic_numbers[:8].tolist()) == [1, 1, 1, 1, 6, 7, 7, 8]
    distances = np.linalg.norm(crystal.positions[:, None] - crystal.positions[:8], axis=2) / angstrom
    bonded = sorted(distances[:8][np.triu_indices(8, 1)])[:7]
    assert bonded == pytest.approx([1.009] * 4 + [1.261] + [1.345] * 2, abs=2e-3)
    nearest = distances.min(axis=1)[8:]
    assert nearest.min() > 1.9
    assert nearest.max() <= 7.01
    # eight atoms in half of the cell of 145.06 Angstrom^3, counted where the surroundings are a whole sphere
    middle = crystal.positions[:8].mean(axis=0)
    within = np.linalg.norm(crystal.positions - middle, axis=1) < 7 * angstrom
    assert within.sum() == pytest.approx(4 / 3 * np.pi * 7**3 * 16 / 145.06, rel=0.05)
    pairs = np.linalg.norm(crystal.positions[:, None] - crystal.positions, axis=2)[np.triu_indices(len(nearest) + 8, 1)]
    assert pairs.min() > 0.9 * angstrom


def test_hydrogens_get_neutron_lengths_and_others_stay(tmp_path):
    short = UREA.replace("0.2575 0.7575 0.2827", "0.2377 0.7377 0.2639")  # N-H 0.83
    crystal, as_given = read(tmp_path, short, "short.cif"), read(tmp_path, UREA)
    assert crystal.positions[:3] == pytest.approx(as_given.positions[:3], abs=1e-6)
    hydrogen = np.linalg.norm(crystal.positions[3] - crystal.positions[2])
    assert hydrogen == pytest.approx(1.009 * angstrom, abs=1e-3)


def test_of_disordered_groups_the_first_is_taken(tmp_path):
    rows = "C C 0 0.5 0.3260\nO O 0 0.5 0.5953\n"
    assert rows in UREA
    columns = UREA.replace("_atom_site_fract_z\n", "_atom_site_fract_z\n_atom_site_disorder_group\n")
    lines = [f"{line} ." if line[:1] in "CONH" and len(line.split()) == 5 else line for line in columns.split("\n")]
    text = "\n".join(lines).replace("O O 0 0.5 0.5953 .", "O O 0 0.5 0.5953 1\nO2 O 0.04 0.54 0.58 2")
    assert formula(read(tmp_path, text)) == formula(read(tmp_path, UREA, "whole.cif"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("_cell_length_a 5.565", "_cell_length_a 0", "volume"),
        ("C C 0 0.5 0.3260", "C C here 0.5 0.3260", "atom C has no place"),
        ("_atom_site_fract_z\n", "", "gemmi cannot read it"),
        ("data_urea", "data_urea\nloop_\n_a\n_b\n1 2 3", "gemmi cannot read it"),
    ],
)
def test_damaged_files_are_refused(tmp_path, old, new, said):
    assert old in UREA
    with pytest.raises(FileError, match=f"urea.cif: .*{said}"):
        read(tmp_path, UREA.replace(old, new))


SALT = """
data_salt
_cell_length_a 5.64
_cell_length_b 5.64
_cell_length_c 5.64
_cell_angle_alpha 90
_cell_angle_beta 90
_cell_angle_gamma 90
_symmetry_space_group_name_H-M 'F m -3 m'
loop_
_atom_site_label
_atom_site_type_symbol
_atom_site_fract_x
_atom_site_fract_y
_atom_site_fract_z
Na Na 0 0 0
Cl Cl 0.5 0.5 0.5
"""


def test_a_crystal_without_molecules_is_refused(tmp_path):
    with pytest.raises(FileError, match="crystal of molecules"):
        read(tmp_path, SALT, "salt.cif")


def test_atoms_of_macromolecules_are_taken_as_they_are(tmp_path):
    labels = [f"label_{name}_id" for name in ("atom", "alt", "comp", "asym", "entity", "seq")]
    names = [
        "group_PDB",
        "id",
        "type_symbol",
        *labels,
        "Cartn_x",
        "Cartn_y",
        "Cartn_z",
        "occupancy",
        "B_iso_or_equiv",
        "auth_asym_id",
    ]
    head = "data_x\nloop_\n" + "\n".join(f"_atom_site.{name}" for name in names) + "\n"
    rows = "ATOM 1 C CA . GLY A 1 1 0.0 0.0 0.0 1.0 10 A\nHETATM 2 O O . HOH B 2 . 3.0 0.0 0.0 1.0 10 B\n"
    molecule = read(tmp_path, head + rows, "protein.cif")
    assert molecule.atomic_numbers.tolist() == [6, 8]
    assert molecule.positions[1] == pytest.approx([3 * angstrom, 0, 0])
