"""Rows that are measured beside another version: what a process answers. Nothing here is timed."""

from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

import limits
from orbitile_benchmarks import systems
from orbitile_benchmarks.limit_rows import Kind
from orbitile_benchmarks.starts import OWN


@pytest.fixture(scope="module")
def process(tmp_path_factory):
    folder = tmp_path_factory.mktemp("limits")
    path = folder / "kra.molden"
    systems.SYSTEMS["Kr-a"].write(path)
    process = limits.Process(OWN, "cpu", "1", folder, {"Kr-a": path})
    yield process
    process.end()


def test_process_measures_its_own_checkout(process):
    assert Path(process.ask("whence")).is_relative_to(OWN / "plugin")


def test_values_and_times_of_a_row(process):
    kind = Kind("Kr-a", "homo")
    exact = process.later("exact", asdict(kind))
    prepared = process.later("prepare", asdict(kind))
    found = limits.measured(kind, {"now": process}, {"now": prepared}, exact, rounds=2)["now"]
    assert 0 < found.error < 2e-6
    assert len(found.clock) == len(found.processor) >= 2
    wrong = limits.checked(kind, [value + 0.5 for value in prepared.result()["sample"]], exact)
    assert np.isclose(wrong.error, 0.5, atol=1e-5)


def test_what_is_refused_is_told(process):
    kind = Kind("Kr-a", "no-such-field")
    exact = process.later("exact", asdict(kind))
    prepared = process.later("prepare", asdict(kind))
    found = limits.measured(kind, {"now": process}, {"now": prepared}, exact, rounds=1)["now"]
    assert "no-such-field" in found.cell
    assert not found.clock
    with pytest.raises(limits.Refused):
        process.ask("prepare", asdict(kind))


def test_line_of_the_table():
    before = limits.Found(clock=[0.2, 0.4], processor=[0.3, 0.6], error=1e-7)
    now = limits.Found(clock=[0.1], processor=[0.1], error=2e-7)
    assert limits.shown("row", {"before": before, "now": now}) == (
        "| row | 200 (300); 1e-07 | 100 (100); 2e-07 | 2.00 (3.00) |"
    )
