"""The electrons of a ligand in its protein, from a structure without hydrogens or charges, by clicks alone."""

import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from orbitile.scf.region import calculation_of, lennard_jones_of
from orbitile.scf.region_file import load_region, region_file

from .live import Mouse, swaying
from .pocket import ask_residues, compute
from .random_actions import trouble_in
from .screen import Screen, missing
from .window import Window

_PACKAGES = [name for name in ("pdb2pqr", "tblite", "h5py") if find_spec(name) is None]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=missing()),  # a screen in memory, a mouse
    pytest.mark.skipif(bool(_PACKAGES), reason=f"{', '.join(_PACKAGES)} is not installed"),
]


_FRONT = (
    "max(range(70), key=lambda n: sum(cmd.get_view()[3 * j + 2] * cmd.get_coords('region')[n][j] for j in (0, 1, 2)))"
)
"""The atom nearest to the eye."""


def _drag_and_relax(window: Window, folder: Path) -> None:
    """Live in the pocket: an atom is dragged by the mouse, and forces take all of them downhill.

    Not to the minimum, which takes minutes: a region in a field relaxes to one in `test_pymol_regions`.
    """
    for command in ("orb_residues region, draw=0", "deselect", "disable mine", "edit_mode", "zoom region, 1"):
        window.prompt(command)
    window.prompt("orb_live region")
    window.wait("live() is not None", 60)
    files = "__import__('orbitile.session.source', fromlist=['']).files_of(session().live.now.origin.source)"
    region = load_region(region_file(window.ask(files)[0]))
    mouse = Mouse(window, folder, replace(calculation_of(region), lennard_jones=lennard_jones_of(region)))
    first = mouse.rest()
    atom, before = window.ask(_FRONT), window.ask("cmd.get_coords('region').tolist()")
    drag = mouse.drag("pocket", "region", atom, swaying(10, 4, 1), 1)
    assert drag.n_converged > 1
    assert drag.wrong == []
    assert drag.status[3][1] == pytest.approx(drag.afresh, abs=1e-6)
    assert window.ask("'Lennard-Jones' in session().live.now.status.text")
    assert "in the field of 3369 charges" in window.ask("session().live.now.status.calculation")
    seen = window.ask("live()[2]")
    window.prompt("orb_relax on, 1")
    window.wait(f"live()[2] > {seen + 5} and live()[3][1] < {first[3][1]}", 240)
    window.prompt("orb_relax off")
    window.wait("live()[-1]", 90)
    assert window.ask("live()")[3][1] < first[3][1]
    moved = np.linalg.norm(np.subtract(window.ask("cmd.get_coords('region').tolist()"), before), axis=1)
    assert np.sqrt((moved**2).mean()) < 1.5
    ask_residues(window)  # of the geometry that is shown


def test_ligand(tmp_path):
    with Screen() as screen:
        window = Window(screen, tmp_path, Path(os.environ["XDG_CACHE_HOME"]))
        window.install("--no-kernels")
        with window:
            window.open_panel()
            compute(window)
            assert window.ask("session().surroundings('region')['external_charges'].charges.sum()") == pytest.approx(
                5.0, abs=0.01
            )
            moved = "abs(cmd.get_coords('region') - cmd.get_coords('mine and resn 478')).max()"
            assert window.ask(f"float({moved})") < 1e-4
            ask_residues(window)
            assert window.ask("[cmd.count_atoms('sele'), cmd.count_atoms('sele and resn ASP and resi 30')]") == [8, 8]
            assert window.ask("panel().browser.analysing.drawings_shown() != ()")
            _drag_and_relax(window, tmp_path)
            assert window.quit() == []
            assert trouble_in(window.log()) == []
