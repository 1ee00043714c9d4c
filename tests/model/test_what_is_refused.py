"""Numbers that are none, and lengths of no molecule: refused when the object is made, whatever reads it."""

from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.gaussians.orthonormality import checked
from orbitile.model.geometry import Geometry
from orbitile.model.wavefunction import Excitation
from tests.conftest import random_wavefunction

BAD = [np.nan, np.inf, -np.inf]


def spoilt(array, value):
    array = np.array(array, float)
    array.flat[-1] = value
    return array


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize(
    "make",
    [
        lambda w, bad: replace(w, positions=spoilt(w.positions, bad)),
        lambda w, bad: replace(w, core_charges=spoilt(w.core_charges, bad)),
        lambda w, bad: replace(w, atomic_numbers=spoilt(w.atomic_numbers, bad)),
        lambda w, bad: replace(w, geometries=np.stack([w.positions, spoilt(w.positions, bad)])),
        lambda w, bad: replace(w, density_matrix=spoilt(np.eye(w.n_basis), bad)),
        lambda w, bad: replace(w, spin_density_matrix=spoilt(np.eye(w.n_basis), bad)),
        lambda w, bad: replace(w.alpha, coefficients=spoilt(w.alpha.coefficients, bad)),
        lambda w, bad: replace(w.alpha, occupations=spoilt(w.alpha.occupations, bad)),
        lambda w, bad: replace(w.shells[0], exponents=spoilt(w.shells[0].exponents, bad)),
        lambda w, bad: replace(w.shells[0], coefficients=spoilt(w.shells[0].coefficients, bad)),
        lambda w, bad: Excitation([0], [1], [0], [bad], 0.1),
        lambda w, bad: Excitation([0], [1], [0], [1.0], bad),
        lambda w, bad: ob.Lattice(spoilt(np.zeros(3), bad), np.eye(3), (2, 2, 2)),
        lambda w, bad: ob.Lattice(np.zeros(3), spoilt(np.eye(3), bad), (2, 2, 2)),
        lambda w, bad: Geometry(np.array([1]), spoilt(np.zeros((1, 3)), bad)),
    ],
)
def test_numbers_that_are_none(make, bad):
    with pytest.raises(ob.OrbitileError):
        make(random_wavefunction(1), bad)


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_an_energy_may_be_unknown_but_not_infinite(bad):
    orbitals = random_wavefunction(1).alpha
    assert np.isnan(replace(orbitals, energies=np.full(2, np.nan)).energies).all()
    with pytest.raises(ob.OrbitileError, match="energies"):
        replace(orbitals, energies=np.array([0.0, bad]))


@pytest.mark.parametrize(
    "make",
    [
        lambda w: replace(w, atomic_numbers=np.full(w.n_atoms, 119)),
        lambda w: replace(w, atomic_numbers=np.full(w.n_atoms, -1)),
        lambda w: replace(w, atomic_numbers=np.full(w.n_atoms, 2**63, dtype=object)),
        lambda w: replace(w, positions=w.positions * 1e200),
        lambda w: replace(w, alpha=replace(w.alpha, coefficients=np.empty((w.n_basis, 0)), occupations=[])),
        lambda w: replace(w.shells[0], exponents=w.shells[0].exponents * 1e-300),
        lambda w: replace(w.shells[0], exponents=w.shells[0].exponents * 1e300),
        lambda w: Geometry(np.array([119]), np.zeros((1, 3))),
        lambda w: Geometry(np.array([1]), np.full((1, 3), 1e200)),
        lambda w: ob.Lattice(np.zeros(3), np.eye(3) * 1e200, (2, 2, 2)),
        lambda w: ob.Lattice(np.zeros(3), np.eye(3) * 1e-200, (2, 2, 2)),
        lambda w: ob.Lattice(np.full(3, 1e300), np.eye(3), (2, 2, 2)),
    ],
)
def test_numbers_out_of_range(make):
    with pytest.raises(ob.OrbitileError, match=r"expected|needs"):
        make(random_wavefunction(1))


@pytest.mark.parametrize("size", [1e160, 1e200, 1e308])
def test_orbitals_whose_norm_is_beyond_all_numbers_are_not_normalised(size):
    """A norm that is NaN is off by no number, and off nevertheless."""
    wavefunction = random_wavefunction(1)
    coefficients = np.array(wavefunction.alpha.coefficients)
    coefficients[:2] = [[size], [-size]]
    with pytest.raises(ob.OrbitileError, match=r"norm (nan|inf)"):
        checked(replace(wavefunction, alpha=replace(wavefunction.alpha, coefficients=coefficients)))


def test_messages_are_of_one_line_whatever_a_file_is_called(tmp_path):
    with pytest.raises(ob.OrbitileError, match=r"two\\nlines\\x1b\[2J\.molden") as caught:
        ob.load(tmp_path / "two\nlines\x1b[2J.molden")
    assert str(caught.value).isprintable()
