"""How well orbitals of neighbouring frames are told apart by two measures, as the steps become longer.

    python benchmarks/tracking_measures.py

Compared are the overlap in space, C1^T S12 C2, and that of `orbitile.trajectories.tracking`: of orbitals carried
along with the atoms and made orthonormal there. Each row: the lowest overlap of an orbital with its successor, core
and valence, and the number of orbitals that are assigned to another one than by the finest steps. Molecules by PySCF,
restricted Hartree-Fock.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from pyscf import gto, scf
from scipy.optimize import linear_sum_assignment

from orbitile.gaussians.overlap import overlap_matrix
from orbitile.model.trajectory import Trajectory
from orbitile.model.wavefunction import Wavefunction
from orbitile.scf.engines.pyscf import wavefunction_of
from orbitile.trajectories.tracking import track

N_FRAMES = 33
STEPS = (1, 2, 4, 8, 16)


class Listed:
    """Frames that are in memory already."""

    name = "computed here"

    def __init__(self, frames: list[Wavefunction]) -> None:
        self.frames = frames

    def __len__(self) -> int:
        return len(self.frames)

    def read(self, index: int) -> Wavefunction:
        return self.frames[index]


def computed(atoms: str, basis: str) -> Wavefunction:
    field = scf.RHF(gto.M(atom=atoms, basis=basis, verbose=0)).run()
    return wavefunction_of(field.mol, field.mo_coeff, field.mo_occ, field.mo_energy)


def water(share: float) -> str:
    """Both bonds from 0.8 to 1.4 Angstrom."""
    r = 0.8 + 0.6 * share
    return f"O 0 0 0; H 0 {0.79 * r} {0.61 * r}; H 0 {-0.79 * r} {0.61 * r}"


def formaldehyde(share: float) -> str:
    """The CO bond from 1.0 to 1.7 Angstrom; carbon stays, oxygen moves."""
    return f"C 0 0 0; O 0 0 {1.0 + 0.7 * share}; H 0 0.93 -0.58; H 0 -0.93 -0.58"


def ethylene(share: float) -> str:
    """Turned about its bond by 80 degrees."""
    y, z = 0.925 * np.cos(np.radians(80 * share)), 0.925 * np.sin(np.radians(80 * share))
    return (
        "C -0.667 0 0; C 0.667 0 0; H -1.237 0.925 0; H -1.237 -0.925 0; "
        f"H 1.237 {y} {z}; H 1.237 {-y} {-z}"
    )  # fmt: skip


def by_space(frames: list[Wavefunction]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Orders and overlaps of the usual way: overlap in space from frame to frame."""
    order = np.arange(len(frames[0].alpha))
    orders, overlaps = [order], []
    for frame, following in pairwise(frames):
        table = np.abs(frame.alpha.coefficients.T @ overlap_matrix(frame, following) @ following.alpha.coefficients)
        _, found = linear_sum_assignment(-table)
        overlaps.append(table[order, found[order]])
        order = found[order]
        orders.append(order)
    return orders, overlaps


def main() -> None:
    for name, atoms, basis in (
        ("water, bonds 0.8 to 1.4", water, "cc-pvdz"),
        ("formaldehyde, CO 1.0 to 1.7", formaldehyde, "cc-pvdz"),
        ("ethylene, twisted 80 degrees", ethylene, "cc-pvdz"),
    ):
        frames = [computed(atoms(share), basis) for share in np.linspace(0, 1, N_FRAMES)]
        n_core = sum(1 for number in frames[0].atomic_numbers if number > 1)
        n_occupied = int(np.count_nonzero(frames[0].alpha.occupations))
        finest = track(Trajectory(Listed(frames)), degeneracy=0).matches[N_FRAMES - 1].alpha.order
        print(f"\n{name}, {basis}, {n_occupied} occupied of {len(finest)} orbitals")
        print(f"{'steps':>6} {'measure':>12} {'core':>8} {'valence':>8} {'virtual':>8} {'astray':>8}")
        for step in STEPS:
            some = frames[::step]
            orders, overlaps = by_space(some)
            tracking = track(Trajectory(Listed(some)), degeneracy=0)
            for measure, order, table in (
                ("in space", orders[-1], np.array(overlaps)),
                ("carried", tracking.matches[len(some) - 1].alpha.order, tracking.confidence()[1:]),
            ):
                parts = (table[:, :n_core], table[:, n_core:n_occupied], table[:, n_occupied:])
                lowest = " ".join(f"{part.min():8.3f}" for part in parts)
                print(f"{len(some) - 1:6d} {measure:>12} {lowest} {np.count_nonzero(order != finest):8d}")


if __name__ == "__main__":
    main()
