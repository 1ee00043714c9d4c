"""Densities at the points of a grid, exchange and correlation: against sums written out, and against PySCF."""

from dataclasses import replace

import numpy as np
import pytest

from orbitile.base.errors import DeviceError
from orbitile.evaluation.devices import device_session
from orbitile.integrals.functionals import functional
from orbitile.integrals.grids import Grid
from orbitile.integrals.pairs import pairs_of, to_hermite, to_matrix
from orbitile.integrals.quadrature import KineticEnergyDensity, exchange_correlation, quadrature_of
from orbitile.scf.engines.pyscf import functions_of_pyscf
from taichi_kernels.devices import probe
from taichi_kernels.hermite_tables import powers_of
from taichi_kernels.target import Target
from tests.conftest import random_wavefunction
from tests.oracle import basis_functions

from .references import basis_of, molecule, ours, random_matrix

dft = pytest.importorskip("pyscf.dft", reason="PySCF (extra scf) is not installed")
scf = pytest.importorskip("pyscf.scf", reason="PySCF (extra scf) is not installed")

pytestmark = pytest.mark.slow_on("vulkan")

MOLECULES = {
    "helium": ("He 1 2 3", "sto-3g"),
    "lithium hydride": ("Li 0 0 0; H 0 0 1.6", "sto-3g"),
    "water, Cartesian d": ("O 0 0 0; H 0 0.8 0.6; H 0 -0.8 0.6", "6-31g**", True),
    "hydrogen, 100 bohr": ("H 0 0 0; H 0 0 52.9", "aug-cc-pvdz"),
    "fluoride, far away": ("F 100 -200 300", "aug-cc-pvtz", False, -1),
    "krypton": ("Kr 0.1 0.2 0.3", "sto-3g"),
    "hydrogen chloride, f": ("Cl 0 0 0; H 0 0 1.27", "def2-tzvp"),
    "neon, Cartesian g": ("Ne 0 0 0", "cc-pvqz", True),
    "hydrogen fluoride, g": ("F 0 0 0; H 0 0 0.9", {"F": "cc-pvqz", "H": "sto-3g"}),
    "xenon, exponents of 6e6": ("Xe 0 0 0", "x2c-svpall"),
    "formamide, diffuse": ("C 0 0 0; O 0 0 1.2; N 0 1.2 -0.7; H 0 2.1 -0.2; H 0 1.2 -1.7; H 0 -1 -0.6", "6-31++g**"),
}
QUICK = ("helium", "water, Cartesian d")
WITHOUT_GRADIENT = (*QUICK, "hydrogen fluoride, g")
"""What is computed by a local functional too, whose sums are those of others without the gradient."""
LEFT_TO_GPUS = (
    *("hydrogen chloride, f", "neon, Cartesian g", "formamide, diffuse", "krypton"),
    *("hydrogen, 100 bohr", "fluoride, far away"),
)
"""By Vulkan, whose kernels of this kind hydrogen fluoride and xenon try in software."""


def cloud(n: int = 200, seed: int = 0) -> Grid:
    """Points and weights that are no grid of anything; n is no multiple of what kernels take together."""
    rng = np.random.default_rng(seed)
    return Grid(rng.normal(size=(n, 3)) * 1.5, rng.uniform(0.01, 0.1, n), np.zeros(n, np.int32))


SLOW = pytest.mark.slow


# products of degrees up to 2, which are written out, as those of d, f and g functions of the molecules below; up to 10,
# which are not
@pytest.fixture(params=[(0, 1), pytest.param((0, 5), marks=SLOW)], ids=["sp", "loops"])
def wavefunction(request, device):
    if request.param[-1] > 4 and device == "vulkan":
        pytest.skip("refused by a Vulkan driver in software, which is tested below")
    return random_wavefunction(5, request.param, n_atoms=2, n_primitives=2)


def values_of(quadrature, given, raised=False) -> np.ndarray:
    """What the list makes of values at the points, shape (1 or 4, n_points)."""
    columns = quadrature.sums.columns("values", 1, len(given))
    quadrature.sums.from_numpy(columns, np.asarray(given)[None])
    return quadrature.values_of(columns, 0, raised)


