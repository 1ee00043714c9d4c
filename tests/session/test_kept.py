"""What a viewer keeps of files: only as long as they hold it, whatever room there is."""

import os
import shutil
from pathlib import Path

import pytest

import orbitile as ob
from orbitile.session.sampling import ShownTrajectory, WavefunctionCache
from orbitile.session.source import OneFile, Source
from tests.conftest import SAMPLES

WATER, METHYL = SAMPLES / "h2o_sto3g.fchk", SAMPLES / "ch3_hf_sto3g.fchk"


def noted(path):
    return str(OneFile(str(path)).noted())


def kept(cache):
    return [Path(file.path).name for file, _ in cache._held.items()]


def test_a_file_that_is_written_again_takes_the_place_of_what_it_held(tmp_path):
    cache, job, other = WavefunctionCache(), tmp_path / "job.fchk", tmp_path / "other.fchk"
    shutil.copy(WATER, other)
    cache.get(noted(other))
    for content in (WATER, METHYL) * 3:
        shutil.copy(content, job)
        assert len(cache.get(noted(job)).positions) == (3 if content == WATER else 4)
    assert kept(cache) == ["other.fchk", "job.fchk"]


def test_of_files_that_are_removed_nothing_is_kept(tmp_path):
    cache = WavefunctionCache()
    files = [Path(shutil.copy(WATER, tmp_path / f"{n}.fchk")) for n in range(3)]
    for file in files[:2]:
        cache.get(noted(file))
    files[0].unlink()
    cache.get(noted(files[2]))
    assert kept(cache) == ["1.fchk", "2.fchk"]
    files[1].unlink()
    cache.forget_missing()
    assert kept(cache) == ["2.fchk"]


@pytest.mark.linux
@pytest.mark.parametrize("ask", ["a viewer", "a worker"])
def test_a_series_that_is_written_again_is_closed(ask, tmp_path):
    pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")
    cache, path, still = WavefunctionCache(), tmp_path / "a.h5", ob.load(WATER)

    def written(n_frames):
        path.unlink(missing_ok=True)
        with ob.SeriesWriter(path) as writer:
            for _ in range(n_frames):
                writer.append(still)
        if ask == "a viewer":
            cache.keep(ShownTrajectory(Source((str(path),))))
        else:
            cache.get(str(Source((str(path),)).noted()), 1)

    def handles():
        return len(os.listdir("/proc/self/fd"))

    written(6)
    before = handles()
    for n_frames in (5, 4, 3, 2):
        written(n_frames)
    assert handles() == before
