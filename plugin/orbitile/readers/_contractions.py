"""What programs' basis functions become: contractions of norm one, and rows of coefficients in our order and signs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..base.arrays import Indices, Reals
from ..base.errors import FileError
from ..model.conventions import component_names
from ..model.wavefunction import Shell


def norm_of(exponents: Reals, coefficients: Reals, angular_momentum: int) -> float:
    """Square of a contraction of normalised primitives with itself."""
    a, b = exponents[:, None], exponents[None, :]
    return float(coefficients @ ((2 * np.sqrt(a * b) / (a + b)) ** (angular_momentum + 1.5)) @ coefficients)


def normalised(exponents: Reals, coefficients: Reals, angular_momentum: int) -> Reals:
    """Coefficients of normalised primitives that make a contraction of norm one.

    Some programs take contractions as normalised, whatever the digits of a basis set add up to.

    Raises
    ------
    FileError
        When the contraction has no norm.
    """
    norm = norm_of(exponents, coefficients, angular_momentum)
    if not 0 < norm < np.inf:
        raise FileError(f"contraction without a norm: coefficients {coefficients.tolist()}")
    return coefficients / np.sqrt(norm)


def order_and_signs(shells: Iterable[Shell], theirs: Callable[[Shell], Sequence[str]]) -> tuple[Indices, Reals]:
    """What takes rows of coefficients in a program's order to ours: their order, and their signs.

    Parameters
    ----------
    shells
        In the order of the program.
    theirs
        Components of a shell in the program's order by our names, with a minus where the sign is opposite to ours.
    """
    order: list[int] = []
    signs: list[float] = []
    for shell in shells:
        names = theirs(shell)
        place = {name.lstrip("-"): n for n, name in enumerate(names)}
        places = [place[name] for name in component_names(shell.angular_momentum, shell.pure)]
        first = len(order)
        order += [first + n for n in places]
        signs += [-1.0 if names[n].startswith("-") else 1.0 for n in places]
    return np.array(order, np.intp), np.array(signs)
