r"""Basins of the electron localisation function: cores, bonds and lone pairs, and their electrons.

As B. Silvi and A. Savin have them (Nature 1994, 371, 683): a basin about a nucleus is a core; others are of the
valence, and named by the cores that they touch (their synaptic order: B. Silvi, J. Mol. Struct. 2002, 614, 3), V(C1,C2)
for a bond, V(O1) for a lone pair; a hydrogen atom has no core and belongs to the basin that it is in.

Cores are far smaller than the steps of a lattice of the molecule: each is the inside of a sphere, at the minimum of the
function's average over directions that encloses about as many electrons as the shells of the core have. Outside of them
space is shared out on a lattice (`partition`), and the density is integrated on the points of a quadrature.

**Shares** of basins in the points of a lattice are by the method of M. Yu and D. R. Trinkle (J. Chem. Phys.
2011, 134, 064111): what is at a point flows to those of its neighbours where the field is higher, in proportion to the
difference,

.. math::  w_A(X) = \sum_{X'} J_{X X'}\, w_A(X'), \qquad
    J_{XX'} = \frac{a_{XX'} (f_{X'} - f_X) / l_{XX'}}{\sum_{X''} a_{XX''} (f_{X''} - f_X) / l_{XX''}}

over neighbours with a higher value, whose cells touch its own along an area a at a distance l. On a cubic lattice these
are six of equal weight. What is integrated with these shares converges with the square of the spacing.

Points are done in waves: those come next all of whose higher neighbours are done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import Reals
from ..base.caches import Derived
from ..base.errors import OrbitileError
from ..base.memory import share
from ..base.watch import checkpoint, pieces, stage
from ..evaluation.devices import device_session, first_device
from ..evaluation.lattices import compute
from ..evaluation.points import evaluate
from ..model.cell import molecules_only
from ..model.lattice import Lattice
from ..model.report import atom_names
from ..model.wavefunction import Wavefunction
from ._quadrature import quadrature_with_density
from .qtaim import CUBE, MOLECULE, Integers, directions_of, lattice_about, maxima, neighbours_along
from .topology import Spheres

SPACINGS = {"quick": 0.22, "normal": 0.16, "fine": 0.11}
"""Spacing of the lattice in bohr."""

_LEAST = 0.02
"""Value of the function below which there are no basins; it fades out with the density below 0.001 e bohr^-3."""

_SAME = 0.005
"""Depth of the saddle between two maxima below which they are one: on a ring about an axis, a lattice makes several."""

_CORES = ((2, 0), (10, 2), (18, 10), (30, 18), (36, 28), (48, 36), (54, 46), (80, 54), (86, 78), (118, 86))
"""Up to which atomic number a core has how many electrons."""

_RADII = np.geomspace(0.01, 3.0, 120)
"""Distances in bohr from a nucleus at which the end of its core is looked for."""

_TOUCHED = 0.06
"""Share of the points about a core, or two, that a basin has to have to be of its atom."""

_LEVEL = 4
"""Of the quadrature."""


SHARED = 4
"""Basins that a point may have shares in: the largest."""

_SHARED_AT_ONCE = share("large matrix", 4096)
"""Points whose shares are summed at once: they take 5 kB each."""

_FACES = np.array([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)])
_EARLIER = np.tri(len(_FACES) * SHARED, k=-1, dtype=bool)
"""Which of the shares of all neighbours come before another."""


@dataclass(frozen=True, eq=False)
class Partition:
    """Shares of basins in the points of a cubic lattice.

    Attributes
    ----------
    lattice : Lattice
    basin : ndarray of int32, shape (n_points, SHARED)
        Basins that have a share, the largest first; -1 for none.
    share : ndarray of float32, shape (n_points, SHARED)
        They add up to 1, or 0 where the field is too small.
    """

    lattice: Lattice
    basin: Integers
    share: NDArray[np.float32]

    def largest(self, points: Reals) -> Integers:
        """The basin with the largest share at each point, -1 for none; shape (n_points,)."""
        place = np.rint((points - self.lattice.origin) / self.lattice.spacings).astype(np.intp)
        there = np.all((place >= 0) & (place < self.lattice.shape), axis=1)
        nearest = np.ravel_multi_index(tuple(place.T), self.lattice.shape, mode="clip")
        return np.where(there, self.basin[nearest, 0], np.int32(-1))


def partition(values: NDArray[np.floating], lattice: Lattice, least: float, sources: Integers) -> Partition:
    """Share the points of a lattice out to basins.

    Parameters
    ----------
    values : ndarray, shape (nx, ny, nz)
        The field, on a lattice of cubes.
    lattice
        Its lattice.
    least
        Points with smaller values belong to nobody.
    sources : ndarray of int32, shape (n_points,)
        Basin of the points for which it is known, among them all `maxima`; -1 for others.

    Returns
    -------
    Partition
        Memory: some 150 bytes for each point above the limit while it is made, 32 for each point afterwards.
    """
    n_points = values.size
    flat = values.reshape(-1)
    inside = np.flatnonzero(flat > least)
    order = inside[np.argsort(-flat[inside], kind="stable")]
    rank = np.full(np.array(values.shape) + 2, -1, np.int32)
    at = np.stack(np.unravel_index(order, values.shape)) + 1
    rank[tuple(at)] = np.arange(len(order), dtype=np.int32)
    sorted_values = flat[order].astype(np.float64)
    checkpoint()
    neighbours = np.stack([rank[tuple(at + move[:, None])] for move in _FACES], axis=1)
    own = np.arange(len(order), dtype=np.int32)[:, None]
    known = sources[order] >= 0
    flow = np.where((neighbours >= 0) & (neighbours < own) & ~known[:, None], neighbours, -1)
    # on a sharp ridge along a diagonal none of the six may be higher where one of the 26 is
    for n in np.flatnonzero(~known & (flow < 0).all(axis=1)).tolist():
        around = rank[tuple(at[:, n, None] + CUBE.T)]
        around = around[around >= 0]
        flow[n, 0] = around.min() if len(around) and around.min() < n else -1
    waiting = (flow >= 0).sum(axis=1).astype(np.int8)
    basin, share = np.full((n_points, SHARED), -1, np.int32), np.zeros((n_points, SHARED), np.float32)
    made_basin, made_share = np.full((len(order), SHARED), -1, np.int32), np.zeros((len(order), SHARED), np.float32)
    made_basin[known, 0], made_share[known, 0] = sources[order[known]], 1.0
    below, first_below = _transposed(flow)
    wave = np.flatnonzero(waiting == 0)
    done = 0
    while len(wave):
        checkpoint(done / len(order))
        done += len(wave)
        _share_wave(wave[~known[wave]], flow, sorted_values, made_basin, made_share)
        counts = first_below[wave + 1] - first_below[wave]
        starts = np.repeat(first_below[wave] - np.cumsum(counts) + counts, counts)
        reached = below[starts + np.arange(len(starts))]
        np.subtract.at(waiting, reached, 1)
        wave = np.unique(reached[waiting[reached] == 0])
    basin[order], share[order] = made_basin, made_share
    return Partition(lattice, basin, share)


def _transposed(flow: Integers) -> tuple[Integers, NDArray[np.int64]]:
    """For each point those that flow to it, one after the other, and where they begin."""
    source, direction = np.nonzero(flow >= 0)
    goal = flow[source, direction]
    order = np.argsort(goal, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(goal, minlength=len(flow)))])
    return source[order].astype(np.int32), first


def _share_wave(
    points: NDArray[np.intp], flow: Integers, values: Reals, basin: Integers, share: NDArray[np.float32]
) -> None:
    """Shares of points from those of the points that they flow to."""
    for piece in pieces(len(points), _SHARED_AT_ONCE):
        some = points[piece]
        goals = flow[some]
        there = goals >= 0
        main = basin[goals, 0]
        reference = main[np.arange(len(some)), there.argmax(axis=1)]
        alone = ((share[goals, 0] > 1 - 1e-6) & (main == reference[:, None])) | ~there
        same = alone.all(axis=1) & there.any(axis=1)
        basin[some[same], 0], share[some[same], 0] = reference[same], 1.0
        mixed, goals, there = some[~same], goals[~same], there[~same]
        if not len(mixed):
            continue
        weight = np.where(there, values[goals] - values[mixed][:, None], 0.0) + np.where(there, 1e-30, 0.0)
        weight /= np.maximum(weight.sum(axis=1, keepdims=True), 1e-300)
        which = np.where(there[..., None], basin[goals], -1).reshape(len(mixed), -1)
        part = (share[goals] * weight[..., None]).reshape(len(mixed), -1) * (which >= 0)
        together = which[:, :, None] == which[:, None, :]
        total = np.einsum("nij,nj->ni", together, part)
        later = (together & _EARLIER).any(axis=2) | (which < 0)
        total[later] = 0.0
        largest = np.argsort(-total, axis=1, kind="stable")[:, :SHARED]
        kept = np.take_along_axis(total, largest, axis=1)
        kept /= np.maximum(kept.sum(axis=1, keepdims=True), 1e-300)
        share[mixed] = kept
        basin[mixed] = np.where(kept > 0, np.take_along_axis(which, largest, axis=1), -1)


@dataclass(frozen=True, eq=False)
class ElfBasins:
    """Basins of the electron localisation function, cores first, then those of the valence by their populations.

    Attributes
    ----------
    names : tuple of str
        C(O1) for a core, V(O1,H2) for a bond.
    atoms : tuple of tuple of int
        The atoms that each belongs to, from 0.
    position : ndarray, shape (n, 3)
        Of the attractors in bohr.
    value : ndarray, shape (n,)
        Of the function there, on the lattice; 1 for cores.
    population : ndarray, shape (n,)
        Electrons.
    volume : ndarray, shape (n,)
        In bohr^3, about where the density is above 0.001 e bohr^-3.
    """

    names: tuple[str, ...]
    atoms: tuple[tuple[int, ...], ...]
    position: Reals
    value: Reals
    population: Reals
    volume: Reals


_BASINS = Derived[ElfBasins]("analyses")


def elf_basins(wavefunction: Wavefunction, accuracy: str = "normal", device: str | None = None) -> ElfBasins:
    """Find and integrate the basins of the electron localisation function.

    Parameters
    ----------
    wavefunction
    accuracy
        quick, normal or fine: a lattice of 0.22, 0.16 or 0.11 bohr.
    device
        As for `orbitile.evaluate`.

    Raises
    ------
    OrbitileError
        For another accuracy, or when there are no basins.
    """
    molecules_only(wavefunction, "basins", "those that cross the faces of the cell would be cut there")
    if accuracy not in SPACINGS:
        raise OrbitileError(f"accuracy: expected {' or '.join(SPACINGS)}, got {accuracy!r}")
    return _BASINS.of(wavefunction, accuracy, lambda: _found(wavefunction, SPACINGS[accuracy], device))


def _found(wavefunction: Wavefunction, spacing: float, device: str | None) -> ElfBasins:
    device = first_device(device)
    lattice = lattice_about(wavefunction, MOLECULE, spacing)
    with stage(0.0, 0.5):
        values = compute(wavefunction, "elf", lattice, device=device).values
    with stage(0.5, 0.6):
        cores = core_spheres(wavefunction, device)
    with stage(0.6, 0.8):
        shares, peaks = _shares(values, lattice, cores)
    if shares is None:
        raise OrbitileError("basins: the electron localisation function has no maximum, so there are no basins")
    with stage(0.8, 1.0), device_session(device, "single") as target:
        quadrature, electrons = quadrature_with_density(wavefunction, target, _LEVEL)
        checkpoint()
        population = _populations(quadrature.points, electrons, cores, shares, len(cores) + len(peaks))
    volume = np.zeros(len(population))
    for basin, part in zip(shares.basin.T, shares.share.T, strict=True):
        volume += np.bincount(basin[basin >= 0], part[basin >= 0], len(volume)) * lattice.cell_volume
    return _named(wavefunction, cores, shares, peaks, values.reshape(-1), population, volume)


def core_spheres(wavefunction: Wavefunction, device: str | None = None) -> Spheres:
    """Spheres that hold the cores of the atoms, of radius 0 for atoms without one."""
    radius = np.zeros(wavefunction.n_atoms)
    directions, weights = directions_of(9)
    for atom, (number, charge) in enumerate(
        zip(wavefunction.atomic_numbers.tolist(), wavefunction.core_charges.tolist(), strict=True)
    ):
        of_shells = next(electrons for last, electrons in _CORES if number <= last)
        wanted = of_shells - (number - charge)
        if wanted < 1:
            continue
        checkpoint()
        points = (wavefunction.positions[atom] + _RADII[:, None, None] * directions).reshape(-1, 3)
        density, value = (
            evaluate(wavefunction, field, points, device=device).reshape(len(_RADII), -1) @ weights
            for field in ("density", "elf")
        )
        enclosed = np.cumsum(np.gradient(_RADII) * _RADII**2 * density)
        low = np.flatnonzero((value[1:-1] < value[:-2]) & (value[1:-1] <= value[2:])) + 1
        if len(low):
            best = low[np.abs(enclosed[low] - wanted).argmin()]
            if abs(enclosed[best] - wanted) < 0.5 * wanted:
                radius[atom] = _RADII[best]
    return Spheres(wavefunction.positions, radius)


def _shares(
    values: NDArray[np.floating], lattice: Lattice, cores: Spheres
) -> tuple[Partition | None, NDArray[np.intp]]:
    """Shares of the cores, by their atoms, and then of the other basins; and the lattice points of their peaks."""
    sources = cores.around(lattice.points()).astype(np.int32)
    found = maxima(values, _LEAST)
    found = found[sources[found] < 0]
    flat = values.reshape(-1)
    found = found[np.argsort(-flat[found], kind="stable")]
    if not len(found):
        return None, found
    sources[found] = len(cores) + np.arange(len(found))
    shares = partition(values, lattice, _LEAST, sources)
    group = _merged(shares, flat, len(cores), found)
    kept, number = np.unique(group, return_inverse=True)
    new = np.concatenate([np.arange(len(cores)), len(cores) + number, [-1]]).astype(np.int32)
    return Partition(lattice, new[shares.basin], shares.share), found[kept]


def _merged(shares: Partition, flat: NDArray[np.floating], first: int, peaks: NDArray[np.intp]) -> NDArray[np.intp]:
    """For each peak, highest first, the highest one that it is no more than a shoulder of."""
    one, other = _touching(shares, flat.shape)
    basins = np.stack([shares.basin[one, 0], shares.basin[other, 0]]) - first
    between = (basins >= 0).all(axis=0)
    saddle = np.minimum(flat[one], flat[other])[between]
    basins = np.sort(basins[:, between], axis=0)
    order = np.argsort(-saddle, kind="stable")
    group = np.arange(len(peaks))
    height = flat[peaks]

    def top(n: int) -> int:
        while group[n] != n:
            n = int(group[n])
        return n

    seen: set[tuple[int, int]] = set()
    for n in order.tolist():
        pair = (int(basins[0, n]), int(basins[1, n]))
        if pair in seen:  # a lower point between the same two
            continue
        seen.add(pair)
        high, low = sorted((top(pair[0]), top(pair[1])))
        if high != low and height[low] - saddle[n] < _SAME:
            group[low] = high
    return np.array([top(n) for n in range(len(peaks))])


def _touching(shares: Partition, n: tuple[int, ...]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Neighbours on the lattice that are mostly of different basins."""
    label = shares.basin[:, 0].reshape(shares.lattice.shape)
    index = np.arange(n[0]).reshape(label.shape)
    ones, others = [], []
    for axis in range(3):
        before, after = neighbours_along(axis)
        differ = (label[before] != label[after]) & (label[before] >= 0) & (label[after] >= 0)
        ones.append(index[before][differ])
        others.append(index[after][differ])
    return np.concatenate(ones), np.concatenate(others)


