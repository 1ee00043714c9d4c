"""Fixtures: devices, sample files, wavefunctions made up at random."""

import gc
import multiprocessing
import os
import sys
from collections.abc import Container, Iterator
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from orbitile import Orbitals, Shell, Wavefunction

from .long import listed

# programs that tests start in another home find the kernels there that were compiled before
os.environ.setdefault("XDG_CACHE_HOME", str(Path.home() / ".cache"))

# A `LocalCluster` of Dask gives up for ever what is away for 15 seconds, and a worker that a test has killed may take
# that long to start again on a busy machine.
os.environ.setdefault("DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT", "1h")

# jsonschema, which MCP and basis-set-exchange need too, makes a grammar of addresses with it when it is imported, for
# two seconds: no test has it check an address.
sys.modules.setdefault("rfc3987_syntax", None)

# as on Windows and macOS, whatever a test starts by multiprocessing
multiprocessing.set_start_method("spawn", force=True)

SAMPLES = Path(str(files("iodata.test.data") / ""))
SUFFIXES = (".molden", ".molden.input", ".fchk", ".mkl", ".wfn", ".wfx", ".mwfn")
WITHOUT_ORBITALS = {
    "h2o_error.wfx": "a tag is misspelt on purpose",
    "methanol_g16_opt.fchk": "an optimisation without its basis set",
    "methanol_g16_scan.fchk": "a scan without its basis set",
}

ONLY_ONES = {
    *("nh3_orca.molden", "nh3_molpro2012.molden", "nh3_turbomole.molden", "nh3_molden_pure.molden"),
    "he_spdfgh_orbital.fchk",
}
"""Larger files that are the only ones of a program, or with functions of a degree."""


def sample_files() -> list[Path]:
    """Files of qc-iodata's test data that hold a basis set and orbitals."""
    return sorted(p for p in SAMPLES.iterdir() if p.name.endswith(SUFFIXES) and p.name not in WITHOUT_ORBITALS)


def sample_parameters(chosen: Container[str] | None = None) -> list:
    """The sample files as parameters of a test; with the larger ones it is slow, unless there are no others alike.

    Of the larger ones only those that are `chosen` by name, where that is given.
    """
    result = []
    for path in sample_files():
        larger = path.stat().st_size > 40_000 and path.name not in ONLY_ONES
        if chosen is None or not larger or path.name in chosen:
            result.append(pytest.param(path, id=path.name, marks=[pytest.mark.slow] if larger else []))
    return result


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect thousands of tests with the collector of cycles at rest, which later leaves out what stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their markers
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on CUDA and Vulkan are left out where the device is missing, those of Linux on other systems."""
    from taichi_kernels.devices import probe

    long = listed()
    for item in items:
        if item.nodeid in long:
            item.add_marker(pytest.mark.slow)
        for marker in list(item.iter_markers("slow_on")):
            if item.get_closest_marker(marker.args[0]):
                item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("linux") and sys.platform != "linux":
            item.add_marker(pytest.mark.skip(reason="of what only Linux has"))
        left = item.get_closest_marker("not_in_software")
        if (
            left
            and (not left.args or item.callspec.params["precision"] in left.args)
            and item.get_closest_marker("vulkan")
            and probe("vulkan").software
        ):
            item.add_marker(pytest.mark.skip(reason="left to GPUs: Vulkan in software takes minutes for its kernels"))
        for name in ("cuda", "vulkan"):
            if item.get_closest_marker(name) and not probe(name).available:
                item.add_marker(pytest.mark.skip(reason=f"{name}: {probe(name).detail}"))
    # A process computes on one device at a time, and loads its kernels again after another: each device comes once.
    items.sort(key=lambda item: [bool(item.get_closest_marker(name)) for name in ("cuda", "vulkan")])


OTHER_DEVICES = [pytest.param("vulkan", marks=pytest.mark.vulkan), pytest.param("cuda", marks=pytest.mark.cuda)]


@pytest.fixture(scope="session", params=["cpu", *OTHER_DEVICES])
def device(request: pytest.FixtureRequest) -> str:
    """Each compute device in turn; software Vulkan counts."""
    return str(request.param)


@pytest.fixture(params=["single", "double"])
def precision(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def random_wavefunction(
    seed: int,
    momenta: tuple[int, ...] = (0, 1, 2, 3),
    n_atoms: int = 3,
    n_primitives: int = 3,
    n_orbitals: int = 2,
    at: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Wavefunction:
    """Shells of the given angular momenta, pure and Cartesian in turn, with random exponents, positions, coefficients.

    Exponents of neighbouring shells coincide now and then, as in SP shells.
    """
    rng = np.random.default_rng(seed)
    shells = []
    for atom in range(n_atoms):
        shared = rng.uniform(0.15, 2.5, n_primitives)
        for momentum in momenta:
            exponents = shared if momentum in (0, 1) else rng.uniform(0.15, 2.5, n_primitives)
            pure = bool((momentum + atom) % 2)
            shells.append(Shell(atom, momentum, pure, exponents, rng.normal(size=n_primitives)))
    n_basis = sum(shell.n_functions for shell in shells)
    return Wavefunction(
        atomic_numbers=rng.integers(1, 9, n_atoms),
        positions=rng.uniform(-2, 2, (n_atoms, 3)) + np.asarray(at),
        shells=tuple(shells),
        alpha=Orbitals(rng.normal(size=(n_basis, n_orbitals)) / np.sqrt(n_basis), np.eye(n_orbitals)[0] * 2),
    )


@pytest.fixture(scope="session")
def benzene() -> Wavefunction:
    from orbitile import load

    return load(str(files("orbitile") / "data" / "benzene.molden"))


@pytest.fixture(scope="session")
def water() -> list[Wavefunction]:
    """Both O-H bonds stretched from 0.8 to 1.3 Angstrom."""
    from tests.molecules import scanned

    return scanned(
        f"O 0 0 0; H 0 {0.79 * r:.6f} {0.61 * r:.6f}; H 0 {-0.79 * r:.6f} {0.61 * r:.6f}"
        for r in np.linspace(0.8, 1.3, 9)
    )


@pytest.fixture(scope="session")
def hydrogens() -> list[Wavefunction]:
    """Two hydrogen molecules side by side, each bond lengthening while they approach: through the square."""
    from tests.molecules import computed

    frames = []
    for t in np.linspace(0, 1, 12):  # not through the square itself, where restricted orbitals have no gap
        a, b = 0.75 + 0.75 * t, 1.5 - 0.75 * t
        frames.append(f"H {-b} {-a} 0; H {-b} {a} 0; H {b} {-a} 0; H {b} {a} 0")
    return [computed(atoms, "6-31g") for atoms in frames]


def points_near(wavefunction: Wavefunction) -> np.ndarray:
    """Points about the atoms that carry basis functions: the nuclei, where many orbitals are largest, out to 6 bohr."""
    rng = np.random.default_rng(1)
    carriers = np.unique([shell.atom for shell in wavefunction.shells])
    chosen = wavefunction.positions[rng.choice(carriers, 120)]
    around = chosen + rng.normal(size=(120, 3)) * np.geomspace(1e-2, 2.5, 120)[:, None]
    return np.vstack([wavefunction.positions[carriers], wavefunction.positions[carriers] + 0.1, around])
