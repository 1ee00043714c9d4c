"""Density functionals against libxc, at densities of all sizes, and what no reference is needed for."""

import numpy as np
import pytest

from orbitile.base.errors import OrbitileError
from orbitile.evaluation.devices import device_session
from orbitile.integrals.functionals import ExactExchange, Functional, _by_libxc, at_points, functional

pytestmark = pytest.mark.slow_on("vulkan")

OFTEN = ["pbe", *(pytest.param(name, marks=pytest.mark.slow_on("vulkan")) for name in ("lda,vwn", "lda,pw", "blyp"))]
OTHERS = [
    "slater",
    ",pw",
    ",vwn",
    "lda,pw_mod",
    "pbe,",
    ",pbe",
    "revpbe",
    "rpbe",
    "pbesol",
    "b88,",
    "bpbe",
    ",lyp",
    "svwn",
    "spw92",
    "lda,vwn5",
    ",vwn_rpa",
    "b3lyp",
    "pbe0",
]
OF_MANY_PARTS = ["b3pw91", "cam-b3lyp", "wb97x", "tpss", "r2scan", "m06l", "m06", "m06-2x"]


def slow(names: list[str]) -> list:
    return [pytest.param(name, marks=[pytest.mark.slow, pytest.mark.not_in_software]) for name in names]


