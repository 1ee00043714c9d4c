"""The list of tests that take long."""

from pathlib import Path

from .long import listed, long_ones

ROOT = Path(__file__).parent.parent


def test_what_is_listed_is_there():
    texts: dict[str, str] = {}
    for test in listed():
        file, _, name = test.partition("::")
        text = texts.setdefault(file, (ROOT / file).read_text("utf-8"))
        assert f"def {name.partition('[')[0].rpartition('::')[2]}(" in text, f"{test}: make the list again"


def test_parts_of_a_test_count_together_and_the_quickest_of_a_file_stays():
    log = """
0.60s call     tests/a.py::test_one[first and second]
0.30s setup    tests/a.py::test_one[first and second]
0.20s call     tests/a.py::test_two
9.00s call     tests/b.py::test_three
(3 durations < 0.1s hidden.  Use -vv to show these durations.)
"""
    assert long_ones(log) == ["tests/a.py::test_one[first and second]"]