@pytest.mark.vulkan
def test_functions_beyond_g_are_refused_by_vulkan_in_software():
    if not probe("vulkan").software:
        pytest.skip("the Vulkan driver here is not one in software")
    with device_session("vulkan", "single") as target, pytest.raises(DeviceError, match="use the device cpu"):
        quadrature_of(pairs_of(random_wavefunction(5, (0, 5), n_atoms=1)), cloud(), target)


def test_density_and_gradient(wavefunction, device, precision):
    density = random_matrix(wavefunction.n_basis)
    with device_session(device, precision) as target:
        pairs = pairs_of(wavefunction)
        quadrature = quadrature_of(pairs, cloud(), target)
        hermite = to_hermite(pairs, density, target)
        columns = quadrature.density(hermite, gradient=True)
        alone = quadrature.density(hermite, gradient=False)

    def rho(points):
        values = basis_functions(wavefunction, points)
        return np.einsum("in,in->n", density @ values, values)

    points, step = quadrature.points, 1e-4
    moved = [(rho(points + step * e) - rho(points - step * e)) / (2 * step) for e in np.eye(3)]
    expected = np.array([rho(points), *moved])
    limit = {"single": 2e-5, "double": 1e-7}[precision] * np.abs(expected).max()
    assert np.abs(columns - expected).max() < limit
    assert np.abs(alone[0] - expected[0]).max() < {"single": 2e-6, "double": 1e-10}[precision] * np.abs(expected).max()


def test_values_are_the_adjoint(wavefunction, device, precision):
    rng = np.random.default_rng(1)
    with device_session(device, precision) as target:
        pairs = pairs_of(wavefunction)
        quadrature = quadrature_of(pairs, cloud(), target)
        hermite = to_hermite(pairs, random_matrix(wavefunction.n_basis), target)
        for n in (1, 4):
            given = rng.normal(size=(n, len(quadrature.points))) * quadrature.weights
            products = quadrature.density(hermite, gradient=n == 4) * given
            values = values_of(quadrature, given)
            limit = {"single": 1e-6, "double": 1e-13}[precision] * np.abs(products).sum()
            assert values @ hermite == pytest.approx(products.sum(), abs=limit)


def test_kinetic_energy_density_and_its_adjoint(wavefunction, device, precision):
    rng = np.random.default_rng(2)
    density = random_matrix(wavefunction.n_basis)
    with device_session(device, precision) as target:
        kinetic = KineticEnergyDensity.of(wavefunction, cloud(), target)
        quadrature = kinetic.quadrature
        tau = quadrature.sums.to_numpy(kinetic.densities([density]))[0]
        given = rng.normal(size=tau.shape) * quadrature.weights
        matrix = kinetic.matrix(values_of(quadrature, given))
    step = 1e-4
    ends = [basis_functions(wavefunction, quadrature.points + sign * step * e) for e in np.eye(3) for sign in (1, -1)]
    slopes = (np.array(ends[::2]) - np.array(ends[1::2])) / (2 * step)
    expected = 0.5 * np.einsum("xin,ij,xjn->n", slopes, density, slopes)
    assert np.abs(tau[0] - expected).max() < {"single": 2e-5, "double": 1e-7}[precision] * np.abs(expected).max()
    products = tau * given
    limit = {"single": 1e-6, "double": 1e-12}[precision] * np.abs(products).sum()
    assert np.vdot(matrix, density) == pytest.approx(products.sum(), abs=limit)


@pytest.mark.parametrize("n_spins", [1, 2])
def test_exact_densities_have_terms_in_double_precision(n_spins):
    """With the lists of single precision, which leave out no more than is stated."""
    wavefunction = random_wavefunction(6, (0, 1, 2), n_atoms=2)
    densities = [random_matrix(wavefunction.n_basis, seed) for seed in range(n_spins)]
    with device_session("cpu", "single") as target:
        pairs = pairs_of(wavefunction)
        quadrature = quadrature_of(pairs, cloud(), target)
        double = quadrature_of(pairs, cloud(), Target(target.device, "double"))
        hermite = [to_hermite(pairs, density, target) for density in densities]
        expected = double.densities(hermite, gradient=True)
        found = [quadrature.densities(hermite, gradient=True, exact=exact).copy() for exact in (False, True)]
    scale = np.abs(expected).max()
    errors = [np.abs(columns - expected) for columns in found]
    assert errors[1].max() < 1e-9 * scale
    assert 1e-9 * scale < errors[0].max() < 2e-5 * scale


