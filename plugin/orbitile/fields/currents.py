r"""Currents that a magnetic field induces, and the shielding that follows from them.

The current density is linear in the field B, and given per field. The gauge origin is the point itself where the
current is computed (continuous transformation of the origin, CTOCD-DZ: T. A. Keith and R. F. W. Bader, Chem. Phys.
Lett. 1993, 210, 223; P. Lazzeretti, M. Malagoli and R. Zanasi, Chem. Phys. Lett. 1994, 220, 299), so that it does not
depend on an origin. With the direction n of the field, real functions :math:`\eta_i`, and the first-order coefficients
of orbitals by angular momentum about a centre c and by linear momentum p,

.. math::

    U^L_{ai} &= \frac{\langle a|n \cdot (r - c) \times \nabla|i\rangle}{2 (\epsilon_a - \epsilon_i)}, \quad
    U^m_{ai} = \frac{\langle a|\partial_m|i\rangle}{2 (\epsilon_a - \epsilon_i)} \\
    \eta_i(r; d) &= \sum_a \psi_a(r) \Bigl(U^L_{ai} - \sum_m (n \times d)_m U^m_{ai}\Bigr) \\
    J(r) &= \sum_i n_i \bigl(\eta_i \nabla\psi_i - \psi_i \nabla\eta_i\bigr)_{d = r - c}

The sum over states is exact for functionals of the density and its gradient, which nothing couples to. To the
coefficients of Hartree-Fock and hybrid functionals the response of exact exchange is added, see
`orbitile.scf.magnetic_response`; where that cannot be, as the file does not name its method or the functional depends
on the kinetic energy density, currents are called uncoupled.

The magnetic field of the current is, by Biot and Savart, :math:`\alpha^2 \nabla \times \int J(r') / |r - r'| dr'`,
and the shielding is its part against n. The curl is taken of the current, so that the shielding is the potential of a
sum of Gaussians.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..base.arrays import Reals
from ..base.caches import Derived
from ..base.errors import FieldError
from ..base.registry import module_of
from ..base.watch import checkpoint
from ..gaussians.expansion import GaussianExpansion, concatenated, derivative, merged, of_degree, times_coordinate
from ..gaussians.overlap import momentum_matrices
from ..gaussians.packing import merged_primitives
from ..gaussians.products import TOLERANCE, products_of_sums
from ..model.wavefunction import COMPLEX, Spin, Wavefunction
from . import Field, References
from ._sums import SumField
from .derivatives import norm
from .electrostatic_potential import PotentialOfSum

PRIORITY = 15
GROUP = "Magnetic response"
NAMES = (
    ("current", "How strong a current a magnetic field across the molecule's plane induces (or current:x, :y, :z)"),
    ("current:z:x", "One component of the current that a field along z induces, or any of these"),
    ("shielding", "How much a field of any direction is shielded at each point (positive inside an aromatic ring)"),
    ("shielding:normal", "The same for a field across the molecule's plane (or shielding:x, :y, :z)"),
)

AMPERE = 28.179409
"""nA/T of an atomic unit of current per field, e^2 / m_e: CODATA 2018."""
_PPM = 1e6 * 7.2973525693e-3**2
"""Shielding in ppm by a field of 1, in atomic units: the square of the fine-structure constant."""

_NAME = re.compile(r"(current|shielding)(?::(normal|x|y|z))?(?::([xyz]))?")
_PURE = re.compile(
    r"(?:[ur]o?)?(?:ks-)?(svwn\d?|s?vwn\d?|lda|lsda|pbe(?:pbe)?|revpbe|rpbe|blyp|bp86|b-?p|pw91(?:pw91)?|olyp|hcth\d*|"
    r"b97-?d\d?|pbesol)(?:-d\d?\w*)?",
    re.IGNORECASE,
)
"""Names of functionals of the density and its gradient alone."""
_ALL = 0.95
"""Share of a basis set's orbitals that a sum over states needs: a program may leave out linearly dependent ones."""
_WHOLE = 0.01
"""How far from whole numbers of electrons occupations may be."""
_ACCURACY = 1e-3
"""What approximations of the potential may cost a shielding, in ppm."""

