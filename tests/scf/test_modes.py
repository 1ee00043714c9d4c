"""Electrons along vibrations: against infrared intensities, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import FieldError, FileError, OrbitileError
from orbitile.fields.modes import change_of_density, coordinate_step
from orbitile.gaussians.expansion import integrals
from orbitile.model.geometry import Geometry
from orbitile.model.normal_modes import infrared_intensities
from orbitile.model.units import angstrom, wavenumber
from orbitile.model.vibrations import Vibrations
from orbitile.readers._modes import frames_beside, mode_file
from orbitile.scf.modes import FROZEN, electrons_along
from orbitile.scf.series import Means
from orbitile.scf.vibrations import vibrations_at

WATER = Geometry(
    np.array([8, 1, 1]), np.array([[0, 0, 0.1173], [0, 0.7572, -0.4692], [0, -0.7572, -0.4692]]) * angstrom
)


@pytest.fixture(scope="module", params=["gfn2", "hf"])
def water(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Vibrations of water with orbitals, in a series."""
    if request.param == "gfn2":
        pytest.importorskip("tblite", reason="tblite (extra xtb) is not installed")
    file = tmp_path_factory.mktemp("water") / "water.h5"
    calculation = ob.Calculation(request.param, *(["sto-3g"] if request.param == "hf" else []))
    vibrations_at(WATER, file, Means(calculation, precision="double"), report=lambda line: None)
    return file


def intensity(vibrations: Vibrations, mode: int, file: Path) -> tuple[float, float]:
    """Infrared intensity by the change of the density along a mode, and the integral of that."""
    of_file, before, after = frames_beside(file, mode)
    change = change_of_density(of_file, mode, before, after)
    total, first, _ = integrals(change.parts[0])
    step = coordinate_step(of_file, mode, before, after)
    dipole = before.core_charges @ (after.positions - before.positions) / step - first
    along = dipole * np.sqrt(abs(vibrations.wavenumbers[mode - 1]) * wavenumber)
    return float(infrared_intensities(along[None])[0]), total


@pytest.mark.slow
def test_the_dipole_of_the_change_is_what_the_infrared_intensity_is_the_square_of(water: Path) -> None:
    vibrations = ob.load_vibrations(water)
    for mode in range(1, vibrations.n_modes + 1):
        frames = electrons_along(water, mode)
        assert len(frames) == 24
        found, total = intensity(vibrations, mode, mode_file(water, mode))
        assert abs(total) < 1e-4
        assert found == pytest.approx(vibrations.infrared[mode - 1], rel=0.02, abs=0.02)
    field = ob.evaluate(ob.load(water), "mode:2:density", [[0, 0, 1.0]])
    assert field.shape == (1,)


def test_frozen_orbitals_move_with_the_atoms_and_stay_orthonormal(water: Path, tmp_path: Path) -> None:
    wavefunction = replace(ob.load(water), method="a method that nobody has", program="")
    vibrations = ob.load_vibrations(water)
    from orbitile.gaussians.overlap import orbital_norms
    from orbitile.scf.modes import Subject, solved_along

    subject = Subject(vibrations, wavefunction, None)
    (moved,) = solved_along(subject, 1, np.array([0.3]), None)
    assert FROZEN in moved.method
    norms = orbital_norms(moved.shells, moved.positions, moved.alpha.coefficients)
    assert np.abs(norms - 1).max() < 1e-10
    assert np.abs(moved.positions - wavefunction.positions).max() > 0.1


def test_another_series_of_that_name_is_not_taken_for_electrons_along_a_mode(water: Path, tmp_path: Path) -> None:
    wavefunction = ob.load(water)
    with pytest.raises(FieldError, match="electrons along this mode are not beside its file"):
        ob.evaluate(wavefunction, "mode:7:density", [[0, 0, 0]])
    electrons_along(water, 1, mode_file(water, 3))
    with pytest.raises(FileError, match="expected electrons along mode 3, got another series"):
        ob.evaluate(wavefunction, "mode:3:density", [[0, 0, 0]])
    other = replace(wavefunction, atomic_numbers=[9, 1, 1])
    electrons_along(water, 1)
    with pytest.raises(FieldError, match="has other atoms, or in other places"):
        ob.evaluate(other, "mode:1:density", [[0, 0, 0]])
    with pytest.raises(OrbitileError, match="a number from 1 to 3, got 4"):
        electrons_along(water, 4)
    with pytest.raises(FileError, match="that is the file of the vibrations"):
        electrons_along(water, 1, water)


def test_the_gap_of_water_changes_along_its_symmetric_modes_only(water: Path) -> None:
    vibrations = ob.load_vibrations(water)
    report = ob.analyse(vibrations, "vibronic")
    is_antisymmetric = np.abs(vibrations.displacements[:, 0, 1]) > 0.01  # oxygen moves along the line of hydrogens
    assert is_antisymmetric.sum() == 1
    gaps = np.abs(report.table("modes")["gap"])
    assert gaps[~is_antisymmetric].min() > 0.05 > 1e-3 > gaps[is_antisymmetric].max()
    assert all(closure.holds for closure in report.table("charges").closures)


def test_vibrations_are_turned_to_where_the_orbitals_are(water: Path, tmp_path: Path) -> None:
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    found = ob.load_vibrations(water)
    elsewhere = replace(
        found, positions=found.positions @ turn.T + 1.0, displacements=found.displacements @ turn.T, hessian=np.empty(0)
    )
    frames = electrons_along(elsewhere, 1, tmp_path / "a.h5")
    assert np.abs(frames[0].positions - electrons_along(water, 1)[0].positions).max() < 1e-6
    with pytest.raises(OrbitileError, match="expected orbitals at the geometry of the vibrations"):
        electrons_along(replace(found, positions=1.1 * found.positions), 1, tmp_path / "b.h5")