def _populations(points: Reals, electrons: Reals, cores: Spheres, shares: Partition, n_basins: int) -> Reals:
    """Electrons of the basins: shares are interpolated between the points of the lattice, and go on outside of it."""
    from scipy.ndimage import distance_transform_edt

    core = cores.around(points)
    population = np.zeros(n_basins)
    np.add.at(population, core[core >= 0], electrons[core >= 0])
    points, electrons = points[core < 0], electrons[core < 0]
    lattice = shares.lattice
    # core points of the lattice are nobody's here: what is outside of the sphere is of the valence
    valence = (shares.basin[:, 0] >= len(cores)).reshape(lattice.shape)
    nearest = distance_transform_edt(~valence, return_distances=False, return_indices=True)
    goal = np.ravel_multi_index(tuple(nearest), lattice.shape).reshape(-1)
    shape = np.array(lattice.shape)
    place = np.clip((points - lattice.origin) / lattice.spacings, 0, shape - 1 - 1e-9)
    low = np.minimum(place.astype(np.intp), np.maximum(shape - 2, 0))
    part = place - low
    for corner in np.ndindex(2, 2, 2):
        checkpoint()
        weight = electrons * np.prod(np.where(corner, part, 1 - part), axis=1)
        at = goal[np.ravel_multi_index(tuple(np.minimum(low + corner, shape - 1).T), lattice.shape)]
        basin, share = shares.basin[at], np.where(shares.basin[at] >= len(cores), shares.share[at], 0.0)
        share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-30)
        amount = share * weight[:, None]
        population += np.bincount(np.maximum(basin, 0).reshape(-1), amount.reshape(-1), n_basins)
    return population


