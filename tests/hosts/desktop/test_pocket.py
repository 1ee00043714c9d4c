"""The electrons of a ligand in its protein, from a structure without hydrogens or charges, by clicks alone."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

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
            assert window.quit() == []
            assert trouble_in(window.log()) == []
