"""Files that the names of fields refer to are read once for what a user asks for."""

from dataclasses import replace
from importlib.resources import files

import pytest

import orbitile as ob
from orbitile.base.errors import FileError
from orbitile.commandline import main
from orbitile.evaluation import requests
from orbitile.evaluation.requests import FileReferences, field_of
from orbitile.pictures.films import along, animate
from orbitile.pictures.request import Request
from orbitile.session.sampling import WavefunctionCache, sample
from tests.molecules import trajectory_of

BENZENE = files("orbitile") / "data" / "benzene.molden"
DIFFERENCE = "difference:dication.molden"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Benzene, the same without the electrons of its highest orbital, and charges."""
    text = BENZENE.read_text()
    before, last, after = text.rpartition("Occup=    2.0")
    assert last
    (tmp_path / "benzene.molden").write_text(text)
    (tmp_path / "dication.molden").write_text(before + "Occup=    0.0" + after)
    (tmp_path / "charges.txt").write_text("3.0 0.0 0.0 0.4\n-3.0 0.5 0.0 -0.4\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    return tmp_path


@pytest.fixture
def reads(monkeypatch):
    """Names of the files that were read for a field."""
    found = []
    for name in ("load", "load_charges"):
        original = getattr(requests, name)
        monkeypatch.setattr(requests, name, lambda file, read=original: found.append(file) or read(file))
    return found


def test_a_file_is_read_again_where_it_has_changed(folder, reads):
    references = FileReferences()
    first = references.wavefunction("dication.molden")
    assert references.wavefunction(str(folder / "dication.molden")) is first
    (folder / "dication.molden").write_text((folder / "benzene.molden").read_text())
    assert references.wavefunction("dication.molden").n_electrons == 42
    assert len(references._wavefunctions) == 1, "what it held before is forgotten"
    assert references.charges("charges.txt") is references.charges("charges.txt")
    assert reads == ["dication.molden", "dication.molden", "charges.txt"]
    with pytest.raises(FileError, match=r"nowhere\.molden"):
        references.wavefunction("nowhere.molden")


@pytest.mark.slow
def test_a_field_has_read_its_files_when_it_is_there(folder, reads):
    wavefunction = ob.load("benzene.molden")
    fields = [field_of(wavefunction, name) for name in ("difference:dication.molden", "esp:charges.txt")]
    for name in ("dication.molden", "charges.txt"):
        (folder / name).unlink()
    lattice = ob.Lattice.around(wavefunction, 1.0, 2.0)
    for field in fields:
        ob.compute_surface(wavefunction, field, 0.01, lattice)
        ob.evaluate(wavefunction, field, lattice.points()[:10])
    assert reads == ["dication.molden", "charges.txt"]


@pytest.mark.parametrize(
    "command",
    [
        ("render", DIFFERENCE, "-o", "a.png", "--size", "120x90"),
        ("render", "homo", DIFFERENCE, "-o", "a.png", "--size", "120x90", "--isovalue", "0.05,0.01"),
        ("render", "density", "--color-by", DIFFERENCE, "-o", "a.png", "--size", "120x90", "--isovalue", "0.01"),
        ("mesh", DIFFERENCE, "--color-by", DIFFERENCE, "-o", "a.ply"),
        ("volume", DIFFERENCE, "-o", "a.cube"),
        ("slice", DIFFERENCE, "-o", "a.png", "--atoms", "1,2,3"),
    ],
    ids=" ".join,
)
def test_a_command_reads_them_once(command, folder, reads):
    name, field, *options = command
    quality = () if name == "slice" else ("--quality", "coarse")
    assert main([name, "benzene.molden", field, *options, *quality]) == 0
    assert reads == ["dication.molden"]


def test_the_samples_of_a_viewer_read_them_once(folder, reads):
    cache = WavefunctionCache()
    source = str(folder / "benzene.molden")
    cache.field(cache.get(source), DIFFERENCE)
    for isovalue in (None, 0.01):
        found = sample(Request(source, DIFFERENCE, device="cpu", isovalue=isovalue, quality="coarse"), cache)
        assert found.volume.quantity == "density minus that of dication.molden"
    assert reads == ["dication.molden"]


@pytest.mark.slow
def test_a_film_reads_them_once(folder, reads):
    first = ob.load("benzene.molden")
    shots = along(trajectory_of([first, replace(first, positions=first.positions + 0.1)]), DIFFERENCE)
    animate(shots, "pictures", size=(96, 72), spacing=1.0, legend=False)
    assert len(list((folder / "pictures").iterdir())) == 2
    assert reads == ["dication.molden"]
