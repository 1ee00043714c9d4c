"""VMD as a Python module: the real one where it is installed, otherwise a stand-in that takes the same arguments."""

import gc
import importlib
import inspect
import shutil
from importlib.resources import files

import numpy as np
import pytest

import orbitile as ob
from orbitile.hosts.vmd import commands
from orbitile.model.units import angstrom
from orbitile.session.commands import COMMANDS
from tests.conftest import SAMPLES

from . import vmd_module

BENZENE = str(files("orbitile") / "data" / "benzene.molden")


@pytest.fixture
def vmd(monkeypatch):
    try:
        module = importlib.import_module("vmd")
        for number in module.molecule.listall():
            module.molecule.delete(number)
    except ImportError:
        module = vmd_module.make()
    monkeypatch.setattr(commands, "import_module", lambda name: module)
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    commands.session.cache_clear()
    yield module
    commands.session.cache_clear()


def number_of(vmd, name):
    (number,) = (number for number in vmd.molecule.listall() if vmd.molecule.name(number) == name)
    return number


def reps(vmd, name):
    number = number_of(vmd, name)
    molrep = vmd.molrep
    return [(molrep.get_style(number, n), molrep.get_color(number, n)) for n in range(molrep.num(number))]


def points_and_values(vmd, number, index=0):
    """Of a volume of VMD's, in bohr; shape (n, 3) and (n,)."""
    data, shape, origin, edges = vmd.molecule.get_volumetric(number, index)
    steps = np.reshape(edges, (3, 3)) / (np.array(shape)[:, None] - 1)
    indices = np.stack(np.unravel_index(np.arange(len(data)), shape, order="F"), axis=1)
    return (np.array(origin) + indices @ steps) * angstrom, np.array(data)


def test_each_command_is_there_with_its_help():
    assert commands.__all__ == [command.name for command in COMMANDS]
    for command in COMMANDS:
        assert inspect.getdoc(getattr(commands, command.name)).startswith("DESCRIPTION")


def test_where_atoms_are_going_to_be_is_known_to_the_bit(vmd):
    commands.orb_load(BENZENE)
    viewer = commands.session().host
    held = viewer.as_held(viewer.positions("benzene") + np.random.default_rng(4).normal(size=(12, 3)))
    viewer.move("benzene", held)
    np.testing.assert_array_equal(viewer.positions("benzene"), held)


@pytest.mark.parametrize("field", ["homo", "lumo", "density"])
def test_vmd_has_the_values_where_they_belong(vmd, field):
    commands.orb_load(BENZENE)
    name = commands.orb_field("benzene", field, quality="coarse")
    points, values = points_and_values(vmd, number_of(vmd, name))
    chosen = np.random.default_rng(3).choice(len(points), 300)
    expected = ob.evaluate(ob.load(BENZENE), field, points[chosen], device="cpu")
    assert np.abs(values[chosen] - expected).max() < 5e-6 * np.abs(expected).max()


def test_an_orbital_is_two_isosurfaces(vmd):
    commands.orb_load(BENZENE)
    assert commands.orb_mo("benzene", quality="coarse", isovalue=0.03) == "benzene_homo"
    (style, colour), (other_style, other_colour) = reps(vmd, "benzene_homo")
    assert style.split() == ["Isosurface", *"0.03 0 0 0 1 1".split()]
    assert other_style.split()[1] == "-0.03"
    assert colour.startswith("ColorID ")
    assert other_colour.startswith("ColorID ")
    assert colour != other_colour
    assert vmd.molecule.get_top() == number_of(vmd, "benzene")


def test_the_view_stays(vmd):
    commands.orb_load(BENZENE)
    matrices = "center_matrix rotate_matrix scale_matrix global_matrix"
    one, turned = "{{1 0 0 0} {0 1 0 0} {0 0 1 0} {0 0 0 1}}", "{{1 0 0 0} {0 0 1 0} {0 -1 0 0} {0 0 0 1}}"
    molecule = number_of(vmd, "benzene")
    vmd.evaltcl(f"molinfo {molecule} set {{{matrices}}} {{{one} {turned} {one} {one}}}")
    before = vmd.evaltcl(f"molinfo {molecule} get {{{matrices}}}")
    name = commands.orb_mo("benzene", quality="coarse")
    assert vmd.evaltcl(f"molinfo {molecule} get {{{matrices}}}") == before
    assert vmd.evaltcl(f"molinfo {number_of(vmd, name)} get {{{matrices}}}") == before


def test_isovalue_and_colour_leave_the_volume_alone(vmd):
    commands.orb_load(BENZENE)
    name = commands.orb_mo("benzene", quality="coarse")
    number = number_of(vmd, name)
    commands.orb_iso(0.05)
    commands.orb_color("yellow", "orange", 0.5)
    assert number_of(vmd, name) == number
    assert vmd.molecule.num_volumetric(number) == 1
    assert reps(vmd, name)[0][0].split()[1] == "0.05"
    assert reps(vmd, name)[0][1] == "ColorID 4"
    assert vmd.molrep.get_material(number, 0) == "Orbitile050"
    with pytest.raises(ob.OrbitileError, match="VMD knows blue"):
        commands.orb_color("nonsense")


