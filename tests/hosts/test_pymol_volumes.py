"""Files of volumes in a real PyMOL without a window: surfaces that can be changed as all others."""

import shutil
from dataclasses import replace
from importlib.resources import files
from importlib.util import find_spec

import numpy as np
import pytest

import orbitile as ob
from orbitile.model.units import angstrom
from tests.conftest import SAMPLES

pymol = pytest.importorskip("pymol", reason="PyMOL (extra pymol) is not installed")

ENDINGS = ("cube", "dx", "mrc", "npz", *(["zarr"] if find_spec("zarr") else []))
BENZENE = str(files("orbitile") / "data" / "benzene.molden")


@pytest.fixture(scope="module")
def cubes(tmp_path_factory):
    """A folder with an orbital of benzene and its density in all formats."""
    folder = tmp_path_factory.mktemp("cubes")
    wavefunction = ob.load(BENZENE)
    for field in ("homo", "density"):
        lattice = ob.enclosing_lattice(wavefunction, field, 1e-3, spacing=0.35)
        volume = ob.compute(wavefunction, field, lattice, device="cpu")
        for ending in ENDINGS:
            ob.save(volume, folder / f"{field}.{ending}", wavefunction=wavefunction)
    return folder


def command(cmd, name, *arguments, **keywords):
    from orbitile.hosts.pymol import commands

    return getattr(commands, name)(*arguments, _self=cmd, **keywords)


def shown(cmd, name):
    from orbitile.hosts.pymol.commands import state_of

    return state_of(cmd).shelf[name]


def test_an_orbital_from_a_cube_is_shown_as_that_of_a_wavefunction(cmd, cubes, tmp_path):
    assert command(cmd, "orb_load", str(cubes / "homo.cube")) == "homo"
    assert {"homo", "homo_values", "homo_values_map"} <= set(cmd.get_names("objects"))
    assert cmd.get_coords("homo") == pytest.approx(ob.load(BENZENE).positions / angstrom, abs=1e-4)
    expected = ob.default_isovalue(ob.load(BENZENE), "homo", device="cpu")
    assert shown(cmd, "homo_values").isovalue == pytest.approx(expected, rel=0.03)
    command(cmd, "orb_iso", 0.02)
    assert shown(cmd, "homo_values").isovalue == 0.02
    command(cmd, "orb_color", "orange", "purple", 0.5)
    command(cmd, "orb_export", str(tmp_path / "again.cube"))
    (before,), (after,) = ob.load_volumes(cubes / "homo.cube"), ob.load_volumes(tmp_path / "again.cube")
    assert after.values == pytest.approx(before.values, abs=1e-6)


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_density_is_shown_where_the_molecule_is(cmd, cubes, ending):
    surface = f"{command(cmd, 'orb_load', str(cubes / f'density.{ending}'))}_values"
    assert 0.01 < shown(cmd, surface).isovalue < 0.04
    assert cmd.count_atoms("density") == (12 if ending in ("cube", "zarr") else 1)
    extent = np.array(cmd.get_extent(surface))
    assert np.all(np.abs(extent.mean(axis=0)) < 0.3)  # it is where the molecule is
    assert -cmd.get_view()[11] > np.linalg.norm(extent[1] - extent[0])  # and seen whole


def test_the_density_of_a_heavy_atom_is_not_that_of_its_core(cmd, tmp_path):
    zinc = ob.load(SAMPLES / "orca_zn_cc_pvqz_pure.molden")
    lattice = ob.enclosing_lattice(zinc, "density", 1e-3, spacing=0.3)
    ob.save(ob.compute(zinc, "density", lattice, device="cpu"), tmp_path / "zinc.cube", wavefunction=zinc)
    command(cmd, "orb_load", str(tmp_path / "zinc.cube"))
    assert 0.001 < shown(cmd, "zinc_values").isovalue < 0.03


def test_several_kinds_of_files_at_once(cmd, cubes):
    names = command(cmd, "orb_load", [BENZENE, str(cubes / "density.cube"), str(SAMPLES / "ethanol.mkl")])
    assert names == "benzene density ethanol"
    assert {"benzene", "density", "density_values", "density_orb"} <= set(cmd.get_names("objects", enabled_only=1))
    assert command(cmd, "orb_mo", "ethanol", quality="coarse") == "ethanol_homo"


