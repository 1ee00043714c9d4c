"""What a page computes of a wavefunction itself: its orbitals, and densities that are sums of their squares.

The rule: the orbitals nearest to the gap, as many as have `MOST_COEFFICIENTS` coefficients together; densities where
all their orbitals are among them. Of a trajectory these are the orbitals nearest to the gap of its first frame, and the
coefficients of all frames count. What a page computes, and why it does not, needs no option.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.arrays import Reals
from ..base.watch import checkpoint
from ..fields.density import occupied, unavailable
from ..gaussians.packing import merged_primitives
from ..model.wavefunction import Wavefunction
from ..scenes.scene import GLASS, OPACITY, ColourPair, pairs_of
from ..scenes.web.computing import Computing, SumOfSquares, packed_basis, packed_coefficients
from ..surfaces.colour_maps import RGB
from .orbitals import Level, field_of, own_levels_of

MOST_COEFFICIENTS = 500_000
"""Of all orbitals of a page in all its frames together: some 1.2 MB of it."""

MOST_ROWS = 8192
"""Of the tables along z, a row for each primitive and power: what textures of any browser hold."""

_COMPLEX = "Complex orbitals are not computed in the page: it shows what was computed beforehand."
_PERIODIC = "Periodic orbitals are not computed in the page: it shows what was computed beforehand."
_FREE_ATOMS = "Free atoms have no orbitals to compute in the page."
_LARGE = "The basis set is too large to be computed in the page: it shows what was computed beforehand."
_LONG = "The trajectory is too long to be computed in the page: it shows what was computed beforehand."


def why_not_computed(wavefunctions: Sequence[Wavefunction]) -> str:
    """Why a page cannot compute the orbitals of the frames of a document, as a sentence; empty where it can."""
    reason = next(filter(None, map(_why_not, wavefunctions)), "")
    n_coefficients = sum(wavefunction.n_basis for wavefunction in wavefunctions)  # of one orbital
    return reason or (_LONG if n_coefficients > MOST_COEFFICIENTS else "")


def _why_not(wavefunction: Wavefunction) -> str:
    if wavefunction.promolecule:
        return _FREE_ATOMS
    if wavefunction.spinors is not None:
        return _COMPLEX
    if wavefunction.cell.size:
        return _PERIODIC
    merged = merged_primitives(wavefunction)
    n_rows = int((merged.degree + 1).sum())
    return _LARGE if n_rows > MOST_ROWS or wavefunction.n_basis > MOST_COEFFICIENTS else ""


def computing_of(
    wavefunctions: Sequence[Wavefunction],
    middle: Reals,
    colours: ColourPair | Sequence[ColourPair],
    opacity: float | None,
) -> tuple[Computing, ...]:
    """What a page needs to compute the orbitals of the frames of a document; nothing where it cannot.

    Parameters
    ----------
    wavefunctions
        Of all frames; orbitals are known by their numbers, so those of a trajectory should be followed.
    middle : ndarray, shape (3,)
        Of the document, in bohr.
    colours, opacity
        As for `orbitile.render`.
    """
    if why_not_computed(wavefunctions):
        return ()
    first = wavefunctions[0]
    listed = sorted((level for those in own_levels_of(first) for level in those), key=_away_from_gap)
    most = MOST_COEFFICIENTS // sum(wavefunction.n_basis for wavefunction in wavefunctions)
    names = [field_of(first, level) for level in listed[:most]]
    pair = pairs_of(colours)[0]
    opacity = OPACITY if opacity is None else opacity
    looks = {
        "colours": (_bytes(pair[0]), _bytes(pair[1])),
        "opacity": round(255 * (1 - np.sqrt(1 - opacity))),  # of the front and the back together, as in pictures
        "finish": GLASS,
    }
    return tuple(_of_frame(wavefunction, names, middle, looks) for wavefunction in wavefunctions)


def _of_frame(wavefunction: Wavefunction, names: Sequence[str], middle: Reals, looks: dict[str, Any]) -> Computing:
    """What a page needs of one frame: those of the orbitals that it has."""
    checkpoint()
    basis: dict[str, Any] = packed_basis(wavefunction, middle)
    there = {field_of(wavefunction, level): level for those in own_levels_of(wavefunction) for level in those}
    chosen = {name: there[name] for name in names if name in there}
    coefficients = [_coefficients(wavefunction, level) for level in chosen.values()]
    return Computing(
        **basis,
        planes=packed_coefficients(coefficients, basis["unit"]),
        orbitals=tuple(chosen),
        sums=_sums(wavefunction, list(chosen.values())),
        **looks,
    )


def _bytes(colour: RGB) -> tuple[int, int, int]:
    red, green, blue = (round(255 * share) for share in colour)
    return red, green, blue


def _away_from_gap(level: Level) -> float:
    return abs(level.place - 0.5)


def _coefficients(wavefunction: Wavefunction, level: Level) -> Reals:
    return wavefunction.orbitals(level.spin).coefficients[:, level.index]


def _sums(wavefunction: Wavefunction, chosen: Sequence[Level]) -> tuple[SumOfSquares, ...]:
    """Densities of the orbitals' occupations, where a page has all the occupied ones."""
    if wavefunction.density_matrix.size or wavefunction.density_missing:
        return ()  # these densities are no sums over the orbitals
    if wavefunction.overlapping:
        return ()
    found = []
    without = unavailable(wavefunction)
    for field, which, title in (("density", "total", "electron density"), ("spin", "spin", "spin density")):
        if field in without:
            continue
        weights = _weights(wavefunction, which)
        rows = [(row, weights[level.spin][level.index]) for row, level in enumerate(chosen)]
        rows = [(row, weight) for row, weight in rows if abs(weight) > 1e-10]
        if rows and len(rows) == len(occupied(wavefunction, which)[1]):
            of_rows, of_weights = tuple(row for row, _ in rows), tuple(weight for _, weight in rows)
            found.append(SumOfSquares(field, title, of_rows, of_weights, signed=field == "spin"))
    return tuple(found)


def _weights(wavefunction: Wavefunction, which: str) -> dict[str, list[float]]:
    """What the square of each orbital counts in a density, by its spin."""
    n = wavefunction.alpha.occupations
    if wavefunction.beta is None:
        return {"alpha": (n if which == "total" else n - 2 * np.floor(n / 2 + 1e-6)).tolist()}
    sign = 1 if which == "total" else -1
    return {"alpha": n.tolist(), "beta": (sign * wavefunction.beta.occupations).tolist()}
