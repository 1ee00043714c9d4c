"""Molecules of the Kohn-Sham benchmarks: the right atoms, bonded as they should be, and nothing in each other's way."""

from collections import Counter

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from orbitile_benchmarks.geometries import (
    ETHANOL,
    alkane,
    atoms_of,
    dragged,
    geometry_of,
    hydrogen_cube,
    threonine_path,
    water_cluster,
)


def neighbours(elements: list[str], places: np.ndarray) -> list[Counter[str]]:
    """Elements of what each atom is bonded to."""
    apart = squareform(pdist(places))
    close = (apart > 0) & (apart < 1.65)
    return [Counter(np.array(elements)[row].tolist()) for row in close]


@pytest.mark.parametrize("n", [1, 2, 3, 8, 13])
def test_every_carbon_of_an_alkane_has_four_bonds(n):
    elements, places = atoms_of(alkane(n))
    assert Counter(elements) == {"C": n, "H": 2 * n + 2}
    bonds = neighbours(elements, places)
    assert all(sum(bonds[i].values()) == (4 if element == "C" else 1) for i, element in enumerate(elements))
    assert sum(bond["C"] for bond, element in zip(bonds, elements, strict=True) if element == "C") == 2 * (n - 1)


def test_methane_is_a_tetrahedron():
    _, places = atoms_of(alkane(1))
    np.testing.assert_allclose(pdist(places[1:]), 1.09 * np.sqrt(8 / 3), atol=1e-7)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_water_molecules_are_bound_by_hydrogen_bonds(n):
    elements, places = atoms_of(water_cluster(n))
    assert Counter(elements) == {"O": n, "H": 2 * n}
    oxygens, hydrogens = places[::3], np.delete(places, np.s_[::3], axis=0)
    apart = np.linalg.norm(oxygens[:, None] - hydrogens, axis=2)
    own = np.repeat(np.eye(n, dtype=bool), 2, axis=1)
    assert np.ptp(apart[own]) < 1e-6
    others = apart[~own]
    assert (others > 1.7).all()
    assert (others < 2.1).sum() >= n - 1
    assert n == 1 or pdist(hydrogens).min() > 1.5


def test_clusters_are_the_same_each_time():
    assert water_cluster(3) == water_cluster(3)


def test_cube_of_hydrogen():
    elements, places = atoms_of(hydrogen_cube())
    assert elements == ["H"] * 64
    assert pdist(places).min() == pytest.approx(0.74)


def test_path_of_threonine_is_smooth():
    frames = [atoms_of(frame) for frame in threonine_path(20)]
    places = np.array([at for _, at in frames])
    assert all(elements == frames[0][0] for elements, _ in frames)
    assert 0 < np.abs(np.diff(places, axis=0)).max() < 0.05
    methyl = places[:, [8, 9, 10]] - places[:, [0]]
    assert np.ptp(np.linalg.norm(methyl, axis=2)) < 0.2
    assert min(pdist(at).min() for at in places) > 0.9


def test_text_and_arrays_are_inverses():
    elements, places = atoms_of("O 0 0 0.25; H 1 2 3")
    assert atoms_of(geometry_of(elements, places))[0] == ["O", "H"]
    np.testing.assert_array_equal(atoms_of(geometry_of(elements, places))[1], places)


def test_an_atom_is_dragged_round_in_steps():
    places = np.array([atoms_of(frame)[1] for frame in dragged(ETHANOL, 8)])
    np.testing.assert_allclose(places[-1], places[0], atol=1e-7)
    np.testing.assert_allclose(places[:, :8], places[[0] * 31, :8])
    np.testing.assert_allclose(np.linalg.norm(np.diff(places[:, 8], axis=0), axis=1), 0.05, atol=1e-7)
    bond = np.linalg.norm(places[:, 8] - places[:, 2], axis=1)
    assert 0.6 < bond.min() < 0.8 < 1.1 < bond.max() < 1.3
