"""The commands, in a real PyMOL without a window."""

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import trimesh

import orbitile as ob
from orbitile.model.units import angstrom
from tests.conftest import SAMPLES
from tests.pictures import shares_of_colours

pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")

BENZENE = str(files("orbitile") / "data" / "benzene.molden")


def call(cmd, name, *arguments, **keywords):
    """A command as a script calls it."""
    from orbitile.hosts.pymol import commands

    return getattr(commands, name)(*arguments, _self=cmd, **keywords)


def map_points(cmd, name):
    """Positions (bohr) of the points of a map, from PyMOL's own account of it, and the values there."""
    values = cmd.get_volume_field(name, 1, 1)
    low, high = np.array(cmd.get_extent(name))
    axes = [np.linspace(a, b, n) for a, b, n in zip(low, high, values.shape, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1) * angstrom, values


def test_the_molecule_appears_with_its_bonds(cmd):
    assert call(cmd, "orb_load", BENZENE) == "benzene"
    assert cmd.count_atoms("benzene and elem C") == 6
    assert len(cmd.get_model("benzene").bond) == 12
    expected = ob.load(BENZENE).positions / angstrom
    assert cmd.get_coords("benzene") == pytest.approx(expected, abs=1e-5)


def test_map_values_are_those_of_the_orbital_where_pymol_says_the_points_are(cmd):
    wavefunction = ob.load(BENZENE)
    call(cmd, "orb_load", BENZENE)
    surface = call(cmd, "orb_mo", "benzene", "lumo")
    points, values = map_points(cmd, f"{surface}_map")
    chosen = np.random.default_rng(0).integers(0, values.size, 3000)
    expected = ob.evaluate(wavefunction, "lumo", points.reshape(-1, 3)[chosen], device="cpu")
    # PyMOL keeps positions in single precision
    assert np.abs(values.ravel()[chosen] - expected).max() < 5e-6 * np.abs(expected).max() + 1e-6
    corner_atoms = wavefunction.positions
    low, high = points[0, 0, 0], points[-1, -1, -1]
    assert np.all(corner_atoms > low)
    assert np.all(corner_atoms < high)


def test_a_map_of_the_same_lattice_is_written_in_place(cmd):
    from orbitile.hosts.pymol.graphics import put_map

    lattice = ob.Lattice([-1.0, -2.0, -3.0], np.diag([0.2, 0.3, 0.4]), (5, 6, 7))
    values = np.random.default_rng(0).normal(size=(2, 5, 6, 7)).astype(np.float32)
    put_map(cmd, "m", ob.Volume(values[0], lattice))
    memory = cmd.get_volume_field("m", 1, 0)
    put_map(cmd, "m", ob.Volume(values[1], lattice))
    assert np.array_equal(memory, values[1])
    moved = ob.Lattice([-1.0, -2.0, -2.5], lattice.axes, lattice.shape)
    put_map(cmd, "m", ob.Volume(values[0], moved))
    points, found = map_points(cmd, "m")
    assert np.array_equal(found, values[0])
    assert points[0, 0, 0] == pytest.approx(moved.origin, abs=1e-5)


def test_a_skewed_lattice_lands_right(cmd):
    """PyMOL's own isosurface of the map of a Gaussian lies around its centre."""
    from orbitile.hosts.pymol.graphics import put_map

    lattice = ob.Lattice([-4.0, -3.0, -5.0], [[0.4, 0, 0], [0.1, 0.35, 0], [0.05, 0.1, 0.4]], (24, 24, 24))
    centre = lattice.points().mean(axis=0)
    values = np.exp(-((lattice.points() - centre) ** 2).sum(axis=1)).reshape(lattice.shape)
    put_map(cmd, "skew", ob.Volume(values.astype(np.float32), lattice))
    cmd.isosurface("ball", "skew", 0.5)
    cmd.refresh()
    low, high = np.array(cmd.get_extent("skew"))
    assert (low + high) / 2 * angstrom == pytest.approx(centre, abs=0.05)


def test_pymols_own_tools_work_on_our_map(cmd, tmp_path):
    call(cmd, "orb_load", BENZENE)
    base = call(cmd, "orb_mo", "benzene", "homo", quality="coarse")
    cmd.isomesh("mesh", f"{base}_map", 0.05)
    cmd.ramp_new("ramp", f"{base}_map", [-0.05, 0, 0.05], ["red", "white", "blue"])
    cmd.map_double(f"{base}_map")
    assert {"mesh", "ramp"} <= set(cmd.get_names("all"))


def test_pictures_show_both_colours(cmd, tmp_path):
    call(cmd, "orb_load", BENZENE)
    call(cmd, "orb_mo", "benzene", "homo")
    call(cmd, "orb_color", "blue", "yellow", "0.2")
    cmd.hide("everything", "benzene")
    cmd.orient("benzene")
    cmd.turn("x", 60)
    cmd.bg_color("white")
    cmd.ray(160, 120)
    cmd.png(str(tmp_path / "homo.png"))
    from PIL import Image

    pixels = np.asarray(Image.open(tmp_path / "homo.png").convert("RGB")).astype(int)
    red, blue = pixels[..., 0], pixels[..., 2]
    assert (blue - red > 60).mean() > 0.02
    assert (red - blue > 60).mean() > 0.02


def test_two_orbitals_of_two_molecules_at_once(cmd):
    call(cmd, "orb_load", BENZENE)
    call(cmd, "orb_load", str(SAMPLES / "h2o_sto3g.fchk"), "water")
    one = call(cmd, "orb_mo", "benzene", "homo", quality="coarse")
    two = call(cmd, "orb_mo", "benzene", "lumo+1", quality="coarse")
    three = call(cmd, "orb_mo", "water", "3", quality="coarse")
    assert (one, two, three) == ("benzene_homo", "benzene_lumo_p1", "water_mo3")
    assert {one, two, three, "benzene_orb", "water_orb"} <= set(cmd.get_names("objects"))


def test_walking(cmd):
    call(cmd, "orb_load", BENZENE)
    call(cmd, "orb_mo", "benzene", "homo", quality="coarse")
    assert call(cmd, "orb_next", quiet=1) == "benzene_mo22"
    assert call(cmd, "orb_prev", quiet=1) == "benzene_mo21"
    assert {n for n in cmd.get_names("objects") if "mo2" in n} == {"benzene_mo21_map", "benzene_mo21"}


def test_the_session_reopens_and_can_be_changed(cmd, tmp_path, capsys):
    copy = tmp_path / "copy.molden"
    copy.write_bytes(Path(BENZENE).read_bytes())
    call(cmd, "orb_load", str(copy), "ring")
    base = call(cmd, "orb_mo", "ring", "homo", 0.04, "coarse")
    cmd.set_name("ring", "renamed")
    cmd.save(str(tmp_path / "session.pse"))
    cmd.reinitialize()
    cmd.load(str(tmp_path / "session.pse"))
    assert {"renamed", base, f"{base}_map"} <= set(cmd.get_names("objects"))
    call(cmd, "orb_iso", 0.02)
    call(cmd, "orb_mo", "renamed", "lumo", quality="coarse")
    copy.unlink()
    cmd.reinitialize()
    capsys.readouterr()
    cmd.load(str(tmp_path / "session.pse"))
    assert "copy.molden is missing" in capsys.readouterr().out
    assert base in cmd.get_names("objects")


def test_deleting_and_reinitialising(cmd):
    from pymol import CmdException

    call(cmd, "orb_load", BENZENE)
    base = call(cmd, "orb_mo", quality="coarse")
    cmd.delete(base)
    with pytest.raises(CmdException, match="no orbital is shown"):
        call(cmd, "orb_iso", 0.03)
    cmd.reinitialize()
    with pytest.raises(CmdException, match="orb_load"):
        call(cmd, "orb_mo")


def test_exporting(cmd, tmp_path):
    call(cmd, "orb_load", BENZENE)
    call(cmd, "orb_mo", "benzene", "homo", quality="coarse")
    call(cmd, "orb_export", str(tmp_path / "homo.cube"))
    call(cmd, "orb_export", str(tmp_path / "homo.ply"))
    (volume,) = ob.load_volumes(tmp_path / "homo.cube")
    assert volume.quantity == "HOMO (orbital 21)"
    mesh = trimesh.load(tmp_path / "homo.ply")
    assert mesh.is_watertight
    assert len(mesh.split()) == 4  # two nodal planes


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("orb_load nofile.fchk", "no such file"),
        ("orb_mo nix", "no molecule with orbitals is called 'nix'"),
        ("orb_mo benzene, 9999", "orbitals 1 to 31"),
        ("orb_mo benzene, hommo", "Nearest match"),
        ("orb_mo benzene, homo, abc", "isovalue: expected a number"),
        ("orb_mo benzene, homo, -1", "isovalue: expected a positive number"),
        ("orb_mo benzene, homo, 0.03, best", "quality: expected coarse"),
        ("orb_field benzene, spin of the devil", "there is no"),
        ("orb_iso 0.03", "no orbital is shown"),
        ("orb_color red", "no orbital is shown"),
        ("orb_next", "no orbital is shown"),
        ("orb_export a.cube", "no orbital is shown"),
        ("orb_device abacus", "device: expected auto"),
    ],
)
def test_wrong_arguments_print_one_line_and_change_nothing(cmd, capfd, line, words):
    call(cmd, "orb_load", BENZENE)
    before = cmd.get_names("all")
    capfd.readouterr()
    cmd.do(line, echo=0)
    out, err = capfd.readouterr()
    assert words in out + err
    assert (out + err).strip().count("\n") == 0
    assert "Traceback" not in out + err
    assert cmd.get_names("all") == before


