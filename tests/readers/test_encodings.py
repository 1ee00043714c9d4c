"""Text in any encoding and any compression is the same text."""

import gzip
import importlib

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import FileError
from orbitile.files.encodings import beginning_of_text, is_binary, text_of, unicode_encoding
from orbitile.files.plain import beginning
from tests.fuzz.samples import SAMPLES

TEXT = "Wasser für Ångström: 1.0 Å\n2 3.5E-01\n水\n"
FCHK = SAMPLES / "water_sto3g_hf_g03.fchk"
WIDE = ["utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]


def zstd():
    """The module that expands zstd here, or skip the test."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            return importlib.import_module(name)
        except ImportError:
            continue
    return pytest.skip("neither compression.zstd (Python 3.14) nor backports.zstd is here")


@pytest.mark.parametrize("encoding", ["utf-8", *WIDE])
@pytest.mark.parametrize("ends", ["\n", "\r", "\r\n", "\r\r\n"])
def test_unicode_with_and_without_marks(encoding, ends):
    assert text_of(TEXT.replace("\n", ends).encode(encoding)) == TEXT


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_letters_of_western_europe(encoding):
    assert text_of("für Ångström\n".encode(encoding)) == "für Ångström\n"
    assert text_of(b"a\x85b \x93c\x94\n").splitlines() == ["a\u2026b \u201cc\u201d"]  # no line ends
    assert text_of(b"1.0 \x81\n") == "1.0 \ufffd\n"


def test_japanese_titles():
    assert text_of("水のエネルギー\n1.0\n".encode("cp932")) == "水のエネルギー\n1.0\n"
    assert text_of("Énergie élevée, ß-Carotin für Ærø\n".encode("latin-1")) == "Énergie élevée, ß-Carotin für Ærø\n"


@pytest.mark.parametrize("length", [100, 101, 102, 103, 4093, 4094, 4095, 4096])
@pytest.mark.parametrize("encoding", ["utf-8", *WIDE])
def test_a_beginning_may_end_within_a_character(encoding, length):
    text = "Ångström 水 " * 1000
    found = beginning_of_text(text.encode(encoding)[:length])
    assert len(found) > length // 5
    assert text.startswith(found)


def test_numbers_are_no_text(tmp_path):
    random = np.random.default_rng(1)
    for data in (
        np.arange(1, 400, dtype="<i4").tobytes(),
        np.arange(1, 400, dtype=">i4").tobytes(),
        np.array([64, 64, 64, 2] + [0] * 200, "<i4").tobytes(),  # the header of a map
        np.full(300, 0x41, "<i2").tobytes() + b"\x01\0" * 9,
        random.bytes(4096),
        b"\xff\xfe" + random.bytes(400) + b"\0\0",
        b"\x89HDF\r\n\x1a\n" + b"\0" * 40,
    ):
        assert is_binary(data)
    assert unicode_encoding(b"") == unicode_encoding(b"a") == unicode_encoding(b"a\0") == ""


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-32", "utf-32-be"])
def test_files_in_wide_characters(tmp_path, encoding):
    path = tmp_path / "water.fchk"
    path.write_bytes(FCHK.read_text().replace("\n", "\r\n").encode(encoding))
    np.testing.assert_array_equal(ob.load(path).alpha.coefficients, ob.load(FCHK).alpha.coefficients)
    path.write_bytes(gzip.compress(path.read_bytes()))
    assert ob.load(path).n_basis == ob.load(FCHK).n_basis


def test_zstd(tmp_path):
    module = zstd()
    path = tmp_path / "water.fchk.zst"
    path.write_bytes(module.compress(FCHK.read_bytes()))
    found = ob.load(path)
    np.testing.assert_array_equal(found.alpha.coefficients, ob.load(FCHK).alpha.coefficients)
    assert found.source == str(path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileError, match="cut off or damaged"):
        ob.load(path)
    path.write_bytes(module.compress(b" " * 150_000_000))
    with pytest.raises(FileError, match="bytes expand to"):
        ob.load(path)


def test_zstd_without_anything_that_expands_it(tmp_path, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr("orbitile.files.plain.import_module", missing)
    (tmp_path / "a.molden.zst").write_bytes(b"\x28\xb5\x2f\xfd" + b"0" * 40)
    with pytest.raises(FileError, match=r"needs the package backports\.zstd: \S+ -m pip install '?backports"):
        beginning(tmp_path / "a.molden.zst")