_STRONG, _SHIELDED = 2.0, 5.0
"""Usual isovalues, in nA T^-1 bohr^-2 and ppm."""


def unavailable(wavefunction: Wavefunction) -> dict[str, str]:
    """All names, with the reason, where the orbitals do not suffice."""
    reason = why_not(wavefunction)
    return dict.fromkeys(dict(NAMES), reason) if reason else {}


def why_not(wavefunction: Wavefunction) -> str:
    """Why there are no induced currents; empty where there are."""
    if wavefunction.promolecule:
        return "free atoms have no orbitals"
    if wavefunction.spinors is not None:
        return COMPLEX
    if wavefunction.localised or wavefunction.unordered or wavefunction.overlapping:
        return "induced currents are of canonical orbitals, and these are localised or in no order of energies"
    if len(wavefunction.cell):
        return "induced currents are those of molecules, and this is a periodic system"
    for spin in _spins(wavefunction):
        orbitals = wavefunction.orbitals(spin)
        whole = 2.0 if wavefunction.beta is None else 1.0
        occupations = orbitals.occupations / whole
        if wavefunction.natural or np.abs(occupations - np.rint(occupations)).max(initial=0) > _WHOLE:
            return "induced currents are of one determinant, and these orbitals have fractional occupations"
        n = orbitals.coefficients.shape[1]
        if n < _ALL * wavefunction.n_basis:
            return f"the file has {n} of {wavefunction.n_basis} orbitals; induced currents need the unoccupied ones too"
        if not len(orbitals.energies) or not np.isfinite(orbitals.energies).all():
            return "induced currents need the energies of all orbitals"
    return ""


def _spins(wavefunction: Wavefunction) -> tuple[Spin, ...]:
    return ("alpha",) if wavefunction.beta is None else ("alpha", "beta")


class Coupling(Protocol):
    """What `orbitile.scf.magnetic_response` offers."""

    why_uncoupled: Callable[[Wavefunction], str]
    coupled: Callable[[Wavefunction, Sequence[Transitions], Sequence[Reals]], list[Reals]]


def _coupling() -> Coupling:
    """The module that solves the coupled equations: found by its name, as integrals come after fields."""
    found = module_of("orbitile.scf", Coupling, "magnetic_response")
    assert found is not None
    return found


def why_uncoupled(wavefunction: Wavefunction) -> str:
    """Why a part of the response of orbitals is left out; empty where all of it is there."""
    if _PURE.fullmatch(wavefunction.method.partition("/")[0].strip()):
        return ""
    return _coupling().why_uncoupled(wavefunction)


def is_uncoupled(wavefunction: Wavefunction) -> bool:
    """Whether a part of the response of orbitals is left out."""
    return bool(why_uncoupled(wavefunction))


def normal(wavefunction: Wavefunction) -> Reals:
    """Direction across the plane that the atoms lie closest to; z for a linear molecule along another axis."""
    positions = wavefunction.positions[~wavefunction.is_ghost]
    _, extents, axes = np.linalg.svd(positions - positions.mean(axis=0))
    if len(extents) < 3 or extents[1] < 1e-3 * max(extents[0], 1e-9):
        return np.array([0.0, 0.0, 1.0])
    axis = axes[2]
    return np.asarray(axis * np.sign(axis[np.argmax(np.abs(axis))]), np.float64)


def axis_of(wavefunction: Wavefunction, name: str) -> Reals:
    """Direction of a field by its name: normal, x, y or z."""
    return normal(wavefunction) if name == "normal" else np.eye(3)["xyz".index(name)]


_CURRENTS = Derived[tuple[GaussianExpansion, ...]]("sums of Gaussians")
_SHIELDINGS = Derived[GaussianExpansion]("sums of Gaussians")
_RESPONSES = Derived[tuple[Reals, ...]]("pairs of functions")


