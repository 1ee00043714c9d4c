r"""Composition of orbitals: which share of each is on which atoms, and of which angular momenta.

With the coefficients :math:`c_{\mu i}` of the orbitals and the overlap :math:`S` of the basis functions, basis function
mu has of orbital i the share

.. math::  c_{\mu i} \sum_\nu S_{\mu\nu} c_{\nu i}

by R. S. Mulliken (J. Chem. Phys. 1955, 23, 1833), who halves what two functions have in common, and

.. math::  \Big(\sum_\nu (S^{1/2})_{\mu\nu} c_{\nu i}\Big)^2

by P.-O. Loewdin (J. Chem. Phys. 1950, 18, 365). G. Knizia's intrinsic atomic orbitals (J. Chem. Theory Comput. 2013,
9, 4834) have the squares of their overlaps with an orbital; they span the occupied orbitals, and what an unoccupied one
has beyond them belongs to no atom. By A. D. Becke's fuzzy cells (J. Chem. Phys. 1988, 88, 2547) and by the shares of
free atoms in the density of F. L. Hirshfeld (Theor. Chim. Acta 1977, 44, 129) an atom has :math:`\int w_A \psi_i^2`,
which knows nothing of angular momenta. The shares of an orbital add up to its norm, 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..base.arguments import Fragment
from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..base.memory import require_memory, share
from ..base.watch import checkpoint, pieces
from ..evaluation.requests import field_of
from ..fields._frontier import frontier_order
from ..fields.orbital import Orbital, orbital_name, orbital_range
from ..gaussians.overlap import own_overlap
from ..model.wavefunction import Wavefunction
from .charges import overlap_root

Labels = NDArray[np.intp]
Population = Literal["mulliken", "loewdin"]

POPULATIONS: tuple[Population, ...] = ("mulliken", "loewdin")
"""Schemes that share out by basis functions, and so by angular momenta too."""

CELLS = ("hirshfeld", "becke")
"""Schemes that share out space, and know nothing of angular momenta."""

SCHEMES = (*POPULATIONS, "iao", *CELLS)
"""All schemes."""

AT_ONCE = share("lists", 8)
"""Coefficients whose shares are formed at once, in three arrays."""

_LARGE_BASIS = 3000
"""Basis functions from which Loewdin's scheme takes more than 10 s on two cores."""

_POINTS = 1 << 18
"""Points at which orbitals are squared at once: 2 MB an orbital."""

_AROUND = 2
"""Orbitals on each side of the gap that are analysed where none are named."""


