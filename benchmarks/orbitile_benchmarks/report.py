"""Results as tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .measurement import Row

PARTS = {
    "orbital": "One orbital, the HOMO, on a lattice",
    "density": "Electron density on a lattice",
    "laplacian": "Laplacian of the density on a lattice",
    "potential": "Electrostatic potential at vertices of the surface of density 0.001",
    "isosurface": "Isosurface of the HOMO",
    "end to end": "File to mesh",
}


@dataclass(frozen=True)
class Results:
    """All that a run found."""

    environment: dict[str, Any]
    rows: list[Row] = field(default_factory=list)
    peaks: list[dict[str, Any]] = field(default_factory=list)
    shares: list[dict[str, Any]] = field(default_factory=list)
    memory: list[dict[str, Any]] = field(default_factory=list)
    atoms: list[dict[str, Any]] = field(default_factory=list)
    points: list[dict[str, Any]] = field(default_factory=list)


def line_of(row: Row) -> str:
    """One measurement on one line, for people who wait."""
    if row.seconds is None:
        return f"{row.system:10s}{row.part:11s}{row.program:44s} no time: {row.note}"
    part = f" from {row.measured:,} points" if row.measured else ""
    error = "" if row.error is None else f"  error {row.error:.0e}"
    return f"{row.system:10s}{row.part:11s}{_program(row):44s}{row.seconds * 1e3:12.3f} ms{error}{part}"


def _program(row: Row) -> str:
    return f"{row.program}, {row.device} {row.precision}".rstrip(", ")


def as_text(results: Results) -> str:
    """All tables."""
    parts = ["\n".join(_heading(results))]
    for part, title in PARTS.items():
        if any(row.part == part for row in results.rows):
            parts.append("\n".join(_table(results, part, title)))
    parts += ["\n".join(lines) for lines in (
        list(_failures(results)), list(_peaks(results)), list(_memory(results)), list(_series(results)),
        list(_stone_kernels(results)), list(_stone_systems(results)), list(_targets(results)),
    ) if lines]  # fmt: skip
    return "\n\n".join(parts)


def _heading(results: Results) -> Iterator[str]:
    environment = results.environment
    yield f"{environment['command']}, {environment['date']}"
    yield "; ".join(f"{name}: {detail}" for name, detail in environment["devices"].items())
    yield ", ".join(f"{name} {n}" for name, n in environment["threads"].items()) + f"; {environment['system']}"
    if (environment["load when it began"] or 0) > 0.5:
        yield f"Other work had the machine when this began: load {environment['load when it began']:.1f}."
    yield ", ".join(f"{name} {number}" for name, number in environment["versions"].items() if number)


def milliseconds(seconds: float) -> str:
    """Three digits, in milliseconds."""
    value = seconds * 1e3
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _cell(row: Row | None) -> str:
    if row is None or row.seconds is None:
        return ""
    mark = "*" if row.measured else ""
    return milliseconds(row.seconds) + mark + ("" if row.error is None else f" ({row.error:.0e})")


def _table(results: Results, part: str, title: str) -> Iterator[str]:
    rows = [row for row in results.rows if row.part == part and row.seconds is not None]
    systems = list(dict.fromkeys(row.system for row in rows))
    yield f"### {title}"
    yield ""
    yield "Milliseconds, largest error in brackets; * extrapolated from part of the points; cores at most busy."
    yield ""
    yield "| | " + " | ".join(systems) + " | cores |"
    yield "|---" * (len(systems) + 2) + "|"
    for program in dict.fromkeys(_program(row) for row in rows):
        cells = [
            _cell(next((row for row in rows if row.system == system and _program(row) == program), None))
            for system in systems
        ]
        cores = [row.cores for row in rows if _program(row) == program and row.cores]
        yield f"| {program} | " + " | ".join(cells) + f" | {max(cores, default=0):.1f} |"
    counts = {row.system: row.points for row in rows if row.points}
    if counts:
        yield "| points | " + " | ".join(f"{counts.get(system, 0):,}" for system in systems) + " | |"


def _failures(results: Results) -> Iterator[str]:
    failed = [row for row in results.rows if row.seconds is None]
    if not failed:
        return
    yield "### Without a time"
    yield ""
    for program, note in dict.fromkeys((row.program, row.note) for row in failed):
        systems = ", ".join(dict.fromkeys(row.system for row in failed if (row.program, row.note) == (program, note)))
        yield f"- {program}, {systems}: {note}"


def _peaks(results: Results) -> Iterator[str]:
    yield "### Share of the peak"
    yield ""
    for peak in results.peaks:
        for precision in ("single", "double"):
            if precision in peak:
                found = peak[precision]
                yield (
                    f"- {peak['device']}, {precision}: a copy moves {found['bytes per second'] / 1e9:,.1f} GB/s, "
                    f"multiply-adds make {found['operations per second'] / 1e9:,.0f} Gflop/s"
                )
    if not results.shares:
        return
    yield ""
    yield "| | device | tables | (row, brick) pairs | Gflop | of the peak | MB written | of the peak |"
    yield "|---|---|---|---|---|---|---|---|"
    for row in results.shares:
        yield (
            f"| {row['system']} | {row['device']} | {row['tables']} | {row['pairs']:,} | {row['operations'] / 1e9:.3f} "
            f"| {row['share of operations']:.0%} | {row['bytes'] / 1e6:.1f} | {row['share of bytes']:.0%} |"
        )


def _memory(results: Results) -> Iterator[str]:
    if not results.memory:
        return
    yield "### Memory"
    yield ""
    yield "Megabytes: of the result, at the peak beyond what was resident before the call, and of the whole process."
    yield ""
    yield "| | device | basis functions | points | result | beyond before | process |"
    yield "|---|---|---|---|---|---|---|"
    for row in results.memory:
        found, process = (
            "unknown" if n is None else f"{n / 1e6:,.0f}" for n in (row["peak beyond before"], row["peak"])
        )
        yield (
            f"| {row['system']} | {row['device']} | {row['basis functions']:,} | {row['points']:,} "
            f"| {row['result'] / 1e6:.0f} | {found} | {process} |"
        )


def _series(results: Results) -> Iterator[str]:
    if not results.atoms:
        return
    yield "### Cost and size"
    yield ""
    yield "| water, device | atoms | points | ms | microseconds an atom | ns a point |"
    yield "|---|---|---|---|---|---|"
    for row in results.atoms:
        yield (
            f"| {row['system']}, {row['device']} | {row['atoms']:,} | {row['points']:,} "
            f"| {milliseconds(row['seconds'])} | {row['seconds'] / row['atoms'] * 1e6:.1f} "
            f"| {row['seconds'] / row['points'] * 1e9:.2f} |"
        )
    yield ""
    yield "| one molecule, device | points | ms | ns a point |"
    yield "|---|---|---|---|"
    for row in results.points:
        yield (
            f"| {row['system']}, {row['device']} | {row['points']:,} | {milliseconds(row['seconds'])} "
            f"| {row['seconds'] / row['points'] * 1e9:.2f} |"
        )


STONE_SYSTEMS = ("C60-a", "C60-b", "Thr-a", "Thr-b", "Kr-a", "Kr-b")

# Table 2 of Stone et al.: kernel, seconds on as many cores or GPUs, and what stands in its place here.
STONE_KERNELS = (
    ("Q6600, gcc-cephes", "200.22 on 1 core, 51.52 on 4",
     "double precision: what an exact exponential was for"),
    ("Q6600, icc-sse-cephes", "46.58 on 1 core, 11.74 on 4",
     "single precision: exponentials along three axes only are exact, and no longer matter"),
    ("Q6600, icc-sse-approx", "14.82 on 1 core, 3.76 on 4",
     "single precision: nothing is gained by an approximate exponential that is taken 10^4 times less often"),
    ("8800 GTX and GTX 280, tiled-shared", "0.89 and 0.46",
     "tables, written once, that neighbouring threads read alike, in place of tiles of operands"),
    ("8800 GTX and GTX 280, const-cache", "0.57 and 0.37",
     "the same: tables are larger than the 64 kB of constant memory"),
    ("8800 GTX and GTX 280, const-cache-jit", "0.41 and 0.27",
     "the same: Taichi compiles for the device, not for the molecule; rows of like length stand together"),
)  # fmt: skip

# Table 4 of Stone et al., 10^3 lattice points a second.
STONE_SPEEDS = {
    "Molekel, 1 core (2009)": (39, 25, 175, 108, 617, 138),
    "MacMolPlt, 4 cores (2009)": (97, 66, 361, 265, 2668, 632),
    "VMD, icc-sse-approx, 4 cores (2009)": (2314, 1336, 8829, 5319, 33818, 9631),
    "VMD, CUDA, GTX 280 (2009)": (21540, 13338, 62277, 45498, 119167, 78884),
}


def _orbital(results: Results, system: str, device: str, precision: str, program: str) -> Row | None:
    wanted = ("orbital", system, device, precision, program)
    return next((r for r in results.rows if (r.part, r.system, r.device, r.precision, r.program) == wanted), None)


def _stone_kernels(results: Results) -> Iterator[str]:
    devices = [peak["device"] for peak in results.peaks]
    if not any(row.system == "C60-b" for row in results.rows):
        return
    yield "### Table 2 of Stone et al. (C60-b, seconds), row by row"
    yield ""
    yield "| theirs | seconds | ours in its place | seconds |"
    yield "|---|---|---|---|"
    for index, (name, seconds, reason) in enumerate(STONE_KERNELS):
        on_gpu = index > 2
        found = []
        for device in devices:
            if (device != "cpu") == on_gpu:
                precision = "double" if index == 0 else "single"
                row = _orbital(results, "C60-b", device, precision, "Orbitile, left there" if on_gpu else "Orbitile")
                if row is not None and row.seconds is not None:
                    found.append(f"{row.seconds:.2g} ({device})")
        yield f"| {name} | {seconds} | {reason} | {', '.join(found) or 'not measured in this run'} |"
    for row in results.rows:
        if row.part == "orbital" and row.system == "C60-b" and row.program.startswith("Orbitile, kernel"):
            yield f"| | | {_program(row)} | {_seconds(row)} |"


def _seconds(row: Row) -> str:
    return "" if row.seconds is None else f"{row.seconds:.2g}"


def _stone_systems(results: Results) -> Iterator[str]:
    if not any(row.system in STONE_SYSTEMS for row in results.rows):
        return
    yield "### Table 4 of Stone et al. (10^3 lattice points a second), row by row"
    yield ""
    yield "| | " + " | ".join(STONE_SYSTEMS) + " |"
    yield "|---" * (len(STONE_SYSTEMS) + 1) + "|"
    for name, speeds in STONE_SPEEDS.items():
        yield f"| {name} | " + " | ".join(f"{speed:,}" for speed in speeds) + " |"
    rows = [row for row in results.rows if row.part == "orbital" and row.seconds and "way home" not in row.program]
    for program in dict.fromkeys(_program(row) for row in rows):
        cells = []
        for system in STONE_SYSTEMS:
            row = next((r for r in rows if r.system == system and _program(r) == program), None)
            cells.append("" if row is None or not row.seconds else f"{row.points / row.seconds / 1e3:,.0f}")
        if any(cells):
            yield f"| {program} | " + " | ".join(cells) + " |"


def _targets(results: Results) -> Iterator[str]:
    lines = []

    def judge(what: str, found: float | None, wanted: float, most: bool, unit: str) -> None:
        if found is not None:
            reached = found <= wanted if most else found >= wanted
            lines.append(f"- {what}: {found:,.3g}{unit}, wanted {wanted:g}{unit}: "
                         f"{'reached' if reached else 'not reached'}")  # fmt: skip

    ours = _orbital(results, "C60-b", "cpu", "single", "Orbitile")
    if ours is not None and ours.seconds is not None:
        judge("C60-b on a CPU", ours.seconds * 1e3, 12, True, " ms")
        for name, wanted in (("PySCF", 1000.0), ("Avogadro", 6.0)):
            theirs = [
                row.seconds
                for row in results.rows
                if row.part == "orbital" and row.system == "C60-b" and row.program.startswith(name) and row.seconds
            ]
            if theirs:
                judge(f"C60-b, times as fast as {name}", min(theirs) / ours.seconds, wanted, False, "")
    left = _orbital(results, "C60-b", "cuda", "single", "Orbitile, left there")
    if left is not None and left.seconds is not None:
        judge("C60-b on CUDA, left there", left.seconds * 1e3, 0.3, True, " ms")
    if lines:
        yield "### Targets"
        yield ""
        yield from lines
