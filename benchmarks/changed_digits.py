"""What becomes of a file in which one digit of one number is another: refused, noted, seen, or neither.

    python benchmarks/changed_digits.py [FILE ...] [--changes 200] [--seed 1]

Numbers are taken at random, so many of each kind and file: coordinates, exponents, contraction coefficients, orbital
coefficients, energies and occupations of orbitals, counts (whole numbers: of atoms, electrons, functions; elements,
maps between shells and atoms), the numbers in front of coefficients (index), of logs any number at all. One digit of
one number, those of its power of ten too, becomes another.

- refused: the file is not read, and a sentence says why
- noted: it is read, with a note that it had not before
- seen: it is read without a word, and the HOMO or a Mulliken charge is another by more than 1 %, of the largest value
  of the HOMO, or of an electron
- level: read without a word, and the energy of an orbital is another by more than 1 %
- slight: read without a word, and what is read differs by less
- nothing: what is read is the same to the bit, so that the number does not matter

Without files those of qc-iodata, of the tests, and a .gbw made here serve.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import orbitile as ob
from orbitile.analysis.information import notes
from orbitile.gaussians.overlap import own_overlap

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.oracle import basis_functions

SAMPLES = Path(str(files("iodata.test.data") / ""))
LOGS = Path(__file__).parents[1] / "tests" / "trajectories" / "logs"
DEFAULT = (
    *(SAMPLES / name for name in ("water_sto3g_hf_g03.fchk", "ch3_hf_sto3g.fchk", "water_dimer_ghost.fchk")),
    *(SAMPLES / name for name in ("h2o.molden.input", "h2o_psi4_1.3.2_6-31G_d_cart.molden", "nh3_molden_cart.molden")),
    *(SAMPLES / name for name in ("lih_cation_uhf.wfn", "h2o_sto3g.wfn")),
    *(SAMPLES / name for name in ("lih_cation_uhf.wfx", "water_sto3g_hf.wfx")),
    *(LOGS / name for name in ("psi4_water.out", "nwchem_water.out")),
)
KINDS = ("coordinate", "exponent", "contraction", "coefficient", "energy", "occupation", "count", "index", "any")
OUTCOMES = ("refused", "noted", "seen", "level", "slight", "nothing")
NUMBER = re.compile(rb"(?<![A-Za-z0-9.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[EeDd][-+]?\d+)?(?![A-Za-z0-9])")
VISIBLE = 0.01
"""Share of the largest value of the HOMO, or charge in e, by which something is visibly another."""

Place = tuple[str, int, int]
"""Kind of a number, and where it begins and ends in the file."""


# Where numbers of each kind stand ---------------------------------------------------------------------------------


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    for line in data.splitlines(keepends=True):
        yield at, line
        at += len(line)


def _in_line(start: int, line: bytes) -> list[tuple[int, int, bytes]]:
    return [(start + found.start(), start + found.end(), found[0]) for found in NUMBER.finditer(line)]


def _is_whole(text: bytes) -> bool:
    return re.fullmatch(rb"[-+]?\d+", text) is not None


def of_molden(data: bytes) -> Iterator[Place]:
    """Numbers of a Molden file."""
    section = b""
    for start, line in _lines(data):
        if found := re.match(rb"\s*\[([^\]]+)\]", line):
            section = found[1].lower()
            continue
        numbers = _in_line(start, line)
        kinds: list[str] = []
        if section == b"atoms":
            kinds = ["count"] * (len(numbers) - 3) + ["coordinate"] * 3
        elif section == b"gto":
            kinds = ["exponent", "contraction"] if len(numbers) == 2 and not _is_whole(numbers[0][2]) else ["count"] * 9
        elif section == b"mo" and b"=" in line:
            kinds = ["energy" if b"ene" in line.lower() else "occupation" if b"occ" in line.lower() else "any"]
        elif section == b"mo":
            kinds = ["index", "coefficient"]
        yield from ((kind, first, end) for kind, (first, end, _) in zip(kinds, numbers, strict=False) if kind != "any")


_FCHK = {
    "Current cartesian coordinates": "coordinate",
    "Coordinates of each shell": "coordinate",
    "Primitive exponents": "exponent",
    "Contraction coefficients": "contraction",
    "P(S=P) Contraction coefficients": "contraction",
    "Alpha MO coefficients": "coefficient",
    "Beta MO coefficients": "coefficient",
    "Alpha Orbital Energies": "energy",
    "Beta Orbital Energies": "energy",
}
_FCHK_COUNTS = ("Shell", "Number", "Atomic numbers", "Charge", "Multiplicity", "Highest", "Largest", "Nuclear charges")


def of_fchk(data: bytes) -> Iterator[Place]:
    """Numbers of a formatted checkpoint file."""
    name = ""
    for start, line in _lines(data):
        if found := re.match(rb"(\S.{39})   ([IRCL])(   N=)?\s+(\S+)", line):
            name = found[1].decode("latin-1").strip()
            if name.startswith(_FCHK_COUNTS) and found[2] in b"IR":
                yield "count", start + found.start(4), start + found.end(4)
            continue
        kind = _FCHK.get(name) or ("count" if name.startswith(_FCHK_COUNTS) else "")
        yield from ((kind, first, end) for first, end, _ in _in_line(start, line) if kind)


def of_wfn(data: bytes) -> Iterator[Place]:
    """Numbers of a wfn file."""
    within = False
    for start, line in _lines(data):
        numbers = _in_line(start, line)
        kinds: list[str] = []
        if b"CENTRE ASSIGNMENTS" in line or b"TYPE ASSIGNMENTS" in line or b"PRIMITIVES" in line:
            kinds = ["count"] * len(numbers)
        elif b"(CENTRE" in line:
            kinds = ["count"] * (len(numbers) - 4) + ["coordinate"] * 3 + ["count"]
        elif line.startswith(b"EXPONENTS"):
            kinds = ["exponent"] * len(numbers)
        elif line.startswith(b"MO"):
            within, kinds = True, ["any"] * (len(numbers) - 2) + ["occupation", "energy"]
        elif within and line[:1] == b" " and b"=" not in line:
            kinds = ["coefficient"] * len(numbers)
        yield from ((kind, first, end) for kind, (first, end, _) in zip(kinds, numbers, strict=False) if kind != "any")


_WFX = {
    b"Nuclear Cartesian Coordinates": "coordinate",
    b"Primitive Exponents": "exponent",
    b"Molecular Orbital Primitive Coefficients": "coefficient",
    b"Molecular Orbital Energies": "energy",
    b"Molecular Orbital Occupation Numbers": "occupation",
}
_WFX_COUNTS = (b"Number of", b"Primitive Centers", b"Primitive Types", b"Atomic Numbers", b"Nuclear Charges", b"Net ")


def of_wfx(data: bytes) -> Iterator[Place]:
    """Numbers of a wfx file."""
    section = b""
    for start, line in _lines(data):
        if found := re.match(rb"\s*<(/?)([^>]+)>", line):
            if found[2] != b"MO Number":
                section = b"" if found[1] else found[2]
            continue
        kind = _WFX.get(section) or ("count" if section.startswith(_WFX_COUNTS) else "")
        yield from (
            (kind, first, end)
            for first, end, text in _in_line(start, line)
            if kind and not (kind == "coefficient" and _is_whole(text))
        )


def of_log(data: bytes) -> Iterator[Place]:
    """All numbers of a log."""
    for start, line in _lines(data):
        yield from (("any", first, end) for first, end, _ in _in_line(start, line))


def of_gbw(data: bytes, wavefunction: ob.Wavefunction) -> Iterator[Place]:
    """Numbers of a file of ORCA's orbitals: those that are known from what was read of it, eight bytes each."""
    alpha, shells = wavefunction.alpha, wavefunction.shells
    for kind, values in (
        ("coordinate", wavefunction.positions),
        ("exponent", np.concatenate([shell.exponents for shell in shells])),
        ("coefficient", alpha.coefficients),
        ("energy", alpha.energies),
        ("occupation", alpha.occupations),
    ):
        for value in np.unique(np.abs(np.ravel(values))):
            for signed in (value, -value):
                find = data.find if kind in ("coordinate", "exponent") else data.rfind  # orbitals stand at the end
                at = find(np.float64(signed).tobytes()) if value else -1
                if at >= 0:
                    yield kind, at, at + 8