@dataclass(frozen=True, eq=False)
class Composition:
    """Shares in orbitals.

    Attributes
    ----------
    orbitals : tuple of Orbital
    atoms : ndarray, shape (n_atoms, n_orbitals)
        Share of each atom.
    momenta : ndarray, shape (n_atoms, n_momenta, n_orbitals)
        The same by angular momentum, from s on; `n_momenta` is 0 for a scheme that does not know them.
    """

    orbitals: tuple[Orbital, ...]
    atoms: Reals
    momenta: Reals

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the orbitals as fields."""
        return tuple(orbital.name for orbital in self.orbitals)


def composition(
    wavefunction: Wavefunction, orbitals: Sequence[Orbital], scheme: str = "mulliken", device: str | None = None
) -> Composition:
    """Shares of the atoms and of their angular momenta in orbitals.

    Parameters
    ----------
    wavefunction
    orbitals
        Orbitals in its basis set, as from `orbitals_of`.
    scheme
        mulliken, whose shares may be below 0 or above 1; loewdin, iao, hirshfeld or becke, whose are not.
    device
        Of hirshfeld and becke, as for `orbitile.evaluate`.

    Returns
    -------
    Composition

    Raises
    ------
    OrbitileError
        For another scheme, for more orbitals than fit into memory (24 bytes for each of them, atom and momentum), and
        where there are no intrinsic atomic orbitals, or no free atom of an element.
    """
    if scheme == "iao":
        return _over_intrinsic(wavefunction, orbitals)
    if scheme in CELLS:
        atoms = _shares_in_cells(wavefunction, orbitals, scheme, device)
        return Composition(tuple(orbitals), atoms, np.zeros((len(atoms), 0, len(orbitals))))
    atom_of, momentum_of = functions_by(wavefunction)
    n_momenta = int(momentum_of.max()) + 1
    labels = atom_of * n_momenta + momentum_of
    n_groups = wavefunction.n_atoms * n_momenta
    require_memory(3 * 8 * n_groups * len(orbitals), "shares in these orbitals", "name fewer orbitals")
    shares = shares_of_groups(wavefunction, coefficients_of(orbitals), labels, n_groups, scheme)
    return _by_momenta(orbitals, shares.reshape(wavefunction.n_atoms, n_momenta, len(orbitals)))


def _by_momenta(orbitals: Sequence[Orbital], momenta: Reals) -> Composition:
    return Composition(tuple(orbitals), momenta.sum(axis=1), momenta)


def _over_intrinsic(wavefunction: Wavefunction, orbitals: Sequence[Orbital]) -> Composition:
    """Squares of the overlaps of orbitals with the intrinsic atomic orbitals of their spins."""
    from ..gaussians.localised.intrinsic_atomic_orbitals import in_intrinsic, intrinsic_atomic_orbitals

    n_momenta = max(shell.angular_momentum for shell in wavefunction.shells) + 1
    momenta = np.zeros((wavefunction.n_atoms, n_momenta, len(orbitals)))
    for n, orbital in enumerate(orbitals):
        checkpoint(n / len(orbitals))
        atomic = intrinsic_atomic_orbitals(wavefunction, orbital.spin)
        of_each = np.repeat([s.angular_momentum for s in atomic.shells], [s.n_functions for s in atomic.shells])
        shares = in_intrinsic(wavefunction, atomic, coefficients_of([orbital]))[:, 0] ** 2
        np.add.at(momenta[:, :, n], (atomic.atoms, of_each), shares)
    return _by_momenta(orbitals, momenta)


def functions_by(wavefunction: Wavefunction) -> tuple[Labels, Labels]:
    """The atom, from 0, and the angular momentum of each basis function; shapes (n_basis,)."""
    sizes = [shell.n_functions for shell in wavefunction.shells]
    atoms = np.repeat(np.array([shell.atom for shell in wavefunction.shells], np.intp), sizes)
    momenta = np.repeat(np.array([shell.angular_momentum for shell in wavefunction.shells], np.intp), sizes)
    return atoms, momenta


def groups_of_atoms(n_atoms: int, fragments: Sequence[Fragment]) -> tuple[tuple[str, ...], Labels]:
    """Names of groups of atoms, and the group of each atom, from 0, shape (n_atoms,): fragments, and the rest if any.

    Raises
    ------
    OrbitileError
        When a fragment has atoms that the molecule does not have.
    """
    labels = np.full(n_atoms, len(fragments), np.intp)
    for n, fragment in enumerate(fragments):
        if fragment.atoms[-1] >= n_atoms:
            raise OrbitileError(
                f"fragment {fragment.name}: expected atoms from 1 to {n_atoms}, got {fragment.atoms[-1] + 1}"
            )
        labels[list(fragment.atoms)] = n
    names = tuple(fragment.name for fragment in fragments)
    return (*names, *(("rest",) if np.any(labels == len(fragments)) else ())), labels


def coefficients_of(orbitals: Sequence[Orbital]) -> Reals:
    """Coefficients of orbitals side by side, shape (n_basis, n_orbitals)."""
    columns = [orbital.wavefunction.orbitals(orbital.spin).coefficients[:, orbital.index] for orbital in orbitals]
    return np.stack(columns, axis=1)


def shares_of_groups(
    wavefunction: Wavefunction, coefficients: Reals, labels: Labels, n_groups: int, scheme: str = "mulliken"
) -> Reals:
    """Shares of groups of basis functions in orbitals.

    Parameters
    ----------
    wavefunction
        Its basis set is meant.
    coefficients : ndarray, shape (n_basis, n_orbitals)
    labels : ndarray of int, shape (n_basis,)
        The group of each basis function, from 0; -1 for none.
    n_groups : int
    scheme
        mulliken or loewdin.

    Returns
    -------
    ndarray, shape (n_groups, n_orbitals)

    Raises
    ------
    OrbitileError
        For another scheme.
    """
    from scipy.sparse import csr_matrix

    if scheme not in POPULATIONS:
        raise OrbitileError(f"shares in orbitals: expected {', '.join(SCHEMES)}, got {scheme!r}")
    matrix = own_overlap(wavefunction) if scheme == "mulliken" else overlap_root(wavefunction)
    inside = np.flatnonzero(labels >= 0)
    members = csr_matrix((np.ones(len(inside)), (labels[inside], inside)), shape=(n_groups, len(labels)))
    shares = np.empty((n_groups, coefficients.shape[1]))
    for some in pieces(coefficients.shape[1], AT_ONCE // len(coefficients)):
        image = matrix @ coefficients[:, some]
        shares[:, some] = members @ (image * (coefficients[:, some] if scheme == "mulliken" else image))
    return shares


def usual_scheme(wavefunction: Wavefunction) -> str:
    """loewdin, whose shares are never negative; mulliken where that would take long."""
    return "loewdin" if wavefunction.n_basis < _LARGE_BASIS else "mulliken"


def warning_of_root(wavefunction: Wavefunction, scheme: str) -> str:
    """That Loewdin's scheme takes long, where it does: a sentence, or nothing."""
    n = wavefunction.n_basis
    if scheme != "loewdin" or n < _LARGE_BASIS:
        return ""
    return f"Loewdin's scheme for {n} basis functions takes about {10 * (n / _LARGE_BASIS) ** 3:.0f} s"