def _named(
    wavefunction: Wavefunction,
    cores: Spheres,
    shares: Partition,
    peaks: NDArray[np.intp],
    flat: NDArray[np.floating],
    population: Reals,
    volume: Reals,
) -> ElfBasins:
    """Names from what touches what, and the order in which basins are shown."""
    n_cores = len(cores)
    members: list[set[int]] = [set() for _ in peaks]
    one, other = _touching(shares, flat.shape)
    both = np.concatenate([np.stack([one, other]), np.stack([other, one])], axis=1)
    touching = shares.basin[both, 0]
    for atom in np.flatnonzero(cores.radius > 0).tolist():
        about = np.unique(both[1, (touching[0] == atom) & (touching[1] >= n_cores)])
        basin, count = np.unique(shares.basin[about, 0] - n_cores, return_counts=True)
        for n in basin[count > max(1, _TOUCHED * len(about))].tolist():
            members[n].add(atom)
    for atom in np.flatnonzero((cores.radius <= 0) & ~wavefunction.is_ghost).tolist():
        inside = int(shares.largest(wavefunction.positions[atom][None])[0]) - n_cores
        if inside >= 0:
            members[inside].add(atom)
    core_atoms = np.flatnonzero(cores.radius > 0).tolist()
    valence = sorted(range(len(peaks)), key=lambda n: (sorted(members[n]), -population[n_cores + n]))
    atoms = [(atom,) for atom in core_atoms] + [tuple(sorted(members[n])) for n in valence]
    order = np.array([*core_atoms, *(n_cores + n for n in valence)], np.intp)
    at = np.stack(np.unravel_index(peaks, shares.lattice.shape), axis=1)
    places = shares.lattice.origin + at * shares.lattice.spacings
    return ElfBasins(
        tuple(_names(wavefunction, len(core_atoms), atoms)),
        tuple(atoms),
        np.concatenate([wavefunction.positions, places])[order],
        np.concatenate([np.ones(n_cores), flat[peaks]])[order],
        population[order],
        volume[order],
    )


def _names(wavefunction: Wavefunction, n_cores: int, atoms: Sequence[tuple[int, ...]]) -> list[str]:
    """C(O1), V(O1,H2), and V1(O1), V2(O1) where there are several."""
    known = atom_names(wavefunction.atomic_numbers)
    inside = [",".join(known[atom] for atom in of_one) for of_one in atoms]
    names = []
    for n, text in enumerate(inside):
        alike = [m for m in range(n_cores, len(inside)) if inside[m] == text] if n >= n_cores else []
        number = str(alike.index(n) + 1) if len(alike) > 1 else ""
        names.append(f"{'C' if n < n_cores else 'V'}{number}({text})")
    return names
