"""Pages that commands write."""

import pytest

from orbitile.commandline import main
from tests.web.unpacking import document_in

BENZENE = "benzene.molden"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    from importlib.resources import files

    (tmp_path / BENZENE).write_bytes((files("orbitile") / "data" / BENZENE).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


def document(path):
    return document_in(path.read_text(encoding="utf-8"))


def test_orbitals_are_there_once_and_are_computed_at_other_isovalues(folder, capsys):
    assert not main(["render", BENZENE, "homo", "lumo", "-o", "a.html", "--quality", "coarse", "--device", "cpu"])
    assert capsys.readouterr().out.startswith("a.html: ")
    found = document(folder / "a.html")
    assert [slide["field"] for slide in found["slides"]] == ["mo:21", "mo:22"]
    assert len(found["choices"]) == 32
    assert {choice["field"] for choice in found["choices"]} == {"density", *found["computing"][0]["orbitals"]}


@pytest.mark.slow  # the first use of a kernel compiles it
def test_other_fields_at_three_isovalues_each(folder):
    assert not main(
        ["render", BENZENE, "elf", "--isovalue", "0.3", "-o", "a.html", "--quality", "coarse", "--device", "cpu"]
    )
    values = [slide["isovalue"] for slide in document(folder / "a.html")["slides"]]
    assert sorted(values) == pytest.approx([values[0] / 2, values[0], values[0] * 2])


@pytest.mark.slow  # several surfaces
def test_colours_planes_and_isovalues_out_of_reach(folder, capsys):
    options = ["--quality", "coarse", "--device", "cpu"]
    assert not main(["render", BENZENE, "density", "--color-by", "esp", "-o", "a.html", *options])
    (slide,) = document(folder / "a.html")["slides"]
    assert slide["legends"][0]["scale"]
    assert not main(["render", BENZENE, "homo", "--plane", "1,2,3", "-o", "b.html", *options])
    assert len(document(folder / "b.html")["slides"]) == 1
    assert not main(["render", BENZENE, "homo", "--isovalue", "0.12", "-o", "c.html", *options])
    assert len(document(folder / "c.html")["slides"]) == 1  # the page computes it at others
    assert main(["render", BENZENE, "homo", "--isovalue", "9", "-o", "d.html", *options])
    assert "nothing has this value" in capsys.readouterr().err
    assert not (folder / "d.html").exists()


def test_a_file_that_was_read_is_not_written_over(folder, capsys):
    (folder / "own.html").write_bytes((folder / BENZENE).read_bytes())
    assert main(["render", "own.html", "homo", "-o", "own.html", "--quality", "coarse", "--device", "cpu"])
    assert "own.html" in capsys.readouterr().err


@pytest.mark.slow  # several surfaces
def test_films_are_pages_with_frames(folder, capsys):
    assert not main(["animate", BENZENE, "homo-1..lumo", "-o", "a.html", "--spacing", "0.4", "--device", "cpu"])
    found = document(folder / "a.html")
    assert found["n_frames"] == 3
    assert [slide["frame"] for slide in found["slides"]] == [0, 1, 2]
    assert main(["animate", BENZENE, "homo", "-o", "b.html", "--turn", "30"])
    assert "a page is turned in the browser" in capsys.readouterr().err
    assert main(["animate", BENZENE, "homo", "-o", "b.html", "--pictures", "2000"])
    assert "1000 frames at most in a page" in capsys.readouterr().err


@pytest.mark.slow  # follows orbitals
@pytest.mark.parametrize(("field", "names"), [("homo", {"mo:1", "mo:2"}), ("ibo:1", {"ibo:1"})])
def test_pages_of_trajectories_compute_in_all_frames(folder, field, names):
    from pyscf.tools import molden

    from tests.molecules import solved

    for n in range(3):
        molden.from_scf(solved(f"H 0 0 0; H 0 0 {0.7 + 0.1 * n}", "sto-3g"), f"scan{n}.molden")
    assert not main(["animate", "scan*.molden", field, "-o", "a.html", "--spacing", "0.4", "--device", "cpu"])
    found = document(folder / "a.html")
    assert [set(frame["orbitals"]) for frame in found["computing"]] == [names] * 3
    assert [slide["field"] for slide in found["slides"]] == [min(names)] * 3
    assert {choice["field"] for choice in found["choices"]} == {*names, "density"}
    assert not main(
        ["animate", "scan*.molden", field, "-o", "b.html", "--spacing", "0.4", "--no-tracking", "--device", "cpu"]
    )
    assert document(folder / "b.html")["computing"] == []
