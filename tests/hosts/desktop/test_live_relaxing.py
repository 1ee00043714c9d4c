"""Forces move the atoms of a live molecule in PyMOL's window while one of them is held by the mouse."""

import os
from pathlib import Path

import pytest

import orbitile as ob

from .live import Mouse
from .random_actions import trouble_in
from .screen import Screen, missing
from .window import Window

pytest.importorskip("ase", reason="ASE (extra optimisation) is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]

_RIGHT, _UP = 40, 30
"""Where the mouse takes an atom, in pixels."""


def test_an_atom_stays_under_the_mouse_and_others_come_after_it(tmp_path):
    with Screen() as screen:
        window = Window(screen, tmp_path, Path(os.environ["XDG_CACHE_HOME"]))
        window.install("--no-kernels")
        with window:
            window.open_panel()
            mouse = Mouse(window, tmp_path)
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
            assert window.quit() == []
            assert trouble_in(window.log()) == []
