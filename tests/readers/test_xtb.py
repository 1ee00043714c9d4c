"""Molden files of xtb and tblite, whose orbitals and core charges are those of the valence."""

from pathlib import Path

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis._quadrature import analytic_moments
from orbitile.fields.density import density_of
from orbitile.model.core_potentials import settled_charges
from orbitile.model.units import debye

FILES = Path(__file__).parent / "xtb"


@pytest.mark.parametrize(
    ("name", "homo", "lumo", "dipole"),
    [("water", -0.4475113, 0.0826850, 2.292), ("hocl", -0.4289798, -0.2536769, 1.573)],
)
def test_energies_and_dipole_are_those_that_xtb_prints(name, homo, lumo, dipole):
    w = ob.load(FILES / f"{name}.molden.input")
    energies, n = w.alpha.energies, round(w.n_electrons / 2)
    assert energies[n - 1 : n + 1] == pytest.approx([homo, lumo], abs=1e-7)
    assert w.charge == pytest.approx(0)
    found = np.linalg.norm(analytic_moments(w, density_of(w)).dipole) / debye
    assert found == pytest.approx(dipole, abs=1e-3)
    assert any("charges of the valence" in remark for remark in w.remarks)


@pytest.mark.parametrize(("electrons", "charge"), [(8, 0), (7, 1), (10, -2)])
def test_valence_is_no_matter_of_the_charge(electrons, charge):
    """The electrons of a dianion of the valence are as many as those of the whole neutral molecule."""
    numbers = np.array([8, 1, 1])
    charges, remarks = settled_charges(numbers, [numbers], electrons, coreless=True)
    assert charges.sum() - electrons == charge
    assert len(remarks) == 1
    stated, none = settled_charges(numbers, [np.array([6, 1, 1]), numbers], electrons, coreless=True)
    assert np.array_equal(stated, charges)
    assert not none
