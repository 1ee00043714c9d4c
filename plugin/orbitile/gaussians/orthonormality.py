"""The gate that every wavefunction passes before anyone sees it: its orbitals must be orthonormal.

Programs and dialects disagree about the order of components, the signs of f functions and the normalisation of
Cartesian functions. Whatever was misread, the overlap of the orbitals shows it: C^T S C is then no unit matrix.
"""

from contextvars import ContextVar
from dataclasses import replace

import numpy as np

from ..base.errors import ConventionError, FileError
from ..model.conventions import ANGULAR_MOMENTUM_LETTERS
from ..model.neighbours import pairs_among
from ..model.wavefunction import DAMAGED, Orbitals, Spinors, Wavefunction
from .overlap import Matrix, own_overlap

TOLERANCE = 1e-4
"""Largest deviation of an element of C^T S C from the unit matrix."""

_TOO_LARGE = "some of its coefficients are too large to be those of an orbital"

_UNKNOWN = "order or signs of the basis functions are not those of any known dialect"

_LARGE = 1e12
"""Norm and populations of an orbital that no mistaken convention gives."""

_MOST_ORBITALS = 600
"""Orthogonality is tested among this many orbitals at most, so that large molecules stay affordable; norms always."""


accepting_damaged: ContextVar[bool] = ContextVar("accepting_damaged", default=False)
"""Whether somebody asked for files whose orbitals are not orthonormal, and is told so wherever they are shown."""


REMEDY = "--accept-damaged (accept_damaged=1 in viewers and Python) opens it all the same, with a warning that stays"
"""What is told of files that are damaged slightly."""

MOST_DAMAGED = 0.5
"""Largest deviation of an element of C^T S C from the unit matrix in files that are opened on request."""


def checked(wavefunction: Wavefunction) -> Wavefunction:
    """The wavefunction itself, if its orbitals are orthonormal; marked as damaged if not and such files were asked for.

    Raises
    ------
    ConventionError
        When a norm or an overlap of two orbitals is off by more than `TOLERANCE`; says which shells are to blame.
    FileError
        When a density matrix of its own holds another number of electrons, when orbitals hold more electrons than they
        can, or when two nuclei are at one place.
    """
    if wavefunction.promolecule:
        _check_nuclei(wavefunction)
        return wavefunction
    matrix = own_overlap(wavefunction)
    if wavefunction.density_matrix.size:
        electrons, expected = float(np.sum(wavefunction.density_matrix * matrix)), wavefunction.n_electrons
        if not abs(electrons - expected) <= TOLERANCE * max(10.0, expected):
            raise FileError(
                f"{_name(wavefunction)}: its density matrix holds {electrons:.4f} electrons, expected {expected:g}: "
                "one of its elements is damaged"
            )
    for spin, orbitals in zip(wavefunction.spins, wavefunction.sets, strict=True):
        if not len(orbitals):
            continue
        label = f"{spin} orbital" if wavefunction.beta is not None else "orbital"
        try:
            _check_orbitals(wavefunction, orbitals, label, matrix)
        except ConventionError as error:
            with np.errstate(over="ignore", invalid="ignore"):
                if not (orthonormality_error(wavefunction) or 0.0) <= MOST_DAMAGED:
                    raise
            if not accepting_damaged.get():
                raise ConventionError(f"{error}; {REMEDY}") from error
            wavefunction = _as_damaged(wavefunction, str(error).partition(": ")[2])
    _check_occupations(wavefunction)
    _check_nuclei(wavefunction)
    return wavefunction


def _as_damaged(wavefunction: Wavefunction, what: str) -> Wavefunction:
    if wavefunction.damaged:
        return wavefunction
    error = orthonormality_error(wavefunction)
    remark = (
        f"THE FILE IS DAMAGED and was opened all the same: {what}; C^T S C deviates from the unit matrix by "
        f"{error or 0.0:.2g}, and what is shown may be wrong by as much"
    )
    title = f"{wavefunction.title} {DAMAGED}".strip()
    return replace(wavefunction, damaged=what, title=title, remarks=(remark, *wavefunction.remarks))


def orthonormality_error(wavefunction: Wavefunction) -> float | None:
    """Largest deviation of an element of C^T S C from the unit matrix; None where orbitals overlap by design.

    Of large molecules norms are those of all orbitals, overlaps those of some, as for `checked`.
    """
    if wavefunction.promolecule or wavefunction.overlapping:
        return None
    matrix, worst = own_overlap(wavefunction), 0.0
    for orbitals in wavefunction.sets:
        if len(orbitals):
            parts, images = _images(orbitals, matrix)
            products, _ = _products(parts, images, len(orbitals))
            worst = max(worst, float(np.abs(_norms(parts, images) - 1).max()), float(np.abs(products).max()))
    return worst


