"""`python -m tests.fuzz`; ./install/test --fuzz calls it."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from tests.fuzz.kinds import NAMES
from tests.fuzz.running import run, shares


def main() -> int:
    """Try cases, and tell what has become of them; 1 where some escaped."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("cases", help=f"how many, of all kinds; KIND:N of one kind ({', '.join(NAMES)}), the case N")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the random numbers (default: 1)")
    parser.add_argument(
        "--kind", choices=NAMES, action="append", help="cases of this kind only; may be given several times"
    )
    parser.add_argument(
        "--escapes", type=Path, default=Path("fuzz-escapes"), metavar="FOLDER", help="for cases that escape"
    )
    parser.add_argument("--processes", type=int, default=min(os.cpu_count() or 1, 8), metavar="N", help="side by side")
    options = parser.parse_args()
    kind, colon, number = options.cases.partition(":")
    if colon:
        tally = run({kind: 1}, options.seed, options.escapes.absolute(), 1, first=int(number))
    else:
        n_of = shares(int(options.cases))
        if options.kind:
            n_of = {name: int(options.cases) // len(options.kind) for name in options.kind}
        tally = run(n_of, options.seed, options.escapes.absolute(), options.processes)
    escaped = tally.n(outcome="escaped")
    told = f"{tally.n()} cases with seed {options.seed}, {escaped} escaped" + (
        f": {options.escapes}" if escaped else ""
    )
    sys.stdout.write(f"{tally.report()}\n{told}\n")
    return 1 if escaped else 0


if __name__ == "__main__":
    sys.exit(main())
