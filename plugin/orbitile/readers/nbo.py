"""Files of the NBO program: orbitals for plotting (.32 to .40) with the basis set beside them (.31), archives (.47).

An archive is what a program hands to NBO, in sections from `$NAME` to `$END`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..base.errors import FileError
from ..files.plain import PlainFile, name_within
from ..files.reading import check_room, numbers_in_text
from ..model.core_potentials import settled_charges
from ..model.elements import SYMBOLS
from ..model.units import angstrom, electronvolt
from ..model.wavefunction import Orbitals, Wavefunction, are_natural
from ._nbo.basis import HIGHEST, Basis, Primitives, shells_of, within_reach
from ._nbo.plot_files import (
    KINDS,
    SORTS,
    Block,
    heading_of,
    is_plot_file,
    read_basis,
    read_density,
    read_names,
    read_orbitals,
    symmetric,
    title_of,
)

DESCRIPTION = "NBO plot files and archives"
FIRST = (".37", ".39")
"""What of a job is read first: its bonds, then localised orbitals."""

PATTERNS = (*(f"*{suffix}" for suffix in dict.fromkeys((*FIRST, *KINDS))), "*.47", "*.31")
KIND = "wavefunction"

NAMES = {
    "PNAO": "pre-orthogonal natural atomic orbitals",
    "NAO": "natural atomic orbitals",
    "PNHO": "pre-orthogonal natural hybrid orbitals",
    "NHO": "natural hybrid orbitals",
    "PNBO": "pre-orthogonal natural bond orbitals",
    "NBO": "natural bond orbitals",
    "PNLMO": "pre-orthogonal natural localised molecular orbitals",
    "NLMO": "natural localised molecular orbitals",
    "MO": "molecular orbitals",
    "NO": "natural orbitals",
}

_PARENTS = {"PNAO": ".33", "PNHO": ".35", "PNBO": ".37", "PNLMO": ".39"}
"""Suffixes of the orthogonal orbitals that pre-orthogonal ones are shown for, whose occupancies and names they have."""

_NORM = 1e-4
"""Largest deviation of the norm of an orbital from 1."""

_WHOLE = 1e-3
"""Occupations that are so close to whole numbers are those: density matrices are printed to some seven digits."""

_SAME_DENSITY = 1e-4
"""Largest deviation of an element of a density matrix from that of the orbitals, in units of its largest element."""

_SAME_PLACE = 1e-3
"""Distance in bohr by which an atom of two files of one job may differ."""

_DEPENDENT = 1e-7
"""Eigenvalues of the overlap matrix below which functions depend on others."""

_WITHOUT_DENSITY = (
    "the occupancies of these orbitals alone do not make the density; put the archive of the job (.47) or its density "
    "matrix (.41, .42) beside the file"
)


def recognises(head: str) -> bool:
    """Whether the beginning of a file is that of an archive or of a plot file with its heading."""
    return head.lstrip().lower().startswith(MARK) or is_plot_file(head)


def read(path: Path) -> Wavefunction:
    """Read an archive, or orbitals with the basis set beside them."""
    return read_beside(path, path)


def others(path: Path) -> tuple[Path, ...]:
    """Files of the same job beside one of them."""
    return tuple(path.parent / name for suffix in (".31", *KINDS) for name in _names_beside(path, suffix))


def read_beside(path: Path, original: Path) -> Wavefunction:
    """The same of a plain copy of a file, the others of the job lying beside the original."""
    with path.open(encoding="utf-8", errors="replace") as stream:
        head = stream.read(4096)
    if head.lstrip().lower().startswith(MARK):
        return _of_archive(read_archive(path), original)
    try:
        kind = heading_of(head) or KINDS.get(Path(name_within(original.name).lower()).suffix)
    except FileError as error:
        raise FileError(f"{original.name}: {error}") from error
    if kind not in NAMES:
        others = [name for suffix, what in KINDS.items() if what in NAMES for name in _names_beside(original, suffix)]
        listed = f"; beside it are {', '.join(others)}" if others else ""
        what = "a basis set" if kind == "basis" else "a density matrix" if kind else "neither orbitals nor an archive"
        raise FileError(
            f"{original.name}: holds {what}; the orbitals of an NBO job are in its files .32 to .40 and .47{listed}"
        )
    return _Job(original).orbitals(path, kind)


class _Job:
    """The files of one job that lie beside each other."""

    def __init__(self, original: Path) -> None:
        self.original = original
        self.remarks: list[str] = []
        archive = self._supplement(".47", read_archive)
        basis = self._first(".31", read_basis)
        if basis is None and archive is not None:
            basis = archive.basis
        if basis is None:
            stem = Path(name_within(original.name)).stem
            raise FileError(
                f"{original.name}: holds coefficients only; their basis set is in {stem}.31 (or the archive "
                f"{stem}.47), which is not beside it. PLOT in $NBO writes it"
            )
        self.basis = basis
        self.archive = archive if archive is not None and _is_same(basis, archive.basis) else None
        if self.archive is not None:  # whose overlaps told the signs
            self.basis = self.archive.basis
        if archive is not None and self.archive is None:
            self.remarks.append("the archive (.47) beside it is of another job, and is not used")

    def _first(self, suffix: str, reader: Callable[[Path], Found]) -> Found | None:
        """What the first file of the job with a suffix holds; None where there is none."""
        for name in _names_beside(self.original, suffix):
            with PlainFile(self.original.parent / name) as plain:
                return reader(plain.path)
        return None

    def _supplement(self, suffix: str, reader: Callable[[Path], Found]) -> Found | None:
        """The same of a file that can be done without."""
        try:
            return self._first(suffix, reader)
        except FileError as error:
            self.remarks.append(f"not used: {error}")
            return None

    def orbitals(self, path: Path, kind: str) -> Wavefunction:
        basis, name = self.basis, self.original.name
        blocks = read_orbitals(path, len(basis))
        overlap = basis.overlap()
        choices = [one for one in (basis, basis.with_signs_of_orca()) if one is basis or self.archive is None]
        basis = min(
            choices, key=lambda one: _deviation([one.of_orbitals(block.coefficients) for block in blocks], overlap)
        )
        coefficients = [basis.of_orbitals(block.coefficients) for block in blocks]
        for those in coefficients:
            norms = np.einsum("mi,mi->i", those, overlap @ those)
            worst = int(np.argmax(np.abs(norms - 1)))
            if not abs(norms[worst] - 1) <= _NORM:
                raise FileError(
                    f"{name}: orbital {worst + 1} has norm {norms[worst]:.5f} in the basis set beside it, expected 1: "
                    f"the basis set is that of another job{self._titles(path)}, or its functions are in no known order"
                )
        densities = self._densities(basis, overlap)
        named = self._named(kind, blocks, densities, basis)
        sets = []
        for n, (block, those) in enumerate(zip(named, coefficients, strict=True)):
            occupations = block.occupations
            if kind not in _PARENTS:
                occupations = _occupations(block, _for_each(densities, len(blocks))[n], basis)
            focks = self.archive.focks if self.archive else []
            energies = _diagonal(focks[n], those) if len(focks) == len(blocks) and kind not in _PARENTS else np.empty(0)
            sets.append(
                Orbitals(those, occupations if len(occupations) else np.zeros(len(those.T)), energies, (), block.labels)
            )
        return _wavefunction(basis, sets, densities, self.original, kind, tuple(self.remarks), kind in _PARENTS)

    def _named(self, kind: str, blocks: list[Block], densities: list[Reals], basis: Basis) -> list[Block]:
        """The orbitals with occupancies and names, which may be in other files of the job."""
        names = self._supplement(".46", read_names) or {}
        return [
            block
            if block.labels
            or len(names.get((SORTS.get(kind.removeprefix("P"), ""), spin), ())) != len(block.coefficients.T)
            else replace(block, labels=names[SORTS[kind.removeprefix("P")], spin])
            for spin, block in enumerate(self._with_parents(kind, blocks, densities, basis))
        ]

    def _with_parents(self, kind: str, blocks: list[Block], densities: list[Reals], basis: Basis) -> list[Block]:
        """The orbitals with what is known of those that they go with."""
        parent = _PARENTS.get(kind) or (".37" if kind == "NLMO" else None)
        if parent is None or all(len(block.labels) and len(block.occupations) for block in blocks):
            return blocks
        theirs = self._supplement(parent, lambda path: read_orbitals(path, len(self.basis)))
        if theirs is None or [block.coefficients.shape for block in theirs] != [
            one.coefficients.shape for one in blocks
        ]:
            return blocks
        pairs = zip(blocks, theirs, strict=True)
        if kind == "NLMO":  # they have the names of the bonds that they come from, not their occupancies
            return [replace(mine, labels=mine.labels or other.labels) for mine, other in pairs]
        return [
            replace(mine, labels=other.labels, occupations=_occupations(other, matrix, basis))
            for (mine, other), matrix in zip(pairs, _for_each(densities, len(blocks)), strict=True)
        ]

    def _densities(self, basis: Basis, overlap: Reals) -> list[Reals]:
        """The density matrix, or that of each spin, in our order; none where no file of the job has it."""
        if self.archive is not None and self.archive.densities:
            return self.archive.densities
        found = [self._supplement(suffix, lambda path: read_density(path, len(basis))) for suffix in (".42", ".41")]
        matrices = [basis.of_matrix(matrix) for matrix in found[0] or found[1] or []]
        electrons = sum(float(np.sum(matrix * overlap)) for matrix in matrices)
        if abs(electrons - round(electrons)) > _WHOLE * max(10.0, electrons):
            self.remarks.append(f"not used: the density matrix beside it, which holds {electrons:.4f} electrons")
            return []
        return matrices

    def _titles(self, path: Path) -> str:
        own = title_of(path.read_text(encoding="utf-8", errors="replace")[:600])
        return f" ('{self.basis.title}', not '{own}')" if own and own != self.basis.title else ""


def _names_beside(original: Path, suffix: str) -> list[str]:
    """Files of the same job with another suffix, in small or capital letters, compressed or not."""
    wanted = (Path(name_within(original.name)).stem + suffix).lower()
    try:
        return sorted(path.name for path in original.parent.iterdir() if name_within(path.name).lower() == wanted)
    except OSError:  # a folder whose files can be read, but not be listed
        return []


def _is_same(one: Basis, other: Basis) -> bool:
    return (
        np.array_equal(one.numbers, other.numbers)
        and np.array_equal(one.order, other.order)
        and len(one.shells) == len(other.shells)
        and bool(np.abs(one.positions - other.positions).max() < _SAME_PLACE)
    )


def _for_each(densities: list[Reals], n_sets: int) -> list[Reals]:
    """The density matrix that goes with each set of orbitals; empty ones where there is none."""
    if not densities:
        return [np.empty(0)] * n_sets
    return densities if len(densities) == n_sets else [_total(densities)] * n_sets


def _occupations(block: Block, density: Reals, basis: Basis) -> Reals:
    """Those of the file, or of a density matrix; none where there is neither."""
    if len(block.occupations) or not density.size:
        return block.occupations
    return _whole(_diagonal(density, basis.overlap() @ basis.of_orbitals(block.coefficients)))


def _total(densities: list[Reals]) -> Reals:
    """Density matrix of both spins; empty where there is none."""
    return np.sum(densities, axis=0) if densities else np.empty((0, 0))


def _deviation(sets: list[Reals], overlap: Reals) -> float:
    """How far orbitals are from orthonormal, in the mean."""
    return sum(float(np.abs(those.T @ overlap @ those - np.eye(len(those.T))).mean()) for those in sets)


def _diagonal(matrix: Reals, vectors: Reals) -> Reals:
    """Of V^T M V."""
    return np.einsum("mi,mi->i", vectors, matrix @ vectors)


def _whole(occupations: Reals) -> Reals:
    """Whole numbers where all are so close to them that they were."""
    rounded = np.round(occupations)
    return rounded if np.abs(occupations - rounded).max(initial=0) <= _WHOLE else occupations


def _is_absurd(energies: Reals, basis: Basis) -> bool:
    """Whether an energy is lower than an electron can have at the heaviest nucleus."""
    return bool(energies.min() < -(0.6 * float(basis.numbers.max()) ** 2 + 5))


def _of_archive(archive: Archive, path: Path) -> Wavefunction:
    """The molecular orbitals of an archive; where it has none, those of its Fock or density matrix."""
    overlap, densities, focks = archive.overlap, archive.densities, archive.focks
    orbitals, kind = archive.orbitals, "MO"
    remarks: tuple[str, ...] = ()
    n_sets = 2 if archive.open_shell else 1
    values, axes = np.linalg.eigh(overlap)
    root = axes[:, values > _DEPENDENT] / np.sqrt(values[values > _DEPENDENT])
    solved = [np.linalg.eigh(root.T @ fock @ root) for fock in focks]
    if any(_is_absurd(energies, archive.basis) for energies, _ in solved):
        focks, remarks = [], ("its Fock matrix is not used: an electron would lie lower than any can",)
    if not orbitals:
        if focks:
            remarks = ("the archive has no orbitals ($LCAOMO): these are the eigenvectors of its Fock matrix",)
            orbitals = [root @ vectors for _, vectors in solved]
        elif densities:
            remarks += ("the archive has no orbitals ($LCAOMO): these are the natural ones of its density matrix",)
            kind, there = "NO", overlap @ root
            orbitals = [root @ np.linalg.eigh(there.T @ matrix @ there)[1][:, ::-1] for matrix in densities]
        else:
            raise FileError(
                f"{path.name}: this archive has no $LCAOMO, $FOCK or $DENSITY that orbitals could be had from"
            )
    if len(orbitals) < n_sets:
        orbitals = orbitals * n_sets
    sets = []
    for n, those in enumerate(orbitals):
        occupations = _whole(_diagonal(densities[n], overlap @ those)) if densities else np.zeros(those.shape[1])
        sets.append(Orbitals(those, occupations, _diagonal(focks[n], those) if focks else np.empty(0)))
    return _wavefunction(archive.basis, sets, densities, path, kind, remarks)


def _wavefunction(
    basis: Basis,
    sets: list[Orbitals],
    densities: list[Reals],
    path: Path,
    kind: str,
    remarks: tuple[str, ...],
    overlapping: bool = False,
) -> Wavefunction:
    electrons = float(sum(orbitals.occupations.sum() for orbitals in sets))
    charges, assumed = basis.charges, tuple[str, ...]()
    if electrons > 0:
        charges, assumed = settled_charges(basis.numbers, [basis.charges], electrons)
    total = _total(densities)
    made = _total([(one.coefficients * one.occupations) @ one.coefficients.T for one in sets])
    enough = bool(total.size) and float(np.abs(made - total).max()) <= _SAME_DENSITY * float(np.abs(total).max())
    whole = all(np.array_equal(one.occupations, np.round(one.occupations)) for one in sets)
    kept = bool(total.size) and not enough and electrons > 0
    return Wavefunction(
        atomic_numbers=basis.numbers,
        positions=basis.positions,
        core_charges=charges,
        shells=basis.shells,
        alpha=sets[0],
        beta=sets[1] if len(sets) > 1 else None,
        natural=kind != "MO" and not whole and all(are_natural(one.occupations) for one in sets),
        title=basis.title,
        source=str(path),
        program="nbo",
        method=NAMES[kind],
        density_matrix=total if kept else np.empty(0),
        spin_density_matrix=densities[0] - densities[1] if kept and len(densities) > 1 else np.empty(0),
        overlapping=overlapping,
        unordered=kind not in ("MO", "NO"),
        density_missing="" if enough or kept or (whole and kind in ("MO", "NO", "NLMO")) else _WITHOUT_DENSITY,
        remarks=(*assumed, *remarks),
    )


MARK = "$gennbo"

_COUNT = re.compile(r"\b(NATOMS|NBAS)\s*=\s*(\d{1,9})", re.IGNORECASE)
_LISTS = re.compile(r"\b([A-Z]+)\s*=\s*([^=$]*?)(?=\s*\b[A-Z]+\s*=|\s*$)", re.IGNORECASE)
_OVERLAP = 1e-3
"""Largest deviation of the overlaps in the file from those of its basis set: some programs write six digits of its
exponents."""


@dataclass(frozen=True, eq=False)
class Archive:
    """An archive; matrices in our order and norms of the basis functions.

    Attributes
    ----------
    basis : Basis
    overlap : ndarray, shape (n_basis, n_basis)
        Of the basis functions.
    densities : list of ndarray, shape (n_basis, n_basis)
        Density matrix, or one of each spin; empty where the file has none.
    focks : list of ndarray, shape (n_basis, n_basis)
        Fock matrices in hartree, likewise.
    orbitals : list of ndarray, shape (n_basis, n_orbitals)
        Coefficients of the molecular orbitals, likewise.
    open_shell : bool
        Whether there are two spins.
    """

    basis: Basis
    overlap: Reals
    densities: list[Reals]
    focks: list[Reals]
    orbitals: list[Reals]
    open_shell: bool


def read_archive(path: Path) -> Archive:
    """Read an archive.

    Raises
    ------
    FileError
        When it is damaged, lacks the basis set, or its overlaps are not those of the basis set.
    """
    name, sections = path.name, _sections(path)
    head = sections.get("GENNBO", "")
    options = set(re.sub(r"\S+\s*=\s*\d+", " ", head).upper().split())
    counts = {key.upper(): int(value) for key, value in _COUNT.findall(head)}
    n_atoms, n = counts.get("NATOMS", 0), counts.get("NBAS", 0)
    for number, what in ((n_atoms, "NATOMS"), (n, "NBAS")):
        if number < 1:
            raise FileError(f"{name}: expected {what} in $GENNBO, got none")
        check_room(name, number, path.stat().st_size, 2, what)
    for section in ("COORD", "BASIS", "CONTRACT"):
        if section not in sections:
            raise FileError(f"{name}: this archive has no ${section}, so its basis set is not known")
    if "ORTHO" in options:
        raise FileError(f"{name}: its basis functions are orthogonal ones (ORTHO), which cannot be drawn")
    basis = _basis(name, sections, n_atoms, n, 1.0 if "BOHR" in options else angstrom)
    if "CUBICF" in options and any(shell.angular_momentum == 3 and shell.pure for shell in basis.shells):
        raise FileError(f"{name}: cubic f functions (CUBICF) are not supported")

    ours = basis.overlap()
    values = {
        key: _numbers(name, key, sections[key]) for key in ("OVERLAP", "DENSITY", "FOCK", "LCAOMO") if key in sections
    }
    open_shell, norms = "OPEN" in options, np.ones(n)
    if "OVERLAP" in values:
        overlap = symmetric(values["OVERLAP"], n, name, "$OVERLAP")
        candidates = basis, basis.with_signs_of_orca()
        basis = min(candidates, key=lambda one: float(np.abs(one.of_matrix(overlap) - ours).max()))
        norms = _norms(name, ours, basis.of_matrix(overlap))

    def matrices(key: str, scale: Reals) -> list[Reals]:
        if key not in values:
            return []
        parts = np.array_split(values[key], 2) if open_shell else [values[key]]
        return [basis.of_matrix(symmetric(part, n, name, f"${key}")) * np.outer(scale, scale) for part in parts]

    densities = matrices("DENSITY", norms)
    if "BODM" not in options and densities:  # its elements are then <i|rho|j>
        inverse = np.linalg.pinv(ours, hermitian=True)
        densities = [inverse @ (matrix / np.outer(norms, norms) ** 2) @ inverse for matrix in densities]
    unit = electronvolt if "EV" in options else 1.0
    focks = [unit * matrix for matrix in matrices("FOCK", 1 / norms)]
    found = _orbitals(name, values.get("LCAOMO"), n, open_shell)
    orbitals = [basis.of_orbitals(those) * norms[:, None] for those in found]
    return Archive(basis, ours, densities, focks, orbitals, open_shell)


def _sections(path: Path) -> dict[str, str]:
    text = path.read_text(encoding="utf-8", errors="replace")
    found: dict[str, str] = {}
    at = 0
    while (begin := text.find("$", at)) >= 0:
        word = re.match(r"\$(\w+)", text[begin : begin + 40])
        if word is None or word[1].upper() == "END":
            at = begin + 1
            continue
        end = re.compile(r"\$END\b", re.IGNORECASE).search(text, begin)
        if end is None:
            raise FileError(f"{path.name}: ${word[1]} has no $END: the file is cut off")
        found.setdefault(word[1].upper(), text[begin + len(word[0]) : end.start()])
        at = end.end()
    return found


def _numbers(name: str, key: str, text: str) -> Reals:
    return numbers_in_text(text.replace(",", " ").encode(), f"{name}, ${key}", 1)


def _basis(name: str, sections: dict[str, str], n_atoms: int, n: int, unit: float) -> Basis:
    title, _, rows = sections["COORD"].lstrip(" \t").removeprefix("\n").partition("\n")
    atoms = numbers_in_text(rows.encode(), f"{name}, $COORD", 1)
    if len(atoms) != 5 * n_atoms:
        raise FileError(f"{name}: expected {n_atoms} atoms with numbers, charges and coordinates in $COORD")
    atoms = atoms.reshape(-1, 5)
    if np.any(atoms[:, 0] != np.round(atoms[:, 0])) or not -1 <= atoms[:, 0].max() < len(SYMBOLS):
        raise FileError(f"{name}: expected atomic numbers below {len(SYMBOLS)}, got {atoms[:, 0].max():g}")
    functions, contract = _lists(name, sections["BASIS"]), _lists(name, sections["CONTRACT"])
    for key in ("CENTER", "LABEL"):
        if len(functions.get(key, ())) != n:
            raise FileError(f"{name}: expected {n} numbers {key} in $BASIS, got {len(functions.get(key, ()))}")
    n_shells, n_primitives = (
        int(contract[key][0]) if len(contract.get(key, ())) == 1 else 0 for key in ("NSHELL", "NEXP")
    )
    components, counts, begins = (_whole_numbers(name, contract, key, n_shells) for key in ("NCOMP", "NPRIM", "NPTR"))
    letters = [f"C{letter}" for letter in "SPDFGHI"[: HIGHEST + 1]]
    lists = [contract.get(key, np.zeros(n_primitives)) for key in ("EXP", *letters)]
    if (
        n_primitives < 1
        or any(len(one) != n_primitives for one in lists)
        or sum(components) != n
        or min(components) < 1
    ):
        raise FileError(f"{name}: the lists in $CONTRACT are not those of {n_shells} shells, {n_primitives} primitives")
    ends = np.cumsum(components)
    centres, labels = _whole_numbers(name, functions, "CENTER", n), _whole_numbers(name, functions, "LABEL", n)
    of_shells = [slice(int(end) - count, int(end)) for end, count in zip(ends, components, strict=True)]
    if any(len(set(centres[those])) != 1 for those in of_shells):
        raise FileError(f"{name}: a shell of $CONTRACT has functions on several atoms in $BASIS")
    shells, order = shells_of(
        name,
        [centres[those][0] for those in of_shells],
        [labels[those] for those in of_shells],
        list(zip(begins, counts, strict=True)),
        Primitives(lists[0], lists[1:]),
        n_atoms,
    )
    numbers = np.maximum(atoms[:, 0], 0).astype(np.int64)
    return Basis(
        title.strip(), numbers, atoms[:, 1], within_reach(name, atoms[:, 2:] * unit), shells, order, np.ones(n)
    )


def _lists(name: str, text: str) -> dict[str, Reals]:
    return {key.upper(): numbers_in_text(values.encode(), f"{name}, {key}", 1) for key, values in _LISTS.findall(text)}


def _whole_numbers(name: str, lists: dict[str, Reals], key: str, n: int) -> list[int]:
    found = lists.get(key, np.empty(0))
    if len(found) != n or n < 1 or np.any(found != np.round(found)) or np.abs(found).max() > 1e9:
        raise FileError(f"{name}: expected {n} whole numbers {key}, got {len(found)} numbers")
    return [int(value) for value in found]


def _norms(name: str, ours: Reals, theirs: Reals) -> Reals:
    """Roots of the squares of the functions of the file with themselves, once its overlaps are seen to be ours."""
    squares = np.diagonal(theirs)
    if not np.all(squares > 0):
        raise FileError(f"{name}: $OVERLAP has a basis function without a norm")
    norms = np.sqrt(squares)
    deviation = np.abs(theirs / np.outer(norms, norms) - ours)
    if not deviation.max() <= _OVERLAP:
        i, j = np.unravel_index(int(deviation.argmax()), deviation.shape)
        raise FileError(
            f"{name}: the overlap of two basis functions is {ours[i, j]:.5f} by $BASIS and $CONTRACT, and "
            f"{theirs[i, j] / norms[i] / norms[j]:.5f} by $OVERLAP: order, signs or norms of its "
            "functions are unknown"
        )
    return norms


def _orbitals(name: str, values: Reals | None, n: int, open_shell: bool) -> list[Reals]:
    """Coefficients, one orbital after the other; those of functions that depend on others are zeros, and left out."""
    if values is None:
        return []
    parts = np.array_split(values, 2) if open_shell and len(values) % (2 * n) == 0 else [values]
    if any(len(part) % n or not 0 < len(part) <= n * n for part in parts):
        raise FileError(f"{name}: $LCAOMO has {len(values)} numbers, expected {n} of each orbital")
    matrices = [part.reshape(-1, n).T for part in parts]
    return [matrix[:, np.abs(matrix).max(axis=0) > 0] for matrix in matrices]


Reals = NDArray[np.float64]

Found = TypeVar("Found")
