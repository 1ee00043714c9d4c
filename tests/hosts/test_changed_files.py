"""A file that changes under a molecule, files of one name, molecules that come and go: in a real PyMOL."""

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from tests.conftest import SAMPLES

pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")

from tests.hosts.test_pymol_commands import BENZENE, call, map_points

AMMONIA, NEON = SAMPLES / "nh3_molden_cart.molden", SAMPLES / "neon_turbomole_def2-qzvp.molden"


@pytest.fixture
def refused(cmd):
    from pymol import CmdException

    def expect(words, *arguments, **keywords):
        with pytest.raises(CmdException, match=words):
            call(cmd, *arguments, **keywords)

    return expect


def shows(cmd, surface, path, field):
    """Whether the map of a surface holds a field of the wavefunction that is in a file."""
    points, values = map_points(cmd, f"{surface}_map")
    chosen = np.random.default_rng(0).integers(0, values.size, 500)
    expected = ob.evaluate(ob.load(path), field, points.reshape(-1, 3)[chosen], device="cpu")
    return np.abs(values.ravel()[chosen] - expected).max() < 1e-4


def moving(path, still, n_frames):
    """A series of a molecule that moves along x."""
    pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")
    path.unlink(missing_ok=True)
    with ob.SeriesWriter(path) as writer:
        for n in range(n_frames):
            writer.append(replace(still, positions=still.positions + np.array([0.1 * n, 0, 0]), geometries=np.empty(0)))


def test_a_file_that_was_replaced_and_is_opened_again_shows_its_own_orbital(cmd, tmp_path):
    job = tmp_path / "job.molden"
    for file in (AMMONIA, NEON, AMMONIA):
        shutil.copy(file, job)
        assert call(cmd, "orb_load", str(job)) == "job"
        assert cmd.count_atoms("job") == ob.load(file).n_atoms
        assert {name for name in cmd.get_names("objects") if name.startswith("job_") and name != "job_orb"} == set()
        assert call(cmd, "orb_mo", "job", "homo", quality="coarse") == "job_homo"
        assert shows(cmd, "job_homo", file, "homo")


def test_a_file_that_changes_under_its_molecule_is_refused_until_it_is_opened_again(cmd, refused, tmp_path):
    job = tmp_path / "job.molden"
    shutil.copy(AMMONIA, job)
    call(cmd, "orb_load", str(job))
    call(cmd, "orb_mo", "job", "homo", quality="coarse")
    shutil.copy(NEON, job)
    before = cmd.get_names("all")
    refused("has changed since it was loaded", "orb_mo", "job", "lumo", quality="coarse")
    refused("has changed since it was loaded", "orb_mo", "job", "homo", quality="coarse")
    refused("has changed since it was loaded", "orb_next")
    refused("has changed since it was loaded", "orb_info", "job")
    refused("has changed since it was loaded", "orb_export", str(tmp_path / "homo.cube"))
    assert cmd.get_names("all") == before
    call(cmd, "orb_iso", 0.05)  # needs what was computed before, and nothing of the file
    assert shows(cmd, "job_homo", AMMONIA, "homo")
    shutil.copy(AMMONIA, job)  # it holds again what it held
    call(cmd, "orb_mo", "job", "lumo", quality="coarse")
    assert shows(cmd, "job_lumo", AMMONIA, "lumo")


