"""Molden files with cells, as CP2K and Multiwfn have them."""

from pathlib import Path

import numpy as np
import pytest

import orbitile
from orbitile.analysis.information import as_dictionary, as_text
from orbitile.base.errors import ConventionError, FileError
from orbitile.model.units import angstrom

from ..crystals import Solved, bohr, water, write_molden

pytest.importorskip("pyscf.pbc.gto", reason="PySCF (extra scf) is not installed")

CUBIC = np.eye(3) * 4.0


@pytest.fixture(scope="module")
def field() -> Solved:
    return water(CUBIC)


@pytest.mark.parametrize(
    ("heading", "unit", "taken"),
    [
        ("[Cell] AU", 1.0, ""),
        pytest.param("[Cell] Angs", angstrom, "", marks=pytest.mark.slow),
        ("[CELL] (Angs)", angstrom, None),
        pytest.param("[Cell]", angstrom, "Angstrom", marks=pytest.mark.slow),
        pytest.param("[Cell]", 1.0, "bohr", marks=pytest.mark.slow),
    ],
)
def test_cells_in_all_units(field, tmp_path: Path, heading: str, unit: float, taken: str | None):
    path = write_molden(tmp_path / "water.molden", field, heading, unit)
    if taken is None:
        with pytest.raises(FileError, match=r"\[Cell\]: expected the unit AU or Angs"):
            orbitile.load(path)
        return
    wavefunction = orbitile.load(path)
    assert wavefunction.cell == pytest.approx(bohr(CUBIC), abs=1e-6)
    assert any(f"{taken} is taken" in remark for remark in wavefunction.remarks) == bool(taken)


@pytest.mark.slow
@pytest.mark.parametrize("nuclei", ["[Pseudo]", "[Nval]"])
def test_valence_charges(field, tmp_path: Path, nuclei: str):
    wavefunction = orbitile.load(write_molden(tmp_path / "water.molden", field, nuclei=nuclei))
    assert wavefunction.core_charges.tolist() == [6, 1, 1]
    assert wavefunction.charge == pytest.approx(0)


@pytest.mark.slow
def test_valence_charges_of_files_without_them(field, tmp_path: Path):
    path = write_molden(tmp_path / "water.molden", field)
    head, _, rest = path.read_text().partition(" [Pseudo]")
    path.write_text(head + rest[rest.index(" [GTO]") :])
    wavefunction = orbitile.load(path)
    assert wavefunction.core_charges.tolist() == [6, 1, 1]
    assert any("0 is taken, as its electrons ask for" in remark for remark in wavefunction.remarks)


@pytest.mark.slow
def test_files_with_occupied_orbitals_alone(field, tmp_path: Path):
    wavefunction = orbitile.load(write_molden(tmp_path / "water.molden", field, orbitals=slice(0, 4)))
    assert len(wavefunction.alpha) == 4


@pytest.mark.slow
def test_coefficients_that_are_left_out_are_zero(field, tmp_path: Path):
    whole = orbitile.load(write_molden(tmp_path / "whole.molden", field, digits=15))
    short = write_molden(tmp_path / "short.molden", field, digits=6)
    lines = sum(line.strip()[:1].isdigit() for line in short.read_text().partition("[MO]")[2].splitlines())
    assert lines < whole.n_basis * len(whole.alpha)
    found = orbitile.load(short).alpha.coefficients
    assert np.abs(np.abs(found) - np.abs(whole.alpha.coefficients)).max() < 2e-5


@pytest.mark.slow
def test_the_page_about_a_file_has_the_cell(field, tmp_path: Path):
    wavefunction = orbitile.load(write_molden(tmp_path / "water.molden", field))
    assert "cell      4 x 4 x 4 Angstrom, angles 90, 90, 90 degrees" in as_text(wavefunction)
    assert as_dictionary(wavefunction)["cell_angstrom"][1] == pytest.approx([0, 4, 0], abs=1e-6)


def test_too_few_digits_are_named(field, tmp_path: Path):
    with pytest.raises(ConventionError, match=r"3 digits behind the point.*NDIGITS 9"):
        orbitile.load(write_molden(tmp_path / "water.molden", field, digits=3))


@pytest.mark.slow
def test_a_missing_cell_is_named(field, tmp_path: Path):
    with pytest.raises(ConventionError, match="needs the cell: WRITE_CELL"):
        orbitile.load(write_molden(tmp_path / "water.molden", field, heading=""))


@pytest.mark.parametrize(
    ("cell", "fault"),
    [
        ("1 0 0\n0 1 0", r"\[Cell\]: expected three lines"),
        ("1 0 0\n0 1 0\n1 1 0", r"\[Cell\]: expected three lines"),
        ("1 0 0\n0 1 0\n0 0 nan", r"\[Cell\]: expected three lines"),
        ("1e9 0 0\n0 1 0\n0 0 1", r"\[Cell\]: expected three lines"),
        ("a b c\n0 1 0\n0 0 1", r"\[Cell\]: expected three lines"),
        ("0.2 0 0\n0 0.2 0\n0 0 0.2", "cell of 0.008 bohr"),
    ],
)
def test_damaged_cells_are_refused(field, tmp_path: Path, cell: str, fault: str):
    path = write_molden(tmp_path / "water.molden", field, heading="")
    path.write_text(path.read_text().replace(" [Atoms]", f" [Cell] AU\n{cell}\n [Atoms]"))
    with pytest.raises(FileError, match=fault):
        orbitile.load(path)


def test_coefficients_of_no_function_are_refused(field, tmp_path: Path):
    path = write_molden(tmp_path / "water.molden", field, digits=6)
    path.write_text(path.read_text() + "  999 0.5\n")
    with pytest.raises(FileError, match="expected a coefficient of one of 23 functions"):
        orbitile.load(path)
