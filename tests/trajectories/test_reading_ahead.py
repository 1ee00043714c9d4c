"""Frames are read by a thread while the caller works on others: the same frames, in any order."""

import threading

from orbitile.errors import FileError
from orbitile.trajectory import Trajectory


class Recorded:
    """Frames that note which of them are read; some fail as long as they are said to."""

    name = "recorded"

    def __init__(self, frames, failing=()):
        self.frames, self.failing = frames, set(failing)
        self.read_so_far = []
        self.seen = threading.Condition()

    def __len__(self):
        return len(self.frames)

    def read(self, index):
        with self.seen:
            self.read_so_far.append(index)
            self.seen.notify_all()
        if index in self.failing:
            raise FileError(f"frame {index + 1} is incomplete")
        return self.frames[index]

    def wait_for(self, index):
        with self.seen:
            assert self.seen.wait_for(lambda: index in self.read_so_far, timeout=30), self.read_so_far


def test_the_next_frame_is_read_in_either_direction(water):
    source = Recorded(water)
    trajectory = Trajectory(source, kept=1, ahead=True)
    assert trajectory[3] is water[3]
    assert source.read_so_far == [3]  # no direction yet
    assert trajectory[4] is water[4]
    source.wait_for(5)
    assert trajectory[2] is water[2]
    assert trajectory[1] is water[1]
    source.wait_for(0)
    assert trajectory[0] is water[0]
    assert sorted(source.read_so_far) == [0, 1, 2, 3, 4, 5]  # none of them twice


def test_all_frames_are_read_once(water):
    source = Recorded(water)
    assert list(Trajectory(source, ahead=True)) == water
    assert sorted(source.read_so_far) == list(range(len(water)))


def test_a_frame_that_fails_ahead_is_read_again_when_it_is_asked_for(water):
    source = Recorded(water, failing=[2])
    trajectory = Trajectory(source, ahead=True)
    assert [trajectory[0], trajectory[1]] == water[:2]
    source.wait_for(2)
    assert not trajectory.problems  # nobody has asked for it
    source.failing.clear()
    assert trajectory[2] is water[2]
    assert source.read_so_far.count(2) == 2


def test_a_frame_that_stays_damaged_is_reported(water):
    trajectory = Trajectory(Recorded(water, failing=[2]), ahead=True)
    assert [index for index, _ in trajectory.frames()] == [n for n in range(len(water)) if n != 2]
    assert "incomplete" in trajectory.problems[2]
