"""Numbers on scales of colours: round, few, and told apart."""

import numpy as np
import pytest

from orbitile.surfaces.colour_maps import round_ends, rounded_up, tick_labels, ticks


def test_ticks_are_round():
    for limit, expected in {
        0.06: [-0.06, -0.03, 0, 0.03, 0.06],
        0.04: [-0.04, -0.02, 0, 0.02, 0.04],
        1.0: [-1, -0.5, 0, 0.5, 1],
        0.0371: [-0.02, 0, 0.02],
    }.items():
        assert ticks(-limit, limit) == pytest.approx(expected, abs=1e-12)
    assert ticks(0.0, 1.0) == pytest.approx([0, 0.25, 0.5, 0.75, 1])
    rng = np.random.default_rng(2)
    for low, high in np.sort(rng.normal(size=(300, 2)) * 10.0 ** rng.integers(-6, 6, (300, 1)), axis=1):
        marks = ticks(low, high)
        assert 1 <= len(marks) <= 5
        assert np.all((marks >= low - 1e-6 * (high - low)) & (marks <= high + 1e-6 * (high - low)))
        steps = np.diff(marks)
        assert np.ptp(steps) <= 1e-9 * np.abs(marks).max()
        digits = f"{steps[0]:.12e}".split("e")[0].rstrip("0")
        assert digits in ("1.", "1.5", "2.", "2.5", "3.", "4.", "5.", "6.")
        assert len(set(tick_labels(marks))) == len(marks)
    assert tick_labels(np.array([-0.06, 0, 0.06])) == ["−0.06", "0", "0.06"]
    assert [rounded_up(x) for x in (0.057, 0.96, 1.0, 13.0, 0.0)] == [0.06, 1.0, 1.0, 15.0, 1.0]


@pytest.mark.parametrize(("low", "high"), [(-0.2547, -0.1441), (0.5499, 0.7941), (3.0, 3.0), (0.101, 0.102)])
def test_a_range_of_one_sign_has_round_ends(low, high):
    first, last = round_ends(low, high)
    assert first <= low + 1e-9
    assert last >= high - 1e-9
    assert last > first
    assert (first < 0) == (low < 0)
    assert last - first < 1.5 * (high - low) or high == low
    assert len(f"{abs(first):g}".replace(".", "").strip("0")) <= 4
