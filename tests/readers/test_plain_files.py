"""The same file, compressed or in another encoding, is the same wavefunction, volume or trajectory."""

import bz2
import gzip
import lzma
import shutil

import numpy as np
import pytest

import orbitile as ob
from orbitile import load_charges
from orbitile.base.errors import FileError
from orbitile.readers import load_geometries, load_volumes
from tests.fuzz.samples import SAMPLES, opened, seeds

MOLDEN = "h2o.molden.input"
FCHK = "water_sto3g_hf_g03.fchk"

IN_OTHER_WORDS = {
    "byte order mark": lambda text: b"\xef\xbb\xbf" + text,
    "UTF-16": lambda text: text.decode().encode("utf-16"),
    "UTF-16 without a mark": lambda text: text.decode().encode("utf-16-be"),
    "UTF-32": lambda text: text.decode().encode("utf-32"),
    "blank lines": lambda text: b"\n \n" + text,
    "CR": lambda text: text.replace(b"\n", b"\r"),
    "CR LF": lambda text: text.replace(b"\n", b"\r\n"),
    "CR CR LF": lambda text: text.replace(b"\n", b"\r\r\n"),
    "some CR": lambda text: text.replace(b"\n", b"\r", 3),
}
COMPRESSED = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return seeds(tmp_path_factory.mktemp("whole") / "files")


@pytest.fixture
def rewritten(tmp_path, whole):
    """Every file, written in another way into a folder of its own."""

    def write(ways):
        for beside in ("topology.pdb", "orca6.densitiesinfo"):
            if (other := whole[MOLDEN].with_name(beside)).exists():
                shutil.copy(other, tmp_path)
        for name, path in whole.items():
            if not path.is_dir() and not name.endswith(".gz") and not name.startswith("frames_"):
                content = path.read_bytes()
                for way, rewrite in ways.items():
                    if way in COMPRESSED or b"\0" not in content:
                        (tmp_path / name).write_bytes(rewrite(content))
                        yield way, tmp_path / name

    return write


@pytest.mark.slow
def test_all_text_is_read_however_it_is_written(rewritten):
    assert sum(bool(opened(path)) for _, path in rewritten(IN_OTHER_WORDS)) > 80


@pytest.mark.slow
def test_all_files_are_read_compressed(rewritten):
    assert sum(bool(opened(path)) for _, path in rewritten(COMPRESSED)) > 70


