"""Batches by processes, some of which are killed: the same comes out as of one process that is left alone."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orbitile.jobs.running import run_batch
from orbitile.workers import environment
from tests.batch.deadly_readers import write_readers
from tests.batch.helpers import digests, write_files
from tests.soak.measuring import command_line, descendants

pytestmark = [pytest.mark.slow, pytest.mark.linux]

_ITEMS = ["homo", "charges:scheme=mulliken", "density+esp"]


def start(folder: Path, out: Path, *more: str, path: str = "") -> subprocess.Popen:
    """The command, over all files of a folder."""
    settings = environment()
    settings["PYTHONPATH"] = os.pathsep.join(filter(None, [path, settings["PYTHONPATH"]]))
    words = ["batch", str(folder / "*"), *_ITEMS, "-o", str(out), "--size", "120x90", "--to", "png,mesh,json", *more]
    return subprocess.Popen(
        [sys.executable, "-m", "orbitile", *words],
        env=settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen) -> str:
    out, err = process.communicate(timeout=600)
    assert process.returncode == 0, err
    return out + err


def workers_of(process: int) -> list[int]:
    """Processes of Orbitile that a process has started, and those that these have."""
    return [child for child in descendants(process) if "orbitile.workers" in command_line(child)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files") / "runs"
    files = write_files(folder, 8)
    (folder / "broken.molden").write_text(files[0].read_text()[:300])
    (folder / "empty.molden").touch()
    return folder


@pytest.fixture(scope="module")
def undisturbed(runs, tmp_path_factory):
    """What one process makes of the files."""
    out = tmp_path_factory.mktemp("one") / "out"
    run_batch(str(runs / "*"), _ITEMS, out, to=["png", "mesh", "json"], size=(120, 90))
    return digests(out)


def test_killed_again_and_again(runs, undisturbed, tmp_path):
    """The command is killed with -9 at random moments, as soon as it has done some more, until it comes to its end."""
    rng, out, done = random.Random(7), tmp_path / "out", 0
    for _ in range(3):
        process = start(runs, out, "--workers", "2")
        wanted = done + rng.randint(1, 2)
        while process.poll() is None and _records(out) < wanted:
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 0.1))
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert _records(out) >= wanted, "what was done stays done"
        done = _records(out)
    told = finish(start(runs, out, "--workers", "2"))
    before = int(told.split(" of them unchanged")[0].rpartition(" ")[2])
    assert before >= done, "nothing is done twice"
    assert digests(out) == undisturbed


def _records(out: Path) -> int:
    return len(list((out / "records").glob("*.json")))


def test_workers_are_killed(runs, undisturbed, tmp_path):
    rng, out, kills = random.Random(11), tmp_path / "out", 0
    process = start(runs, out, "--workers", "2")
    while process.poll() is None and kills < 2:
        if _records(out) <= 2 * kills:  # what was done since the last kill
            time.sleep(0.02)
            continue
        time.sleep(rng.uniform(0, 0.1))
        if found := workers_of(process.pid):
            os.kill(rng.choice(found), signal.SIGKILL)
            kills += 1
    finish(process)
    assert kills == 2
    assert digests(out) == undisturbed


def test_files_that_crash_hang_and_end_their_process(runs, undisturbed, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    for file in runs.glob("h2_[4-7].molden"):
        (folder / file.name).write_text(file.read_text())
    for word in ("crash", "hang", "end"):
        (folder / f"{word}.deadly").write_text(f"deadly {word}")
    path = str(write_readers(tmp_path / "plugins"))
    told = finish(start(folder, tmp_path / "out", "--workers", "2", "--timeout", "20", path=path))
    assert "7 files" in told
    assert "3 refused" in told
    assert "hang.deadly: refused: did not come to an end within 20 s" in told
    assert "crash.deadly: refused: the process that read it ended" in told
    written = digests(tmp_path / "out")
    expected = {name: text for name, text in undisturbed.items() if re.search("/h2_[4-7]", name)}
    assert expected
    assert expected.items() <= written.items()


@pytest.fixture
def interruptible():
    """Programs that are started hear SIGINT, also where the tests ignore it, as what a shell starts with `&` does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_interrupted_in_order(runs, undisturbed, tmp_path):
    out = tmp_path / "out"
    process = start(runs, out, "--workers", "1")
    while not any((out / "records").glob("*.json")) if out.exists() else process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert (out / "table.csv").exists(), "what there is so far"
    assert os.listdir(out / ".orbitile") == ["lock"]
    finish(start(runs, out, "--workers", "1"))
    assert digests(out) == undisturbed


def test_a_second_batch_in_the_same_folder_is_refused(runs, tmp_path):
    out = tmp_path / "out"
    first = start(runs, out, "--workers", "1")
    while not (out / ".orbitile" / "lock").exists():
        time.sleep(0.05)
    time.sleep(0.2)
    second = start(runs, out)
    _, err = second.communicate(timeout=60)
    first.kill()
    first.communicate()
    assert second.returncode == 2
    assert "another batch is writing to it" in err


def test_by_workers_of_a_dask_cluster(runs, undisturbed, tmp_path):
    """One of two workers is killed in the middle."""
    distributed = pytest.importorskip("distributed", reason="extra cluster")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, env=environment()
    )
    with cluster:
        process = start(runs, tmp_path / "out", "--dask", cluster.scheduler_address)
        while process.poll() is None and _records(tmp_path / "out") < 4:
            time.sleep(0.05)
        os.kill(next(iter(cluster.workers.values())).pid, signal.SIGKILL)
        finish(process)
    assert digests(tmp_path / "out") == undisturbed
