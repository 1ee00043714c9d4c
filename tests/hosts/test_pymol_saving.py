"""Pictures and films of what PyMOL shows."""

from importlib.resources import files

import numpy as np
import pytest

from tests.pictures import shares_of_colours

pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")

BENZENE = str(files("orbitile") / "data" / "benzene.molden")
SIZE = (160, 120)


def call(cmd, name, *arguments, **keywords):
    from orbitile.hosts.pymol import commands

    return getattr(commands, name)(*arguments, _self=cmd, **keywords)


def pixels(path):
    from PIL import Image

    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGBA")).astype(int)


@pytest.fixture
def shown(cmd):
    """The HOMO of benzene on white."""
    call(cmd, "orb_load", BENZENE)
    call(cmd, "orb_mo", "benzene", "homo", 0.03, "coarse")
    cmd.bg_color("white")
    cmd.orient("benzene")
    cmd.turn("x", -60)
    return cmd


@pytest.mark.parametrize("by", ["orbitile", "ray"])
def test_a_picture_has_the_surface_and_the_background_of_the_viewer(shown, tmp_path, by):
    target = tmp_path / "homo.png"
    assert call(shown, "orb_picture", str(target), *SIZE, by, legend=0) == str(target)
    picture = pixels(target)
    assert picture.shape == (120, 160, 4)
    assert picture[0, 0].tolist() == [255, 255, 255, 255]
    assert min(shares_of_colours(target)[:2]) > 0.03
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("by", ["orbitile", pytest.param("ray", marks=pytest.mark.slow)])
def test_hidden_surfaces_are_left_out_and_paper_can_be_chosen(shown, tmp_path, by):
    call(shown, "orb_hide")
    target = tmp_path / "bare.png"
    call(shown, "orb_picture", str(target), *SIZE, by, "transparent", 0)
    assert max(shares_of_colours(target)[:2]) < 0.01
    picture = pixels(target)
    assert picture[0, 0, 3] == 0
    assert (picture[..., 3] == 255).mean() > 0.02  # the atoms
    call(shown, "orb_picture", str(target), *SIZE, by, "#204060", 0)
    assert pixels(target)[0, 0].tolist() == [0x20, 0x40, 0x60, 255]


@pytest.mark.slow
def test_both_renderers_draw_the_same_outline(shown, tmp_path):
    outlines = []
    for by in ("orbitile", "ray"):
        call(shown, "orb_picture", str(tmp_path / f"{by}.png"), 320, 240, by, "transparent", 0)
        outlines.append(pixels(tmp_path / f"{by}.png")[..., 3] > 100)
    first, second = outlines
    assert (first & second).sum() / (first | second).sum() > 0.97


@pytest.mark.slow
@pytest.mark.parametrize("by", ["orbitile", "ray"])
def test_the_legend_is_written_below_what_is_seen(shown, tmp_path, by):
    shown.turn("z", 30)
    shown.zoom("benzene", -3.8)  # so large that it fills the picture, and goes on beyond
    written = []
    for legend in (0, 1):
        call(shown, "orb_picture", str(tmp_path / "p.png"), 480, 360, by, "#204060", legend)
        written.append((pixels(tmp_path / "p.png")[..., :3] != (0x20, 0x40, 0x60)).any(axis=2))
    plain, explained = written
    assert plain[-50:].any(axis=1)[:20].all()
    assert explained[40:250].any(axis=1).all()
    assert explained[-50:, :240].any()
    assert not explained[-50:, 300:].any()  # the legend alone is there


@pytest.mark.slow
def test_surfaces_side_by_side_are_drawn_so(shown, tmp_path):
    from orbitile.hosts.pymol.commands import state_of

    call(shown, "orb_mo", "benzene", "lumo", 0.03, "coarse")
    call(shown, "orb_color", "green", "yellow")
    state_of(shown).shelf.arrange(["benzene_homo", "benzene_lumo"])
    titles = {"benzene_homo_title", "benzene_lumo_title"}
    assert titles <= set(shown.get_names("objects"))
    written = []
    shown.iterate("benzene_homo_title", "written.append(label)", space={"written": written})
    assert written == ["HOMO (orbital 21)"]
    assert "benzene_homo_title" not in state_of(shown).host.structures()
    for by in ("orbitile", "ray"):
        call(shown, "orb_picture", str(tmp_path / "p.png"), 320, 120, by, legend=0)
        picture = pixels(tmp_path / "p.png")
        red, green, blue = picture[..., 0], picture[..., 1], picture[..., 2]
        is_blue = (blue > red + 40) & (blue > green + 20)
        is_yellow = (np.minimum(red, green) > blue + 60) & (np.abs(red - green) < 60)
        assert is_blue[:, :160].mean() > 0.01
        assert is_blue[:, 160:].mean() < 0.001
        assert is_yellow[:, 160:].mean() > 0.01
        assert is_yellow[:, :160].mean() < 0.001
    state_of(shown).shelf.arrange(())
    assert titles.isdisjoint(shown.get_names("objects"))


