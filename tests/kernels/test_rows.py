"""Sums row by row on a CPU: more rows, bricks and sums than a thread takes at a time, and threads that share them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import orbitile as ob
from orbitile.evaluation.devices import device_session
from orbitile_benchmarks.lattice_work import latest_work
from taichi_kernels.layout import BRICK, layout
from taichi_kernels.orbital_lattice import orbital_on_lattice
from taichi_kernels.rows_cpu import PIECE
from tests.conftest import random_wavefunction
from tests.oracle import orbital

LIMIT = {"single": 2e-6, "double": 1e-12}
AXES = {
    "orthogonal": np.diag([0.5, 0.19, 0.095]),
    "sheared": np.array([[0.5, 0.1, 0.0], [0.0, 0.19, 0.0], [0.0, 0.0, 0.095]]),
}
SHAPE = (9, 139, 275)
"""More than sixteen bricks along y and along z; at the edges there are parts of bricks."""


@pytest.mark.slow
@pytest.mark.parametrize("name", AXES)
def test_large_planes_against_the_oracle(precision, name):
    wavefunction = random_wavefunction(8, n_atoms=12, n_orbitals=3)
    rows = sum(3 * (shell.angular_momentum + 1) for shell in wavefunction.shells if shell.angular_momentum != 0)
    assert rows > 2 * PIECE
    lattice = ob.Lattice([-2.0, -13.0, -13.0], AXES[name], SHAPE)
    some = np.random.default_rng(0).choice(lattice.n_points, 4000, replace=False)
    some = np.union1d(some, np.arange(lattice.n_points).reshape(SHAPE)[::8, ::69, ::137])
    points = lattice.points()[some]
    names = ["mo:1", "mo:2", "mo:3"]
    together = ob.compute_many(wavefunction, names, lattice, device="cpu", precision=precision)
    for index, volume in enumerate(together):
        alone = ob.compute(wavefunction, names[index], lattice, device="cpu", precision=precision)
        expected = orbital(wavefunction, index, points)
        largest = np.abs(expected).max()
        for values in (volume.values, alone.values):
            assert np.abs(values.ravel()[some] - expected).max() < LIMIT[precision] * largest


@pytest.mark.parametrize("n", [60, 6000])
def test_lists_are_nearly_the_shortest_for_their_bound(n):
    """Of one brick, to which few or many Gaussians matter: the smallest are left out, up to the tolerance."""
    random = np.random.default_rng(n)
    spacing, tolerance = (0.2, 0.2, 0.1), 1e-4
    centre, exponent = random.uniform(-6, 7, (n, 3)), random.uniform(0.1, 1.0, n)
    terms = random.normal(size=n) / n
    tables = [
        np.exp(-exponent[:, None] * (h * np.arange(points) - centre[:, axis, None]) ** 2)
        for axis, (points, h) in enumerate(zip(BRICK, spacing, strict=True))
    ]
    largest = np.abs(terms) * np.prod([table.max(axis=1) for table in tables], axis=0)
    shortest = int((np.cumsum(np.sort(largest)) > tolerance).sum())
    assert 0.05 * n < shortest < 0.7 * n
    plan = layout(np.zeros(n, np.int32))
    with device_session("cpu", "double") as target:
        out = np.empty(BRICK)
        orbital_on_lattice(plan, centre, exponent, terms, spacing, BRICK, 0, tolerance, target, out)
        kept = latest_work(plan, "double").pairs
    assert shortest <= kept < 1.25 * shortest
    assert np.abs(out - np.einsum("p,px,py,pz->xyz", terms, *tables)).max() < tolerance


@pytest.mark.slow
def test_values_do_not_depend_on_threads(tmp_path):
    """Who takes which column differs from run to run; what becomes of it does not."""
    code = (
        "import sys, numpy as np, orbitile as ob\n"
        "from tests.conftest import random_wavefunction\n"
        "w = random_wavefunction(9, n_atoms=8)\n"
        "lattice = ob.Lattice([-4.0, -4.0, -4.0], np.eye(3) * 0.21, (43, 41, 37))\n"
        "np.save(sys.argv[1], [ob.compute(w, field, lattice, device='cpu').values for field in ('homo', 'density')])\n"
    )
    found = []
    for threads in ("1", "2", "5"):
        path = tmp_path / f"{threads}.npy"
        environment = {**os.environ, "ORBITILE_THREADS": threads}
        root = Path(__file__).parents[2]
        subprocess.run([sys.executable, "-c", code, str(path)], env=environment, check=True, cwd=root)
        found.append(np.load(path))
    assert np.abs(found[0]).max() > 0.1
    assert all(np.array_equal(found[0], other) for other in found[1:])
