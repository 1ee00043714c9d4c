"""A picture by our renderer shows what PyMOL shows, from where PyMOL shows it."""

from importlib.resources import files

import numpy as np
import pytest

from orbitile.model.units import angstrom
from orbitile.renderer import render_scene
from orbitile.scenes import Mesh, Scene

pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")

BENZENE = str(files("orbitile") / "data" / "benzene.molden")


def silhouettes(cmd, tmp_path, size, surfaces=()):
    """Where PyMOL's ray tracer draws something, and where we do; shape (height, width)."""
    from PIL import Image

    from orbitile.hosts.pymol.seen import viewpoint_of

    cmd.set("ray_opaque_background", 0)
    cmd.set("opaque_background", 0)
    cmd.set("depth_cue", 0)
    cmd.png(str(tmp_path / "ray.png"), *size, ray=1)
    with Image.open(tmp_path / "ray.png") as picture:
        traced = np.asarray(picture.convert("RGBA"))[..., 3] > 127
    seen = viewpoint_of(cmd)
    drawn = render_scene(Scene(seen.molecule, tuple(surfaces)), seen.camera, size, None)[..., 3] > 127
    return traced, drawn


def overlap(first, second):
    """Pixels that both have, as a share of those that one has."""
    return (first & second).sum() / (first | second).sum()


@pytest.fixture
def shown(cmd):
    """Benzene, aslant and off the middle."""
    from orbitile.hosts.pymol import commands

    commands.orb_load(BENZENE, _self=cmd)
    cmd.zoom("benzene", 1.0)
    cmd.turn("x", 40)
    cmd.turn("y", -35)
    cmd.move("x", 0.7)
    cmd.move("y", -0.4)
    return cmd


@pytest.mark.parametrize("size", [(320, 240), (400, 160), (160, 400)], ids=["usual", "wide", "tall"])
@pytest.mark.parametrize("orthoscopic", [0, 1], ids=["perspective", "orthographic"])
def test_the_molecule_is_where_pymol_draws_it(shown, tmp_path, size, orthoscopic):
    shown.set("orthoscopic", orthoscopic)
    traced, drawn = silhouettes(shown, tmp_path, size)
    assert 0.02 < traced.mean() < 0.6
    assert overlap(traced, drawn) > 0.96
    for shift, axis in ((1, 0), (-1, 0), (1, 1), (-1, 1)):  # a pixel off would be noticed
        assert overlap(traced, np.roll(drawn, shift, axis)) < overlap(traced, drawn) - 0.01


def test_sticks_lines_and_objects_that_are_hidden(shown, tmp_path):
    shown.fragment("gly")
    shown.translate([0, 0, 3], "gly", camera=0)
    shown.show_as("sticks", "gly")
    shown.color("orange", "gly")
    traced, drawn = silhouettes(shown, tmp_path, (320, 240))
    assert overlap(traced, drawn) > 0.95
    both = drawn.sum()
    shown.disable("benzene")
    traced, drawn = silhouettes(shown, tmp_path, (320, 240))
    assert overlap(traced, drawn) > 0.95
    assert drawn.sum() < 0.8 * both


def test_what_is_clipped_is_not_drawn(shown, tmp_path):
    whole = silhouettes(shown, tmp_path, (320, 240))[1].sum()
    shown.clip("near", -4.5)
    traced, drawn = silhouettes(shown, tmp_path, (320, 240))
    assert 0 < drawn.sum() < 0.95 * whole
    assert overlap(traced, drawn) > 0.85  # PyMOL shows the inside of a ball that it cuts


def test_a_surface_is_where_pymol_draws_it(shown, tmp_path):
    from orbitile.hosts.pymol import commands
    from orbitile.hosts.pymol.commands import state_of

    base = commands.orb_mo("benzene", "homo", _self=shown)
    session = state_of(shown)
    found = session.computing.sampled(session.shelf[base].request)
    mesh = Mesh.of(found.surface, (0, 0, 1), (1, 0, 0), 1.0)
    traced, drawn = silhouettes(shown, tmp_path, (320, 240), [mesh])
    assert overlap(traced, drawn) > 0.98


def test_colours_and_radii_are_those_of_pymol(shown):
    from orbitile.hosts.pymol.seen import viewpoint_of

    shown.bg_color("salmon")
    shown.color("green", "elem C")
    seen = viewpoint_of(shown)
    assert seen.background == pytest.approx((1.0, 0.6, 0.6))
    assert seen.molecule.colours[0] == pytest.approx((0, 1, 0))
    assert seen.molecule.radii[0] == pytest.approx(0.22 * 1.7 * angstrom)
    of_hydrogen = (seen.molecule.bonds >= 6).any(axis=1)  # thinner, unless PyMOL is told otherwise
    assert seen.molecule.stick_radius / angstrom == pytest.approx(np.where(of_hydrogen, 0.4, 1) * 0.12)


def test_a_scene_without_atoms_is_empty(cmd):
    from orbitile.hosts.pymol.seen import viewpoint_of

    assert len(viewpoint_of(cmd).molecule.centres) == 0
