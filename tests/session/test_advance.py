"""A bar moves on while nothing is heard, and never back."""

import pytest

from orbitile.session.computing import Advance


@pytest.fixture
def clock(monkeypatch):
    now = [50.0]
    monkeypatch.setattr("orbitile.session.computing.time.monotonic", lambda: now[0])
    return now


def test_it_moves_by_a_step_of_the_bar_each_second_for_long(clock):
    advance, before = Advance(0.5, 6.0), -1.0
    for _ in range(12):
        assert advance.share > before + 0.009
        before = advance.share
        clock[0] += 1.0
    assert before < 0.5


def test_it_never_moves_back_and_ends_at_what_is_told(clock):
    advance, shares = Advance(0.5, 6.0), []
    for told in (0.0, 0.1, 0.12, 0.6, 1.0):
        advance.tell(told)
        shares.append(advance.share)
        assert advance.share >= told
        clock[0] += 9.0
        shares.append(advance.share)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


def test_it_is_what_is_told_while_that_goes_on(clock):
    advance = Advance(0.5, 6.0)
    for step in range(600):
        advance.tell(step / 1000)
        clock[0] += 0.1
        assert advance.share == pytest.approx(step / 1000)
