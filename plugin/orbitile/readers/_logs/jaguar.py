"""Contractions of Jaguar 8, which prints those of STO-3G in two pieces and not in which ratio they belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...gaussians.overlap import shell_overlap
from .._contractions import normalised
from .basis import RawShell
from .conventions import candidates_of
from .programs import Program

Reals = NDArray[np.float64]
_Kind = tuple[int, bytes]

REMARK = "the pieces in which the log prints contractions were put together so that the orbitals are orthonormal"


def joined(
    data: Any, program: Program, basis: Sequence[RawShell], positions: Reals, coefficients: Reals
) -> list[RawShell] | None:
    """The basis set with the pieces of each kind of contraction in the ratio that makes the orbitals normalised.

    The last primitive of such a contraction has the coefficient 1, as if it were alone. Its ratio to the others is
    found by least squares of the norms of all orbitals, which are many more than kinds of contractions.

    Returns
    -------
    list or None
        None where no contraction is in pieces.
    """
    from scipy.optimize import least_squares

    printed = [entry for atom in data.gbasis for entry in atom]
    split = [len(primitives) > 1 and abs(primitives[-1][1] - 1) < 1e-6 for _, primitives in printed]
    kinds: dict[_Kind, int] = {}
    for (_, l, exponents, _), is_split in zip(basis, split, strict=True):
        if is_split:
            kinds.setdefault((l, exponents.tobytes()), len(kinds))
    if not kinds:
        return None

    def with_ratios(ratios: Reals) -> list[RawShell]:
        shells = []
        for (atom, l, exponents, contraction), (_, primitives), is_split in zip(basis, printed, split, strict=True):
            if is_split:
                pieces = np.array(primitives, float)[:, 1]
                pieces[:-1] *= np.exp(ratios[kinds[l, exponents.tobytes()]])
                contraction = normalised(exponents, pieces, l)
            shells.append((atom, l, exponents, contraction))
        return shells

    def errors(ratios: Reals) -> Reals:
        choice = candidates_of(data, program, with_ratios(ratios), len(coefficients))[0]
        ours = choice.applied(coefficients)
        overlap = shell_overlap(choice.shells, positions, choice.shells, positions)
        return np.asarray(np.einsum("mi,mn,ni->i", ours, overlap, ours) - 1, np.float64)

    return with_ratios(least_squares(errors, np.zeros(len(kinds)), x_scale=0.5).x)
