"""Batches in one process: rows, refusals, what is done again and what is not."""

import json
import os
import shutil
import zipfile
from concurrent.futures import Executor, Future
from dataclasses import replace
from functools import partial

import pytest

from orbitile.base.errors import OrbitileError
from orbitile.commandline import main
from orbitile.jobs.folder import opened, record_of
from orbitile.jobs.running import Outcome, run_batch
from orbitile.workers import WorkerEnded
from tests.batch.helpers import digests, folders, hydrogen, write_files


def test_a_row_a_file_and_a_bad_one_costs_its_row(tmp_path):
    good = write_files(tmp_path / "runs", 3)
    (tmp_path / "runs" / "broken.molden").write_text(hydrogen()[:200])
    (tmp_path / "runs" / "empty.molden").touch()
    (tmp_path / "runs" / "unknown.dat").write_text("nothing that we know")
    (tmp_path / "runs" / "folder").mkdir()
    os.mkfifo(tmp_path / "runs" / "pipe.molden") if hasattr(os, "mkfifo") else None
    missing = str(tmp_path / "nowhere.molden")
    found = run_batch([str(tmp_path / "runs" / "*"), missing], ["homo"], tmp_path / "out", to=["json"])
    records = {os.path.basename(record.file): record for record in found.records}
    assert set(records) >= {"broken.molden", "empty.molden", "unknown.dat", "folder", "nowhere.molden"}
    for name, record in records.items():
        if name in {file.name for file in good}:
            assert not record.refusals
            assert record.values["formula"] == "H2"
            assert record.values["gap_eV"] == pytest.approx(
                record.values["lumo_eV"] - record.values["homo_eV"], rel=1e-12
            )
            assert record.values["orthonormality_error"] < 1e-6
        else:
            assert record.refusals[""]
            assert not record.outputs
            assert str(tmp_path) not in record.refusals[""] or not record.key
    assert found.n_refused == len(records) - 3
    assert (tmp_path / "out" / "table.csv").read_text().count("\n") > len(records)
    assert folders(tmp_path / "out") == ["h2_0", "h2_1", "h2_2"]


def test_what_was_done_is_not_done_again(tmp_path, monkeypatch):
    write_files(tmp_path / "runs", 3)
    (tmp_path / "runs" / "broken.molden").write_text("[Molden Format]\n[GTO]\n")
    ask = partial(run_batch, str(tmp_path / "runs" / "*"), ["homo"], tmp_path / "out", to=["json"])
    first = ask()
    before = digests(tmp_path / "out")
    with monkeypatch.context() as patch:
        patch.setattr("orbitile.jobs.running.load", lambda path: pytest.fail(f"{path} was read again"))
        again = ask()
    assert (first.n_done, first.n_before, again.n_done, again.n_before) == (4, 0, 0, 4)
    assert first.n_refused == again.n_refused == 1
    assert digests(tmp_path / "out") == before


def test_content_counts_and_not_names_or_times(tmp_path):
    for folder in "abc":
        (tmp_path / folder).mkdir()
    for folder, distance in (("a", 1.4), ("b", 1.5), ("c", 1.4)):
        (tmp_path / folder / "job.molden").write_text(hydrogen(distance))
    pattern = str(tmp_path / "?" / "job.molden")
    found = run_batch(pattern, ["homo"], tmp_path / "out", to=["json"])
    a, b, c = found.records
    assert (found.n_done, found.n_before) == (2, 1)
    assert (a.key, a.outputs) == (c.key, c.outputs)
    assert a.key != b.key
    assert a.file != c.file
    os.utime(tmp_path / "a" / "job.molden", (1, 1))
    assert run_batch(pattern, ["homo"], tmp_path / "out", to=["json"]).n_done == 0
    (tmp_path / "a" / "job.molden").write_text(hydrogen(1.6))
    changed = run_batch(pattern, ["homo"], tmp_path / "out", to=["json"])
    assert (changed.n_done, changed.n_before) == (1, 2)
    assert next(iter(changed.records)).key not in (a.key, b.key)
    assert run_batch(pattern, ["lumo"], tmp_path / "out", to=["json"]).n_done == 3, "another request"


def test_what_was_removed_or_damaged_is_done_again(tmp_path):
    write_files(tmp_path / "runs", 3)
    ask = partial(run_batch, str(tmp_path / "runs" / "*"), ["homo"], tmp_path / "out", to=["json"])
    records = list(ask().records)
    before = digests(tmp_path / "out")
    (tmp_path / "out" / "records" / f"{records[0].key}.json").write_text('{"record": {"key"')
    shutil.rmtree(tmp_path / "out" / os.path.dirname(records[1].outputs[0].path))
    half = tmp_path / "out" / ".orbitile" / "killed" / "workplace"
    half.mkdir(parents=True)
    (half / "homo.png").touch()
    again = ask()
    assert (again.n_done, again.n_before) == (2, 1)
    assert digests(tmp_path / "out") == before


