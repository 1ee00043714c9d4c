"""Free atoms of the table: electrons, positivity, cores."""

import numpy as np
import pytest
from scipy.integrate import trapezoid

from orbitile.base.errors import OrbitileError
from orbitile.model.core_potentials import usual_cores
from orbitile.model.elements import SYMBOLS
from orbitile.model.free_atoms import free_atom

LAST = 103
RADII = np.concatenate([np.geomspace(1e-5, 4, 400), np.arange(4.02, 40, 0.05)])


@pytest.mark.parametrize("number", range(1, LAST + 1), ids=lambda number: SYMBOLS[number])
def test_electrons_and_density_are_positive(number):
    for core in (0, *(core for core in usual_cores(number) if core < number)):
        atom = free_atom(number, core)
        assert atom.electrons.sum() == pytest.approx(number - core, abs=1e-6)
        density = atom.density(RADII)
        assert density.min() > -1e-11
        assert 4 * np.pi * trapezoid(density * RADII**2, RADII) == pytest.approx(number - core, abs=0.02 * number)


def test_hydrogen_is_that_of_pbe():
    # exact hydrogen has <r^2> = 3 and e^(-2r) / pi; PBE's is a little wider (PySCF, spin-polarised: 3.23797)
    atom = free_atom(1)
    second = float((1.5 / atom.exponents) @ atom.electrons)
    assert second == pytest.approx(3.23797, abs=2e-3)
    assert atom.density(np.array([1.0]))[0] == pytest.approx(np.exp(-2) / np.pi, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize(("symbol", "spin"), [("He", 0), ("N", 3), ("Ne", 0), ("Mn", 5)])
def test_densities_are_those_of_pyscf(symbol, spin):
    gto, dft = pytest.importorskip("pyscf.gto"), pytest.importorskip("pyscf.dft")
    shells = [(0, 34, 0.012, 1.8), (1, 24, 0.02, 1.8), (2, 16, 0.03, 1.8)]
    shells = shells[: {"He": 1, "N": 2, "Ne": 2}.get(symbol, 3)]
    molecule = gto.M(atom=symbol, basis={symbol: gto.expand_etbs(shells)}, spin=spin, verbose=0)
    calculation = dft.UKS(molecule).sfx2c1e()
    calculation.xc, calculation.grids.level = "pbe", 2
    calculation.kernel()
    radii = np.array([0.3, 0.7, 1.0, 2.0, 3.0, 4.0])
    values = dft.numint.eval_ao(molecule, radii[:, None] * np.array([[0.48, 0.6, 0.64]]))
    expected = np.einsum("gi,ij,gj->g", values, calculation.make_rdm1().sum(axis=0), values)
    assert np.allclose(free_atom(SYMBOLS.index(symbol)).density(radii), expected, rtol=4e-3)


def test_what_a_core_leaves_is_the_valence_of_the_whole_atom():
    radii = np.linspace(2.5, 8, 50)
    whole, valence = free_atom(30).density(radii), free_atom(30, 10).density(radii)
    assert np.allclose(valence, whole, rtol=2e-3)


def test_cores_that_nobody_uses_are_between_those_in_use():
    between = free_atom(30, 14)
    assert between.electrons.sum() == pytest.approx(16)
    assert free_atom(6, 5).electrons.sum() == pytest.approx(1)


@pytest.mark.parametrize(("number", "core"), [(0, 0), (LAST + 1, 0), (6, 6), (6, -1), (1, float("nan"))])
def test_what_is_no_atom_is_refused(number, core):
    with pytest.raises(OrbitileError, match="expected"):
        free_atom(number, core)