def current_of(
    wavefunction: Wavefunction, axis: Reals, which: Sequence[tuple[Spin, int]] | None = None
) -> tuple[GaussianExpansion, GaussianExpansion, GaussianExpansion]:
    """The current density that a field along an axis induces.

    Parameters
    ----------
    wavefunction
    axis : ndarray, shape (3,)
        Direction of the field, a unit vector.
    which
        Occupied orbitals whose contributions are added; all of them where None.

    Returns
    -------
    tuple of GaussianExpansion
        Components along x, y and z, in atomic units per field: times `AMPERE` in nA T^-1 bohr^-2.

    Raises
    ------
    FieldError
        When the orbitals do not suffice.
    """
    if reason := why_not(wavefunction):
        raise FieldError(reason)
    key = (np.round(axis, 12).tobytes(), None if which is None else tuple(which))
    x, y, z = _CURRENTS.of(wavefunction, key, lambda: _current(wavefunction, np.asarray(axis, np.float64), which))
    return x, y, z


def _current(
    wavefunction: Wavefunction, axis: Reals, which: Sequence[tuple[Spin, int]] | None
) -> tuple[GaussianExpansion, ...]:
    primitives = merged_primitives(wavefunction)
    centre = wavefunction.positions.mean(axis=0)
    psi, by_angular, by_linear = first_order(wavefunction, axis, which)
    zeroth, first = (primitives.with_terms(primitives.from_basis @ side) for side in (psi, by_angular))
    slopes = [primitives.with_terms(primitives.from_basis @ side) for side in by_linear]
    # n x d, a row for each of x, y and z of what multiplies d
    across = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    eta = of_degree(first, 1)
    for m, u in np.argwhere(across):
        moved = times_coordinate(slopes[m], u, centre[u])
        eta = replace(eta, terms=eta.terms - across[m, u] * moved.terms)
    found = []
    for k in range(3):
        checkpoint()
        # the gauge origin stays where it is while eta is differentiated
        fixed = sum(across[m, k] * slopes[m].terms for m in range(3))
        steep = derivative(eta, k)
        steep = replace(steep, terms=-steep.terms - of_degree(replace(first, terms=fixed), 2).terms, origin=None)
        rising = replace(derivative(zeroth, k), origin=None)
        parts = [products_of_sums(rising, eta, TOLERANCE), products_of_sums(zeroth, steep, TOLERANCE)]
        found.append(merged(parts))
    return tuple(found)


def first_order(
    wavefunction: Wavefunction, axis: Reals, which: Sequence[tuple[Spin, int]] | None = None
) -> tuple[Reals, Reals, Reals]:
    """Occupied orbitals, and what they become by angular momentum along an axis and by linear momentum.

    Returns
    -------
    occupied : ndarray, shape (n_basis, n)
        Times their occupations.
    by_angular : ndarray, shape (n_basis, n)
        About the mean of the positions of the atoms.
    by_linear : ndarray, shape (3, n_basis, n)
    """
    sides: list[Reals] = []
    parts: list[Reals] = []
    responses = _RESPONSES.of(wavefunction, None, lambda: _responses(wavefunction))
    for spin, response in zip(_spins(wavefunction), responses, strict=True):
        orbitals = wavefunction.orbitals(spin)
        numbers = np.flatnonzero(orbitals.occupations > 0.5).tolist()
        chosen = [place for place, n in enumerate(numbers) if which is None or (spin, n) in which]
        sides.append(orbitals.coefficients[:, numbers][:, chosen] * orbitals.occupations[numbers][chosen])
        along = np.concatenate([np.tensordot(axis, response[:3], 1)[None], response[3:]])[:, :, chosen]
        parts.append(_transitions(wavefunction, spin).virtual @ along)
    found = np.concatenate(parts, axis=2)
    return np.hstack(sides), found[0], found[1:]


