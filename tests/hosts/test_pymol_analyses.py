"""What analyses draw in PyMOL without a window: objects in groups, marks on atoms, and how all that goes away again."""

from importlib.resources import files

import numpy as np
import pytest

from orbitile.base.errors import OrbitileError
from orbitile.model.report import AtomValues, Paths, Points

BENZENE = str(files("orbitile") / "data" / "benzene.molden")
VALUES = tuple(np.linspace(-0.3, 0.3, 12).tolist())


@pytest.fixture
def host(cmd):
    from orbitile.hosts.pymol.commands import PYMOL_COMMANDS, state_of

    PYMOL_COMMANDS["orb_load"](BENZENE, _self=cmd)
    return state_of(cmd).host


def marks(cmd, name="benzene"):
    found = []
    cmd.iterate(name, "found.append((color, label, round(partial_charge, 4)))", space={"found": found, "round": round})
    return found


def drawings(values=VALUES):
    points = Points("bcp", np.arange(30.0).reshape(10, 3), tuple(map(str, range(10))), (1.0, 0.0, 0.0), 0.3)
    paths = Paths("bond_paths", (np.eye(3), np.ones((2, 3)) * [[1], [4]]), heads=True)
    return points, paths, AtomValues("charge", values, "e")


def test_points_paths_and_values_stand_in_a_group(cmd, host):
    before = marks(cmd)
    host.put_drawings("benzene", "topology", drawings())
    names = {"benzene_topology_bcp", "benzene_topology_bond_paths", "benzene_topology_scale"}
    assert names <= set(cmd.get_names("objects"))
    assert set(cmd.get_object_list("benzene_topology")) >= {"benzene_topology_bcp"}  # the group
    assert set(cmd.get_object_list("benzene_orb")) >= {"benzene_topology_bcp"}  # within that of the molecule
    np.testing.assert_allclose(cmd.get_coords("benzene_topology_bcp")[1], np.arange(3, 6) * 0.529177, atol=1e-4)
    assert host.structures() == ["benzene"]
    after = marks(cmd)
    assert [label for _, label, _ in after] == [f"{value:.2f}" for value in VALUES]
    np.testing.assert_allclose([charge for _, _, charge in after], VALUES, atol=1e-4)
    red, blue = (cmd.get_color_tuple(after[at][0]) for at in (0, -1))
    assert red[0] > red[2]
    assert blue[2] > blue[0]
    host.put_drawings("benzene", "topology", ())
    assert cmd.get_names("objects") == ["benzene"]
    assert marks(cmd) == before


def test_what_the_user_has_changed_since_stays(cmd, host):
    cmd.label("benzene and index 3", "'mine'")
    before = marks(cmd)
    host.put_drawings("benzene", "charges", drawings()[2:])
    cmd.color("green", "benzene and index 1")
    host.put_drawings("benzene", "other", drawings(VALUES[::-1])[2:])  # one marks the atoms at a time
    assert marks(cmd)[11][1] == "-0.30"
    host.put_drawings("benzene", "charges", ())
    host.put_drawings("benzene", "other", ())
    green = cmd.get_color_index("green")
    assert marks(cmd) == [(green, *before[0][1:]), *before[1:]]
    assert before[2][1] == "mine"


def test_values_that_are_none_mark_nothing(cmd, host):
    before = marks(cmd)
    host.put_drawings("benzene", "charges", drawings((np.nan,) * 6 + VALUES[6:])[2:])
    assert marks(cmd)[:6] == before[:6]
    with pytest.raises(OrbitileError, match="values of"):
        host.put_drawings("benzene", "charges", drawings((0.1,))[2:])
    assert marks(cmd) == before


def test_drawings_go_with_their_molecule(cmd, host, tmp_path):
    before = marks(cmd)
    host.put_drawings("benzene", "topology", drawings())
    cmd.set_name("benzene", "ring")
    assert {"ring_topology", "ring_topology_bcp", "ring_topology_bond_paths"} <= set(cmd.get_names("objects"))
    cmd.save(str(tmp_path / "kept.pse"))
    cmd.delete("ring")
    assert cmd.get_names("objects") == []
    cmd.load(str(tmp_path / "kept.pse"))
    assert "ring_topology_bcp" in cmd.get_names("objects")
    host.put_drawings("ring", "topology", ())
    assert marks(cmd, "ring") == before
    assert set(cmd.get_names("objects")) <= {"ring", "ring_orb"}


