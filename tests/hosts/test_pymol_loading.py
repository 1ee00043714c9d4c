"""PyMOL's own `load` of the files that Orbitile reads, in a real PyMOL without a window."""

import gzip
import json
import shutil
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import orbitile as ob
from tests.conftest import SAMPLES
from tests.hosts.test_pymol_panel import in_window, installed, needs_window

pymol = pytest.importorskip("pymol", reason="PyMOL (extra pymol) is not installed")

BENZENE = str(files("orbitile") / "data" / "benzene.molden")


def molecules(cmd):
    """Molecules with orbitals, by name, and the files that they came from."""
    from orbitile.hosts.pymol.commands import state_of
    from orbitile.session.source import files_of

    return {name: Path(files_of(source)[0]).name for name, source in state_of(cmd).host.molecules().items()}


def test_damaged_files_are_loaded_on_request_and_marked(cmd, tmp_path):
    text = (SAMPLES / "nh3_molden_pure.molden").read_text()
    path = tmp_path / "off.molden"
    path.write_text(text.replace("-0.007455", "-0.008455"))
    cmd.do(f"orb_load {path}")
    assert cmd.get_names() == []
    cmd.do(f"orb_load {path}, accept_damaged=1")
    cmd.do("orb_mo off, homo")
    from orbitile.hosts.pymol.commands import state_of

    assert molecules(cmd) == {"off": "off.molden!accept-damaged"}
    assert state_of(cmd).shelf["off_homo"].quantity == "HOMO (orbital 5) (damaged file)"


@pytest.mark.parametrize(
    ("sample", "name"),
    [
        ("h2o_sto3g.fchk", "h2o_sto3g"),
        ("nh3_molden_cart.molden", "nh3_molden_cart"),
        ("h2o.molden.input", "h2o"),
        ("ethanol.mkl", "ethanol"),
        ("h2o_sto3g.wfn", "h2o_sto3g"),
        ("water_sto3g_hf.wfx", "water_sto3g_hf"),
        ("ch3_hf_sto3g_fchk_multiwfn3.7.mwfn", "ch3_hf_sto3g_fchk_multiwfn3_7"),
    ],
)
def test_load_opens_wavefunctions(cmd, sample, name):
    cmd.load(str(SAMPLES / sample))
    assert molecules(cmd) == {name: sample}
    assert cmd.count_atoms(name) == ob.load(SAMPLES / sample).n_atoms


def test_the_arguments_of_load_keep_their_meaning(cmd, tmp_path, capsys):
    cmd.load(BENZENE, "ring")
    assert molecules(cmd) == {"ring": "benzene.molden"}
    assert capsys.readouterr().out == ""
    odd = tmp_path / "job.txt"
    shutil.copy(SAMPLES / "h2o_sto3g.fchk", odd)
    cmd.load(str(odd), format="fchk", quiet=0)
    assert molecules(cmd) == {"ring": "benzene.molden", "job": "job.txt"}
    assert "orb_mo job, homo" in capsys.readouterr().out
    cmd.do(f"load {BENZENE}, other", echo=0)
    assert set(molecules(cmd)) == {"ring", "job", "other"}
    with pytest.raises(pymol.CmdException, match="scan"):
        cmd.load(BENZENE, "ring", 2)
    cmd.fragment("ala", "mine")
    with pytest.raises(pymol.CmdException, match="taken by another object"):
        cmd.load(BENZENE, "mine")


def test_compressed_files_and_whole_folders_of_them(cmd, tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / f"{name}.fchk.gz").write_bytes(gzip.compress((SAMPLES / "h2o_sto3g.fchk").read_bytes()))
    cmd.loadall(str(tmp_path / "*.fchk.gz"), "both")
    assert molecules(cmd) == {"cat": "cat.fchk.gz", "dog": "dog.fchk.gz"}
    assert set(cmd.get_object_list("both")) == {"cat", "dog"}


