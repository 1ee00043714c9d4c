"""The gate that every wavefunction passes: what is in order passes as it is, everything else is named."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import sqrtm

from orbitile import Orbitals, Shell, Wavefunction, overlap_matrix
from orbitile.base.errors import ConventionError, FileError
from orbitile.gaussians.orthonormality import TOLERANCE, checked
from tests.conftest import random_wavefunction


def orthonormal(seed=1, momenta=(0, 1, 2, 3), n_atoms=2, unrestricted=False, **changes):
    """Random basis functions, orthonormalised symmetrically."""
    random = random_wavefunction(seed, momenta, n_atoms)
    coefficients = np.linalg.inv(sqrtm(overlap_matrix(random).toarray()).real)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=coefficients.shape))[0]
    n = len(coefficients)
    occupations = np.where(np.arange(n) < 4, 1.0 if unrestricted else 2.0, 0.0)
    alpha = Orbitals(coefficients, occupations)
    beta = Orbitals(coefficients @ turn, occupations) if unrestricted else None
    return replace(random, alpha=alpha, beta=beta, **changes)


def with_coefficients(wavefunction, change, spin="alpha"):
    orbitals = getattr(wavefunction, spin)
    coefficients = orbitals.coefficients.copy()
    change(coefficients)
    return replace(wavefunction, **{spin: replace(orbitals, coefficients=coefficients)})


def scale_column(column, factor):
    def change(coefficients):
        coefficients[:, column] *= factor

    return change


def tilt(column, towards, by):
    """Turn one orbital towards another by an overlap, its norm kept."""

    def change(coefficients):
        mixed = np.sqrt(1 - by**2) * coefficients[:, column] + by * coefficients[:, towards]
        coefficients[:, column] = mixed

    return change


@pytest.mark.parametrize("unrestricted", [False, True])
def test_what_is_in_order_passes_as_it_is(unrestricted):
    wavefunction = orthonormal(unrestricted=unrestricted)
    assert checked(wavefunction) is wavefunction


@pytest.mark.parametrize(("spin", "name"), [("alpha", "alpha orbital 4"), ("beta", "beta orbital 4")])
@pytest.mark.parametrize("sign", [1, -1])
def test_norms(spin, name, sign):
    wavefunction = orthonormal(unrestricted=True)
    within, beyond = (np.sqrt(1 + sign * factor * TOLERANCE) for factor in (0.9, 1.1))
    checked(with_coefficients(wavefunction, scale_column(3, within), spin))
    with pytest.raises(ConventionError, match=f"{name} has norm {1 + sign * 1.1e-4:.5f}"):
        checked(with_coefficients(wavefunction, scale_column(3, beyond), spin))


@pytest.mark.parametrize("sign", [1, -1])
def test_orbitals_that_overlap(sign):
    wavefunction = orthonormal()
    checked(with_coefficients(wavefunction, tilt(2, 5, sign * 0.9 * TOLERANCE)))
    with pytest.raises(ConventionError, match=r"orbitals [36] and [36] overlap by"):
        checked(with_coefficients(wavefunction, tilt(2, 5, sign * 1.1 * TOLERANCE)))


@pytest.mark.parametrize(("momentum", "label"), [(2, "pure d|Cartesian d"), (3, "pure f|Cartesian f"), (1, "p")])
def test_the_shells_to_blame_are_named(momentum, label):
    """Functions of one kind of shell in another normalisation: off by 7 per cent."""
    wavefunction = orthonormal(2, momenta=(0, 1, 2, 3), n_atoms=1)
    first = np.cumsum([0, *(shell.n_functions for shell in wavefunction.shells)])
    index = [shell.angular_momentum for shell in wavefunction.shells].index(momentum)

    def change(coefficients):
        coefficients[first[index] : first[index + 1]] *= 1.07

    with pytest.raises(ConventionError, match=f"of its ({label}) functions fits no known dialect"):
        checked(with_coefficients(wavefunction, change))


def test_the_file_is_named():
    wavefunction = with_coefficients(orthonormal(), scale_column(0, 2.0))
    with pytest.raises(ConventionError, match=r"^water\.molden: orbital 1 has norm 4\.0"):
        checked(replace(wavefunction, source="/folder/water.molden"))


def test_among_many_orbitals_norms_are_always_tested_and_overlaps_by_samples():
    """900 orbitals: every second one is compared with the others."""
    n = 900
    shells = tuple(Shell(atom, 0, False, [1.0], [1.0]) for atom in range(n))
    positions = np.arange(n)[:, None] * [20.0, 0.0, 0.0]
    wavefunction = Wavefunction([1] * n, positions, shells, Orbitals(np.eye(n), np.zeros(n)))
    assert checked(wavefunction) is wavefunction
    with pytest.raises(ConventionError, match=r"orbital 888 has norm 1\.21"):
        checked(with_coefficients(wavefunction, scale_column(887, 1.1)))
    with pytest.raises(ConventionError, match=r"orbitals (5|701) and (5|701) overlap by 0\.01"):
        checked(with_coefficients(wavefunction, tilt(4, 700, 0.01)))


@pytest.mark.parametrize("factor", [0.99, 1.01, -1.0])
def test_a_density_matrix_holds_the_electrons(factor):
    wavefunction = orthonormal()
    occupied = wavefunction.alpha.coefficients[:, :4]
    matrix = 2 * occupied @ occupied.T
    assert checked(replace(wavefunction, density_matrix=matrix)).n_electrons == 8
    with pytest.raises(FileError, match=rf"density matrix holds {8 * factor:.4f} electrons, expected 8"):
        checked(replace(wavefunction, density_matrix=factor * matrix))


@pytest.mark.parametrize(
    ("unrestricted", "spin", "occupation", "fits"),
    [
        (False, "alpha", 2.09, True),
        (False, "alpha", 2.11, False),
        (False, "alpha", -0.09, True),
        (False, "alpha", -0.11, False),
        (True, "alpha", 1.11, False),
        (True, "beta", 1.09, True),
        (True, "beta", 1.11, False),
    ],
)
def test_an_orbital_holds_no_more_than_it_can(unrestricted, spin, occupation, fits):
    wavefunction = orthonormal(unrestricted=unrestricted)
    orbitals = getattr(wavefunction, spin)
    occupations = orbitals.occupations.copy()
    occupations[6] = occupation
    changed = replace(wavefunction, **{spin: replace(orbitals, occupations=occupations)})
    if fits:
        assert checked(changed) is changed
        return
    label = "beta orbital" if spin == "beta" else "orbital"
    with pytest.raises(
        FileError, match=rf": {label} 7 holds {occupation} electrons, expected 0 to {2 - unrestricted}:"
    ):
        checked(changed)


def far_apart(distance, core_charges):
    """Two atoms without functions of their own, at a distance, beside one that has all."""
    wavefunction = orthonormal(3, (0, 1), n_atoms=1)
    positions = np.vstack([wavefunction.positions, [[9.0, 0, 0], [9.0, 0, distance]]])
    return Wavefunction(
        [1, 8, 8], positions, wavefunction.shells, wavefunction.alpha, core_charges=np.array([1.0, *core_charges])
    )


def test_nuclei_at_one_place():
    assert checked(far_apart(0.011, (8.0, 8.0)))
    assert checked(far_apart(0.009, (8.0, 0.0)))  # a ghost beside its atom
    with pytest.raises(FileError, match="atoms 2 and 3 are at one place"):
        checked(far_apart(0.009, (8.0, 8.0)))
