"""Where the window stands, beside PyMOL's own."""

import pytest

pytest.importorskip("pymol", reason="PyMOL (extra pymol) is not installed")

from orbitile.hosts.pymol.placing import Place, kept_place, places_of

SCREEN = Place(0, 30, 1500, 900)


def overlap(one, other):
    return one.x < other.right and other.x < one.right


@pytest.mark.parametrize(
    ("host", "screen"),
    [
        (Place(100, 100, 640, 700), SCREEN),
        (Place(700, 100, 640, 700), SCREEN),
        (Place(300, 100, 1100, 700), SCREEN),
        (Place(0, 30, 1500, 900), SCREEN),
        (Place(150, 10, 800, 700), Place(0, 0, 1024, 768)),
        (Place(2000, 50, 800, 700), Place(1500, 0, 1920, 1080)),
    ],
    ids=["right", "left", "moved", "narrowed", "small screen", "second screen"],
)
def test_both_windows_are_on_the_screen_side_by_side(host, screen):
    moved, ours = places_of(host, screen)
    assert not overlap(moved, ours)
    for place in (moved, ours):
        assert screen.x <= place.x
        assert place.right <= screen.right
    assert ours.y + ours.height <= screen.y + screen.height
    assert ours.width >= 450
    if screen.width - host.width > 560 and host.right < 900:
        assert moved == host, "PyMOL's own window stays where there is room beside it"


def test_a_window_that_was_left_beyond_the_screen_comes_back_onto_it():
    assert kept_place({"geometry": [5000, -300, 540, 5000]}, SCREEN) == Place(960, 30, 540, 900)
    assert kept_place({"geometry": [10, 40, 540, 700]}, SCREEN) == Place(10, 40, 540, 700)


@pytest.mark.parametrize("damaged", [None, [1, 2, 3], ["a", 0, 0, 0], [True, 0, 1, 1], 7])
def test_a_damaged_place_is_none(damaged):
    assert kept_place({"geometry": damaged}, SCREEN) is None
