"""Vibrations against PySCF's analytic Hessian, and what is kept of an interrupted calculation."""

from dataclasses import replace

import numpy as np
import pytest

from orbitile import Calculation, Geometry, compute_vibrations, load_trajectory, load_vibrations, with_isotopes
from orbitile.base.errors import Cancelled
from orbitile.model.normal_modes import standard_masses
from orbitile.model.units import angstrom
from orbitile.scf.level_of_theory import mean_field, molecule_of

WATER = Geometry(
    np.array([8, 1, 1]), np.array([[0.0, 0.0, 0.1192], [0.0, 0.7632, -0.477], [0.0, -0.7632, -0.477]]) * angstrom
)


@pytest.mark.slow
def test_hartree_fock_agrees_with_an_analytic_hessian(tmp_path):
    pytest.importorskip("pyscf", reason="PySCF (extra scf) is not installed")
    from pyscf.hessian import thermo

    calculation = Calculation("hf", "6-31g")
    series = tmp_path / "modes.h5"
    found = compute_vibrations(WATER, series, calculation)
    field = mean_field(molecule_of(WATER, calculation), calculation)
    hessian = field.run(conv_tol=1e-12).Hessian().kernel()
    expected = thermo.harmonic_analysis(field.mol, hessian, mass=standard_masses(WATER.atomic_numbers))
    assert found.wavenumbers == pytest.approx(expected["freq_wavenumber"], abs=0.1)
    assert found.reduced_masses == pytest.approx(expected["reduced_mass"], rel=1e-4)
    assert any("no stationary point" in remark for remark in found.remarks)
    kept = load_vibrations(series)
    assert np.array_equal(kept.hessian, found.hessian)
    assert kept.energy == found.energy == pytest.approx(field.e_tot)
    assert load_trajectory(series)[0].n_basis == 13
    heavy = {1: 2.014, 2: 2.014}
    masses = np.array([15.999, 2.014, 2.014])
    expected = thermo.harmonic_analysis(field.mol, hessian, mass=masses)["freq_wavenumber"]
    assert with_isotopes(kept, heavy).wavenumbers == pytest.approx(expected, abs=0.1)
    only_modes = replace(kept, hessian=np.empty(0), dipole_derivatives=np.empty(0))
    assert with_isotopes(only_modes, heavy).wavenumbers == pytest.approx(expected, abs=3.0)


def test_interrupted_it_goes_on_from_what_is_done(tmp_path, monkeypatch):
    pytest.importorskip("tblite", reason="tblite (extra xtb) is not installed")
    pytest.importorskip("zarr", reason="stores need zarr (extra stores), which needs Python 3.11")
    from orbitile.scf import vibrations

    monkeypatch.setattr(vibrations, "_OFTEN", 0.0)
    series, calculation = tmp_path / "modes.zarr", Calculation("gfn2")
    shares: list[float] = []
    with pytest.raises(Cancelled):
        compute_vibrations(
            WATER, series, calculation, progress=shares.append, cancelled=lambda: bool(shares) and shares[-1] > 0.5
        )
    with np.load(tmp_path / "modes.zarr.parts" / "derivatives.npz") as kept:
        assert 5 <= len(kept["rows"]) < 9
    shares.clear()
    found = compute_vibrations(WATER, series, calculation, progress=shares.append)
    assert min(shares) > 0.5
    assert not (tmp_path / "modes.zarr.parts").exists()
    assert np.array_equal(load_vibrations(series).displacements, found.displacements)
