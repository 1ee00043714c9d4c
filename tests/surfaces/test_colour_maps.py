"""Colours: seen on black and on white, even, and told apart by colour-blind readers."""

import numpy as np
import pytest

from orbitile.exporters._trimesh import trimesh_of
from orbitile.pictures.look import Look
from orbitile.scenes import PALETTES
from orbitile.surfaces.colour_maps import MAPS, NEGATIVE, PAIRS, POSITIVE, colours_along
from tests.colour_vision import BLINDNESS, contrast, perceived_by
from tests.renderer.samples import p_orbital

BLACK, WHITE = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
EYES = ["none", *BLINDNESS]


def test_contrasts_are_those_of_the_standard():
    assert contrast(BLACK, WHITE) == pytest.approx(21)
    assert contrast((0.4666, 0.4666, 0.4666), WHITE) == pytest.approx(4.48, abs=0.01)  # #777777


@pytest.mark.parametrize("name", PAIRS)
def test_both_colours_of_a_pair_are_seen_on_black_and_on_white(name):
    for colour in PAIRS[name]:
        assert min(contrast(colour, BLACK), contrast(colour, WHITE)) >= 3


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("name", PAIRS)
def test_the_colours_of_a_pair_are_told_apart(name, eye):
    positive, negative = perceived_by(eye, PAIRS[name])
    assert np.linalg.norm(positive - negative) > 0.19


def test_all_pictures_and_files_have_the_same_colours():
    assert tuple(PAIRS.values()) == PALETTES
    assert Look().colours == (POSITIVE, NEGATIVE) == PALETTES[0]
    surface = p_orbital(0)
    painted = np.asarray(trimesh_of(surface).visual.vertex_colors)
    for phase, colour in ((1, POSITIVE), (-1, NEGATIVE)):
        assert np.all(painted[surface.phases == phase] == [*np.round(255 * np.array(colour)), 255])


@pytest.mark.parametrize("name", MAPS)
def test_equal_differences_of_value_look_equally_large(name):
    steps = np.linalg.norm(np.diff(perceived_by("none", colours_along(name, np.linspace(0, 1, 17))), axis=0), axis=1)
    assert steps.max() < 1.4 * steps.min()


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("name", MAPS)
def test_no_part_of_a_map_is_one_colour_to_anybody(name, eye):
    perceived = perceived_by(eye, colours_along(name, np.linspace(0, 1, 17)))
    assert np.linalg.norm(np.diff(perceived, axis=0), axis=1).min() > 0.02
    apart = np.linalg.norm(perceived[:, None] - perceived, axis=-1)
    # the ends of a circle are one colour, and what is opposite is far apart
    low, middle, high = apart[0, 8], apart[8, 16], apart[4, 12] if name == "phase" else apart[0, 16]
    assert min(low, middle, high) > 0.2


@pytest.mark.parametrize("name", MAPS)
def test_no_value_vanishes_on_black_or_white(name):
    for colour in colours_along(name, np.linspace(0, 1, 33)):
        assert contrast(colour, WHITE) > 1.15
        assert contrast(colour, BLACK) > 1.8
