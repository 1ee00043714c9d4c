"""Correlation diagrams and films: what is drawn, from the files that come out."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import orbitile as ob
from orbitile import SeriesWriter
from orbitile.analysis.correlation import draw_correlation, orbitals_of_diagram
from orbitile.base.errors import Cancelled, FieldError, FileError, OrbitileError, RenderError
from orbitile.commandline import main
from orbitile.evaluation import lattices
from orbitile.evaluation.surfaces import surface_in_motion
from orbitile.model.units import angstrom
from orbitile.pictures import films
from orbitile.pictures.films import (
    Shot,
    Shots,
    ShotSurfaces,
    along,
    animate,
    find_framing,
    over_isovalues,
    over_orbitals,
)
from orbitile.pictures.writing import write_film
from orbitile.trajectories.tracking import track
from tests.molecules import lib, shuffled, trajectory_of

SMALL = {"size": (96, 72), "spacing": 0.6, "legend": False, "device": "cpu"}


@pytest.fixture(scope="module")
def spoilt(water):
    rng = np.random.default_rng(11)
    return trajectory_of([water[0], *(shuffled(w, rng) for w in water[1:5])])


def pictures(folder, names="*") -> np.ndarray:
    from PIL import Image

    return np.array([np.asarray(Image.open(path).convert("RGB"), np.float64) for path in sorted(folder.glob(names))])


def test_with_tracking_nothing_jumps(spoilt, tmp_path):
    """Neighbouring pictures are alike; without tracking signs flip and orbitals jump."""
    largest = {}
    for name, tracking in (("with", track(spoilt)), ("without", None)):
        n = animate(along(spoilt, "mo:4", tracking, 0.1), tmp_path / name, **SMALL)
        assert n == 5
        films = pictures(tmp_path / name)
        assert films.shape == (5, 72, 96, 3)
        largest[name] = np.abs(np.diff(films, axis=0)).mean(axis=(1, 2, 3)).max()
    assert largest["without"] > 2 * largest["with"]


@pytest.fixture(scope="module")
def reaction(tmp_path_factory):
    """HCN to HNC, the path of the examples."""
    from orbitile.scf.calculation import Calculation
    from orbitile.scf.series import compute_series

    pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")
    xyz = Path(__file__).parents[2] / "docs" / "examples" / "hcn_to_hnc.xyz"
    target = tmp_path_factory.mktemp("reaction") / "path.h5"
    with lib.with_omp_threads(1):  # threads take longer to meet than such a molecule to compute
        return compute_series(xyz, target, Calculation("hf", "sto-3g"))


def overlaps_of_neighbours(shots) -> list[float]:
    """Overlaps of the volumes of a film from picture to picture."""
    found = find_framing(shots, 0.5, device="cpu")
    volumes = [ob.compute(s.wavefunction, s.field, found.lattice(s), device="cpu").values.ravel() for s in shots()]
    unit = [values / np.linalg.norm(values) for values in volumes]
    return [float(earlier @ later) for earlier, later in pairwise(unit)]


@pytest.fixture(scope="module")
def spoilt_reaction(reaction):
    rng = np.random.default_rng(4)
    return trajectory_of([reaction[0], *(shuffled(reaction[n], rng) for n in range(1, len(reaction)))])


@pytest.mark.parametrize(
    ("field", "between", "least"),
    [
        ("homo", 0, 0.75),
        ("lumo", 2, 0.9),
        *(pytest.param(field, 0, 0.75, marks=pytest.mark.slow) for field in ("homo-1", "lumo")),
        *(pytest.param(field, 2, 0.9, marks=pytest.mark.slow) for field in ("homo", "homo-1")),
    ],
)
def test_no_orbital_flips_or_jumps_along_a_reaction(spoilt_reaction, field, between, least):
    """Neighbouring volumes overlap in each pair of pictures with tracking; in between the steps are smaller."""
    tracking = track(spoilt_reaction)
    overlaps = overlaps_of_neighbours(along(spoilt_reaction, field, tracking, 0.05, between=between))
    assert len(overlaps) == 24 * (between + 1)
    assert min(overlaps) > least


def test_without_tracking_orbitals_flip(spoilt_reaction):
    assert min(overlaps_of_neighbours(along(spoilt_reaction, "mo:7", None, 0.05))) < 0


def test_frames_are_interpolated_on_request_only_where_followed(spoilt, tmp_path):
    shots = along(spoilt, "homo", track(spoilt), 0.1, between=2, aligned=True)
    assert len(list(shots())) == 13
    with pytest.raises(OrbitileError, match="orbitals that are followed"):
        along(spoilt, "homo", None, 0.1, between=2)


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_films_can_be_read_back(spoilt, tmp_path, suffix):
    ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg (extra films) is not installed")
    film = tmp_path / f"film{suffix}"
    animate(along(spoilt, "homo", track(spoilt), 0.1), film, rate=5, **SMALL)
    reader = ffmpeg.read_frames(str(film))
    about = next(reader)
    assert about["size"] == (96, 72)
    assert about["fps"] == pytest.approx(5, abs=0.3)
    frames = [np.frombuffer(frame, np.uint8) for frame in reader]
    assert 5 <= len(frames) <= 6
    assert np.ptp(frames[2]) > 100


def test_the_lattice_stays_or_moves_with_the_molecule(water):
    from dataclasses import replace

    moved = [
        replace(w, positions=w.positions + np.array([2.0 * n, 0, 0]), geometries=np.empty(0))
        for n, w in enumerate(water[:4])
    ]
    shots = along(trajectory_of(moved), "homo", None, 0.1)
    for follow in (False, True):
        found = find_framing(shots, 0.5, follow=follow, device="cpu")
        lattices = [found.lattice(shot) for shot in shots()]
        eyes = [found.camera(shot, 0.0).eye for shot in shots()]
        assert len({lattice.shape for lattice in lattices}) == 1
        wanted = (
            [w.positions.mean(axis=0) - moved[0].positions.mean(axis=0) for w in moved] if follow else np.zeros((4, 3))
        )
        for lattice, eye, shift in zip(lattices, eyes, wanted, strict=True):
            np.testing.assert_allclose(lattice.origin - lattices[0].origin, shift, atol=1e-9)
            np.testing.assert_allclose(eye - eyes[0], shift, atol=1e-9)
        for lattice, w in zip(lattices, moved, strict=True):
            box = ob.enclosing_lattice(w, "homo", 0.1, spacing=0.5)
            assert np.all(lattice.origin <= box.origin + 1e-9)


@pytest.mark.parametrize(
    ("follow", "turn", "rock"),
    [
        (False, 360, 0),
        (True, 0, 40),
        *(pytest.param(*rest, marks=pytest.mark.slow) for rest in ((False, 0, 0), (False, 0, 40))),
        *(pytest.param(*rest, marks=pytest.mark.slow) for rest in ((True, 0, 0), (True, 360, 0))),
    ],
)
def test_everything_is_in_the_picture(reaction, follow, turn, rock):
    """Atoms and surfaces of all shots are between the planes of view, and reach up to them nearly."""
    aspect, free = 1.5, (0.05, 0.02, 0.2, 0.03)
    shots = along(reaction, "homo", track(reaction), 0.05)

    def angle(share):
        return turn * share + rock * np.sin(2 * np.pi * share)

    found = find_framing(shots, 0.5, follow=follow, angle=angle, aspect=aspect, free=free, device="cpu")
    extents = np.empty((0, 2))
    for n, shot in enumerate(shots()):
        camera = found.camera(shot, n / found.n_shots)
        surface = surface_in_motion(shot.wavefunction, shot.field, shot.isovalue, found.lattice(shot), device="cpu")
        x, y, z = camera.rotation @ (np.concatenate([surface.vertices, shot.wavefunction.positions]) - camera.eye).T
        half = np.tan(np.radians(camera.field_of_view / 2)) * -z
        across, up = (x / (half * aspect) + 1) / 2, (y / half + 1) / 2  # 0 to 1 from the left, and from below
        extents = np.concatenate([extents, np.stack([across, up], axis=1)])
    low, high = extents.min(axis=0), extents.max(axis=0)
    assert low[0] >= free[0]
    assert high[0] <= 1 - free[1]
    assert low[1] >= free[2]
    assert high[1] <= 1 - free[3]
    filled = (high - low) / (1 - np.array([free[0] + free[1], free[2] + free[3]]))
    assert filled.max() > 0.75


def test_core_orbitals_do_not_fall_between_the_points_of_a_film(water):
    shots = Shots(lambda: (Shot(water[0], "mo:1", 0.6), Shot(water[0], "homo", 0.05)), 2)
    found = find_framing(shots, None, device="cpu")
    core, homo = (found.lattice(shot) for shot in shots())
    assert core.spacings == pytest.approx(ob.enclosing_lattice(water[0], "mo:1", 0.6).spacings)
    assert core.spacings.max() < homo.spacings.min() == pytest.approx(0.15 * angstrom)
    assert find_framing(shots, 0.3, device="cpu").lattice(next(iter(shots()))).spacings == pytest.approx(0.3)


def test_the_room_of_a_molecule_that_turns_is_found_once(water, monkeypatch):
    asked = []
    original = films.enclosing_lattice
    monkeypatch.setattr(films, "enclosing_lattice", lambda *a, **k: (asked.append(a), original(*a, **k))[1])
    find_framing(over_isovalues(water[0], "homo", [0.1] * 30), 0.5, angle=lambda share: 360 * share, device="cpu")
    assert len(asked) == 2  # one for the lattice, one to see where its surface is


def test_pictures_without_a_surface_show_the_molecule(water, tmp_path):
    """A spin density may vanish on the way; an isovalue that suits no picture is refused."""
    animate(over_isovalues(water[0], "homo", [0.1, 50.0]), tmp_path / "film", **SMALL)
    with_surface, without = pictures(tmp_path / "film")
    drawn = [(picture.min(axis=2) < 200).mean() for picture in (with_surface, without)]
    assert 0 < drawn[1] < drawn[0]
    with pytest.raises(OrbitileError, match="nothing has this value"):
        animate(over_isovalues(water[0], "homo", [50.0, 60.0]), tmp_path / "none.gif", **SMALL)
    assert [path.name for path in tmp_path.iterdir()] == ["film"]


def test_over_orbitals_and_isovalues(water):
    w = water[0]
    shots = list(over_orbitals(w, ["mo:5", "mo:6", "mo:7"])())
    assert [shot.field for shot in shots] == ["mo:5", "mo:6", "mo:7"]
    assert len({shot.isovalue for shot in shots}) == 1
    assert [shot.isovalue for shot in over_isovalues(w, "density", [0.1, 0.2])()] == [0.1, 0.2]


def test_what_pictures_have_in_common_is_computed_once(water, monkeypatch):
    """A picture that turns costs no values, a film over isovalues a volume beside that of its first picture."""
    lattice = ob.Lattice.around(water[0], 0.5, 4.0)
    shots = [Shot(water[0], "density", value) for value in (0.1, 0.1, 0.2, 0.05)]
    shots += [Shot(water[0], "homo", 0.05), Shot(water[1], "homo", 0.05)]
    alone = [surface_in_motion(s.wavefunction, s.field, s.isovalue, lattice, device="cpu") for s in shots]
    volumes = []
    original = lattices.slabs_of
    monkeypatch.setattr(lattices, "slabs_of", lambda *a: (volumes.append(1), original(*a))[1])
    surfaces = ShotSurfaces("cpu")
    counts = []
    for shot, expected in zip(shots, alone, strict=True):
        found = surfaces.of(shot, lattice)
        counts.append(len(volumes))
        assert found.isovalue == expected.isovalue
        np.testing.assert_array_equal(found.vertices, expected.vertices)
        np.testing.assert_array_equal(found.faces, expected.faces)
    assert counts == [1, 1, 2, 2, 3, 4]


def test_other_processes_draw_the_same_film(water, tmp_path, monkeypatch):
    """Pictures that are drawn together, of shots that were sent; here by an executor of this process."""
    drawn = []

    class Sent(Executor):
        width = 1

        def submit(self, function, /, *arguments):
            future = Future()
            function, (views, *rest) = pickle.loads(pickle.dumps((function, arguments)))
            drawn.append(len(views))
            future.set_result(function(views, *rest))
            return future

    monkeypatch.setattr(films, "_TOGETHER", 3)
    shots = over_isovalues(water[0], "homo", [0.1, 0.1, 0.2, 50.0, 0.1])
    shares = []
    animate(shots, tmp_path / "one", rock=20, **SMALL)
    animate(shots, tmp_path / "other", rock=20, executor=Sent(), progress=shares.append, **SMALL)
    assert drawn == [3, 2]
    assert shares[-5:] == pytest.approx([0.4, 0.55, 0.7, 0.85, 1.0])
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "other" / path.name).read_bytes()


@pytest.mark.linux
@pytest.mark.slow
def test_workers_draw_the_same_film_though_one_dies(reaction, tmp_path):
    """Of any kind of field; a worker dies in the first film and in the last."""
    with SeriesWriter(tmp_path / "first.h5") as writer:
        writer.append(reaction[0])
    fields = ("homo", "density", "esp", f"difference:{tmp_path / 'first.h5'}", "ibo:1")
    tracking = track(reaction)
    with ob.local_workers(2) as workers:

        def progress(share):
            if share > 0.6 and workers.workers[0].process_id is not None and not killed:
                killed.append(workers.workers[0].process_id)
                os.kill(killed[0], signal.SIGKILL)

        for n, field in enumerate(fields):
            killed = []
            shots = along(reaction, field, tracking, 0.05)
            one, other = tmp_path / f"one{n}", tmp_path / f"other{n}"
            animate(shots, one, **SMALL)
            dies = field in (fields[0], fields[-1])
            animate(shots, other, executor=workers, progress=progress if dies else None, **SMALL)
            assert bool(killed) == dies
            for path in one.iterdir():
                assert path.read_bytes() == (other / path.name).read_bytes(), field


def test_refusals_leave_nothing(spoilt, tmp_path):
    shots = along(spoilt, "homo", None, 0.1)
    (tmp_path / "there").mkdir()
    for path, options, error, message in (
        ("film.avi", {}, FileError, "expected a film to end in .mp4 or .gif"),
        ("there", {}, FileError, "is there already"),
        ("film.mp4", {"size": (95, 72)}, RenderError, "expected even numbers"),
        ("film.gif", {"background": "transparent"}, RenderError, "films are opaque"),
        ("film.gif", {"rate": 0}, RenderError, "pictures a second"),
        ("film.gif", {"size": (0, 0)}, RenderError, "expected 1 to"),
    ):
        with pytest.raises(error, match=message):
            animate(shots, tmp_path / path, **{**SMALL, **options})
    with pytest.raises(OrbitileError, match="orbitals of a film"):
        over_orbitals(spoilt[0], [])
    with pytest.raises(OrbitileError, match="isovalues of a film"):
        over_isovalues(spoilt[0], "homo", [])
    for path in ("film.mp4", "film.gif", "folder"):
        with pytest.raises(OrbitileError, match="cancelled"):
            animate(shots, tmp_path / path, **SMALL, cancelled=iter([False, False, True]).__next__)
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


PICTURES = """
import sys
import numpy as np
from pathlib import Path
from orbitile.pictures.writing import write_film

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

