r"""Compute the densities of free ions and fit them by Gaussians: writes `plugin/orbitile/data/free_ions.npz`.

    python benchmarks/free_ions.py

The ions are computed and fitted as the free atoms are (`benchmarks/free_atoms.py`). Of hydrogen to xenon there are
cations from +1 up to +4, as long as no noble gas core is broken, and anions that have their electrons in a started s or
p shell: -1, and -2 of the groups of nitrogen and oxygen. A cation lacks the electrons of the highest n, and among these
of the highest l.

Many of these anions are not bound, by PBE not even the anion of oxygen. They are held by the basis set, as in the first
paper (P. Bultinck, C. Van Alsenoy, P. W. Ayers and R. Carbo-Dorca, J. Chem. Phys. 2007, 126, 144111): Gaussians are
left out whose mean square radius is more than eight times that of the outermost shell of the atom. The most diffuse
functions of aug-cc-pVDZ have about seven to nine times (T. H. Dunning, J. Chem. Phys. 1989, 90, 1007; R. A. Kendall,
T. H. Dunning and R. J. Harrison, J. Chem. Phys. 1992, 96, 6796).
"""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np

from free_atoms import MESH, RATIO, VOLUME, Reals, atom, configuration, fit
from orbitile.evaluation.devices import device_session
from orbitile.model.elements import SYMBOLS
from taichi_kernels.target import Target

LAST = 54
TABLE = Path(__file__).parents[1] / "plugin/orbitile/data/free_ions.npz"
HIGHEST, LOWEST = 4, -2
"""Charges."""
WIDEST = 8.0
"""Mean square radius of the widest Gaussian of an anion, in units of that of the outermost shell of the atom."""
_FAINT = 1e-7, 1e-4
"""Density in e bohr^-3 below which fits are no better, of cations and of anions, whose tails are those of the basis."""
NOBLE_GASES = (0, 2, 10, 18, 36)


def shells_of(number: int, charge: int) -> dict[tuple[int, int], int] | None:
    """Electrons of each shell (n, l) of an ion; None for an ion that is not computed."""
    shells = configuration(number)
    if charge > 0:
        core = max(full for full in NOBLE_GASES if full < number)
        if number - charge < max(core, 1):
            return None
        for _ in range(charge):
            outermost = max(shells)
            shells[outermost] -= 1
            if not shells[outermost]:
                del shells[outermost]
        return shells
    n, l = max(shells)
    electrons = shells[n, l]
    most = 4 * l + 2
    if electrons == most or any(n + 1 > k and e < 4 * m + 2 for (k, m), e in shells.items() if m > 1):
        return None  # no started shell, or one of d or f beside it
    if charge < -1 and (l, electrons) not in [(1, 3), (1, 4)]:
        return None
    shells[n, l] -= charge
    return shells


def mean_square_radius(density: Reals) -> float:
    """Of the electrons of a density, in bohr^2."""
    return float(density @ (VOLUME * MESH**2) / (density @ VOLUME))


def ions(number: int, target: Target) -> list[tuple[int, float, Reals]]:
    """Charge, smallest exponent and electrons of the Gaussians of all ions of an element; tells errors."""
    widest = WIDEST * max(mean_square_radius(density) for density in atom(number, target).values())
    found, told = [], []
    for charge in range(LOWEST, HIGHEST + 1):
        shells = shells_of(number, charge) if charge else None
        if shells is None:
            continue
        density = sum(atom(number, target, shells, widest if charge < 0 else np.inf).values())
        least, electrons, fitted = fit(density, number, 0.0, _FAINT[charge < 0])
        found.append((charge, least, electrons))
        beyond = 4 * pi * float((np.abs(fitted - density) * VOLUME)[MESH > 0.5].sum())
        told.append(f"{charge:+d} {beyond:.0e}")
    print(f"{SYMBOLS[number]:2} charge, and e misplaced beyond 0.5 bohr: {', '.join(told)}", flush=True)
    return found


def main() -> None:
    rows, firsts, weights = [], [], []
    with device_session("cpu", "double") as target:
        for number in range(1, LAST + 1):
            for charge, least, electrons in ions(number, target):
                rows.append((number, charge, len(electrons)))
                firsts.append(least)
                weights.append(electrons)
            np.savez_compressed(
                TABLE,
                fits=np.array(rows, np.int16),
                least=np.array(firsts),
                electrons=np.concatenate(weights),
                ratio=RATIO,
            )


if __name__ == "__main__":
    main()
