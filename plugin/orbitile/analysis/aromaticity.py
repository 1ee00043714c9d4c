r"""Aromaticity of rings by their bond lengths, and by electrons that are shared around them.

**HOMA**, the harmonic oscillator model of aromaticity (J. Kruszewski and T. M. Krygowski, Tetrahedron Lett. 1972, 13,
3839), in the form for several kinds of bonds (T. M. Krygowski, J. Chem. Inf. Comput. Sci. 1993, 33, 70, table I):

.. math::  \mathrm{HOMA} = 1 - \frac1n \sum_i \alpha_i \left( R_i - R_{\mathrm{opt}, i} \right)^2

It is 1 where all bonds have the optimal length, and 0 for a Kekule structure. Its parts tell bonds that are too long
from bonds that alternate. For them each bond becomes the C-C bond of the same number n by Pauling, of the length r
(T. M. Krygowski and M. K. Cyranski, Tetrahedron 1996, 52, 10255, equations 5 to 9):

.. math::

    n_i = e^{(R_\mathrm{single} - R_i) / c}, \quad r_i = 1.467 - 0.1702 \ln n_i, \qquad
    \mathrm{EN} = \alpha_\mathrm{CC} \left( R_\mathrm{opt} - \bar r \right)^2, \quad
    \mathrm{GEO} = \frac{\alpha_\mathrm{CC}}{n} \sum_i \left( \bar r - r_i \right)^2

HOMA + EN + GEO is 1 for rings of carbon, and nearly so for others.

**Electrons that are shared.** With the orbitals' coefficients X and their duals Y over functions of atoms, as in
`orbitile.analysis.charges`, and :math:`T^\sigma = X^\sigma Y^{\sigma T}` of the orbitals occupied by one spin,

.. math::

    I(A_1, \dots, A_n) &= 2^{n-1} \sum_\sigma \mathrm{Tr}\, T^\sigma_{A_1 A_2} T^\sigma_{A_2 A_3} \cdots
        T^\sigma_{A_n A_1} \\
    \mathrm{MCI}(A_1, \dots, A_n) &= \frac{1}{2n} \sum_P I(P(A_1, \dots, A_n))

:math:`I_\mathrm{ring}` is I in the order of the ring (M. Giambiagi, M. S. de Giambiagi and K. C. Mundim, Struct. Chem.
1990, 1, 423); where the functions overlap both ways around differ, and their mean is taken. The multicentre index is a
sum over all orders (P. Bultinck, R. Ponec and S. Van Damme, J. Phys. Org. Chem. 2005, 18, 706). With two atoms I is
their bond order :math:`\delta`.

.. math::

    \mathrm{FLU} = \frac1n \sum_{AB} \left[ \left( \frac{V_A}{V_B} \right)^{\pm 1}
        \frac{\delta_{AB} - \delta_\mathrm{ref}}{\delta_\mathrm{ref}} \right]^2, \qquad
    \mathrm{PDI} = \frac{\delta_{14} + \delta_{25} + \delta_{36}}{3}

The aromatic fluctuation index (E. Matito, M. Duran and M. Sola, J. Chem. Phys. 2005, 122, 014109, equation 10) is 0
where all bonds share as many electrons as those of aromatic molecules; :math:`V_A` is the sum of all bond orders of
an atom, and the sign makes the factor larger than 1. The para-delocalisation index (J. Poater, X. Fradera, M. Duran and
M. Sola, Chem. Eur. J. 2003, 9, 400) is of rings of six.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..base.watch import checkpoint
from ..model.elements import SYMBOLS
from ..model.geometry import Geometry
from ..model.units import angstrom
from ..model.wavefunction import COMPLEX, Wavefunction
from .charges import (
    BOTH,
    SharedOrbitals,
    bond_orders_of_spins,
    intrinsic_orbitals,
    is_determinant,
    loewdin_orbitals,
    mulliken_orbitals,
)
from .currents import Ring

SCHEMES = ("iao", "loewdin", "mulliken")
"""What atoms are: their intrinsic atomic orbitals, or basis functions made orthogonal, or basis functions."""
MOST_CENTRES = 14
"""Atoms of the largest multicentre index: it is a sum over all their subsets."""


@dataclass(frozen=True)
class _Oscillator:
    """Lengths of a single bond and of the optimal one, and c, in Angstrom; alpha in Angstrom^-2."""

    single: float
    optimal: float
    c: float
    alpha: float


_OSCILLATORS = {
    "CC": _Oscillator(1.467, 1.388, 0.1702, 257.7),
    "CN": _Oscillator(1.465, 1.334, 0.2828, 93.52),
    "CO": _Oscillator(1.367, 1.265, 0.2164, 157.38),
    "CP": _Oscillator(1.814, 1.698, 0.2510, 118.91),
    "CS": _Oscillator(1.807, 1.677, 0.2828, 94.09),
    "NN": _Oscillator(1.420, 1.309, 0.2395, 130.33),
    "NO": _Oscillator(1.415, 1.248, 0.3621, 57.21),
}

_REFERENCES = {
    "iao": {"CC": 1.4378, "CN": 1.4386, "BN": 1.1631, "NN": 1.3606, "CS": 1.1433},
    "loewdin": {"CC": 1.4910, "CN": 1.5864, "BN": 1.3165, "NN": 1.5277, "CS": 1.2213},
    "mulliken": {"CC": 1.4536, "CN": 1.4051, "BN": 1.1042, "NN": 1.2831, "CS": 1.1013},
}
"""Electrons that two atoms share in benzene, pyridine, borazine, pyridazine and thiophene by Hartree-Fock and 6-31G*:
J. Grebol-Tomas, E. Matito and P. Salvador, Chem. Eur. J. 2024, 30, e202401282."""


@dataclass(frozen=True)
class Homa:
    """HOMA of a ring and its parts; NaN where a bond has no parameters.

    Attributes
    ----------
    value, elongation, alternation : float
        HOMA, EN and GEO.
    unknown : tuple of str
        Kinds of bonds without parameters, as `B-N`.
    """

    value: float
    elongation: float
    alternation: float
    unknown: tuple[str, ...] = ()


def homa_of(molecule: Wavefunction | Geometry, ring: Ring) -> Homa:
    """The harmonic oscillator model of aromaticity of a ring, by positions alone."""
    kinds = [_kind(molecule, bond) for bond in ring.bonds]
    unknown = tuple(sorted({"-".join(kind) for kind in kinds if "".join(kind) not in _OSCILLATORS}))
    if unknown:
        return Homa(math.nan, math.nan, math.nan, unknown)
    bonds = np.array(ring.bonds)
    lengths = np.linalg.norm(np.diff(molecule.positions[bonds], axis=1)[:, 0], axis=1) / angstrom
    single, optimal, c, alpha = np.array(
        [(bond.single, bond.optimal, bond.c, bond.alpha) for bond in (_OSCILLATORS["".join(kind)] for kind in kinds)]
    ).T
    carbon = _OSCILLATORS["CC"]
    as_carbon = carbon.single - carbon.c * (single - lengths) / c
    return Homa(
        1.0 - float(np.mean(alpha * (lengths - optimal) ** 2)),
        carbon.alpha * float(carbon.optimal - as_carbon.mean()) ** 2,
        carbon.alpha * float(as_carbon.var()),
    )


def _kind(molecule: Wavefunction | Geometry, bond: tuple[int, int]) -> tuple[str, ...]:
    return tuple(sorted(SYMBOLS[int(molecule.atomic_numbers[atom])] for atom in bond))


def without_orbitals(molecule: Wavefunction | Geometry) -> str:
    """The reason why a molecule has no multicentre indices, or ""."""
    if not isinstance(molecule, Wavefunction):
        return "there is no wavefunction"
    if molecule.promolecule:
        return "a promolecule (superposed free atoms) has no orbitals"
    if molecule.spinors is not None:
        return COMPLEX
    if molecule.n_electrons <= 0:
        return "the file has no occupied orbitals"
    if molecule.natural or not is_determinant(molecule):
        return "they are of one determinant, and these orbitals are of a correlated method"
    return ""


@dataclass(frozen=True, eq=False)
class SharedElectrons:
    """Electrons that atoms share, by one scheme.

    Attributes
    ----------
    scheme : str
    spins : tuple of SharedOrbitals
        Orbitals that are occupied by alpha and by beta electrons, one electron each.
    orders : ndarray, shape (n_atoms, n_atoms)
        Bond orders.
    """

    scheme: str
    spins: tuple[SharedOrbitals, ...]
    orders: Reals

    @property
    def electrons(self) -> float:
        """Sum of the electrons of all atoms."""
        return float(sum(spin.populations.sum() for spin in self.spins))


def shared_electrons(wavefunction: Wavefunction, scheme: str) -> SharedElectrons:
    """What indices of electrons are computed from; one of `SCHEMES`.

    Raises
    ------
    OrbitileError
        As `orbitile.analysis.charges.intrinsic_orbitals`, and when there are no occupied orbitals.
    """
    if scheme == "iao":
        alpha, beta = (intrinsic_orbitals(wavefunction, spin) for spin in BOTH)
    else:
        of = {"loewdin": loewdin_orbitals, "mulliken": mulliken_orbitals}[scheme]
        alpha, beta = (of(wavefunction, spin) for spin in BOTH)
    return SharedElectrons(scheme, (alpha, beta), bond_orders_of_spins(alpha, beta).orders)


def fluctuation(molecule: Wavefunction, ring: Ring, shared: SharedElectrons) -> float:
    """The aromatic fluctuation index (FLU) of a ring; NaN where a bond has no reference."""
    references = _REFERENCES[shared.scheme]
    kinds = ["".join(_kind(molecule, bond)) for bond in ring.bonds]
    if not references.keys() >= set(kinds):
        return math.nan
    first, second = np.array(ring.bonds).T
    expected = np.array([references[kind] for kind in kinds])
    valences = shared.orders.sum(axis=1)
    ratio = valences[first] / valences[second]
    return float(np.mean((np.maximum(ratio, 1 / ratio) * (shared.orders[first, second] / expected - 1)) ** 2))


def para_delocalisation(ring: Ring, shared: SharedElectrons) -> float:
    """The para-delocalisation index (PDI) in electrons; NaN for rings of other than six atoms."""
    if len(ring.atoms) != 6:
        return math.nan
    return float(shared.orders[list(ring.atoms[:3]), list(ring.atoms[3:])].mean())


def ring_index(shared: SharedElectrons, atoms: Sequence[int]) -> float:
    """The multicentre index of atoms in their order and back to the first, :math:`I_ring`; two or more atoms.

    Both ways around are counted, and the mean is given.
    """
    first, *others = atoms
    total = 0.0
    for spin in shared.spins:
        centres = _centres(spin, atoms)
        for order in (others, others[::-1]):
            row = centres[first][1]
            for atom in order:
                row = _passed(row, *centres[atom])
            total += float(np.sum(row * centres[first][0])) / 2
            checkpoint()
    return 2.0 ** (len(atoms) - 1) * total


def multicentre_index(shared: SharedElectrons, atoms: Sequence[int]) -> float:
    """The multicentre index (MCI) of atoms: half the sum over all directed orders around them; NaN for too many.

    Matrices of atoms are multiplied in each order. Products that end in the same atoms, whatever their order, are added
    before they go on: the sum over (n - 1)! orders becomes one over the 2^(n - 1) subsets of all atoms but the first.

    Raises
    ------
    OrbitileError
        When there are fewer than three atoms, or one is named twice.
    """
    first, *others = atoms
    if len(others) < 2 or len(set(atoms)) < len(atoms):
        raise OrbitileError(f"multicentre index: expected three or more different atoms, got {len(set(atoms))}")
    if len(atoms) > MOST_CENTRES:
        return math.nan
    total = 0.0
    for spin in shared.spins:
        centres = _centres(spin, atoms)
        sums: dict[tuple[int, ...], Reals] = {(): centres[first][1]}
        for size in range(1, len(others) + 1):
            sums = {subset: _through_all(sums, subset, centres) for subset in combinations(others, size)}
        total += float(np.sum(sums[tuple(others)] * centres[first][0]))
    return 2.0 ** (len(atoms) - 1) * total / 2


def per_centre(index: float, n_atoms: int) -> float:
    """An index of n atoms to the power 1/n, with its sign, so that rings of different sizes can be compared."""
    return math.copysign(abs(index) ** (1 / n_atoms), index)


def _centres(spin: SharedOrbitals, atoms: Sequence[int]) -> dict[int, tuple[Reals, Reals]]:
    """Coefficients and duals of the functions of each atom, shape (n_functions, n_orbitals)."""
    found = {}
    for atom in atoms:
        begin, end = np.searchsorted(spin.atoms, [atom, atom + 1])
        found[atom] = spin.coefficients[begin:end], spin.duals[begin:end]
    return found


def _through_all(
    sums: Mapping[tuple[int, ...], Reals], subset: tuple[int, ...], centres: Mapping[int, tuple[Reals, Reals]]
) -> Reals:
    """The sum of products through all atoms of a subset in any order, from the sums for those with one atom less."""
    checkpoint()
    parts = [_passed(sums[subset[:n] + subset[n + 1 :]], *centres[atom]) for n, atom in enumerate(subset)]
    return np.sum(parts, axis=0)


def _passed(row: Reals, coefficients: Reals, duals: Reals) -> Reals:
    """A product, shape (n_functions of the first atom, n_orbitals), that goes on through another atom."""
    return (row @ coefficients.T) @ duals
