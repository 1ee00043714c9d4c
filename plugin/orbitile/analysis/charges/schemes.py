"""Charges of the atoms by any scheme, with what of the work schemes share done once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...arguments import alternatives
from ...errors import Cancelled, OrbitileError
from ...fields.density import unavailable
from ...watch import stage
from .overlap_populations import SharedOrbitals, intrinsic_orbitals, loewdin_orbitals, mulliken_orbitals

if TYPE_CHECKING:
    from ...model.wavefunction import Spin, Wavefunction
    from .cells import SampledDensity
    from .potential_fit import PotentialFit

Reals = NDArray[np.float64]


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


def spins_unavailable(wavefunction: Wavefunction) -> str:
    """Why there are no spin populations, empty where there are."""
    return unavailable(wavefunction).get("spin", "")


class _Work:
    """A molecule, and what several schemes need of it."""

    def __init__(self, wavefunction: Wavefunction, dipole: bool, device: str | None) -> None:
        self.wavefunction, self.dipole, self.device = wavefunction, dipole, device

    @cached_property
    def densities(self) -> tuple[str, ...]:
        return ("total",) if spins_unavailable(self.wavefunction) else ("total", "spin")

    @cached_property
    def sampled(self) -> SampledDensity:
        from .cells import sampled_density

        return sampled_density(self.wavefunction, spin=len(self.densities) > 1, device=self.device)

    @cached_property
    def by_free_atoms(self) -> Reals:
        from .cells import hirshfeld_populations

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


def _by_functions(of: Callable[[Wavefunction, str], SharedOrbitals]) -> Callable[[_Work, str], AtomicCharges]:
    def charges(work: _Work, scheme: str) -> AtomicCharges:
        return work.charges(scheme, np.stack([of(work.wavefunction, which).populations for which in work.densities]))

    return charges


_SPINS: tuple[Spin, Spin] = ("alpha", "beta")


def _iao(work: _Work, scheme: str) -> AtomicCharges:
    alpha, beta = (intrinsic_orbitals(work.wavefunction, spin).populations for spin in _SPINS)
    return work.charges(scheme, np.stack([alpha + beta, alpha - beta][: len(work.densities)]))


def _becke(work: _Work, scheme: str) -> AtomicCharges:
    from .cells import becke_populations

    return work.charges(scheme, becke_populations(work.wavefunction, work.sampled))


def _hirshfeld(work: _Work, scheme: str) -> AtomicCharges:
    return work.charges(scheme, work.by_free_atoms)


def _cm5(work: _Work, scheme: str) -> AtomicCharges:
    from .cm5 import cm5_corrections

    wavefunction = work.wavefunction
    corrections = cm5_corrections(wavefunction.atomic_numbers, wavefunction.positions)
    return AtomicCharges(scheme, wavefunction.core_charges - work.by_free_atoms[0] + corrections)


def _qtaim(work: _Work, scheme: str) -> AtomicCharges:
    from ..basins.qtaim import qtaim_charges, qtaim_errors

    charges, errors = (of(work.wavefunction, work.device) for of in (qtaim_charges, qtaim_errors))
    return AtomicCharges(scheme, charges, errors=errors)


def _chelpg(work: _Work, scheme: str) -> AtomicCharges:
    from .potential_fit import chelpg_charges

    return _fitted(scheme, chelpg_charges(work.wavefunction, dipole=work.dipole, device=work.device))


def _merz_kollman(work: _Work, scheme: str) -> AtomicCharges:
    from .potential_fit import merz_kollman_charges

    return _fitted(scheme, merz_kollman_charges(work.wavefunction, dipole=work.dipole, device=work.device))


def _resp(work: _Work, scheme: str) -> AtomicCharges:
    from .potential_fit import resp_charges

    return _fitted(scheme, resp_charges(work.wavefunction, device=work.device))


def _fitted(scheme: str, fit: PotentialFit) -> AtomicCharges:
    return AtomicCharges(scheme, fit.charges, fit=fit)


SCHEMES: Mapping[str, Callable[[_Work, str], AtomicCharges]] = {
    "hirshfeld": _hirshfeld,
    "cm5": _cm5,
    "becke": _becke,
    "mulliken": _by_functions(mulliken_orbitals),
    "loewdin": _by_functions(loewdin_orbitals),
    "iao": _iao,
    "chelpg": _chelpg,
    "mk": _merz_kollman,
    "resp": _resp,
    "qtaim": _qtaim,
}
"""Schemes by name, those first that depend least on the basis set."""