@dataclass(frozen=True, eq=False)
class Transitions:
    """Orbitals of a spin between which a perturbation mixes.

    Attributes
    ----------
    occupied, virtual : ndarray, shape (n_basis, n_occupied) and (n_basis, n_virtual)
        Their coefficients.
    gaps : ndarray, shape (n_virtual, n_occupied)
        Differences of their energies, in hartree.
    """

    occupied: Reals
    virtual: Reals
    gaps: Reals


def _transitions(wavefunction: Wavefunction, spin: Spin) -> Transitions:
    orbitals = wavefunction.orbitals(spin)
    full = orbitals.occupations > 0.5
    gaps = orbitals.energies[~full][:, None] - orbitals.energies[full][None]
    if gaps.size and gaps.min() <= 0:
        raise FieldError("induced currents: an unoccupied orbital lies below an occupied one")
    return Transitions(orbitals.coefficients[:, full], orbitals.coefficients[:, ~full], gaps)


def _responses(wavefunction: Wavefunction) -> tuple[Reals, ...]:
    """Coefficients U by three angular momenta and three linear ones, of each spin."""
    centre = wavefunction.positions.mean(axis=0)
    linear, angular = momentum_matrices(wavefunction, centre)
    spins = [_transitions(wavefunction, spin) for spin in _spins(wavefunction)]
    bare = [np.array([0.5 * (s.virtual.T @ o @ s.occupied) / s.gaps for o in (*angular, *linear)]) for s in spins]
    return tuple(bare if is_uncoupled(wavefunction) else _coupling().coupled(wavefunction, spins, bare))


def shielding_of(wavefunction: Wavefunction, axis: Reals | None) -> GaussianExpansion:
    """The sum of Gaussians whose potential is the shielding in ppm of a field along an axis; None: their mean."""
    if axis is None:
        return _SHIELDINGS.of(
            wavefunction,
            None,
            lambda: merged([shielding_of(wavefunction, along).scaled(1 / 3) for along in np.eye(3)]),
        )

    def make() -> GaussianExpansion:
        current = current_of(wavefunction, axis)
        parts = []
        for k in range(3):
            u, v = (k + 1) % 3, (k + 2) % 3
            if axis[k]:
                parts += [
                    derivative(current[v], u).scaled(-_PPM * axis[k]),
                    derivative(current[u], v).scaled(_PPM * axis[k]),
                ]
        return merged(parts)

    return _SHIELDINGS.of(wavefunction, np.round(axis, 12).tobytes(), make)


def resolve(wavefunction: Wavefunction, name: str, references: References) -> Field | None:
    """The field that a name stands for, or None.

    Raises
    ------
    FieldError
        When the orbitals do not suffice.
    """
    match = _NAME.fullmatch(name.strip().lower())
    if match is None or (match[1] == "shielding" and match[3]):
        return None
    family, along, component = match.groups()
    uncoupled = " (uncoupled)" if is_uncoupled(wavefunction) else ""
    if family == "shielding":
        axis = None if along is None else axis_of(wavefunction, along)
        what = "isotropic shielding" if along is None else f"shielding of a field along {_told(along)}"
        expansion = shielding_of(wavefunction, axis)
        return PotentialOfSum(expansion, wavefunction.positions, f"{what}{uncoupled}", "ppm", _SHIELDED, _ACCURACY)
    along = along or "normal"
    parts = [part.scaled(AMPERE) for part in current_of(wavefunction, axis_of(wavefunction, along))]
    what = f"current induced by a field along {_told(along)}{uncoupled}"
    if component:
        parts, what = [parts["xyz".index(component)]], f"{component} of the {what}"
    return SumField(
        tuple(parts),
        what,
        "nA T^-1 bohr^-2",
        _STRONG,
        concatenated(parts),
        wavefunction.positions,
        combine=None if component else norm,
        is_difference=bool(component),
    )


def _told(along: str) -> str:
    return "the normal" if along == "normal" else along
