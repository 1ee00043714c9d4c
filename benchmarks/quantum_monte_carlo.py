"""Variational Monte Carlo in the field of a charge grid: python benchmarks/quantum_monte_carlo.py [--device cuda]

Two electrons of a hydrogen molecule walk above a benzene molecule, whose electrons are given as charge cells and
nothing else: 268,782 of them, as many as in published work on fragments in the field of each other (FMO-QMC on a GTX
275). Every step moves all walkers by Metropolis' rule and evaluates the potential of the cells at the new places; the
cells stay on the device. The walk does not depend on the potential, so the energies in single precision, in double
precision and by NumPy belong to the same path, and their difference is the drift that precision causes.
"""

import argparse
import time

import numpy as np

import orbitile as ob
from orbitile.evaluation.points import potential_of_charges
from orbitile.model.volume import PointCharges, charges_of_density

CELLS = 268_782
ZETA, BOND = 1.19, 1.40  # of the trial function, a product of two sums of 1s functions
HEIGHT = 9.0  # of the hydrogen molecule above the ring, in bohr


def fragment() -> tuple[PointCharges, PointCharges]:
    """The electrons of benzene as the heaviest 268,782 cells of a lattice, and its nuclei."""
    from importlib.resources import files

    benzene = ob.load(files("orbitile") / "data" / "benzene.molden")
    volume = ob.compute(benzene, "density", ob.Lattice.around(benzene, spacing=0.245, margin=7.0))
    cells = charges_of_density(volume)
    heavy = np.argsort(cells.charges)[:CELLS]
    if len(heavy) < CELLS:
        raise SystemExit(f"the lattice has {len(heavy)} cells with electrons, {CELLS} are wanted")
    chosen = cells.charges[heavy]
    electrons = PointCharges(cells.positions[heavy], chosen * (-benzene.n_electrons / chosen.sum()), cells.radius)
    return electrons, PointCharges(benzene.positions, benzene.core_charges)


def walk(nuclei, n_walkers: int, n_steps: int):
    """Places of both electrons of each walker, step by step, and the local energy of the molecule alone."""
    rng = np.random.default_rng(7)
    position = nuclei[rng.integers(0, 2, (n_walkers, 2))] + rng.normal(size=(n_walkers, 2, 3))

    def orbital(r):
        d = np.linalg.norm(r[..., None, :] - nuclei, axis=-1)
        decay = np.exp(-ZETA * d)
        return decay.sum(axis=-1), (decay * (ZETA**2 - 2 * ZETA / d)).sum(axis=-1), d

    for _ in range(n_steps):
        trial = position + rng.normal(scale=0.6, size=position.shape)
        accepted = (orbital(trial)[0] / orbital(position)[0]) ** 2 > rng.random(position.shape[:2])
        position = np.where(accepted[..., None], trial, position)
        phi, laplacian, d = orbital(position)
        between = np.linalg.norm(position[:, 0] - position[:, 1], axis=1)
        energy = (-0.5 * laplacian / phi - (1 / d).sum(axis=-1)).sum(axis=1) + 1 / between + 1 / BOND
        yield position.reshape(-1, 3), energy


def by_numpy(points, charges: PointCharges) -> np.ndarray:
    """The direct sum in double precision on one core: what the kernels are compared with."""
    total = np.zeros(len(points))
    for n, point in enumerate(points):
        d = np.sqrt(((charges.positions - point) ** 2).sum(axis=1))
        with np.errstate(divide="ignore"):
            inside = (3 - (d / charges.radius) ** 2) / (2 * charges.radius) if charges.radius else 0.0
        total[n] = charges.charges @ np.where(d < charges.radius, inside, 1 / d)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--walkers", type=int, nargs="*", default=[1, 32, 1024])
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    electrons, cores = fragment()
    hydrogen = np.array([[-BOND / 2, 0, HEIGHT], [BOND / 2, 0, HEIGHT]]) + cores.positions.mean(axis=0)
    print(f"{len(electrons.charges):,} charge cells, {len(cores.charges)} nuclei; device {options.device}")
    for n_walkers in options.walkers:
        n_steps = max(3, options.steps * 8 // n_walkers) if n_walkers > 8 else options.steps
        path = list(walk(hydrogen, n_walkers, n_steps))
        alone = np.array([energy for _, energy in path])
        # the reference takes a second for four points: every walker of the first steps only
        n_checked = max(1, min(n_steps, 64 // n_walkers)) if n_walkers <= 64 else 1
        checked = [points[: 2 * min(n_walkers, 32)] for points, _ in path[:n_checked]]
        begin = time.perf_counter()
        exact = [by_numpy(points, electrons) for points in checked]
        numpy_rate = sum(map(len, checked)) * len(electrons.charges) / (time.perf_counter() - begin)
        energies = {}
        print(f"\n{n_walkers} walkers, {n_steps} steps; NumPy on one core {numpy_rate / 1e9:.2f} G terms/s")
        for precision in ("single", "double"):
            arguments = {"device": options.device, "precision": precision}
            potential_of_charges(electrons, path[0][0], **arguments)
            begin = time.perf_counter()
            potentials = [potential_of_charges(electrons, points, **arguments) for points, _ in path]
            seconds = time.perf_counter() - begin
            nuclei = [potential_of_charges(cores, points, **arguments) for points, _ in path]
            # an electron has the charge -1
            local = alone - np.array(
                [(u + n).reshape(-1, 2).sum(axis=1) for u, n in zip(potentials, nuclei, strict=True)]
            )
            energies[precision] = local
            error = max(np.abs(u[: len(e)] - e).max() for u, e in zip(potentials, exact, strict=False))
            rate = 2 * n_walkers * n_steps * len(electrons.charges) / seconds
            print(
                f"  {precision:6s} {1e3 * seconds / n_steps:9.3f} ms a step {rate / 1e9:8.2f} G terms/s "
                f"({rate / numpy_rate:6.1f} x NumPy)   potential within {error:.1e} of NumPy's, energy "
                f"{local.mean():.6f} hartree"
            )
        drift = np.abs((energies["single"] - energies["double"]).mean(axis=1))
        print(f"  energy, single less double: {drift[0]:.1e} in the first step, {drift.max():.1e} in the worst")


if __name__ == "__main__":
    main()
