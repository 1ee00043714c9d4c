r"""Compute the densities of free atoms and fit them by Gaussians: writes `plugin/orbitile/data/free_atoms.npz`.

    python benchmarks/free_atoms.py

Each atom is neutral and spherically averaged, with the spins of open shells parallel (Hund's rule), in the
configuration of its ground state (NIST Atomic Spectra Database). Kohn-Sham with PBE, and without the terms of the spin
of the exact two-component Hamiltonian of one electron (sf-X2C: W. Liu and D. Peng, J. Chem. Phys. 2009, 131, 031104;
K. G. Dyall, J. Chem. Phys. 1997, 106, 9618), a point nucleus, in even-tempered Gaussians; all is a function of r, on a
logarithmic mesh. It takes some 10 minutes.

The density, and the density without the shells of each effective core potential in use, is then fitted by s Gaussians

.. math::  \rho(r) = \sum_i n_i (a_i / \pi)^{3/2} e^{-a_i r^2}

of even-tempered exponents and with weights of either sign: with positive ones alone the errors are from 2 % (carbon) to
15 % (iodine), since shells are no mixtures of Gaussians about the nucleus. All fits are exact in
the number of electrons, and positive where they exceed 1e-11 e bohr^-3.
"""

from __future__ import annotations

from math import gamma, pi
from pathlib import Path

import numpy as np
from scipy.integrate import cumulative_trapezoid
from scipy.linalg import eigh, null_space
from scipy.optimize import nnls

from orbitile.evaluation.devices import device_session
from orbitile.integrals.functionals import at_points, functional
from orbitile.model.core_potentials import usual_cores
from orbitile.model.elements import SYMBOLS
from taichi_kernels.target import Target

Reals = np.ndarray

LAST = 103
TABLE = Path(__file__).parents[1] / "plugin/orbitile/data/free_atoms.npz"
LIGHT = 137.035999084
MESH = np.exp(np.linspace(np.log(1e-7), np.log(60.0), 2400))
STEP = float(np.log(MESH[1] / MESH[0]))
VOLUME = MESH**3 * STEP

RATIO = 1.6
"""Of the exponents of a fit."""

EXCEPTIONS = {
    "Cr": "4s1 3d5", "Cu": "4s1 3d10", "Nb": "5s1 4d4", "Mo": "5s1 4d5", "Ru": "5s1 4d7", "Rh": "5s1 4d8",
    "Pd": "5s0 4d10", "Ag": "5s1 4d10", "La": "4f0 5d1", "Ce": "4f1 5d1", "Gd": "4f7 5d1", "Pt": "6s1 5d9",
    "Au": "6s1 5d10", "Ac": "5f0 6d1", "Th": "5f0 6d2", "Pa": "5f2 6d1", "U": "5f3 6d1", "Np": "5f4 6d1",
    "Cm": "5f7 6d1", "Lr": "6d0 7p1",
}  # fmt: skip
"""Where the ground state does not fill shells by n + l, then n."""


def configuration(number: int) -> dict[tuple[int, int], int]:
    """Electrons of each shell (n, l)."""
    result, left = {}, number
    every = [(n, l) for n in range(1, 9) for l in range(min(n, 4))]
    for n, l in sorted(every, key=lambda shell: (sum(shell), shell[0])):
        result[n, l] = min(left, 4 * l + 2)
        left -= result[n, l]
    for text in EXCEPTIONS.get(SYMBOLS[number], "").split():
        result[int(text[0]), "spdf".index(text[1])] = int(text[2:])
    assert sum(result.values()) == number
    return {shell: electrons for shell, electrons in result.items() if electrons}


def exponents(number: int, l: int) -> np.ndarray:
    """Even-tempered, for functions of angular momentum l."""
    least, most = (0.012, 3e3 * number**2 * (1 + number**2 / 20)) if l == 0 else (0.012 + 0.004 * l, 300.0 * number**2)
    if l > 1:
        most = 10.0 * number**2
    return least * 1.75 ** np.arange(int(np.log(most / least) / np.log(1.75)) + 1)


