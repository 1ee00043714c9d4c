"""Folders and archives: the best file in them is found, and nothing that an archive says is believed."""

import gzip
import io
import os
import shutil
import tarfile
import time
import zipfile

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import FileError
from orbitile.evaluation.requests import FileReferences
from orbitile.files.archives import Entry, extract
from orbitile.files.plain import PlainFile
from orbitile.readers import choices, load_geometries
from orbitile.session.source import content_of
from tests.conftest import SAMPLES
from tests.fuzz.damage import mutated
from tests.fuzz.samples import LOGS

MOLDEN, FCHK = SAMPLES / "h2o.molden.input", SAMPLES / "water_sto3g_hf_g03.fchk"
LOG = LOGS / "psi4_water.out"
AGES = {"same": lambda n: 1_600_000_000, "each older": lambda n: 1_600_000_000 - 60 * n}


def filled(folder, files, ages="each older"):
    """A folder with copies of files under names; each is older than the one before, or none is."""
    for n, (name, source) in enumerate(files.items()):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(source.read_bytes() if hasattr(source, "read_bytes") else source)
        os.utime(path, (AGES[ages](n),) * 2)
    return folder


def packed(folder, path):
    """The folder as an archive, of the kind that its name says."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(folder.rglob("*")):
                archive.write(file, file.relative_to(folder.parent))
    else:
        with tarfile.open(path, f"w:{path.suffix.lstrip('.').replace('tar', '')}") as archive:
            archive.add(folder, folder.name)
    return path


JOBS = {
    "digits before logs": ({"a.out": LOG, "z.fchk": FCHK}, "z.fchk", "has all digits, as logs have not"),
    "the log alone": ({"a.out": LOG, "slurm-1.out": b"queue 7\n"}, "a.out", "the only file there with orbitals"),
    "the last of a series": (
        {f"step{n}.molden": MOLDEN for n in (10, 2, 9)},
        "step10.molden",
        "the last of 3 numbered files",
    ),
    "the newest": ({"b.molden": MOLDEN, "a.molden": MOLDEN}, "b.molden", "the newest of 2"),
    "the uppermost": ({"a.out": LOG, "more/b.fchk": FCHK}, "a.out", "the only file there"),
    "within": ({"more/b.fchk": FCHK, "read me": b"text"}, "more/b.fchk", "the only file there"),
    "far within": ({"1/2/b.fchk": FCHK}, "1/2/b.fchk", "the only file there"),
    "none that is hidden": (
        {".a.molden": MOLDEN, "__MACOSX/._b.fchk": FCHK, "b.fchk": FCHK},
        "b.fchk",
        "the only file",
    ),
    "the next where one is damaged": (
        {"a.molden": MOLDEN.read_bytes()[:2000], "b.fchk": FCHK},
        "b.fchk",
        "that comes first; a.molden",
    ),
}


@pytest.mark.parametrize(("files", "best", "why"), JOBS.values(), ids=JOBS)
def test_the_best_file_of_a_folder(tmp_path, files, best, why):
    folder = filled(tmp_path / "job", files)
    found = ob.load(folder)
    assert found.source == str(folder / best)
    assert f"{best} was taken from job, " in found.remarks[-1]
    assert why in found.remarks[-1]


@pytest.mark.parametrize("name", ["job.zip", "job.tar", "job.tar.gz", "job.tar.xz", "no ending"])
def test_archives_are_as_their_folders(tmp_path, name):
    folder = filled(tmp_path / "job", {"a.out": LOG, "z.fchk": FCHK})
    path = packed(folder, tmp_path / (name if "." in name else "job.tar.bz2"))
    path = path.rename(tmp_path / name)
    found, plain = ob.load(path), ob.load(FCHK)
    np.testing.assert_array_equal(found.alpha.coefficients, plain.alpha.coefficients)
    assert found.source == f"{path}!job/z.fchk"
    assert ob.load(found.source).source == found.source
    assert ob.load(f"{path}!job/a.out").program.startswith("Psi4")
    with pytest.raises(FileError, match="no file job/b in this archive"):
        ob.load(f"{path}!job/b")


def test_where_nothing_decides_the_user_is_asked(tmp_path):
    folder = filled(tmp_path / "job", {"b.molden": MOLDEN, "a.molden": MOLDEN}, "same")
    with pytest.raises(FileError, match=r"good files in this folder: a\.molden, b\.molden\. Choose one, as .*job/a"):
        ob.load(folder)
    path = packed(folder, tmp_path / "job.zip")
    with pytest.raises(FileError, match=r"good files in this archive: .*Choose one, as .*job\.zip!job/a\.molden"):
        ob.load(path)
    jobs = filled(tmp_path / "jobs", {"1/a.molden": MOLDEN, "2/a.molden": MOLDEN})
    with pytest.raises(FileError, match=r"good files in this folder: 1/a\.molden, 2/a\.molden"):
        ob.load(jobs)


def test_folders_and_archives_without_anything(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileError, match="is a folder without a file with orbitals"):
        ob.load(tmp_path / "empty")
    with pytest.raises(FileError, match="is a folder without a file with orbitals"):  # one that is too far within
        ob.load(filled(tmp_path / "deep", {"1/2/3/b.fchk": FCHK}))
    inner = packed(filled(tmp_path / "job", {"a.molden": MOLDEN}), tmp_path / "inner.zip")
    outer = packed(filled(tmp_path / "outer", {"inner.zip": inner}), tmp_path / "outer.zip")
    with pytest.raises(FileError, match=r"outer/inner\.zip there may have one, unpack it first"):
        ob.load(outer)
    (tmp_path / "a.7z").write_bytes(b"7z\xbc\xaf\x27\x1c\0\4" + b"0" * 40)
    with pytest.raises(FileError, match="archives of 7-Zip are not read"):
        ob.load(tmp_path / "a.7z")
    with pytest.raises(FileError, match="is a folder, expected a file"):
        load_geometries(tmp_path / "empty")


def test_folders_that_are_called_like_files(tmp_path):
    folder = filled(tmp_path / "job", {"alpha/notes": b"1", "a.molden/b.fchk": FCHK})
    assert ob.load(folder).source == str(folder / "a.molden" / "b.fchk")


def test_archives_in_a_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    packed(filled(tmp_path / "job", {"a.fchk": FCHK}), tmp_path / "job.zip")
    for name in ("~/job", "~/job.zip", "~/job.zip!job/a.fchk"):
        assert ob.load(name).n_basis == ob.load(FCHK).n_basis


def test_numbered_files_are_frames(tmp_path, monkeypatch):
    folder = filled(tmp_path / "scan", {f"step{n}.molden": MOLDEN for n in (10, 2, 9)})
    assert [frame.source.rpartition("/")[2] for frame in ob.load_trajectory(folder)] == [
        "step2.molden",
        "step9.molden",
        "step10.molden",
    ]
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    trajectory = ob.load_trajectory(packed(folder, tmp_path / "scan.tar.gz"))
    assert [frame.n_basis for frame in trajectory] == [ob.load(MOLDEN).n_basis] * 3
    del trajectory
    assert not any(temporary.iterdir())
    one = filled(tmp_path / "one", {"a.out": LOG, "z.fchk": FCHK})
    assert [frame.source for frame in ob.load_trajectory(one)] == [str(one / "z.fchk")]


def test_what_changes_in_a_folder_is_noticed(tmp_path):
    folder = filled(tmp_path / "job", {"a.molden": MOLDEN, "notes": b"1"})
    before = content_of(str(folder))
    (folder / "notes").write_text("2")
    assert content_of(str(folder)) == before != ""
    (folder / "a.molden").write_bytes(MOLDEN.read_bytes() + b"\n")
    changed = content_of(str(folder))
    assert changed != before
    shutil.copy(FCHK, folder / "a.fchk")
    os.remove(folder / "a.molden")
    assert content_of(str(folder)) not in (before, changed, "")


def test_references_of_a_request_see_what_changes(tmp_path):
    """Two files of one archive are two, and what is in a folder is looked at each time."""
    folder = filled(tmp_path / "job", {"a.fchk": FCHK, "b.out": LOG})
    references = FileReferences()
    path = packed(folder, tmp_path / "job.zip")
    sizes = [references.wavefunction(f"{path}!job/{name}").n_basis for name in ("a.fchk", "b.out")]
    assert sizes == [ob.load(FCHK).n_basis, ob.load(LOG).n_basis]
    first = references.wavefunction(str(folder))
    assert references.wavefunction(str(folder)) is first
    (folder / "a.fchk").write_bytes(FCHK.read_bytes() + b"\n")
    assert references.wavefunction(str(folder)) is not first


def test_paths_and_links_of_archives_are_not_followed(tmp_path, monkeypatch):
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    data = MOLDEN.read_bytes()
    with tarfile.open("evil.tar", "w") as archive:
        for name in ("../up.molden", str(tmp_path / "absolute.molden"), "good/a.fchk"):
            member = tarfile.TarInfo(name)
            content = FCHK.read_bytes() if name.endswith("fchk") else data
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE):
            member = tarfile.TarInfo(f"link{kind.decode()}.molden")
            member.type, member.linkname = kind, "/etc/passwd"
            archive.addfile(member)
    assert ob.load("evil.tar!good/a.fchk").n_basis == ob.load(FCHK).n_basis
    ob.load(f"evil.tar!{tmp_path}/absolute.molden")  # read, but from a place of ours
    with pytest.raises(FileError, match="no file"):
        ob.load("evil.tar!../up.molden")
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["evil.tar", "work"]
    with zipfile.ZipFile("evil.zip", "w") as packed_up:
        packed_up.writestr("..\\up.molden", data)
        link = zipfile.ZipInfo("link.molden")
        link.external_attr = 0o120777 << 16
        packed_up.writestr(link, "/etc/passwd")
    with pytest.raises(FileError, match="an archive without a file with orbitals"):
        ob.load("evil.zip")


def test_an_archive_made_to_fill_memory_is_refused(tmp_path):
    with (
        zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.molden", "w") as member,
    ):
        member.write(b"[Molden Format]\n")
        for _ in range(110):
            member.write(b" " * 1_000_000)
    with pytest.raises(FileError, match=r"bomb\.zip!a\.molden: \d+ bytes expand to"):
        ob.load(tmp_path / "bomb.zip")


def test_layers_of_compression_share_one_limit(tmp_path):
    inner = gzip.compress(b"[Molden Format]\n" + bytes(60_000_000), 9)
    inner += bytes(12_000_000)  # which gzip takes for padding, and ZIP packs once more
    with zipfile.ZipFile(tmp_path / "twice.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.molden.gz", inner)
    with pytest.raises(FileError, match=r"twice\.zip!a\.molden\.gz: \d+ bytes expand to .* GB or more, expected"):
        ob.load(tmp_path / "twice.zip")
    with zipfile.ZipFile(tmp_path / "many.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for n in range(3):
            archive.writestr(f"step{n}.molden", b"[Molden Format]\n" + bytes(40_000_000))
    with pytest.raises(FileError, match=r"many\.zip!step2\.molden: \d+ bytes expand to 0\.1"):
        extract(str(tmp_path / "many.zip"), tuple(f"step{n}.molden" for n in range(3)), str(tmp_path))
    (tmp_path / "job").mkdir()
    (tmp_path / "job" / "a.molden.gz").write_bytes(gzip.compress(MOLDEN.read_bytes()))
    for name in ("job.zip", "job.tar.gz"):
        assert ob.load(packed(tmp_path / "job", tmp_path / name)).n_basis == ob.load(MOLDEN).n_basis


def test_encrypted_and_damaged_archives(tmp_path):
    path = packed(filled(tmp_path / "job", {"a.molden": MOLDEN}), tmp_path / "job.zip")
    data = bytearray(path.read_bytes())
    place = data.rfind(b"PK\1\2", 0, data.rfind(b"a.molden"))
    data[place + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(FileError, match="is encrypted; unpack the archive first"):
        ob.load(path)
    tar = packed(tmp_path / "job", tmp_path / "job.tar")
    tar.write_bytes(tar.read_bytes()[:5000])
    with pytest.raises(FileError, match="damaged archive"):
        ob.load(tar)


@pytest.mark.slow
def test_archives_of_very_many_entries_are_refused_quickly(tmp_path):
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for n in range(100_001):
            archive.writestr(zipfile.ZipInfo(str(n)), b"")
    with tarfile.open(tmp_path / "many.tar", "w") as tar:
        for n in range(100_001):
            tar.addfile(tarfile.TarInfo(str(n)))
    for name in ("many.zip", "many.tar"):
        begin = time.monotonic()
        with pytest.raises(FileError, match="expected an archive of 100000 entries at most"):
            ob.load(tmp_path / name)
        assert time.monotonic() - begin < 60


def test_a_directory_of_a_zip_archive_that_is_too_long(tmp_path):
    path = packed(filled(tmp_path / "job", {"a.molden": MOLDEN}), tmp_path / "job.zip")
    data = bytearray(path.read_bytes())
    data[-10:-6] = (100_000_000).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(FileError, match="expected an archive of 100000 entries at most"):
        ob.load(path)


@pytest.mark.slow
def test_mutated_archives(tmp_path):
    folder = filled(tmp_path / "job", {"a.out": LOG, "z.molden": MOLDEN})
    random = np.random.default_rng(4)
    for name in ("job.zip", "job.tar", "job.tar.gz"):
        data = packed(folder, tmp_path / name).read_bytes()
        for _ in range(60):
            (tmp_path / f"a{name[3:]}").write_bytes(mutated(data, random))
            try:
                ob.load(tmp_path / f"a{name[3:]}")
            except ob.OrbitileError:
                continue


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="needs files that cannot be read")
def test_what_cannot_be_read_is_passed_over(tmp_path):
    folder = filled(tmp_path / "job", {"a.molden": MOLDEN, "b.fchk": FCHK, "c/d.molden": MOLDEN})
    (folder / "a.molden").chmod(0)
    (folder / "c").chmod(0)
    assert ob.load(folder).source.endswith("b.fchk")


def test_choices_in_order():
    entries = [Entry(name, 1, 0.0) for name in ("a.log", "b.one", "deep/c.one")]
    rank = {"log": (True, 0, 0), "one": (False, 1, 0)}
    found = choices(entries, lambda entry: rank.get(entry.name.rpartition(".")[2]))
    assert [choice.name for choice in found] == ["b.one", "a.log"]
    assert choices([], lambda entry: None) == []


def test_names_of_compressed_files_alone(tmp_path):
    (tmp_path / ".gz").write_bytes(b"\x1f\x8b\x08")
    with pytest.raises(FileError):
        PlainFile(tmp_path / ".gz")
