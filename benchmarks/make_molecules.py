"""Make the molecules that ship with Orbitile, and those that the benchmarks use, with PySCF.

    python benchmarks/make_molecules.py benzene plugin/orbitile/data/benzene.molden
    python benchmarks/make_molecules.py c60-b c60b.molden

Restricted Hartree-Fock; all occupied and ten virtual orbitals are written. The six systems of Stone et al. (GPGPU 2009,
table 3) are C60, threonine and krypton, each in a small and a larger Cartesian basis.
"""

import sys
from itertools import permutations, product

import numpy as np

THREONINE = """
C -1.937842 0.729928 0.448139; C -0.931159 -0.400084 0.281433; O -1.588781 -1.455281 -0.440495
C 0.337713 0.024736 -0.486604; N 1.011029 -1.208440 -1.016986; C 1.299303 0.817817 0.406353
O 1.010115 1.577400 1.314890; O 2.598938 0.635638 0.071141; H -1.536034 1.558326 1.036543
H -2.255997 1.115585 -0.526829; H -2.841560 0.361887 0.946466; H -0.666924 -0.803024 1.266287
H -0.879050 -1.878957 -0.970066; H 0.078565 0.646903 -1.350287; H 1.882731 -0.892713 -1.456555
H 1.331915 -1.760290 -0.217125; H 3.087038 1.216310 0.693696
"""


def benzene() -> str:
    """D6h benzene, C-C 1.397 and C-H 1.084 Angstrom."""
    lines = []
    for element, radius in (("C", 1.397), ("H", 1.397 + 1.084)):
        for angle in np.arange(6) * np.pi / 3:
            lines.append(f"{element} {radius * np.cos(angle):.8f} {radius * np.sin(angle):.8f} 0")
    return "; ".join(lines)


def fullerene() -> str:
    """Icosahedral C60, bonds 1.45 (pentagon) and 1.40 Angstrom."""
    golden = (1 + 5**0.5) / 2
    seeds = ((0, 1, 3 * golden), (1, 2 + golden, 2 * golden), (golden, 2, 2 * golden + 1))
    cyclic = [p for p in permutations(range(3)) if p in ((0, 1, 2), (1, 2, 0), (2, 0, 1))]
    points = {
        tuple(round(sign * seed[i], 9) + 0.0 for sign, i in zip(signs, order, strict=True))
        for seed in seeds
        for signs in product((1, -1), repeat=3)
        for order in cyclic
    }
    return "; ".join(f"C {x * 0.7135:.8f} {y * 0.7135:.8f} {z * 0.7135:.8f}" for x, y, z in sorted(points))


SYSTEMS = {
    "benzene": (benzene, "6-31g*", False),
    "c60-a": (fullerene, "sto-3g", True),
    "c60-b": (fullerene, "6-31g*", True),
    "thr-a": (lambda: THREONINE, "sto-3g", True),
    "thr-b": (lambda: THREONINE, "6-31+g*", True),
    "kr-a": (lambda: "Kr 0 0 0", "sto-3g", True),
    "kr-b": (lambda: "Kr 0 0 0", "cc-pvqz", True),
}


def main() -> None:
    """Write one molecule to a Molden file."""
    if len(sys.argv) != 3 or sys.argv[1] not in SYSTEMS:
        sys.exit(f"usage: make_molecules.py {{{','.join(SYSTEMS)}}} FILE.molden")
    from pyscf import gto, scf
    from pyscf.tools import molden

    geometry, basis, cartesian = SYSTEMS[sys.argv[1]]
    molecule = gto.M(atom=geometry(), basis=basis, cart=cartesian, verbose=3)
    field = scf.RHF(molecule).density_fit().run() if molecule.natm > 30 else scf.RHF(molecule).run()
    keep = slice(0, int((field.mo_occ > 0).sum()) + 10)
    with open(sys.argv[2], "w", encoding="ascii") as stream:
        molden.header(molecule, stream)
        molden.orbital_coeff(
            molecule, stream, field.mo_coeff[:, keep], ene=field.mo_energy[keep], occ=field.mo_occ[keep]
        )


if __name__ == "__main__":
    main()
