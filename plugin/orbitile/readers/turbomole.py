"""Turbomole: the folder of a calculation, by its `control` and the files that it names (coord, basis, mos, ...).

Basis functions are real solid harmonics. Their order within a shell is 0, +1, -1, -2, +2, +3, -3, -4, +4, ..., where +m
goes with cos and -m with sin, and some have the sign opposite to ours: `infsao` in Turbomole's `define` prints them.
Contractions are normalised to one; those of an atom stand in order of angular momentum, whatever the order in the basis
set. With symmetry, `mos` holds coefficients of symmetry-adapted functions, which are not
in the files; such orbitals are refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np

from ..base.arrays import Indices, Reals
from ..base.errors import ConventionError, FileError, OrbitileError
from ..files.encodings import text_of
from ..files.plain import PlainFile
from ..files.reading import damage_as_error, numbers_in_columns, numbers_in_text, read_bytes
from ..gaussians.orthonormality import checked
from ..model.conventions import ANGULAR_MOMENTUM_LETTERS, component_names
from ..model.core_potentials import named_ghosts
from ..model.elements import SYMBOLS
from ..model.units import angstrom
from ..model.wavefunction import Orbitals, Shell, Stated, Wavefunction, are_natural
from ._contractions import normalised, order_and_signs

DESCRIPTION = "folders of Turbomole (control, coord, basis, mos)"
PATTERNS = ("control", "mos", "alpha", "beta")
KIND = "wavefunction"

_MOLDEN = "tm2molden of Turbomole writes the orbitals as a Molden file, which can be read"

_OPPOSITE = {3: ("s3",), 4: ("c2", "s3")}
"""Components by angular momentum that have the sign opposite to ours."""

_HIGHEST = 4
"""Angular momentum up to which signs are known."""


def recognises(head: str) -> bool:
    """Whether the beginning of a file is that of `control` or of orbitals."""
    return head.lstrip().startswith(("$scfmo", "$uhfmo_")) or bool(
        re.match(r"\s*\$", head) and re.search(r"^\$(symmetry|atoms|coord)\b", head, re.MULTILINE)
    )


def read_beside(path: Path, original: Path) -> Wavefunction:
    """Read a wavefunction from where its files lie, since each names others."""
    return read(original)


def others(path: Path) -> tuple[Path, ...]:
    """`control` and the files that it names, as far as they are beside a file of Turbomole."""
    control = path.parent / "control"
    return tuple(file for file in (control, *files_named_in(control)) if file.is_file()) if control.is_file() else ()


def read(path: Path) -> Wavefunction:
    """Read a wavefunction from `control`, or from orbitals that have their `control` beside them."""
    with damage_as_error(path, "Turbomole file", OrbitileError):
        try:
            return checked(_wavefunction(path))
        except ConventionError as error:
            remedy = "if the geometry is newer than the orbitals, run dscf or ridft again"
            raise ConventionError(f"{error}; {remedy}") from error


def _wavefunction(path: Path) -> Wavefunction:
    own = groups_in(path)
    orbitals = {name: found for name, found in own.items() if name in ("scfmo", "uhfmo_alpha", "uhfmo_beta")}
    orbitals = {name: found for name, found in orbitals.items() if found.lines and found.lines[0].strip() != "none"}
    control = path.parent / "control" if orbitals and "coord" not in own else path
    if not control.is_file():
        raise FileError(f"{path.name}: orbitals of Turbomole need the file control of the calculation beside them")
    groups = {**groups_of(control), **orbitals}
    if "periodic" in groups and groups["periodic"].options.strip() not in ("", "0"):
        raise FileError(f"{control.name}: orbitals of periodic calculations of Turbomole are not supported")
    symbols, positions = _atoms(group(groups, "coord", control, "expected the atoms"))
    numbers = np.array([_number(symbol) for symbol in symbols], np.int64)
    assigned = _assigned(group(groups, "atoms", control, "expected the basis set of each atom"), symbols)
    shells, order, signs = _shells(group(groups, "basis", control, "expected the basis set"), assigned)
    core = numbers - np.array(_core_electrons(groups, assigned, symbols), float)
    unrestricted = "uhfmo_alpha" in groups and "scfmo" not in orbitals and ("uhf" in groups or "scfmo" not in groups)
    names = ("uhfmo_alpha", "uhfmo_beta") if unrestricted else ("scfmo",)
    parts = [_orbitals(group(groups, name, control, _MOLDEN), groups, name, order, signs) for name in names]
    return Wavefunction(
        atomic_numbers=numbers,
        positions=positions,
        core_charges=core,
        shells=shells,
        alpha=parts[0],
        beta=parts[1] if unrestricted else None,
        natural=any(are_natural(part.occupations) for part in parts) and "fermi" not in groups,
        title=" ".join(groups["title"].options.split()) if "title" in groups else "",
        source=str(path),
        program="Turbomole",
        method=_method(groups),
        stated=Stated(_number_in(groups, "charge", 0), kinetic=_number_in(groups, "energy", 2)),
        remarks=named_ghosts(numbers, core),
    )


@dataclass(frozen=True)
class Modes:
    """Modes as `aoforce` leaves them in `control` and beside it, translations and rotations among them.

    Attributes
    ----------
    atomic_numbers : ndarray of int, shape (n_atoms,)
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    wavenumbers, infrared : ndarray, shape (n_modes,)
        In cm^-1, imaginary ones negative, and in km/mol; empty where there is but a Hessian.
    displacements : ndarray, shape (n_modes, 3 n_atoms)
        Cartesian ones.
    symmetries : tuple of str
    hessian : ndarray, shape (3 n_atoms, 3 n_atoms)
        In hartree/bohr^2; empty where unknown.
    """

    atomic_numbers: Indices
    positions: Reals
    wavenumbers: Reals
    infrared: Reals
    displacements: Reals
    symmetries: tuple[str, ...]
    hessian: Reals


def modes_in(path: Path) -> Modes | None:
    """Modes of `control` or of a file beside it that has one of its groups of vibrations; None where there are none.

    Raises
    ------
    FileError
        When `control` is missing, or a file is damaged.
    """
    own = groups_in(path)
    control = path if "coord" in own else path.parent / "control"
    if not any(name in own for name in ("coord", *_VIBRATIONAL)):
        return None
    if not control.is_file():
        raise FileError(f"{path.name}: vibrations of Turbomole need the file control beside them; of xtb, open g98.out")
    with damage_as_error(path, "Turbomole file", OrbitileError):
        groups = groups_of(control)
        numbers = {name: _matrix(groups[name]) for name in _VIBRATIONAL[1:] if name in groups}
        if not numbers:
            return None
        symbols, positions = _atoms(group(groups, "coord", control, "expected the atoms"))
        n = positions.size
        hessian = numbers.get("hessian (projected)", np.empty(0))
        hessian = hessian.reshape(n, n) if hessian.size else hessian
        spectrum = [line.split() for line in groups["vibrational spectrum"].lines] if _VIBRATIONAL[0] in groups else []
        columns = numbers.get("vibrational normal modes", np.empty(0))
        if not columns.size or not spectrum:
            spectrum, columns = [], np.empty(0)
        # a row has a number, often a symmetry, then wavenumber and intensity
        at = [2 if re.match(r"[A-Za-z]", row[1]) else 1 for row in spectrum]
        return Modes(
            np.array([_number(symbol) for symbol in symbols], np.int64),
            positions,
            np.array([float(row[place]) for row, place in zip(spectrum, at, strict=True)]),
            np.array([float(row[place + 1]) for row, place in zip(spectrum, at, strict=True)]),
            columns.reshape(n, -1).T if columns.size else columns,
            tuple(row[1] if place == 2 else "" for row, place in zip(spectrum, at, strict=True)),
            hessian,
        )


def _matrix(found: Group) -> Reals:
    """All values row by row; numbers of row and block before them, which may touch, have no point."""
    return np.array(re.findall(r"-?\d*\.\d+(?:[ED][-+]?\d+)?", " ".join(found.lines).replace("D", "E")), float)


def _atoms(coord: Group) -> tuple[list[str], Reals]:
    """Symbols as written, and positions in bohr."""
    if "frac" in coord.options:
        raise FileError(f"{coord.file}: fractional coordinates, of a periodic calculation, are not supported")
    rows = [line.split() for line in coord.lines]
    positions = np.array([[float(word.replace("D", "E")) for word in row[:3]] for row in rows], float)
    return [row[3].lower() for row in rows], positions * (angstrom if "angs" in coord.options else 1.0)


def _number(symbol: str) -> int:
    """Atomic number; 0 for a dummy or ghost."""
    letters = re.sub(r"[^a-z]", "", symbol)
    if letters in ("q", "x", "zz"):
        return 0
    if letters.capitalize() not in SYMBOLS:
        raise FileError(f"coord: expected the symbol of an element, got {symbol!r}")
    return SYMBOLS.index(letters.capitalize())


def _assigned(atoms: Group, symbols: Sequence[str]) -> dict[str, list[str]]:
    r"""Names of basis set and core potential of each atom, by `basis` and `ecp`; empty where there is none.

    `c 1-2,4 \` names atoms and the lines below it what they have; what stands above all names is for every atom.
    """
    names = {"basis": [""] * len(symbols), "ecp": [""] * len(symbols)}
    chosen, complete = list(range(len(symbols))), True
    for line in atoms.lines:
        text = line.rstrip().removesuffix("\\").strip()
        if entry := re.match(r"(\w+)\s*=\s*(.*)", text):
            complete = True
            for n in chosen:
                if entry[1] in names:
                    name = entry[2].strip()
                    names[entry[1]][n] = name if name.startswith(f"{symbols[n]} ") else f"{symbols[n]} {name}"
        elif listed := re.match(r"([a-z]+\s+)?([\d\s,-]+)$", text, re.IGNORECASE):
            chosen = [*([] if complete else chosen), *(n - 1 for n in counted(listed[2].strip(" ,")))]
            complete = False
            if max(chosen) >= len(symbols):
                raise FileError(f"{atoms.file}: $atoms has {max(chosen) + 1} atoms, and $coord {len(symbols)}")
        else:
            got = text[:60]
            raise FileError(f"{atoms.file}: $atoms: expected 'c 1-2,4' or 'basis =c def2-SVP' or the like, got {got!r}")
    return names


def _blocks(library: Group) -> dict[str, list[str]]:
    """Lines of the entries of $basis or $ecp by name; an entry is `*`, name, `*`, lines."""
    parts = re.split(r"^\*.*$", "\n".join(library.lines), flags=re.MULTILINE)[1:]
    return {
        " ".join(name.split()): lines.strip().split("\n") for name, lines in zip(parts[::2], parts[1::2], strict=False)
    }


def _shells(basis: Group, assigned: Mapping[str, list[str]]) -> tuple[tuple[Shell, ...], Indices, Reals]:
    """Shells, and what takes coefficients of the file to ours: order of the rows, sign of each row."""
    blocks = _blocks(basis)
    shells: list[Shell] = []
    for atom, name in enumerate(assigned["basis"]):
        if name in ("", "none"):
            continue
        if name not in blocks:
            raise FileError(f"{basis.file}: no basis set {name!r} there, of which it has {', '.join(blocks)}")
        contractions = sorted(_contractions(blocks[name], basis.file), key=lambda contraction: contraction[0])
        for momentum, exponents, coefficients in contractions:
            shells.append(Shell(atom, momentum, True, exponents, normalised(exponents, coefficients, momentum)))
    return tuple(shells), *order_and_signs(shells, _components)


def _components(shell: Shell) -> list[str]:
    """Components of a shell in the order of Turbomole by our names, a minus in front where the sign is opposite."""
    l = shell.angular_momentum
    if l < 2:
        return list(component_names(l, True))
    names = ["c0", *(f"{kind}{m}" for m in range(1, l + 1) for kind in ("cs" if m % 2 else "sc"))]
    return [f"-{name}" if name in _OPPOSITE.get(l, ()) else name for name in names]


def _contractions(lines: Sequence[str], file: str) -> list[tuple[int, Reals, Reals]]:
    """Angular momentum, exponents and coefficients of the shells of an entry: `3 s`, and so many lines."""
    found: list[tuple[int, Reals, Reals]] = []
    at = 0
    while at < len(lines):
        words = lines[at].split()
        n, momentum = int(words[0]), ANGULAR_MOMENTUM_LETTERS.index(words[1].lower())
        if momentum > _HIGHEST:
            raise FileError(f"{file}: the signs of Turbomole's {words[1]} functions are not known; {_MOLDEN}")
        rows = [line.split()[:2] for line in lines[at + 1 : at + 1 + n]]
        values = numbers_in_text(" ".join(word for row in rows for word in row).encode(), file, 1)
        if n < 1 or len(values) != 2 * n:
            raise FileError(f"{file}: expected {n} {words[1]} functions, got {len(values) // 2}; the file is cut off")
        found.append((momentum, values[::2], values[1::2]))
        at += 1 + n
    return found


def _core_electrons(
    groups: Mapping[str, Group], assigned: Mapping[str, list[str]], symbols: Sequence[str]
) -> list[int]:
    """Electrons in the core potential of each atom."""
    blocks = _blocks(groups["ecp"]) if "ecp" in groups else {}
    cores = []
    for n, name in enumerate(assigned["ecp"]):
        if name.split()[1:] in ([], ["none"]):
            cores.append(0)
            continue
        found = re.search(r"ncore\s*=\s*(\d+)", "\n".join(blocks.get(name, ())))
        if found is None:
            raise FileError(f"$ecp: has no core potential {name!r} of atom {n + 1} ({symbols[n]})")
        cores.append(int(found[1]))
    return cores


def _orbitals(found: Group, groups: Mapping[str, Group], name: str, order: Indices, signs: Reals) -> Orbitals:
    """The orbitals of a group."""
    if "expanded" in found.options:
        raise FileError(f"{found.file}: has starting orbitals only, as define writes them; run dscf or ridft first")
    columns = re.search(r"format\((\d+)[a-z](\d+)\.\d+\)", found.options, re.IGNORECASE)
    if columns is None:
        raise FileError(f"{found.file}: expected 'format(4d20.14)' or the like in the line of ${name}")
    width = int(columns[2])
    n_basis = len(order)
    energies: list[float] = []
    values: list[Reals] = []
    irreps: list[str] = []
    headings = [n for n, line in enumerate(found.lines) if "eigenvalue=" in line] + [len(found.lines)]
    if len(headings) > 1 and headings[0] != 0:
        raise FileError(f"{found.file}: expected an orbital with eigenvalue and nsaos, got {found.lines[0][:60]!r}")
    for start, end in pairwise(headings):
        heading = re.match(rf"\s*{len(values) + 1}\s+(\S+)\s+eigenvalue=\s*(\S+)\s+nsaos=\s*(\d+)", found.lines[start])
        if heading is None:
            got = found.lines[start].strip()
            raise FileError(f"{found.file}: expected orbital {len(values) + 1} with eigenvalue and nsaos, got {got!r}")
        if heading[1] != "a" or int(heading[3]) != n_basis:
            got = f"irrep {heading[1]} over {heading[3]} symmetry-adapted functions"
            raise FileError(f"{found.file}: expected orbitals in c1 over {n_basis} functions, got {got}; {_MOLDEN}")
        irreps.append(heading[1])
        energies.append(float(heading[2].upper().replace("D", "E")))
        row = numbers_in_columns(found.lines[start + 1 : end], width, found.file, start + 1)
        if len(row) != n_basis:
            raise FileError(f"{found.file}: orbital {len(values) + 1} has {len(row)} coefficients, expected {n_basis}")
        values.append(row)
    if not values:
        raise FileError(f"{found.file}: has no orbitals; {_MOLDEN}")
    coefficients = np.array(values).T[order] * signs[:, None]
    return Orbitals(coefficients, _occupations(groups, name, len(values)), np.array(energies))


def _occupations(groups: Mapping[str, Group], name: str, n: int) -> Reals:
    """Electrons in orbitals as `control` has them: ` a 1-7,9 ( 2 )`."""
    wanted = {"uhfmo_alpha": ("alpha shells",), "uhfmo_beta": ("beta shells",)}.get(
        name, ("closed shells", "open shells")
    )
    occupations = np.zeros(n)
    if not any(kind in groups for kind in wanted):
        raise FileError(f"control: has no ${wanted[0]}, so it is unknown which orbitals of {name} are occupied")
    for kind in wanted:
        for line in groups[kind].lines if kind in groups else ():
            entry = re.fullmatch(r"\s*a\s+([\d\s,-]+)\(\s*(\d+\.?\d*(?:/\d+)?)\s*\)\s*", line)
            if entry is None:
                got = line.strip()[:60]
                raise FileError(f"control: ${kind}: expected orbitals and electrons ('a 1-7,9 ( 2 )'), got {got!r}")
            chosen, electrons = np.array(counted(entry[1])) - 1, float(Fraction(entry[2]))
            if chosen.max() >= n:
                raise FileError(f"control: ${kind} occupies orbital {chosen.max() + 1}, but there are {n}")
            twice = (occupations[chosen] != 0) & (occupations[chosen] != electrons)
            if np.any(twice):
                raise FileError(f"control: orbital {chosen[twice][0] + 1} of {name} is given two occupations")
            occupations[chosen] = electrons
    return occupations


def _number_in(groups: Mapping[str, Group], name: str, place: int) -> float | None:
    """A number in the last line of a group, from 0; None where there is none: the total charge, and the kinetic energy.

    `$energy` has number, energy, kinetic and potential energy of each self-consistent field in a line.
    """
    try:
        return float(groups[name].lines[-1].split()[place])
    except (LookupError, ValueError):
        return None


def _method(groups: Mapping[str, Group]) -> str:
    """The density functional, if there is one."""
    lines = groups["dft"].lines if "dft" in groups else ()
    return next((line.split()[1] for line in lines if line.split()[0] == "functional" and len(line.split()) > 1), "")


@dataclass(frozen=True)
class Group:
    """A data group.

    Attributes
    ----------
    options : str
        What follows its name in the line of its name.
    lines : tuple of str
        The lines below, without comments and empty ones.
    file : str
        Name of the file in which it stands.
    """

    options: str
    lines: tuple[str, ...]
    file: str


def groups_of(control: Path) -> dict[str, Group]:
    """Data groups by name, those in files beside `control` too; files that are not there are passed over.

    Raises
    ------
    FileError
        When a file cannot be read, or is in another folder: what a calculation refers to anywhere else is not read.
    """
    groups = groups_in(control)
    for name, group in list(groups.items()):
        other = re.search(r"\bfile=(\S+)", group.options)
        if other is None or name not in _WANTED:
            continue
        path = control.parent / other[1]
        if path.parent != control.parent or path.is_symlink():
            raise FileError(f"{control.name}: ${name} is in {other[1]}, expected a file of this folder; copy it here")
        found = groups_in(path).get(name) if path.is_file() else None
        if found is None:
            del groups[name]
        else:
            groups[name] = found
    return groups


def files_named_in(control: Path) -> tuple[Path, ...]:
    """Files in which there are the groups that are read, as `control` names them."""
    groups = groups_in(control)
    found = (re.search(r"\bfile=(\S+)", groups[name].options) for name in _WANTED if name in groups)
    return tuple(dict.fromkeys(control.parent / match[1] for match in found if match is not None))


_TWO_WORDS = r"(?:alpha|beta|closed|open) shells|vibrational (?:spectrum|normal modes)|hessian \(projected\)"
_VIBRATIONAL = ("vibrational spectrum", "vibrational normal modes", "hessian (projected)")
_WANTED = ("coord", "basis", "ecp", "energy", "scfmo", "uhfmo_alpha", "uhfmo_beta", *_VIBRATIONAL)
"""Groups whose files are read; others may be large."""


def groups_in(path: Path) -> dict[str, Group]:
    """Data groups of one file by name."""
    with PlainFile(path) as plain:
        text = text_of(read_bytes(plain.path))
    groups: dict[str, Group] = {}
    for part in re.split(r"^\$", text, flags=re.MULTILINE)[1:]:
        heading, _, rest = part.partition("\n")
        words = re.match(rf"({_TWO_WORDS}|\S+)\s*(.*)", heading)
        if words is not None and words[1] != "end":
            lines = tuple(line for line in rest.split("\n") if line.strip() and not line.lstrip().startswith("#"))
            groups.setdefault(words[1], Group(words[2].strip(), lines, path.name))
    return groups


def group(groups: Mapping[str, Group], name: str, control: Path, remedy: str) -> Group:
    """A group that has to be there.

    Raises
    ------
    FileError
        When it is not, or its file is missing.
    """
    if name not in groups:
        raise FileError(f"{control.name}: no ${name} in it or in the files that it names; {remedy}")
    return groups[name]


def counted(text: str) -> list[int]:
    """Numbers of a list such as `1-3,7`, from 1.

    Raises
    ------
    ValueError
        When it is none, or longer than any of ours.
    """
    numbers: list[int] = []
    for part in text.replace(" ", "").split(","):
        low, _, high = part.partition("-")
        first, last = int(low), int(high or low)
        if not 0 < first <= last < 1_000_000:
            raise ValueError(f"{part} in a list of numbers")
        numbers += range(first, last + 1)
    return numbers
