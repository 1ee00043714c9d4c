"""Kernels made ready: all that are met in practice, noted where they are kept, and nowhere else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(program: str, cache: Path | None = None) -> str:
    """What a program prints, in a process whose cache is in a folder."""
    roots = os.pathsep.join([str(ROOT / "plugin"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": roots}
    if cache is not None:
        environment["XDG_CACHE_HOME"] = str(cache)
        environment["TI_ADVANCED_OPTIMIZATION"] = "0"  # which kernels there are does not depend on how quick they are
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=environment, timeout=600
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


ONE_STEP = """
from orbitile.evaluation import preparation
preparation.STEPS = preparation.STEPS[1:2]
"""


@pytest.mark.slow
def test_it_is_noted_that_kernels_are_kept_as_long_as_they_are(tmp_path):
    shares = run(
        f"{ONE_STEP}shares = []\n"
        "print(preparation.is_prepared('cpu'), end=' ')\n"
        "preparation.prepare('cpu', progress=shares.append)\n"
        "print(preparation.is_prepared('cpu'), shares)",
        tmp_path,
    )
    assert shares == "False True [1.0]"
    ask = f"{ONE_STEP}print(preparation.is_prepared('cpu'), preparation.is_first_use('cpu'))"
    assert run(ask, tmp_path) == "True False"
    next(tmp_path.rglob("*.tic")).unlink()
    assert run(ask, tmp_path) == "False False"
    for kept in tmp_path.rglob("*.tic"):
        kept.unlink()
    assert run(ask, tmp_path) == "False True"


@pytest.mark.slow
def test_a_note_of_another_version_or_a_damaged_one_is_none(tmp_path):
    run(f"{ONE_STEP}preparation.prepare('cpu')", tmp_path)
    other = "from taichi_kernels import compiled\ncompiled._sources = lambda: 'changed'\n"
    assert run(f"{other}{ONE_STEP}print(preparation.is_prepared('cpu'))", tmp_path) == "False"
    (note,) = tmp_path.rglob("*.prepared")
    for damaged in (b"", b"kept_", b"\xff"):
        note.write_bytes(damaged)
        assert run(f"{ONE_STEP}print(preparation.is_prepared('cpu'))", tmp_path) == "False"


EVERYTHING = """
import importlib
import numpy as np
import orbitile
from orbitile.evaluation.preparation import STEPS, take_step
from orbitile.evaluation.surfaces import extract_surface
from taichi_kernels._taichi import COMPILER
from tests.conftest import random_wavefunction
Kernel = importlib.import_module(f'{COMPILER}.lang.kernel_impl').Kernel
asked, own = {}, Kernel.ensure_compiled
def noted(kernel, *arguments):
    key = own(kernel, *arguments)
    asked[id(kernel), str(key)] = kernel
    return key
Kernel.ensure_compiled = noted
for number in range(len(STEPS)):
    take_step(number, 'cpu')
before = set(asked)
lattice = orbitile.Lattice.box([-3.0] * 3, [3.0] * 3, 0.5)
for momenta in ((0,), (0, 1, 2, 3)):
    molecule = random_wavefunction(5, momenta)
    for name in ('mo:1', 'density', 'laplacian', 'gradient', 'elf', 'rdg', 'nci', 'kinetic', 'esp'):
        volume = orbitile.compute(molecule, name, lattice, device='cpu')
        orbitile.evaluate(molecule, name, np.zeros((1, 3)), device='cpu')
        extract_surface(volume, float(np.abs(volume.values).max()) / 2, device='cpu')
    orbitile.compute_many(molecule, ['mo:1', 'mo:2'], lattice, device='cpu')
print(len(before) > 20, sorted(str(asked[one].func) for one in set(asked) - before))
"""


@pytest.mark.slow
def test_no_field_needs_a_kernel_that_was_not_prepared():
    """Whether they were compiled before does not matter: the kernels are noted that are asked for."""
    assert run(EVERYTHING) == "True []"
