"""Effective core potentials: which charges the electrons see, where a file is silent or says two things.

Programs that replace core electrons by a potential write the charge of the nucleus, or that of nucleus and core
together, in the same place. The electrons of the orbitals tell which: a molecule is neutral, or nearly so.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from .elements import SYMBOLS

_CORES = (
    (2, 10, (2,)),
    (10, 18, (10, 2)),
    (18, 36, (10, 18, 28)),
    (36, 54, (28, 36, 46)),
    (54, 56, (46, 54)),
    (56, 71, (28, 46, 54)),
    (71, 86, (60, 68, 46, 78)),
    (86, 118, (60, 78, 92)),
)
"""Atomic numbers above the first and up to the second; electrons in usual cores of these elements, usual ones first:
those of the Stuttgart/Cologne and Karlsruhe (def2) sets, then of Los Alamos (P. J. Hay, W. R. Wadt, J. Chem. Phys.
1985, 82, 270 and 299) and of W. J. Stevens, M. Krauss, H. Basch and P. G. Jasien (Can. J. Chem. 1992, 70, 612)."""

_GTH = tuple(
    int(electrons)
    for electrons in """
1 2 3 4 3 4 5 6 7 8 9 10 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 11 12 13 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 11 12
13 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 12 13 14 15 16 17 18 11 12 13 4 5 6 7 8
""".split()
)
"""Valence electrons of hydrogen to radon in the potentials of S. Goedecker, M. Teter and J. Hutter (Phys. Rev. B 1996,
54, 1703) and C. Hartwigsen et al. (Phys. Rev. B 1998, 58, 3641) that CP2K takes where none of several is named."""

_VALENCE = {3: 2, 11: 10, 19: 18, 30: 28, 37: 36, 48: 46, 55: 54, 72: 68, 80: 78}
"""By the first element of a row: electrons in the cores of GFN1-xTB (S. Grimme, C. Bannwarth, P. Shushkov, J. Chem.
Theory Comput. 2017, 13, 1989) and GFN2-xTB (C. Bannwarth, S. Ehlert, S. Grimme, ibid. 2019, 15, 1652); lanthanum to
lutetium have three valence electrons, f electrons are in the core."""

_HEAVY = 36
"""Atomic number beyond which elements usually have a core potential where any has."""

_CHARGES = (0.0, 1.0, -1.0, 2.0, -2.0)
"""Total charges in e that a molecule is thought to have, the likeliest first, where the file states none."""

_MOST_COMBINATIONS = 20_000


def usual_cores(number: int) -> tuple[int, ...]:
    """Electrons in the effective core potentials that are in use for an element, the usual one first."""
    return next((cores for low, high, cores in _CORES if low < number <= high), ())


def gth_charges(numbers: NDArray[np.int64]) -> Reals:
    """Core charges of atoms with the usual potentials of Goedecker, Teter and Hutter; 0 for a ghost.

    Elements behind radon, for which there are none, have that of their nucleus.
    """
    return np.array([_GTH[z - 1] if 0 < z <= len(_GTH) else z for z in numbers.tolist()], float)


def valence_charges(numbers: NDArray[np.int64]) -> Reals:
    """Core charges of atoms in GFN1-xTB and GFN2-xTB; 0 for a ghost, and as if a core of 78 behind radon."""
    core = {z: 0 if z < 3 else _VALENCE[max(first for first in _VALENCE if first <= z)] for z in set(numbers.tolist())}
    return np.array([3 if 57 <= z <= 71 else z - core[z] for z in numbers.tolist()], float)


def lack_cores(numbers: NDArray[np.int64], s_functions: NDArray[np.int64]) -> bool:
    """Whether a basis set is for valence electrons alone: one s function an atom leaves none for 1s beside the valence.

    Parameters
    ----------
    numbers
        Element of each atom, 0 for a ghost.
    s_functions
        How many contracted s functions each has.
    """
    heavy = numbers > 2
    return bool(heavy.any() and np.all(s_functions[heavy] == 1))


def is_usual(number: int, core: float) -> bool:
    """Whether a core of that many electrons is in use for an element; none always is, f shells in a core too."""
    with_f = (56 < number <= 71 and 46 <= core <= 60) or (88 < number <= 103 and 78 <= core <= 92)
    return core == 0 or core in usual_cores(number) or (with_f and core == round(core))


def believable(charge: float, n_nuclei: int) -> bool:
    """Whether a molecule of that many nuclei may have a total charge, in e.

    Ions of a few atoms carry +4 or -3 at most, where not in a plasma, polyions one for four atoms.
    """
    least, most = (-3.0, 4.0) if n_nuclei < 5 else (-max(4.0, n_nuclei / 4), max(4.0, n_nuclei / 4))
    return least - 1e-3 <= charge <= most + 1e-3


def inferred_cores(numbers: NDArray[np.int64], missing: float) -> Reals | None:
    """Electrons in the core of each atom that add up to those missing from the orbitals; None where nothing fits.

    All atoms of an element have the same core. Of several ways the one with the most usual cores is taken, and none
    where two are as usual.
    """
    if missing < 1.5 or abs(missing - round(missing)) > 1e-3:
        return None
    elements, counts = np.unique(numbers[numbers > 0], return_counts=True)
    choices = [(*usual_cores(z), 0) if z > _HEAVY else (0, *usual_cores(z)) for z in elements.tolist()]
    if np.prod([float(len(cores)) for cores in choices]) > _MOST_COMBINATIONS:
        return None
    ways: list[tuple[int, tuple[int, ...]]] = []
    for places in product(*(range(len(cores)) for cores in choices)):
        cores = tuple(of_atom[place] for of_atom, place in zip(choices, places, strict=True))
        if np.dot(cores, counts) == round(missing):
            ways.append((sum(places), cores))
    ways.sort()
    if not ways or (len(ways) > 1 and ways[0][0] == ways[1][0]):
        return None
    core_of = dict(zip(elements.tolist(), ways[0][1], strict=True))
    return np.array([core_of.get(z, 0) for z in numbers.tolist()], float)


def named_ghosts(numbers: NDArray[np.int64], charges: Reals) -> tuple[str, ...]:
    """A remark on atoms that are named as an element but have no charge."""
    ghosts = [f"{SYMBOLS[numbers[n]]}{n + 1}" for n in np.flatnonzero((numbers > 0) & (charges == 0)).tolist()]
    if not ghosts:
        return ()
    named = ", ".join(ghosts[:6]) + (" ..." if len(ghosts) > 6 else "")
    return (f"{named} without nuclear charge: taken for ghost atoms, which carry functions only",)


_VALENCE_TAKEN = (
    "one s function on each atom leaves none for core electrons, of which the file says nothing: nuclei have the "
    "charges of the valence in xTB"
)


def settled_charges(
    numbers: NDArray[np.int64],
    candidates: Sequence[Reals],
    n_electrons: float,
    charge: float | None = None,
    coreless: bool = False,
) -> tuple[Reals, tuple[str, ...]]:
    """Core charges that go with the electrons of a molecule, and what had to be assumed.

    Parameters
    ----------
    numbers
        Element of each atom, 0 for a ghost.
    candidates
        Core charges of the atoms as the file may be understood, what it says most plainly first; 0 makes an atom a
        ghost.
    n_electrons
        Electrons in the orbitals.
    charge
        Total charge that the file states, if it does.
    coreless
        Whether the basis set is for valence electrons alone (`lack_cores`): where the file says nothing of cores, they
        are those of xTB.

    Returns
    -------
    tuple
        Core charges, and remarks for people.
    """
    full = numbers.astype(float)
    kept = [np.asarray(charges, float) for charges in candidates]
    silent = coreless and bool(np.all((kept[0] == 0) | (kept[0] == full)))
    if coreless:
        valence = np.where(kept[0] == 0, 0.0, valence_charges(numbers))
        kept = [valence] if silent else [kept[0], valence]
    else:
        kept += [np.where(kept[0] == 0, 0.0, full), full]
    wanted = charge or 0.0

    def excess(charges: Reals) -> float:
        return float(charges.sum()) - n_electrons - wanted

    first = kept[0]
    # which atoms are ghosts is what the file says, unless that cannot be
    ghosts_kept = [charges for charges in kept if np.array_equal(charges == 0, first == 0)]
    best = min(ghosts_kept, key=lambda charges: abs(excess(charges)))  # the first of those as good
    if not _fits(excess(best), wanted, charge, best):
        best = min(kept, key=lambda charges: abs(excess(charges)))
    if not _fits(excess(best), wanted, charge, best):
        real = np.where(first == 0, 0.0, full)
        for shift in (0.0,) if charge is not None else _CHARGES:
            cores = inferred_cores(real.astype(np.int64), excess(real) - shift)
            if cores is not None:
                total = f"{wanted + shift:+g}" if wanted + shift else "0"
                said = f"its charge of {total}" if charge is not None else f"a total charge of {total}"
                return real - cores, (
                    f"core potentials on {_listed(numbers, cores)} are assumed: the electrons of the orbitals are "
                    f"{cores.sum():g} fewer than those of all-electron atoms with {said}",
                )
        return first, ()
    if np.array_equal(best, first):
        return best, (_VALENCE_TAKEN,) if silent else ()
    wrong = np.flatnonzero(best != first)
    named = ", ".join(f"{SYMBOLS[numbers[n]]}{n + 1} ({first[n]:g})" for n in wrong[:3].tolist())
    named += " ..." if len(wrong) > 3 else ""
    return best, (
        f"the file gives nuclear charges to {named} with which the molecule would have a charge of "
        f"{excess(first) + wanted:+g}; {excess(best) + wanted:+g} is taken, as its electrons ask for",
    )


def _fits(excess: float, wanted: float, charge: float | None, charges: Reals) -> bool:
    if charge is not None:
        return abs(excess) < 1e-3
    return believable(excess + wanted, int(np.count_nonzero(charges)))


def _listed(numbers: NDArray[np.int64], cores: Reals) -> str:
    found = {SYMBOLS[z]: core for z, core in zip(numbers.tolist(), cores.tolist(), strict=True) if core}
    return ", ".join(f"{symbol} ({core:g} electrons)" for symbol, core in found.items())
