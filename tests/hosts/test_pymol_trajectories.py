"""Trajectories in a real PyMOL without a window: states, surfaces and maps."""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import orbitile as ob
from orbitile.model.units import angstrom

pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")
pytest.importorskip("pymol2", reason="PyMOL (extra pymol) is not installed")

from tests.hosts.conftest import N
from tests.hosts.test_pymol_commands import call
from tests.hosts.test_pymol_panel import BENZENE, in_window, needs_window

ROOT = Path(__file__).parents[2]


def map_points(cmd, name, state):
    """Positions (bohr) of the points of a state of a map, from PyMOL's own account of it, and the values there."""
    values = cmd.get_volume_field(name, state, 1)
    (kept,) = (one for one in cmd.get_session(name)["names"] if one and one[0] == name)
    low, high = np.array(kept[5][2][state - 1][7:9])  # corners, of this state alone
    axes = [np.linspace(a, b, n) for a, b, n in zip(low, high, values.shape, strict=True)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3) * angstrom, values.reshape(-1)


def test_one_object_with_one_state_a_frame(cmd, series):
    assert call(cmd, "orb_load", str(series)) == "water"
    trajectory = ob.load_trajectory(series)
    assert cmd.count_states("water") == N
    assert cmd.get_state() == 1
    for state in range(N):
        assert cmd.get_coords("water", state + 1) == pytest.approx(trajectory[state].positions / angstrom, abs=1e-5)


@pytest.mark.parametrize("track", [1, 0])
def test_maps_at_each_state_are_the_orbital_of_that_frame(cmd, series, track):
    """What PyMOL holds at state s is `evaluate` of frame s: followed with tracking, as in the file without."""
    call(cmd, "orb_load", str(series), "water", track)
    base = call(cmd, "orb_mo", "water", "homo", 0.1, "coarse")
    assert cmd.count_states(base) == cmd.count_states(f"{base}_map") == N  # room for all from the start
    low, high = cmd.get_extent(f"{base}_map")
    points, _ = map_points(cmd, f"{base}_map", 1)
    assert np.allclose([low, high], [points.min(axis=0) / angstrom, points.max(axis=0) / angstrom], atol=0.02)
    assert call(cmd, "orb_frames") == base
    assert cmd.count_states(base) == cmd.count_states(f"{base}_map") == N
    trajectory = ob.load_trajectory(series)
    path, field = (ob.follow(trajectory), "mo:5") if track else (trajectory, "homo")
    for state in range(N):
        points, values = map_points(cmd, f"{base}_map", state + 1)
        expected = ob.evaluate(path[state], field, points, device="cpu")
        assert np.abs(values - expected).max() < 5e-6


def neighbours(cmd, base):
    """Overlaps of the volumes of neighbouring states over the points that both have: all lie on one lattice."""
    step = 0.25  # of the quality, in Angstrom
    volumes = []
    for state in range(1, N + 1):
        points, values = map_points(cmd, f"{base}_map", state)
        if state == 1:
            origin = points[0]
        indices = (points - origin) / (step * angstrom)
        assert np.abs(indices - np.rint(indices)).max() < 1e-3
        volumes.append(dict(zip(map(tuple, np.rint(indices).astype(int).tolist()), values.tolist(), strict=True)))
    found = []
    for one, other in itertools.pairwise(volumes):
        common = sorted(one.keys() & other.keys())
        assert len(common) > 0.7 * max(len(one), len(other))
        a, b = (np.array([volume[point] for point in common]) for volume in (one, other))
        found.append(float(a @ b) / float(np.linalg.norm(a) * np.linalg.norm(b)))
    return found


@pytest.mark.slow
def test_signs_and_order_are_kept_with_tracking_and_jump_without(cmd, series):
    for orbital in ("homo", "homo-1", "lumo"):
        call(cmd, "orb_load", str(series), "tracked")
        base = call(cmd, "orb_mo", "tracked", orbital, 0.05, "coarse")
        call(cmd, "orb_frames")
        assert min(neighbours(cmd, base)) > 0.8
    call(cmd, "orb_load", str(series), "raw", 0)
    base = call(cmd, "orb_mo", "raw", "5", 0.05, "coarse")
    call(cmd, "orb_frames")
    assert min(neighbours(cmd, base)) < 0.1


