"""The Coulomb matrix against PySCF's, on molecules with s to g functions; what screening leaves out; nuclei."""

import numpy as np
import pytest

from orbitile.evaluation.devices import device_session
from orbitile.integrals.coulomb import coulomb_values
from orbitile.integrals.hermite_list import point_charges
from orbitile.integrals.pairs import pairs_of, to_hermite, to_matrix
from orbitile.scf.engines.pyscf import functions_of_pyscf

from .references import basis_of, molecule, ours

scf = pytest.importorskip("pyscf.scf", reason="PySCF (extra scf) is not installed")

pytestmark = pytest.mark.slow_on("vulkan")

WATER = "O 0 0 0; H 0 0.8 0.6; H 0 -0.8 0.6"
MOLECULES = {
    "helium": ("He 1 2 3", "sto-3g"),
    "hydrogen, 100 bohr": ("H 0 0 0; H 0 0 52.9", "aug-cc-pvdz"),
    "water": (WATER, "6-31g**"),
    "water, Cartesian d": (WATER, "6-31g**", True),
    "fluoride": ("F 100 -200 300", "aug-cc-pvtz", False, -1),
    "krypton": ("Kr 0.1 0.2 0.3", "sto-3g"),
    "hydrogen iodide, f": ("I 0 0 0; H 0 0 1.6", "def2-tzvp"),
    "neon, f": ("Ne 0 0 0", "cc-pvtz"),
    "neon, Cartesian g": ("Ne 0 0 0", "cc-pvqz", True),
    "hydrogen fluoride, g": ("F 0 0 0; H 0 0 0.9", {"F": "cc-pvqz", "H": "sto-3g"}),
    "xenon, exponents of 6e6": ("Xe 0 0 0", "x2c-svpall"),
}
NEON_G = "neon, Cartesian g"
LARGE = ("hydrogen iodide, f", "hydrogen fluoride, g")
LEFT_TO_GPUS = {
    **dict.fromkeys(("hydrogen iodide, f", "fluoride"), pytest.mark.not_in_software),
    "hydrogen fluoride, g": pytest.mark.not_in_software("double"),
}
"""By Vulkan in software: neon has f functions in both precisions, hydrogen fluoride all up to g in single."""
LIMIT = {"single": 2e-6, "double": 1e-9}


def coulomb_matrix(pairs, density, target, tolerance=None) -> np.ndarray:
    """Matrix of the repulsion of a density."""
    coefficients = to_hermite(pairs, density, target)
    values = coulomb_values(pairs.list, pairs.list, coefficients, target, tolerance=tolerance, bra_bound=pairs.bound)
    return to_matrix(pairs, values, target)


def density_of(mol) -> np.ndarray:
    """A density matrix of the size of that of a molecule, of no symmetry: for PySCF, and the same for us."""
    theirs = np.asarray(scf.hf.init_guess_by_1e(mol))
    noise = np.random.default_rng(0).normal(size=theirs.shape) * 0.02
    theirs = theirs + noise + noise.T
    rows, factors = functions_of_pyscf(mol)
    return theirs, theirs[rows[:, None], rows] * np.outer(factors, factors)


@pytest.mark.slow_on("vulkan")
@pytest.mark.parametrize(
    "name",
    [
        *(
            pytest.param(
                name,
                marks=[
                    *([pytest.mark.slow] if name in LARGE else []),
                    *([LEFT_TO_GPUS[name]] if name in LEFT_TO_GPUS else []),
                ],
            )
            for name in MOLECULES
            if name != NEON_G
        ),
        pytest.param(NEON_G, marks=[pytest.mark.slow, pytest.mark.not_in_software]),  # which has hydrogen fluoride
    ],
)
def test_it_is_that_of_pyscf(name, device, precision):
    mol = molecule(*MOLECULES[name])
    theirs, density = density_of(mol)
    expected = ours(mol, scf.hf.get_jk(mol, theirs, with_k=False)[0])
    with device_session(device, precision) as target:
        matrix = coulomb_matrix(pairs_of(basis_of(mol)), density, target)
    assert np.abs(matrix - expected).max() < LIMIT[precision]
    energy = 0.5 * np.sum(density * expected)
    assert 0.5 * np.sum(density * matrix) == pytest.approx(energy, abs=1e-6 if precision == "single" else 1e-7)


def test_what_is_left_out_is_bounded():
    mol = molecule("O 0 0 0; H 0 0.8 0.6; H 0 -0.8 0.6; C 9 0 0; O 10.2 0 0", "6-31g")
    pairs = pairs_of(basis_of(mol))
    _, density = density_of(mol)
    with device_session("cpu", "double") as target:
        exact = coulomb_matrix(pairs, density, target, tolerance=0.0)
        for tolerance in (1e-2, 1e-4, 1e-6):
            matrix = coulomb_matrix(pairs, density, target, tolerance=tolerance)
            assert 0 < np.abs(matrix - exact).max() < 36 * tolerance  # pairs of six primitives each


def test_attraction_of_nuclei_and_their_repulsion():
    mol = molecule(WATER, "6-31g*")
    pairs = pairs_of(basis_of(mol))
    nuclei, charges = point_charges(mol.atom_charges(), mol.atom_coords())
    with device_session("cpu", "double") as target:
        values = coulomb_values(pairs.list, nuclei, charges, target)
        attraction = -to_matrix(pairs, values, target)
        potential = coulomb_values(nuclei, nuclei, charges, target)
    np.testing.assert_allclose(attraction, ours(mol, mol.intor("int1e_nuc")), atol=1e-10)
    own = 2 * charges**2 * np.pi**2.5 / 1e32 / np.sqrt(2e16)  # each charge with itself
    assert 0.5 * (charges @ potential - own.sum()) == pytest.approx(mol.energy_nuc(), abs=1e-5)


def test_no_kets_and_no_bras(device):
    mol = molecule("He 0 0 0", "sto-3g")
    gaussians = pairs_of(basis_of(mol)).list
    nothing, charges = point_charges(np.zeros(0), np.zeros((0, 3)))
    with device_session(device, "single") as target:
        assert not coulomb_values(gaussians, nothing, charges, target).any()
        assert coulomb_values(nothing, gaussians, np.ones(gaussians.n_coefficients), target).shape == (0,)
        assert not coulomb_values(gaussians, gaussians, np.zeros(gaussians.n_coefficients), target).any()
