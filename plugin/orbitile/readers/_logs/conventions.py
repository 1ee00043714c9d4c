"""Order, signs and norms of the basis functions in logs: by their labels, or as the program is known for."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import ConventionError, OrbitileError
from ...gaussians.orthonormality import TOLERANCE
from ...gaussians.overlap import shell_overlap
from ...model.conventions import ANGULAR_MOMENTUM_LETTERS, angular_normalization, cartesian_powers, component_names
from ...model.wavefunction import Shell
from .basis import RawShell
from .digits import decimals, noise
from .programs import Program, harmonic


class Function(NamedTuple):
    """A basis function as a label names it: one component of a shell of an atom (from 0)."""

    atom: int
    angular_momentum: int
    pure: bool
    component: str
    sign: int = 1


_MOST_GEOMETRIES = 50
"""Geometries of a log that are tried, from the last one backwards."""


@dataclass(frozen=True, eq=False)
class Choice:
    """Rows of the log's coefficients in our order, and the factors that take them to our signs and norms."""

    name: str
    shells: tuple[Shell, ...]
    rows: NDArray[np.intp]
    factors: NDArray[np.float64]

    def applied(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Coefficients in our conventions."""
        return coefficients[self.rows] * self.factors[:, None]


def decoded(label: str, program: Program) -> Function:
    """The basis function that a label of cclib's, such as `C1_2PX` or `O3_4D+1`, names.

    Raises
    ------
    ConventionError
        When the label means nothing to us.
    """
    match = re.fullmatch(r"[A-Za-z]*?(\d+)_\s*[\d*]*\s*(\S.*?)\s*", label)
    if match is not None:
        atom, name = int(match[1]) - 1, match[2].upper().replace(" ", "")
        if name in program.labels:
            l, component = program.labels[name]
            return Function(atom, l, True, component)
        if name == "S":
            return Function(atom, 0, False, "1")
        if powers := re.fullmatch(r"[PDFGHI]?([XYZ]+)", name):
            l = len(powers[1])
            return Function(atom, l, False, "".join(sorted(powers[1].lower())))
        if spherical := re.fullmatch(r"([A-Z])(?:([+-]?)(\d+)|(\d+)([+-]))", name):
            l = ANGULAR_MOMENTUM_LETTERS.find(spherical[1].lower())
            m = int(spherical[3] or spherical[4]) * (-1 if "-" in (spherical[2], spherical[5]) else 1)
            if program.numbered:
                m -= l + 1
            if l > 1 and abs(m) <= l:
                return Function(atom, l, True, harmonic(m), -1 if (l, abs(m)) in program.minus else 1)
    raise ConventionError(f"{program.name} label {label!r} names no basis function that we know")


def choose_convention(
    data: Any,
    program: Program,
    basis: Sequence[RawShell],
    geometries: NDArray[np.float64],
    coefficients: NDArray[np.float64],
    path: Path,
) -> tuple[Choice, int]:
    """The first candidate in which the orbitals are normalised as well as the printed digits allow, and its geometry.

    The last geometry is preferred; logs of optimisations that print orbitals only once may need another one.
    """
    n_basis = len(coefficients)
    try:
        candidates = candidates_of(data, program, basis, n_basis)
    except OrbitileError as error:
        raise ConventionError(f"{path.name}: {error}") from error
    if not candidates:
        raise ConventionError(
            f"{path.name}: {n_basis} coefficients in each orbital of this {program.name} log, which fits its basis set "
            "neither with pure nor with Cartesian functions"
        )
    residuals = []
    for step in range(len(geometries) - 1, max(-1, len(geometries) - 1 - _MOST_GEOMETRIES), -1):
        for candidate in candidates:
            residual, allowed = _residual(candidate, geometries[step], coefficients)
            if residual <= max(TOLERANCE, allowed):
                return candidate, step
            if step == len(geometries) - 1:
                residuals.append(f"{candidate.name or 'as printed'}: {residual:.1e}")
    raise ConventionError(
        f"{path.name}: norms of the orbitals of this {program.name} log are off by more than its digits explain "
        f"({', '.join(residuals)}); orbitals and geometry of different steps, or an unknown order of basis functions"
    )


def candidates_of(data: Any, program: Program, basis: Sequence[RawShell], n_basis: int) -> list[Choice]:
    """What the rows of the coefficients may be, by labels or by the order that the program is known for."""
    if program.order is not None:
        return list(_by_order(program.order, basis, n_basis))
    labels = list(getattr(data, "aonames", ()))
    return list(_by_label([decoded(label, program) for label in labels], basis, n_basis))


def _residual(choice: Choice, positions: NDArray[np.float64], coefficients: NDArray[np.float64]) -> tuple[float, float]:
    """Largest deviation of a norm from one, and what the last printed digit can do to it."""
    overlap = shell_overlap(choice.shells, positions, choice.shells, positions)
    ours = choice.applied(coefficients)
    image = overlap @ ours
    norms = np.einsum("mi,mi->i", ours, image)
    return float(np.max(np.abs(norms - 1))), noise(image, decimals(coefficients))


def _by_label(functions: Sequence[Function], basis: Sequence[RawShell], n_basis: int) -> Iterator[Choice]:
    """The order that the labels state: the k-th function of a name belongs to the k-th shell."""
    if len(functions) != n_basis:
        raise ConventionError(f"{len(functions)} labelled basis functions, expected {n_basis}")
    rows: dict[tuple[int, int, str], list[int]] = defaultdict(list)
    purity: dict[tuple[int, int], set[bool]] = defaultdict(set)
    for row, function in enumerate(functions):
        rows[function.atom, function.angular_momentum, function.component].append(row)
        purity[function.atom, function.angular_momentum].add(function.pure)
    taken: dict[tuple[int, int], int] = defaultdict(int)
    shells, order = [], []
    for atom, l, exponents, contraction in basis:
        k = taken[atom, l]
        taken[atom, l] += 1
        pure = True in purity[atom, l]
        try:
            order += [rows[atom, l, name][k] for name in component_names(l, pure)]
        except IndexError as error:
            raise ConventionError(
                f"labels of the basis functions do not cover {ANGULAR_MOMENTUM_LETTERS[l]} shell {k + 1} of atom "
                f"{atom + 1}; where symmetry shortens them, run the calculation without symmetry"
            ) from error
        shells.append(Shell(atom, l, pure, exponents, contraction))
    if len(order) != n_basis:
        raise ConventionError(f"basis set of {len(order)} functions, but {n_basis} labels")
    signs = np.array([functions[row].sign for row in order], float)
    yield from _with_norms("", tuple(shells), np.array(order, np.intp), signs)


def _by_order(
    order: Callable[[int, bool], tuple[str, ...]], basis: Sequence[RawShell], n_basis: int
) -> Iterator[Choice]:
    """The order that the program is known for, with pure and Cartesian functions as their number allows."""
    for pure in (True, False):
        shells = tuple(Shell(atom, l, pure, *contraction) for atom, l, *contraction in basis)
        if sum(shell.n_functions for shell in shells) != n_basis:
            continue
        rows: list[int] = []
        signs: list[float] = []
        for shell in shells:
            l, first = shell.angular_momentum, len(rows)
            theirs = order(l, pure)
            place = {name.lstrip("-"): n for n, name in enumerate(theirs)}
            for name in component_names(l, pure):
                rows.append(first + place[name])
                signs.append(-1.0 if theirs[place[name]].startswith("-") else 1.0)
        polarised = any(shell.angular_momentum > 1 for shell in shells)
        name = ("pure" if pure else "Cartesian") + " functions" if polarised else ""
        yield from _with_norms(name, shells, np.array(rows, np.intp), np.array(signs))


def _with_norms(
    name: str, shells: tuple[Shell, ...], rows: NDArray[np.intp], signs: NDArray[np.float64]
) -> Iterator[Choice]:
    """Candidates for the norm of Cartesian functions: each one normalised, or all as x^l."""
    yield Choice(name, shells, rows, signs)
    if any(shell.angular_momentum > 1 and not shell.pure for shell in shells):
        factors = np.concatenate([_shared_norm(shell) for shell in shells])
        yield Choice(
            "Cartesian functions with the norm of x^l",
            shells,
            rows,
            signs * factors,
        )


def _shared_norm(shell: Shell) -> NDArray[np.float64]:
    if shell.pure:
        return np.ones(shell.n_functions)
    l = shell.angular_momentum
    return np.array([angular_normalization((l, 0, 0)) / angular_normalization(p) for p in cartesian_powers(l)])
