"""Localised orbitals along paths: the same ones in all frames, whatever the program makes of the canonical ones."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from orbitile import SeriesWriter
from orbitile.base.errors import FileError, OrbitileError
from orbitile.evaluation.requests import field_of
from orbitile.gaussians.localised.localisation import localised
from orbitile.gaussians.overlap import overlap_matrix, own_overlap
from orbitile.gaussians.rotation import placed
from orbitile.model.trajectory import Trajectory
from orbitile.pictures.films import along
from orbitile.session.sampling import ShownTrajectory
from orbitile.session.source import Source
from orbitile.trajectories.paths import LocalisedFrames, localised_for
from orbitile.trajectories.tracking import FollowedFrames, track
from tests.molecules import computed, scanned, shuffled, trajectory_of


@pytest.fixture(scope="module")
def transfer():
    """A proton goes from one oxygen of a water dimer to the other, by a made-up path; orbitals in any order."""
    frames = scanned(
        f"O 0 0 0; H 0 0 {z:.3f}; H 0.93 0 -0.25; O 0 0 2.4; H 0.3 0.85 2.7; H 0.3 -0.85 2.7" for z in (1.0, 1.2, 1.4)
    )
    rng = np.random.default_rng(3)
    turns = Rotation.random(len(frames), random_state=4).as_matrix()
    return [
        placed(shuffled(frame, rng) if n else frame, turn if n else np.eye(3), rng.normal(size=3))
        for n, (frame, turn) in enumerate(zip(frames, turns, strict=True))
    ]


def test_the_same_orbital_in_every_frame(transfer):
    path = Trajectory(FollowedFrames(Trajectory(LocalisedFrames(trajectory_of(transfer)))))
    first, *others = list(path)
    bond = first.alpha.irreps.index("O1-H2 sigma")
    names = [frame.alpha.irreps[bond] for frame in others]
    assert names[0] == "O1-H2 sigma"
    for frame in (first, *others):
        assert frame.localised == "ibo"
        field = field_of(frame, f"ibo:{bond + 1}")
        assert field.wavefunction is frame  # as it was followed, not localised anew
        gram = frame.alpha.coefficients.T @ own_overlap(frame) @ frame.alpha.coefficients
        assert gram == pytest.approx(np.eye(len(gram)), abs=1e-8)
    assert path.source.confidence(2, bond, "alpha") > 0.95
    # followed already, they need neither another order nor other phases
    again = track(trajectory_of([first, *others]))
    assert all(np.array_equal(match.alpha.order, np.arange(len(first.alpha))) for match in again.matches.values())
    assert again.confidence().min() > 0.9
    assert all((match.alpha.rotation.diagonal() > 0.9).all() for match in again.matches.values())


def test_frames_are_the_same_when_they_are_read_again(transfer):
    frames = Trajectory(LocalisedFrames(trajectory_of(transfer)), kept=1)
    late = frames[2].alpha.coefficients
    assert frames[0].alpha.irreps
    assert np.array_equal(frames[2].alpha.coefficients, late)


@pytest.mark.slow
def test_only_localised_orbitals_need_another_path(transfer):
    plain = trajectory_of(transfer)
    assert localised_for(plain, transfer[0], "homo") is plain
    assert localised_for(plain, transfer[0], "density") is plain
    n_occupied = int((transfer[0].alpha.occupations > 0).sum())
    assert len(localised_for(plain, transfer[0], "ibo:3")[1].alpha) == n_occupied
    assert len(localised_for(plain, transfer[0], f"ibo:{n_occupied + 1}")[1].alpha) > n_occupied
    with pytest.raises(OrbitileError, match="there are orbitals 1 to"):
        localised_for(plain, transfer[0], "ibo:99")


@pytest.mark.slow
def test_frames_that_do_not_go_with_the_others(transfer):
    def emptied(frame):
        occupations = frame.alpha.occupations.copy()
        occupations[np.argmax(np.where(occupations > 0, frame.alpha.energies, -np.inf))] = 0
        return replace(frame, alpha=replace(frame.alpha, occupations=occupations))

    path = Trajectory(FollowedFrames(Trajectory(LocalisedFrames(trajectory_of([*transfer[:1], emptied(transfer[1])])))))
    with pytest.raises(FileError, match="localised alpha orbitals instead of"):
        path[1]


@pytest.mark.slow
def test_one_kekule_structure_all_along():
    """Both are as well localised; each frame alone is free to choose, and must not."""

    def benzene(length):
        ring = [(np.cos(a), np.sin(a)) for a in np.radians(np.arange(0, 360, 60))]
        return "; ".join(
            f"C {length * x} {length * y} 0; H {(length + 1.08) * x} {(length + 1.08) * y} 0" for x, y in ring
        )

    rng = np.random.default_rng(1)
    frames = [shuffled(computed(benzene(length)), rng) for length in (1.38, 1.39, 1.40, 1.41, 1.42)]
    # degenerate orbitals turned by any angle: localisation begins elsewhere
    path = Trajectory(FollowedFrames(Trajectory(LocalisedFrames(trajectory_of(frames)))))
    wavefunctions = list(path)
    for n in range(1, 5):
        assert min(path.source.confidence(n, orbital, "alpha") for orbital in range(21)) > 0.99
    pi = [name for name in wavefunctions[0].alpha.irreps if name.endswith("pi")]
    assert len(pi) == 3
    assert [frame.alpha.irreps for frame in wavefunctions[1:]] == [wavefunctions[0].alpha.irreps] * 4


@pytest.mark.slow
def test_viewers_follow_them(transfer, tmp_path):
    """A field that is a localised orbital has frames of its own; all others have the canonical ones."""
    with SeriesWriter(tmp_path / "path.h5") as writer:
        for frame in transfer:
            writer.append(frame)
    shown = ShownTrajectory(Source((str(tmp_path / "path.h5"),), align=True, between=1))
    number = localised(shown.first).alpha.irreps.index("O1-H2 sigma") + 1
    field = f"ibo:{number}"
    last = shown.frame(4, field=field)
    assert (last.localised, shown.frame(4, field="homo").localised) == ("ibo", "")
    assert shown.field(field) == field
    assert 0.9 < shown.confidence(field, 4) <= 1
    assert last.positions == pytest.approx(shown.frame(4).positions, abs=1e-8)
    # one orbital in all frames, those put in between included: it does not flip
    pairs = [(shown.frame(n, field=field), shown.frame(n + 1, field=field)) for n in range(4)]
    for one, other in pairs:
        overlap = one.alpha.coefficients.T @ overlap_matrix(one, other) @ other.alpha.coefficients
        assert overlap[number - 1, number - 1] > 0.9


@pytest.mark.slow
def test_a_film_follows_them_by_the_tracking_of_canonical_orbitals(transfer):
    plain = trajectory_of(transfer)
    bond = localised(transfer[0], "ibo").alpha.irreps.index("O1-H2 sigma") + 1
    shown = [shot.field.quantity for shot in along(plain, f"ibo:{bond}", track(plain))()]
    assert shown[:2] == [f"IBO {bond}: O1-H2 sigma"] * 2
    assert "H2" in shown[2]  # the bond that the proton goes to
