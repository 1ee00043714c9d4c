"""What shows the same again: commands, run in a fresh PyMOL, and a line for a terminal."""

import shlex
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from orbitile.commandline import main
from orbitile.renderer import Camera
from tests.hosts.test_pymol_saving import call, pixels

pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")

BENZENE = str(files("orbitile") / "data" / "benzene.molden")


def facts(cmd):
    """What is shown, as far as the user sees it."""
    from orbitile.hosts.pymol.commands import state_of

    session = state_of(cmd)
    hidden = session.host.hidden({name: session.shelf[name].molecule for name in session.shelf.present()})
    return {
        name: (
            shown.molecule,
            shown.request.field,
            shown.request.quality,
            shown.request.color_by,
            shown.request.color_range,
            shown.request.frame,
            f"{shown.isovalue:.6g}",
            (255 * np.array(shown.look.colours)).round().tolist(),
            shown.look.transparency,
            shown.look.style,
            shown.kept,
            name in hidden,
        )
        for name, shown in ((name, session.shelf[name]) for name in session.shelf.present())
    }


def shown_again(cmd):
    """What a fresh PyMOL shows after the commands."""
    import pymol2

    from orbitile.hosts.pymol.commands import register, state_of
    from orbitile.hosts.pymol.seen import pymol_lines

    session = state_of(cmd)
    lines = pymol_lines(session, cmd, session.shelf.present())
    with pymol2.PyMOL() as fresh:
        register(fresh.cmd)
        for line in lines:
            fresh.cmd.do(line, echo=0)
        places = {name: fresh.cmd.get("grid_slot", name) for name in fresh.cmd.get_names("objects")}
        return facts(fresh.cmd), fresh.cmd.get_view(), fresh.cmd.get("grid_mode"), places


def test_one_orbital(cmd):
    call(cmd, "orb_load", BENZENE)
    call(cmd, "orb_mo", "benzene", "homo-1", "", "coarse")
    assert shown_again(cmd)[0] == facts(cmd)


def test_all_that_can_be_set(cmd, tmp_path):
    folder = tmp_path / "a folder, with (odd) letters"
    folder.mkdir()
    file = folder / "my molecule.molden"
    file.write_bytes(Path(BENZENE).read_bytes())
    call(cmd, "orb_load", str(file), "other")
    call(cmd, "orb_mo", "other", "17", 0.04, "coarse")
    call(cmd, "orb_color", "orange", "0x123456", 0.7)
    call(cmd, "orb_style", "mesh")
    call(cmd, "orb_keep")
    call(cmd, "orb_field", "other", "density", 0.001, "coarse", "esp", 0.05)
    call(cmd, "orb_iso", 0.0023456789)
    call(cmd, "orb_mo", "other", "lumo", 0.05, "coarse")
    call(cmd, "orb_hide")
    found = facts(cmd)
    assert len(found) == 3
    assert shown_again(cmd)[0] == found


def test_a_trajectory(cmd, series):
    call(cmd, "orb_load", str(series), "path", align=1)
    call(cmd, "orb_mo", "path", "homo", 0.05, "coarse")
    assert shown_again(cmd)[0] == facts(cmd)


def test_the_view_the_frame_and_places_side_by_side(cmd, series):
    from orbitile.hosts.pymol.commands import state_of

    call(cmd, "orb_load", str(series), "path")
    cmd.frame(4)
    surfaces = [call(cmd, "orb_mo", "path", name, 0.05, "coarse") for name in ("homo", "lumo")]
    state_of(cmd).shelf.arrange(surfaces)
    cmd.turn("y", 50)
    cmd.zoom("path", 3)
    found, view, grid, places = shown_again(cmd)
    assert found == facts(cmd)
    assert view == pytest.approx(cmd.get_view(), rel=1e-4, abs=1e-4)
    assert grid == cmd.get("grid_mode") == "1"
    assert {name: place for name, place in places.items() if name in (*surfaces, "path", "path_homo_map")} == {
        "path": "-2",
        "path_homo": "1",
        "path_lumo": "2",
        "path_homo_map": "-2",
    }


def test_the_line_for_a_terminal_draws_it_from_the_same_direction(cmd, tmp_path, monkeypatch):
    from orbitile.hosts.pymol.commands import state_of
    from orbitile.session.recipe import render_line

    monkeypatch.chdir(tmp_path)
    call(cmd, "orb_load", BENZENE)
    base = call(cmd, "orb_mo", "benzene", "homo", 0.03, "coarse")
    call(cmd, "orb_color", "0x00ff00", "0xff00ff", 0)
    cmd.bg_color("white")
    cmd.turn("x", 25)
    cmd.turn("y", 130)
    cmd.turn("z", -70)
    session = state_of(cmd)
    words = shlex.split(render_line(session, [base]))
    angles = next(word for word in words if word.startswith("--turn=")).removeprefix("--turn=").split(",")
    camera = Camera.facing(session.wavefunction("benzene").positions).turned(*map(float, angles))
    assert np.allclose(camera.rotation, session.host.viewpoint().camera.rotation, atol=1e-3)
    assert main([*words[1:], "--size", "160x120", "-q", "--device", "cpu"]) == 0
    picture = pixels(tmp_path / "benzene_homo.png")
    red, green, blue = (picture[..., channel] for channel in range(3))
    assert ((green > red + 60) & (green > blue + 60)).mean() > 0.03
    assert ((red > green + 60) & (blue > green + 60)).mean() > 0.03


@pytest.mark.parametrize("angle", [90, -90, 89.9999])
def test_a_molecule_seen_from_its_side_has_angles_too(cmd, angle):
    from orbitile.hosts.pymol.commands import state_of
    from orbitile.session.recipe import render_line

    call(cmd, "orb_load", BENZENE)
    base = call(cmd, "orb_mo", "benzene", "homo", 0.03, "coarse")
    session = state_of(cmd)
    wanted = Camera.facing(session.wavefunction("benzene").positions).turned(x=20, y=angle)
    view = list(cmd.get_view())
    view[:9] = wanted.rotation.T.ravel().tolist()
    cmd.set_view(view)
    words = shlex.split(render_line(session, [base]))
    angles = next(word for word in words if word.startswith("--turn=")).removeprefix("--turn=").split(",")
    camera = Camera.facing(session.wavefunction("benzene").positions).turned(*map(float, angles))
    assert np.allclose(camera.rotation, wanted.rotation, atol=2e-3)


def test_what_a_line_cannot_say_is_refused(cmd, series):
    from orbitile.base.errors import OrbitileError
    from orbitile.hosts.pymol.commands import state_of
    from orbitile.session.recipe import render_line

    call(cmd, "orb_load", BENZENE)
    call(cmd, "orb_mo", "benzene", "homo", 0.05, "coarse")
    call(cmd, "orb_field", "benzene", "density", 0.01, "coarse", "esp")
    session = state_of(cmd)
    with pytest.raises(OrbitileError, match="by itself"):
        render_line(session, session.shelf.present())
    call(cmd, "orb_load", str(series), "path")
    cmd.frame(3)
    film = call(cmd, "orb_mo", "path", "homo", 0.05, "coarse")
    with pytest.raises(OrbitileError, match="orb_picture"):
        render_line(session, [film])
    with pytest.raises(OrbitileError, match="one molecule"):
        render_line(session, ["benzene_homo", film])