def on_mesh(l: int, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Normalised primitives, without their angular part, and their slopes."""
    a = a[:, None]
    values = np.sqrt(2 * (2 * a) ** (l + 1.5) / gamma(l + 1.5)) * MESH**l * np.exp(-a * MESH**2)
    return values, (l / MESH - 2 * a * MESH) * values


def one_electron(number: int, l: int, f: np.ndarray, slope: np.ndarray, orthonormal: np.ndarray) -> np.ndarray:
    """sf-X2C Hamiltonian over orthonormal combinations, in which small components follow from large ones."""

    def matrix(left: np.ndarray, weight: np.ndarray | float) -> np.ndarray:
        return orthonormal.T @ ((left * VOLUME * weight) @ left.T) @ orthonormal

    angular = l * (l + 1) / MESH**2
    kinetic = 0.5 * (matrix(slope, 1.0) + matrix(f, angular))
    attraction = matrix(f, -number / MESH)
    pvp = matrix(slope, -number / MESH) + matrix(f, -number / MESH * angular)
    n = len(kinetic)
    dirac = np.block([[attraction, kinetic], [kinetic, pvp / (4 * LIGHT**2) - kinetic]])
    metric = np.block([[np.eye(n), np.zeros((n, n))], [np.zeros((n, n)), kinetic / (2 * LIGHT**2)]])
    _, vectors = eigh(dirac, metric)
    large, small = vectors[:n, n:], vectors[n:, n:]
    x = np.linalg.solve(large.T, small.T).T
    w, u = np.linalg.eigh(np.eye(n) + x.T @ kinetic @ x / (2 * LIGHT**2))
    renormalise = (u / np.sqrt(w)) @ u.T
    inner = attraction + kinetic @ x + x.T @ kinetic + x.T @ (pvp / (4 * LIGHT**2) - kinetic) @ x
    return renormalise @ inner @ renormalise


def atom(
    number: int, target: Target, shells: dict[tuple[int, int], int] | None = None, widest: float = np.inf
) -> dict[tuple[int, int], Reals]:
    """Density of each shell on the mesh, in e bohr^-3.

    Of a neutral atom, or of an ion with other electrons in its shells. Functions of a mean square radius beyond the
    widest, in bohr^2, are left out.
    """
    shells = configuration(number) if shells is None else shells
    sets = {}
    for l in range(max(l for _, l in shells) + 1):
        a = exponents(number, l)
        f, slope = on_mesh(l, a[(l + 1.5) / (2 * a) <= widest])
        values, vectors = np.linalg.eigh((f * VOLUME) @ f.T)
        kept = values > 1e-9 * values.max()
        orthonormal = vectors[:, kept] / np.sqrt(values[kept])
        core = one_electron(number, l, f, slope, orthonormal)
        sets[l] = orthonormal.T @ f, orthonormal.T @ slope, core
    spins = range(1 if all(e == 4 * l + 2 for (_, l), e in shells.items()) else 2)
    fields = {(spin, l): core for l, (_, _, core) in sets.items() for spin in spins}
    history: list[tuple[dict[tuple[int, int], Reals], Reals]] = []
    density = np.zeros((len(spins), len(MESH)))
    for _ in range(80):
        orbitals = {key: np.linalg.eigh(field)[1] for key, field in fields.items()}
        parts = {shell: np.zeros_like(MESH) for shell in shells}
        found, slopes = np.zeros_like(density), np.zeros_like(density)
        matrices = {(spin, l): np.zeros_like(core) for l, (_, _, core) in sets.items() for spin in spins}
        for (n, l), electrons in shells.items():
            for spin in spins:
                # Hund's rule: as many as there is room for have one spin
                of_spin = (
                    electrons if len(spins) == 1 else (min(electrons, 2 * l + 1), max(electrons - 2 * l - 1, 0))[spin]
                )
                vector = orbitals[spin, l][:, n - l - 1]
                f, slope = vector @ sets[l][0], vector @ sets[l][1]
                parts[n, l] += of_spin * f**2 / (4 * pi)
                found[spin] += of_spin * f**2 / (4 * pi)
                slopes[spin] += of_spin * 2 * f * slope / (4 * pi)
                matrices[spin, l] += of_spin * np.outer(vector, vector)
        change = 4 * pi * float(np.abs(found - density).sum(axis=0) @ VOLUME)
        density = found
        total = density.sum(axis=0)
        inside = cumulative_trapezoid(total * MESH**3, dx=STEP, initial=0.0) + total[0] * MESH[0] ** 3 / 3
        outside = cumulative_trapezoid(total * MESH**2, dx=STEP, initial=0.0)
        repulsion = 4 * pi * (inside / MESH + outside[-1] - outside)
        gradient = np.zeros((len(spins), 3, len(MESH)))
        gradient[:, 2] = slopes
        columns = np.concatenate([density[:, None], gradient], axis=1)
        _, potential = at_points(functional("pbe"), columns, target)
        by_density, by_gradient = potential[:, 0], potential[:, 1:]
        errors, fields = [], {}
        for (spin, l), matrix in matrices.items():
            f, slope, core = sets[l]
            local = (f * VOLUME * (repulsion + by_density[spin])) @ f.T
            mixed = (f * VOLUME * by_gradient[spin, 2]) @ slope.T
            field = fields[spin, l] = core + local + mixed + mixed.T
            errors.append((field @ matrix - matrix @ field).reshape(-1))
        history = [*history[-7:], (fields, np.concatenate(errors))]
        if change < 1e-6:
            return parts
        m = len(history)
        gram = np.array([[a @ b for _, b in history] for _, a in history])
        system = np.zeros((m + 1, m + 1))
        system[:m, :m], system[m, :m], system[:m, m] = gram / gram[-1, -1], 1.0, 1.0
        weights = np.linalg.lstsq(system, np.eye(m + 1)[m], rcond=1e-14)[0][:m]
        fields = {key: sum(w * old[key] for w, (old, _) in zip(weights, history, strict=True)) for key in fields}
    print(f"{SYMBOLS[number]}: the last step still changed {change:.1e} e")
    return parts


def cores(number: int) -> dict[int, list[tuple[tuple[int, int], float]]]:
    """Core potentials in use for an atom: the shells each replaces, and which part of them."""
    shells = configuration(number)
    result: dict[int, list[tuple[tuple[int, int], float]]] = {0: []}
    below: list[tuple[tuple[int, int], float]] = []
    for shell in sorted(shells):
        below = [*below, (shell, 1.0)]
        electrons = sum(shells[one] for one, _ in below)
        if electrons in usual_cores(number):
            result[electrons] = below
    if 54 in usual_cores(number):
        result[54] = [*result[46], ((5, 0), 1.0), ((5, 1), 1.0)]
    for inner, shell, first, last in ((46, (4, 3), 57, 71), (78, (5, 3), 89, 103)):
        if first <= number <= last:  # f electrons as part of the core: 54 of terbium and beyond are 46 and 8 of 4f
            n = shells.get(shell, 0)
            result |= {inner + k: [*result[inner], (shell, k / n)] for k in range(1, n + 1)}
    return {core: replaced for core, replaced in result.items() if core < number}


def fit(density: Reals, number: int, inner: float, faint: float = 1e-7) -> tuple[float, Reals, Reals]:
    """Smallest exponent, electrons of all Gaussians, and their sum on the mesh.

    Within `inner`, in bohr, where the core is denser than the rest, the fit is smooth: valence electrons have no nodes
    in a core potential. Densities below the faintest, in e bohr^-3, count no more than this.
    """
    electrons = 4 * pi * float(density @ VOLUME)
    weight = np.sqrt(VOLUME) / np.maximum(density, faint) ** 0.75 * np.where(inner > MESH, 0.03, 1.0)
    somewhere = np.searchsorted(MESH, np.concatenate([np.geomspace(1e-3, 4.0, 120), np.arange(4.2, 40.0, 0.4)]))
    floor = np.where(inner > MESH, density[np.argmin(np.abs(MESH - inner))] / 20, density)
    most = 20 / inner**2 if inner else 100.0 * number**2
    best, least_error = None, np.inf
    for least in 0.012 * RATIO ** (np.arange(9) / 2):
        a = least * RATIO ** np.arange(int(np.ceil(np.log(most / least) / np.log(RATIO))) + 1)
        gaussians = (a[:, None] / pi) ** 1.5 * np.exp(-a[:, None] * MESH**2)
        # far away, where the density is no measure, the widest Gaussian is
        positive = (gaussians / np.where(density > 1e-10, floor, gaussians[0])).T
        least_there = np.where(density > 1e-10, 0.2, 1e-9 * electrons)
        ridge = 1e-5 * np.linalg.norm(density * weight) / electrons * np.eye(len(a))
        system = np.vstack([(gaussians * weight)[:, ::4].T, ridge])
        # those with all electrons are one of them, and what adds up to none
        one = np.full(len(a), round(electrons) / len(a))
        none = null_space(np.ones((1, len(a))))
        wanted = np.concatenate([(density * weight)[::4], np.zeros(len(a))]) - system @ one
        seen = somewhere
        for _ in range(6):
            room = least_there[seen] - positive[seen] @ one
            found = one + none @ constrained(system @ none, wanted, positive[seen] @ none, room)
            fitted = found @ gaussians
            negative = np.flatnonzero((fitted <= 0) & (MESH < 40))
            if not len(negative):
                break
            seen = np.union1d(seen, negative[:: max(1, len(negative) // 8)])
        error = float(np.linalg.norm((fitted - density) * weight))
        if error < least_error and fitted[MESH < 40].min() > 0:
            best, least_error = (float(least), found, fitted), error
    if best is None:
        raise SystemExit(f"{SYMBOLS[number]}: every fit of {electrons:.0f} electrons is negative somewhere")
    return best


def constrained(system: Reals, wanted: Reals, rows: Reals, least: Reals) -> Reals:
    """Least squares |system x - wanted| where all of rows x are at least some numbers.

    By way of non-negative least squares (C. L. Lawson and R. J. Hanson, Solving Least Squares Problems, SIAM 1995,
    chapter 23).
    """
    q, r = np.linalg.qr(system)
    free = q.T @ wanted
    turned = np.linalg.solve(r.T, rows.T).T
    missing = least - turned @ free
    if missing.max() <= 0:
        return np.linalg.solve(r, free)
    norm = np.linalg.norm(turned, axis=1)
    turned, missing = turned / norm[:, None], missing / norm
    goal = np.append(np.zeros(len(free)), 1.0)
    size = np.abs(missing).max()
    for _ in range(4):  # digits are kept where the size is that of the step
        table = np.vstack([turned.T, missing / size])
        residual = table @ nnls(table, goal)[0] - goal
        if not residual[-1] < 0:
            return np.full(len(free), np.nan)
        step = -size * residual[:-1] / residual[-1]
        size = np.linalg.norm(step)
    return np.linalg.solve(r, free + step)


def fits_of(number: int, target: Target) -> list[tuple[int, float, Reals]]:
    """Electrons of the core, smallest exponent and electrons of the Gaussians of all fits of an atom; tells errors."""
    shells = atom(number, target)
    total = sum(shells.values())
    found, worst, beyond = [], [], []
    for core, replaced in cores(number).items():
        density = total - sum(part * shells[shell] for shell, part in replaced)
        denser = MESH[(total - density > density) & (total > 1e-4)]
        inner = float(denser.max()) if core else 0.0
        least, electrons, fitted = fit(density, number, inner)
        found.append((core, least, electrons))
        seen = (density > 1e-5) & (max(inner, 0.3 / number) < MESH)
        worst.append(np.abs(fitted / density - 1)[seen].max())
        beyond.append(4 * pi * float((np.abs(fitted - density) * VOLUME)[max(inner, 0.5) < MESH].sum()))
    print(
        f"{SYMBOLS[number]:2} {len(found):2} fits; beyond 0.3/Z bohr and cores, where the density exceeds 1e-5: "
        f"relative error {worst[0]:.1e} (with cores {max(worst):.1e}); "
        f"beyond 0.5 bohr {beyond[0]:.1e} e ({max(beyond):.1e}) misplaced",
        flush=True,
    )
    return found


def main() -> None:
    rows, firsts, weights = [], [], []
    with device_session("cpu", "double") as target:
        for number in range(1, LAST + 1):
            for core, least, electrons in fits_of(number, target):
                rows.append((number, core, len(electrons)))
                firsts.append(least)
                weights.append(electrons)
            np.savez_compressed(
                TABLE,
                fits=np.array(rows, np.int16),
                least=np.array(firsts),
                electrons=np.concatenate(weights),
                ratio=RATIO,
            )


if __name__ == "__main__":
    main()
