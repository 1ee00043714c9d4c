"""Charges of the atoms by any scheme, with what of the work schemes share done once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from ...base.arguments import alternatives
from ...base.arrays import Reals
from ...base.errors import Cancelled, OrbitileError
from ...base.watch import stage
from ...model.wavefunction import Wavefunction
from .cells import SampledDensity, becke_populations, cm5_corrections, hirshfeld_populations, sampled_density
from .overlap_populations import BOTH, intrinsic_orbitals, loewdin_orbitals, mulliken_orbitals, spins_unavailable
from .potential_fit import PotentialFit, chelpg_charges, merz_kollman_charges, resp_charges


def _nothing() -> Reals:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class AtomicCharges:
    """Charges of the atoms by one scheme.

    Attributes
    ----------
    scheme : str
    charges : ndarray, shape (n_atoms,)
        In e; 0 at ghosts, unless the scheme goes by basis functions and these have electrons.
    spins : ndarray, shape (n_atoms,)
        Alpha less beta electrons; empty where the scheme has none, or all electrons are paired.
    fit : PotentialFit, optional
        Of charges from the potential.
    errors : ndarray, shape (n_atoms,)
        What charges may be off by in e; empty where no estimate is known.
    """

    scheme: str
    charges: Reals
    spins: Reals = field(default_factory=_nothing)
    fit: PotentialFit | None = None
    errors: Reals = field(default_factory=_nothing)


def atomic_charges(
    wavefunction: Wavefunction, scheme: str, *, dipole: bool = False, device: str | None = None
) -> AtomicCharges:
    """Charges of the atoms: nuclear charge, less the electrons of a core potential, less the atom's electrons.

    Parameters
    ----------
    wavefunction
    scheme
        One of `SCHEMES`; see the modules of this package for what they are.
    dipole
        Whether charges from the potential are to have the molecule's dipole moment: of chelpg and mk.
    device
        As for `orbitile.evaluate`.

    Raises
    ------
    OrbitileError
        For another scheme, and where the molecule does not have it.
    """
    if scheme not in SCHEMES:
        raise OrbitileError(f"charges of atoms: expected {alternatives(list(SCHEMES))}, got {scheme!r}")
    return SCHEMES[scheme](_Work(wavefunction, dipole, device), scheme)


def charges_by_schemes(
    wavefunction: Wavefunction, schemes: Iterable[str], *, dipole: bool = False, device: str | None = None
) -> tuple[list[AtomicCharges], list[str]]:
    """Charges by several schemes, and why the molecule does not have the others, a sentence each.

    Parameters as for `atomic_charges`.
    """
    work, found, missing = _Work(wavefunction, dipole, device), [], []
    names = list(schemes)
    for n, scheme in enumerate(names):
        with stage(n / len(names), (n + 1) / len(names)):
            try:
                found.append(SCHEMES[scheme](work, scheme))
            except Cancelled:
                raise
            except OrbitileError as error:
                missing.append(f"{scheme} is left out: {error}")
    return found, missing


class _Work:
    """A molecule, and what several schemes need of it."""

    def __init__(self, wavefunction: Wavefunction, dipole: bool, device: str | None) -> None:
        self.wavefunction, self.dipole, self.device = wavefunction, dipole, device

    @cached_property
    def densities(self) -> tuple[str, ...]:
        return ("total",) if spins_unavailable(self.wavefunction) else ("total", "spin")

    @cached_property
    def sampled(self) -> SampledDensity:
        return sampled_density(self.wavefunction, spin=len(self.densities) > 1, device=self.device)

    @cached_property
    def by_free_atoms(self) -> Reals:
        share = 0.0 if "sampled" in vars(self) else _share_of_sampling(self.wavefunction)
        with stage(0.0, share):
            sampled = self.sampled
        with stage(share, 1.0):
            return hirshfeld_populations(self.wavefunction, sampled)

    def charges(self, scheme: str, populations: Reals) -> AtomicCharges:
        """Of populations of all electrons and of those that are unpaired, shape (1 or 2, n_atoms)."""
        spins = populations[1] if len(populations) > 1 else _nothing()
        return AtomicCharges(scheme, self.wavefunction.core_charges - populations[0], spins)


def _share_of_sampling(wavefunction: Wavefunction) -> float:
    """About the share of the time of Hirshfeld's charges that sampling the density takes (benzene, threonine, C60)."""
    sampling = 1.0 + wavefunction.n_basis / 60
    free_atoms = 0.12 * wavefunction.n_atoms + 0.0035 * wavefunction.n_atoms**2
    return sampling / (sampling + free_atoms)


def _by_functions(work: _Work, scheme: str) -> AtomicCharges:
    of = {"mulliken": mulliken_orbitals, "loewdin": loewdin_orbitals}[scheme]
    return work.charges(scheme, np.stack([of(work.wavefunction, which).populations for which in work.densities]))


def _iao(work: _Work, scheme: str) -> AtomicCharges:
    alpha, beta = (intrinsic_orbitals(work.wavefunction, spin).populations for spin in BOTH)
    return work.charges(scheme, np.stack([alpha + beta, alpha - beta][: len(work.densities)]))


def _becke(work: _Work, scheme: str) -> AtomicCharges:
    return work.charges(scheme, becke_populations(work.wavefunction, work.sampled))


def _hirshfeld(work: _Work, scheme: str) -> AtomicCharges:
    return work.charges(scheme, work.by_free_atoms)


def _cm5(work: _Work, scheme: str) -> AtomicCharges:
    wavefunction = work.wavefunction
    corrections = cm5_corrections(wavefunction.atomic_numbers, wavefunction.positions)
    return AtomicCharges(scheme, wavefunction.core_charges - work.by_free_atoms[0] + corrections)


def _fitted(work: _Work, scheme: str) -> AtomicCharges:
    if scheme == "resp":
        fit = resp_charges(work.wavefunction, device=work.device)
    else:
        of = {"chelpg": chelpg_charges, "mk": merz_kollman_charges}[scheme]
        fit = of(work.wavefunction, dipole=work.dipole, device=work.device)
    return AtomicCharges(scheme, fit.charges, fit=fit)


def _qtaim(work: _Work, scheme: str) -> AtomicCharges:
    from ..basins.qtaim import qtaim_basins, qtaim_charges

    wavefunction = work.wavefunction
    found = qtaim_basins(wavefunction, device=work.device)
    errors = found.of_atoms(found.error, wavefunction.n_atoms)
    return AtomicCharges(scheme, qtaim_charges(wavefunction, work.device), errors=errors)


SCHEMES: Mapping[str, Callable[[_Work, str], AtomicCharges]] = {
    "hirshfeld": _hirshfeld,
    "cm5": _cm5,
    "becke": _becke,
    "mulliken": _by_functions,
    "loewdin": _by_functions,
    "iao": _iao,
    "chelpg": _fitted,
    "mk": _fitted,
    "resp": _fitted,
    "qtaim": _qtaim,
}
"""Schemes by name, those first that depend least on the basis set."""