def test_another_orbital_or_isovalue_leaves_no_old_state_behind(cmd, series):
    from orbitile.hosts.pymol.commands import state_of

    call(cmd, "orb_load", str(series))
    base = call(cmd, "orb_mo", "water", "homo", 0.1, "coarse")
    call(cmd, "orb_frames", 1, 4)
    cmd.frame(3)
    call(cmd, "orb_iso", 0.05)
    assert state_of(cmd).player.drawn(base) == [2]
    assert state_of(cmd).shelf[base].isovalue == 0.05
    call(cmd, "orb_next", quiet=1)
    assert [name for name in cmd.get_names("objects") if name.endswith("_map")] == ["water_mo6_map"]
    assert state_of(cmd).player.drawn("water_mo6") == [2]
    call(cmd, "orb_color", "green", "yellow")
    call(cmd, "orb_frames", 2, 5)
    assert state_of(cmd).player.drawn("water_mo6") == [1, 2, 3, 4]


def test_memory_of_drawn_frames_is_bounded(cmd, series):
    from pymol import CmdException

    from orbitile.hosts.pymol.commands import state_of

    call(cmd, "orb_load", str(series))
    base = call(cmd, "orb_mo", "water", "homo", 0.1, "fine")
    session = state_of(cmd)
    size = session.player.taken()
    session.player.memory = int(3.5 * size) >> 20
    with pytest.raises(CmdException, match="raise the limit with orb_memory"):
        call(cmd, "orb_frames")
    assert session.player.drawn(base) == [0]
    call(cmd, "orb_frames", 1, 3)
    call(cmd, "orb_frames", 4, 5)
    assert session.player.taken() <= session.player.limit
    assert {3, 4} <= set(session.player.drawn(base))
    for state in range(1, 4):
        there = cmd.get_volume_field(f"{base}_map", state, 0).size > 8
        assert there == (state - 1 in session.player.drawn(base))


def test_interpolated_and_aligned_frames(cmd, series):
    call(cmd, "orb_load", str(series), "dense", interpolate=3, align=1)
    assert cmd.count_states("dense") == 4 * (N - 1) + 1
    base = call(cmd, "orb_mo", "dense", "homo", 0.1, "coarse")
    call(cmd, "orb_frames", 2, 4)
    path = ob.interpolate(ob.align(ob.follow(ob.load_trajectory(series))), 3)
    for state in (2, 4):
        assert cmd.get_coords("dense", state) == pytest.approx(path[state - 1].positions / angstrom, abs=1e-5)
        points, values = map_points(cmd, f"{base}_map", state)
        assert np.abs(values - ob.evaluate(path[state - 1], "mo:5", points, device="cpu")).max() < 5e-6


def test_a_density_coloured_by_the_potential_has_one_scale(cmd, series):
    from orbitile.hosts.pymol.commands import state_of

    call(cmd, "orb_load", str(series))
    call(cmd, "orb_field", "water", "density", 0.01, "coarse", "esp")
    call(cmd, "orb_frames", 1, 3)
    scales = {(s.surface.colouring.low, s.surface.colouring.high) for s in state_of(cmd).computing.samples}
    assert len(scales) == 1


def test_many_files_with_long_names(cmd, tmp_path):
    """PyMOL's titles have room for 255 characters, which is less than the names of these files."""
    folder = tmp_path / ("in_a_folder_" * 12)
    folder.mkdir()
    files = [folder / f"{'benzene_' * 10}{n}.molden" for n in range(3)]
    for file in files:
        shutil.copy(BENZENE, file)
    assert call(cmd, "orb_load", " ".join(map(str, files)), "many") == "many"
    base = call(cmd, "orb_mo", "many", "homo", 0.1, "coarse")
    cmd.save(str(tmp_path / "session.pse"))
    cmd.delete("all")
    cmd.load(str(tmp_path / "session.pse"))
    call(cmd, "orb_iso", 0.05, base)
    assert cmd.get_extent(base)


