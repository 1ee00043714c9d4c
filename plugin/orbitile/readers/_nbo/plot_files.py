"""The files that NBO writes for plotting programs: the basis set (.31) and matrices of coefficients (.32 to .41).

A basis set: title; a heading; numbers of atoms, shells and primitives; atoms in Angstrom; of each shell its atom, how
many functions and primitives it has and where these begin, and the labels of the functions; exponents; coefficients of
s, p, d, ... functions, one for each primitive.

A matrix: title; a heading that says which orbitals in which basis; coefficients of one orbital after the other in rows
of five; where there are two spins, each after a line with its name. In those of NBOs and NLMOs the occupancies follow,
and lists that say what each orbital is. Files of NBO 3 may lack title and heading.

The label file (.46) of NBO 6 and 7: after a line with the sort of the orbitals, their spin where there are two, and
their number, names follow in columns of ten characters: `Li 1(cr)`, `Li 1- H 2`, `Li 1- H 2*`, ` H 2( 1s )`. Core
orbitals, lone pairs and bonds are given the names that NBO prints: `CR (1) Li 1`, `BD (1) Li 1 - H 2`, `BD*(1) Li 1 -
H 2`, numbered by the atoms that they are on.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...base.errors import FileError
from ...files.reading import check_room, numbers_in_text
from ...model.elements import SYMBOLS
from ...model.units import angstrom
from .basis import HIGHEST, Basis, Primitives, shells_of, within_reach

Reals = NDArray[np.float64]

KINDS = {
    ".32": "PNAO",
    ".33": "NAO",
    ".34": "PNHO",
    ".35": "NHO",
    ".36": "PNBO",
    ".37": "NBO",
    ".38": "PNLMO",
    ".39": "NLMO",
    ".40": "MO",
    ".41": "density matrix",
    ".42": "density matrix",
}
"""What files of usual names hold where they have no heading; in NBO 6 and 7, .41 has natural orbitals."""

BASIS_HEADING = "basis set information needed for plotting orbitals"

_HEADING = re.compile(r"^\s*(P?N(?:AO|HO|BO|LMO)|MO|NO)s in the (\w+) basis:", re.IGNORECASE)
_DENSITY = re.compile(r"^\s*AO density matrix", re.IGNORECASE)
_SPIN = re.compile(r"^\s*(ALPHA|BETA)\s+SPIN\s*$", re.IGNORECASE)
_NUMBERS = re.compile(r"^[\s\d.+\-DEde]*\.[\s\d.+\-DEde]*$")
_RULE = re.compile(r"^\s*-{10,}\s*$")


@dataclass(frozen=True, eq=False)
class Block:
    """The orbitals of one spin.

    Attributes
    ----------
    coefficients : ndarray, shape (n_basis, n_orbitals)
        In the order of the file.
    occupations : ndarray, shape (n_orbitals,)
        Empty where the file has none.
    labels : tuple of str
        Empty where it says nothing of them.
    """

    coefficients: Reals
    occupations: Reals
    labels: tuple[str, ...]


def heading_of(head: str) -> str | None:
    """What a file holds by its beginning: "basis", "PNAO", ..., "density matrix"; None for another file.

    Raises
    ------
    FileError
        When it holds orbitals in another basis than that of the program.
    """
    for line in head.splitlines()[:6]:
        if BASIS_HEADING in line.lower():
            return "basis"
        if _DENSITY.match(line):
            return KINDS[".41"]
        if found := _HEADING.match(line):
            if found[2].upper() != "AO":
                raise FileError(
                    f"holds {found[1]}s in the {found[2]} basis, expected those in the AO basis (write "
                    f"AO{found[1]}=W in $NBO)"
                )
            return found[1].upper()
    return None


def is_plot_file(head: str) -> bool:
    """Whether a file has the heading of one of these."""
    lines = head.splitlines()[:6]
    return any(BASIS_HEADING in line.lower() or _DENSITY.match(line) or _HEADING.match(line) for line in lines)


def title_of(text: str) -> str:
    """The first line of a file that has a heading."""
    first = text.split("\n", 1)[0].strip()
    return "" if _NUMBERS.match(first) and first else first


def read_basis(path: Path) -> Basis:
    """The basis set in a .31 file.

    Raises
    ------
    FileError
        When it is damaged or no such file.
    """
    text = path.read_text(encoding="utf-8", errors="replace")
    name, lines = path.name, text.split("\n")
    parts: list[list[str]] = [[]]
    for line in lines[2:]:
        if _RULE.match(line):
            parts.append([])
        else:
            parts[-1].append(line)
    if heading_of(text[:600]) != "basis" or len(parts) != 5:
        raise FileError(f"{name}: expected the basis set of an NBO job, in five parts, got another or a damaged file")
    counts = _integers(parts[1], name)
    if len(counts) < 3:
        raise FileError(f"{name}: expected numbers of atoms, shells and primitives, got {counts}")
    n_atoms, n_shells, n_primitives = counts[:3]
    for n, what in ((n_atoms, "atoms"), (n_shells, "shells"), (n_primitives, "primitives")):
        if n < 1:
            raise FileError(f"{name}: expected {what}, got {n}")
        check_room(name, n, len(text), 2, what)
    atoms = numbers_in_text("\n".join(parts[2]).encode(), name, 6)
    if len(atoms) != 4 * n_atoms:
        raise FileError(f"{name}: expected {n_atoms} atoms with three coordinates each, got {len(atoms)} numbers")
    atoms = atoms.reshape(-1, 4)
    if np.any(atoms[:, 0] != np.round(atoms[:, 0])) or atoms[:, 0].max() >= len(SYMBOLS):
        raise FileError(f"{name}: expected atomic numbers below {len(SYMBOLS)}, got {atoms[:, 0].max():g}")
    numbers = np.maximum(atoms[:, 0], 0).astype(np.int64)
    values = numbers_in_text("\n".join(parts[4]).encode(), name, len(lines))
    if len(values) % n_primitives or not 2 <= len(values) // n_primitives <= HIGHEST + 2:
        raise FileError(
            f"{name}: expected exponents and coefficients of {n_primitives} primitives, got {len(values)} numbers"
        )
    lists = list(values.reshape(-1, n_primitives))
    words = _integers(parts[3], name)
    heads: list[list[int]] = []
    labels: list[list[int]] = []
    at = 0
    for _ in range(n_shells):
        head = words[at : at + 4]
        if len(head) < 4 or head[1] < 1 or at + 4 + head[1] > len(words):
            raise FileError(f"{name}: expected {n_shells} shells with the labels of their functions, got {len(heads)}")
        heads.append(head)
        labels.append(words[at + 4 : at + 4 + head[1]])
        at += 4 + head[1]
    if at != len(words):
        raise FileError(f"{name}: expected {n_shells} shells, got more")
    shells, order = shells_of(
        name,
        [head[0] for head in heads],
        labels,
        [(head[2], head[3]) for head in heads],
        Primitives(lists[0], lists[1:]),
        n_atoms,
    )
    signs = np.ones(len(order))
    positions = within_reach(name, atoms[:, 1:] * angstrom)
    return Basis(title_of(text), numbers, numbers.astype(float), positions, shells, order, signs)


def read_orbitals(path: Path, n_basis: int) -> list[Block]:
    """The orbitals in a file of coefficients: one block, or one of each spin.

    Raises
    ------
    FileError
        When it is damaged, or belongs to a basis of another size.
    """
    return [_block(rows, rest, path.name, line, n_basis) for rows, rest, line in _spins(path)]


def read_density(path: Path, n_basis: int) -> list[Reals]:
    """The density matrix in a file, in the order of the file: one, or one of each spin; none in a file of orbitals.

    Raises
    ------
    FileError
        As for `read_orbitals`.
    """
    with path.open(encoding="utf-8", errors="replace") as stream:
        if heading_of(stream.read(600)) not in (None, "density matrix"):
            return []
    found = []
    for rows, _, line in _spins(path):
        values = numbers_in_text("\n".join(rows).encode(), path.name, line)
        found.append(symmetric(values, n_basis, path.name, "density matrix"))
    return found


def symmetric(values: Reals, n: int, name: str, what: str) -> Reals:
    """A symmetric matrix from all of its elements, or from the upper triangle column after column.

    Raises
    ------
    FileError
        When there are other numbers of elements.
    """
    if len(values) == n * n:
        return values.reshape(n, n)
    if len(values) != n * (n + 1) // 2:
        raise FileError(
            f"{name}: {what}: expected {n * (n + 1) // 2} or {n * n} elements for {n} basis functions, got "
            f"{len(values)}"
        )
    matrix = np.zeros((n, n))
    matrix[np.tril_indices(n)] = values
    return matrix + np.tril(matrix, -1).T


def _spins(path: Path) -> list[tuple[list[str], list[str], int]]:
    """Of each spin: lines of numbers, the lines that follow them, and the number of the first in the file."""
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    starts = [n for n, line in enumerate(lines) if _SPIN.match(line)]
    if len(starts) > 2:
        raise FileError(f"{path.name}: expected orbitals of two spins at most, got {len(starts)}")
    if not starts:
        first = next((n for n, line in enumerate(lines) if _NUMBERS.match(line)), len(lines))
        starts = [first - 1]
    found = []
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        those = lines[start + 1 : stop]
        count = next((n for n, line in enumerate(those) if not _NUMBERS.match(line)), len(those))
        if not count:
            raise FileError(f"{path.name}: expected rows of numbers after line {start + 1}")
        found.append((those[:count], those[count:], start + 2))
    return found


def _block(rows: list[str], rest: list[str], name: str, line: int, n_basis: int) -> Block:
    values = numbers_in_text("\n".join(rows).encode(), name, line)
    each = n_basis if len(values) % n_basis == 0 and len(values) <= n_basis**2 else n_basis + 1
    n = len(values) // each
    if len(values) % each or not 1 <= n <= n_basis:
        raise FileError(
            f"{name}: {len(values)} numbers are no coefficients of orbitals over the {n_basis} basis functions beside "
            "it: it is cut off, or belongs to another job"
        )
    coefficients = values[: n * n_basis].reshape(n, n_basis).T
    return Block(coefficients, values[n * n_basis :], _labels(rest, n))


def _integers(lines: list[str], name: str) -> list[int]:
    words = " ".join(lines).split()
    try:
        return [int(word) for word in words]
    except ValueError as error:
        raise FileError(f"{name}: expected whole numbers ({error})") from error


_PER_LINE = 20
_LISTS = 9
"""Lists of a number or a word each orbital: uniqueness, type, three of its name, three atoms, place in the names."""


def _labels(lines: list[str], n: int) -> tuple[str, ...]:
    """Names of the orbitals, from the lists behind their occupancies; none where these are others than expected.

    The names stand in the order in which they are printed, and the last list says where that of each orbital is.
    """
    per_list = -(-n // _PER_LINE)
    if len(lines) < _LISTS * per_list + 1:
        return ()
    width = _width(lines[:per_list], n)
    lists = [_entries(lines[k * per_list : (k + 1) * per_list], n, width) for k in range(_LISTS)]
    try:
        counts = [int(text) % 10 for text in lists[1]]
        serial, first, second, third, place = ([int(text or 0) for text in of] for of in lists[4:9])
        numbers = [int(word) for word in " ".join(lines[_LISTS * per_list :]).split()]
    except ValueError:
        return ()
    if sorted(place) != list(range(1, n + 1)):
        return ()
    labels = []
    for orbital, at in enumerate(place):
        atoms = [atom for atom in (first[at - 1], second[at - 1], third[at - 1]) if atom]
        if len(atoms) != counts[orbital] or any(not 0 < atom <= len(numbers) for atom in atoms):
            return ()
        kind, star = lists[2][at - 1], lists[3][at - 1] or " "
        on = " - ".join(f"{_symbol(numbers[atom - 1])} {atom}" for atom in atoms)
        labels.append(f"{kind}{star}({serial[at - 1]}) {on}")
    return tuple(labels)


def _symbol(number: int) -> str:
    return SYMBOLS[number] if 0 < number < len(SYMBOLS) else SYMBOLS[0]


def _width(lines: list[str], n: int) -> int:
    """Width of the columns of a list of numbers, which end where their lines do."""
    return max(1, (max(map(len, map(str.rstrip, lines))) - 1) // min(n, _PER_LINE))


def _entries(lines: list[str], n: int, width: int) -> list[str]:
    """Entries of a list in columns of one width behind a blank, 20 a line; blank ones count."""
    padded = [line.ljust(1 + width * _PER_LINE) for line in lines]
    texts = [line[1 + width * k : 1 + width * (k + 1)].strip() for line in padded for k in range(_PER_LINE)]
    return texts[:n]


SORTS = {"NAO": "NAO", "NHO": "NHO", "NBO": "NBO", "NLMO": "NBO"}
"""Names that orbitals have, pre-orthogonal ones like the others: NLMOs those of the bonds that they come from."""

_HEAD = re.compile(r"^\s*(AO|NAO|NHO|NBO)\s+(?:(ALPHA|BETA)\s+)?(\d+)\s*$")
_WIDTH = 10
_ON_ONE = re.compile(r"([A-Z][a-z]?)\s*(\d+)\s*\((cr|lp|lv|ry|val)\)")
_ON_SEVERAL = re.compile(r"([A-Z][a-z]?\s*\d+(?:\s*-\s*[A-Z][a-z]?\s*\d+)+)\s*(\*?)")

_BOND, _THREE_CENTRES = "BD", "3C"


def read_names(path: Path) -> dict[tuple[str, int], tuple[str, ...]]:
    """Names by sort and spin, 0 for alpha or both and 1 for beta; what is cut off or damaged is left out."""
    found: dict[tuple[str, int], tuple[str, ...]] = {}
    head, texts = None, list[str]()
    for line in [*path.read_text(encoding="utf-8", errors="replace").split("\n"), " AO 0"]:
        begins = _HEAD.match(line)
        if begins is None:
            row = line[1:].rstrip()
            texts += [row[n : n + _WIDTH] for n in range(0, len(row), _WIDTH)]
            continue
        if head is not None and len(texts) == int(head[3]):
            found[head[1], int(head[2] == "BETA")] = _printed(texts)
        head, texts = begins, []
    return found


def _printed(texts: list[str]) -> tuple[str, ...]:
    """Names as NBO prints them."""
    serial: Counter[str] = Counter()
    names = []
    for text in texts:
        one, several = _ON_ONE.fullmatch(text.strip()), _ON_SEVERAL.fullmatch(text.strip())
        if one is not None:
            kind, atoms = f"{one[3].upper()} ", f"{one[1]} {one[2]}"
        elif several is not None:
            places = [re.sub(r"([A-Za-z])\s*(\d)", r"\1 \2", part.strip()) for part in several[1].split("-")]
            kind, atoms = (_BOND if len(places) == 2 else _THREE_CENTRES) + (several[2] or " "), " - ".join(places)
        else:
            names.append(" ".join(re.sub(r"\s*([()])\s*", r" \1", text).replace("( ", "(").replace(" )", ")").split()))
            continue
        serial[kind + atoms] += 1
        names.append(f"{kind}({serial[kind + atoms]}) {atoms}")
    return tuple(names)
