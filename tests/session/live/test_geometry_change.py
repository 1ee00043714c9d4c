"""Geometries with another distance, angle or dihedral."""

import numpy as np
import pytest

from orbitile import OrbitileError
from orbitile.model.units import angstrom
from orbitile.session.live.scan import (
    angle,
    dihedral,
    distance,
    with_angle,
    with_dihedral,
    with_distance,
)


def _chain(n_carbons: int) -> tuple[np.ndarray, np.ndarray]:
    """An alkane, all trans, by its internal coordinates: carbons first, then hydrogens by carbon."""
    zigzag = np.array([[1.26 * n, 0.44 * (-1) ** n, 0.0] for n in range(n_carbons)])
    hydrogens = [zigzag[n] + [0, 0.63 * (-1) ** n, z] for n in range(n_carbons) for z in (-0.89, 0.89)]
    ends = [zigzag[0] + [-0.89, -0.63, 0], zigzag[-1] + [0.89, 0.63 * (-1) ** n_carbons, 0]]
    numbers = np.array([6] * n_carbons + [1] * (2 * n_carbons + 2))
    return numbers, np.vstack([zigzag, hydrogens, ends]) * angstrom


ETHANE, BUTANE = _chain(2), _chain(4)
ETHANOL = (
    np.array([6, 6, 8, 1, 1, 1, 1, 1, 1]),
    np.array(
        [
            [-1.19, -0.29, 0.0],
            [0.0, 0.65, 0.0],
            [1.19, -0.13, 0.0],
            [-2.12, 0.29, 0.0],
            [-1.17, -0.93, 0.89],
            [-1.17, -0.93, -0.89],
            [0.04, 1.29, 0.89],
            [0.04, 1.29, -0.89],
            [1.93, 0.48, 0.0],
        ]
    )
    * angstrom,
)


def _distances(positions):
    return np.linalg.norm(positions[:, None] - positions[None], axis=2)


@pytest.mark.parametrize(
    ("molecule", "atoms"), [(ETHANE, (2, 0, 1, 4)), (ETHANOL, (3, 0, 1, 2)), (BUTANE, (0, 1, 2, 3))]
)
def test_a_dihedral_turned_all_the_way_comes_back(molecule, atoms):
    numbers, start = molecule
    positions, begin = start, dihedral(start, atoms)
    for n in range(1, 13):
        positions = with_dihedral(numbers, positions, atoms, begin + np.radians(30 * n))
        turned = dihedral(positions, atoms) - begin - np.radians(30 * n)
        assert np.exp(1j * turned) == pytest.approx(1, abs=1e-9)
    assert positions == pytest.approx(start, abs=1e-9)


@pytest.mark.parametrize("value", [-2.9, -0.4, 0.0, 1.1, np.pi])
def test_a_dihedral_changes_no_bond_and_no_angle_and_has_the_sign_of_iupac(value):
    numbers, start = BUTANE
    turned = with_dihedral(numbers, start, (0, 1, 2, 3), value)
    assert dihedral(turned, (0, 1, 2, 3)) == pytest.approx(value)
    near = _distances(start) < 2.3 * angstrom  # neighbours, and theirs
    assert _distances(turned)[near] == pytest.approx(_distances(start)[near])
    if 0 < value < np.pi:  # the last bond is clockwise of the first one, seen from the second atom
        towards = turned[2] - turned[1]
        assert np.cross(turned[0] - turned[1], turned[3] - turned[2]) @ towards > 0


def test_the_smaller_part_moves():
    numbers, start = ETHANOL
    for atoms in ((0, 1, 2, 8), (8, 2, 1, 0)):
        turned = with_dihedral(numbers, start, atoms, 0.3)
        assert np.flatnonzero(np.abs(turned - start).max(axis=1) > 1e-9).tolist() == [8]
        assert dihedral(turned, atoms) == pytest.approx(0.3)
    bent = with_angle(numbers, start, (1, 0, 3), 2.0)
    assert np.flatnonzero(np.abs(bent - start).max(axis=1) > 1e-9).tolist() == [3]
    assert angle(bent, (1, 0, 3)) == pytest.approx(2.0)
    for atoms in ((1, 2), (2, 1)):
        stretched = with_distance(numbers, start, atoms, 5.0)
        assert np.flatnonzero(np.abs(stretched - start).max(axis=1) > 1e-9).tolist() == [2, 8]
        assert distance(stretched, atoms) == pytest.approx(5.0)


def test_of_several_values_there_is_a_geometry_each():
    numbers, start = BUTANE
    for change, atoms in ((with_distance, (1, 2)), (with_angle, (0, 1, 2)), (with_dihedral, (0, 1, 2, 3))):
        values = np.array([1.5, 1.9, 2.6])
        several = change(numbers, start, atoms, values)
        assert several.shape == (3, 14, 3)
        assert several == pytest.approx(np.array([change(numbers, start, atoms, value) for value in values]))


def test_of_two_molecules_the_smaller_one_moves():
    numbers = np.concatenate([ETHANOL[0], [8, 1, 1]])
    water = np.array([[5.0, 0, 0], [5.6, 0.76, 0], [5.6, -0.76, 0]]) * angstrom
    moved = with_distance(numbers, np.vstack([ETHANOL[1], water]), (8, 9), 4.0)
    assert distance(moved, (8, 9)) == pytest.approx(4.0)
    assert np.array_equal(moved[:9], ETHANOL[1])
    assert _distances(moved[9:]) == pytest.approx(_distances(water))


def test_a_straight_angle_can_be_bent():
    numbers, positions = np.array([1, 6, 7]), np.array([[0.0, 0, 0], [0, 0, 2.0], [0, 0, 4.2]])
    bent = with_angle(numbers, positions, (0, 1, 2), 2.5)
    assert angle(bent, (0, 1, 2)) == pytest.approx(2.5)
    assert distance(bent, (0, 1)) == pytest.approx(2.0)
    with pytest.raises(OrbitileError, match="atoms 1-2-3 are in a line: 1-2-3-4 have no dihedral"):
        dihedral(np.vstack([positions, [1.0, 0, 5]]), (0, 1, 2, 3))


def test_rings_are_refused():
    corners = np.radians(60 * np.arange(6))
    ring = np.stack([np.cos(corners), np.sin(corners), 0 * corners], axis=1) * 1.4 * angstrom
    ring[:, 2] += 0.2 * (-1) ** np.arange(6)
    numbers = np.full(6, 6)
    with pytest.raises(OrbitileError, match="nothing can turn about the bond 2-3: its atoms"):
        with_dihedral(numbers, ring, (0, 1, 2, 3), 1.0)
    with pytest.raises(OrbitileError, match="the bond 1-2 cannot be stretched: its atoms are also connected"):
        with_distance(numbers, ring, (0, 1), 3.0)
    with pytest.raises(OrbitileError, match="angle of atoms 1-2-3 is in a ring"):
        with_angle(numbers, ring, (0, 1, 2), 2.0)


def test_what_cannot_be_is_refused():
    numbers, positions = ETHANOL
    with pytest.raises(OrbitileError, match="more than 0"):
        with_distance(numbers, positions, (0, 1), -1.0)
    with pytest.raises(OrbitileError, match="at most 180 degrees"):
        with_angle(numbers, positions, (0, 1, 2), 4.0)
    with pytest.raises(OrbitileError, match="not in a chain"):
        with_dihedral(numbers, positions, (3, 0, 1, 4), 0.5)
