"""Watch over a request: who is asked, who is told, and how work is cut into pieces."""

import numpy as np
import pytest

from orbitile.base import watch
from orbitile.base.errors import Cancelled
from orbitile.base.watch import Watch, checkpoint, stage, tell, watched, watcher
from taichi_kernels.launching import PIECE, Pace


@pytest.fixture(autouse=True)
def _all_is_told(monkeypatch):
    monkeypatch.setattr(watch, "_INTERVAL", -1.0)  # nobody wants to wait for the real one


def test_nobody_watches_unless_asked():
    checkpoint(0.5)
    tell(1.0)
    assert watcher() is None
    with watched(), stage(0.0, 0.5):
        assert watcher() is None


def test_shares_of_stages_are_shares_of_the_whole_and_only_grow():
    told = []
    with watched(told.append):
        with stage(0.5, 1.0), stage(0.0, 0.5):
            checkpoint(0.5)
            checkpoint(0.25)
        with stage(0.0, 0.25):
            checkpoint(1.0)
        tell(1.0)
    assert told == [0.625, 1.0]
    assert watcher() is None


def test_from_inside_a_stage_it_is_told_now_and_then(monkeypatch):
    monkeypatch.setattr(watch, "_INTERVAL", 60.0)
    told = []
    with watched(told.append):
        for n in range(100):
            checkpoint(n / 100)
        tell(0.99)
        tell(1.0)
    assert told == [0.99, 1.0]


def test_who_withdraws_the_whole_withdraws_its_parts():
    wanted = [True]
    inner = []
    with watched(cancelled=lambda: not wanted[0]), watched(inner.append, lambda: False), watched():
        checkpoint(0.5)
        wanted[0] = False
        with pytest.raises(Cancelled):
            checkpoint(0.75)
    assert inner == [0.5]
    checkpoint()


def test_what_a_callback_does_is_no_part_of_the_request():
    def progress(share):
        told.append(share)
        tell(share + 0.1)

    told: list[float] = []
    with watched(progress, lambda: watcher() is not None):
        checkpoint(0.5)
    assert told == [0.5]


def test_between_two_values_a_generator_is_not_watched():
    def values():
        one = Watch(cancelled=lambda: stop)
        for _ in range(2):
            with one.stage():
                checkpoint()
            yield

    stop = False
    made = values()
    next(made)
    assert watcher() is None
    stop = True
    with pytest.raises(Cancelled):
        next(made)


def test_a_watch_ends_with_its_block_whatever_happens():
    with pytest.raises(ZeroDivisionError), watched(print):
        raise ZeroDivisionError
    assert watcher() is None


@pytest.mark.parametrize("work", [[], [0.0], [1.0] * 100, [100.0, 1.0, 1.0, 50.0], [0.0, 0.0]])
def test_pieces_follow_one_another_and_miss_nothing(work):
    pieces, shares = [], []
    Pace(7.0).run(np.array(work), lambda first, last: pieces.append((first, last)), shares.append)
    assert [n for first, last in pieces for n in range(first, last)] == list(range(len(work)))
    assert len(shares) == max(len(pieces) - 1, 0)
    assert shares == sorted(shares)
    assert all(0 <= share < 1 for share in shares)


def test_without_a_checkpoint_there_is_one_piece():
    pieces = []
    Pace(1.0).run(np.ones(100), lambda first, last: pieces.append((first, last)), None)
    assert pieces == [(0, 100)]


def test_pieces_grow_where_they_are_quick_and_shrink_where_they_are_slow(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("taichi_kernels.launching.time.perf_counter", lambda: clock[0])
    sizes = []

    def launch(first, last):
        sizes.append(last - first)
        clock[0] += (last - first) * cost

    pace = Pace(10.0)
    cost = 1e-5
    pace.run(np.ones(20_000), launch, lambda share: None)
    assert sizes[:3] == [10, 40, 160]
    assert sizes[-2] == pytest.approx(PIECE / cost, rel=0.05)
    cost = 1e-3
    sizes.clear()
    pace.run(np.ones(20_000), launch, lambda share: None)
    assert sizes[-2] == pytest.approx(PIECE / cost, rel=0.05)
