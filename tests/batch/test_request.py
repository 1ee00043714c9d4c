"""What is asked of a batch, read from text."""

import pytest

from orbitile.base.errors import OrbitileError
from orbitile.jobs.files import files_in
from orbitile.jobs.request import is_item, request_of


def items(*texts):
    return [(item.field, item.color_by, item.analysis) for item in request_of(texts).items]


def test_fields_colours_ranges_and_analyses():
    assert items("homo", "homo-1") == [("homo", "", ""), ("homo-1", "", "")]
    assert items("lumo+1") == [("lumo+1", "", "")]
    assert items("lumo+1+esp", "density+esp") == [("lumo+1", "esp", ""), ("density", "esp", "")]
    assert [field for field, _, _ in items("homo-1..lumo+1")] == ["homo-1", "homo", "lumo", "lumo+1"]
    assert [field for field, _, _ in items("mo:9-11:beta")] == ["mo:9:beta", "mo:10:beta", "mo:11:beta"]
    assert items("charges", "bonds") == [("", "", "charges"), ("", "", "bonds")]
    assert [item.name for item in request_of().items] == ["homo", "lumo"]
    (item,) = request_of(["charges:scheme=mulliken"]).items
    assert item.parameters == (("scheme", "mulliken"),)


@pytest.mark.parametrize("text", ["", "lumo..homo", "mo:1-99999", "charges:nonsense=1", "a+esp+density"])
def test_what_cannot_be_asked(text):
    with pytest.raises(OrbitileError):
        request_of([text])


def test_the_digest_is_of_all_that_is_asked():
    asked = [
        request_of(["homo"]),
        request_of(["lumo"]),
        request_of(["homo"], ["png"]),
        request_of(["homo"], isovalue=0.02),
        request_of(["homo"], quality="fine"),
        request_of(["homo"], size=(10, 10)),
        request_of(["homo"], device="cpu"),
        request_of(["homo"], precision="double"),
    ]
    assert len({request.digest for request in asked}) == len(asked)
    assert request_of(["homo"]).digest == asked[0].digest


def test_names_of_files_tell_items_apart():
    (one, other, plain) = request_of(["mo:1:alpha", "mo-1-alpha", "homo"]).items
    assert one.stem != other.stem
    assert plain.stem == "homo"


def test_formats():
    assert request_of(to=["mesh", "volume", "PNG", ".ply", "png"]).formats == ("glb", "cube", "png", "ply")
    for bad in ("gif", "", "molden"):
        with pytest.raises(OrbitileError, match="--to"):
            request_of(to=[bad])


def test_a_file_that_a_field_refers_to_counts_by_its_content(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.molden").write_text("one")
    first = request_of(["difference:other.molden"])
    (tmp_path / "other.molden").write_text("two")
    assert request_of(["difference:other.molden"]).digest != first.digest
    assert str(tmp_path) in first.items[0].field


def test_files_by_names_patterns_and_lists(tmp_path):
    for name in ("b/f10.log", "b/f2.log", "a/f1.log", "out/files/x.log", "c.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    out = tmp_path / "out"
    found = files_in([str(tmp_path / "**" / "*.log")], out)
    assert [name.removeprefix(str(tmp_path)) for name in found] == ["/a/f1.log", "/b/f2.log", "/b/f10.log"]
    (tmp_path / "list.txt").write_text("x.log\n\ny.log\nx.log\n")
    assert files_in([f"@{tmp_path / 'list.txt'}", "z.log"], out) == ["x.log", "y.log", "z.log"]
    for bad in ([], [str(tmp_path / "*.nothing")], ["@nowhere"]):
        with pytest.raises(OrbitileError):
            files_in(bad, out)


def test_items_are_told_from_files():
    assert all(is_item(text) for text in ("homo", "LUMO+1", "mo:17", "homo-1..lumo", "density+esp", "charges:a=b"))
    assert not any(is_item(text) for text in ("job.log", "job", "homolog.log"))