def test_a_file_that_a_field_refers_to_is_read_again_when_it_has_changed(cmd, refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    shutil.copy(AMMONIA, tmp_path / "job.molden")
    other, far = tmp_path / "one" / "other.molden", tmp_path / "two" / "other.molden"
    shutil.copy(SAMPLES / "nh3_molden_pure.molden", other)
    shutil.copy(AMMONIA, far)
    call(cmd, "orb_load", "job.molden")

    def largest(folder):
        monkeypatch.chdir(tmp_path / folder)
        name = call(cmd, "orb_field", "job", "difference:other.molden", 1e-5, "coarse")
        return name, np.abs(map_points(cmd, f"{name}_map")[1]).max()

    name, value = largest("one")
    assert name == "job_difference_other_molden"
    assert value > 1e-4
    shutil.copy(AMMONIA, other)
    call(cmd, "orb_iso", 2e-5)  # what is shown was computed from it as it was
    refused("lies outside|no surface|nothing|values", "orb_field", "job", "difference:other.molden", 1e-5, "coarse")
    shutil.copy(SAMPLES / "nh3_molden_pure.molden", far)
    monkeypatch.chdir(tmp_path / "two")  # a name means another file there
    second, value = largest("two")
    assert second == "job_difference_other_molden_2"
    assert value > 1e-4


def test_a_file_that_an_analysis_refers_to_is_read_again_when_it_has_changed(cmd, refused, tmp_path, monkeypatch):
    from tests.molecules import gto, lib, scf

    molden = pytest.importorskip("pyscf.tools.molden")
    monkeypatch.chdir(tmp_path)
    with lib.with_omp_threads(1):
        for name, atoms in {"whole": "He 0 0 0; He 0 0 1.4", "one": "He 0 0 0", "two": "He 0 0 1.4"}.items():
            molden.from_scf(scf.RHF(gto.M(atom=atoms, basis="6-31g", verbose=0)).run(), f"{name}.molden")
    call(cmd, "orb_load", "whole.molden")
    call(cmd, "orb_nocv", "whole", "one.molden two.molden")
    assert call(cmd, "orb_field", "whole", "nocv:1:one.molden,two.molden") == "whole_nocv_1_one_molden_two_molden"
    shutil.copy("two.molden", "one.molden")
    refused("He2 of the whole is in one.molden and two.molden", "orb_nocv", "whole", "one.molden two.molden")


def test_molecules_of_one_name_are_objects_of_their_own(cmd, tmp_path):
    (tmp_path / "other").mkdir()
    paths = [tmp_path / "job.molden", tmp_path / "other" / "job.molden", tmp_path / "scan.1", tmp_path / "scan.2"]
    paths += [tmp_path / "other" / "JOB.molden", tmp_path / "x.molden", tmp_path / "a.b.c.molden"]
    names = ["job", "job_2", "scan_1", "scan_2", "JOB_3", "x_", "a_b_c"]
    for n, path in enumerate(paths):
        shutil.copy(NEON if n % 2 else AMMONIA, path)
        assert call(cmd, "orb_load", str(path)) == names[n]
    for n, (path, name) in enumerate(zip(paths, names, strict=True)):
        assert cmd.count_atoms(f"%{name}") == (1 if n % 2 else 4)
        assert call(cmd, "orb_load", str(path)) == name  # again: in its own place
        assert shows(cmd, call(cmd, "orb_mo", name, "homo", quality="coarse"), path, "homo")
    assert len(cmd.get_names_of_type("object:molecule")) == len(paths)


def test_a_surface_never_takes_the_place_of_something_else(cmd, refused, tmp_path):
    cmd.fragment("ala", "job")
    cmd.fragment("gly", "job_2_homo")
    cmd.fragment("gly", "job_2_orb")
    shutil.copy(AMMONIA, tmp_path / "job.molden")
    assert call(cmd, "orb_load", str(tmp_path / "job.molden")) == "job_2"
    assert call(cmd, "orb_mo", "job_2", "homo", quality="coarse") == "job_2_homo_2"
    assert (cmd.count_atoms("job"), cmd.count_atoms("job_2_homo"), cmd.count_atoms("job_2_orb")) == (10, 7, 7)
    refused("taken by another object", "orb_load", str(tmp_path / "job.molden"), "job")
    shutil.copy(NEON, tmp_path / "other.molden")  # a name that the user gives is given up by a molecule of ours
    assert call(cmd, "orb_load", str(tmp_path / "other.molden"), "job_2") == "job_2"
    assert cmd.count_atoms("job_2") == 1
    assert "job_2_homo_2" not in cmd.get_names("objects")


def test_surfaces_go_with_their_molecule(cmd, refused, tmp_path):
    call(cmd, "orb_load", BENZENE)
    call(cmd, "orb_mo", "benzene", "homo", quality="coarse")
    call(cmd, "orb_load", str(NEON), "neon")
    call(cmd, "orb_mo", "neon", "homo", quality="coarse")
    cmd.set_name("benzene", "ring")
    assert {"ring", "ring_orb", "benzene_homo"} < set(cmd.get_names("objects"))
    call(cmd, "orb_iso", 0.04, "benzene_homo")
    assert call(cmd, "orb_next", "benzene_homo") == "ring_mo22"
    cmd.save(str(tmp_path / "session.pse"))
    cmd.do("delete neon", echo=0)
    assert set(cmd.get_names("objects")) == {"ring", "ring_orb", "ring_mo22", "ring_mo22_map"}
    cmd.delete("ring")
    assert cmd.get_names("objects") == []
    refused("no orbital is shown", "orb_iso", 0.03)
    cmd.load(str(tmp_path / "session.pse"))
    cmd.set_name("ring", "again")
    call(cmd, "orb_iso", 0.03, "ring_mo22")
    cmd.reinitialize()
    refused("orb_load", "orb_mo")
    assert call(cmd, "orb_load", BENZENE) == "benzene"


@pytest.mark.slow
def test_a_surface_that_is_renamed_stays_what_it_is(cmd, tmp_path):
    call(cmd, "orb_load", BENZENE)
    call(cmd, "orb_field", "benzene", "density", 0.01, "coarse", "esp")
    cmd.set_name("benzene_density", "cloud")
    there = {"benzene", "benzene_orb", "cloud", "cloud_map", "cloud_scale"}
    assert set(cmd.get_names("objects")) == there
    call(cmd, "orb_iso", 0.02, "cloud")
    cmd.do("set_name cloud, a cloud", echo=0)  # PyMOL makes a legal name of it
    call(cmd, "orb_iso", 0.03, "a_cloud")
    call(cmd, "orb_mo", "benzene", "homo", quality="coarse")
    cmd.save(str(tmp_path / "session.pse"))
    cmd.reinitialize()
    cmd.load(str(tmp_path / "session.pse"))
    call(cmd, "orb_color", "yellow", "green", 0.5, "a_cloud")
    cmd.delete("benzene")
    assert cmd.get_names("objects") == []


def test_a_frame_of_a_renamed_surface_is_still_its_own(cmd, tmp_path):
    moving(tmp_path / "job.h5", ob.load(AMMONIA), 3)
    call(cmd, "orb_load", str(tmp_path / "job.h5"))
    call(cmd, "orb_mo", "job", "homo", quality="coarse")
    cmd.set_name("job_homo", "other")
    call(cmd, "orb_frames", 1, 3, "other")
    assert cmd.count_states("other") == 3
    assert set(cmd.get_names("objects")) == {"job", "job_orb", "other", "other_map"}


def test_what_another_plugin_has_put_in_place_of_a_command_of_pymol_stays(cmd, monkeypatch):
    """Whether it came before or after ours; its errors, and what is deleted from other threads, are its own."""
    import threading

    from pymol import CmdException, commanding
    from pymol import cmd as first

    from orbitile.hosts.pymol.commands import register

    deleted = []

    def theirs(name, *, _self=first):
        deleted.append(name)
        return commanding.delete(name, _self=_self)

    monkeypatch.setattr(first, "delete", theirs)
    register(cmd)
    register(cmd)
    call(cmd, "orb_load", BENZENE)
    call(cmd, "orb_mo", "benzene", "homo", quality="coarse")
    cmd.fragment("ala")
    cmd.delete("a*")
    assert deleted == ["a*"]
    thread = threading.Thread(target=cmd.delete, args=("benzene",))
    thread.start()
    thread.join()
    assert deleted == ["a*", "benzene"]
    assert cmd.get_names("objects") == []
    with pytest.raises(CmdException):
        cmd.set_name("none", "other")


def test_deleting_what_is_not_ours_costs_one_look_at_names(cmd, monkeypatch):
    call(cmd, "orb_load", BENZENE)
    call(cmd, "orb_mo", "benzene", "homo", quality="coarse")
    from orbitile.hosts.pymol.commands import state_of

    looks = []
    monkeypatch.setattr(state_of(cmd).shelf, "follow", lambda: looks.append(1))
    for n in range(3):
        cmd.pseudoatom(f"point_{n}")
        cmd.delete(f"point_{n}")
    assert looks == []


def test_a_molecule_and_a_trajectory_take_turns_under_one_name(cmd, tmp_path):
    still, path = ob.load(AMMONIA), tmp_path / "job.h5"
    moving(path, still, 5)
    call(cmd, "orb_load", str(path), "job")
    call(cmd, "orb_mo", "job", "homo", quality="coarse")
    cmd.frame(4)
    call(cmd, "orb_frames")
    assert cmd.count_states("job") == cmd.count_states("job_homo") == 5
    call(cmd, "orb_load", str(NEON), "job")
    assert (cmd.count_states("job"), cmd.count_atoms("job"), cmd.get_state()) == (1, 1, 1)
    call(cmd, "orb_mo", "job", "homo", quality="coarse")
    assert cmd.count_states("job_homo") == 1
    assert shows(cmd, "job_homo", NEON, "homo")
    from orbitile.hosts.pymol.commands import state_of

    assert state_of(cmd).player.drawn("job_homo") == []
    moving(path, still, 3)  # the file of before, of fewer frames
    call(cmd, "orb_load", str(path), "job")
    call(cmd, "orb_mo", "job", "homo", quality="coarse")
    call(cmd, "orb_frames")
    assert cmd.count_states("job") == cmd.count_states("job_homo") == 3


def test_frames_of_a_trajectory_that_changed_are_refused(cmd, refused, tmp_path):
    path = tmp_path / "job.h5"
    moving(path, ob.load(AMMONIA), 4)
    call(cmd, "orb_load", str(path))
    call(cmd, "orb_mo", "job", "homo", quality="coarse")
    with ob.SeriesWriter(path) as writer:  # it grows: what it held, it still holds
        still = ob.load(AMMONIA)
        writer.append(replace(still, positions=still.positions + np.array([3.0, 0, 0]), geometries=np.empty(0)))
    assert "refused" not in call(cmd, "orb_mo", "job", "lumo", quality="coarse")
    moving(path, replace(still, positions=still.positions + np.array([0, 0.5, 0]), geometries=np.empty(0)), 4)
    refused("has changed since it was loaded", "orb_mo", "job", "homo-1", quality="coarse")
    call(cmd, "orb_load", str(path))
    call(cmd, "orb_mo", "job", "homo-1", quality="coarse")


def test_an_object_without_a_first_state_is_passed_over_in_silence(cmd, capfd):
    cmd.fragment("ala")
    cmd.create("late", "ala", 1, 3)
    call(cmd, "orb_load", BENZENE)
    capfd.readouterr()
    from orbitile.hosts.pymol.commands import state_of

    state_of(cmd).shelf.follow()
    call(cmd, "orb_mo", "benzene", "homo", quality="coarse")
    assert list(state_of(cmd).host.molecules()) == ["benzene"]
    out, err = capfd.readouterr()
    assert "invalid state" not in out + err


def test_a_session_whose_file_has_changed_is_shown_as_saved(cmd, refused, tmp_path, capsys):
    job = tmp_path / "job.molden"
    shutil.copy(AMMONIA, job)
    call(cmd, "orb_load", str(job))
    base = call(cmd, "orb_mo", "job", "homo", quality="coarse")
    cmd.save(str(tmp_path / "session.pse"))
    shutil.copy(NEON, job)
    cmd.reinitialize()
    capsys.readouterr()
    cmd.load(str(tmp_path / "session.pse"))
    assert "job.molden has changed: its surfaces are shown as saved" in capsys.readouterr().out
    assert {"job", base} < set(cmd.get_names("objects"))
    refused("has changed since it was loaded", "orb_mo", "job", "lumo", quality="coarse")
    assert shows(cmd, base, AMMONIA, "homo")


def test_a_surface_that_was_saved_without_its_molecule_stays(cmd, refused, tmp_path):
    call(cmd, "orb_load", BENZENE)
    base = call(cmd, "orb_mo", "benzene", "homo", quality="coarse")
    cmd.save(str(tmp_path / "surface.pse"), base)
    cmd.reinitialize()
    cmd.load(str(tmp_path / "surface.pse"))
    refused("no orbital is shown", "orb_iso", 0.03)
    assert cmd.get_names("objects") == [base]
    call(cmd, "orb_load", BENZENE)
    assert call(cmd, "orb_mo", "benzene", "homo", quality="coarse") == f"{base}_2"


def saved_session(cmd):
    call(cmd, "orb_load", BENZENE)
    call(cmd, "orb_mo", "benzene", "homo", quality="coarse")
    return cmd.get_session()


@pytest.mark.parametrize("damage", ["key", "request key", "colours", "frame", "isovalue", "all", "sources", "molecule"])
def test_a_damaged_session_is_told_of_in_one_line(cmd, capfd, damage):
    session = saved_session(cmd)
    shown = session["orbitile"]["benzene_homo"]
    if damage == "key":
        shown["glow"] = 3
    elif damage == "request key":
        shown["request"]["glow"] = 3
    elif damage in ("colours", "isovalue", "molecule"):
        shown[damage] = float("nan")
    elif damage == "frame":
        shown["request"]["frame"] = 7
    elif damage == "sources":
        session["orbitile_sources"] = {3: None, "a": [1]}
    else:
        session["orbitile"] = [1, 2]
    cmd.reinitialize()
    capfd.readouterr()
    cmd.set_session(session)
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
    assert (out + err).count("Orbitile:") == (0 if damage in ("all", "sources") else 1)
    assert {"benzene", "benzene_homo"} < set(cmd.get_names("objects"))
    for line in ("orb_iso 0.03", "orb_mo benzene, lumo, quality=coarse", "orb_info", "orb_next"):
        cmd.do(line, echo=0)
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err


def test_times_alone_do_not_tell_that_a_file_is_the_same(cmd, refused, tmp_path):
    """The same size, the same times, the same name: nothing but the content differs."""
    job = tmp_path / "job.molden"
    shutil.copy(AMMONIA, job)
    status = job.stat()
    call(cmd, "orb_load", str(job))
    text = job.read_bytes()
    at = text.index(b"[Atoms]")
    job.write_bytes(text[:at] + b"[ATOMS]" + text[at + 7 :])
    os.utime(job, ns=(status.st_atime_ns, status.st_mtime_ns))
    refused("has changed since it was loaded", "orb_mo", "job", "homo", quality="coarse")
