"""A molecule is made live in PyMOL's window, and its atoms are dragged by the mouse."""

import os
from pathlib import Path

import pytest

from .live import Mouse
from .random_actions import trouble_in
from .screen import Screen, missing
from .window import Window

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]


def test_hydrogen_goes_over_by_hand(tmp_path):
    with Screen() as screen:
        window = Window(screen, tmp_path, Path(os.environ["XDG_CACHE_HOME"]))
        window.install("--no-kernels")
        with window:
            window.open_panel()
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
            assert window.quit() == []
            assert trouble_in(window.log()) == []