def _images(orbitals: Orbitals, matrix: Matrix) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Coefficients of each component, and S times these."""
    parts = list(orbitals.components) if isinstance(orbitals, Spinors) else [orbitals.coefficients]
    return parts, [matrix @ part for part in parts]


def _norms(parts: list[np.ndarray], images: list[np.ndarray]) -> np.ndarray:
    pairs = zip(parts, images, strict=True)
    return np.sum([np.einsum("mi,mi->i", part.conj(), image).real for part, image in pairs], axis=0)


def _products(parts: list[np.ndarray], images: list[np.ndarray], n: int) -> tuple[np.ndarray, int]:
    """Overlaps of n orbitals, or of every so many of them, with zeros for the norms; and how many are one step."""
    step = -(-n // _MOST_ORBITALS)
    sample = slice(None, None, step)
    pairs = zip(parts, images, strict=True)
    products = np.sum([part[:, sample].conj().T @ image[:, sample] for part, image in pairs], axis=0)
    np.fill_diagonal(products, 0)
    return products, step


def _check_orbitals(wavefunction: Wavefunction, orbitals: Orbitals, label: str, matrix: Matrix) -> None:
    with np.errstate(over="ignore", invalid="ignore"):  # absurd coefficients, whose norm is then no number
        parts, images = _images(orbitals, matrix)
        deviation = _norms(parts, images) - 1
    worst = int(np.argmax(np.abs(deviation)))
    if not abs(deviation[worst]) <= TOLERANCE:
        cause = _UNKNOWN if isinstance(orbitals, Spinors) else _blame(wavefunction, orbitals, images[0], deviation)
        raise ConventionError(
            f"{_name(wavefunction)}: {label} {worst + 1} has norm {deviation[worst] + 1:.5f}, expected 1 within "
            f"{TOLERANCE:g}: {cause}"
        )
    if wavefunction.overlapping:
        return
    products, step = _products(parts, images, len(orbitals))
    i, j = np.unravel_index(int(np.argmax(np.abs(products))), products.shape)
    if not abs(products[i, j]) <= TOLERANCE:
        raise ConventionError(
            f"{_name(wavefunction)}: {label}s {i * step + 1} and {j * step + 1} overlap by {products[i, j]:.5f}, "
            f"expected 0 within {TOLERANCE:g}: {_UNKNOWN} ({_basis(wavefunction)})"
        )


_SLACK = 0.1
"""Electrons by which natural orbitals of perturbation theory may hold more than two, or fewer than none."""

_ONE_PLACE = 0.01
"""Distance in bohr below which two nuclei are at one place."""


def _check_occupations(wavefunction: Wavefunction) -> None:
    capacity = wavefunction.capacity
    for label, orbitals in zip(("orbital", "beta orbital"), wavefunction.sets, strict=False):
        occupations = orbitals.occupations
        outside = np.flatnonzero((occupations < -_SLACK) | (occupations > capacity + _SLACK))
        if len(outside):
            raise FileError(
                f"{_name(wavefunction)}: {label} {outside[0] + 1} holds {occupations[outside[0]]:g} electrons, "
                f"expected 0 to {capacity}: its occupation is damaged"
            )


def _check_nuclei(wavefunction: Wavefunction) -> None:
    real = np.flatnonzero(wavefunction.core_charges)
    if len(real) < 2:
        return
    first, second = pairs_among(wavefunction.positions[real], _ONE_PLACE)
    if len(first):
        reason = "their coordinates are damaged"
        if wavefunction.promolecule:
            reason = "keep one of alternate locations (in PyMOL: remove not alt ''+A)"
        raise FileError(
            f"{_name(wavefunction)}: atoms {real[first[0]] + 1} and {real[second[0]] + 1} are at one place: {reason}"
        )


def _name(wavefunction: Wavefunction) -> str:
    return wavefunction.source.rpartition("/")[2] or "wavefunction"


def _kinds(wavefunction: Wavefunction) -> dict[tuple[int, bool], list[int]]:
    """Rows of the coefficients that belong to each (angular momentum, pure)."""
    rows: dict[tuple[int, bool], list[int]] = {}
    first = 0
    for shell in wavefunction.shells:
        rows.setdefault((shell.angular_momentum, shell.pure), []).extend(range(first, first + shell.n_functions))
        first += shell.n_functions
    return rows


def _label(kind: tuple[int, bool]) -> str:
    letter = ANGULAR_MOMENTUM_LETTERS[kind[0]]
    return letter if kind[0] < 2 else f"{'pure' if kind[1] else 'Cartesian'} {letter}"


def _basis(wavefunction: Wavefunction) -> str:
    return ", ".join(_label(kind) for kind in sorted(_kinds(wavefunction)))


def _blame(wavefunction: Wavefunction, orbitals: Orbitals, image: np.ndarray, deviation: np.ndarray) -> str:
    """Which shells go with the deviations: a least-squares fit of them to the populations of each kind of shell."""
    kinds = _kinds(wavefunction)
    with np.errstate(over="ignore", invalid="ignore"):
        populations = np.stack(
            [np.einsum("mi,mi->i", orbitals.coefficients[rows], image[rows]) for rows in kinds.values()], axis=1
        )
    if not (np.all(np.abs(populations) < _LARGE) and np.all(deviation < _LARGE)):  # LAPACK would complain on its own
        return _TOO_LARGE
    share, *_ = np.linalg.lstsq(populations, deviation, rcond=None)
    guilty = _label(list(kinds)[int(np.argmax(np.abs(share)))])
    return f"the normalisation or order of its {guilty} functions fits no known dialect ({_basis(wavefunction)})"
