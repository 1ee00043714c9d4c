"""A trajectory for the tests of all viewers, PyMOL without a window, and widgets on a screen that nobody sees."""

import os

import numpy as np
import pytest

import orbitile as ob

N = 6
"""Frames of the trajectory."""


@pytest.fixture(scope="session")
def series(tmp_path_factory):
    """Water, its bonds stretched, with orbitals in any order and with any signs."""
    pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")
    pytest.importorskip("pyscf", reason="PySCF (extra scf) is not installed")
    from tests.molecules import scanned, shuffled

    frames = scanned(
        f"O 0 0 {0.1 * n:.2f}; H 0 {0.79 * r:.6f} {0.61 * r:.6f}; H 0 {-0.79 * r:.6f} {0.61 * r:.6f}"
        for n, r in enumerate(np.linspace(0.8, 1.2, N))
    )
    rng = np.random.default_rng(2)
    path = tmp_path_factory.mktemp("series") / "water.h5"
    with ob.SeriesWriter(path) as writer:
        for n, frame in enumerate(frames):
            writer.append(frame if n == 0 else shuffled(frame, rng))
    return path


@pytest.fixture
def cmd(monkeypatch):
    """The commands of a PyMOL of its own, Orbitile's among them."""
    pymol2 = pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    from orbitile.hosts.pymol.commands import register

    with pymol2.PyMOL() as instance:
        register(instance.cmd)
        yield instance.cmd


@pytest.fixture(scope="session")
def application():
    """Qt, which every widget needs."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")
    widgets = pytest.importorskip("PyQt5.QtWidgets", reason="PyQt5 (extra pymol) is not installed")
    return widgets.QApplication.instance() or widgets.QApplication([])


@pytest.fixture
def seen(application):
    """Shows widgets, beside one that has the focus at first, and closes them at the end."""
    from PyQt5.QtTest import QTest
    from PyQt5.QtWidgets import QLineEdit, QVBoxLayout, QWidget

    window = QWidget()
    layout = QVBoxLayout(window)
    other = QLineEdit()
    layout.addWidget(other)

    def show(widget):
        layout.addWidget(widget)
        window.resize(560, 420)
        window.show()
        window.activateWindow()
        other.setFocus()
        QTest.qWait(10)
        return widget

    yield show
    window.close()