@pytest.mark.slow
def test_folders_and_archives(cmd, tmp_path, capsys):
    from orbitile.hosts.pymol import commands

    for frame in (1, 2, 3):
        (tmp_path / f"job{frame}").mkdir()
        shutil.copy(SAMPLES / "h2o.molden.input", tmp_path / f"job{frame}" / "step1.molden")
    shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path / "job1")
    for path in ("job1", "packed.zip", "packed.zip!step1.molden"):
        commands.orb_load([str(tmp_path / path)], _self=cmd)
    assert set(molecules(cmd)) == {"job1", "packed", "step1"}
    assert "step1.molden was taken from packed.zip, the only file there with orbitals" in capsys.readouterr().out
    commands.orb_mo("packed", "homo", _self=cmd)
    shutil.copy(SAMPLES / "h2o.molden.input", tmp_path / "job2" / "step2.molden")
    commands.orb_load([str(tmp_path / "job2")], _self=cmd)
    assert cmd.count_states("job2") == 2


def test_a_pattern_is_a_trajectory(cmd, tmp_path):
    for frame in (1, 2, 3):
        shutil.copy(SAMPLES / "h2o.molden.input", tmp_path / f"step{frame}.molden")
    cmd.load(str(tmp_path / "step*.molden"))
    assert cmd.count_states("step") == 3


def test_equal_names_of_two_folders_are_two_objects(cmd, tmp_path):
    for folder, sample in (("one", "h2o.molden.input"), ("two", "nh3_molden_cart.molden")):
        (tmp_path / folder).mkdir()
        shutil.copy(SAMPLES / sample, tmp_path / folder / "job.molden")
        cmd.load(str(tmp_path / folder / "job.molden"))
    assert list(molecules(cmd)) == ["job", "job_2"]
    assert [cmd.count_atoms(name) for name in ("job", "job_2")] == [3, 4]
    cmd.load(str(tmp_path / "two" / "job.molden"))
    assert list(molecules(cmd)) == ["job", "job_2"]


def test_a_name_is_numbered_that_a_selection_has(cmd):
    cmd.fragment("ala", "mine")
    cmd.select("benzene", "mine and elem C")
    cmd.load(BENZENE)
    assert list(molecules(cmd)) == ["benzene_2"]
    assert cmd.count_atoms("benzene") == 3


def test_logs_are_opened_and_files_of_macromodel_stay_with_pymol(cmd, tmp_path):
    cmd.fragment("ala", "mine")
    for ending in ("out", "dat", "mmd"):
        cmd.save(str(tmp_path / f"small_{ending}.{ending}"), "mine", format="mmod")
        cmd.load(str(tmp_path / f"small_{ending}.{ending}"))
        assert cmd.count_atoms(f"small_{ending}") == 10
    assert molecules(cmd) == {}
    job = tmp_path / "job.out"
    shutil.copy(SAMPLES / "h2o_sto3g.fchk", job)  # its beginning tells what it is
    cmd.load(str(job))
    assert molecules(cmd) == {"job": "job.out"}
    for ending in ("out", "log"):
        other = tmp_path / f"notes.{ending}"
        other.write_text("12 eggs\nand some flour\n")
        with pytest.raises(pymol.CmdException, match=f"notes.{ending}"):
            cmd.load(str(other))
    with pytest.raises(pymol.CmdException, match="no such file"):
        cmd.load(str(tmp_path / "missing.fchk"))


def test_other_formats_are_as_before(cmd, tmp_path):
    cmd.fragment("ala", "one")
    for ending in ("pdb", "xyz", "mol2", "cif", "pse"):
        cmd.save(str(tmp_path / f"one.{ending}"), "one")
        cmd.delete("all")
        cmd.load(str(tmp_path / f"one.{ending}"))
        assert cmd.count_atoms("one") == 10
    script = tmp_path / "script.pml"
    script.write_text("create two, one\n")
    cmd.load(str(script))
    assert "two" in cmd.get_names()


def test_several_files_are_loaded_one_by_one(cmd, tmp_path, capsys):
    spaced = tmp_path / "my water.molden"
    shutil.copy(SAMPLES / "h2o.molden.input", spaced)
    cmd.do(f"orb_load '{spaced}' {SAMPLES / 'nothing.fchk'} {SAMPLES / 'ethanol.mkl'}", echo=0)
    assert molecules(cmd) == {"my_water": "my water.molden", "ethanol": "ethanol.mkl"}
    out = capsys.readouterr().out
    assert "nothing.fchk: no such file" in out
    assert "orb_mo my_water, homo" in out
    assert "orb_mo ethanol, homo" in out
    from orbitile.hosts.pymol import commands

    with pytest.raises(pymol.CmdException, match=r"one\.fchk: no such.*two\.fchk: no such"):
        commands.orb_load(["/none/one.fchk", "/none/two.fchk"], _self=cmd)
    assert commands.orb_load([str(spaced), BENZENE], _self=cmd) == "my_water benzene"
    assert commands.orb_load([str(spaced), str(spaced)], "twice", _self=cmd) == "twice"
    assert cmd.count_states("twice") == 2