def test_help_and_completion(cmd):
    for command in ("orb_load", "orb_info", "orb_mo", "orb_field", "orb_iso", "orb_next", "orb_color", "orb_device"):
        text = cmd.keyword[command][0].__doc__
        assert "DESCRIPTION" in text
        assert "USAGE" in text
    call(cmd, "orb_load", BENZENE)
    assert "benzene" in cmd.auto_arg[0]["orb_mo"][0]().keywords
    assert "homo" in cmd.auto_arg[1]["orb_mo"][0]().keywords


def test_a_script_in_pymol_without_a_window(tmp_path):
    script = tmp_path / "orbital.pml"
    script.write_text(
        "python\nimport orbitile.hosts.pymol\npython end\n"
        f"orb_load {BENZENE}\norb_mo benzene, homo, quality=coarse\nray 80, 60\npng {tmp_path / 'homo.png'}\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pymol", "-cq", str(script)], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0
    one_lobe, other_lobe, background = shares_of_colours(tmp_path / "homo.png")
    assert min(one_lobe, other_lobe) > 0.01
    assert background > 0.3


def test_geometries_of_an_optimisation_are_states_and_the_orbital_belongs_to_the_last(cmd):
    import iodata.test.data

    source = files(iodata.test.data) / "peroxide_opt.fchk"
    wavefunction = ob.load(str(source))
    assert len(wavefunction.geometries) == 5
    call(cmd, "orb_load", str(source), "peroxide")
    assert cmd.count_states("peroxide") == 5
    for state in range(5):
        expected = wavefunction.geometries[state] / angstrom
        assert cmd.get_coords("peroxide", state + 1) == pytest.approx(expected, abs=1e-5)
    assert wavefunction.geometries[wavefunction.geometry] == pytest.approx(wavefunction.positions)
    assert cmd.get_state() == wavefunction.geometry + 1
    base = call(cmd, "orb_mo", "peroxide", "homo")
    assert cmd.count_states(base) == wavefunction.geometry + 1
    assert len(cmd.get_model("peroxide").bond) == 3


