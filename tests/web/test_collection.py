"""Pages of several molecules: tables, coordinates and links, of texts that stay texts."""

import html
import re
from dataclasses import replace

import numpy as np
import pytest

from orbitile import Vibrations
from orbitile.analysis.information import facts
from orbitile.commandline import main
from orbitile.evaluation.requests import FileReferences
from orbitile.model.wavefunction import Stated
from orbitile.pictures.collection import entry_of
from orbitile.pictures.pages import bare_slide, document_of
from orbitile.pictures.surface import Listener
from orbitile.scenes.web.collection import Entry, page_of
from tests.web.unpacking import documents_in

HOSTILE = "</script><img src=x onerror=alert(1)>\u2028\u202e\"'"


def entry(benzene, name, **others):
    document = document_of([replace(bare_slide(benzene), field="mo:21", title=name)], benzene)
    return Entry(name, document, **others)


def test_texts_of_files_stay_texts(benzene):
    hostile = entry(benzene, HOSTILE, facts=((HOSTILE, HOSTILE),), coordinates=HOSTILE, picture=b"x")
    text = page_of([hostile, entry(benzene, "benzene")], HOSTILE)
    assert HOSTILE not in text
    assert text.count("onerror=") == text.count(html.escape(HOSTILE))
    assert len(re.findall("<img", text)) == 1
    assert f"<bdi>{html.escape(HOSTILE)}</bdi>" in text
    assert [document["title"] for document in documents_in(text)] == ["C6H6"] * 2


def test_molecules_are_found_by_names_of_their_own(benzene):
    names = ["C6H6 (gas)", "c6h6-gas", "1,3-диен", "", "c6h6-gas"]
    text = page_of([entry(benzene, name) for name in names], "")
    places = re.findall(r'<section id="([^"]*)"', text)
    assert places == ["c6h6-gas", "c6h6-gas-2", "m-1-3", "m", "c6h6-gas-3"]
    for place in places:
        assert f'<a href="#{place}">' in text


def test_a_file_whose_name_is_blank_is_called_by_its_title(benzene):
    named = replace(benzene, source="/somewhere/ .molden", title="")
    assert entry_of(named, [], FileReferences(), Listener(), with_picture=False).name == "C6H6"


def test_facts_are_those_of_the_file(benzene):
    found = dict(facts(replace(benzene, stated=Stated(energy=-230.5), method="RHF/STO-3G")))
    assert found["formula"] == "C6H6"
    assert found["total energy"] == "-230.50000000 hartree"
    assert found["method"] == "RHF/STO-3G"
    assert found["charge"] == "0"
    assert not any("frequencies" in what for what in found)


def test_facts_of_a_transition_state(benzene):
    """Planar ammonia, against GAMESS 2018 R3 (nh3_ts_ir.out of cclib's data), which takes a symmetry number of 1."""
    h, x, y = 1.84549, 0.92274, 1.59824  # bohr
    places = np.array([[0, 0, 0], [-x, y, 0], [-x, -y, 0], [h, 0, 0]])
    modes = np.array([-825.18, 1691.24, 1691.29, 3639.72, 3639.78, 3661.48])
    masses = np.array([14.00307, 1.00782, 1.00782, 1.00782])
    motion = np.zeros((6, 4, 3))
    motion[:, 0, 0] = 1
    vibrations = Vibrations(np.array([7, 1, 1, 1]), places, masses, modes, motion)
    found = dict(facts(benzene, vibrations))
    assert found["imaginary frequencies"] == "1 (-825.2 cm^-1)"
    assert found["zero-point energy"] == "0.032631 hartree"
    enthalpy, _, unit = found["enthalpy correction"].partition(" ")
    assert float(enthalpy) == pytest.approx(95.601 / 2625.49964, abs=2e-6)  # kJ/mol there
    assert unit == "hartree at 298.15 K"
    free = dict(facts(benzene, replace(vibrations, energy=-56.0)))["free energy"]
    assert float(free.split()[0]) == pytest.approx(-56 + (35.938 + 2.47896 * np.log(6)) / 2625.49964, abs=5e-6)
    assert free.endswith(" hartree at 298.15 K and 1 atm, symmetry number 6")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    from importlib.resources import files

    content = (files("orbitile") / "data" / "benzene.molden").read_bytes()
    for name in ("benzene.molden", "other.molden"):
        (tmp_path / name).write_bytes(content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_writes_a_page_of_all_files(folder, capsys):
    options = ["--quality", "coarse", "--device", "cpu", "--title", "A & B"]
    assert not main(["page", "*.molden", "mo:20", "homo", "-o", "si.html", *options])
    assert capsys.readouterr().out.startswith("si.html: ")
    text = (folder / "si.html").read_text(encoding="utf-8")
    assert "<title>A &amp; B</title>" in text
    found = documents_in(text)
    assert [[slide["field"] for slide in one["slides"]] for one in found] == [["mo:20", "mo:21"]] * 2
    assert re.findall(r'href="#(other&amp;[^"]*)"', text)[0].startswith("other&amp;field=mo:20&amp;isovalue=0.0")
    assert text.count("\nC     1.39700000    0.00000000    0.00000000\n") == 2


def test_what_a_page_cannot_have_is_refused(folder, capsys):
    for arguments, reason in (
        (["charges", "-o", "a.html"], "charges: expected a field, got an analysis"),
        (["-o", "a.png"], "a.png: expected the name of a page"),
        (["homo:gamma", "-o", "a.html"], "benzene.molden: "),
        (["-o", "benzene.molden"], "benzene.molden"),
    ):
        assert main(["page", "benzene.molden", *arguments]) == 2
        assert reason in capsys.readouterr().err
    assert not (folder / "a.html").exists()