def test_one_rule_names_what_comes_from_files_of_one_name(cmd, cubes, tmp_path):
    folders = [tmp_path / name for name in ("one", "two", "three")]
    sources = (SAMPLES / "ethanol.mkl", SAMPLES / "h2_sto3g.mkl", cubes / "density.cube")
    copies = [folder / f"job{source.suffix}" for folder, source in zip(folders, sources, strict=True)]
    for folder, source, copy in zip(folders, sources, copies, strict=True):
        folder.mkdir()
        shutil.copy(source, copy)
    assert command(cmd, "orb_load", [str(copy) for copy in copies]) == "job job_2 job_3"
    assert [cmd.count_atoms(name) for name in ("job", "job_2", "job_3")] == [9, 2, 12]
    assert "job_3_values" in cmd.get_names()
    assert command(cmd, "orb_load", [str(copies[2]), str(copies[0])]) == "job_3 job"


def test_a_cube_is_refused_what_it_cannot_give(cmd, cubes, tmp_path):
    command(cmd, "orb_load", str(cubes / "density.cube"))
    assert command(cmd, "orb_field", "density", "values", 0.05) == "density_values"
    for name, *arguments in (("orb_mo", "density"), ("orb_field", "density", "esp"), ("orb_info", "density")):
        with pytest.raises(pymol.CmdException, match="holds"):
            command(cmd, name, *arguments)
    (tmp_path / "bad.cube").write_text("nothing\n")
    with pytest.raises(pymol.CmdException, match=r"bad\.cube"):
        command(cmd, "orb_load", str(tmp_path / "bad.cube"))
    assert "bad" not in cmd.get_names()


def test_skewed_lattices_and_saved_sessions(cmd, tmp_path, capsys):
    file = tmp_path / "periodic.cube"
    shutil.copy(SAMPLES / "aelta.cube", file)
    command(cmd, "orb_load", str(file))
    assert cmd.count_atoms("periodic") == 72
    cmd.save(str(tmp_path / "kept.pse"))
    cmd.reinitialize()
    cmd.load(str(tmp_path / "kept.pse"))
    capsys.readouterr()
    isovalue = shown(cmd, "periodic_values").isovalue
    command(cmd, "orb_iso", isovalue * 0.8)
    assert shown(cmd, "periodic_values").isovalue == pytest.approx(isovalue * 0.8)
    file.write_text(file.read_text() + " ")
    with pytest.raises(pymol.CmdException, match="has changed"):
        command(cmd, "orb_field", "periodic", "values", isovalue * 0.5)


def test_fog_and_slices_follow_their_surface_and_leave_nothing_behind(cmd):
    command(cmd, "orb_load", BENZENE)
    name = command(cmd, "orb_mo", "benzene", "homo", 0.04, quality="coarse")
    before = set(cmd.get_names("objects"))
    command(cmd, "orb_style", "fog")
    assert set(cmd.get_names("objects")) - before == {f"{name}_fog"}
    values = np.reshape(cmd.volume_color(f"{name}_fog"), (-1, 5))
    assert values[:, 0] == pytest.approx([-0.16, -0.04, -0.02, 0.02, 0.04, 0.16])
    assert values[0, 1:4] == pytest.approx(shown(cmd, name).look.colours[1])
    command(cmd, "orb_iso", 0.02)
    assert cmd.volume_color(f"{name}_fog")[-5] == pytest.approx(0.08)
    command(cmd, "orb_color", "red", "green", 0.5)
    assert cmd.volume_color(f"{name}_fog")[-4:] == pytest.approx([1.0, 0.0, 0.0, 0.04])
    command(cmd, "orb_hide")
    assert f"{name}_fog" not in cmd.get_names("objects", enabled_only=1)
    command(cmd, "orb_style", "slice")
    assert set(cmd.get_names("objects")) - before == {f"{name}_slice", f"{name}_ramp"}
    command(cmd, "orb_style", "surface")
    assert set(cmd.get_names("objects")) == before
    command(cmd, "orb_style", "slice")
    command(cmd, "orb_delete", name)
    assert cmd.get_names("objects") == ["benzene"]


@pytest.mark.parametrize("style", ["fog", "slice"])
def test_the_ray_tracer_refuses_what_it_does_not_draw(cmd, tmp_path, style):
    command(cmd, "orb_load", BENZENE)
    name = command(cmd, "orb_mo", "benzene", "homo", 0.04, quality="coarse")
    command(cmd, "orb_style", style)
    with pytest.raises(pymol.CmdException, match=rf"no fog and no slices, as {name} is; leave ray out"):
        command(cmd, "orb_picture", str(tmp_path / "a.png"), 80, 60, "ray")
    assert not list(tmp_path.iterdir())
    command(cmd, "orb_hide", name)
    command(cmd, "orb_picture", str(tmp_path / "a.png"), 80, 60, "ray")