@pytest.mark.slow
def test_weak_interactions_colour_the_reduced_gradient(cmd):
    call(cmd, "orb_load", BENZENE)
    base = call(cmd, "orb_field", "benzene", "nci", quality="coarse")
    assert base == "benzene_rdg"
    from orbitile.hosts.pymol.commands import state_of

    (found,) = state_of(cmd).computing.samples
    assert found.surface.colouring.quantity == "sign(λ₂)ρ"
    assert found.isovalue == 0.5


@pytest.mark.slow
def test_a_density_surface_coloured_by_the_potential(cmd, tmp_path):
    call(cmd, "orb_load", BENZENE)
    base = call(cmd, "orb_field", "benzene", "density", 0.001, "coarse", color_by="esp")
    assert base == "benzene_density"
    assert {base, f"{base}_map", f"{base}_scale"} <= set(cmd.get_names("objects"))
    wavefunction = ob.load(BENZENE)
    from orbitile.evaluation.surfaces import coloured
    from orbitile.hosts.pymol.commands import state_of
    from orbitile.surfaces.isosurface import isosurface

    (found,) = state_of(cmd).computing.samples
    surface = coloured(isosurface(found.volume, 0.001), wavefunction, "esp", device="cpu")
    assert found.surface.colouring.values == pytest.approx(surface.colouring.values)
    assert surface.colouring.low == -surface.colouring.high
    # red above the ring, where the pi electrons are; blue at the hydrogens
    above = np.argmin(np.linalg.norm(surface.vertices[:, :2], axis=1))
    outside = np.argmax(np.linalg.norm(surface.vertices[:, :2], axis=1))
    assert surface.colouring.values[above] < -0.01
    assert surface.colouring.values[outside] > 0.01
    assert float(cmd.get("specular")) == 0  # a highlight would be read as zero
    call(cmd, "orb_iso", 0.002)
    assert list(state_of(cmd).computing.samples)[-1].isovalue == 0.002
    picture = tmp_path / "esp.png"
    cmd.png(str(picture), 320, 240, ray=1)
    from PIL import Image

    pixels = np.asarray(Image.open(picture).convert("RGB")).reshape(-1, 3).astype(int)
    reddish = (pixels[:, 0] - pixels[:, 2] > 40).sum()
    bluish = (pixels[:, 2] - pixels[:, 0] > 40).sum()
    assert reddish > 100
    assert bluish > 100
    cmd.save(str(tmp_path / "esp.pse"))
    cmd.load(str(tmp_path / "esp.pse"))
    cmd.delete("benzene_density")
    assert float(cmd.get("specular")) == 1


