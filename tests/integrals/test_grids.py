"""Quadrature grids: PySCF's points and weights, and integrals that are known."""

import numpy as np
import pytest

from orbitile.base.errors import OrbitileError
from orbitile.evaluation.devices import device_session
from orbitile.integrals.grids import Grid, grid_of
from orbitile.model.elements import SYMBOLS
from taichi_kernels import becke

ACETATE = (
    np.array([6, 6, 8, 8, 1, 1, 1]),
    np.array(
        [[0, 0, 0], [0, 0, 2.9], [2.1, 0, 4.0], [-2.1, 0, 4.0], [1.9, 0, -0.7], [-1.0, 1.7, -0.7], [-1.0, -1.7, -0.7]]
    ),
)


def of(numbers: np.ndarray, positions: np.ndarray, device: str = "cpu", level: int = 3, **more: float) -> Grid:
    with device_session(device, "double") as target:
        return grid_of(np.asarray(numbers), np.asarray(positions, float), target, level, **more)


def by_place(points: np.ndarray, atom: np.ndarray) -> np.ndarray:
    return np.lexsort((*points.round(7).T, atom))


def assert_as_pyscf(grid: Grid, numbers: np.ndarray, positions: np.ndarray, level: int) -> None:
    from pyscf import dft, gto

    atoms = [(SYMBOLS[int(z)], place) for z, place in zip(numbers, positions, strict=True)]
    theirs = dft.gen_grid.Grids(gto.M(atom=atoms, unit="B", basis={}, spin=None, verbose=0))
    theirs.level = level
    theirs.alignment = 0
    theirs.build()
    mine, other = by_place(grid.points, grid.atom), by_place(theirs.coords, theirs.atm_idx)
    assert len(mine) == len(other)
    np.testing.assert_array_equal(grid.atom[mine], theirs.atm_idx[other])
    np.testing.assert_allclose(grid.points[mine], theirs.coords[other], rtol=0, atol=1e-10)
    np.testing.assert_allclose(grid.weights[mine], theirs.weights[other], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("level", [0, 1, 3])
def test_points_and_weights_are_those_of_pyscf(device: str, level: int) -> None:
    assert_as_pyscf(of(*ACETATE, device, level), *ACETATE, level)


@pytest.mark.parametrize(
    "level", [0, 2, pytest.param(4, marks=pytest.mark.slow), pytest.param(9, marks=pytest.mark.slow)]
)
def test_elements_of_all_periods(level: int) -> None:
    numbers = np.array([1, 2, 3, 10, 13, 21, 36, 39, 54, 57, 71, 86, 88, 89, 92, 103])
    if level == 9:
        numbers = numbers[::2]  # of each period one at least: the finest grid has some 40,000 points for each
    positions = np.random.default_rng(0).uniform(-9, 9, (len(numbers), 3))
    assert_as_pyscf(of(numbers, positions, level=level), numbers, positions, level)


def test_elements_beyond_those_with_a_parameter_have_points() -> None:
    grid = of([104, 118], [[0, 0, 0], [0, 0, 4]], level=0)
    assert np.all(np.isfinite(grid.weights))


def test_molecules_far_from_each_other_do_not_matter_to_each_other() -> None:
    numbers, positions = ACETATE
    alone = of(numbers, positions, level=0)
    pair = of(np.tile(numbers, 2), np.vstack([positions, positions + 2000]), level=0)
    near = np.linalg.norm(alone.points, axis=1) < 8
    np.testing.assert_allclose(pair.weights[: len(alone)][near], alone.weights[near], rtol=1e-10, atol=1e-13)


def row_of_atoms(n: int) -> tuple[np.ndarray, np.ndarray]:
    positions = np.array([[0, 0, 2.1 * k] for k in range(n)])
    return np.tile([6, 1], n // 2), positions + np.random.default_rng(3).uniform(-0.3, 0.3, positions.shape)


def test_negligible_parts_of_shares_are_left_out(device: str) -> None:
    """Fewer points have a weight, and what the others lack is about as much."""
    numbers, positions = row_of_atoms(30)
    exact, quick = (of(numbers, positions, device, 0, negligible=n) for n in (1e-17, 1e-7))
    np.testing.assert_array_equal(exact.points, quick.points)
    off = np.abs(quick.weights - exact.weights)
    assert np.all(off < 1e-5 * np.abs(exact.weights) + 1e-6 * np.abs(exact.weights).max())
    assert np.all(np.bincount(quick.atom, off) < 1e-5 * np.bincount(exact.atom, np.abs(exact.weights)))
    assert np.count_nonzero(quick.weights) < np.count_nonzero(exact.weights)
    assert off.max() > 0


def test_atoms_that_need_no_more_factors_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against products of all factors by NumPy, in a row of so many atoms that most are left out."""
    numbers, positions = row_of_atoms(20)
    grid = of(numbers, positions, level=0)
    lacking = type("Lacking", (), {"double": False})
    monkeypatch.setattr(becke, "probe", lambda name: lacking)
    monkeypatch.setattr(becke, "NEGLIGIBLE", 1e-300)
    expected = of(numbers, positions, level=0).weights
    assert np.all(np.isfinite(grid.weights))
    np.testing.assert_allclose(grid.weights, expected, rtol=0, atol=1e-13)


def test_integral_of_gaussians() -> None:
    numbers, positions = ACETATE
    grid = of(numbers, positions)
    exponents = 0.3 * numbers
    square = np.sum((grid.points[:, None] - positions) ** 2, axis=2)
    summed = grid.weights @ np.exp(-exponents * square)
    np.testing.assert_allclose(summed, (np.pi / exponents) ** 1.5, rtol=2e-5)


def test_ghosts_have_no_points() -> None:
    numbers, positions = ACETATE
    ghost = of(np.append(numbers, 0), np.vstack([positions, [0, 0, 1.0]]), level=0)
    np.testing.assert_array_equal(ghost.weights, of(numbers, positions, level=0).weights)
    assert ghost.atom.max() == len(numbers) - 1


def test_repeated_calls_give_the_same_bits(device: str) -> None:
    one, other = of(*ACETATE, device, 1), of(*ACETATE, device, 1)
    np.testing.assert_array_equal(one.weights, other.weights)


def test_device_without_double_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = of(*ACETATE, level=1)
    lacking = type("Lacking", (), {"double": False})
    monkeypatch.setattr(becke, "probe", lambda name: lacking)
    np.testing.assert_allclose(of(*ACETATE, level=1).weights, expected.weights, rtol=0, atol=1e-12)


def test_what_cannot_be_integrated_over_is_said() -> None:
    numbers, positions = ACETATE
    with pytest.raises(OrbitileError, match="level of the quadrature: expected a whole number from 0 to 9, got 10"):
        of(numbers, positions, level=10)
    with pytest.raises(OrbitileError, match="at least one atom that is not a ghost"):
        of([0, 0], positions[:2])
    with pytest.raises(OrbitileError, match="O3 and O4 are at one place"):
        of(numbers, np.vstack([positions[:3], positions[2:3] + 1e-5, positions[4:]]))
