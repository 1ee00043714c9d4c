"""Isovalues that show fields well, and those of degenerate orbitals alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..base.caches import Derived
from ..fields import DegenerateSet, Field
from ..gaussians.extent import Spread, directions
from ..model.cell import Cell, cell_of
from ..model.lattice import Lattice, spacing_of
from ..model.wavefunction import Wavefunction
from ..surfaces.isovalue import SHARE, check_share, enclosure, enclosure_along_rays
from .devices import first_device, one_device
from .lattices import compute_many
from .points import evaluate
from .requests import field_of

_ELSEWHERE, _BEYOND = 0.05, 2e-4
"""Shares of what is outside the surface that may be on other atoms, and farther from the atom, of an orbital on one."""

_RAYS, _RAYS_INSIDE, _RATIO, _FEWEST_RADII = 256, 40, 1.14, 8
"""Directions from that atom, fewer where little of the orbital is, and ratio of neighbouring radii."""

_STEPS, _FEWEST_STEPS = 6.0, 4.0
"""Points of the lattice for a default isovalue between an atom and the surface; where they are many, fewer."""

_POINTS, _MOST = 1 << 17, 1 << 23
"""Points that such a lattice has before they are many, of all orbitals together, and at most."""

_OUTSIDE, _MISSING = 3e-3, 0.02
"""Shares of what is outside the surface that the first lattice may leave out, by an estimate, and by its own values."""

_ROUGH, _SMOOTH, _ATTEMPTS = 0.9, 0.7, 5
"""Change from point to point at the surface, in units of the isovalue, above which a finer lattice is taken; what that
one aims at; and how often."""

_UNCHANGED, _FINER = 0.01, 1.5
"""Change of the isovalue of a periodic field with the spacing of the lattice that is none, and ratio of spacings."""

_AGREEING, _DRAWN, _NO_GAP = 0.009, 0.0195, 1e-6
"""Difference of the logarithms of the isovalues in a degenerate set; by how much each may be moved for that, which
changes the share by 0.4 %; and difference of energies in hartree that parts no set."""


_LOGARITHMS = Derived[NDArray[np.float64]]("numbers")
"""Of the isovalues that enclose a share of each member of a degenerate set, by set, share and device."""


def default_isovalue(
    wavefunction: Wavefunction,
    field: str | Field,
    share: float = SHARE,
    *,
    coloured: bool = False,
    device: str | None = None,
) -> float:
    """An isovalue that shows a field well.

    For an orbital, the one whose surface encloses a share of the square of the orbital, whatever its extent; other
    fields have a default of their own.

    Parameters
    ----------
    wavefunction, field, device
        As for `compute`.
    share
        0.9 stands for 90 % of the electron that the orbital describes.
    coloured
        Whether a second field is to colour the surface: of the density that of the whole molecule is taken then, 0.001.

    Returns
    -------
    float
        In the unit of the field, rounded to four digits. The share is met within 0.005: an orbital on one atom is
        sampled along rays from it, others on a lattice whose spacing follows from how close the surface comes to the
        atoms. Within this, those of degenerate orbitals agree to 1 %, unless their shapes differ too much for that.

    Examples
    --------
    >>> round(ob.default_isovalue(ob.load("benzene.molden"), "homo"), 3)
    0.028
    """
    resolved = field_of(wavefunction, field)
    if coloured and resolved.coloured_isovalue is not None:
        return resolved.coloured_isovalue
    if resolved.isovalue is not None:
        return resolved.isovalue
    check_share(share)
    members, device = resolved.degenerate_set, first_device(device)
    key = members.key, share, one_device(device)
    logarithms = _LOGARITHMS.of(
        members.owner, key, lambda: np.log(_enclosing_isovalues(wavefunction, members.fields, share, device))
    )
    return float(f"{_drawn_together(members, logarithms):.4g}")


def _drawn_together(members: DegenerateSet, logarithms: NDArray[np.float64]) -> float:
    """Isovalue of a field of a degenerate set, drawn towards those of the others.

    The shapes of a degenerate set differ, and so do the isovalues that enclose a share: by 3 % for the d orbitals of
    an atom. They are moved to their middle until they differ by `_AGREEING`. Where some would have to move by more
    than `_DRAWN`, the set is parted at its widest gap, for orbitals may be close in energy by accident; and where there
    is no gap, each keeps its own.

    Parameters
    ----------
    members
        The set.
    logarithms : ndarray, shape (n,)
        Of the isovalue that suits each field by itself.
    """
    mine, begin, end = members.place, 0, len(logarithms)
    while end - begin > 1:
        low, high = logarithms[begin:end].min(), logarithms[begin:end].max()
        if high - low <= _AGREEING + 2 * _DRAWN:
            kept = min(1.0, _AGREEING / max(high - low, _AGREEING))
            return float(np.exp((low + high) / 2 + kept * (logarithms[mine] - (low + high) / 2)))
        gaps = np.diff(members.energies[begin:end])
        widest = begin + 1 + int(np.argmax(gaps))
        if gaps.max() < _NO_GAP:
            break
        begin, end = (widest, end) if mine >= widest else (begin, widest)
    return float(np.exp(logarithms[mine]))


def _enclosing_isovalues(
    wavefunction: Wavefunction, fields: Sequence[Field], share: float, device: str | None
) -> list[float]:
    """Isovalues that enclose a share of each field: along rays where it is on one atom, else on lattices."""
    if (cell := cell_of(wavefunction)) is not None:
        return _isovalues_in_cell(wavefunction, cell, fields, share, device)
    on_atoms = [_spread_of(field).atoms(_ELSEWHERE * (1 - share)) for field in fields]
    spread_out = [field for field, atoms in zip(fields, on_atoms, strict=True) if len(atoms) > 1]
    on_lattices = iter(_isovalues_on_lattices(wavefunction, spread_out, share, device) if spread_out else ())
    return [
        _isovalue_along_rays(wavefunction, field, int(atoms[0]), share, device)
        if len(atoms) == 1
        else next(on_lattices)
        for field, atoms in zip(fields, on_atoms, strict=True)
    ]


def _spread_of(field: Field) -> Spread:
    assert field.spread is not None  # every field without a default isovalue has one
    return field.spread


def _isovalues_in_cell(
    wavefunction: Wavefunction, cell: Cell, fields: Sequence[Field], share: float, device: str | None
) -> list[float]:
    """Of periodic fields, on ever finer lattices of the cell, which holds all of each, until they hardly change."""
    step, found = spacing_of("coarse"), np.full(len(fields), np.nan)
    while cell.volume / step**3 <= _MOST:
        before, found = found, np.zeros(len(fields))
        lattice = Lattice.of_cell(cell, step)
        for n, volume in enumerate(compute_many(wavefunction, fields, lattice, device=device)):
            squares = np.sort(np.square(volume.values, dtype=np.float64), axis=None)
            outside = np.cumsum(squares) * lattice.cell_volume
            border = min(int(np.searchsorted(outside, 1 - share)), len(squares) - 1)
            found[n] = np.sqrt(squares[border])
        if np.all(np.abs(found - before) <= _UNCHANGED * found):
            break
        step /= _FINER
    return [float(isovalue) for isovalue in found]


def _isovalue_along_rays(
    wavefunction: Wavefunction, field: Field, atom: int, share: float, device: str | None
) -> float:
    spread = _spread_of(field)
    nearest, farthest = spread.range(atom, _BEYOND * (1 - share))
    border = spread.range(atom, 1 - share)[0]
    zones = [
        (np.geomspace(near, far, max(_FEWEST_RADII, 2 + int(np.log(far / near) / np.log(_RATIO)))), rays)
        for near, far, rays in ((nearest, border, _RAYS_INSIDE), (border, farthest, _RAYS))
    ]
    part_of = 2 if field.is_even_or_odd else 1  # a hemisphere is enough
    along = {rays: directions(part_of * rays)[:rays] for _, rays in zones}
    offsets = np.concatenate([(radii[:, None, None] * along[rays]).reshape(-1, 3) for radii, rays in zones])
    values = evaluate(wavefunction, field, spread.position[atom] + offsets, device=device)
    parts = np.split(values.astype(np.float64), [len(zones[0][0]) * _RAYS_INSIDE])
    return enclosure_along_rays(
        [(radii, part.reshape(-1, rays)) for (radii, rays), part in zip(zones, parts, strict=True)], share
    )


def _isovalues_on_lattices(
    wavefunction: Wavefunction, fields: Sequence[Field], share: float, device: str | None
) -> list[float]:
    """Of fields that are alike, on the same lattices."""
    spreads = [_spread_of(field) for field in fields]
    guesses = [spread.isovalue(share) for spread in spreads]
    boxes = np.array([spread.box(_OUTSIDE * (1 - share)) for spread in spreads])
    low, high = boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
    step = min(spread.radius_at(guess) for spread, guess in zip(spreads, guesses, strict=True)) / _STEPS
    room = float(np.prod(high - low + 4 * step))
    step = max(step, min(step * _STEPS / _FEWEST_STEPS, (room * len(fields) / _POINTS) ** (1 / 3)))
    for _ in range(_ATTEMPTS):
        step = max(step, (float(np.prod(high - low + 4 * step)) / _MOST) ** (1 / 3))
        lattice = Lattice.box(low - 2 * step, high + 2 * step, step)
        volumes = compute_many(wavefunction, fields, lattice, device=device)
        found = [enclosure(volume.values, lattice.cell_volume, share, 1.0) for volume in volumes]
        shown = [enclosed for enclosed in found if enclosed is not None]
        guesses = [
            guess if enclosed is None else enclosed.isovalue for guess, enclosed in zip(guesses, found, strict=True)
        ]
        if len(shown) < len(found):
            step /= 2
        elif max(enclosed.missing for enclosed in shown) > _MISSING * (1 - share):
            margin = 0.15 * float((high - low).max())
            low, high = low - margin, high + margin
        elif (variation := max(enclosed.variation for enclosed in shown)) > _ROUGH:
            step *= _SMOOTH / min(variation, 4 * _SMOOTH)
        else:
            break
    return guesses
