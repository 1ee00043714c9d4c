"""Density functionals: exchange and correlation, found by the names that PySCF has for them.

Each file offers formulas by name: `EXCHANGE`, energies per volume of the electrons of one spin; `CORRELATION`, those of
a `SpinDensity`; `COMPOUND`, names of both together. Derivatives follow from the formulas, see
`taichi_kernels.expressions`. What no file has is left to libxc, where PySCF is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.expressions import Expression, above
from taichi_kernels.target import Target

from ...base.errors import OrbitileError
from ...base.registry import modules_of
from ...base.watch import watcher
from ..method_names import check_name
from . import _libxc
from ._density import SpinDensity, of_equal_spins, of_spins

Reals = NDArray[np.float64]
Exchange = Callable[[Expression, Expression], Expression]
Correlation = Callable[[SpinDensity], Expression]


class Formulas(Protocol):
    """What a file of functionals offers, each by the lower-case name that PySCF has for it."""

    EXCHANGE: Mapping[str, Exchange] = {}
    CORRELATION: Mapping[str, Correlation] = {}
    COMPOUND: Mapping[str, str] = {}


@dataclass(frozen=True)
class Functional:
    """A density functional.

    Attributes
    ----------
    name : str
        As PySCF has it, in lower case.
    needs_gradient : bool
        Whether it depends on the gradient of the density.
    exchange, correlation : callable, optional
        Its formulas; a functional without either is left to libxc.
    """

    name: str
    needs_gradient: bool
    exchange: Exchange | None = None
    correlation: Correlation | None = None

    @property
    def by_kernel(self) -> bool:
        """Whether there is a kernel of it."""
        return self.exchange is not None or self.correlation is not None

    def __call__(self, densities: list[Expression], products: list[Expression], limit: Expression) -> Expression:
        """Energy per volume of densities by spin, or of all electrons; see `taichi_kernels.formulas.Formula`."""
        if len(densities) == 1:
            spins = of_equal_spins(densities[0], products[0])
        else:
            spins = of_spins(*densities, *products)
        exchange = None
        if self.exchange:
            exchange = above(spins.alpha, limit) * self.exchange(spins.alpha, spins.sigma_alpha)
            if spins.polarised:
                exchange += above(spins.beta, limit) * self.exchange(spins.beta, spins.sigma_beta)
            else:
                exchange *= 2
        parts = [exchange, self.correlation(spins) if self.correlation else None]
        return sum((part for part in parts if part is not None), limit.on.constant(0.0))


@lru_cache(maxsize=64)
def functional(name: str, semilocal_only: bool = False) -> Functional:
    """Find a functional by its name.

    Parameters
    ----------
    name
        As PySCF has it: `pbe`, `lda,vwn`, `slater`, `,pw`, `blyp`, ... Names are compared without regard to case.
    semilocal_only
        Of a hybrid, take the part that depends on the density and its gradient at each point; otherwise it is refused.

    Raises
    ------
    OrbitileError
        When there is no such functional, it takes PySCF which is not installed, or more than density and gradient, as
        a dispersion correction does.
    """
    from taichi_kernels.formulas import uses_gradient

    check_name(name, "functional")
    key = name.lower().replace(" ", "")
    if not key.strip(","):
        raise OrbitileError(f"functional {name!r}: expected one of PySCF's names, such as pbe or lda,vwn")
    modules = modules_of(__name__, Formulas).values()
    exchanges = {known: formula for module in modules for known, formula in module.EXCHANGE.items()}
    correlations = {known: formula for module in modules for known, formula in module.CORRELATION.items()}
    compounds = {known: parts for module in modules for known, parts in module.COMPOUND.items()}
    parts = compounds.get(key, key)
    first, comma, second = parts.partition(",")
    if (first in exchanges or (not first and comma)) and (second in correlations or not second) and first + second:
        found = Functional(key, False, exchanges.get(first), correlations.get(second))
        return Functional(key, uses_gradient(found), found.exchange, found.correlation)
    known = sorted({*compounds, *exchanges, *("," + one for one in correlations)})
    return Functional(key, _libxc.needs_gradient(key, known, semilocal_only))


def evaluate(
    functional: Functional, density: Reals, gradient: Reals | None, target: Target
) -> tuple[Reals, Reals, Reals | None]:
    """Evaluate a functional at points.

    Parameters
    ----------
    functional : Functional
        From `functional`.
    density : ndarray of float64, shape (n_spins, n_points)
        In bohr^-3, of all electrons, or of alpha and of beta electrons. Where it is below 1e-15, there is no energy.
    gradient : ndarray of float64, shape (n_spins, 3, n_points), optional
        In bohr^-4; for a functional that needs none it may be left out.
    target : Target
        The device of the current session. All is in double precision; where the device has none, by libxc.

    Returns
    -------
    energy : ndarray, shape (n_points,)
        Per volume, in hartree bohr^-3.
    by_density : ndarray, shape (n_spins, n_points)
        Its derivative with respect to the density, in hartree.
    by_gradient : ndarray, shape (n_spins, 3, n_points)
        Its derivative with respect to the gradient, in hartree bohr; None for a functional that needs no gradient.

    Raises
    ------
    OrbitileError
        When the functional needs a gradient and there is none.
    """
    density = np.atleast_2d(density)
    if not functional.needs_gradient:
        columns = density[:, None]
    elif gradient is None:
        raise OrbitileError(f"functional {functional.name}: expected the gradient of the density too, got none")
    else:
        columns = np.concatenate([density[:, None], gradient], axis=1)
    energy, potential = at_points(functional, np.ascontiguousarray(columns, np.float64), target)
    return energy, potential[:, 0], potential[:, 1:] if functional.needs_gradient else None


def at_points(functional: Functional, columns: Reals, target: Target, noise: float = 0.0) -> tuple[Reals, Reals]:
    """The same for density and gradient in one array, shape (n_spins, 1 or 4, n_points): as Quadrature has them.

    What spins have up to `noise` times the whole density has no exchange; see `functional_at_points`.
    """
    from taichi_kernels.devices import probe
    from taichi_kernels.formulas import functional_at_points

    if not functional.by_kernel or not probe(target.device).double:
        return _libxc.at_points(functional.name, _without_noise(columns, noise))
    energy, potential = np.empty(columns.shape[-1]), np.empty_like(columns)
    ones = np.ones(columns.shape[-1])
    functional_at_points(functional, columns, ones, energy, potential, target, watcher(), noise)
    return energy, potential


def _without_noise(columns: Reals, noise: float) -> Reals:
    """Nothing in place of what spins have up to some part of the whole density."""
    known: NDArray[np.bool_] = columns[:, 0] > noise * columns[:, 0].sum(axis=0)
    return np.where(known[:, None], columns, 0.0) if noise else columns
