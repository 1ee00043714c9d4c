r"""Files of the NBO program: orbitals for plotting (.32 to .40) with the basis set beside them (.31), archives (.47).

The layout is that of the NBO manual (E. D. Glendening, J. K. Badenhoop, A. E. Reed, J. E. Carpenter, J. A. Bohmann,
C. M. Morales, P. Karafiloglou, C. R. Landis and F. Weinhold, NBO 7.0, University of Wisconsin, Madison, 2018): sections
"The FILE47 archive" and "PLOT". An archive is what a program hands to NBO, in sections from `$NAME` to `$END`.

A basis set: title; a heading; numbers of atoms, shells and primitives; atoms in Angstrom; of each shell its atom, how
many functions and primitives it has and where these begin, and the labels of the functions; exponents; coefficients of
s, p, d, ... functions, one for each primitive.

A label is 100 l + m: :math:`m \le 50` a monomial of degree l, in alphabetical order from 1 on (101 x, 201 xx, 202 xy),
and :math:`m > 50` a real solid harmonic. Those of d come as xy, xz, yz, x2-y2, z2, those from f on as c0, c1, s1, c2,
s2, ... in the names of `orbitile.model.conventions`, with the same signs. ORCA's harmonics with m = 3 and 4 have the
other sign, and so in what it hands to NBO; the overlaps tell which signs a job has. Contraction coefficients carry the
norms of their primitives, up to a factor that depends on l and on the program that wrote them. All functions of NBO are
normalised, so that this factor follows.

A matrix of coefficients: title; a heading that says which orbitals in which basis; coefficients of one orbital after
the other in rows of five; where there are two spins, each after a line with its name. In those of NBOs and NLMOs the
occupancies follow, and lists that say what each orbital is. Files of NBO 3 may lack title and heading.

The label file (.46) of NBO 6 and 7: after a line with the sort of the orbitals, their spin where there are two, and
their number, names follow in columns of ten characters: `Li 1(cr)`, `Li 1- H 2`, `Li 1- H 2*`, ` H 2( 1s )`. Core
orbitals, lone pairs and bonds are given the names that NBO prints: `CR (1) Li 1`, `BD (1) Li 1 - H 2`, `BD*(1) Li 1 -
H 2`, numbered by the atoms that they are on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Indices, Reals
from ..base.errors import FileError
from ..files.plain import PlainFile, name_within
from ..files.reading import check_room, numbers_in_text
from ..gaussians.overlap import shell_overlap
from ..model.conventions import ANGULAR_MOMENTUM_LETTERS, component_names, radial_normalization
from ..model.core_potentials import settled_charges
from ..model.elements import SYMBOLS
from ..model.geometry import FARTHEST
from ..model.units import angstrom, electronvolt
from ..model.wavefunction import EXPONENTS, Orbitals, Shell, Wavefunction, are_natural
from ._contractions import norm_of

Found = TypeVar("Found")

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
    lines = head.splitlines()[:6]
    is_plot_file = any(BASIS_HEADING in line.lower() or _DENSITY.match(line) or _HEADING.match(line) for line in lines)
    return is_plot_file or head.lstrip().lower().startswith(MARK)


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
        expected = "the orbitals of an NBO job are in its files .32 to .40 and .47"
        raise FileError(f"{original.name}: holds {what}; {expected}{listed}")
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
                f"{original.name}: holds coefficients only; put the basis set {stem}.31, which PLOT in $NBO writes, or "
                f"the archive {stem}.47 beside it"
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
                    f"that is of another job{self._titles(path)}, or its functions are in no known order"
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
        shapes = [[block.coefficients.shape for block in some] for some in (blocks, theirs or [])]
        if theirs is None or shapes[0] != shapes[1]:
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
            raise FileError(f"{path.name}: expected orbitals in this archive ($LCAOMO, $FOCK or $DENSITY), got none")
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
_NAMED_LISTS = re.compile(r"\b([A-Z]+)\s*=\s*([^=$]*?)(?=\s*\b[A-Z]+\s*=|\s*$)", re.IGNORECASE)
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
    basis = _basis_of_archive(name, sections, n_atoms, n, 1.0 if "BOHR" in options else angstrom)
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
    found = _orbitals_of_archive(name, values.get("LCAOMO"), n, open_shell)
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


def _basis_of_archive(name: str, sections: dict[str, str], n_atoms: int, n: int, unit: float) -> Basis:
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
    are_whole = n_primitives > 0 and all(len(one) == n_primitives for one in lists)
    if not are_whole or sum(components) != n or min(components) < 1:
        raise FileError(f"{name}: the lists in $CONTRACT are not those of {n_shells} shells, {n_primitives} primitives")
    ends = np.cumsum(components)
    centres, labels = _whole_numbers(name, functions, "CENTER", n), _whole_numbers(name, functions, "LABEL", n)
    of_shells = [slice(int(end) - count, int(end)) for end, count in zip(ends, components, strict=True)]
    if any(len(set(centres[those])) != 1 for those in of_shells):
        raise FileError(f"{name}: a shell of $CONTRACT has functions on several atoms in $BASIS")
    ranges, atom_of_each = list(zip(begins, counts, strict=True)), [centres[those][0] for those in of_shells]
    shells, order = shells_of(name, atom_of_each, [labels[those] for those in of_shells], ranges, lists, n_atoms)
    numbers = np.maximum(atoms[:, 0], 0).astype(np.int64)
    positions = within_reach(name, atoms[:, 2:] * unit)
    return Basis(title.strip(), numbers, atoms[:, 1], positions, shells, order, np.ones(n))


def _lists(name: str, text: str) -> dict[str, Reals]:
    return {
        key.upper(): numbers_in_text(values.encode(), f"{name}, {key}", 1) for key, values in _NAMED_LISTS.findall(text)
    }


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
            f"{name}: the overlap of two basis functions is {ours[i, j]:.5f} by $BASIS and $CONTRACT, but "
            f"{theirs[i, j] / norms[i] / norms[j]:.5f} by $OVERLAP: order, signs or norms of its functions are unknown"
        )
    return norms


def _orbitals_of_archive(name: str, values: Reals | None, n: int, open_shell: bool) -> list[Reals]:
    """Coefficients, one orbital after the other; those of functions that depend on others are zeros, and left out."""
    if values is None:
        return []
    parts = np.array_split(values, 2) if open_shell and len(values) % (2 * n) == 0 else [values]
    if any(len(part) % n or not 0 < len(part) <= n * n for part in parts):
        raise FileError(f"{name}: $LCAOMO has {len(values)} numbers, expected {n} of each orbital")
    matrices = [part.reshape(-1, n).T for part in parts]
    return [matrix[:, np.abs(matrix).max(axis=0) > 0] for matrix in matrices]


# ---- files for plotting


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
                remedy = f"write AO{found[1]}=W in $NBO"
                raise FileError(f"holds {found[1]}s in the {found[2]} basis, expected those in the AO basis ({remedy})")
            return found[1].upper()
    return None


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
        expected = f"exponents and coefficients of {n_primitives} primitives"
        raise FileError(f"{name}: expected {expected}, got {len(values)} numbers")
    lists = list(values.reshape(-1, n_primitives))
    words = _integers(parts[3], name)
    atom_of_each, labels, ranges, at = list[int](), list[list[int]](), list[tuple[int, int]](), 0
    for _ in range(n_shells):
        head = words[at : at + 4]
        if len(head) < 4 or head[1] < 1 or at + 4 + head[1] > len(words):
            raise FileError(f"{name}: expected {n_shells} shells with the labels of their functions, got {len(labels)}")
        atom_of_each.append(head[0])
        labels.append(words[at + 4 : at + 4 + head[1]])
        ranges.append((head[2], head[3]))
        at += 4 + head[1]
    if at != len(words):
        raise FileError(f"{name}: expected {n_shells} shells, got more")
    shells, order = shells_of(name, atom_of_each, labels, ranges, lists, n_atoms)
    positions = within_reach(name, atoms[:, 1:] * angstrom)
    return Basis(title_of(text), numbers, numbers.astype(float), positions, shells, order, np.ones(len(order)))


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
        expected = f"{n * (n + 1) // 2} or {n * n} elements for {n} basis functions"
        raise FileError(f"{name}: {what}: expected {expected}, got {len(values)}")
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
        expected = f"orbitals over the {n_basis} basis functions beside it"
        raise FileError(f"{name}: expected {expected}, got {len(values)} numbers: cut off, or of another job")
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
    symbols = [SYMBOLS[number if 0 < number < len(SYMBOLS) else 0] for number in numbers]
    for orbital, at in enumerate(place):
        atoms = [atom for atom in (first[at - 1], second[at - 1], third[at - 1]) if atom]
        if len(atoms) != counts[orbital] or any(not 0 < atom <= len(numbers) for atom in atoms):
            return ()
        kind, star = lists[2][at - 1], lists[3][at - 1] or " "
        on = " - ".join(f"{symbols[atom - 1]} {atom}" for atom in atoms)
        labels.append(f"{kind}{star}({serial[at - 1]}) {on}")
    return tuple(labels)


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


# ---- the basis set

HIGHEST = 6
"""Largest angular momentum that NBO has labels for."""

_PURE_D = ("s2", "c1", "s1", "c2", "c0")

_FIRST_PURE = 50


@dataclass(frozen=True, eq=False)
class Basis:
    """The basis set of a job.

    Attributes
    ----------
    title : str
    numbers : ndarray of int, shape (n_atoms,)
        Atomic numbers; 0 for a ghost.
    charges : ndarray, shape (n_atoms,)
        What the electrons see, as the file has it.
    positions : ndarray, shape (n_atoms, 3)
        In bohr.
    shells : tuple of Shell
        In the order of the file.
    order : ndarray of int, shape (n_basis,)
        Which function of the file each of ours is.
    signs : ndarray, shape (n_basis,)
        Factors of ours: 1, or -1.
    """

    title: str
    numbers: NDArray[np.int64]
    charges: Reals
    positions: Reals
    shells: tuple[Shell, ...]
    order: Indices
    signs: Reals

    def __len__(self) -> int:
        return len(self.order)

    def of_orbitals(self, coefficients: Reals) -> Reals:
        """Coefficients in the order of the file, shape (n_basis, n_orbitals), as ours."""
        return coefficients[self.order] * self.signs[:, None]

    def of_matrix(self, matrix: Reals) -> Reals:
        """A matrix over the functions of the file as one over ours."""
        return matrix[np.ix_(self.order, self.order)] * np.outer(self.signs, self.signs)

    def with_signs_of_orca(self) -> Basis:
        """The same functions with those of ORCA."""
        names = [name for shell in self.shells for name in component_names(shell.angular_momentum, shell.pure)]
        return replace(self, signs=np.array([-1.0 if name[1:] in ("3", "4") else 1.0 for name in names]))

    def overlap(self) -> Reals:
        """Overlap of its functions, in our order."""
        found = shell_overlap(self.shells, self.positions, self.shells, self.positions)
        return found if isinstance(found, np.ndarray) else np.asarray(found.todense())


def within_reach(name: str, positions: Reals) -> Reals:
    """Positions in bohr, which are finite.

    Raises
    ------
    FileError
        When they are not, or beyond all molecules.
    """
    farthest = np.abs(positions).max(initial=0.0)
    if not farthest <= FARTHEST:
        raise FileError(f"{name}: expected coordinates of atoms up to {FARTHEST:g} bohr, got {farthest:g}")
    return positions


def component_of(label: int, name: str) -> tuple[int, bool, str]:
    """Angular momentum, whether pure, and our name of the component that a label stands for.

    Raises
    ------
    FileError
        When there is no such label.
    """
    l, place = divmod(label, 100)
    pure = place > _FIRST_PURE
    place -= _FIRST_PURE * pure + 1
    names = component_names(l, pure) if 0 <= l <= HIGHEST else ()
    if pure and l == 2:
        names = _PURE_D
    if not 0 <= place < len(names):
        raise FileError(f"{name}: {label} is no label of a basis function (1, 101 to 103, 201 to 206, 251 to 255, ...)")
    return l, pure and l > 1, names[place]


def shells_of(
    name: str,
    atoms: Sequence[int],
    labels: Sequence[Sequence[int]],
    ranges: Sequence[tuple[int, int]],
    primitives: Sequence[Reals],
    n_atoms: int,
) -> tuple[tuple[Shell, ...], Indices]:
    """Shells, and which function of the file each of our functions is.

    Parameters
    ----------
    name
        Of the file, for messages.
    atoms
        Of each shell of the file, from 1.
    labels
        Of the functions of each; those of s and p may share a shell.
    ranges
        First primitive, from 1, and number of primitives of each.
    primitives : sequence of ndarray, shape (n,)
        What the ranges point into: exponents in bohr^-2, then contraction coefficients of functions with l = 0, 1, ...
    n_atoms
        In the molecule.

    Raises
    ------
    FileError
        When a shell lacks a component, or points beyond the atoms or the primitives.
    """
    made: list[tuple[int, int, bool, Reals, Reals]] = []
    order: list[int] = []
    incomplete: dict[tuple[int, int, bool, bytes], list[dict[str, int]]] = {}  # by their primitives
    first = 0
    for number, (atom, of_shell, (begin, count)) in enumerate(zip(atoms, labels, ranges, strict=True), 1):
        if not 1 <= atom <= n_atoms:
            raise FileError(f"{name}: shell {number} is on atom {atom}, expected one from 1 to {n_atoms}")
        if not (begin >= 1 and count >= 1 and begin - 1 + count <= len(primitives[0])):
            got = f"{begin} to {begin + count - 1}, expected some of 1 to {len(primitives[0])}"
            raise FileError(f"{name}: shell {number} has primitives {got}")
        chosen = slice(begin - 1, begin - 1 + count)
        components = [component_of(label, name) for label in of_shell]
        for l, pure in dict.fromkeys((l, pure) for l, pure, _ in components):
            place = {text: first + n for n, (k, p, text) in enumerate(components) if (k, p) == (l, pure)}
            ours = component_names(l, pure)
            if len(components) != len(set(components)):
                raise FileError(f"{name}: shell {number} has a function twice: {list(of_shell)}")
            if l + 1 >= len(primitives):
                raise FileError(f"{name}: no contraction coefficients of {ANGULAR_MOMENTUM_LETTERS[l]} functions")
            exponents, coefficients = primitives[0][chosen], primitives[l + 1][chosen]
            if len(place) < len(ours):  # OpenMolcas writes each component as a shell
                key = atom, l, pure, exponents.tobytes() + coefficients.tobytes()
                place = _joined(incomplete.setdefault(key, []), place)
            if len(place) == len(ours):
                order += [place[text] for text in ours]
                made.append((atom - 1, l, pure, exponents, coefficients))
        first += len(components)
    if len(order) < first:
        for (_, l, pure, _), shells in incomplete.items():
            if any(len(shell) < len(component_names(l, pure)) for shell in shells):
                raise FileError(f"{name}: a shell has no full set of {ANGULAR_MOMENTUM_LETTERS[l]} functions")
    return _normalised_shells(name, made), np.array(order, np.intp)


def _joined(shells: list[dict[str, int]], place: dict[str, int]) -> dict[str, int]:
    """The first shell of the same primitives that lacks some components, once it has them."""
    for shell in shells:
        if not place.keys() & shell.keys():
            shell.update(place)
            return shell
    shells.append(dict(place))
    return shells[-1]


def _normalised_shells(name: str, made: list[tuple[int, int, bool, Reals, Reals]]) -> tuple[Shell, ...]:
    """Shells whose functions have the norm 1, whichever way the file has its coefficients."""
    least, most = EXPONENTS
    if any(not np.all((exponents >= least) & (exponents <= most)) for _, _, _, exponents, _ in made):
        raise FileError(f"{name}: expected exponents from {least:g} to {most:g} bohr^-2")
    with_norms = [coefficients / radial_normalization(zeta, l) for _, l, _, zeta, coefficients in made]
    without = [coefficients for _, _, _, _, coefficients in made]
    contracted = [n for n, (_, l, _, zeta, _) in enumerate(made) if l < 2 and len(zeta) > 1]

    def mistake(found: list[Reals]) -> float:
        return sum(abs(norm_of(made[n][3], found[n], made[n][1]) - 1) for n in contracted)

    chosen = with_norms if mistake(with_norms) <= mistake(without) else without
    shells = []
    for (atom, l, pure, zeta, _), coefficients in zip(made, chosen, strict=True):
        norm = norm_of(zeta, coefficients, l)
        if not (np.isfinite(norm) and norm > 0):
            raise FileError(f"{name}: the contraction coefficients of a function on atom {atom + 1} are damaged")
        shells.append(Shell(atom, l, pure, zeta, coefficients / np.sqrt(norm)))
    return tuple(shells)
