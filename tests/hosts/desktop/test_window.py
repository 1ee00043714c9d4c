"""PyMOL's window as a user has it: under a window manager, with mouse and keys, from an empty home folder."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .random_actions import Folder, Round, run_rounds, trouble_in
from .screen import Screen, missing
from .window import Window

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.fixture(scope="module")
def screen():
    with Screen() as screen:
        yield screen


@pytest.fixture
def window(screen, tmp_path):
    """PyMOL with the window of Orbitile open."""
    window = Window(screen, tmp_path, Path(os.environ["XDG_CACHE_HOME"]))
    assert "orbitile_plugin.py" in window.install("--no-kernels")  # they are compiled as they are needed
    with window:
        window.open_panel()
        yield window


@pytest.fixture
def samples(tmp_path):
    return Folder(tmp_path / "files")


def open_file(window: Window, path: Path) -> None:
    window.click("Open…")
    window.wait("dialogs()")
    time.sleep(0.3)  # a new window has the keys a moment after it is there
    window.screen.type(str(path))
    window.screen.key("Return")
    window.wait("not dialogs()")


def objects_of(window: Window, kind: str) -> list[str]:
    return sorted(name for name, (its, _) in window.ask("objects()").items() if its == f"object:{kind}")


@pytest.mark.slow
def test_after_opening_the_arrow_keys_walk(window, samples):
    open_file(window, samples.root / "benzene.molden")
    window.wait("'object:cgo' in [kind for kind, _ in objects().values()] and at_rest()")
    assert objects_of(window, "cgo") == ["benzene_mo21"]  # the HOMO, and nothing that was not asked for
    window.screen.key("Down")
    window.wait("'benzene_mo22' in objects() and at_rest()")
    assert objects_of(window, "cgo") == ["benzene_mo22"]
    assert window.ask("strays()") == []
    window.prompt("pseudoatom foreign")
    window.wait("strays()")
    assert window.ask("strays()") == ["object foreign (object:molecule)"]
    assert window.quit() == []
    assert trouble_in(window.log()) == []
    assert "benzene.molden" in (window.home / ".pymolpluginsrc.py").read_text()  # under the recent files


@pytest.mark.slow
def test_that_it_is_docked_is_kept(screen, tmp_path):
    kernels = Path(os.environ["XDG_CACHE_HOME"])
    first = Window(screen, tmp_path, kernels)
    first.install("--no-kernels")
    with first:
        first.open_panel()
        assert first.ask("panel().isFloating()")
        first.screen.click(first.at("box(panel().findChild(QtWidgets.QWidget, 'qt_dockwidget_floatbutton'))"))
        first.wait("not panel().isFloating()")
        time.sleep(2)
        assert first.quit() == []
    with Window(screen, tmp_path, kernels) as second:
        second.open_panel()
        assert not second.ask("panel().isFloating()")


@pytest.mark.slow
def test_files_are_dropped_onto_the_window(window, samples):
    (samples.root / "listed").mkdir()
    shutil.copy(samples.root / "benzene.molden", samples.root / "listed")
    command = [sys.executable, Path(__file__).with_name("files_window.py"), samples.root / "listed"]
    with subprocess.Popen(command, env=window.environment) as source:
        left, top = window.screen.corner_of("Files")
        try:
            for onto in ("box(main_window().pymolwidget)", "box(panel())"):
                for last in (False, False, True):  # the folder may not have been read yet
                    time.sleep(1)
                    window.screen.drag((left + 60, top + 15), window.at(onto, (0.3, 0.5)), 1.0, pause=0.5)
                    try:
                        window.wait("session().host.molecules()", 20)
                        break
                    except TimeoutError:
                        if last:
                            raise
                window.wait("at_rest()")
                window.ask("cmd.delete('all')")  # not at the prompt, whose window would then be in front
                window.wait("not session().host.molecules()")
        finally:
            source.terminate()  # until then it has what is dropped
    assert window.quit() == []
    assert trouble_in(window.log()) == []


def test_trouble_is_found_in_a_log():
    assert trouble_in("PyMOL>orb_mo x\n Error: no molecule\n Detected OpenGL\n") == []
    assert len(trouble_in("PyMOL>zoom\nTraceback (most recent call last):\n  File\nKeyError: 1\n")) == 1
    assert trouble_in(' Selector-Error: Invalid selection name "x".\n')


@pytest.mark.slow
def test_random_actions(tmp_path):
    assert run_rounds([Round(seed) for seed in range(2)], tmp_path) == []