def test_a_second_field_colours_a_surface(vmd):
    commands.orb_load(BENZENE)
    name = commands.orb_field("benzene", "density", 0.001, "coarse", "esp", 0.02)
    number = number_of(vmd, name)
    assert vmd.molecule.num_volumetric(number) == 2
    assert reps(vmd, name) == [("Isosurface 0.001 0 0 0 1 1", "Volume 1")]
    assert vmd.molrep.get_scaleminmax(number, 0) == pytest.approx((-0.02, 0.02))
    _, values = points_and_values(vmd, number, 1)
    assert values.min() < -0.01
    assert values.max() > 0.01


def test_walking_leaves_nothing_behind(vmd):
    commands.orb_load(BENZENE)
    commands.orb_mo("benzene", 1, 0.05, "coarse")
    for _ in range(20):
        name = commands.orb_next()
    assert name == "benzene_mo21"
    assert sorted(map(vmd.molecule.name, vmd.molecule.listall())) == ["benzene", "benzene_mo21"]
    host = commands.session().host
    gc.collect()
    # what is kept of objects that are gone cannot be seen from outside
    assert all(len(known) == 1 for known in (host._looks, host._volumes))
    vmd.molecule.delete(number_of(vmd, name))
    with pytest.raises(ob.OrbitileError, match="no orbital is shown"):
        commands.orb_next()
    assert commands.orb_mo("benzene", quality="coarse") == "benzene_homo"


def test_geometries_are_frames_and_the_orbital_belongs_to_one(vmd):
    data = pytest.importorskip("iodata.test.data", reason="the files of iodata's tests are not installed")
    source = str(files(data) / "peroxide_opt.fchk")
    commands.orb_load(source, "peroxide")
    number = number_of(vmd, "peroxide")
    assert vmd.molecule.numframes(number) == 5
    assert vmd.molecule.get_frame(number) == ob.load(source).geometry


def test_frames_that_are_not_shown_do_not_replace_the_one_that_is(vmd, series):
    commands.orb_load(str(series))
    vmd.molecule.set_frame(number_of(vmd, "water"), 2)
    name = commands.orb_mo("water", quality="coarse", isovalue=0.1)
    commands.orb_frames()
    points, values = points_and_values(vmd, number_of(vmd, name))
    frame = ob.follow(ob.load_trajectory(series))[2]
    expected = ob.evaluate(frame, "mo:5", points[::97], device="cpu")
    assert np.abs(values[::97] - expected).max() < 5e-6


def test_files_and_molecules_that_change(vmd, tmp_path):
    job = tmp_path / "job.molden"
    shutil.copy(SAMPLES / "nh3_molden_cart.molden", job)
    assert commands.orb_load(str(job)) == "job"
    commands.orb_mo("job", quality="coarse")
    shutil.copy(SAMPLES / "neon_turbomole_def2-qzvp.molden", job)
    with pytest.raises(ob.OrbitileError, match="has changed since it was loaded"):
        commands.orb_mo("job", "lumo", quality="coarse")
    commands.orb_load(str(job))
    assert list(map(vmd.molecule.name, vmd.molecule.listall())) == ["job"]
    name = commands.orb_mo("job", quality="coarse")
    points, values = points_and_values(vmd, number_of(vmd, name))
    expected = ob.evaluate(ob.load(job), "homo", points[::7], device="cpu")
    assert np.abs(values[::7] - expected).max() < 5e-6 * np.abs(expected).max()
    vmd.molecule.delete(number_of(vmd, "job"))
    with pytest.raises(ob.OrbitileError, match="no orbital is shown"):
        commands.orb_next()
    assert vmd.molecule.listall() == []


def test_errors_are_orbitiles_own(vmd):
    with pytest.raises(ob.OrbitileError, match="no such file"):
        commands.orb_load("nofile.fchk")
    with pytest.raises(ob.OrbitileError, match="unknown"):
        commands.orb_mo(colour="blue")


def test_surfaces_are_hidden_drawn_as_meshes_and_come_back_with_their_molecule(vmd, tmp_path):
    commands.orb_load(BENZENE)
    name = commands.orb_mo("benzene", quality="coarse")
    commands.orb_style("mesh")
    assert all(style.endswith(" 1 1 1") for style, _ in reps(vmd, name))
    with pytest.raises(ob.OrbitileError, match="in this viewer, got fog"):
        commands.orb_style("fog")
    commands.orb_hide()
    assert not vmd.molecule.get_visible(number_of(vmd, name))
    commands.orb_unhide()
    vmd.molecule.set_visible(number_of(vmd, name), False)  # as the user does in VMD's main window
    assert commands.session().host.hidden({name: "benzene"}) == {name}
    shutil.copy(SAMPLES / "neon_turbomole_def2-qzvp.molden", tmp_path / "neon.molden")
    commands.orb_load(str(tmp_path / "neon.molden"))
    assert not vmd.molecule.get_visible(number_of(vmd, "benzene"))
    commands.orb_mo("benzene", "lumo", quality="coarse")
    assert vmd.molecule.get_visible(number_of(vmd, "benzene"))
    assert not vmd.molecule.get_visible(number_of(vmd, name))  # the user has hidden it