def test_values_of_the_raised_list_are_derivatives():
    wavefunction, step = random_wavefunction(6, (0, 1, 2), n_atoms=2), 1e-4
    grid = cloud()
    with device_session("cpu", "double") as target:
        pairs = pairs_of(wavefunction)

        def values(shift, raised):
            quadrature = quadrature_of(pairs, Grid(grid.points - shift, grid.weights, grid.atom), target)
            columns = np.vstack([np.cos(n + (quadrature.points + shift) @ np.arange(1, 4)) for n in range(4)])
            return values_of(quadrature, columns * quadrature.weights, raised=raised)

        raised, plain = values(np.zeros(3), True), values(np.zeros(3), False)
        slopes = [(values(step * e, False) - values(-step * e, False)) / (2 * step) for e in np.eye(3)]
    for block, above in zip(pairs.list.blocks, pairs.list.raised.blocks, strict=True):
        place = {order: n for n, order in enumerate(above.orders)}
        for n, order in enumerate(block.orders):
            np.testing.assert_allclose(above.of(raised)[:, place[order]], block.of(plain)[:, n], atol=1e-11)
            for axis, slope in enumerate(slopes):
                once = tuple(power + (m == axis) for m, power in enumerate(order))
                np.testing.assert_allclose(
                    above.of(raised)[:, place[once]], block.of(slope)[:, n], rtol=1e-5, atol=1e-5
                )


def test_the_same_bits_again(device):
    wavefunction = random_wavefunction(7, (0, 1), n_atoms=2)
    with device_session(device, "single") as target:
        pairs = pairs_of(wavefunction)
        hermite = to_hermite(pairs, random_matrix(wavefunction.n_basis), target)
        first, second = (quadrature_of(pairs, cloud(), target) for _ in range(2))
        for quadrature in (first, second):
            density = quadrature.density(hermite, gradient=True)
            values = values_of(quadrature, density * quadrature.weights)
            assert np.array_equal(density, first.density(hermite, gradient=True))
            assert np.array_equal(values, values_of(first, density * quadrature.weights))


def test_a_list_that_reaches_no_point():
    wavefunction = random_wavefunction(8, (0,), n_atoms=1)
    far = Grid(np.full((3, 3), 1e3), np.ones(3), np.zeros(3, np.int32))
    with device_session("cpu", "single") as target:
        quadrature = quadrature_of(pairs_of(wavefunction), far, target)
        hermite = np.ones(quadrature.pairs.list.n_coefficients)
        assert not quadrature.density(hermite, gradient=True).any()
        assert not values_of(quadrature, np.ones((1, len(quadrature.points)))).any()
        found = exchange_correlation(quadrature, [hermite], functional("pbe"))
    assert found.energy == 0
    assert found.electrons == (0.0,)
    assert not found.values[0].any()


