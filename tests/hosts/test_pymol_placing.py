"""Where the window stands, beside PyMOL's own."""

import pytest

pytest.importorskip("pymol", reason="PyMOL (extra pymol) is not installed")

from orbitile.hosts.pymol.placing import Place, kept_place, places_of, places_with

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


@pytest.mark.parametrize(
    ("host", "kept", "stays"),
    [
        (Place(320, 100, 860, 700), Place(900, 100, 540, 760), True),
        (Place(320, 100, 860, 700), Place(0, 100, 540, 760), True),
        (Place(0, 100, 860, 700), Place(900, 100, 540, 760), True),
        (Place(320, 100, 860, 700), Place(480, 100, 540, 760), False),
        (Place(0, 30, 1500, 900), Place(900, 100, 540, 760), True),
    ],
    ids=["right", "left", "beside", "in the middle", "all of the screen"],
)
def test_pymols_window_makes_room_for_one_that_was_left_somewhere(host, kept, stays):
    moved, ours = places_of(host, SCREEN, kept)
    assert not ours.covers(moved)
    assert (ours == kept) == stays
    assert (moved == host) == (not kept.covers(host))
    assert moved.width >= 560
    for place in (moved, ours):
        assert place.x >= SCREEN.x
        assert place.right <= SCREEN.right


@pytest.mark.parametrize("width", [1280, 1440, 1540, 1680, 1920, 2560])
@pytest.mark.parametrize("x", [0, 300])
def test_a_third_window_covers_neither_the_molecule_nor_the_controls(width, x):
    screen = Place(0, 0, width, 950)
    host, panel = places_of(Place(x, 100, 860, 700), screen)
    orbitals = Place(panel.x, 160, panel.width, 370)
    moved, beside, third = places_with(host, panel, orbitals, screen)
    assert not third.covers(moved)
    assert not moved.covers(beside)
    assert third.covers(beside) == (width < 1446)
    if third.covers(beside):
        assert third == orbitals
    assert third.right <= screen.right
    assert third.x >= 0
