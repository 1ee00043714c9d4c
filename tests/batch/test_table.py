"""Tables of records."""

import csv
import json
import math
import sys

import pytest

from orbitile.jobs.table import NAMES, Record, columns_of
from tests.batch.records import NASTY, nasty, some, tables

ODD = (
    Record("a", "00", {"energy_hartree": 0.1 + 0.2, "n": 3, "charges_e": (0.5, -1e-300, math.nan)}),
    Record("b", "01", {"energy_hartree": math.nan, "n": 2**70, "mixed": 1}),
    Record("c", "02", {"energy_hartree": -math.inf, "between": "x", "n": 1, "mixed": "two"}),
    Record("d", "03"),
)


def lines_of(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def parquet_of(path):
    return pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed").read_table(path)


def test_columns_are_those_of_the_records_in_their_order():
    columns = columns_of(ODD)
    assert [column.name for column in columns] == ["energy_hartree", "between", "n", "mixed", "charges_e"]
    assert [column.kind for column in columns] == ["real", "text", "real", "text", "list"]
    assert [column.unit for column in columns] == ["hartree", "", "", "", "e"]
    assert [column.heading for column in columns] == ["energy", "between", "n", "mixed", "charges"]


def test_csv_has_all_digits_and_json_for_lists(tmp_path):
    tables(ODD, tmp_path)
    assert (tmp_path / NAMES[0]).read_bytes().count(b"\r\n") == 5
    first, second, third, last = lines_of(tmp_path / NAMES[0])
    assert float(first["energy_hartree"]) == 0.1 + 0.2
    assert json.loads(first["charges_e"]) == [0.5, -1e-300, None]
    assert (second["energy_hartree"], float(second["n"])) == ("", 2.0**70)
    assert (third["energy_hartree"], third["mixed"], third["refusals"]) == ("-inf", "two", "")
    assert set(last.values()) == {"d", "03", ""}


def test_refusals_remarks_and_outputs_are_in_both(tmp_path):
    tables(some(), tmp_path)
    rows = lines_of(tmp_path / NAMES[0])
    assert json.loads(rows[1]["refusals"]) == {"": "broken.log: line 12: expected 34 numbers, got 5"}
    assert json.loads(rows[0]["remarks"]) == ["it is odd"]
    assert json.loads(rows[0]["outputs"])[0]["item"] == "homo"
    assert (rows[0]["refusals"], rows[1]["outputs"]) == ("", "")


def test_spreadsheets_run_nothing_of_a_file(tmp_path):
    records = [Record(name, "00", {"n": -1.5}) for name in (*NASTY, "-1+1", "+1", "@x", "\tx", "'quoted", "plain")]
    tables(records, tmp_path)
    rows = lines_of(tmp_path / NAMES[0])
    assert not any(row["file"].startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows)
    assert {row["n"] for row in rows} == {"-1.5"}  # numbers stay numbers
    back = [row["file"].removeprefix("'") for row in rows]
    assert back == [name.replace("\udcff", "\\udcff") for name in (record.file for record in records)]


def test_parquet_is_typed_with_units(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    tables(ODD, tmp_path)
    table = parquet_of(tmp_path / NAMES[1])
    types = {field.name: field.type for field in table.schema}
    assert types["energy_hartree"] == types["n"] == pyarrow.float64()
    assert types["charges_e"].value_type == pyarrow.float64()
    assert table.schema.field("energy_hartree").metadata[b"unit"] == b"hartree"
    assert table["energy_hartree"].to_pylist() == [0.1 + 0.2, None, -math.inf, None]
    assert table["n"].to_pylist() == [3.0, 2.0**70, 1.0, None]
    assert table["charges_e"].to_pylist()[0][:2] == [0.5, -1e-300]
    tables(some(), tmp_path)
    found = parquet_of(tmp_path / NAMES[1])
    assert found.schema.field("atoms").type == pyarrow.int64()
    assert found["refusals"].to_pylist()[2] == [{"item": "density+esp", "reason": "needs memory"}]
    assert [len(each) for each in found["outputs"].to_pylist()] == [2, 0, 2, 0]


def test_nasty_names_and_no_records_are_no_obstacle(tmp_path):
    for records in (nasty(), []):
        assert tables(records, tmp_path) == ""
        assert len(lines_of(tmp_path / NAMES[0])) == len(records)
        assert parquet_of(tmp_path / NAMES[1]).num_rows == len(records)


def test_the_same_records_give_the_same_bytes_whatever_the_time(tmp_path):
    assert tables(some(), tmp_path) == ""
    before = [(tmp_path / name).read_bytes() for name in NAMES]
    tables([Record(**{**vars(one), "seconds": 9.0}) for one in some()], tmp_path)
    assert [(tmp_path / name).read_bytes() for name in NAMES] == before


def test_without_pyarrow_there_is_csv_and_a_line(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "-m pip install 'pyarrow" in tables(some(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [NAMES[0]]


@pytest.mark.slow  # imports pandas, and writes more than a group of rows
def test_pandas_reads_both_alike(tmp_path):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    records = some() * 5000
    assert tables(records, tmp_path) == ""
    one, other = pandas.read_csv(tmp_path / NAMES[0]), pandas.read_parquet(tmp_path / NAMES[1])
    assert list(one.columns) == list(other.columns)
    assert len(one) == len(other) == 20000
    for column in ("file", "gap_eV", "atoms"):
        assert one[column].fillna(0).tolist() == other[column].fillna(0).tolist()
    assert parquet_of(tmp_path / NAMES[1]).num_rows == 20000