@pytest.mark.slow_on("vulkan")
@pytest.mark.parametrize(
    ("name", "xc"),
    [
        *(
            pytest.param(
                name,
                xc,
                marks=[
                    *([] if name in QUICK else [SLOW]),
                    *([pytest.mark.not_in_software] if name in LEFT_TO_GPUS else []),
                    # water has those of the others without the gradient
                    *([pytest.mark.not_in_software("double")] if name not in QUICK and xc == "lda,vwn" else []),
                ],
            )
            for name in MOLECULES
            for xc in ("lda,vwn", "pbe")[name not in WITHOUT_GRADIENT :]
            if name != "lithium hydride"
        ),
        # of a single orbital, as in helium, libxc's potential depends on how tau is rounded
        ("lithium hydride", "tpss"),
        pytest.param("water, Cartesian d", "tpss", marks=[SLOW, pytest.mark.not_in_software("double")]),
        pytest.param("hydrogen chloride, f", "tpss", marks=[SLOW, pytest.mark.not_in_software]),
        pytest.param("formamide, diffuse", "tpss", marks=[SLOW, pytest.mark.not_in_software]),
    ],
)
def test_it_is_that_of_pyscf(name, xc, device, precision):
    mol = molecule(*MOLECULES[name])
    theirs = np.asarray(scf.hf.init_guess_by_atom(mol))
    spins = np.array([0.6 * theirs, 0.4 * theirs])
    rows, factors = functions_of_pyscf(mol)
    grids = dft.gen_grid.Grids(mol).build()
    grid = Grid(np.array(grids.coords), np.array(grids.weights), np.zeros(len(grids.weights), np.int32))
    numint = dft.numint.NumInt()
    with device_session(device, precision) as target:
        pairs = pairs_of(basis_of(mol))
        quadrature = quadrature_of(pairs, grid, target)
        kinetic = KineticEnergyDensity.of(basis_of(mol), grid, target) if functional(xc).needs_tau else None
        for densities, reference in (
            (theirs[None], numint.nr_rks(mol, grids, xc, theirs)),
            (spins, numint.nr_uks(mol, grids, xc, spins)),
        ):
            electrons, energy, matrices = reference
            matrices = ours(mol, np.asarray(matrices).reshape(densities.shape))
            own = densities[:, rows[:, None], rows] * np.outer(factors, factors)
            hermite = [to_hermite(pairs, one, target) for one in own]
            found = exchange_correlation(quadrature, hermite, functional(xc), kinetic=kinetic and (kinetic, own))
            limit = {"single": 1e-6, "double": 1e-7}[precision]
            assert found.energy == pytest.approx(energy, abs=max(limit, 3e-8 * abs(energy) * (precision == "single")))
            assert sum(found.electrons) == pytest.approx(np.sum(electrons), abs=10 * limit)
            own_matrices = np.array([to_matrix(pairs, values, target) for values in found.values])
            if kinetic:
                own_matrices += [kinetic.matrix(values) for values in found.kinetic_values]
            for own_matrix, matrix in zip(own_matrices, matrices, strict=True):
                error = np.abs(own_matrix - matrix).max()
                assert error < {"single": 2e-6, "double": 1e-9}[precision]


def test_functionals_of_tau_by_libxc():
    mol = molecule(*MOLECULES["water, Cartesian d"])
    density = ours(mol, np.asarray(scf.hf.init_guess_by_atom(mol)))
    with device_session("cpu", "double") as target:
        pairs = pairs_of(basis_of(mol))
        quadrature = quadrature_of(pairs, cloud(), target)
        kinetic = KineticEnergyDensity.of(basis_of(mol), cloud(), target), [density]
        hermite = [to_hermite(pairs, density, target)]
        by_kernel = functional("r2scan")
        found, expected = (
            exchange_correlation(quadrature, hermite, one, kinetic=kinetic)
            for one in (replace(by_kernel, by_kernel=False), by_kernel)
        )
    assert found.energy == pytest.approx(expected.energy, rel=1e-12)
    for one, other in ((found.values, expected.values), (found.kinetic_values, expected.kinetic_values)):
        np.testing.assert_allclose(one, other, atol=1e-10 * np.abs(other).max())


def test_orders_of_low_degree_come_first():
    """So that moments of a raised list begin with those of the list."""
    assert powers_of(3)[: len(powers_of(2))] == powers_of(2)


def test_potentials_of_a_spin_that_is_elsewhere(precision):
    """Torn hydrogen: at either atom one spin has almost no density, and what there is of it is rounding."""
    mol = molecule("H 0 0 0; H 0 0 3", "cc-pvdz")
    matrices = np.zeros((2, mol.nao, mol.nao))
    half = mol.nao // 2
    orbital = np.eye(half)[0]
    matrices[0, :half, :half] = matrices[1, half:, half:] = np.outer(orbital, orbital)
    matrices += 1e-7 * random_matrix(mol.nao)
    field = dft.UKS(mol)
    field.grids.build()
    _, energy, expected = field._numint.nr_uks(mol, field.grids, "b88,", matrices)
    rows, factors = functions_of_pyscf(mol)
    grid = Grid(field.grids.coords, field.grids.weights, np.zeros(len(field.grids.weights), np.int32))
    with device_session("cpu", precision) as target:
        pairs = pairs_of(basis_of(mol))
        quadrature = quadrature_of(pairs, grid, target)
        own = [matrix[rows[:, None], rows] * np.outer(factors, factors) for matrix in matrices]
        found = exchange_correlation(quadrature, [to_hermite(pairs, one, target) for one in own], functional("b88,"))
        potentials = np.array([to_matrix(pairs, values, target) for values in found.values])
    assert found.energy == pytest.approx(energy, abs=1e-6)
    assert np.abs(potentials - ours(mol, expected)).max() < {"single": 1e-4, "double": 1e-6}[precision]
