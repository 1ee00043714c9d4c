"""Trajectories from files, and the series file: whole after a kill, readable while it grows."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
import weakref
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from shutil import copyfile

import numpy as np
import pytest

import orbitile as ob
from orbitile import SeriesWriter
from orbitile.base.errors import FieldError, FileError
from orbitile.commandline import main
from orbitile.readers import natural_order
from orbitile.readers.series import SeriesFrames
from orbitile.scf.series import compute_series
from tests.conftest import SAMPLES, random_wavefunction
from tests.molecules import computed, gto, trajectory_of

pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")

APPEND = """
import sys
import numpy as np
from dataclasses import replace
import orbitile as ob
from orbitile import SeriesWriter
path, seed = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
n = 24
shells = tuple(ob.Shell(i, 1, False, [0.5 + i], [1.0]) for i in range(n // 3))
with SeriesWriter(path) as writer:
    print(len(writer.numbers), flush=True)
    for frame in range(len(writer.numbers), 1000000):
        content = np.random.default_rng(frame)
        writer.append(ob.Wavefunction(
            atomic_numbers=[1] * (n // 3), positions=content.normal(size=(n // 3, 3)), shells=shells,
            alpha=ob.Orbitals(content.normal(size=(n, n)), np.zeros(n), np.full(n, float(frame)))))
        print(frame + 1, flush=True)
"""


def assert_same(a: ob.Wavefunction, b: ob.Wavefunction) -> None:
    for name in ("atomic_numbers", "positions", "core_charges"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for one, other in ((a.alpha, b.alpha), (a.beta, b.beta)):
        assert (one is None) == (other is None)
        if one is not None:
            for name in ("coefficients", "occupations", "energies"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    for one, other in zip(a.shells, b.shells, strict=True):
        assert (one.atom, one.angular_momentum, one.pure) == (other.atom, other.angular_momentum, other.pure)
        np.testing.assert_array_equal(one.exponents, other.exponents)
        np.testing.assert_array_equal(one.coefficients, other.coefficients)


def test_what_is_written_is_read(tmp_path, water):
    with SeriesWriter(tmp_path / "water.h5") as writer:
        for w in water:
            writer.append(w)
    trajectory = ob.load_trajectory(tmp_path / "water.h5")
    assert len(trajectory) == len(water)
    for a, b in zip(water, trajectory, strict=True):
        assert_same(a, b)
    assert_same(trajectory[-1], water[-1])
    with pytest.raises(FieldError, match="there is no frame 9"):
        trajectory[9]
    with pytest.raises(FileError, match="holds a trajectory of 9 frames"):
        ob.load(tmp_path / "water.h5")


def test_commands_take_one_frame(tmp_path, water, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SeriesWriter("water.h5") as writer:
        for w in water:
            writer.append(w)
    assert main(["volume", "water.h5", "homo", "--frame", "3", "--spacing", "0.5", "-o", "three.cube"]) == 0
    found = ob.load_volumes("three.cube")[0]
    expected = ob.compute(water[2], "homo", found.lattice, device="cpu")
    np.testing.assert_allclose(found.values, expected.values, atol=2e-5)
    capsys.readouterr()
    assert main(["info", "water.h5"]) == 2
    assert "holds a trajectory of 9 frames, not one wavefunction; choose one with --frame" in capsys.readouterr().err
    for command, frame in (("info", "10"), ("interactions", "1000000000"), ("interactions", "0")):
        assert main([command, "water.h5", "--frame", frame]) == 2
        assert f"expected a number from 1 to 9, got {frame}\n" in capsys.readouterr().err


def test_two_spins_and_orbitals_that_come_and_go(tmp_path):
    frames = []
    for n in (6, 4, 8):
        w = random_wavefunction(1, n_orbitals=n)
        frames.append(replace(w, beta=ob.Orbitals(w.alpha.coefficients[:, 1:], np.zeros(n - 1))))
    with SeriesWriter(tmp_path / "s.h5") as writer:
        for number, w in zip((0, 5, 6), frames, strict=True):
            writer.append(w, number)
    source = SeriesFrames(tmp_path / "s.h5")
    for index, w in enumerate(frames):
        assert_same(source.read(index, check=False), w)
    assert [source.number(index) for index in range(3)] == [0, 5, 6]


def test_frames_that_do_not_fit(tmp_path, water):
    other = computed("O 0 0 0; H 0 0.7 0.6; H 0 -0.7 0.6", "6-31g")
    with SeriesWriter(tmp_path / "s.h5") as writer:
        writer.append(water[0])
        with pytest.raises(FileError, match="frame 2 has another basis set"):
            writer.append(other)
        with pytest.raises(FileError, match="has other atoms"):
            writer.append(computed("H 0 0 0; H 0 0 0.74"))
        with pytest.raises(FileError, match="another process is writing it"):
            SeriesWriter(tmp_path / "s.h5")
        writer.append(water[1])
    assert len(ob.load_trajectory(tmp_path / "s.h5")) == 2
    with pytest.raises(FileError, match="other settings"):
        SeriesWriter(tmp_path / "s.h5", settings="hf")
    (tmp_path / "t.h5").write_bytes(b"something else")
    with pytest.raises(FileError, match="expected a series file"):
        SeriesWriter(tmp_path / "t.h5")
    assert (tmp_path / "t.h5").read_bytes() == b"something else"


def test_the_command_keeps_the_old_file_until_the_new_one_is_complete(tmp_path, water, capsys):
    old = tmp_path / "old.h5"
    with SeriesWriter(old) as writer:
        for w in water[:3]:
            writer.append(w)
    before = old.read_bytes()
    parts = [str(tmp_path / "1.molden"), str(tmp_path / "2.fchk")]
    copyfile(files("orbitile") / "data" / "benzene.molden", parts[0])
    copyfile(SAMPLES / "ch3_hf_sto3g.fchk", parts[1])
    assert main(["series", *parts, "-o", str(old)]) == 2
    assert "frame 2 has other atoms" in capsys.readouterr().err
    assert old.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.molden", "2.fchk", "old.h5"]
    assert main(["series", parts[0], "-o", str(old)]) == 0
    (only,) = ob.load_trajectory(old)
    assert_same(only, ob.load(parts[0]))


@pytest.mark.linux
@pytest.mark.slow
def test_killed_again_and_again_it_loses_nothing(tmp_path):
    """Whatever was reported as appended is there after SIGKILL, at most one frame more, and the series goes on."""
    path, rng = tmp_path / "s.h5", np.random.default_rng()
    committed = 0
    for round_ in range(7):
        process = subprocess.Popen(
            [sys.executable, "-c", APPEND, str(path), "0"], stdout=subprocess.PIPE, text=True, bufsize=1
        )
        wanted = committed + int(rng.integers(1, 40))
        for line in process.stdout:
            committed = int(line)
            if committed >= wanted:
                break
        time.sleep(rng.uniform(0, 0.004))
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().split()
        process.wait()
        told = int(rest[-1]) if rest and rest[-1].isdigit() else committed
        source = SeriesFrames(path)
        committed = len(source)
        assert told <= committed <= told + 1, round_
        for frame in {0, committed // 2, committed - 1}:
            content = np.random.default_rng(frame)
            read = source.read(frame, check=False)
            np.testing.assert_array_equal(read.positions, content.normal(size=(8, 3)))
            np.testing.assert_array_equal(read.alpha.coefficients, content.normal(size=(24, 24)))
            assert np.all(read.alpha.energies == frame)
        source.close()


@pytest.mark.linux
@pytest.mark.slow
def test_a_full_disk_is_refused_before_it_does_harm(tmp_path):
    """A limit on the size of files stands for it: the writer says so in one line, and all frames are there."""
    limited = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (9_000_000,) * 2)" + APPEND
    done = subprocess.run(
        [sys.executable, "-c", limited, str(tmp_path / "s.h5"), "0"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.strip().splitlines()[-1].startswith("orbitile.base.errors.FileError")
    assert "cannot be written ([Errno 27] File too large)" in done.stderr
    source = SeriesFrames(tmp_path / "s.h5")
    assert len(source) == int(done.stdout.split()[-1]) > 50
    last = source.read(len(source) - 1, check=False)
    np.testing.assert_array_equal(last.positions, np.random.default_rng(len(source) - 1).normal(size=(8, 3)))


@pytest.mark.slow
def test_read_by_another_process_while_it_grows(tmp_path, water):
    path = tmp_path / "s.h5"
    count = "import sys, orbitile as ob; t = ob.load_trajectory(sys.argv[1]); print(len(t), t[-1].positions[1, 1])"
    with SeriesWriter(path) as writer:
        here = None
        for n, w in enumerate(water[:3], 1):
            writer.append(w)
            here = here or ob.load_trajectory(path)
            assert len(here) == n
            assert_same(here[n - 1], w)
            seen = subprocess.run([sys.executable, "-c", count, str(path)], capture_output=True, text=True, check=True)
            assert seen.stdout.split() == [str(n), str(w.positions[1, 1])]


def test_damaged_series(tmp_path, water):
    with SeriesWriter(tmp_path / "s.h5") as writer:
        for w in water[:3]:
            writer.append(w)
    whole = (tmp_path / "s.h5").read_bytes()
    for n_bytes in (18, 600, 3000, len(whole) - 1):
        (tmp_path / "t.h5").write_bytes(whole[:n_bytes])
        with pytest.raises(FileError, match="cut off"):
            list(ob.load_trajectory(tmp_path / "t.h5").frames(lambda line: pytest.fail(line)))


# Other sources ----------------------------------------------------------------------------------------------------


def molden_text(w_atoms: str, tmp_path: Path) -> str:
    from pyscf import scf
    from pyscf.tools import molden

    field = scf.RHF(gto.M(atom=w_atoms, basis="6-31g*", verbose=0)).run()
    molden.from_scf(field, str(tmp_path / "one.molden"))
    return (tmp_path / "one.molden").read_text()


@pytest.fixture(scope="module")
def molden_frames(tmp_path_factory) -> list[str]:
    folder = tmp_path_factory.mktemp("molden")
    return [molden_text(f"O 0 0 0; H 0 {0.7 + 0.05 * n} 0.6; H 0 -0.7 0.6", folder) for n in range(3)]


def test_molden_file_of_several_frames(tmp_path, molden_frames):
    file = tmp_path / "scan.molden"
    # the third one without a heading of its own, the second one damaged
    damaged = molden_frames[1].replace("[MO]", "[MO]\nSym= x\n Ene= nonsense\n", 1)
    third = molden_frames[2][molden_frames[2].index("[Atoms]") :]
    file.write_text(molden_frames[0] + damaged + third)
    trajectory = ob.load_trajectory(file)
    told = []
    assert len(trajectory) == 3
    assert [index for index, _ in trajectory.frames(told.append)] == [0, 2]
    assert "frame 2 left out" in told[0]
    assert 1 in trajectory.problems
    for index in (0, 2):
        (tmp_path / "alone.molden").write_text(molden_frames[index])
        assert_same(trajectory[index], ob.load(tmp_path / "alone.molden"))
    with pytest.raises(FileError, match="frame 2"):
        trajectory[1]


def test_a_growing_molden_file(tmp_path, molden_frames):
    file = tmp_path / "scan.molden"
    file.write_text(molden_frames[0])
    trajectory = ob.load_trajectory(file)
    assert len(trajectory) == 1
    text = molden_frames[1]
    with file.open("a") as stream:
        stream.write(text[: len(text) // 2])
        stream.flush()
        assert len(trajectory) == 2
        with pytest.raises(FileError):
            trajectory[1]
        stream.write(text[len(text) // 2 :])
    assert len(list(trajectory)) == 2
    assert not trajectory.problems


def test_files_and_patterns(tmp_path, molden_frames):
    for n, text in zip((10, 2, 1), molden_frames, strict=True):
        (tmp_path / f"frame{n}.molden").write_text(text)
    trajectory = ob.load_trajectory(str(tmp_path / "frame*.molden"))
    widths = [w.positions[1, 1] for w in trajectory]
    assert widths == sorted(widths, reverse=True)
    given = ob.load_trajectory([tmp_path / "frame10.molden", tmp_path / "frame1.molden"])
    assert [w.positions[1, 1] for w in given] == [widths[2], widths[0]]
    assert sorted(["a10b2", "a9", "a10b1", "a"], key=natural_order) == ["a", "a9", "a10b1", "a10b2"]
    with pytest.raises(FileError, match="none matches"):
        ob.load_trajectory(str(tmp_path / "nothing*.molden"))
    (tmp_path / "frame2.molden").write_text("[Molden Format]\n")
    again = ob.load_trajectory(str(tmp_path / "frame*.molden"))
    assert len(list(again)) == 2
    assert list(again.problems) == [1]


def test_a_trajectory_keeps_few_frames(water):
    trajectory = trajectory_of(water)
    source = trajectory.source
    source.read = lambda index: replace(source.wavefunctions[index])  # each time another object
    seen = [weakref.ref(frame) for frame in trajectory]
    gc.collect()
    assert [frame() is not None for frame in seen] == 5 * [False] + 4 * [True]
    assert trajectory[8] is trajectory[8]


@pytest.mark.linux
@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_frames(tmp_path):
    """40 frames of 11 MB are walked in a process of 64 MB more than it begins with."""
    n = 1200
    shells = tuple(ob.Shell(i, 1, False, [1.0], [1.0]) for i in range(n // 3))
    rng = np.random.default_rng(1)
    positions = 60.0 * np.stack(np.meshgrid(*[np.arange(8)] * 3), -1).reshape(-1, 3)[: n // 3]
    with SeriesWriter(tmp_path / "s.h5") as writer:
        for _ in range(40):
            order = rng.permutation(n)
            writer.append(
                ob.Wavefunction(
                    atomic_numbers=[1] * (n // 3), positions=positions, shells=shells,
                    alpha=ob.Orbitals(np.eye(n)[:, order], np.zeros(n)),
                )
            )  # fmt: skip
    walk = (
        "import resource, sys, orbitile as ob; t = ob.load_trajectory(sys.argv[1], kept=1); t[0]; "
        "a = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss; n = sum(1 for _ in t); "
        "print(n, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - a)"
    )
    assert os.path.getsize(tmp_path / "s.h5") > 400e6
    seen = subprocess.run(
        [sys.executable, "-c", walk, str(tmp_path / "s.h5")], capture_output=True, text=True, check=True
    )
    n_frames, kilobytes = map(int, seen.stdout.split())
    assert n_frames == 40
    assert kilobytes < 64e3


def test_a_file_that_nobody_may_write():
    """Not even an administrator: a program while it runs, or whatever is on a file system mounted for reading only."""
    with pytest.raises(FileError, match=r": cannot be written \(Text file busy\)"):
        SeriesWriter(os.path.realpath(sys.executable))


@pytest.mark.parametrize("name", ["~nosuchuserhere/a.h5", "n" * 253 + ".h5", "a\0b.h5"])
def test_names_that_no_file_can_have(tmp_path, name):
    geometry = tmp_path / "a.xyz"
    geometry.write_text("1\n\nHe 0 0 0\n")
    with pytest.raises(FileError, match=r"name|folder"):
        compute_series(geometry, name if name.startswith("~") else tmp_path / name)