@pytest.mark.parametrize("compress", COMPRESSED.values(), ids=COMPRESSED)
def test_a_compressed_file_gives_the_same_to_the_bit(tmp_path, compress, whole):
    """And leaves nothing behind; it is told by its content, and named as the user named it."""
    for name, suffix in ((MOLDEN, ".gz"), (FCHK, ""), ("h2o.molden.input", ".packed")):
        content = (SAMPLES / name).read_bytes()
        path = tmp_path / f"{name}{suffix}"
        path.write_bytes(compress(b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n")))
        one, other = ob.load(SAMPLES / name), ob.load(path)
        np.testing.assert_array_equal(other.alpha.coefficients, one.alpha.coefficients)
        np.testing.assert_array_equal(other.positions, one.positions)
        assert other.source == str(path)
    (tmp_path / "a.cube.xz").write_bytes(compress(whole["volume.cube"].read_bytes()))
    volume, plain = load_volumes(tmp_path / "a.cube.xz")[0], load_volumes(whole["volume.cube"])[0]
    np.testing.assert_array_equal(volume.values, plain.values)
    (tmp_path / "a.xyz.gz").write_bytes(compress(whole["geometry.xyz"].read_bytes()))
    assert len(load_geometries(tmp_path / "a.xyz.gz")) == 3


def test_copies_last_as_long_as_they_are_read(tmp_path, whole, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr("orbitile.base.temporary._own", None)
    (tmp_path / "temporary").mkdir()

    def copies():
        return [path for path in (tmp_path / "temporary").glob("*/*") if path.name != "owner"]

    (tmp_path / "frames.molden.gz").write_bytes(gzip.compress(whole["frames.molden"].read_bytes()))
    trajectory = ob.load_trajectory(tmp_path / "frames.molden.gz")
    assert [frame.source for frame in trajectory] == [f"{tmp_path}/frames.molden.gz, frame {n}" for n in (1, 2, 3)]
    assert copies()
    del trajectory
    (tmp_path / "one.gz").write_bytes(gzip.compress((SAMPLES / MOLDEN).read_bytes()))
    ob.load(tmp_path / "one.gz")
    (tmp_path / "one.gz").write_bytes(gzip.compress(b"nothing"))
    with pytest.raises(ob.OrbitileError):
        ob.load(tmp_path / "one.gz")
    assert not copies()


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("name", [FCHK, "h2o_sto3g.wfn", "water_sto3g_hf.wfx"])
def test_titles_with_letters_of_any_language(tmp_path, name, encoding):
    lines = (SAMPLES / name).read_text(encoding="utf-8").split("\n")
    lines[1 if name.endswith("wfx") else 0] = "Wasser für Ångström"
    path = tmp_path / name
    path.write_text("\n".join(lines), encoding=encoding)
    assert ob.load(path).title == "Wasser für Ångström"


def test_a_title_may_be_empty(tmp_path):
    """The first line of these is blank then, and is none too many."""
    for name in (FCHK, "h2o_sto3g.wfn"):
        text = (SAMPLES / name).read_text(encoding="utf-8")
        title, rest = text.split("\n", 1)
        for before, expected in (("\n", ""), ("\n\n\n", ""), (f"\n\n{title}\n", title.strip())):
            (tmp_path / name).write_text(before + rest)
            assert ob.load(tmp_path / name).title == expected


@pytest.mark.parametrize("compress", COMPRESSED.values(), ids=COMPRESSED)
def test_a_file_made_to_fill_memory_is_refused(tmp_path, compress, monkeypatch):
    monkeypatch.setattr("orbitile.files.plain._ALWAYS", 1_000_000)  # a limit that a small file reaches
    path = tmp_path / "bomb.molden"
    path.write_bytes(compress(b"[Molden Format]\n" + b" " * 20_000_000))
    with pytest.raises(ob.OrbitileError, match=r"bomb\.molden: \d+ bytes expand to"):
        ob.load(path)
    path.write_bytes(compress((SAMPLES / MOLDEN).read_bytes())[:-100])
    with pytest.raises(ob.OrbitileError, match="cut off or damaged"):
        ob.load(path)


def test_a_volume_made_to_fill_memory_is_refused(tmp_path):
    entries = {
        "origin": np.zeros(3),
        "axes": np.eye(3),
        "quantity": np.array(""),
        "unit": np.array(""),
    }
    np.savez_compressed(tmp_path / "a.npz", values=np.zeros((300, 300, 300)), **entries)
    with pytest.raises(ob.OrbitileError, match=r"a\.npz: \d+ bytes expand to 0\.2\d* GB"):
        load_volumes(tmp_path / "a.npz")
    np.savez_compressed(tmp_path / "a.npz", values=np.zeros((100, 100, 100)), **entries)
    assert load_volumes(tmp_path / "a.npz")[0].values.shape == (100, 100, 100)


@pytest.mark.parametrize("promised", ["999999999", "9" * 5000, "4"])
def test_a_geometry_of_more_atoms_than_follow_is_refused(tmp_path, promised):
    path = tmp_path / "a.xyz"
    path.write_text(f"2\n\nH 0 0 0\nH 0 0 0.7\n{promised}\n\nH 0 0 0\n")
    with pytest.raises(ob.OrbitileError, match=r"expected \d+ atoms, got 1|expected the number of atoms"):
        load_geometries(path).read(1)


def test_names_of_nobody_and_names_that_are_too_long(tmp_path):
    for read in (ob.load, ob.load_trajectory, load_volumes, load_geometries, load_charges):
        for name in ("~nosuchuserhere/a.molden", "~nosuchuserhere/*.molden", "a" * 300 + ".molden", "a\0b.cube"):
            with pytest.raises(ob.OrbitileError):
                read(name)


def test_the_longest_name_that_a_file_can_have(tmp_path, whole):
    for seed in ("frames.molden", "frames_psi4_water.out"):
        path = tmp_path / ("n" * (255 - 7) + ".molden" if seed.endswith("molden") else "n" * (255 - 4) + ".out")
        shutil.copy(whole[seed], path)
        assert ob.load_trajectory(path)[1].n_atoms == 3


@pytest.mark.parametrize("name", ["job.rasscf.h5", "job.h5"])
def test_hdf5_files_without_the_library_that_tells_their_kind(tmp_path, monkeypatch, name):
    """They are not taken for the files of another program that have the suffix too."""
    from orbitile.readers import _formats

    monkeypatch.setattr(_formats, "find_spec", lambda _: None)
    path = tmp_path / name
    path.write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(100))
    with pytest.raises(FileError, match=r"an HDF5 file; reading it needs h5py: .*-m pip install 'h5py"):
        ob.load(path)