_PLACES: dict[str, Callable[[bytes], Iterator[Place]]] = {
    "molden": of_molden,
    "fchk": of_fchk,
    "wfn": of_wfn,
    "wfx": of_wfx,
    "log": of_log,
}


# One digit ---------------------------------------------------------------------------------------------------------


def with_another_digit(text: bytes, random: np.random.Generator) -> bytes:
    """A number with one digit that is another."""
    digits = [n for n, letter in enumerate(text) if chr(letter).isdigit()]
    place = digits[int(random.integers(len(digits)))]
    others = [digit for digit in b"0123456789" if digit != text[place]]
    return text[:place] + bytes([others[int(random.integers(9))]]) + text[place + 1 :]


def changed(data: bytes, place: Place, random: np.random.Generator) -> bytes:
    """The file with one digit of one number changed; of bytes that are no text the decimal digits of the number."""
    _, first, end = place
    old = data[first:end]
    if b"\0" in data:
        number = float(np.frombuffer(old, "<f8")[0])
        new = np.float64(float(with_another_digit(f"{number:.15e}".encode(), random))).tobytes()
    else:
        new = with_another_digit(old, random)
    return data[:first] + new + data[end:]


# What is seen of it -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Seen:
    """What a user sees of a wavefunction: values of the HOMO at points, charges of the atoms, notes."""

    wavefunction: ob.Wavefunction
    homo: np.ndarray
    charges: np.ndarray
    notes: tuple[str, ...]


