"""Trajectories made from trajectories: followed, aligned, interpolated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import FileError, OrbitileError
from orbitile.gaussians.overlap import overlap_matrix
from orbitile.gaussians.rotation import placed, rotation_onto
from tests.molecules import computed, shuffled, trajectory_of


def turned(wavefunction, seed):
    """The same molecule, elsewhere and in another orientation."""
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    rotation *= np.sign(np.linalg.det(rotation))
    return placed(wavefunction, rotation, rng.normal(size=3))


@pytest.fixture(scope="module")
def spoilt(water):
    """Frames in any place and orientation, orbitals in any order and with any signs."""
    rng = np.random.default_rng(5)
    return trajectory_of([water[0], *(turned(shuffled(w, rng), n) for n, w in enumerate(water[1:6]))])


@pytest.fixture(scope="module")
def rich():
    """Two frames of formaldehyde with pure d functions."""
    frames = [
        f"C 0 0 0; O 0 {0.1 * t} {1.2 + 0.1 * t}; H 0.94 {0.1 * t} -0.54; H -0.94 0 {-0.54 - 0.1 * t}" for t in (0, 1)
    ]
    return [computed(atoms, "cc-pvdz") for atoms in frames]


def gram(wavefunction, other=None):
    c = wavefunction.alpha.coefficients
    return c.T @ (overlap_matrix(wavefunction) @ c)


def test_followed_frames_are_those_of_the_tracking_in_any_order_of_reading(spoilt):
    tracking = ob.track(spoilt)
    path = ob.follow(spoilt)
    for index in (4, 0, 5, 2, 2, 1):
        expected = tracking.followed(index).alpha
        assert np.array_equal(path[index].alpha.coefficients, expected.coefficients)
        assert np.array_equal(path[index].alpha.energies, expected.energies)


def test_following_goes_on_where_a_growing_file_was_incomplete(spoilt):
    class Growing:
        name, n, complete = "growing", 3, False

        def __len__(self):
            return self.n

        def read(self, index):
            if index == 2 and not self.complete:
                raise FileError("incomplete")
            return spoilt[index]

    source = Growing()
    path = ob.follow(ob.Trajectory(source))
    assert [index for index, _ in path.frames()] == [0, 1]
    source.n, source.complete = 5, True
    tracking = ob.track(spoilt)
    assert [index for index, _ in path.frames()] == [0, 1, 2, 3, 4]
    assert np.array_equal(path[4].alpha.coefficients, tracking.followed(4).alpha.coefficients)


def test_a_turned_molecule_has_the_turned_orbital(rich):
    rotation, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    rotation *= np.sign(np.linalg.det(rotation))
    here = np.random.default_rng(4).normal(scale=2.0, size=(200, 3))
    moved = placed(rich[0], rotation, np.array([1.0, -2.0, 0.5]))
    from orbitile.gaussians.rotation import centre

    there = (here - centre(rich[0])) @ rotation.T + [1.0, -2.0, 0.5]
    for field in ("homo", "mo:3", "density"):
        values = [
            ob.evaluate(w, field, at, precision="double", device="cpu") for w, at in ((rich[0], here), (moved, there))
        ]
        np.testing.assert_allclose(values[1], values[0], atol=1e-10)


def test_aligned_frames_stay_where_the_first_one_is(spoilt):
    aligned = ob.align(ob.follow(spoilt))
    for wavefunction in aligned:
        np.testing.assert_allclose(gram(wavefunction), np.eye(7), atol=1e-10)
        assert np.abs(wavefunction.positions - aligned[0].positions).max() < 0.5  # bonds grow; nothing turns
        assert rotation_onto(wavefunction, aligned[0].positions) == pytest.approx(np.eye(3), abs=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.9, 1.0])
def test_interpolated_orbitals_are_orthonormal(rich, share):
    one, other = rich[0], turned(rich[1], 8)
    path = ob.follow(trajectory_of([one, other]))
    middle = ob.interpolated(path[0], path[1], share)
    n = len(middle.alpha)
    np.testing.assert_allclose(gram(middle), np.eye(n), atol=1e-10)
    assert middle.n_electrons == pytest.approx(16, abs=1e-12)


def test_interpolation_reduces_to_the_frames_at_the_ends(rich):
    path = ob.follow(trajectory_of([rich[0], turned(rich[1], 9)]))
    for share in (0, 1):
        end = ob.interpolated(path[0], path[1], share)
        np.testing.assert_allclose(end.positions, path[share].positions, atol=1e-12)
        np.testing.assert_allclose(end.alpha.coefficients, path[share].alpha.coefficients, atol=1e-10)
        np.testing.assert_allclose(end.alpha.energies, path[share].alpha.energies, atol=1e-14)


def test_a_rotation_alone_is_interpolated_as_a_rotation(rich):
    """Distances stay as they are, and so does each orbital in the frame of the molecule."""
    path = trajectory_of([rich[0], turned(rich[0], 10)])
    middle = ob.interpolated(path[0], path[1], 0.5)
    distances = [np.linalg.norm(w.positions[:, None] - w.positions, axis=2) for w in (rich[0], middle)]
    np.testing.assert_allclose(distances[1], distances[0], atol=1e-12)
    back = ob.align(trajectory_of([rich[0], middle]))[1]
    np.testing.assert_allclose(back.alpha.coefficients, rich[0].alpha.coefficients, atol=1e-9)


def test_frames_in_between_are_counted_and_the_given_ones_kept(spoilt):
    path = ob.follow(spoilt)
    dense = ob.interpolate(path, 3)
    assert len(dense) == 5 * 4 + 1
    for index in range(6):
        assert dense[4 * index] is path[index]
    assert ob.interpolate(path, 0) is path
    for wrong in (-1, 1.5, True, 2000):
        with pytest.raises(OrbitileError, match="frames in between"):
            ob.interpolate(path, wrong)
    with pytest.raises(OrbitileError, match="cannot be interpolated"):
        ob.interpolated(path[0], replace(path[1], atomic_numbers=np.array([9, 1, 1])), 0.5)


def test_geometries_are_those_of_the_frames(spoilt):
    for path in (spoilt, ob.follow(spoilt), ob.align(spoilt), ob.interpolate(ob.follow(spoilt), 2)):
        known = path.geometries()
        assert len(known) == len(path)
        np.testing.assert_allclose(known, [w.positions for w in path], atol=1e-12)


def test_frames_share_what_the_basis_set_determines(water):
    from orbitile.gaussians.packing import merged_primitives, packed_shells

    one, other = (merged_primitives(w) for w in water[:2])
    assert one.from_basis is other.from_basis
    assert not np.array_equal(one.centre, other.centre)
    assert packed_shells(water[1]).atom_position == pytest.approx(water[1].positions[[0, 1, 2]])


def test_a_lattice_that_fits_is_recognised(water):
    from orbitile.evaluation.boxes import fits

    for w in water:
        lattice = ob.enclosing_lattice(w, "homo", 0.02)
        assert fits(w, "homo", 0.02, lattice)
        inner = lattice.slab(3, lattice.shape[0])
        assert not fits(w, "homo", 0.02, inner)
        assert fits(w, "homo", 0.1, inner)
