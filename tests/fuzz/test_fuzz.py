"""A few cases of every kind, and the program itself; `./install/test --fuzz 100000` makes more of them, and others."""

from pathlib import Path

import pytest

from tests.fuzz.kinds import NAMES
from tests.fuzz.running import run, shares
from tests.fuzz.samples import opened, seeds_of_jobs

CASES = {"files": 60, "words": 6, "command_line": 30, "session": 15, "server": 25, "saved": 40}
QUICK = ("files", "words")


def test_shares_add_up():
    assert sum(shares(1234).values()) == 1234
    assert set(shares(1234)) == set(NAMES) == set(CASES)


def test_what_is_damaged_is_read_when_it_is_whole(tmp_path):
    for name, path in seeds_of_jobs(tmp_path).items():
        assert opened(path), name


@pytest.mark.linux
@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind in QUICK else [pytest.mark.slow]) for kind in CASES]
)
def test_whatever_it_is_given_it_answers_or_refuses(tmp_path, kind):
    n = CASES[kind]
    tally = run({kind: n}, 1, tmp_path, 1)
    escaped = [path.read_text() for path in sorted(tmp_path.glob("*/escape.txt"))]
    assert not escaped, "\n".join(escaped)
    answered, refused = (tally.n(kind, outcome) for outcome in ("answered", "refused"))
    assert answered + refused == n
    assert answered > n / 20
    assert refused > n / 20


@pytest.mark.slow
@pytest.mark.linux
def test_what_goes_wrong_is_kept_with_what_made_it_and_the_run_goes_on(tmp_path, capsys):
    tally = run({"troubled": 9}, 5, tmp_path, 1)
    assert tally.n("troubled", "answered") == 1
    assert tally.n("troubled", "refused") == 2
    why = {path.parent.name: path.read_text() for path in tmp_path.glob("*/escape.txt")}
    for number, what in (
        (2, "KeyError: 'not foreseen'"),
        (3, "the process ended: Segmentation fault"),
        (4, "not come to an end within"),
        (5, "took longer than 0.5 s of processor time"),
        (6, "MemoryError"),
        (7, "half-written: .orbitile-0123.cube"),
    ):
        told = why.pop(f"troubled-{number}-seed5")
        assert what in told
        assert told.startswith(f"./install/test --fuzz troubled:{number} --seed 5\n")
    assert not why
    first = (tmp_path / "troubled-2-seed5" / "input.txt").read_text()
    assert "ESCAPED troubled:2: KeyError" in capsys.readouterr().out
    run({"troubled": 1}, 5, tmp_path / "again", 1, first=2)
    assert (tmp_path / "again" / "troubled-2-seed5" / "input.txt").read_text() == first


def test_cases_are_made_of_seed_and_number(tmp_path):
    from tests.fuzz.child import Bench

    made = []
    for n, (seed, number) in enumerate([(1, 2), (1, 2), (2, 2), (1, 7)]):  # cases that escape, whose folders stay
        found = Bench("troubled", seed, tmp_path / str(n)).try_case(number)
        assert found["outcome"] == "escaped"
        made.append(Path(found["folder"], "input.txt").read_text())
    assert made[0] == made[1]
    assert len(set(made)) == 3
