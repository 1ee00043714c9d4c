"""Molecules are made live in one PyMOL's window: their atoms are dragged by the mouse, and forces move the others."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

import orbitile as ob

from .live import Mouse
from .random_actions import trouble_in
from .screen import Screen, missing
from .window import Window

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]

_RIGHT, _UP = 40, 30
"""Where the mouse takes an atom, in pixels."""


@pytest.fixture(scope="module")
def window(tmp_path_factory):
    """PyMOL with the window of Orbitile open, which leaves nothing when it is closed."""
    with Screen() as screen:
        window = Window(screen, tmp_path_factory.mktemp("pymol"), Path(os.environ["XDG_CACHE_HOME"]))
        window.install("--no-kernels")
        with window:
            window.open_panel()
            yield window
            if window.process.poll() is None:
                assert window.quit() == []
            assert trouble_in(window.log()) == []


def test_hydrogen_goes_over_by_hand(window, tmp_path):
    mouse = Mouse(window, tmp_path)
    mouse.load("hcn")
    assert window.ask("panel().live_bar.button.isChecked()")
    row = "getattr(panel().chosen(), 'mark', '')"
    window.wait(f"{row} == 'HOMO'")
    first = window.ask("live()")[3][1]
    drag = mouse.drag("over", "hcn", 2, mouse.way_over(5), 1)
    assert drag.n_converged > 3
    assert drag.wrong == []
    assert drag.status[0] == "converged"
    assert first + 0.01 < drag.status[3][1] < first + 0.1  # HNC is 15 kcal/mol above HCN, where it is relaxed
    assert abs(drag.status[3][1] - drag.afresh) < 1e-7
    assert window.ask("[bond[:2] for bond in cmd.get_bonds('hcn')]") == [[0, 1], [1, 2]]
    assert window.ask(row) == "HOMO"
    assert window.ask("strays()") == []
    window.click("Live")
    window.wait("live() is None")
    assert window.ask("len(objects())") == 4
    window.prompt("delete all")
    window.wait("objects() == {}")


@pytest.mark.skipif(find_spec("ase") is None, reason="ASE (extra optimisation) is not installed")
def test_an_atom_stays_under_the_mouse_and_others_come_after_it(window, tmp_path):
    screen, mouse = window.screen, Mouse(window, tmp_path)
    mouse.load("water")
    window.prompt("orb_relax on, 1")
    window.wait("'relaxed' in session().live.now.status.text", 60)
    lowest = window.ask("live()")[3][1]
    x, y = window.ask("atom('water', 1)")[:2]
    oxygen = window.ask("atom('water', 0)")[:2]
    screen.do("mousemove", x, y, "sleep", 0.2, "keydown", "ctrl", "mousedown", 1, "sleep", 0.1)
    for n in range(1, 41):
        screen.do("mousemove", x + round(_RIGHT * n / 40), y - round(_UP * n / 40), "sleep", 0.05)
    before = window.ask("live()")[2]
    window.wait(f"live()[2] > {before + 3}", 60)  # the others move while the button is down
    assert window.ask("atom('water', 1)")[:2] == [x + _RIGHT, y - _UP]
    there = window.ask("atom('water', 0)")[:2]
    assert max(abs(now - then) for now, then in zip(there, oxygen, strict=True)) > 5
    screen.do("mouseup", 1, "keyup", "ctrl")
    window.wait("live()[-1]", 90)
    assert "relaxed" in window.ask("session().live.now.status.text")
    assert window.ask("live()")[3][1] == pytest.approx(lowest, abs=2e-5)
    path = tmp_path / "path.h5"
    window.prompt(f"orb_path {path}")
    window.wait(f"__import__('os').path.exists({str(path)!r})")
    assert len(ob.load_trajectory(path)) == window.ask("live()")[2]
    window.prompt("orb_undo")
    window.wait("live()[-1]", 60)
    assert not window.ask("session().live.now.status.relaxes")
    assert window.ask("live()")[3][1] == pytest.approx(lowest, abs=1e-6)
    assert window.ask("strays()") == []