def test_drawings_of_any_object(cmd, host):
    cmd.fragment("ala")
    n = cmd.count_atoms("ala")
    host.put_drawings("ala", "interactions", (AtomValues("value", (0.1,) * n), drawings()[0]))
    assert "ala_interactions_bcp" in cmd.get_names("objects")
    cmd.set_name("ala", "mine")
    assert "mine_interactions_bcp" in cmd.get_names("objects")
    cmd.delete("mine")
    assert not [name for name in cmd.get_names("objects") if "interactions" in name]


def test_selections_name_atoms(cmd, host):
    assert host.atoms("benzene", "elem H") == (6, 7, 8, 9, 10, 11)
    assert host.selected("benzene") == ()
    host.select("benzene", (2, 4))
    assert host.selected("benzene") == (2, 4)
    assert host.atoms("benzene", "sele") == (2, 4)
    with pytest.raises(OrbitileError, match="selects no atom of benzene"):
        host.atoms("benzene", "elem Fe")
    before = cmd.get_view()
    host.centre((5.0, 0.0, 0.0))
    assert cmd.get_view() != before
    assert cmd.get_names("objects") == ["benzene"]


@pytest.mark.slow
def test_the_command_draws_and_takes_away(cmd, host, capsys):
    from orbitile.hosts.pymol.commands import PYMOL_COMMANDS

    charges = PYMOL_COMMANDS["orb_charges"]
    charges(_self=cmd, quiet=0)
    assert "sum of charges" in capsys.readouterr().out
    assert "benzene_charges" in cmd.get_names("objects")
    charges(draw="0", _self=cmd)
    assert cmd.get_names("objects") == ["benzene"]


def test_an_object_that_was_made_of_two_alike(cmd, host):
    """PyMOL gives the same numbers to the atoms of both."""
    for name in ("one", "two"):
        cmd.fragment("ala", name)
    cmd.create("pair", "one or two")
    n = cmd.count_atoms("pair")
    before = marks(cmd, "pair")
    values = tuple(np.linspace(-1, 1, n).tolist())
    host.put_drawings("pair", "charges", (AtomValues("charge", values, "e"),))
    assert [label for _, label, _ in marks(cmd, "pair")] == [f"{value:.2f}" for value in values]
    host.put_drawings("pair", "charges", ())
    assert marks(cmd, "pair") == before


def _drawn(cmd):
    """Drawings that are there, and whether atoms of benzene are labelled."""
    objects = {name for name in cmd.get_names("objects", enabled_only=1) if "_charges" in name or "_topology" in name}
    return objects, any(label for _, label, _ in marks(cmd)) if "benzene" in cmd.get_names("objects") else False


def test_drawings_stay_over_no_other_molecule_field_or_geometry(cmd, host, tmp_path):
    from orbitile.hosts.pymol.commands import PYMOL_COMMANDS, state_of
    from orbitile.session.analysing import order_of
    from tests.conftest import SAMPLES

    session = state_of(cmd)

    def load(path, **more):
        PYMOL_COMMANDS["orb_load"](str(path), _self=cmd, **more)

    def analyse():
        for name, drawn in (("charges", drawings()[2:]), ("topology", drawings()[:2])):
            session.draw("benzene", order_of(host, name, "benzene", {}, "cpu"), drawn)
        assert _drawn(cmd)[1]
        assert len(_drawn(cmd)[0]) > 3

    analyse()
    load(SAMPLES / "h2o_sto3g.fchk")  # the next file
    assert _drawn(cmd) == (set(), False)
    cmd.enable("benzene")  # which the user shows again
    session.look()
    assert _drawn(cmd)[1]
    load(BENZENE)  # the same file again
    assert _drawn(cmd) == (set(), False)
    analyse()
    PYMOL_COMMANDS["orb_mo"]("benzene", "homo", quality="coarse", _self=cmd)  # colours and their scale make room
    assert not _drawn(cmd)[1]
    assert not [name for name in _drawn(cmd)[0] if "_charges" in name]
    assert [name for name in _drawn(cmd)[0] if "_topology" in name]
    analyse()
    cmd.translate([1, 0, 0], "benzene", camera=0)
    session.look()
    assert _drawn(cmd) == (set(), False)
    cmd.translate([-1, 0, 0], "benzene", camera=0)
    session.look()
    assert _drawn(cmd)[1]
    cmd.save(str(tmp_path / "one.pse"))
    cmd.reinitialize()
    cmd.load(str(tmp_path / "one.pse"))  # in which they are
    assert _drawn(cmd)[1]
    load(SAMPLES / "h2o_sto3g.fchk")
    assert _drawn(cmd) == (set(), False)
    load(BENZENE)
    analyse()
    cmd.delete("benzene")
    assert _drawn(cmd) == (set(), False)