def pictures(n, size):
    for i in range(n):
        shown = np.full((size[1], size[0], 4), 255, np.uint8)
        shown[i % 100 : i % 100 + 300, 40 : 40 + i % 200 + 20, :3] = np.arange(i % 200 + 20)[:, None]
        taken.append(resident())
        yield shown

taken = []
"""


@pytest.mark.linux
def test_the_pictures_of_a_gif_are_not_held_in_memory(tmp_path):
    """Each would take 77 KB, with one byte a pixel."""
    pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg (extra films) is not installed")
    work = "write_film(pictures(220, (320, 240)), Path(sys.argv[1]), (320, 240), 10); print(taken[-1] - taken[20])"
    arguments = [sys.executable, "-c", PICTURES + work, str(tmp_path / "film.gif")]
    grown = int(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)
    assert grown < 5 << 20


@pytest.mark.linux
@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_a_film_that_cannot_be_written_leaves_nothing(tmp_path, suffix):
    """ffmpeg runs into a limit of the size of files, and is told by a failing write, as by a full disk."""
    pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg (extra films) is not installed")
    work = (
        "import functools, resource, subprocess; resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); "
        "subprocess.Popen = functools.partial(subprocess.Popen, restore_signals=False); "  # Python ignores SIGXFSZ
        "write_film(pictures(60, (640, 480)), Path(sys.argv[1]), (640, 480), 10)"
    )
    arguments = [sys.executable, "-c", PICTURES + work, str(tmp_path / f"film{suffix}")]
    uncompiled = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # else Python keeps the first part of what it compiles
    ended = subprocess.run(arguments, env=uncompiled, check=False, capture_output=True, text=True)
    assert "FileError" in ended.stderr.splitlines()[-1]
    assert "cannot be written" in ended.stderr.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.linux
def test_an_encoder_that_stands_still_is_not_waited_for(tmp_path):
    pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg (extra films) is not installed")
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    if not children.exists():
        pytest.skip("processes are found by /proc here")
    before = set(children.read_text().split())

    def pictures():
        for n in range(60):
            if n == 20:
                (encoder,) = set(children.read_text().split()) - before
                os.kill(int(encoder), signal.SIGSTOP)
            yield np.zeros((480, 640, 4), np.uint8)

    with pytest.raises(FileError, match="ffmpeg ended: it did not go on"):
        write_film(pictures(), tmp_path / "film.mp4", (640, 480), 10)
    assert list(tmp_path.iterdir()) == []


_QUITTING = """
import os, sys, threading, time
from pathlib import Path
from orbitile.workers import Worker
from tests.workers import jobs
target = Path(sys.argv[1])
threading.Thread(target=Worker("the worker").call, args=(jobs.filmed, str(target)), daemon=True).start()
while len(list(target.parent.iterdir())) < 2:
    time.sleep(0.01)
