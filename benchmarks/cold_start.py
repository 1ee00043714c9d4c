"""From process start to a picture: where the time goes, with kernels that were compiled before and without.

    python benchmarks/cold_start.py FILE [--field homo] [--device auto] [--runs 3]

What `orbitile render FILE homo` does, step by step in a fresh process, then the command as a whole, then a first
`compute`. The caches of compiled kernels and shaders are empty folders at first, and those that the same steps have
left afterwards. Each figure is the least of several runs, by the clock and in brackets by the processor.
"""

import argparse
import tempfile

from orbitile_benchmarks.starts import PARTS, Step, in_new_process, least


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--field", default="homo")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    empty: list[list[Step]] = []
    warm: list[list[Step]] = []
    for _ in range(options.runs):
        empty.append([])
        warm.append([])
        for part in PARTS:
            with tempfile.TemporaryDirectory() as cache:
                for runs in (empty, warm):
                    runs[-1] += in_new_process(part, options.file, options.field, options.device, cache)
    print(f"| step | empty caches | warm caches |\n{'|---' * 3}|")
    for (name, *first), (_, *later) in zip(least(empty), least(warm), strict=True):
        print(f"| {name} | {first[0]:.2f} ({first[1]:.2f}) | {later[0]:.2f} ({later[1]:.2f}) |")


if __name__ == "__main__":
    main()