def seen(cmd):
    return set(cmd.get_names("objects", enabled_only=1))


def test_opening_looks_at_the_molecule_and_hides_the_one_before(cmd):
    from orbitile.hosts.pymol import commands

    cmd.fragment("ala", "mine")
    cmd.translate([50, 0, 0], "mine")
    commands.orb_load(BENZENE, _self=cmd)
    assert cmd.get_position() == pytest.approx([0, 0, 0], abs=0.01)
    assert seen(cmd) == {"mine", "benzene"}  # what Orbitile did not load stays
    commands.orb_mo("benzene", "homo", quality="coarse", _self=cmd)
    view = cmd.get_view()
    commands.orb_load(str(SAMPLES / "ethanol.mkl"), _self=cmd)
    assert cmd.get_view() != view
    assert seen(cmd) & {"benzene", "benzene_homo", "ethanol"} == {"ethanol"}
    view = cmd.get_view()
    commands.orb_load(str(SAMPLES / "ethanol.mkl"), _self=cmd)  # again: nothing moves
    assert cmd.get_view() == view
    cmd.load(str(SAMPLES / "h2o.molden.input"), zoom=0)
    assert cmd.get_view() == view
    assert {"ethanol", "h2o"} <= seen(cmd)  # PyMOL's own command hides nothing in scripts
    commands.orb_load(str(SAMPLES / "h2_sto3g.mkl"), hide=0, view="orient", _self=cmd)
    assert {"h2o", "h2_sto3g"} <= seen(cmd)
    commands.orb_mo("benzene", "lumo", quality="coarse", _self=cmd)  # who asks for it wants to see it
    assert {"benzene", "benzene_homo", "benzene_lumo"} <= seen(cmd)
    cmd.disable("benzene_homo")
    commands.orb_load(str(SAMPLES / "ethanol.mkl"), "one_more", _self=cmd)
    assert seen(cmd).isdisjoint({"benzene", "benzene_lumo"})
    cmd.set_name("benzene", "ring")
    cmd.enable("ring")
    commands.orb_info("ring", _self=cmd)
    assert {"ring", "benzene_lumo"} <= seen(cmd)
    assert "benzene_homo" not in seen(cmd)  # that the user has hidden


def test_what_was_set_aside_comes_back_in_another_session(cmd, tmp_path):
    from orbitile.hosts.pymol import commands

    commands.orb_load(BENZENE, _self=cmd)
    commands.orb_mo("benzene", "homo", quality="coarse", _self=cmd)
    commands.orb_load(str(SAMPLES / "ethanol.mkl"), _self=cmd)
    cmd.save(str(tmp_path / "kept.pse"))
    cmd.reinitialize()
    cmd.load(str(tmp_path / "kept.pse"))
    assert "benzene_homo" not in seen(cmd)
    cmd.enable("benzene")
    commands.orb_info("benzene", _self=cmd)
    assert "benzene_homo" in seen(cmd)


def test_the_view_stays_where_pymol_is_told_so(cmd):
    cmd.set("auto_zoom", 0)
    view = cmd.get_view()
    cmd.load(BENZENE)
    assert cmd.get_view() == view


@pytest.mark.parametrize(
    ("axis", "angle", "turned"), [("y", 90, True), ("x", 85, True), ("x", 30, False), ("z", 90, False)]
)
def test_a_flat_molecule_that_is_seen_from_its_edge_is_turned(cmd, axis, angle, turned):
    cmd.turn(axis, angle)
    view = cmd.get_view()[:9]
    cmd.load(BENZENE)
    assert (cmd.get_view()[:9] != pytest.approx(view, abs=1e-5)) == turned
    seen = cmd.get_coords("benzene") @ np.array(cmd.get_view()[:9]).reshape(3, 3)[:, :2]
    assert np.linalg.svd(seen - seen.mean(axis=0), compute_uv=False)[1] > 2