time.sleep(0.5)
os._exit(0)
"""
"""Ends as PyMOL does, which tells nobody."""


@pytest.mark.linux
@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_a_film_whose_owner_has_quit_leaves_the_one_before(tmp_path, suffix):
    pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg (extra films) is not installed")
    target = tmp_path / f"film{suffix}"
    target.write_bytes(b"the film before")
    subprocess.run([sys.executable, "-c", _QUITTING, str(target)], check=True, timeout=60)
    end = time.monotonic() + 10
    while len(list(tmp_path.iterdir())) > 1 and time.monotonic() < end:
        time.sleep(0.05)
    assert target.read_bytes() == b"the film before"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param("film.gif", marks=pytest.mark.slow), "film"])
def test_interrupted_it_leaves_nothing(tmp_path, water, name):
    pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")
    pytest.importorskip("imageio_ffmpeg", reason="imageio-ffmpeg (extra films) is not installed")
    with SeriesWriter(tmp_path / "water.h5") as writer:
        for w in water:
            writer.append(w)
    output = tmp_path / "out"
    output.mkdir()
    arguments = ["animate", str(tmp_path / "water.h5"), "--interpolate", "12", "--device", "cpu", "--size", "64x48"]
    process = subprocess.Popen(
        [sys.executable, "-m", "orbitile", *arguments, "-o", str(output / name)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    end = time.monotonic() + 120
    while not list(output.iterdir()):  # the room is found, and pictures are being written
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[1] == "orbitile: interrupted\n"
    assert process.returncode == 130
    assert list(output.iterdir()) == []


def test_what_a_diagram_shows(hydrogens):
    tracking = track(trajectory_of(hydrogens))
    assert orbitals_of_diagram(tracking, "alpha", 1) == [1, 2]
    assert {0, 1, 2, 3} <= set(orbitals_of_diagram(tracking, "alpha", 2))


def test_isovalues_too_come_from_the_device_asked_for(spoilt, tmp_path, monkeypatch):
    pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")
    for n in (1, 2):
        with SeriesWriter(tmp_path / f"{n}.h5") as writer:
            for w in list(spoilt)[:n]:
                writer.append(w)
    monkeypatch.setenv("ORBITILE_DEVICE", "abacus")
    for name, field in (("2.h5", "homo"), ("1.h5", "homo..lumo"), ("1.h5", "homo")):
        film = ["--spacing", "0.6", "--size", "64x48", "--pictures", "2", "-o", str(tmp_path / f"{name}-{field}.gif")]
        assert main(["animate", str(tmp_path / name), field, *film, "--device", "cpu"]) == 0
        assert main(["animate", str(tmp_path / name), field, *film]) == 2


def test_there_is_no_diagram_of_a_spin_that_has_no_orbitals_of_its_own(hydrogens, tmp_path):
    with pytest.raises(FieldError, match="share their orbitals"):
        draw_correlation(track(trajectory_of(hydrogens[:2])), tmp_path / "beta.png", spin="beta")
    assert not (tmp_path / "beta.png").exists()


@pytest.mark.slow
def test_from_the_shell(tmp_path, water, capsys):
    pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")
    from tests.scf.test_scf import write_water

    write_water(tmp_path / "water.xyz", 4)
    series, copy = str(tmp_path / "water.h5"), str(tmp_path / "copy.h5")
    with lib.with_omp_threads(1):
        assert main(["scf", str(tmp_path / "water.xyz"), "--basis", "sto-3g", "-o", series]) == 0
    assert main(["series", series, "-o", copy]) == 0
    assert "4 frames" in capsys.readouterr().out
    assert main(["correlate", copy, "-o", str(tmp_path / "diagram.png")]) == 0
    diagram = pictures(tmp_path, "diagram.png")[0]
    assert diagram.shape == (1200, 1600, 3)
    for blue_orange_or_green in ((31, 119, 180), (255, 127, 14), (44, 160, 44)):  # a line an orbital
        assert (np.abs(diagram - blue_orange_or_green).max(axis=-1) < 8).sum() > 500
    film = ["--spacing", "0.4", "--size", "64x48", "-o"]
    assert main(["animate", series, "homo", *film, str(tmp_path / "a.gif")]) == 0
    smooth = ["--interpolate", "2", "--align"]
    assert main(["animate", series, "homo", *smooth, *film, str(tmp_path / "e.gif")]) == 0
    assert "10 pictures" in capsys.readouterr().out
    assert main(["animate", series, "homo", "--interpolate", "2", "--no-tracking", *film, "f.gif"]) == 2
    with SeriesWriter(tmp_path / "one.h5") as writer:
        writer.append(water[0])
    single = str(tmp_path / "one.h5")
    assert main(["animate", single, "homo..lumo", *film, str(tmp_path / "b.gif")]) == 0
    assert "2 pictures" in capsys.readouterr().out
    assert main(["animate", single, "mo:4-6", *film, str(tmp_path / "g.gif")]) == 0
    assert "3 pictures" in capsys.readouterr().out
    walk = ["--isovalue", "0.2..0.05", "--pictures", "3", "--turn", "90"]
    assert main(["animate", single, "homo", *walk, *film, str(tmp_path / "c.gif")]) == 0
    assert main(["animate", series, "homo", "--isovalue", "0.2..0.1", *film, str(tmp_path / "d.gif")]) == 2
    assert main(["animate", str(tmp_path / "none*.molden"), *film, str(tmp_path / "d.gif")]) == 2
    assert main(["scf", str(tmp_path / "water.xyz"), "--basis", "6-31g", "-o", series]) == 2
    cation = ["--method", "rohf", "--charge", "1", "--unpaired", "1", "--basis", "6-31g*", "--cartesian"]
    with lib.with_omp_threads(1):
        assert main(["scf", str(tmp_path / "water.xyz"), *cation, "-o", str(tmp_path / "cation.h5")]) == 0
    first = ob.load_trajectory(tmp_path / "cation.h5")[0]
    assert (first.kind, first.n_basis) == ("restricted open-shell", 19)
    assert not (tmp_path / "d.gif").exists()
    assert "Traceback" not in capsys.readouterr().err


def test_a_trajectory_that_grows_meanwhile_and_frames_that_are_left_out(tmp_path, water):
    """The film has the frames that were there when it began; what is left out is told once."""

    class Growing:
        name, n = "growing", 4

        def __len__(self):
            return self.n

        def read(self, index):
            if index == 1:
                raise FileError("damaged")
            return water[index]

    source, told, shares = Growing(), [], []

    def progress(share):
        shares.append(share)
        source.n = 4 if share < 0.5 else 6

    shots = along(ob.Trajectory(source), "homo", None, 0.1, report=told.append)
    assert animate(shots, tmp_path / "film", **SMALL, progress=progress) == 3
    assert len(list((tmp_path / "film").iterdir())) == 3
    assert told == ["frame 2 left out: damaged"]
    assert max(shares) == 1.0
    assert shares == sorted(shares)


@pytest.mark.slow
def test_a_picture_that_is_being_computed_can_be_cancelled(water, tmp_path):
    """What asks is not only the film, once a picture, but what it computes."""
    asked = []
    shots = over_isovalues(water[0], "density", [0.1, 0.2])
    for film in ("film", "again"):  # what is kept with the wavefunction is made the first time, which asks too
        asked.clear()
        assert animate(shots, tmp_path / film, **SMALL, cancelled=lambda: bool(asked.append(None))) == 2
    often = len(asked)
    assert often > 2 * (2 + 2)  # twice for each picture, while space is found and while it is drawn
    for n in range(1, often, 3):
        with pytest.raises(Cancelled):
            animate(shots, tmp_path / "gone", **SMALL, cancelled=iter([False] * n + [True]).__next__)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "film"]


def test_films_of_fog_and_slices(water, tmp_path):
    seen = {}
    for style in ("surface", "fog", "slice"):
        shots = over_isovalues(water[0], "homo", [0.1, 0.1, 0.05])
        assert animate(shots, tmp_path / style, style=style, **SMALL) == 3
        seen[style] = pictures(tmp_path / style)
        assert (seen[style][0] == seen[style][1]).all()
        assert (seen[style][1] != seen[style][2]).any()
    for one, other in pairwise(seen.values()):
        assert np.abs(one - other).max() > 50
    with pytest.raises(RenderError, match="expected surface, slice, fog, got 'mist'"):
        animate(shots, tmp_path / "mist", style="mist", **SMALL)
