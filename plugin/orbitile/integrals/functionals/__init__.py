"""Density functionals: exchange and correlation, found by the names that PySCF has for them.

Each file offers formulas by name: `EXCHANGE`, energies per volume of the electrons of one spin; `CORRELATION`, those of
a `SpinDensity`; `COMPOUND`, names of both together. Derivatives follow from the formulas, see
`taichi_kernels.expressions`. What no file has is left to libxc (S. Lehtola et al., SoftwareX 2018, 7, 1), where PySCF
is installed.
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

from ...base.arrays import Reals
from ...base.errors import OrbitileError
from ...base.imports import with_settings_of_the_user
from ...base.packages import install_command
from ...base.registry import modules_of
from ...base.watch import checkpoint, watcher
from ..method_names import check_name
from ._density import SpinDensity, of_equal_spins, of_spins

_AT_ONCE = 1 << 16
"""Points of libxc, between which one may cancel."""

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
def functional(name: str) -> Functional:
    """Find a functional by its name.

    Parameters
    ----------
    name
        As PySCF has it: `pbe`, `lda,vwn`, `slater`, `,pw`, `blyp`, ... Names are compared without regard to case.

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
    return Functional(key, _needs_gradient_in_libxc(key, known))


def at_points(functional: Functional, columns: Reals, target: Target, noise: float = 0.0) -> tuple[Reals, Reals]:
    """Evaluate a functional at points.

    Parameters
    ----------
    functional : Functional
        From `functional`.
    columns : ndarray of float64, shape (n_spins, 1 or 4, n_points)
        Density of all electrons, or of alpha and of beta electrons, in bohr^-3, and for a functional that needs it the
        gradient in bohr^-4: as `Quadrature` has them. Where the density is below 1e-15, there is no energy.
    target : Target
        The device of the current session. All is in double precision; where the device has none, by libxc.
    noise : float
        What spins have up to this share of the whole density has no exchange; see `functional_at_points`.

    Returns
    -------
    energy : ndarray, shape (n_points,)
        Per volume, in hartree bohr^-3.
    potential : ndarray, shape of the columns
        Its derivatives with respect to density and gradient, in hartree and hartree bohr.
    """
    from taichi_kernels.devices import probe
    from taichi_kernels.formulas import functional_at_points

    if not functional.by_kernel or not probe(target.device).double:
        return _by_libxc(functional.name, _without_noise(columns, noise))
    energy, potential = np.empty(columns.shape[-1]), np.empty_like(columns)
    ones = np.ones(columns.shape[-1])
    functional_at_points(functional, columns, ones, energy, potential, target, watcher(), noise)
    return energy, potential


def _without_noise(columns: Reals, noise: float) -> Reals:
    """Nothing in place of what spins have up to some part of the whole density."""
    known: NDArray[np.bool_] = columns[:, 0] > noise * columns[:, 0].sum(axis=0)
    return np.where(known[:, None], columns, 0.0) if noise else columns


def _needs_gradient_in_libxc(name: str, known: list[str]) -> bool:
    """Whether a functional of libxc depends on the gradient of the density.

    Parameters
    ----------
    name
        As PySCF has it.
    known
        Names that do without PySCF.

    Raises
    ------
    OrbitileError
        When there is no such functional, it takes PySCF which is not installed, or more than density and gradient.
    """
    try:
        libxc = with_settings_of_the_user("pyscf", "dft.libxc")
    except ImportError as error:
        raise OrbitileError(
            f"functional {name}: needs libxc, which comes with PySCF ({install_command('pyscf')}); known without "
            "it: "
            f"{', '.join(known)}"
        ) from error
    try:
        kind, hybrid, nonlocal_ = libxc.xc_type(name), libxc.is_hybrid_xc(name), libxc.is_nlc(name)
    except (KeyError, ValueError, IndexError, NotImplementedError) as error:
        raise OrbitileError(f"functional {name!r}: expected one of PySCF's names, such as pbe or lda,vwn") from error
    if kind not in ("LDA", "GGA"):
        raise OrbitileError(
            f"functional {name}: depends on more than the density and its gradient; use one that does not, such as pbe"
        )
    if hybrid or nonlocal_:
        what = "exact exchange" if hybrid else "nonlocal correlation"
        raise OrbitileError(f"functional {name}: has {what}, which is not computed here; use another, such as pbe")
    return bool(kind == "GGA")


def _by_libxc(name: str, columns: Reals) -> tuple[Reals, Reals]:
    """Energy per volume, shape (n_points,), and derivatives by density and gradient, shape of these."""
    from pyscf.dft.numint import NumInt

    evaluate = NumInt().eval_xc_eff
    energy, potential = np.empty(columns.shape[-1]), np.empty_like(columns)
    n_spins, n_columns = columns.shape[:2]
    for first in range(0, columns.shape[-1], _AT_ONCE):
        checkpoint(first / columns.shape[-1])
        some = slice(first, first + _AT_ONCE)
        here = columns[..., some]
        given = here[0] if n_spins == 1 else here
        per_electron, slopes = evaluate(name, given[..., 0, :] if n_columns == 1 else given, deriv=1)[:2]
        energy[some] = per_electron * here[:, 0].sum(axis=0)
        potential[..., some] = np.reshape(slopes, here.shape)
    return energy, potential
