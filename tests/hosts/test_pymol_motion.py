"""A molecule that moves along a mode in PyMOL: where atoms go, what is hidden meanwhile, and that all comes back."""

from importlib.resources import files

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from orbitile.base.errors import OrbitileError
from orbitile.model.units import angstrom
from orbitile.model.vibrations import Vibrations
from orbitile.session.motion import Moving

BENZENE = str(files("orbitile") / "data" / "benzene.molden")


@pytest.fixture
def session(cmd):
    from orbitile.hosts.pymol.commands import PYMOL_COMMANDS, state_of

    PYMOL_COMMANDS["orb_load"](BENZENE, _self=cmd)
    PYMOL_COMMANDS["orb_mo"]("benzene", "homo", quality="coarse", _self=cmd)
    return state_of(cmd)


def vibrations(positions, numbers, turn):
    """One mode in which atom 3 moves along x, all turned and moved elsewhere, as programs do."""
    displacements = np.zeros((1, len(numbers), 3))
    displacements[0, 2] = turn.apply([1.0, 0.0, 0.0])
    return Vibrations(numbers, turn.apply(positions) + 3.0, np.ones(len(numbers)), np.array([-120.0]), displacements)


def test_atoms_move_in_the_frame_of_the_viewer_and_everything_comes_back(cmd, session):
    numbers, geometries = session.host.geometries("benzene")
    turn = Rotation.from_euler("xyz", [40, 70, -20], degrees=True)
    before = cmd.get_coords("benzene")
    moving = Moving("benzene", vibrations(geometries[0], numbers, turn), 1, 0.5, arrows=True)
    assert moving.text == "mode 1, 120.0i cm^-1"
    session.motion.show(moving)  # in a script it stands at its amplitude
    moved = cmd.get_coords("benzene") - before
    np.testing.assert_allclose(moved[2], [0.5, 0, 0], atol=1e-4)
    assert np.abs(np.delete(moved, 2, axis=0)).max() < 1e-4
    (surface,) = session.shelf.present()
    assert surface not in cmd.get_names("objects", enabled_only=1)
    assert "benzene_mode_mode" in cmd.get_names("objects")
    cmd.set_name("benzene", "ring")
    session.look()
    session.host.renamed()
    session.shelf.follow()
    saved = session.motion.resting()
    session.motion.stop()
    np.testing.assert_array_equal(cmd.get_coords("ring"), before)
    assert {*session.shelf.present()} <= set(cmd.get_names("objects", enabled_only=1))
    assert not [name for name in cmd.get_names("objects") if "mode" in name]
    cmd.translate([1, 0, 0], "ring", camera=0)
    session.motion.restore(saved)
    np.testing.assert_allclose(cmd.get_coords("ring"), before, atol=1e-5)


def test_vibrations_of_another_geometry_are_refused(session):
    numbers, geometries = session.host.geometries("benzene")
    other = geometries[0].copy()
    other[0] += 2 * angstrom
    with pytest.raises(OrbitileError, match="not where its vibrations were computed"):
        session.motion.show(Moving("benzene", vibrations(other, numbers, Rotation.identity()), 1))
    assert session.motion.now is None
