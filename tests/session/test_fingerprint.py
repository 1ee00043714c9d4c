"""What files hold, and how a change is noticed."""

import os
import shutil
from pathlib import Path

import pytest

from orbitile.base.errors import FileChanged
from orbitile.session.source import OneFile, Source, content_of, require_unchanged
from tests.conftest import SAMPLES


def test_equal_files_have_equal_contents_whatever_their_names(tmp_path):
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("a")
    other.write_text("a")
    assert content_of(str(one)) == content_of(str(other)) != ""
    other.write_text("b")
    assert content_of(str(one)) != content_of(str(other))
    assert content_of(str(tmp_path / "none")) == ""


@pytest.mark.parametrize("age", [0, 3600])
def test_a_change_that_leaves_size_and_time_is_noticed(tmp_path, age):
    file = tmp_path / "file"
    file.write_text("abc")
    then = file.stat().st_mtime_ns - age * 10**9
    os.utime(file, ns=(then, then))
    before = content_of(str(file))
    for n in range(50):  # within one tick of the clock of the file system
        file.write_text(f"{n:03d}")
        os.utime(file, ns=(then, then))
        now = content_of(str(file))
        assert now != before
        before = now


def test_a_file_that_has_settled_is_not_read_again(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.write_text("abc")
    monkeypatch.setattr("time.time_ns", lambda: file.stat().st_ctime_ns + 10**10)
    known = content_of(str(file))
    # whether a file is read cannot be seen from outside
    monkeypatch.setattr("orbitile.session.source._read", lambda *arguments: pytest.fail("it was read again"))
    assert content_of(str(file)) == known


def test_a_file_may_grow_where_it_is_allowed(tmp_path):
    file = tmp_path / "file"
    file.write_text("abc")
    known = content_of(str(file))
    with file.open("a") as stream:
        stream.write("d")
    require_unchanged(str(file), known, grown=True)
    require_unchanged(str(file), "")
    with pytest.raises(FileChanged, match="has changed since it was loaded"):
        require_unchanged(str(file), known)
    file.write_text("xbcd")
    with pytest.raises(FileChanged):
        require_unchanged(str(file), known, grown=True)
    file.unlink()
    with pytest.raises(FileChanged, match="is missing"):
        require_unchanged(str(file), known)


def test_a_folder_that_is_read_as_a_file_holds_names_and_contents(tmp_path):
    folder = tmp_path / "job.trexio"
    folder.mkdir()
    (folder / "a").write_text("1")
    (folder / "b").write_text("2")
    known = content_of(str(folder))
    (folder / "a").rename(folder / "c")
    assert content_of(str(folder)) != known != ""
    assert content_of(str(tmp_path)) == content_of(str(folder))  # it is what is read there
    (tmp_path / "empty").mkdir()
    assert content_of(str(tmp_path / "empty")) == ""


def test_of_a_large_file_places_are_read(tmp_path, monkeypatch):
    # limits of a small file, since a large one has hundreds of megabytes
    monkeypatch.setattr("orbitile.session.source._WHOLE", 1000)
    monkeypatch.setattr("orbitile.session.source._END", 100)
    monkeypatch.setattr("orbitile.session.source._PIECE", 2)
    file = tmp_path / "file"
    data = bytearray(range(256)) * 20
    file.write_bytes(data)
    known = content_of(str(file))
    for at in (0, 99, len(data) - 100, len(data) - 1):
        changed = data.copy()
        changed[at] ^= 1
        file.write_bytes(changed)
        assert content_of(str(file)) != known
    other = bytes(255 - byte for byte in data)
    file.write_bytes(data[:100] + other[100:-100] + data[-100:])
    assert content_of(str(file)) != known
    file.write_bytes(data + b"more")
    assert content_of(str(file), known) == known


def test_sources_survive_as_text(tmp_path):
    file = tmp_path / "a: file"
    file.write_text("abc")
    for source in (OneFile(str(file)), OneFile(str(file)).noted()):
        assert OneFile.read(str(source)) == source
    trajectory = Source((str(file),), align=True).noted()
    assert Source.read(str(trajectory)) == trajectory
    assert len(trajectory.contents) == 1


def test_numbered_files_of_a_folder_are_noted_one_by_one(tmp_path):
    """So that each frame is looked at alone when it is read."""
    for n in (1, 2, 10):
        shutil.copy(SAMPLES / "h2o.molden.input", tmp_path / f"step{n}.molden")
    noted = Source((str(tmp_path),)).noted()
    assert [Path(file).name for file in noted.files] == ["step1.molden", "step2.molden", "step10.molden"]
    assert len(noted.contents) == 3
    assert len(noted.opened()) == 3
