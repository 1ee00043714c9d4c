"""Lists the tests that take long, which `./install/test` leaves out as it does those marked as slow.

    ./install/test --all --durations=0 --durations-min=0.1 -vv >log
    python -m tests.long log

What takes long is measured, and not known: the list is made again when the tests that are left take too long. Of each
file the quickest one stays.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

LIST = Path(__file__).with_name("long.txt")

_LONG = 0.7
"""Seconds."""

_LINE = re.compile(r"([0-9.]+)s (?:call|setup|teardown) +(\S.*)")


def listed() -> frozenset[str]:
    """Names of the tests in the list."""
    return frozenset(LIST.read_text("utf-8").splitlines())


def long_ones(log: str) -> list[str]:
    """The tests that take long by the durations that pytest has printed."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for line in log.splitlines():
        if match := _LINE.fullmatch(line.rstrip()):
            seconds[match[2]] += float(match[1])
    quickest: dict[str, str] = {}
    for test in sorted(seconds, key=lambda test: seconds[test]):
        quickest.setdefault(test.partition("::")[0], test)
    kept = set(quickest.values())
    return sorted(test for test, duration in seconds.items() if duration > _LONG and test not in kept)


if __name__ == "__main__":
    LIST.write_text("".join(f"{test}\n" for test in long_ones(Path(sys.argv[1]).read_text("utf-8"))), "utf-8")
