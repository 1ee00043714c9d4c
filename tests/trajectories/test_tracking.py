"""Identity of orbitals: what was shuffled is undone exactly, and real crossings are found."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from scipy.stats import ortho_group

import orbitile as ob
from orbitile.base.errors import FieldError, OrbitileError
from orbitile.gaussians.overlap import overlap_matrix
from orbitile.gaussians.rotation import turned_functions
from orbitile.model.wavefunction import Excitation
from orbitile.trajectories.tracking import followed, track
from tests.molecules import computed, scanned, shuffled, trajectory_of, twisted, with_orbitals


def steps(wavefunctions, orbital: int) -> list[float]:
    """Overlap of an orbital with itself in the next frame, in space: negative where its sign flips."""
    return [
        float(a.alpha.coefficients[:, orbital] @ overlap_matrix(a, b) @ b.alpha.coefficients[:, orbital])
        for a, b in pairwise(wavefunctions)
    ]


def test_shuffled_orbitals_are_put_in_order_exactly(water):
    plain = track(trajectory_of(water))
    rng = np.random.default_rng(5)
    spoilt = trajectory_of([water[0], *(shuffled(w, rng) for w in water[1:])])
    tracking = track(spoilt)
    for frame, clean in enumerate(water):
        mine, expected = tracking.followed(frame), followed(clean, plain.matches[frame])
        np.testing.assert_array_equal(mine.alpha.coefficients, expected.alpha.coefficients)
        np.testing.assert_array_equal(mine.alpha.energies, expected.alpha.energies)
        np.testing.assert_array_equal(mine.alpha.occupations, expected.alpha.occupations)
    # without tracking they do flip and jump, or this would prove nothing
    assert min(steps(list(spoilt), 4)) < 0.1
    assert min(steps([tracking.followed(n) for n in range(len(spoilt))], 4)) > 0.8
    assert tracking.confidence().min() > 0.9


@pytest.mark.parametrize(
    ("atoms", "pair"),
    [
        ("N 0 0 -{r}; N 0 0 {r}", (4, 5)),
        (
            "".join(
                f"C {1.39 * x:.6f} {1.39 * y:.6f} {{z}}; H {2.47 * x:.6f} {2.47 * y:.6f} 0; "
                for x, y in ((np.cos(a), np.sin(a)) for a in np.radians(np.arange(0, 360, 60)))
            ),
            (19, 20),
        ),
    ],
    ids=["pi of nitrogen", "e1g of benzene"],
)
def test_degenerate_orbitals_are_rotated_back(atoms, pair):
    frames = scanned(atoms.format(r=0.53 + 0.02 * n, z=0.02 * n) for n in range(4))
    assert abs(np.diff(frames[-1].alpha.energies[list(pair)])[0]) < 1e-6
    rng = np.random.default_rng(2)
    spoilt = []
    for w in frames:
        coefficients = w.alpha.coefficients.copy()
        coefficients[:, pair] = coefficients[:, pair] @ ortho_group.rvs(2, random_state=rng)
        spoilt.append(with_orbitals(w, coefficients))
    tracking = track(trajectory_of(spoilt))
    turned = [tracking.followed(n) for n in range(len(spoilt))]
    a, b = (one.alpha.coefficients[:, list(pair)] for one in (turned[0], turned[-1]))
    overlaps = a.T @ overlap_matrix(turned[0], turned[-1]) @ b
    assert abs(overlaps[0, 1] - overlaps[1, 0]) < 1e-6
    assert abs(overlaps[0, 1]) < 1e-3
    assert min(np.diag(overlaps)) > 0.8
    # the set is the same, only its members were turned
    original = spoilt[-1].alpha.coefficients[:, list(pair)]
    np.testing.assert_allclose(b @ b.T, original @ original.T, atol=1e-12)
    assert track(trajectory_of(spoilt), degeneracy=0).confidence().min() < 0.95


def test_occupied_and_unoccupied_orbitals_cross_at_the_square(hydrogens):
    tracking = track(trajectory_of(hydrogens))
    for frame, match in tracking.matches.items():
        assert np.flatnonzero(match.alpha.occupations).tolist() == ([0, 1] if frame < 6 else [0, 2])
    crossing = next(one for one in tracking.crossings if one.orbitals == (1, 2))
    assert crossing.frame in (5, 6)
    assert not crossing.avoided
    assert crossing.overlap > 0.99
    # the end is the beginning turned by 90 degrees: what was HOMO is what is now LUMO
    assert tracking.field("homo") == "mo:2"
    np.testing.assert_allclose(tracking.energies()[-1][1], hydrogens[0].alpha.energies[2], atol=1e-6)


def test_homo_and_lumo_of_twisted_ethylene_interchange_at_90_degrees():
    angles = np.linspace(0, 180, 14)
    tracking = track(trajectory_of(computed(twisted(angle)) for angle in angles))
    assert (tracking.field("homo"), tracking.field("lumo")) == ("mo:8", "mo:9")
    crossing = next(one for one in tracking.crossings if one.orbitals == (7, 8))
    assert angles[crossing.frame] == pytest.approx(90, abs=7)
    assert not crossing.avoided
    energies = tracking.energies()
    assert np.all(energies[:7, 7] < energies[:7, 8])
    assert np.all(energies[7:, 7] > energies[7:, 8])
    # pi becomes pi*: in step without tracking, opposite phase on the far carbon with it
    np.testing.assert_allclose(energies[-1, 7], energies[0, 8], atol=1e-6)
    assert tracking.confidence().min() > 0.95


def two_states(n_frames: int, coupling: float) -> list[ob.Wavefunction]:
    """Orbitals of two s functions far apart, mixed as by the matrix of Landau and Zener."""
    shells = tuple(ob.Shell(atom, 0, False, [0.8], [1.0]) for atom in range(2))
    frames = []
    for t in np.linspace(-0.1, 0.1, n_frames):
        energies, vectors = np.linalg.eigh([[-t, coupling], [coupling, t]])
        frames.append(
            ob.Wavefunction(
                atomic_numbers=[1, 1],
                positions=[[0, 0, 0], [0, 0, 40.0]],
                shells=shells,
                alpha=ob.Orbitals(vectors, [0, 0], energies),
            )
        )
    return frames


def test_avoided_crossings():
    dense = track(trajectory_of(two_states(41, 0.02))).crossings
    assert [(one.avoided, one.orbitals, one.frame) for one in dense] == [(True, (0, 1), 20)]
    assert dense[0].mixing > np.pi / 4
    assert abs(np.subtract(*dense[0].energies)) == pytest.approx(0.04, rel=1e-3)
    # in coarse steps the character is followed, and the energies change order
    coarse = track(trajectory_of(two_states(4, 0.02))).crossings
    assert [one.avoided for one in coarse] == [True]
    # without coupling they cross, whatever the steps
    for n_frames in (4, 41, 400):
        (crossing,) = track(trajectory_of(two_states(n_frames, 0.0))).crossings
        assert not crossing.avoided
        assert crossing.mixing == 0
    assert track(trajectory_of(two_states(41, 0.2))).crossings == ()


def test_turning_and_moving_the_molecule_changes_nothing(water):
    """Frames in another orientation each, as programs with a standard orientation give them."""
    rng = np.random.default_rng(8)
    turned = []
    for w in water:
        turn = Rotation.random(random_state=rng).as_matrix()
        coefficients = turned_functions(w, turn) @ w.alpha.coefficients
        positions = w.positions @ turn.T + rng.normal(size=3)
        turned.append(replace(with_orbitals(w, coefficients), positions=positions, geometries=np.empty(0)))
    still, moving = track(trajectory_of(water)), track(trajectory_of(turned))
    np.testing.assert_allclose(moving.confidence(), still.confidence(), atol=1e-6)
    for frame in still.frames:
        np.testing.assert_array_equal(still.matches[frame].alpha.order, moving.matches[frame].alpha.order)


def test_both_spins_and_fewer_orbitals(water):
    def unrestricted(w, n):
        part = ob.Orbitals(w.alpha.coefficients[:, :n], np.minimum(w.alpha.occupations[:n], 1), w.alpha.energies[:n])
        flipped = ob.Orbitals(-part.coefficients[:, ::-1], part.occupations[::-1], part.energies[::-1])
        return replace(w, alpha=part, beta=flipped)

    frames = [unrestricted(w, 7) for w in water]
    frames[3] = unrestricted(water[3], 5)
    told = []
    tracking = track(trajectory_of(frames), report=told.append)
    assert 3 not in tracking.matches
    assert "5 alpha orbitals, 7 expected" in told[0]
    with pytest.raises(FieldError, match="frame 4 was not followed: it has 5 alpha orbitals"):
        tracking.followed(3)
    np.testing.assert_allclose(tracking.confidence("beta")[:, ::-1], tracking.confidence("alpha"), atol=1e-9)
    assert tracking.field("homo:beta") == "mo:3:beta"
    assert tracking.field("density") == "density"


def test_more_orbitals_in_between_cost_no_later_frame(water):
    """Linear dependence comes and goes with the geometry, and so do the highest orbitals."""
    frames = [
        with_orbitals(w, w.alpha.coefficients[:, :n], slice(n)) for w, n in zip(water, (6, 7, 6, 6, 5), strict=False)
    ]
    trajectory = trajectory_of(frames)
    tracking = track(trajectory)
    assert tracking.frames == [0, 1, 2, 3]
    assert trajectory.problems == {4: "it has 5 alpha orbitals, 6 expected"}
    assert tracking.energies().shape == (4, 6)
    assert tracking.confidence().min() > 0.9
    np.testing.assert_allclose(tracking.energies()[2], water[2].alpha.energies[:6])


def test_fields_of_followed_frames(water):
    """Densities do not change, nor does a transition density, whose orbitals change signs and places."""
    rng = np.random.default_rng(3)
    excitation = Excitation([4, 3], [5, 6], [0, 0], [0.8, -0.6], 0.3)
    frames = [water[0], shuffled(water[1], rng)]
    frames[1] = replace(frames[1], excitations=(excitation,))
    tracking = track(trajectory_of(frames))
    assert tracking.matches[1].alpha.order.tolist() != list(range(7))
    points = rng.normal(size=(20, 3))
    for field in ("density", "transition:1"):
        before, after = (
            ob.evaluate(w, field, points, precision="double", device="cpu") for w in (frames[1], tracking.followed(1))
        )
        np.testing.assert_allclose(after, before, atol=1e-12)


def test_nothing_to_follow(water):
    with pytest.raises(OrbitileError, match="no frame can be read"):
        track(trajectory_of([]))
    broken = trajectory_of([water[0], computed("H 0 0 0; H 0 0 0.74")])
    tracking = track(broken)
    assert tracking.frames == [0]
    assert "atoms" in broken.problems[1]


def test_a_pi_pair_of_a_linear_first_frame_looks_as_in_the_bent_ones():
    """Canonical and localised: no film jumps from one frame to the next, wherever the molecule is linear."""
    from orbitile.analysis.flow import flow

    def hcn(bend):
        x, z = 1.06 * np.sin(np.radians(bend)), -1.06 * np.cos(np.radians(bend))
        return f"C 0 0 0; N 0 0 1.15; H {x:.8f} 0 {z:.8f}"

    def turned(frame, angle):
        coefficients, (c, s) = frame.alpha.coefficients.copy(), (np.cos(angle), np.sin(angle))
        for n in np.flatnonzero(np.abs(np.diff(frame.alpha.energies)) < 1e-6):
            coefficients[:, [n, n + 1]] = coefficients[:, [n, n + 1]] @ np.array([[c, -s], [s, c]])
        return with_orbitals(frame, coefficients)

    linear, *bent = scanned(map(hcn, (0, 12, 24)))
    frames = [turned(linear, 0.7), turned(linear, -0.4), *bent]
    for path in (frames, frames[::-1], [bent[1], bent[0], frames[0], frames[1], *bent]):
        trajectory = trajectory_of(path)
        assert track(trajectory).confidence().min() > 0.95
        (spin,) = flow(trajectory).spins
        assert spin.confidence.min() > 0.85
    first = track(trajectory_of(frames)).followed(0)
    out_of_plane = first.alpha.coefficients[:, [5, 6]][[3, 8]]  # functions y of C and N
    assert np.abs(out_of_plane).max(axis=0).min() < 1e-3  # one pi orbital lies in the plane that comes