def random_points(n_spins: int, n: int = 4000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Densities from 1e-8 to 1e3, unequally shared by spins, and gradients of any direction, reduced ones up to 4.

    And tau, from that of one electron upwards.
    """
    rng = np.random.default_rng(n_spins)
    density = 10 ** rng.uniform(-8, 3, (1, n))
    if n_spins == 2:
        polarisation = rng.uniform(-0.95, 0.95, n)
        density = density * np.array([1 + polarisation, 1 - polarisation]) / 2
    direction = rng.normal(size=(n_spins, 3, n))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    length = 2 * (3 * np.pi**2 * n_spins * density) ** (1 / 3) * density * rng.uniform(0, 4, (n_spins, n))
    tau = length**2 / (8 * density) + density ** (5 / 3) * n_spins ** (2 / 3) * 10 ** rng.uniform(-1, 1.3, (n_spins, n))
    return density, direction * length[:, None], tau


def columns_for(kind: Functional, density: np.ndarray, gradient: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """What a functional needs of them."""
    return np.ascontiguousarray(
        np.concatenate([density[:, None], *[gradient] * kind.needs_gradient, *[tau[:, None]] * kind.needs_tau], axis=1)
    )


def parts_of(energy: np.ndarray, potential: np.ndarray) -> tuple:
    """Energy, and its derivatives by density, gradient and tau, as far as there are any."""
    n = potential.shape[1]
    return energy, potential[:, 0], potential[:, 1:4] if n > 1 else None, potential[:, 4] if n > 4 else None


def at(name: str, *points: np.ndarray, device: str = "cpu") -> tuple:
    kind = functional(name)
    with device_session(device, "double") as target:
        return parts_of(*at_points(kind, columns_for(kind, *points), target))


def by_libxc(name: str, *points: np.ndarray) -> tuple:
    return parts_of(*_by_libxc(name, columns_for(functional(name), *points)))


@pytest.mark.parametrize("n_spins", [1, 2])
@pytest.mark.parametrize("name", [*OFTEN, *slow(OTHERS + OF_MANY_PARTS)])
def test_energy_and_derivatives_are_those_of_libxc(name: str, n_spins: int, device: str) -> None:
    density, gradient, tau = points = random_points(n_spins)
    energy, by_density, by_gradient, by_tau = at(name, *points, device=device)
    expected = by_libxc(name, *points)
    # correlation of Lee, Yang and Parr alone is a small difference of large numbers, and of 0 where it changes its
    # sign, and so are the series of others
    in_series = name in ("wb97x", "m06l", "m06", "m06-2x")
    scale = np.abs(by_libxc("slater", *points)[0]) * (name == ",lyp" or in_series) + np.abs(expected[0])
    limit = {",pbe": 5e-12, "r2scan": 4e-12}.get(name, 2e-12 if in_series else 1e-12)
    assert np.abs((energy - expected[0]) / scale).max() < limit
    assert np.abs((by_density - expected[1]) * density / scale).max() < limit
    if by_gradient is None:
        assert expected[2] is None
        return
    along = np.linalg.norm(by_gradient - expected[2], axis=1) * np.linalg.norm(gradient, axis=1)
    assert (along / scale).max() < limit
    if by_tau is not None:
        assert np.abs((by_tau - expected[3]) * tau / scale).max() < limit


@pytest.mark.parametrize("n_spins", [1, 2])
@pytest.mark.parametrize("name", [*OFTEN, *slow(["revpbe", "rpbe", "pbesol", *OF_MANY_PARTS])])
def test_empty_and_extreme_densities_give_numbers(name: str, n_spins: int) -> None:
    sizes = np.array([0, 1e-300, 1e-30, 1e-16, 1e-15, 2e-15, 1e-12, 1e-8, 1, 1e3, 1e6, 1e9])
    density = np.array(np.meshgrid(*[sizes] * n_spins)).reshape(n_spins, -1)
    for length in (0, 1e-200, 1e-20, 1e-8, 1, 1e9):
        gradient = np.zeros((n_spins, 3, density.shape[1]))
        gradient[0, 0] = gradient[-1, 1] = length
        results = [array for array in at(name, density, gradient, np.abs(gradient[:, 0])) if array is not None]
        assert all(np.all(np.isfinite(array)) for array in results)
        nothing = density.sum(axis=0) <= 1e-15
        assert nothing.any()
        assert not any(np.any(array[..., nothing]) for array in results)


@pytest.mark.parametrize("name", OFTEN)
def test_equal_spins_are_a_closed_shell(name: str) -> None:
    points = random_points(1)
    closed = at(name, *points)
    open_ = at(name, *(np.repeat(part / 2, 2, axis=0) for part in points))
    np.testing.assert_allclose(open_[0], closed[0], rtol=1e-12)
    for one, other in zip(open_[1:], closed[1:], strict=True):
        if other is not None:
            np.testing.assert_allclose(one, np.repeat(other, 2, axis=0), rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("name", [*OFTEN, *slow(OTHERS)])
def test_spins_with_little_or_no_density(name: str) -> None:
    """From nothing upwards, libxc's bounds on the density of a spin included."""
    sizes = np.array([0, 1e-30, 1e-18, 3e-15, 1e-13, 1e-10, 1e-7, 1e-4, 0.03, 1, 30])
    ratios = np.array([1e-3, 0.3, 3, 30])  # of gradient and density
    alpha, beta, along, across = (axis.ravel() for axis in np.meshgrid(sizes, sizes, ratios, ratios))
    density = np.array([alpha, beta])
    # libxc has 1 + zeta as a sum, whose digits are lost where it is small, and bounds on gradients where densities are
    least, total = LEAST.get(name, 1e-15), density.sum(axis=0)
    share = np.maximum(density.min(axis=0), least) / np.maximum(total, 1e-300)
    clear = (total > 1e-11) & (share > 1e-15)
    gradient = np.zeros((2, 3, len(alpha)))
    gradient[0, 0], gradient[1, 0], gradient[1, 1] = alpha * along, -0.6 * beta * across, 0.8 * beta * across
    tau = (gradient**2).sum(axis=1) / (8 * np.maximum(density, 1e-300)) + 2 * density ** (5 / 3)
    density, gradient, tau, limit = (
        density[:, clear],
        gradient[..., clear],
        tau[:, clear],
        1e-9 + 1e-14 / share[clear] + 2 * least / total[clear],
    )
    energy, by_density, by_gradient, by_tau = at(name, density, gradient, tau)
    expected = by_libxc(name, density, gradient, tau)
    scale = np.abs(by_libxc("slater", density, gradient, tau)[0])
    assert np.all(np.abs(energy - expected[0]) < limit * (np.abs(expected[0]) + scale) + 1e-17)
    lost = 2e-16 * share[clear] ** (-4 / 3) if name in LEAST else 0.0  # of a potential that grows as phi's slope
    error = np.abs(by_density - expected[1])
    assert np.all(error < limit * (np.abs(expected[1]) + 1e-3) + lost + 2e-5 * (density < 1e-14))
    if by_gradient is not None:
        known = density > 1e-14
        error = np.abs(by_gradient - expected[2]).max(axis=1)
        assert np.all((error < limit * (np.abs(expected[2]).max(axis=1) + 1e-2))[known])
    if by_tau is not None:
        assert np.all((np.abs(by_tau - expected[3]) < limit * (np.abs(expected[3]) + 1e-2))[density > 1e-14])


LEAST = dict.fromkeys(["pbe", ",pbe", "revpbe", "rpbe", "pbesol", "bpbe", "pbe0"], 1e-12)
"""Least density of a spin in libxc, where it is not 1e-15."""


def test_spins_without_density_where_libxc_has_no_digits_left() -> None:
    """Formulas evaluated with 40 digits."""
    density = np.array([[1.01e-12, 3e-15], [1e-2, 1e2]])
    gradient = np.zeros((2, 3, 2))
    gradient[0, 0] = 1e-3, 1e3
    energy, by_density, *_ = at(",lyp", density, gradient, density)
    np.testing.assert_allclose(energy, [1.6474124502471015e-06, 2.6536506838320544], rtol=1e-13)
    np.testing.assert_allclose(by_density[0], [-0.10339312325130692, -0.48946928909738324], rtol=1e-10)
    np.testing.assert_allclose(by_density[1], [-0.00017605225008785545, -0.0431262157726988], rtol=1e-9)


@pytest.mark.parametrize("name", ["r2scan", *slow([name for name in OF_MANY_PARTS if name != "r2scan"])])
def test_spins_with_little_density(name: str) -> None:
    """Down to where the bounds of libxc begin to matter, which differ from part to part."""
    alpha, beta, along, across = (
        axis.ravel() for axis in np.meshgrid(*[[1e-10, 1e-7, 1e-4, 0.03, 1, 30]] * 2, *[[1e-3, 0.3, 3, 30]] * 2)
    )
    gradient = np.zeros((2, 3, len(alpha)))
    gradient[0, 0], gradient[1, 0], gradient[1, 1] = alpha * along, -0.6 * beta * across, 0.8 * beta * across
    density = np.array([alpha, beta])
    tau = (gradient**2).sum(axis=1) / (8 * density) + 2 * density ** (5 / 3)
    found, expected = at(name, density, gradient, tau), by_libxc(name, density, gradient, tau)
    share = density.min(axis=0) / density.sum(axis=0)
    limit = 1e-9 + 2e-14 / share
    scale = np.abs(by_libxc("slater", density, gradient, tau)[0])
    assert np.all(np.abs(found[0] - expected[0]) < limit * (np.abs(expected[0]) + scale))
    for one, other, least in zip(found[1:], expected[1:], (1e-3, 1e-2, 1e-2), strict=True):
        if one is not None:
            assert np.all(np.abs(one - other) < limit * (np.abs(other) + least) + 2e-16 * share ** (-4 / 3))
    density[1], gradient[1], tau[1] = 0.0, 0.0, 0.0
    energy, expected = (of(name, density, gradient, tau)[0] for of in (at, by_libxc))
    np.testing.assert_allclose(energy[alpha > 1e-5], expected[alpha > 1e-5], rtol=2e-5)


@pytest.mark.parametrize("name", [",tpss", ",r2scan", ",m06l", ",m06_2x"])
def test_one_electron_has_no_correlation(name: str) -> None:
    density, gradient, _ = random_points(2, 200)
    density[1], gradient[1] = 0.0, 0.0
    density[0] = np.maximum(density[0], 1e-4)
    energy = at(name, density, gradient, (gradient**2).sum(axis=1) / np.maximum(8 * density, 1e-20))[0]
    assert np.all(np.abs(energy) < 1e-7 * density.sum(axis=0) ** (4 / 3))


@pytest.mark.parametrize("name", ["tpss", "r2scan", *slow(["m06l"])])
def test_potentials_of_one_orbital_do_not_depend_on_how_tau_is_rounded(name: str) -> None:
    density, gradient, _ = random_points(1, 500)
    tau = (gradient**2).sum(axis=1) / (8 * density)
    expected, *others = (at(name, density, gradient, tau * factor) for factor in (1, 1 - 1e-13, 1 + 1e-13))
    for found in others:
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9 * np.abs(other).max())


