"""Bond orders of a molecule by all schemes that it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...errors import Cancelled, OrbitileError
from .bond_orders import BondOrders, bond_orders, bond_orders_of_spins, valences
from .overlap_populations import intrinsic_orbitals, loewdin_orbitals, mulliken_orbitals
from .schemes import spins_unavailable

if TYPE_CHECKING:
    from ...model.wavefunction import Spin, Wavefunction

Reals = NDArray[np.float64]

_FRACTION = 1e-4
"""Occupations may be off whole numbers by this much."""


@dataclass(frozen=True, eq=False)
class Bonds:
    """Bond orders by several schemes, and valences by Mayer.

    Attributes
    ----------
    orders : mapping of str to BondOrders
        mayer, wiberg (over Loewdin's orthogonal functions), and where there are intrinsic atomic orbitals wiberg_iao.
    populations, valences : ndarray, shape (n_atoms,)
        By Mulliken, in e; by Mayer.
    n_electrons : float
    is_determinant : bool
        Whether orbitals are occupied or not, so that electrons shared and kept add up to all.
    remarks : tuple of str
        What the molecule does not have, a sentence each.
    """

    orders: Mapping[str, BondOrders]
    populations: Reals
    valences: Reals
    n_electrons: float
    is_determinant: bool
    remarks: tuple[str, ...]


def bonds_of(wavefunction: Wavefunction) -> Bonds:
    """Bond orders and valences.

    Raises
    ------
    FieldError
        When the file gives no occupied orbitals.
    OrbitileError
        When they are complex: spins that point along several axes share electrons in other ways.
    """
    wavefunction.require_real()
    missing = spins_unavailable(wavefunction)
    remarks = []
    if missing and wavefunction.kind != "restricted":
        remarks.append(f"bond orders are those of paired electrons: {missing}")
    total = mulliken_orbitals(wavefunction)
    orders = {
        "mayer": bond_orders(total, None if missing else mulliken_orbitals(wavefunction, "spin")),
        "wiberg": bond_orders(
            loewdin_orbitals(wavefunction), None if missing else loewdin_orbitals(wavefunction, "spin")
        ),
    }
    try:
        orders["wiberg_iao"] = bond_orders_of_spins(*(intrinsic_orbitals(wavefunction, spin) for spin in _SPINS))
    except Cancelled:
        raise
    except OrbitileError as error:
        remarks.append(f"wiberg_iao is left out: {error}")
    return Bonds(
        orders,
        total.populations,
        valences(total),
        wavefunction.n_electrons,
        _is_determinant(wavefunction),
        tuple(remarks),
    )


_SPINS: tuple[Spin, Spin] = ("alpha", "beta")


def _is_determinant(wavefunction: Wavefunction) -> bool:
    sets = (wavefunction.alpha, *([wavefunction.beta] if wavefunction.beta else []))
    whole = all(np.allclose(one.occupations, np.round(one.occupations), atol=_FRACTION) for one in sets)
    return whole and not wavefunction.density_matrix.size
