"""Apparent charges of a solvent: those of PySCF, by atoms, and what is drawn of them."""

from __future__ import annotations

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import OrbitileError
from orbitile.model.units import angstrom
from tests.molecules import solved, wavefunction_of

pcm = pytest.importorskip("pyscf.solvent.pcm", reason="PySCF (extra scf) is not installed")


def test_charges_of_water_are_those_of_pyscf():
    field = solved("O 0 0 0.117; H 0 0.757 -0.469; H 0 -0.757 -0.469", "6-31g*")
    wavefunction = wavefunction_of(field.mol, field.mo_coeff, field.mo_occ, field.mo_energy)
    report = ob.cavity(wavefunction, solvent="7.5", device="cpu")
    reference = pcm.PCM(field.mol)
    reference.eps = 7.5
    energy, _ = reference._get_vind(field.make_rdm1())
    charges = reference._intermediates["q"]
    by_atom = [charges[first:last].sum() for first, last in reference.surface["gslice_by_atom"]]
    assert report.table("solvation")["value"][0] == pytest.approx(energy, abs=1e-9)
    np.testing.assert_allclose(report.table("atoms")["charge"], by_atom, atol=1e-8)
    drawn = np.concatenate([points.positions for points in report.drawings])
    assert 0.8 * len(charges) < len(drawn) < len(charges)
    most = max(report.drawings, key=lambda points: int(points.name[1:]))
    oxygen = wavefunction.positions[0]
    np.testing.assert_allclose(np.linalg.norm(most.positions - oxygen, axis=1), 1.2 * 1.52 * angstrom)
    with pytest.raises(OrbitileError, match="did you mean"):
        ob.cavity(wavefunction, solvent="watr")