def test_an_object_without_a_wavefunction_is_its_free_atoms_with_its_partial_charges(cmd):
    cmd.fragment("gly", "peptide")
    cmd.alter("peptide", "partial_charge = 0")  # as of a PDB file
    with pytest.raises(Exception, match="partial charges"):
        call(cmd, "orb_field", "peptide", "density", color_by="esp")
    cmd.alter("peptide", "partial_charge = {'N': -0.4, 'O': -0.6, 'H': 0.2}.get(elem, 0.1)")
    surface = call(cmd, "orb_field", "peptide", "density", color_by="esp")
    before, _ = map_points(cmd, f"{surface}_map")
    points, values = map_points(cmd, f"{call(cmd, 'orb_field', 'peptide', 'esp')}_map")
    charges = []
    cmd.iterate("peptide", "charges.append(partial_charge)", space={"charges": charges})
    distances = np.linalg.norm(points[..., None, :] - cmd.get_coords("peptide") * angstrom, axis=-1)
    away = distances.min(axis=-1) > 0.5
    assert values[away] == pytest.approx((charges / distances).sum(axis=-1)[away], abs=2e-5)
    cmd.translate([0, 0, 3.0], "peptide")
    moved, _ = map_points(cmd, f"{call(cmd, 'orb_field', 'peptide', 'density')}_map")
    assert moved[..., 2].max() > before[..., 2].max() + 3
    with pytest.raises(Exception, match="no molecule"):
        call(cmd, "orb_field", surface, "density")


@pytest.mark.parametrize("field", ["spin", "density:homo-1..homo", "laplacian", "elf", "nci"])
def test_every_family_of_fields_can_be_shown(cmd, field):
    call(cmd, "orb_load", BENZENE)
    if field == "spin":
        from pymol import CmdException

        with pytest.raises(CmdException, match="paired"):
            call(cmd, "orb_field", "benzene", field)
        return
    base = call(cmd, "orb_field", "benzene", field, quality="coarse")
    assert {base, f"{base}_map"} <= set(cmd.get_names("objects"))


def test_a_name_that_is_left_out_at_the_prompt_is_that_of_the_only_molecule(cmd):
    call(cmd, "orb_load", BENZENE)
    cmd.do("orb_mo , lumo, , coarse", echo=0)
    assert "benzene_lumo" in cmd.get_names("objects")


def test_copies_and_parts_of_a_molecule_are_objects_like_any_other(cmd):
    from orbitile.hosts.pymol.commands import state_of

    call(cmd, "orb_load", BENZENE)
    call(cmd, "orb_mo", quality="coarse")
    cmd.create("copy", "benzene")
    cmd.create("early", "benzene and elem C")
    cmd.order("early copy", location="top")
    assert list(state_of(cmd).host.molecules()) == ["benzene"]
    cmd.delete("benzene")
    assert set(cmd.get_names("objects")) == {"copy", "early"}
    assert state_of(cmd).host.molecules() == {}