@pytest.mark.parametrize("name", [*OFTEN, "pw91"])
def test_spins_that_are_noise_have_no_exchange(name: str) -> None:
    """Gradients of what rounding has left of a density are not those of any density."""
    rng = np.random.default_rng(0)
    alpha = 10 ** rng.uniform(-10, 1, 200)
    columns = np.zeros((2, 4, 200))
    columns[0, 0], columns[0, 1] = alpha, alpha
    columns[1] = 1e-8 * alpha * rng.normal(size=(4, 200))
    kind = functional(name)
    columns = columns if kind.needs_gradient else np.ascontiguousarray(columns[:, :1])
    without = columns.copy()
    without[1] = 0.0
    with device_session("cpu", "double") as target:
        (energy, potential), (expected, _) = (at_points(kind, one, target, noise=1e-6) for one in (columns, without))
    np.testing.assert_allclose(energy, expected, rtol=1e-5)
    assert np.abs(potential).max() < 50


def test_repeated_calls_give_the_same_bits(device: str) -> None:
    points = random_points(1)
    np.testing.assert_array_equal(at("pbe", *points, device=device)[2], at("pbe", *points, device=device)[2])


def test_names_are_those_of_pyscf() -> None:
    assert functional("PBE") is functional("PBE")
    assert functional(" LDA , VWN ").name == "lda,vwn"
    assert not functional("lda,vwn").needs_gradient
    assert not functional("lda").needs_gradient
    assert functional("slater,lyp").needs_gradient
    assert functional("pbe").by_kernel


