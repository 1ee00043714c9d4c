"""What stands where a file has the energies of its orbitals: some programs write occupations there, zeros, or others.

Gaussian (`pop=(NO, saveNO)`), MOKIT and Multiwfn write the occupations of natural orbitals where a checkpoint file has
energies, since it has no place for them, and the eigenvalues of natural transition orbitals.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

_SLACK = 0.1
"""Electrons by which natural orbitals of perturbation theory may hold more than they can, or fewer than none."""

_SAME = 0.01
"""Electrons in sums of printed occupations."""

_OF_CORE = -0.2
"""Energy of a 1s orbital in hartree, times the square of the atomic number, at most: -0.27 in lithium, -0.5 far on."""

_BOUND = -0.05
"""Energy in hartree that the lowest orbital of a neutral molecule is below; in caesium it has -0.12."""

OCCUPATIONS = (
    "where energies of orbitals stand the file has occupations, which belong to natural orbitals: they are taken for "
    "that, and there are no energies"
)

NEITHER = (
    "what stands where energies of orbitals do is neither energies nor occupations (zeros, or eigenvalues of others): "
    "it is not shown, and which orbital is the HOMO is unknown"
)


def are_occupations(sets: Sequence[Reals], electrons: Sequence[float]) -> bool:
    """Whether values are the occupations of one set of orbitals, or of one of each spin.

    Parameters
    ----------
    sets
        The values of each set.
    electrons
        Number of electrons of each set.
    """
    capacity = 3 - len(sets)
    return all(
        len(values) > 0
        and bool(np.all((values >= -_SLACK) & (values <= capacity + _SLACK)))
        and abs(float(values.sum()) - number) <= _SAME
        for values, number in zip(sets, electrons, strict=True)
    )


def are_energies(values: Reals, numbers: NDArray[np.int64], core_charges: Reals, charge: float) -> bool:
    """Whether values may be the energies of all orbitals of a molecule, those of the cores among them.

    Parameters
    ----------
    values
        Of all orbitals.
    numbers, core_charges
        Elements, and the charges that the electrons see.
    charge
        Of the molecule, in e: an anion need not bind its electrons.
    """
    if not np.all(np.isfinite(values)) or not np.any(values):
        return False
    heaviest = int(numbers[core_charges == numbers].max(initial=0))
    lowest = float(values.min())
    return lowest < _OF_CORE * heaviest**2 if heaviest > 2 else charge < 0 or lowest < _BOUND
