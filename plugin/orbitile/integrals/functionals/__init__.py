"""Density functionals: exchange and correlation, found by the names that PySCF has for them.

Each file offers formulas by name: `EXCHANGE`, energies per volume of the electrons of one spin; `CORRELATION`, those of
a `SpinDensity`; `COMPOUND`, sums of these and of exact exchange. Derivatives follow from the formulas, see
`taichi_kernels.expressions`. What no file has is left to libxc (S. Lehtola et al., SoftwareX 2018, 7, 1), where PySCF
is installed.

Sums are written as in PySCF: `0.2*hf+0.08*slater+0.72*b88,0.81*lyp+0.19*vwn_rpa`, exchange before the comma. `hf` is
exact exchange, `lr_hf(0.33)` that of erf(0.33 r)/r alone. Hyphens and underscores do not count.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from taichi_kernels.expressions import Expression
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

Exchange = Callable[[Expression, Expression, Expression], Expression]
"""Takes the density of a spin, the square of its gradient, and its kinetic energy density tau."""

Correlation = Callable[[SpinDensity], Expression]


class Formulas(Protocol):
    """What a file of functionals offers, each by the lower-case name that PySCF has for it.

    Names with brackets are for sums: `m06(semilocal)` is what PySCF's `m06` has beside exact exchange.
    """

    EXCHANGE: Mapping[str, Exchange] = {}
    CORRELATION: Mapping[str, Correlation] = {}
    COMPOUND: Mapping[str, str] = {}


@dataclass(frozen=True)
class ExactExchange:
    """Exact exchange of a hybrid functional: the shares of 1/r, and of erf(omega r)/r in addition.

    Attributes
    ----------
    full, long_range : float
        Far away exact exchange has the sum of both.
    omega : float
        In bohr^-1.
    """

    full: float = 0.0
    long_range: float = 0.0
    omega: float = 0.0


@dataclass(frozen=True)
class Functional:
    r"""A density functional.

    Attributes
    ----------
    name : str
        As PySCF has it, in lower case.
    exchange, correlation : tuple of (float, callable)
        Its formulas with their weights.
    by_kernel : bool
        Whether they are all of it but exact exchange; otherwise it is left to libxc.
    needs_gradient, needs_tau : bool
        Whether it depends on the gradient of the density, which goes with tau too; and on the kinetic energy density
        :math:`\tau = \frac12 \sum_i n_i |\nabla\psi_i|^2`.
    exact : ExactExchange
        Not among the energies of points.
    """

    name: str
    exchange: tuple[tuple[float, Exchange], ...] = ()
    correlation: tuple[tuple[float, Correlation], ...] = ()
    by_kernel: bool = True
    needs_gradient: bool = False
    needs_tau: bool = False
    exact: ExactExchange = ExactExchange()

    @property
    def is_hybrid(self) -> bool:
        """Whether it has exact exchange."""
        return self.exact != ExactExchange()

    @property
    def is_semilocal(self) -> bool:
        """Whether it has anything beside exact exchange."""
        return bool(self.exchange or self.correlation) or not self.by_kernel

    def __call__(
        self, densities: list[Expression], products: list[Expression], taus: list[Expression], limit: Expression
    ) -> Expression:
        """Energy per volume of densities by spin, or of all electrons; see `taichi_kernels.formulas.Formula`."""
        if len(densities) == 1:
            spins = of_equal_spins(densities[0], products[0], taus[0], limit)
        else:
            spins = of_spins(densities, products, taus, limit)
        energy = limit.on.constant(0.0)
        for weight, exchange in self.exchange:
            of_alpha = spins.has_alpha * exchange(spins.alpha, spins.sigma_alpha, spins.tau_alpha)
            if spins.polarised:
                of_beta = spins.has_beta * exchange(spins.beta, spins.sigma_beta, spins.tau_beta)
                energy += weight * (of_alpha + of_beta)
            else:
                energy += 2 * weight * of_alpha
        return sum((weight * correlation(spins) for weight, correlation in self.correlation), energy)


@lru_cache(maxsize=64)
def functional(name: str) -> Functional:
    """Find a functional by its name.

    Parameters
    ----------
    name
        As PySCF has it: `pbe`, `lda,vwn`, `slater`, `,pw`, `b3lyp`, `hf`, ... Names are compared without regard to
        case. `b3lyp` has the correlation of the uniform gas in the random-phase approximation of Vosko, Wilk and
        Nusair, as in Gaussian and PySCF, `b3lyp5` their formula V.

    Raises
    ------
    OrbitileError
        When there is no such functional, it takes PySCF which is not installed, or more than density, gradient, tau
        and exact exchange, as a dispersion correction does.
    """
    from taichi_kernels.formulas import uses

    check_name(name, "functional")
    key = name.lower().replace(" ", "")
    if not key.strip(","):
        raise OrbitileError(f"functional {name!r}: expected one of PySCF's names, such as pbe or lda,vwn")
    modules = modules_of(__name__, Formulas).values()
    exchanges = {known: formula for module in modules for known, formula in module.EXCHANGE.items()}
    correlations = {known: formula for module in modules for known, formula in module.CORRELATION.items()}
    compounds = {known: parts for module in modules for known, parts in module.COMPOUND.items()}
    sums = {_short(one): parts for one, parts in compounds.items()}.get(_short(key), key)
    first, _, second = sums.partition(",")
    exact, semilocal = _without_exact(_terms(first))
    exchange, correlation = _found(semilocal, exchanges), _found(_terms(second), correlations)
    if exchange is not None and correlation is not None and exact is not None:
        found = Functional(key, exchange, correlation, exact=exact)
        tau = uses(found, "tau")
        return replace(found, needs_gradient=tau or uses(found, "sigma"), needs_tau=tau)
    known = {*compounds, *exchanges, *("," + correlation for correlation in correlations), "hf"}
    return _of_libxc(key, sorted(name for name in known if "(" not in name))


Formula = TypeVar("Formula", Exchange, Correlation)

_TERM = re.compile(r"(?:(?P<weight>\d*\.?\d+)\*)?(?P<name>.+)")
_LONG_RANGE = re.compile(r"lrhf\((\d*\.?\d+)\)")


def _short(name: str) -> str:
    return name.replace("-", "").replace("_", "")


def _terms(text: str) -> list[tuple[float, str]]:
    """A sum as weights and short names."""
    found = [_TERM.fullmatch(term) for term in text.split("+") if text]
    return [(float(term["weight"] or 1), _short(term["name"])) if term else (1.0, "") for term in found]


def _without_exact(terms: list[tuple[float, str]]) -> tuple[ExactExchange, list[tuple[float, str]]]:
    """Exact exchange of a sum, and the rest of it."""
    full = sum((weight for weight, name in terms if name == "hf"), 0.0)
    attenuated = [(weight, float(found[1])) for weight, name in terms if (found := _LONG_RANGE.fullmatch(name))]
    rest = [(weight, name) for weight, name in terms if name != "hf" and not _LONG_RANGE.fullmatch(name)]
    if len(attenuated) > 1:  # which libxc has not either
        return ExactExchange(), terms
    return ExactExchange(full, *(attenuated[0] if attenuated else ())), rest


def _found(terms: list[tuple[float, str]], known: Mapping[str, Formula]) -> tuple[tuple[float, Formula], ...] | None:
    """Formulas of a sum; None where one is not known."""
    short = {_short(name): formula for name, formula in known.items()}
    if not all(name in short for _, name in terms):
        return None
    return tuple((weight, short[name]) for weight, name in terms)


def at_points(functional: Functional, columns: Reals, target: Target, noise: float = 0.0) -> tuple[Reals, Reals]:
    """Evaluate a functional at points.

    Parameters
    ----------
    functional : Functional
        From `functional`.
    columns : ndarray of float64, shape (n_spins, 1, 4 or 5, n_points)
        Density of all electrons, or of alpha and of beta electrons, in bohr^-3, and for a functional that needs it the
        gradient in bohr^-4, and tau in hartree bohr^-3. Where the density is below 1e-15, there is no energy.
    target : Target
        The device of the current session. All is in double precision; where the device has none, by libxc.
    noise : float
        What spins have up to this share of the whole density has no exchange; see `functional_at_points`.

    Returns
    -------
    energy : ndarray, shape (n_points,)
        Per volume, in hartree bohr^-3.
    potential : ndarray, shape of the columns
        Its derivatives with respect to density, gradient and tau, in hartree, hartree bohr and of no unit.
    """
    from taichi_kernels.devices import probe
    from taichi_kernels.formulas import functional_at_points

    if not functional.by_kernel or not probe(target.device).double:
        return _by_libxc(functional.name, _without_noise(columns, noise))
    energy, ones = np.empty(columns.shape[-1]), np.ones(columns.shape[-1])
    n = 4 if functional.needs_gradient else 1
    density, kinetic = (np.ascontiguousarray(part) for part in (columns[:, :n], columns[:, n:]))
    potential, by_tau = np.empty_like(density), np.empty_like(kinetic)
    tau = (kinetic, by_tau) if functional.needs_tau else None
    functional_at_points(functional, density, ones, energy, potential, target, watcher(), noise, tau)
    return energy, np.concatenate([potential, by_tau], axis=1)


def _without_noise(columns: Reals, noise: float) -> Reals:
    """Nothing in place of what spins have up to some part of the whole density."""
    known: NDArray[np.bool_] = columns[:, 0] > noise * columns[:, 0].sum(axis=0)
    return np.where(known[:, None], columns, 0.0) if noise else columns


def _of_libxc(name: str, known: list[str]) -> Functional:
    """A functional of libxc.

    Parameters
    ----------
    name
        As PySCF has it.
    known
        Names that do without PySCF.

    Raises
    ------
    OrbitileError
        When there is no such functional, it takes PySCF which is not installed, or more than density, gradient, tau
        and exact exchange.
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
        kind, (omega, far, near) = libxc.xc_type(name), _exact_in_libxc(name, libxc)
    except (KeyError, ValueError, IndexError, NotImplementedError) as error:
        codes = [code.lower() for code in (*libxc.XC_CODES, *libxc.XC_ALIAS)]
        close = get_close_matches(name, [*known, *codes], 3)
        hint = f"; did you mean {' or '.join(dict.fromkeys(close))}?" if close else ", such as pbe or lda,vwn"
        raise OrbitileError(f"functional {name!r}: expected one of PySCF's names{hint}") from error
    if libxc.is_nlc(name):
        raise OrbitileError(
            f"functional {name}: has nonlocal correlation (VV10), which is not computed; use one without, such as pbe"
        )
    if kind == "MGGA" and libxc.needs_laplacian(name):
        raise OrbitileError(
            f"functional {name}: depends on the Laplacian of the density, which is not computed; use one that does "
            "not, such as r2scan"
        )
    exact = ExactExchange(near, far - near if omega else 0.0, omega)
    return Functional(
        name, by_kernel=False, needs_gradient=kind in ("GGA", "MGGA"), needs_tau=kind == "MGGA", exact=exact
    )


def _exact_in_libxc(name: str, libxc: Any) -> tuple[float, float, float]:
    """Omega, and the shares of exact exchange far away and close by."""
    omega, far, beyond = libxc.rsh_coeff(name)
    return (omega, far, far + beyond) if omega else (0.0, 0.0, libxc.hybrid_coeff(name))


def _by_libxc(name: str, columns: Reals) -> tuple[Reals, Reals]:
    """Energy per volume, shape (n_points,), and derivatives by density, gradient and tau, shape of these."""
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
