"""A strand of B-DNA of exactly C77 P8 N31 H91 O49: the octanucleotide pGCGATCGC with all phosphates ionised.

Bases are the planar standard ones of Olson et al. (J. Mol. Biol. 2001, 313, 229), placed in the frame of a straight
helix of 3.38 Angstrom and 36 degrees a step. Sugar and phosphate are not copied from a structure: their heavy atoms are
found, alike for all residues, by making bonds and angles those of standard nucleotides (Gelbin et al., J. Am. Chem.
Soc. 1996, 118, 519) under that helical symmetry, with the stereochemistry of deoxyribose and without close contacts.
Hydrogens follow from the heavy atoms. A strand of this composition, with eight ionised phosphates, one of them at the
end, is what Ufimtsev and Martinez (J. Chem. Theory Comput. 2008, 4, 222) name without a structure; which sequence
theirs was is not known.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

SEQUENCE = "GCGATCGC"
RISE, TWIST = 3.38, np.radians(36.0)
CHARGE = -8

_BASES = {
    "A": "C1' -2.479 5.346; N9 -1.291 4.498; C8 0.024 4.897; N7 0.877 3.902; C5 0.071 2.771; C6 0.369 1.398; "
    "N6 1.611 0.909; N1 -0.668 0.532; C2 -1.912 1.023; N3 -2.320 2.290; C4 -1.267 3.124",
    "G": "C1' -2.477 5.399; N9 -1.289 4.551; C8 0.023 4.962; N7 0.870 3.969; C5 0.071 2.833; C6 0.424 1.460; "
    "O6 1.554 0.955; N1 -0.700 0.641; C2 -1.999 1.087; N2 -2.949 0.139; N3 -2.342 2.364; C4 -1.265 3.177",
    "C": "C1' -2.477 5.402; N1 -1.285 4.542; C2 -1.472 3.158; O2 -2.628 2.709; N3 -0.391 2.344; C4 0.837 2.868; "
    "N4 1.875 2.027; C5 1.056 4.275; C6 -0.023 5.068",
    "T": "C1' -2.481 5.354; N1 -1.284 4.500; C2 -1.462 3.135; O2 -2.562 2.608; N3 -0.298 2.407; C4 0.994 2.897; "
    "O4 1.944 2.119; C5 1.106 4.338; C7 2.466 4.961; C6 -0.024 5.057",
}
_BASE_HYDROGENS = {"A": "C8 C2 N6 N6", "G": "C8 N1 N2 N2", "C": "C5 C6 N4 N4", "T": "N3 C6 C7 C7 C7"}

_CONTACT = 3.3
"""Distance in Angstrom below which atoms that are not bonded to each other or to a third repel."""

_BACKBONE = "P OP1 OP2 O5' C5' C4' O4' C3' O3' C2'".split()
_BONDS = {
    ("P", "OP1"): 1.485, ("P", "OP2"): 1.485, ("P", "O5'"): 1.593, ("O5'", "C5'"): 1.44, ("C5'", "C4'"): 1.51,
    ("C4'", "O4'"): 1.446, ("C4'", "C3'"): 1.53, ("C3'", "O3'"): 1.43, ("C3'", "C2'"): 1.52, ("C2'", "C1'"): 1.52,
    ("O4'", "C1'"): 1.42, ("O3'", "P+"): 1.607, ("C1'", "N"): 1.47,
}  # fmt: skip
_ANGLES = {
    ("OP1", "P", "OP2"): 119.6, ("OP1", "P", "O5'"): 108, ("OP2", "P", "O5'"): 108, ("P", "O5'", "C5'"): 120.9,
    ("O5'", "C5'", "C4'"): 110, ("C5'", "C4'", "O4'"): 109.4, ("C5'", "C4'", "C3'"): 114.7,
    ("O4'", "C4'", "C3'"): 105.6, ("C4'", "C3'", "O3'"): 110.3, ("C4'", "C3'", "C2'"): 103.2,
    ("O3'", "C3'", "C2'"): 110.6, ("C3'", "C2'", "C1'"): 102.7, ("C2'", "C1'", "O4'"): 106.1,
    ("C1'", "O4'", "C4'"): 109.7, ("C2'", "C1'", "N"): 114.2, ("O4'", "C1'", "N"): 107.8, ("C3'", "O3'", "P+"): 119.7,
    ("O3'", "P+", "OP1+"): 108, ("O3'", "P+", "OP2+"): 108, ("O3'", "P+", "O5'+"): 104,
}  # fmt: skip
# The first three neighbours by rank of a stereogenic atom, and the sign of their triple product: R is negative.
_CHIRALITY = {"C4'": ("O4'", "C3'", "C5'", -1.0), "C3'": ("O3'", "C4'", "C2'", 1.0), "C1'": ("O4'", "N", "C2'", -1.0)}


def geometry() -> str:
    """Atoms with coordinates in Angstrom, as PySCF reads them."""
    names, residues = [], []
    for index, letter in enumerate(SEQUENCE):
        atoms = _residue(letter, first=index == 0, last=index == len(SEQUENCE) - 1)
        names += [name for name, _ in atoms]
        residues.append(_along_helix(np.array([place for _, place in atoms]), index))
    places = np.concatenate(residues)
    return "; ".join(f"{name[0]} {x:.6f} {y:.6f} {z:.6f}" for name, (x, y, z) in zip(names, places, strict=True))


def _along_helix(places: Array, steps: int) -> Array:
    c, s = np.cos(steps * TWIST), np.sin(steps * TWIST)
    return np.asarray(places @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1.0]]) + [0, 0, steps * RISE])


def _base(letter: str) -> dict[str, Array]:
    found = {}
    for item in _BASES[letter].split(";"):
        name, x, y = item.split()
        found[name] = np.array([float(x), float(y), 0.0])
    return found


@lru_cache
def backbone() -> tuple[dict[str, Array], float]:
    """Heavy atoms of sugar and phosphate of the first residue, and the largest error of a bond in Angstrom."""
    from scipy.optimize import minimize

    fixed = {"C1'": np.array([-2.479, 5.375, 0.0]), "N": np.array([-1.287, 4.523, 0.0])}
    fixed |= {"C8": np.array([0.023, 4.98, 0.0]), "C4": np.array([-1.36, 3.15, 0.0])}
    restraints = [(a, b, length, 1.0) for (a, b), length in _BONDS.items()]
    for (a, b, c), angle in _ANGLES.items():
        one, two = _bond(a, b), _bond(b, c)
        apart = np.sqrt(one**2 + two**2 - 2 * one * two * np.cos(np.radians(angle)))
        restraints.append((a, c, float(apart), 0.5))
    bound = {frozenset((a, b)) for a, b, *_ in restraints}
    held = set(fixed) | {f"{name}+" for name in fixed}
    own = (*_BACKBONE, *fixed)
    close = [
        (a, b + mark)
        for mark in ("", "+")
        for a in own
        for b in own
        if (a < b or mark) and frozenset((a, b + mark)) not in bound and not {a, b + mark} <= held
    ]
    index = {name: n for n, name in enumerate([*own, *(f"{name}+" for name in own)])}

    def pairs(names: list[tuple[str, str]]) -> Array:
        return np.array([[index[a], index[b]] for a, b in names]).T

    at_restraints, at_close = pairs([restraint[:2] for restraint in restraints]), pairs(close)
    lengths, weights = (np.array([restraint[n] for restraint in restraints]) for n in (2, 3))
    centres = [[index[name] for name in (atom, *around[:3])] for atom, around in _CHIRALITY.items()]
    signs = np.array([around[3] for around in _CHIRALITY.values()])
    constant = np.array(list(fixed.values()))

    def placed(values: Array) -> Array:
        here = np.concatenate([values.reshape(-1, 3), constant])
        return np.concatenate([here, _along_helix(here, 1)])

    def energy(values: Array) -> float:
        at = placed(values)
        apart, near = (np.linalg.norm(at[a] - at[b], axis=1) for a, b in (at_restraints, at_close))
        total = weights @ (apart - lengths) ** 2 + 0.1 * np.sum(np.maximum(0.0, _CONTACT - near) ** 2)
        centre, a, b, c = at[np.array(centres).T]
        volume = signs * np.einsum("ij,ij->i", a - centre, np.cross(b - centre, c - centre))
        return float(total + np.sum(np.maximum(0.0, 1.8 - volume) ** 2))

    # phosphorus of fibres lies 9 Angstrom from the axis, half a step below the sugar; the chain leads from it to C1'
    azimuth, best = np.arctan2(5.375, -2.479), None
    generator = np.random.default_rng(3)
    radius = np.array([8.9, 9.6, 9.6, 8.7, 8.5, 7.9, 6.9, 8.0, 8.6, 6.9])
    height = np.array([-2.0, -3.0, -1.2, -1.3, 0.0, 0.5, 0.2, 0.6, 0.9, 0.6])
    turn = np.radians([-16.0, -22, -10, -8, -13, -6, -8, 4, 6, 8])
    start = np.stack([radius * np.cos(azimuth + turn), radius * np.sin(azimuth + turn), height], axis=1)
    for _ in range(4):
        found = minimize(energy, (start + generator.normal(scale=0.4, size=start.shape)).ravel(), method="L-BFGS-B",
                         options={"maxfun": 100_000, "maxiter": 2000})  # fmt: skip
        best = found if best is None or found.fun < best.fun else best
    assert best is not None
    at = placed(best.x)
    worst = max(abs(float(np.linalg.norm(at[index[a]] - at[index[b]])) - length) for (a, b), length in _BONDS.items())
    return {name: at[index[name]] for name in _BACKBONE}, worst


def _bond(a: str, b: str) -> float:
    a, b = (a.rstrip("+"), b.rstrip("+")) if a.endswith("+") and b.endswith("+") else (a, b)
    return _BONDS.get((a, b)) or _BONDS[b, a]


def _residue(letter: str, first: bool, last: bool) -> list[tuple[str, Array]]:
    """Atoms of one residue in the frame of its base, hydrogens included."""
    base = _base(letter)
    at = backbone()[0] | base
    before = _along_helix(backbone()[0]["O3'"][None], -1)[0]
    after = _along_helix(backbone()[0]["P"][None], 1)[0]
    bonded: dict[str, list[Array]] = {name: [] for name in at}
    for a, b in combinations(at, 2):
        if np.linalg.norm(at[a] - at[b]) < (1.9 if "P" in (a[0], b[0]) else 1.75):
            bonded[a].append(at[b])
            bonded[b].append(at[a])
    atoms = list(at.items())
    if first:
        oxygen = at["P"] + 1.60 * _unit(before - at["P"])
        atoms += [("OP3", oxygen), ("HOP3", _bent(oxygen, at["P"], at["O5'"], 0.97))]
    if last:
        atoms.append(("HO3'", at["O3'"] + 0.97 * _unit(after - at["O3'"])))
    for name in ("C1'", "C3'", "C4'"):
        atoms.append((f"H{name}", _tetrahedral(at[name], bonded[name], 1)[0]))
    for name in ("C2'", "C5'"):
        atoms += [(f"H{name}", place) for place in _tetrahedral(at[name], bonded[name], 2)]
    hydrogens = _BASE_HYDROGENS[letter].split()
    for name in dict.fromkeys(hydrogens):
        count, length = hydrogens.count(name), 1.09 if name[0] == "C" else 1.01
        if count == 1:
            outward = -sum((_unit(other - at[name]) for other in bonded[name]), np.zeros(3))
            places = [at[name] + length * _unit(outward)]
        else:
            (neighbour,) = bonded[name]
            axis, across = _unit(at[name] - neighbour), np.array([0.0, 0.0, 1.0])
            if count == 2:  # an amino group in the plane of the base
                side = np.cross(across, axis)
                places = [at[name] + length * (0.5 * axis + sign * 0.866 * side) for sign in (1, -1)]
            else:  # a methyl group
                side = np.cross(across, axis)
                spokes = [np.cos(a) * side + np.sin(a) * across for a in np.radians([0, 120, 240])]
                places = [at[name] + length * (axis / 3 + 0.9428 * spoke) for spoke in spokes]
        atoms += [(f"H{name}", place) for place in places]
    return atoms


def _unit(vector: Array) -> Array:
    return np.asarray(vector / np.linalg.norm(vector))


def _tetrahedral(at: Array, neighbours: list[Array], count: int) -> list[Array]:
    """Places of one or two hydrogens on a saturated carbon."""
    to = [_unit(other - at) for other in neighbours]
    middle = -_unit(sum(to, np.zeros(3)))
    if count == 1:
        return [at + 1.09 * middle]
    across = _unit(np.cross(to[0], to[1]))
    return [at + 1.09 * (0.577 * middle + sign * 0.816 * across) for sign in (1, -1)]


def _bent(oxygen: Array, centre: Array, away: Array, length: float) -> Array:
    """A hydrogen on an oxygen, at the tetrahedral angle, trans to another neighbour of the centre."""
    axis = _unit(oxygen - centre)
    side = _unit((oxygen - away) - np.dot(oxygen - away, axis) * axis)
    return np.asarray(oxygen + length * (axis / 3 + 0.9428 * side))
