"""Where bounds have fallen to a limit, and boxes that follow, against analytic answers."""

import numpy as np
import pytest

from orbitile.gaussians.expansion import all_fallen, box_outside_which, fallen


def test_functions_are_searched_each_for_itself():
    limits = np.array([0.5, 0.1, 1e-6])
    found = all_fallen(lambda x: np.exp(-x) > limits, np.zeros(3), np.full(3, 60.0))
    assert found == pytest.approx(-np.log(limits), abs=1e-9)
    assert np.all(np.exp(-found) <= limits)  # the end at which it has fallen
    for limit, alone in zip(limits, found, strict=True):
        assert fallen(lambda x, limit=limit: np.exp(-x) > limit, 0.0, 60.0) == alone
    assert all_fallen(lambda x: x < 0.3, np.zeros(1), np.ones(1), 1) == 0.5


def test_the_search_ends_at_a_width():
    asked = []
    assert fallen(lambda x: asked.append(x) or x < 0.3, 0.0, 64.0, width=0.25) == 0.5
    assert len(asked) == 8  # 64 halved to 0.25
    assert fallen(lambda x: x < 0.3, 0.0, 0.2, width=0.25) == 0.2


def test_what_is_nowhere_above_ends_at_its_lower_end_and_what_always_is_at_the_upper():
    assert fallen(lambda x: False, 0.0, 1.0) == pytest.approx(0.0, abs=1e-9)
    assert fallen(lambda x: True, 0.0, 1.0) == 1.0


@pytest.mark.parametrize("centre", [np.zeros((1, 3)), np.array([[-3.0, 0.5, 1.0]])])
def test_the_box_of_one_function(centre):
    reach = -np.log(0.01)
    low, high = box_outside_which(
        lambda distance: float(np.exp(-np.maximum(distance, 0)).sum()), 0.01, centre, before=0.0, beyond=60.0
    )
    assert low == pytest.approx(centre[0] - reach, abs=1e-6)
    assert high == pytest.approx(centre[0] + reach, abs=1e-6)


def test_functions_add_up():
    """Two at one place reach as far as one of twice the height; one far behind the other adds little."""

    def bound(distance):
        return float(np.exp(-np.maximum(distance, 0)).sum())

    _, together = box_outside_which(bound, 0.01, np.zeros((2, 3)), before=0.0, beyond=60.0)
    assert together == pytest.approx(np.full(3, np.log(200)), abs=1e-6)
    apart = np.array([[0.0, 0, 0], [0.0, 0, 20.0]])
    low, high = box_outside_which(bound, 0.01, apart, before=0.0, beyond=60.0)
    assert high[2] == pytest.approx(20 + np.log(100), abs=1e-3)
    assert low[2] == pytest.approx(-np.log(100), abs=1e-3)
    assert high[0] == pytest.approx(np.log(200), abs=1e-6)