def test_a_long_molecule_is_not_seen_from_its_end_unless_others_are_seen_with_it(cmd, tmp_path):
    from orbitile.hosts.pymol import commands

    gto, scf = pytest.importorskip("pyscf.gto", reason="PySCF (extra scf) is not installed"), import_module("pyscf.scf")
    atoms = "C 0 0 -0.6; C 0 0 0.6; H 0 0 -1.66; H 0 0 1.66"
    found = scf.RHF(gto.M(atom=atoms, basis="sto-3g", verbose=0)).run()
    import_module("pyscf.tools.molden").from_scf(found, str(tmp_path / "acetylene.molden"))
    cmd.fragment("ala", "mine")
    view = cmd.get_view()[:9]
    commands.orb_load(str(tmp_path / "acetylene.molden"), _self=cmd)
    assert cmd.get_view()[:9] == pytest.approx(view)  # the user looks at another one too
    cmd.delete("mine acetylene")
    commands.orb_load(str(tmp_path / "acetylene.molden"), _self=cmd)
    across = cmd.get_coords("acetylene") @ np.array(cmd.get_view()[:9]).reshape(3, 3)[:, :2]
    assert np.ptp(across, axis=0).max() > 2.5  # of 3.3 Angstrom


@pytest.mark.parametrize("view", ["zoom", "orient"])
def test_one_atom_is_looked_at_without_complaint(cmd, view, capfd):
    from orbitile.hosts.pymol import commands

    commands.orb_load(str(SAMPLES / "he_s_orbital.fchk"), view=view, _self=cmd)
    assert -cmd.get_view()[11] > 5  # Angstrom from the camera
    assert capfd.readouterr().out == ""


@pytest.mark.slow
@needs_window
def test_files_are_opened_as_pymol_opens_files(tmp_path):
    """On its command line, in its dialog, and dropped onto it and onto our window."""
    installed(tmp_path)
    samples = {"job.fchk": "h2o_sto3g.fchk", "water.molden": "h2o.molden.input", "large.fchk": "o2_cc_pvtz_pure.fchk"}
    samples |= {f"{name}.mkl": "h2_sto3g.mkl" for name in ("early", "one", "three", "four", "five", "six")}
    for name, sample in samples.items():
        shutil.copy(SAMPLES / sample, tmp_path / name)
    wavefunction = ob.load(BENZENE)
    lattice = ob.enclosing_lattice(wavefunction, "density", 1e-3, spacing=0.5)
    ob.save(ob.compute(wavefunction, "density", lattice, device="cpu"), tmp_path / "density.cube")
    (tmp_path / "broken.molden").write_text("[Molden Format]\nnothing\n")
    (tmp_path / "run7").mkdir()
    shutil.copy(SAMPLES / "h2_sto3g.mkl", tmp_path / "run7")
    shutil.make_archive(str(tmp_path / "run8"), "zip", tmp_path / "run7")
    report_file, driver = tmp_path / "report.json", Path(__file__).with_name("loading_driver.py")
    out = in_window(
        driver,
        tmp_path,
        opened=(tmp_path / "job.fchk", tmp_path / "early.mkl"),
        REPORT=str(report_file),
        FOLDER=str(tmp_path),
    )
    assert report_file.exists(), out
    report = json.loads(report_file.read_text())
    assert report.pop("done", False), report
    assert report["on the command line"] == ["early", "early_mo1", "early_orb", "job"]
    assert report["opened by the dialog"] == ["job", "early", "water"]
    assert report["recent"] == ["water.molden"]
    assert {"water", "water_mo5"} <= set(report["seen"])
    assert "job" not in report["seen"]
    assert report["dropped onto the viewport"]
    assert report["together"] == ["density", "one"]
    assert report["said"] == "electron density, isovalue 0.04 e bohr⁻³"
    assert report["by PyMOL"] == "object:map"
    assert report["turns while it is read"]
    assert report["read"] == "large"
    assert report["dropped three.mkl"]
    assert report["dropped four.mkl"]
    assert report["menu"] == [["four.mkl", "three.mkl"], ["Zoom to it"]]
    assert report["view stays"]
    assert report["dropped run7"]
    assert report["dropped run8.zip"]
    assert report["panel"] == "run8"
    assert report["field"] == "mo:1"
    assert report["beside each other"] == ["five", "six"]
    assert "broken.molden" in out
    assert "Traceback" not in out
