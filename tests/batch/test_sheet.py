"""The contact sheet as bytes; in a browser it is looked at in `test_sheet_in_browser.py`."""

import json
import re
from urllib.parse import unquote

import numpy as np
from PIL import Image

from orbitile.jobs.sheet import DATA, PAGE
from orbitile.jobs.table import Output, Record
from orbitile.jobs.thumbnail import LARGEST, write_thumbnail
from tests.batch.records import NASTY, as_folder, nasty, sheet, some, tables


def contents_of(folder):
    text = (folder / DATA).read_text(encoding="ascii")
    return json.loads(text.removeprefix("window.orbitileSheet=").removesuffix(";\n"))


def test_what_the_page_knows(tmp_path):
    tables(some(), tmp_path)
    sheet(some(), tmp_path)
    found = contents_of(tmp_path)
    assert (found["total"], len(found["files"])) == (4, 4)
    assert found["tables"] == ["table.csv", "table.parquet"]
    gap = next(column for column in found["columns"] if column["name"] == "gap_eV")
    assert gap == {"name": "gap_eV", "heading": "gap", "unit": "eV", "text": False, "values": [1.0, None, 1.25, None]}
    item, reason = found["refusals"][1]
    assert (found["items"][item], found["texts"][reason]) == ("", "line 12: expected 34 numbers, got 5")
    start, item, form, rest, *_ = found["outputs"][0]
    assert (found["items"][item], found["formats"][form]) == ("homo", "png")
    assert start + rest == some()[0].outputs[0].path
    assert found["outputs"][1] == []


def test_lists_are_their_least_and_largest_number(tmp_path):
    records = [Record("a", "0", {"charges_e": (0.5, float("nan"), -0.25)}), Record("b", "1", {"charges_e": ()})]
    sheet(records, tmp_path)
    least, largest = contents_of(tmp_path)["columns"]
    assert (least["name"], least["values"], least["unit"]) == ("min_charges_e", [-0.25, None], "e")
    assert (largest["heading"], largest["values"]) == ("max charges", [0.5, None])


def test_nothing_of_a_file_is_html_script_or_an_address_elsewhere(tmp_path):
    sheet(nasty(), tmp_path)
    page, data = ((tmp_path / name).read_text(encoding="utf-8") for name in (PAGE, DATA))
    assert "<" not in data
    assert data.count("\n") == 1
    assert "alert(1)" not in page
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", page)
    for row, name in zip(contents_of(tmp_path)["outputs"], NASTY, strict=True):
        start, _, _, rest, *_ = row
        assert re.fullmatch(r"[\w.~/%-]+", start + rest)
        assert unquote(start + rest, errors="surrogateescape").startswith(f"files/{as_folder(name)}")


def test_addresses_stay_in_the_folder_of_the_batch(tmp_path):
    paths = ("//evil.example/x.png", "javascript:alert(1)", "/etc/x")
    sheet([Record("a", "0", outputs=tuple(Output("homo", "png", path) for path in paths))], tmp_path)
    (start, *outputs) = contents_of(tmp_path)["outputs"][0]
    assert [start + address for address in outputs[2::3]] == [
        "evil.example/x.png",
        "javascript%3Aalert%281%29",
        "etc/x",
    ]


def test_the_same_records_give_the_same_bytes_in_any_folder(tmp_path):
    sheet(some(), tmp_path)
    before = [(tmp_path / name).read_bytes() for name in (PAGE, DATA)]
    other = tmp_path / "other"
    other.mkdir()
    sheet([Record(**{**vars(one), "seconds": 9.0}) for one in some()], other)
    assert [(other / name).read_bytes() for name in (PAGE, DATA)] == before


def test_thumbnails_are_small_and_of_the_same_shape(tmp_path):
    pixels = np.full((600, 900, 3), 255, np.uint8)
    pixels[200:400, 300:600] = (200, 30, 30)
    Image.fromarray(pixels).save(tmp_path / "large.png")
    assert write_thumbnail(tmp_path / "large.png", tmp_path / "small.webp")
    with Image.open(tmp_path / "small.webp") as small:
        assert small.size == (400, 267)
        assert np.asarray(small.convert("RGB"))[133, 200, 0] > 150
    Image.new("RGB", LARGEST).save(tmp_path / "fits.png")
    assert not write_thumbnail(tmp_path / "fits.png", tmp_path / "none.webp")
    assert not (tmp_path / "none.webp").exists()
