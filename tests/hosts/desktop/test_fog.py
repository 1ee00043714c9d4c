"""Fog and slices in PyMOL's window, which alone has the shaders for them."""

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from .random_actions import trouble_in
from .screen import Screen, missing
from .window import Window

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    """PyMOL with the window of Orbitile open."""
    with Screen() as screen:
        window = Window(screen, tmp_path_factory.mktemp("pymol"), Path(os.environ["XDG_CACHE_HOME"]))
        window.install("--no-kernels")
        with window:
            window.open_panel()
            yield window
            assert trouble_in(window.log()) == []


def colours_of(window: Window, path: Path) -> tuple[int, int]:
    """Numbers of bluish and of reddish pixels in the picture that PyMOL draws."""
    window.ask(f"cmd.png({str(path)!r}, ray=0)")
    window.wait(f"os.path.exists({str(path)!r})")
    red, _, blue = np.moveaxis(np.asarray(Image.open(path).convert("RGB"), int), -1, 0)
    return int((blue - red > 40).sum()), int((red - blue > 40).sum())


@pytest.mark.slow
def test_fog_and_slices_are_seen(window, tmp_path):
    benzene = "__import__('orbitile').__path__[0] + '/data/benzene.molden'"
    window.ask(f"cmd.do('orb_load ' + {benzene})")
    window.wait("session() is not None and session().host.molecules()", 60)
    window.ask("[cmd.do('bg_color white'), cmd.do('hide everything')] and None")
    window.prompt("orb_mo benzene, homo")
    window.wait("'benzene_homo' in objects() and at_rest()", 60)
    window.prompt("orb_style fog")
    window.wait("'benzene_homo_fog' in objects() and at_rest()")
    assert min(colours_of(window, tmp_path / "fog.png")) > 2000  # both lobes
    window.prompt("disable benzene_homo_fog")
    assert max(colours_of(window, tmp_path / "without.png")) < 200  # nothing else has these colours
    window.prompt("orb_delete benzene_homo")
    window.prompt("orb_field benzene, density")
    window.wait("'benzene_density' in objects() and at_rest()", 60)
    window.prompt("orb_style slice")
    window.wait("'benzene_density_slice' in objects() and at_rest()")
    window.prompt("disable benzene_density_ramp")
    blue, red = colours_of(window, tmp_path / "slice.png")
    assert blue > 5000
    assert red < 100


@pytest.mark.slow
def test_the_window_offers_fog_and_a_style_is_never_left_over(window):
    """By the mouse: chosen in the box, slid, walked to the next orbital, to a second field, to a trajectory."""

    def choose(*keys: str) -> None:
        window.screen.click(window.at("box(panel().style_box)"))
        window.screen.key("Home", *keys, "Return")

    def there(*names: str) -> None:
        window.wait(f"set({names!r}) <= set(objects()) and at_rest()", 60)

    window.prompt("reinitialize")
    window.wait("objects() == {} and at_rest()")
    folder = "__import__('orbitile').__path__[0] + '/data/"
    window.ask(f"panel().open({folder}benzene.molden')")
    there("benzene")
    window.wait("panel().showing.current() != '' and at_rest()", 60)
    first = window.ask("panel().showing.current()")
    choose(*["Down"] * 4)
    there(f"{first}_fog")
    assert window.ask("panel().style_box.currentText()") == "fog"
    window.screen.click(window.at("box(panel().iso_slider)", (0.3, 0.5)))
    window.wait("at_rest()")
    there(f"{first}_fog")  # it is drawn again at the isovalue that was slid to
    window.screen.click(window.at("box(panel().table)"))
    window.screen.key("Up")
    window.wait(f"panel().showing.current() not in ('', {first!r}) and at_rest()", 60)
    second = window.ask("panel().showing.current()")
    there(f"{second}_fog")
    assert f"{first}_fog" not in window.ask("objects()")
    window.ask("panel().showing.ask_for_named('density')")
    window.wait("panel().showing.current() == 'benzene_density' and at_rest()", 60)
    there("benzene_density_fog")
    window.prompt("orb_field benzene, density, color_by=esp")
    window.wait("'benzene_density_scale' in objects() and at_rest()", 120)
    assert "benzene_density_fog" not in window.ask("objects()")
    assert window.ask("panel().style_box.currentText()") == "surface"
    offered = window.ask("[panel().style_box.itemText(n) for n in range(panel().style_box.count())]")
    assert "surface" in offered
    assert not {"fog", "slice"} & set(offered)