def seen(wavefunction: ob.Wavefunction, points: np.ndarray) -> Seen:
    """What there is to be seen, at some points."""
    orbitals = wavefunction.alpha
    homo = int(np.flatnonzero(orbitals.occupations > 0.5 * orbitals.occupations.max(initial=0))[-1])
    values = orbitals.coefficients[:, homo] @ basis_functions(wavefunction, points)
    density = sum((one.coefficients * one.occupations) @ one.coefficients.T for one in _sets(wavefunction))
    overlap = own_overlap(wavefunction)
    populations = np.asarray((overlap @ density).diagonal() if hasattr(overlap, "diagonal") else 0.0)
    owners = np.repeat([shell.atom for shell in wavefunction.shells], [s.n_functions for s in wavefunction.shells])
    charges = wavefunction.core_charges - np.bincount(owners, populations, wavefunction.n_atoms)
    return Seen(wavefunction, values, charges, notes(wavefunction))


def _sets(wavefunction: ob.Wavefunction) -> list[ob.Orbitals]:
    return [wavefunction.alpha] + ([wavefunction.beta] if wavefunction.beta is not None else [])


def _same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, ob.Shell | ob.Orbitals):
        return all(_same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    return one == other


def outcome(path: Path, before: Seen, points: np.ndarray) -> str:
    """What becomes of a file, of `OUTCOMES`."""
    try:
        wavefunction = ob.load(path)
    except ob.OrbitileError:
        return "refused"
    after = seen(wavefunction, points)
    if set(after.notes) - set(before.notes):
        return "noted"
    names = [f.name for f in fields(wavefunction) if f.name not in ("source", "title")]
    if all(_same(getattr(wavefunction, name), getattr(before.wavefunction, name)) for name in names):
        return "nothing"
    signed = min(np.abs(after.homo - sign * before.homo).max() for sign in (1, -1))
    moved = len(after.charges) != len(before.charges) or np.abs(after.charges - before.charges).max() > VISIBLE
    if moved or signed > VISIBLE * np.abs(before.homo).max():
        return "seen"
    energies = [np.concatenate([one.energies for one in _sets(w)]) for w in (before.wavefunction, wavefunction)]
    return "slight" if np.allclose(*energies, rtol=VISIBLE, atol=0, equal_nan=True) else "level"


# All of it --------------------------------------------------------------------------------------------------------


def format_of(path: Path) -> str:
    """Of the formats here."""
    name = path.name.lower()
    endings = {".fchk": "fchk", ".wfn": "wfn", ".wfx": "wfx", ".gbw": "gbw", ".out": "log", ".log": "log"}
    return "molden" if "molden" in name else next(kind for ending, kind in endings.items() if name.endswith(ending))


def made_gbw(folder: Path) -> Path:
    """A file of ORCA's orbitals, of water, made as the tests make it."""
    from tests.readers import orca_files

    path = folder / "water.gbw"
    path.write_bytes(orca_files.gbw_bytes(orca_files.sample("O 0 0 0.1; H 0.1 0.8 -0.5; H 0.2 -0.7 -0.6", "6-31g")))
    return path


def counted(path: Path, n: int, random: np.random.Generator, folder: Path) -> Counter[tuple[str, str]]:
    """How many changes of each kind of number have which outcome."""
    data, wavefunction = path.read_bytes(), ob.load(path)
    near = wavefunction.positions[random.integers(wavefunction.n_atoms, size=300)]
    points = near + random.normal(size=(300, 3))
    before = seen(wavefunction, points)
    kind = format_of(path)
    places = list(of_gbw(data, wavefunction) if kind == "gbw" else _PLACES[kind](data))
    found: Counter[tuple[str, str]] = Counter()
    for what in KINDS:
        those = [place for place in places if place[0] == what]
        for _ in range(n if those else 0):
            copy = folder / path.name
            copy.write_bytes(changed(data, those[int(random.integers(len(those)))], random))
            found[what, outcome(copy, before, points)] += 1
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--changes", type=int, default=200, help="of each kind of number in each file (default: 200)")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    table: dict[str, Counter[tuple[str, str]]] = {}
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "whole").mkdir()
        paths = options.files or [*DEFAULT, made_gbw(folder / "whole")]
        for number, path in enumerate(paths):
            random = np.random.default_rng([options.seed, number])
            found = counted(path, options.changes, random, folder)
            table.setdefault(format_of(path), Counter()).update(found)
            print(f"{path.name}: {sum(found.values())} changes", file=sys.stderr)
    print("| format | number | changed | " + " | ".join(OUTCOMES) + " |\n|---|---|---" + "|---" * len(OUTCOMES) + "|")
    for kind, found in table.items():
        for what in KINDS:
            total = sum(found[what, one] for one in OUTCOMES)
            if total:
                shares = " | ".join(f"{100 * found[what, one] / total:.1f} %" for one in OUTCOMES)
                print(f"| {kind} | {what} | {total} | {shares} |")


if __name__ == "__main__":
    main()
