"""The functionals of libxc (S. Lehtola et al., SoftwareX 2018, 7, 1), by PySCF."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...base.errors import OrbitileError
from ...base.imports import with_settings_of_the_user
from ...base.packages import install_command
from ...base.watch import checkpoint

Reals = NDArray[np.float64]

_AT_ONCE = 1 << 16
"""Points, between which one may cancel."""


def needs_gradient(name: str, known: list[str], semilocal_only: bool) -> bool:
    """Whether a functional of libxc depends on the gradient of the density.

    Parameters
    ----------
    name
        As PySCF has it.
    known
        Names that do without PySCF.
    semilocal_only
        Whether exact exchange in it is to be left out; otherwise it is refused.

    Raises
    ------
    OrbitileError
        When there is no such functional, it takes PySCF which is not installed, or more than density and gradient.
    """
    try:
        libxc = with_settings_of_the_user("pyscf", "dft.libxc")
    except ImportError as error:
        raise OrbitileError(
            f"functional {name}: takes libxc, from PySCF ({install_command('pyscf')}); without it there are "
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
    if (hybrid or nonlocal_) and not semilocal_only:
        what = "exact exchange" if hybrid else "correlation between distant points"
        raise OrbitileError(f"functional {name}: has {what}, which is not computed here; use another, such as pbe")
    return bool(kind == "GGA")


def at_points(name: str, columns: Reals) -> tuple[Reals, Reals]:
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