def test_a_damaged_first_frame_is_passed_over(cmd, tmp_path):
    files = [tmp_path / f"{n}.molden" for n in range(3)]
    for file in files:
        shutil.copy(BENZENE, file)
    files[0].write_text(files[0].read_text().replace("[MO]", "[MOO]"))
    call(cmd, "orb_load", str(tmp_path / "*.molden"), "scan")
    assert cmd.count_states("scan") == 3
    assert cmd.get_state() == 2
    base = call(cmd, "orb_mo", "scan", "homo", 0.1, "coarse")
    assert cmd.get_extent(base)


def test_a_pattern_of_files_and_what_the_session_keeps(cmd, tmp_path):
    from importlib.resources import files

    benzene = files("orbitile") / "data" / "benzene.molden"
    for n in (1, 2, 10):
        shutil.copy(str(benzene), tmp_path / f"b{n}.molden")
    (tmp_path / "b2.molden").write_text("[Molden Format]\nnothing\n")
    assert call(cmd, "orb_load", str(tmp_path / "b*.molden"), "path") == "path"
    assert cmd.count_states("path") == 3
    base = call(cmd, "orb_mo", "path", "homo", 0.05, "coarse")
    from orbitile.hosts.pymol.commands import state_of

    call(cmd, "orb_frames")
    assert state_of(cmd).player.drawn(base) == [0, 2]
    assert "damaged or incomplete" in state_of(cmd).player.problems(base)[1]
    cmd.save(str(tmp_path / "session.pse"))
    cmd.reinitialize()
    cmd.load(str(tmp_path / "session.pse"))
    assert cmd.count_states("path") == 3
    assert call(cmd, "orb_mo", "path", "lumo", 0.05, "coarse") == "path_lumo"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("orb_load none*.molden", "none matches"),
        ("orb_load {series}, w, 0, 0, 2", "orbitals that are followed"),
        ("orb_load {series}, w, 1, 0, -2", "0 or more"),
        ("orb_frames 1, 2", "no orbital is shown"),
        ("orb_play", "no orbital of a trajectory"),
        ("orb_memory 1", "expected a number from 64"),
        ("orb_scf nothing", "no molecule is called"),
        ("orb_scf ring, charge=1", "41 electrons"),
        ("orb_scf ring, basis=none-such", "basis"),
    ],
)
def test_wrong_arguments_print_one_line(cmd, capfd, series, line, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    from importlib.resources import files

    call(cmd, "orb_load", str(files("orbitile") / "data" / "benzene.molden"), "ring")
    before = cmd.get_names("all")
    capfd.readouterr()
    cmd.do(line.format(series=series), echo=0)
    out, err = capfd.readouterr()
    assert words in out + err
    assert (out + err).strip().count("\n") == 0
    assert cmd.get_names("all") == before
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_orbitals_for_an_object_without_any(cmd, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    xyz = "".join(
        f"3\nwater\nO 0 0 0\nH 0 {0.76 * r:.5f} {0.59 * r:.5f}\nH 0 {-0.76 * r:.5f} {0.59 * r:.5f}\n"
        for r in (0.95, 1, 1.1)
    )
    cmd.load_raw(xyz, "xyz", "w", 1)
    target = call(cmd, "orb_scf", "w", "sto-3g", filename="w.h5")
    assert Path(target) == tmp_path / "w.h5"
    assert "orbitals of 3 frames are in" in capsys.readouterr().out
    trajectory = ob.load_trajectory(target)
    assert len(trajectory) == 3
    base = call(cmd, "orb_mo", "w", "homo", 0.1, "coarse")
    call(cmd, "orb_frames")
    points, values = map_points(cmd, f"{base}_map", 3)
    expected = ob.evaluate(ob.follow(trajectory)[2], "mo:5", points, device="cpu")
    assert np.abs(values - expected).max() < 5e-6


@pytest.mark.slow
def test_the_example_writes_a_film(tmp_path, series):
    shutil.copy(series, tmp_path / "path.h5")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pymol",
            "-cq",
            "-d",
            "import orbitile.hosts.pymol",
            ROOT / "docs" / "examples" / "film.pml",
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        cwd=tmp_path,
    )
    from PIL import Image

    pictures = [np.asarray(Image.open(p).convert("RGB"), float) for p in sorted(tmp_path.glob("film*.png"))]
    assert len(pictures) == N, done.stdout + done.stderr
    for one, other in itertools.pairwise(pictures):
        assert 0.05 < np.abs(one - other).mean() < 20  # each differs from the one before, by little


@pytest.mark.slow
@needs_window
def test_playing_in_the_window(tmp_path, series):
    report_file = tmp_path / "report.json"
    driver = Path(__file__).with_name("player_driver.py")
    out = in_window(driver, tmp_path, REPORT=str(report_file), SERIES=str(series), OMP_NUM_THREADS="1")
    assert report_file.exists(), out
    report = json.loads(report_file.read_text())
    assert report.get("done"), report.get("error", "")
    assert report["computed ahead"] == list(range(N))
    assert report["last frame"] == [True, N - 1, True]
    assert report["scrubbed"] == [N // 2 - 2, True]
    assert report["isovalue"] == [0.08, 30]
    assert report["orbital"] == [False, True]
    assert report["own player"]
    assert 1 <= report["most kept"] <= report["may be kept"]
    assert report["panel"] == [1, True]
    assert report["slider of the panel"]
    assert report["beats during the calculation"] > 20
    assert report["computed"] == "h2_homo"


@pytest.mark.slow
@needs_window
def test_the_panel_plays(tmp_path, series):
    report_file = tmp_path / "report.json"
    driver = Path(__file__).with_name("playback_driver.py")
    out = in_window(driver, tmp_path, REPORT=str(report_file), SERIES=str(series), FILE=BENZENE, OMP_NUM_THREADS="1")
    assert report_file.exists(), out
    report = json.loads(report_file.read_text())
    assert report.get("done"), report.get("error", "") + report.get("status", "")
    assert report["single frame"] is False
    assert report["opened"]
    assert report["without an orbital"] == ["Choose an orbital in the table: frames are played with its surface.", 0]
    assert report["state"] == "surface shown"
    assert report["stepped"] == [1, 1]
    assert report["followed"] == "surface shown, tracking confidence 1.00"
    assert report["after the last"] == 0
    assert report["paused"] == [0, True]
    assert report["held"] == [N - 2, N - 2, 30]
    assert report["went on"] == N - 1
    assert report["typed"] == "0.08"
    assert report["isovalue"]
    assert report["plays on"] == 30
    assert report["map"]
    assert report["saved"] == [True, True]


def test_confidence_is_that_of_tracking(series):
    """What the worker tells beside each frame; between two frames it is that of the later one."""
    from orbitile.pictures.request import Request
    from orbitile.session.sampling import WavefunctionCache, sample
    from orbitile.session.source import Source

    tracking = ob.track(ob.load_trajectory(series))
    expected = tracking.confidence()[:, 3]
    assert len(set(expected.round(6))) == N
    for between in (0, 1):
        source, cache = str(Source((str(series),), between=between)), WavefunctionCache()
        for frame in range((between + 1) * (N - 1) + 1):
            request = Request(source, "homo-1", "coarse", 0.1, device="cpu", frame=frame)
            assert sample(request, cache).confidence == pytest.approx(expected[-(-frame // (between + 1))])
    raw = str(Source((str(series),), track=False))
    for field, source in (("density", str(Source((str(series),)))), ("homo", raw)):
        request = Request(source, field, "coarse", 0.1, device="cpu", frame=1)
        assert sample(request, WavefunctionCache()).confidence is None


@pytest.mark.parametrize("style", ["fog", "slice"])
def test_fog_and_slices_follow_the_frame(cmd, series, style):
    """One state at a time, of the map's state that is seen: its corner is that of this state."""
    from orbitile.hosts.pymol.commands import state_of

    call(cmd, "orb_load", str(series))
    base = call(cmd, "orb_mo", "water", "homo", 0.1, "coarse")
    call(cmd, "orb_style", style)
    call(cmd, "orb_frames")
    extents = []
    for frame in (1, N):
        cmd.frame(frame)
        state_of(cmd).player.tick()
        extents.append(cmd.get_session(f"{base}_{style}")["names"])
        assert cmd.count_states(f"{base}_{style}") == 1
        assert state_of(cmd).host._volumes[base].state == frame
    assert cmd.count_states(f"{base}_map") == N
    assert str(extents[0]) != str(extents[1])
