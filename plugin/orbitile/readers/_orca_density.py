"""Which of ORCA's densities goes with a wavefunction, and whether they belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import FileError
from ..gaussians.overlap import own_overlap
from ..model.wavefunction import Wavefunction
from ._orca import Reals, order_and_signs

_SCF, _TEMPORARY = "scfp", "tmp"
"""Names of the density of the self-consistent field, and of what ORCA needs while it computes."""

_TOLERANCE = 1e-4
"""Largest deviation of an element of a density from that of the orbitals, which are those of one iteration later."""

_ELECTRONS = 1e-3
"""By how many electrons a density may differ from the orbitals."""


class Density(NamedTuple):
    """A matrix over ORCA's basis functions, and its name, such as scfp or cisr: p for charge, r for spin."""

    name: str
    matrix: Reals


def with_density(wavefunction: Wavefunction, densities: Sequence[Density], file: str) -> Wavefunction:
    """The wavefunction with the last density that is not that of its orbitals, if there is one, and a remark.

    Parameters
    ----------
    wavefunction
        Orbitals of the same calculation.
    densities
        What a file holds; matrices of other sizes are passed over, as they are over orbitals.
    file
        Its name.

    Raises
    ------
    FileError
        When it is of another calculation than the orbitals.
    """
    order, signs = order_and_signs(wavefunction.shells)
    n = len(order)
    ours = {
        density.name: density.matrix[np.ix_(order, order)] * signs[:, None] * signs
        for density in densities
        if density.matrix.shape == (n, n)
    }
    orbitals = Path(wavefunction.source).name
    if not ours:
        raise FileError(
            f"{file}: no matrix of {n} by {n}, as the orbitals of {orbitals} ask for: they are of different "
            "calculations, or it is damaged"
        )
    own = _density_of(wavefunction)
    if _SCF in ours and not np.abs(ours[_SCF] - own).max() <= _TOLERANCE * max(1.0, np.abs(own).max()):
        raise FileError(
            f"{file}: its density of the self-consistent field is not that of the orbitals in {orbitals}: they are of "
            "different calculations"
        )
    overlap = own_overlap(wavefunction)
    others = [
        name
        for name, matrix in ours.items()
        if name != _SCF
        and not name.endswith(_TEMPORARY)
        and abs(float(np.sum(matrix * overlap)) - wavefunction.n_electrons) < _ELECTRONS
    ]
    if not others:
        remark = f"{file} holds no density but that of the orbitals"
        return replace(wavefunction, remarks=(*wavefunction.remarks, remark))
    *passed, chosen = others
    remark = f"the density is {chosen} of {file}, not that of the orbitals"
    remark += f"; it holds {', '.join(passed)} too" if passed else ""
    return replace(
        wavefunction,
        density_matrix=ours[chosen],
        spin_density_matrix=next((ours[name] for name in _spins_of(chosen) if name in ours), np.empty(0)),
        remarks=(*wavefunction.remarks, remark),
    )


def _density_of(wavefunction: Wavefunction) -> Reals:
    parts = (wavefunction.alpha, wavefunction.beta)
    matrices = [(part.coefficients * part.occupations) @ part.coefficients.T for part in parts if part is not None]
    total: Reals = np.sum(matrices, axis=0)
    return total


def _spins_of(name: str) -> tuple[str, str]:
    """What ORCA may call the spin density that goes with a density: pmp2re and rmp2re, cisp and cisr."""
    return f"r{name[1:]}", f"{name[:-1]}r"
