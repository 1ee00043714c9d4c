"""Options of pictures: declared once, and the same on the command line, in consoles and in requests."""

import argparse
import dataclasses
import inspect
from importlib.resources import files

import numpy as np
import pytest

import orbitile as ob
from orbitile.commandline import render
from orbitile.commandline._arguments import CommandParser
from orbitile.commandline._surfaces import request_of
from orbitile.evaluation.requests import FileReferences
from orbitile.model.units import angstrom
from orbitile.pictures.look import STYLE, TRANSPARENCY, Look
from orbitile.pictures.request import IN_CONSOLES, OF_DRAWINGS, OF_SURFACES, Request
from orbitile.pictures.surface import Listener, sampling, surface_of
from orbitile.pictures.words import DEFAULT_ISOVALUE
from orbitile.scenes.scene import OPACITY
from orbitile.session.commands import COMMANDS
from orbitile.session.sampling import WavefunctionCache, sample
from orbitile.surfaces.isovalue import SHARE

BENZENE = str(files("orbitile") / "data" / "benzene.molden")


def parsed(*words: str) -> argparse.Namespace:
    parser = CommandParser()
    render.add_arguments(parser)
    return parser.parse_args([BENZENE, *words])


def test_an_option_of_a_surface_is_a_part_of_a_request_with_the_same_default():
    parts = {part.name: part.default for part in dataclasses.fields(Request)}
    assert {option.name: option.default for option in OF_SURFACES} == {
        **{option.name: parts[option.name] for option in OF_SURFACES},
        "device": None,  # as the environment says, where nobody asks for one
    }


def test_the_command_line_hands_on_every_option_of_a_surface():
    asked = request_of(parsed(), "homo", None)
    assert asked == Request("", "homo", device=None)
    given = ["--quality", "fine", "--color-by", "esp", "--color-range", "0,05", "--spacing", "0.2", "--margin", "2"]
    asked = request_of(
        parsed(*given, "--kernel", "direct", "--precision", "double", "--device", "cpu"), "density", 0.01
    )
    assert (asked.quality, asked.color_by, asked.color_range, asked.isovalue) == ("fine", "esp", 0.05, 0.01)
    assert (asked.spacing, asked.margin) == (pytest.approx(0.2 * angstrom), pytest.approx(2 * angstrom))
    assert (asked.kernel, asked.precision, asked.device) == ("direct", "double", "cpu")


def test_an_option_of_a_drawing_is_an_argument_of_render():
    arguments = inspect.signature(ob.render).parameters
    named = {"colors": "colours", "turn": "camera"}
    assert all(named.get(option.name, option.name) in arguments for option in OF_DRAWINGS)
    assert {option.name for option in OF_DRAWINGS} <= set(vars(parsed()))


def test_consoles_have_the_options_by_the_same_names():
    (shown,) = [command for command in COMMANDS if command.name == "orb_field"]
    assert shown.arguments[2:] == IN_CONSOLES


@pytest.mark.parametrize(
    ("name", "value", "accepted"),
    [("quality", "fine", True), ("quality", "finest", False), ("isovalue", None, True), ("isovalue", -1.0, False)],
)
def test_an_option_knows_what_it_may_be(name, value, accepted):
    (option,) = [option for option in OF_SURFACES if option.name == name]
    assert option.accepts(value) is accepted


def test_defaults_have_one_name():
    assert f"{100 * SHARE:g} %" in DEFAULT_ISOVALUE
    assert Look() == Look(transparency=TRANSPARENCY.default, style=STYLE.default)
    assert TRANSPARENCY.default == pytest.approx(1 - OPACITY)


@pytest.mark.parametrize(("field", "color_by"), [("homo", ""), ("density", "esp")])
def test_a_command_and_a_session_get_the_same_surface(field, color_by):
    asked = Request(BENZENE, field, "coarse", color_by=color_by, device="cpu")
    there = sample(asked, WavefunctionCache())
    benzene = ob.load(BENZENE)
    found = surface_of(asked, benzene, FileReferences(), Listener())
    assert found.sampling.isovalue == there.isovalue
    assert np.array_equal(found.surface.vertices, there.surface.vertices)
    assert np.array_equal(found.surface.faces, there.surface.faces)
    if color_by:
        assert np.array_equal(found.surface.colouring.values, there.surface.colouring.values)
    assert np.array_equal(sampling(asked, benzene).volume().values, there.volume.values)