def test_an_item_that_cannot_be_had_costs_that_item(tmp_path):
    file = tmp_path / "h2.molden"
    file.write_text(hydrogen())
    items = ["homo", "mo:7", "density+nonsense", "charges:scheme=mulliken"]
    (record,) = run_batch(file, items, tmp_path / "out", to=["json", "cube"]).records
    assert set(record.refusals) == {"mo:7", "density+nonsense"}
    assert {(output.item, output.format) for output in record.outputs} == {("homo", "volume"), ("", "json")}
    known = json.loads((tmp_path / "out" / record.outputs[-1].path).read_text())
    assert known["file"] == "h2.molden"
    assert known["items"]["homo"]["isovalue"] > 0
    assert set(known["items"]) == {"homo", "charges:scheme=mulliken"}
    assert record.values["charges_mulliken_charge_e"] == pytest.approx((0, 0), abs=1e-6)


def test_files_of_an_archive_are_told_apart(tmp_path):
    with zipfile.ZipFile(tmp_path / "job.zip", "w") as archive:
        for name, distance in (("a/h2.molden", 1.4), ("b/h2.molden", 1.8)):
            archive.writestr(name, hydrogen(distance))
    names = [f"{tmp_path / 'job.zip'}!{folder}/h2.molden" for folder in "ab"]
    one, other = run_batch(names, ["homo"], tmp_path / "out", to=["json"]).records
    assert one.values["homo_eV"] < other.values["homo_eV"]
    assert folders(tmp_path / "out") == ["h2", "h2"]


def test_a_folder_is_of_one_batch_at_a_time(tmp_path):
    (file,) = write_files(tmp_path, 1)
    with opened(tmp_path / "out"), pytest.raises(OrbitileError, match="another batch"):
        run_batch(file, ["homo"], tmp_path / "out", to=["json"])
    assert run_batch(file, ["homo"], tmp_path / "out", to=["json"]).n_done == 1


def test_a_record_that_does_not_follow_from_the_file_is_for_one_run(tmp_path):
    (file,) = write_files(tmp_path, 1)
    found = run_batch(file, ["homo"], tmp_path / "out", to=["json"], timeout=1e-9)
    (record,) = found.records
    assert "did not come to an end" in record.refusals[""]
    assert found.n_refused == 1
    assert record_of(tmp_path / "out", record.key) is None
    again = run_batch(file, ["homo"], tmp_path / "out", to=["json"])
    assert again.n_done == 1
    assert not next(iter(again.records)).refusals


class Deadly(Executor):
    """Dies at the first file whenever it has it, and once at the second; keeps count of what is under way."""

    width = 2

    def __init__(self) -> None:
        self.deaths: dict[str, int] = {}
        self.under_way = self.most = 0

    def submit(self, function, /, task) -> Future[Outcome]:
        name = os.path.basename(task.file)
        future: Future[Outcome] = Future()
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        future.add_done_callback(lambda _: setattr(self, "under_way", self.under_way - 1))
        often = {"h2_0.molden": 99, "h2_1.molden": 1}.get(name, 0)
        self.deaths[name] = self.deaths.get(name, 0) + 1
        if self.deaths[name] <= often:
            future.set_exception(WorkerEnded("signal 11"))
        else:
            future.set_result(function(replace(task)))
        return future


def test_a_file_that_kills_workers_costs_its_row(tmp_path):
    write_files(tmp_path / "runs", 6)
    executor = Deadly()
    found = run_batch(str(tmp_path / "runs" / "*"), ["homo"], tmp_path / "out", to=["json"], executor=executor)
    first, second, *_ = found.records
    assert "signal 11" in first.refusals[""]
    assert not second.refusals
    assert executor.deaths["h2_0.molden"] == executor.deaths["h2_1.molden"] == 2
    assert found.n_refused == 1
    assert len(found.records) == 6


def test_the_command(tmp_path, capsys, monkeypatch):
    write_files(tmp_path, 2)
    (tmp_path / "broken.molden").write_text("[Molden Format]")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("orbitile.workers.local_workers", lambda n: None)
    assert main(["batch", "*.molden", "homo", "charges", "-o", "out", "--to", "json"]) == 0
    told = capsys.readouterr()
    assert "out: 3 files, 0 of them unchanged: 2 done, 0 in part, 1 refused" in told.out
    assert "broken.molden: refused:" in told.err
    assert main(["batch", "broken.molden", "-o", "out2"]) == 2
    assert "no file could be read" in capsys.readouterr().err
    assert main(["batch", "*.fchk", "-o", "out3"]) == 2
    assert main(["batch", "h2_0.molden", "homo", "-o", "out4", "--to", "gif"]) == 2
    assert main(["batch", "h2_0.molden", "charges:scheme=nonsense", "-o", "out4"]) == 2
    assert not (tmp_path / "out4").exists()
