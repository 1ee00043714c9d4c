"""A path between two states of an object, asked for in PyMOL's window, cancelled, and found."""

import os
from pathlib import Path

import pytest

from .random_actions import trouble_in
from .screen import Screen, missing
from .window import Window

pytest.importorskip("ase", reason="ASE (extra optimisation) is not installed")
pytest.importorskip("tblite.interface", reason="tblite (extra xtb) is not installed")
# without a screen in memory or a mouse there is nothing to click on
pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]

_PYRAMID = "4\n\nN 0 0 {n}\nH 0.94 0 {h}\nH -0.47 0.81 {h}\nH -0.47 -0.81 {h}\n"


def test_ammonia_turns_over(tmp_path):
    file = tmp_path / "ammonia.xyz"
    file.write_text("".join(_PYRAMID.format(n=n, h=-2.7 * n) for n in (0.1, -0.1)))
    with Screen() as screen:
        window = Window(screen, tmp_path, Path(os.environ["XDG_CACHE_HOME"]), str(file))
        window.install("--no-kernels")
        with window:
            window.open_panel()
            for cancels in (True, False):
                window.click("Compute")
                window.choose("Path between")
                window.wait("'Path between two structures' in dialogs()")
                assert window.ask("find('Find path').window().arguments()") == [
                    *("ammonia/1", "ammonia/2", "", "gfn2", "", "", "", "")
                ]
                window.click("Find path")
                window.wait("panel().cancel_button.isVisible()")
                if cancels:
                    window.wait("session().calculation.process_id")
                    window.click("Cancel")
                    window.wait("session().calculation is None and at_rest()")
            window.wait("session().calculation is None and 'object:cgo' in [k for k, _ in objects().values()]", 120)
            window.wait("at_rest()")
            said = window.ask("feedback()")
            assert "kcal/mol" in said
            (path,) = window.home.glob("*.path.h5")
            assert path.name == "ammonia-1_to_ammonia-2.path.h5"
            assert window.ask("cmd.count_states('ammonia-1_to_ammonia-2')") == 9
            assert window.ask("panel().table.model().rowCount()") > 0
            screen.picture(tmp_path / "path.png")
            assert window.quit() == []
            assert trouble_in(window.log()) == []
