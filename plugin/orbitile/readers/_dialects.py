"""Dialects in which programs write Molden and Molekel files: which one makes the orbitals of a file normalised.

qc-iodata tries those that it knows. Its test of each rests on an overlap matrix computed in nested Python loops, which
takes seconds for a medium-sized molecule; ours stands in for it while a file is read, and more dialects follow.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FileError
from ..gaussians.orthonormality import TOLERANCE, accepting_damaged
from ..gaussians.overlap import contraction_norms, orbital_norms
from ..model.conventions import ANGULAR_MOMENTUM_LETTERS, angular_normalization, component_names, radial_normalization
from ..model.wavefunction import Shell

Reals = NDArray[np.float64]

_NO_CELL = np.empty(0)

_NORMALISED = 1e-3
"""Largest deviation of the norm of a contraction from 1, from digits that a file leaves out."""


def shells_and_order(basis: Any) -> tuple[tuple[Shell, ...], NDArray[np.intp], NDArray[np.float64]]:
    """Shells of a basis of qc-iodata, and the order and signs that take its coefficients to our conventions."""
    shells: list[Shell] = []
    order: list[int] = []
    signs: list[float] = []
    for general in basis.shells:
        for momentum, kind, column in zip(general.angmoms, general.kinds, general.coeffs.T, strict=True):
            l, pure = int(momentum), kind == "p"
            shells.append(Shell(general.icenter, l, pure, general.exponents, column))
            try:
                theirs = list(basis.conventions[l, str(kind)])
            except KeyError as error:
                letter = ANGULAR_MOMENTUM_LETTERS[l]
                form = "pure" if pure else "Cartesian"
                raise FileError(f"{form} {letter} functions have no defined order in this file format") from error
            place = {name.lstrip("-"): n for n, name in enumerate(theirs)}
            first = len(order)
            for name in component_names(l, pure):
                n = place[name]
                order.append(first + n)
                signs.append(-1.0 if theirs[n].startswith("-") else 1.0)
    return tuple(shells), np.array(order, np.intp), np.array(signs)


@dataclass
class Attempts:
    """How far the orbitals of a file were from normalised in the dialects that were tried.

    Attributes
    ----------
    least : float
        Largest deviation of a norm from 1 in the dialect that comes closest.
    closest : tuple
        That dialect: basis set, positions, coefficients of alpha orbitals, and of beta ones.
    """

    least: float = np.inf
    closest: tuple[Any, Reals, Reals, Any] | None = None

    def explained(self) -> str:
        """How far the orbitals are from normalised and what that looks like, in part of a sentence."""
        told = f"in the closest dialect norms of orbitals are off by up to {self.least:.2g}"
        if self.closest is None or not self.may_be_accepted:
            return f"order, sign or norm of its basis functions is unknown; {told}"
        scale = self._scale() if len(self.closest[2]) <= _SCALED else 1.0
        looks = (
            f"with all distances multiplied by {scale:.4f} they would fit: the geometry is that of another step, or in "
            "another unit"
            if scale != 1.0
            else "so little comes of coordinates that are not those of the orbitals, or of other damaged numbers"
        )
        return f"{told}; {looks}"

    @property
    def may_be_accepted(self) -> bool:
        """Whether the dialect is clear, though some numbers are wrong."""
        return self.closest is not None and TOLERANCE < self.least < _SLIGHT

    def _scale(self) -> float:
        """The factor near 1 of all positions that makes the orbitals normalised; 1 where none does."""
        from scipy.optimize import minimize_scalar

        assert self.closest is not None
        basis, positions, alpha, beta = self.closest
        shells, order, signs = shells_and_order(basis)
        coefficients = (alpha if beta is None else np.hstack([alpha, beta]))[order] * signs[:, None]

        def deviation(factor: float) -> float:
            return float(np.abs(orbital_norms(shells, positions * factor, coefficients) - 1).max(initial=0.0))

        found = minimize_scalar(deviation, bounds=(0.97, 1.03), method="bounded", options={"xatol": 1e-6})
        return float(found.x) if found.fun < 1e-3 * _SLIGHT + 0.02 * self.least else 1.0


_SLIGHT = 0.2
"""Deviation of norms below which the dialect is probably right, and numbers are not."""

_SCALED = 500
"""Basis functions up to which a factor of the positions is looked for, which takes some thirty overlap matrices."""

_patching = threading.Lock()


@contextmanager
def dialects_of_iodata(cell: Reals = _NO_CELL, attempts: Attempts | None = None) -> Iterator[None]:
    """While a file is read by qc-iodata: our overlap, the periodic one where there is a cell, and more dialects."""
    from iodata.formats import molden, molekel
    from iodata.utils import LoadError, LoadWarning

    record = Attempts() if attempts is None else attempts

    def is_normalised(basis: Any, positions: Reals, alpha: Reals, beta: Any, threshold: float = 1e-4) -> bool:
        shells, order, signs = shells_and_order(basis)
        # with images an overlap takes seconds, and dialects differ in norms first
        if len(cell) and np.any(np.abs(contraction_norms(shells) - 1) > _NORMALISED):
            return False
        coefficients = alpha if beta is None else np.hstack([alpha, beta])
        norms = orbital_norms(shells, positions, coefficients[order] * signs[:, None], cell)
        deviation = float(np.abs(norms - 1).max(initial=0.0))
        if deviation < record.least:
            record.least, record.closest = deviation, (basis, positions, alpha, beta)
        return deviation <= threshold

    def fix(result: dict[str, Any], lines: Any, threshold: float = 1e-4) -> None:
        try:
            known_to_iodata(result, lines, threshold)
            return
        except LoadError as error:
            unknown = error
        from warnings import warn

        basis, mo = result["obasis"], result["mo"]
        for name, changed, factors in _more_dialects(basis):
            coefficients = mo.coeffs if factors is None else mo.coeffs / factors[:, None]
            if is_normalised(changed, result["atcoords"], coefficients, None, threshold):
                warn(LoadWarning(f"Corrected for {name} in Molden/MKL file.", lines.filename), stacklevel=2)
                result["obasis"] = changed
                mo.coeffs[:] = coefficients
                return
        if not (accepting_damaged.get() and record.may_be_accepted and record.closest is not None):
            raise unknown
        result["obasis"], _, alpha, beta = record.closest
        mo.coeffs[:] = alpha if beta is None else np.hstack([alpha, beta])

    with _patching:
        known_to_iodata = molden._fix_molden_from_buggy_codes
        own = molden._is_normalized_properly
        molden._is_normalized_properly = is_normalised
        molden._fix_molden_from_buggy_codes = molekel._fix_molden_from_buggy_codes = fix
        try:
            yield
        finally:
            molden._is_normalized_properly = own
            molden._fix_molden_from_buggy_codes = molekel._fix_molden_from_buggy_codes = known_to_iodata


def _more_dialects(basis: Any) -> Iterator[tuple[str, Any, Reals | None]]:
    """Name, basis set, and what coefficients of orbitals are divided by, of dialects that qc-iodata does not know."""
    from iodata.formats import molden

    of_primitives = [
        angular_normalization((int(shell.angmoms[0]), 0, 0))
        * radial_normalization(shell.exponents, int(shell.angmoms[0]))[:, None]
        for shell in basis.shells
    ]
    yield "norms of primitives in the coefficients, as of NWChem and xtb", _divided(basis, of_primitives), None
    norms = contraction_norms(shells_and_order(basis)[0])
    off = [abs(norm - 1) > _NORMALISED for norm, shell in zip(norms, basis.shells, strict=True) if shell.nexp > 1]
    # a single one that is not normalised has a damaged number
    if 2 * sum(off) > len(off) and (factors := molden._fix_mo_coeffs_cfour(basis)) is not None:
        yield "CFOUR errors and unnormalised contractions", _divided(basis, np.sqrt(norms)), factors


def _divided(basis: Any, factors: Any) -> Any:
    """The basis set with contraction coefficients divided by factors, one of each shell."""
    import attrs

    shells = zip(basis.shells, factors, strict=True)
    return attrs.evolve(basis, shells=[attrs.evolve(shell, coeffs=shell.coeffs / factor) for shell, factor in shells])