def test_others_come_from_libxc() -> None:
    pw91 = functional("pw91")
    assert isinstance(pw91, Functional)
    assert not pw91.by_kernel
    assert pw91.needs_gradient
    points = random_points(2, 100)
    energy, by_density, by_gradient, _ = at("pw91", *points)
    assert energy.shape == (100,)
    assert by_density.shape == (2, 100)
    assert by_gradient.shape == (2, 3, 100)
    np.testing.assert_allclose(energy, at("pbe", *points)[0], rtol=0.1)


def test_device_without_double_precision_takes_libxc(monkeypatch: pytest.MonkeyPatch) -> None:
    from taichi_kernels import devices

    points = random_points(1)
    expected = at("pbe", *points)
    monkeypatch.setattr(devices, "probe", lambda name: devices.Probe(name, True, "", double=name == "cuda"))
    with device_session("cpu", "single") as target:
        energy, _ = at_points(functional("pbe"), columns_for(functional("pbe"), *points), target)
    np.testing.assert_allclose(energy, expected[0], rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("wb97m_v", "has nonlocal correlation"),
        ("mgga_x_br89", "depends on the Laplacian of the density"),
        ("pbe-d3", "a correction for dispersion"),
    ],
)
def test_what_is_not_computed_is_refused(name: str, what: str) -> None:
    with pytest.raises(OrbitileError, match=rf"functional '?{name}'?: {what}"):
        functional(name)


def test_what_does_not_exist_is_said() -> None:
    with pytest.raises(OrbitileError, match="functional 'pbee': expected one of PySCF's names; did you mean pbe or"):
        functional("pbee")
    with pytest.raises(OrbitileError, match=r"did you mean wb97x\?"):
        functional("wb98x")
    with pytest.raises(OrbitileError, match="functional '': expected"):
        functional("")


@pytest.mark.parametrize(
    "name",
    [
        *("pbe", "b3lyp", "b3lypg", "b3lyp5", "pbe0", "bhandhlyp", "hf", "hf,lyp", "0.3*hf+0.7*b88,lyp"),
        *("b3pw91", "cam-b3lyp", "CAMB3LYP", "wb97x", "tpssh", "r2scan0", "m06l", "m06", "m06-2x", "m062x"),
        *("hse06", "lc_blyp", "scan0", "mn15"),
    ],
)
def test_exact_exchange_is_that_of_pyscf(name: str) -> None:
    from pyscf.dft.numint import NumInt

    omega, far, near = NumInt().rsh_and_hybrid_coeff(name)
    exact = functional(name).exact
    assert (exact.full, exact.omega) == pytest.approx((near, omega))
    assert exact.full + exact.long_range == pytest.approx(far if omega else near)


def test_hartree_fock_has_no_energy_at_points() -> None:
    hartree_fock = functional("HF")
    assert hartree_fock.exact == ExactExchange(full=1.0)
    assert hartree_fock.by_kernel
    assert not at("hf", *random_points(2))[0].any()
