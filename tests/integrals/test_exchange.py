"""Exchange matrices and their derivatives against those of PySCF, whose integrals are analytic."""

import numpy as np
import pytest

from orbitile.evaluation.devices import device_session
from orbitile.integrals.exchange import exchange_of
from orbitile.integrals.exchange_fitting import fitted_exchange_of
from orbitile.integrals.functionals import ExactExchange
from orbitile.integrals.grids import exchange_grid_of
from orbitile.integrals.one_electron import overlap
from orbitile.integrals.pairs import pairs_of
from orbitile.scf.engines.pyscf import functions_of_pyscf

from .references import basis_of, molecule, ours

scf = pytest.importorskip("pyscf.scf", reason="PySCF (extra scf) is not installed")

pytestmark = pytest.mark.slow_on("vulkan")

WATER = "O 0 0 0; H 0 0.8 0.6; H 0 -0.8 0.6"
FULL, ATTENUATED = ExactExchange(1.0), ExactExchange(0.19, 0.46, 0.33)
MOLECULES = {
    "hydrogen atom": ("H 0 0 0", "6-31g", False, 0, 1),
    "water": (WATER, "6-31g*"),
    "water, Cartesian d": (WATER, "6-31g*", True),
    "fluoride, diffuse functions": ("F 100 -200 300", "aug-cc-pvdz", False, -1),
    "hydrogen chloride, f": ("Cl 0 0 0; H 0 0 1.3", "def2-tzvp"),
    "hydrogen iodide": ("I 0 0 0; H 0 0 1.6", "sto-3g"),
}
LARGE = ("hydrogen chloride, f", "hydrogen iodide")
"""Those of g functions are among the molecules of `benchmarks/methods.py`: their kernels compile for a minute."""
ELEMENT = {"coarse": 5e-3, "fine": 2e-5, "finest": 3e-6}
ENERGY = {"coarse": 2e-2, "fine": 2e-6}


def densities_of(mol) -> tuple[np.ndarray, np.ndarray]:
    """Density matrices of both spins, as a field begins: for PySCF, and the same for us."""
    field = scf.UHF(mol)
    field.max_cycle = 3
    field.kernel()
    found = field.make_rdm1()
    rows, factors = functions_of_pyscf(mol)
    return found, found[:, rows[:, None], rows] * np.outer(factors, factors)


def exchange_in(mol, quality, target):
    basis = basis_of(mol)
    grid = exchange_grid_of(mol.atom_charges(), basis.positions, target, quality)
    return exchange_of(basis, grid, overlap(pairs_of(basis), target), target)


def of_pyscf(mol, densities, exact) -> np.ndarray:
    result = exact.full * scf.hf.get_jk(mol, densities, with_j=False)[1]
    if exact.omega:
        result = result + exact.long_range * scf.hf.get_jk(mol, densities, with_j=False, omega=exact.omega)[1]
    return np.array([ours(mol, one) for one in result])


@pytest.mark.parametrize(
    ("name", "exact"),
    [
        *(
            pytest.param(
                name,
                exact,
                id=f"{name}-{kind}",
                marks=[
                    *([pytest.mark.not_in_software] if (name, kind) == ("water", "attenuated") else []),
                    *(
                        [pytest.mark.slow]
                        if name == "fluoride, diffuse functions" or (name, kind) == ("water", "attenuated")
                        else []
                    ),
                ],
            )
            for name in MOLECULES
            if name not in LARGE
            for exact, kind in ((FULL, "full"), (ATTENUATED, "attenuated"))
        ),
        *(pytest.param(name, FULL, id=name, marks=[pytest.mark.slow, pytest.mark.not_in_software]) for name in LARGE),
    ],
)
def test_matrices_are_those_of_pyscf(name, exact, device):
    mol = molecule(*MOLECULES[name])
    theirs, densities = densities_of(mol)
    expected = of_pyscf(mol, theirs, exact)
    for quality, precision in (("coarse", "single"), ("fine", "double")):
        if precision == "double" and device == "vulkan":
            continue
        with device_session(device, precision) as target:
            found = exchange_in(mol, quality, target).matrices(densities, exact)
        assert np.abs(found - expected).max() < ELEMENT[quality]
        assert 0.5 * np.vdot(densities, found - expected) == pytest.approx(0, abs=ENERGY[quality])


@pytest.mark.slow
def test_more_digits_on_request():
    mol = molecule("C 0 0 0; O 0 0 1.2; H 0.94 0 -0.55; H -0.94 0 -0.55", "def2-svp")
    theirs, densities = densities_of(mol)
    with device_session("cpu", "double") as target:
        found = exchange_in(mol, "finest", target).matrices(densities, FULL)
    expected = of_pyscf(mol, theirs, FULL)
    assert np.abs(found - expected).max() < ELEMENT["finest"]
    assert 0.5 * np.vdot(densities, found - expected) == pytest.approx(0, abs=1e-7)


@pytest.mark.not_in_software
def test_results_are_the_same_bit_by_bit_and_add_up(device):
    mol = molecule(WATER, "sto-3g")
    _, densities = densities_of(mol)
    with device_session(device, "single") as target:
        exchange = exchange_in(mol, "coarse", target)
        both = exchange.matrices(densities, FULL)
        again = exchange.matrices(densities, FULL)
        each = [exchange.matrices(density[None], FULL)[0] for density in densities]
    assert np.array_equal(both, again)
    assert np.abs(both - each).max() < 1e-6


@pytest.mark.parametrize("exact", [FULL, ATTENUATED], ids=["full", "attenuated"])
@pytest.mark.parametrize("name", ["water", "fluoride, diffuse functions", "hydrogen chloride, f"])
def test_of_fitted_products_the_error_of_a_change_is_a_small_share(name, exact):
    mol = molecule(*MOLECULES[name])
    theirs, densities = densities_of(mol)
    with device_session("cpu", "single") as target:
        fitted = fitted_exchange_of(pairs_of(basis_of(mol)), exact, target)
        found = fitted.matrices(densities)
        of_change = fitted.matrices(densities - [[[0.5]], [[1.0]]] * densities)
    expected = of_pyscf(mol, theirs, exact)
    assert np.abs(found - expected).max() < ELEMENT["coarse"]
    assert np.vdot(densities, found - expected) == pytest.approx(0, abs=2e-4 * np.vdot(densities, expected))
    assert of_change == pytest.approx(found * [[[0.5]], [[0.0]]], abs=1e-5)


@pytest.mark.parametrize("exact", [FULL, ATTENUATED], ids=["full", "attenuated"])
def test_derivatives_are_those_of_pyscf(exact, device):
    mol = molecule(WATER, "6-31g*")
    theirs, densities = densities_of(mol)
    from pyscf.grad import rhf

    slopes = exact.full * np.array([rhf.get_jk(mol, one)[1] for one in theirs])
    if exact.omega:
        with mol.with_range_coulomb(exact.omega):
            slopes = slopes + exact.long_range * np.array([rhf.get_jk(mol, one)[1] for one in theirs])
    expected = [
        np.einsum("sxij,sij->x", slopes[:, :, first:last], theirs[:, first:last])
        for _, _, first, last in mol.aoslice_by_atom()
    ]
    with device_session(device, "single") as target:
        found = exchange_in(mol, "fine", target).gradient(densities, exact)
    assert np.abs(found - expected).max() < 2e-5