def test_one_length_follows_from_the_other(shown, tmp_path):
    shown.viewport(400, 200)
    width, height = shown.get_viewport()
    call(shown, "orb_picture", str(tmp_path / "p.png"), 100)
    assert pixels(tmp_path / "p.png").shape[:2] == (round(100 * height / width), 100)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("p.jpg",), "ends in .png"),
        (("p.png", 40000), "32768"),
        (("missing/p.png",), "no folder"),
        (("p.png", 10, 10, "povray"), "orbitile, ray"),
        (("p.png", 10, 10, "orbitile", "no colour"), "background"),
    ],
)
def test_what_does_not_fit_is_refused(shown, tmp_path, monkeypatch, arguments, message):
    from pymol import CmdException

    monkeypatch.chdir(tmp_path)
    with pytest.raises(CmdException, match=message):
        call(shown, "orb_picture", *arguments)
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_be_seen_is_refused(cmd, tmp_path):
    from pymol import CmdException

    with pytest.raises(CmdException, match="nothing is visible"):
        call(cmd, "orb_picture", str(tmp_path / "p.png"))


@pytest.mark.slow
def test_a_turn_begins_and_ends_at_what_is_seen(shown, tmp_path):
    call(shown, "orb_film", str(tmp_path / "turn"), *SIZE, pictures=4, legend=0)
    frames = [pixels(path) for path in sorted((tmp_path / "turn").iterdir())]
    assert len(frames) == 4
    call(shown, "orb_picture", str(tmp_path / "now.png"), *SIZE, legend=0)
    assert np.array_equal(frames[0], pixels(tmp_path / "now.png"))
    shown.turn("y", 90)
    call(shown, "orb_picture", str(tmp_path / "turned.png"), *SIZE, legend=0)
    assert np.abs(frames[1] - pixels(tmp_path / "turned.png")).mean() < 0.5


@pytest.mark.slow
def test_a_film_of_a_trajectory_has_its_frames(cmd, series, tmp_path):
    call(cmd, "orb_load", str(series))
    call(cmd, "orb_mo", "water", "homo", "", "coarse")
    cmd.bg_color("white")
    call(cmd, "orb_film", str(tmp_path / "path"), *SIZE, legend=0)
    frames = [pixels(path) for path in sorted((tmp_path / "path").iterdir())]
    assert len(frames) == 6
    for state in (1, 6):  # each is what is seen at its state
        cmd.frame(state)
        call(cmd, "orb_mo", "water", "homo", "", "coarse")
        call(cmd, "orb_picture", str(tmp_path / "now.png"), *SIZE, legend=0)
        assert np.abs(frames[state - 1] - pixels(tmp_path / "now.png")).mean() < 0.1
    assert np.abs(frames[0] - frames[5]).mean() > 0.5


@pytest.mark.slow
def test_a_film_is_an_mp4_of_even_size(shown, tmp_path):
    pytest.importorskip("imageio_ffmpeg", reason="films need imageio-ffmpeg (extra films)")
    call(shown, "orb_film", str(tmp_path / "turn.mp4"), 161, 121, pictures=3)
    assert (tmp_path / "turn.mp4").stat().st_size > 1000


@pytest.mark.slow
def test_what_only_the_ray_tracer_draws_is_told(shown, tmp_path, capsys):
    shown.fragment("gly")
    shown.show_as("sticks labels surface", "gly")
    call(shown, "orb_picture", str(tmp_path / "p.png"), *SIZE, quiet=0)
    assert "without surface, labels: ray draws that" in capsys.readouterr().out
    call(shown, "orb_picture", str(tmp_path / "p.png"), *SIZE, "ray", quiet=0)
    assert "without" not in capsys.readouterr().out
