"""Memory that one orbital takes: python -m orbitile_benchmarks.memory FILE SYSTEM DEVICE

Prints, as JSON and in bytes, the largest resident memory of a call beyond what was resident before it, and that of the
whole process. Kernels are loaded before, on a few points: they are no part of what grows with the molecule. It is a
process of its own, since memory that an earlier call has freed would be taken again unseen.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import orbitile as ob

from .systems import SYSTEMS


def main() -> None:
    """Measure; both are null where /proc is not as Linux has it."""
    path, name, device = sys.argv[1:]
    wavefunction = ob.load(path)
    lattice = SYSTEMS[name].lattice(wavefunction)
    few = ob.Lattice(lattice.origin, lattice.axes * 16, (8, 8, 16))
    ob.compute(wavefunction, "homo", few, device=device)
    status = Path("/proc/self/status")
    found: dict[str, int | None]
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak so far
        before = status.read_text(encoding="ascii")
        ob.compute(wavefunction, "homo", lattice, device=device)
        after = status.read_text(encoding="ascii")
        resident = int(before.split("VmRSS:")[1].split()[0]) * 1024
        peak = int(after.split("VmHWM:")[1].split()[0]) * 1024
        found = {"peak beyond before": peak - resident, "peak": peak}
    except OSError:
        found = {"peak beyond before": None, "peak": None}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
