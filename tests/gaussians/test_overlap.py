"""Our overlap against the libraries', and that its cost is linear."""

import numpy as np
import pytest
from iodata import load_one
from iodata.convert import HORTON2_CONVENTIONS, convert_conventions
from iodata.overlap import compute_overlap

from orbitile import Orbitals, Shell, Wavefunction, load, overlap_matrix
from orbitile.gaussians.overlap import inverse_root, orbital_norms, own_overlap, shell_overlap
from tests.conftest import SAMPLES, random_wavefunction
from tests.oracle import basis_functions


@pytest.mark.parametrize(
    "name",
    [
        "nh3_molden_pure.molden",
        "o2_cc_pvtz_cart.fchk",
        "he_spdfgh_virtual.fchk",
        "lif_fci.wfn",
        "water_dimer_ghost.fchk",
    ],
)
def test_against_iodata(name):
    data, wavefunction = load_one(str(SAMPLES / name)), load(SAMPLES / name)
    assert wavefunction.positions == pytest.approx(data.atcoords, rel=1e-8)  # it has another Angstrom
    expected = compute_overlap(data.obasis, wavefunction.positions)
    order, signs = convert_conventions(data.obasis, HORTON2_CONVENTIONS)
    expected = expected[order][:, order] * signs[:, None] * signs
    assert overlap_matrix(wavefunction).toarray() == pytest.approx(expected, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("momentum", [5, 8])
def test_high_angular_momenta_against_quadrature(momentum):
    """Smooth functions integrate to machine precision on a fine lattice."""
    wild = random_wavefunction(momentum, momenta=(0, momentum), n_atoms=2, n_primitives=2)
    shells = [Shell(s.atom, s.angular_momentum, s.pure, 0.3 + 0.2 * s.exponents, s.coefficients) for s in wild.shells]
    wavefunction = Wavefunction(wild.atomic_numbers, wild.positions, tuple(shells), wild.alpha)
    x = np.arange(-11, 11.01, 0.35)
    total = 0.0
    for plane in x:  # plane by plane: the whole lattice would be large
        points = np.stack(np.meshgrid([plane], x, x, indexing="ij"), axis=-1).reshape(-1, 3)
        values = basis_functions(wavefunction, points)
        total = total + values @ values.T * 0.35**3
    assert overlap_matrix(wavefunction).toarray() == pytest.approx(total, abs=1e-9 * np.abs(total).max())


def test_between_two_wavefunctions():
    """The overlap of a basis with a shifted copy is a block of that of both together."""
    one = random_wavefunction(2)
    other = Wavefunction(one.atomic_numbers, one.positions + np.array([0.3, -0.2, 0.5]), one.shells, one.alpha)
    n, atoms = one.n_basis, one.n_atoms
    moved = [Shell(s.atom + atoms, s.angular_momentum, s.pure, s.exponents, s.coefficients) for s in one.shells]
    both = Wavefunction(
        np.tile(one.atomic_numbers, 2),
        np.vstack([one.positions, other.positions]),
        (*one.shells, *moved),
        Orbitals(np.zeros((2 * n, 1)), [0.0]),
    )
    whole = overlap_matrix(both).toarray()
    assert whole == pytest.approx(whole.T, abs=1e-15)
    assert overlap_matrix(one, other).toarray() == pytest.approx(whole[:n, n:], abs=1e-13)


@pytest.mark.parametrize("n_atoms", [2, 600])
def test_what_is_done_to_a_matrix_stays_there(n_atoms):
    shells = tuple(Shell(atom, l, False, [0.4], [1.0]) for atom in range(n_atoms) for l in (0, 1))
    positions = np.arange(n_atoms)[:, None] * [2.5, 0.0, 0.0]
    one = Wavefunction([6] * n_atoms, positions, shells, Orbitals(np.zeros((4 * n_atoms, 1)), [0.0]))
    matrix = overlap_matrix(one)
    before = matrix.diagonal().copy()
    matrix.data *= 2
    assert np.array_equal(overlap_matrix(one).diagonal(), before)


def test_only_near_pairs_are_formed():
    """In a long chain the number of stored elements grows linearly with its length."""

    def stored(n_atoms: int) -> int:
        shells = tuple(Shell(atom, l, False, [0.4, 1.5], [0.5, 0.5]) for atom in range(n_atoms) for l in (0, 1))
        positions = np.arange(n_atoms)[:, None] * [2.5, 0.0, 0.0]
        n = 4 * n_atoms
        return overlap_matrix(Wavefunction([6] * n_atoms, positions, shells, Orbitals(np.zeros((n, 1)), [0.0]))).nnz

    assert stored(800) - stored(600) == stored(1000) - stored(800)
    assert stored(400) < 1.01 * 400 / 200 * stored(200) + 1e4


def test_of_a_large_compact_molecule_it_is_dense():
    """Nearly all of its functions overlap; those of a chain of as many atoms do not."""
    n_atoms = 520
    shells = tuple(Shell(atom, l, False, [0.4], [1.0]) for atom in range(n_atoms) for l in (0, 1))
    ball, chain = np.random.default_rng(0).normal(size=(n_atoms, 3)), np.arange(n_atoms)[:, None] * [2.5, 0.0, 0.0]
    assert isinstance(shell_overlap(shells, ball, shells, ball), np.ndarray)
    assert not isinstance(shell_overlap(shells, chain, shells, chain), np.ndarray)


@pytest.mark.parametrize(
    ("alpha", "beta", "distance"), [(0.5, 0.5, 1.4), (1e-3, 4e-3, 20.0), (1e8, 3e7, 1e-4), (1e6, 0.1, 0.3)]
)
def test_two_s_functions(alpha, beta, distance):
    """The closed formula, at exponents from diffuse to those of the innermost shells of heavy atoms."""
    shells = (Shell(0, 0, False, [alpha], [1.0]), Shell(1, 0, False, [beta], [1.0]))
    pair = Wavefunction([1, 1], [[0, 0, 0], [distance, 0, 0]], shells, Orbitals(np.zeros((2, 1)), [0.0]))
    total = alpha + beta
    expected = (2 * np.sqrt(alpha * beta) / total) ** 1.5 * np.exp(-alpha * beta / total * distance**2)
    assert overlap_matrix(pair).toarray() == pytest.approx(np.array([[1, expected], [expected, 1]]), rel=1e-12)


@pytest.mark.parametrize("n_atoms", [3, 520])
def test_of_a_wavefunction_with_itself(n_atoms):
    """Dense for small molecules and sparse for large ones; made once for a frame that is checked, then followed."""
    shells = tuple(Shell(atom, l, False, [0.4], [1.0]) for atom in range(n_atoms) for l in (0, 1))
    positions = np.arange(n_atoms)[:, None] * [2.5, 0.3, 0.0]
    coefficients = np.random.default_rng(0).normal(size=(4 * n_atoms, 2))
    wavefunction = Wavefunction([6] * n_atoms, positions, shells, Orbitals(coefficients, [2.0, 0.0]))
    own = own_overlap(wavefunction)
    assert isinstance(own, np.ndarray) == (n_atoms == 3)
    if n_atoms == 3:
        assert own_overlap(wavefunction) is own
        assert not own.flags.writeable
    matrix = own if n_atoms == 3 else own.toarray()
    assert np.array_equal(matrix, overlap_matrix(wavefunction).toarray())
    assert orbital_norms(shells, positions, coefficients) == pytest.approx(
        np.einsum("mi,mn,ni->i", coefficients, matrix, coefficients)
    )
    some = slice(0, 4)
    assert np.array_equal(shell_overlap(shells[some], positions, shells, positions)[:8, :8], matrix[:8, :8])


def test_inverse_root():
    vectors = np.random.default_rng(2).normal(size=(5, 9))
    gram = vectors @ vectors.T
    root = inverse_root(gram)
    assert root == pytest.approx(root.T)
    assert root @ gram @ root == pytest.approx(np.eye(5), abs=1e-10)