def test_fog_follows_the_new_name_of_its_surface(cmd):
    command(cmd, "orb_load", BENZENE)
    name = command(cmd, "orb_mo", "benzene", "homo", 0.04, quality="coarse")
    command(cmd, "orb_style", "fog")
    cmd.set_name(name, "renamed")
    command(cmd, "orb_surfaces")
    assert {"renamed", "renamed_map", "renamed_fog"} <= set(cmd.get_names("objects"))
    assert f"{name}_fog" not in cmd.get_names("objects")
    cmd.delete("renamed")
    command(cmd, "orb_surfaces")
    assert cmd.get_names("objects") == ["benzene"]


def test_drawing_a_volume_leaves_the_view_as_it_is(cmd):
    command(cmd, "orb_load", BENZENE)
    command(cmd, "orb_mo", "benzene", "homo", 0.04, quality="coarse")
    view, zooms = cmd.get_view(), cmd.get("auto_zoom")
    for style in ("fog", "slice"):
        command(cmd, "orb_style", style)
        command(cmd, "orb_iso", 0.03)
        assert cmd.get_view() == pytest.approx(view, abs=1e-4)
    assert cmd.get("auto_zoom") == zooms


def test_a_lattice_that_pymol_cannot_hold_is_interpolated_and_drawn(cmd, tmp_path, capsys):
    """Its axes lie aslant in all three directions; the field is linear, so that interpolation is exact."""
    axes = 0.5 * np.array([[1.0, 0.2, 0.1], [-0.2, 1.0, 0.3], [0.1, -0.1, 1.0]])
    lattice = ob.Lattice(np.array([-2.0, -2.0, -2.0]), axes, (9, 8, 10))
    volume = ob.Volume((lattice.points() @ [0.1, 0.2, -0.3]).reshape(lattice.shape), lattice, "test", "e bohr^-3")
    ob.save(volume, tmp_path / "aslant.cube")
    command(cmd, "orb_load", str(tmp_path / "aslant.cube"))
    assert "aslant_values_map is interpolated" in capsys.readouterr().out
    values = cmd.get_volume_field("aslant_values_map", 1, 1)
    low, high = (np.array(corner) * angstrom for corner in cmd.get_extent("aslant_values_map"))
    places = [np.linspace(a, b, n) for a, b, n in zip(low, high, values.shape, strict=True)]
    points = np.stack(np.meshgrid(*places, indexing="ij"), axis=-1)
    index = (points - lattice.origin) @ np.linalg.inv(axes)
    inside = np.all((index > 0) & (index < np.array(lattice.shape) - 1), axis=-1)
    assert values.size < 5 * volume.values.size
    assert values[inside] == pytest.approx((points @ [0.1, 0.2, -0.3])[inside], abs=1e-5)
    assert inside.sum() > 200
    command(cmd, "orb_style", "fog")
    assert "aslant_values_fog" in cmd.get_names("objects")


def test_fog_of_a_saved_session_is_ours_again(cmd, tmp_path):
    command(cmd, "orb_load", BENZENE)
    name = command(cmd, "orb_mo", "benzene", "homo", 0.04, quality="coarse")
    command(cmd, "orb_style", "fog")
    cmd.save(str(tmp_path / "fog.pse"))
    cmd.reinitialize()
    cmd.load(str(tmp_path / "fog.pse"))
    assert cmd.volume_color(f"{name}_fog")[-5] == pytest.approx(0.16)
    command(cmd, "orb_iso", 0.02)
    assert cmd.volume_color(f"{name}_fog")[-5] == pytest.approx(0.08)
    command(cmd, "orb_delete", name)
    assert cmd.get_names("objects") == ["benzene"]


def test_styles_that_cannot_be_drawn_are_not_offered(cmd):
    from orbitile.hosts.pymol.commands import state_of
    from orbitile.session.commands import orb_style

    command(cmd, "orb_load", BENZENE)
    name = command(cmd, "orb_mo", "benzene", "homo", 0.04, quality="coarse")
    session = state_of(cmd)
    assert session.words_for(orb_style.arguments[0]) == ["surface", "two-sided", "mesh", "dots", "fog", "slice"]
    request = session.shelf[name].request
    assert session.styles_of(request)[-2:] == ["fog", "slice"]
    assert session.styles_of(replace(request, color_by="esp"))[-1] == "dots"
