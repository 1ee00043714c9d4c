"""Files of the NBO program: orbitals for plotting (.32 to .40) with the basis set beside them (.31), archives (.47)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError
from ..files.plain import PlainFile, name_within
from ..model.core_potentials import settled_charges
from ..model.wavefunction import Orbitals, Wavefunction, are_natural
from ._nbo.archive import MARK, Archive, read_archive
from ._nbo.basis import Basis
from ._nbo.names import SORTS, read_names
from ._nbo.plot_files import KINDS, Block, heading_of, is_plot_file, read_basis, read_density, read_orbitals, title_of

Reals = NDArray[np.float64]

Found = TypeVar("Found")

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
    found: Reals = np.einsum("mi,mi->i", vectors, matrix @ vectors)
    return found


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