def _shares_in_cells(wavefunction: Wavefunction, orbitals: Sequence[Orbital], scheme: str, device: str | None) -> Reals:
    """Integrals of the squares of orbitals over the cells of the atoms, shape (n_atoms, n_orbitals)."""
    from ..evaluation.devices import device_session
    from ..evaluation.points import evaluate
    from ..integrals.grids import grid_of
    from .charges import SampledDensity, becke_populations, hirshfeld_populations

    populations_of = {"becke": becke_populations, "hirshfeld": hirshfeld_populations}[scheme]
    with device_session(device, "single") as target:
        grid = grid_of(wavefunction.atomic_numbers, wavefunction.positions, target, borders="becke")
    shares = np.zeros((wavefunction.n_atoms, len(orbitals)))
    for some in pieces(len(grid), _POINTS):
        points = grid.points[some]
        squares = [evaluate(wavefunction, one, points, device=device).astype(np.float64) ** 2 for one in orbitals]
        # the first density is taken for that of all electrons, which no orbital is
        densities = np.stack([np.zeros(len(points)), *squares])
        sampled = SampledDensity(points, grid.weights[some], grid.atom[some], densities, target.device)
        shares += populations_of(wavefunction, sampled)[1:].T
    return shares


def orbitals_of(wavefunction: Wavefunction, text: str = "") -> list[Orbital]:
    """The orbitals that a text names: `homo`, `homo-2..lumo+2`, `mo:1-10:beta`, `homo,mo:3`, and names of other kinds.

    An empty text stands for those around the gap, of both spins.

    Raises
    ------
    OrbitileError
        When there is no such orbital, or a name is that of another field.
    """
    names = [name.strip() for name in text.split(",") if name.strip()] or _frontier(wavefunction)
    found: dict[str, Orbital] = {}
    for name in names:
        named = orbital_range(wavefunction, name.lower())
        if named is None:
            field = field_of(wavefunction, name)
            if not isinstance(field, Orbital):
                raise OrbitileError(f"orbitals: expected names such as homo, mo:5 or homo-2..lumo+2, got {name!r}")
            named = [field]
        for orbital in named:
            found.setdefault(orbital.name, orbital)
    return list(found.values())


def _frontier(wavefunction: Wavefunction) -> list[str]:
    names: list[str] = []
    for spin in wavefunction.spins:
        occupied, unoccupied = frontier_order(wavefunction, spin)
        near = [*occupied[-_AROUND - 1 :], *unoccupied[: _AROUND + 1]]
        names += [orbital_name(wavefunction, index, spin) for index in near]
    return names
