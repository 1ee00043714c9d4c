"""Engines: which one computes what, and that ours comes to the numbers of PySCF."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import FileError, OrbitileError
from orbitile.model.geometry import Geometry
from orbitile.model.units import angstrom
from orbitile.scf.calculation import Calculation, NotConverged
from orbitile.scf.engines import chosen, engine_of, engines, orbitile, pyscf
from orbitile.scf.series import compute_series
from tests.scf.test_scf import write_water
from tests.trajectories.test_series import assert_same

pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")

LDA = Calculation("lda,vwn", "sto-3g")
WATER = Geometry(np.array([8, 1, 1]), np.array([[0, 0, 0], [0, 1.5, 1.15], [0, -1.5, 1.15]]))
HYDROXYL = Geometry(np.array([8, 1]), np.array([[0, 0, 0], [0, 0, 1.83]]))


def atom(number):
    return Geometry(np.array([number]), np.zeros((1, 3)))


@pytest.mark.parametrize(
    ("geometry", "calculation", "precision", "tolerance"),
    [
        pytest.param(WATER, LDA, "double", 1e-8, id="double"),
        pytest.param(WATER, LDA, "single", 1e-7, id="mixed"),
        pytest.param(HYDROXYL, replace(LDA, unpaired=1), "single", 1e-7, id="radical"),
        pytest.param(HYDROXYL, replace(LDA, charge=-1), "single", 1e-7, id="anion"),
        pytest.param(atom(1), replace(LDA, unpaired=1), "single", 1e-7, id="hydrogen"),
        pytest.param(atom(2), replace(LDA, basis="6-31g"), "single", 1e-7, id="helium"),
        *(
            pytest.param(*case, "single", 1e-6, id=str(case[1]), marks=pytest.mark.slow)
            for case in (
                (WATER, Calculation("pbe", "def2-tzvp")),
                (WATER, Calculation("blyp", "6-31+g*", -2, 2, cartesian=True)),
                (HYDROXYL, Calculation("pbe", "cc-pvtz", 1, 2)),
                (atom(7), Calculation("pbe", "cc-pvqz", 0, 3)),
                (atom(30), Calculation("pbe", "6-31g*", cartesian=True)),
                (WATER, Calculation("r2scan", "def2-svp")),
                (HYDROXYL, Calculation("tpss", "6-31+g*", 0, 1)),
                (atom(1), Calculation("r2scan", "def2-svp", 0, 1)),
                (atom(7), Calculation("m06l", "6-31g*", 0, 3)),
            )
        ),
    ],
)
def test_energies_are_those_of_pyscf(geometry, calculation, precision, tolerance):
    found = orbitile.solve(geometry, calculation, device="cpu", precision=precision)
    expected = pyscf.solve(geometry, calculation)
    assert found.energy == pytest.approx(expected.energy, abs=tolerance)
    for ours, theirs in zip(
        (found.wavefunction.alpha, found.wavefunction.beta),
        (expected.wavefunction.alpha, expected.wavefunction.beta),
        strict=True,
    ):
        if ours is not None:
            np.testing.assert_array_equal(ours.occupations, theirs.occupations)
            occupied = ours.occupations > 0
            np.testing.assert_allclose(ours.energies[occupied], theirs.energies[occupied], atol=1e-4)


def torn(first: int, second: int, distance: float) -> Geometry:
    return Geometry(np.array([first, second]), np.array([[0, 0, 0], [0, 0, distance * angstrom]]))


OXYGEN = Geometry(np.array([8, 8]), np.array([[0, 0, 0], [0, 0.2, 2.3]]))
CARBONYL = Geometry(
    np.array([28, 6, 8, 6, 8]), np.array([[0, 0, 0], [0, 0, 4.2], [0, 0, 6.4], [0, 0.3, -4.2], [0, 0.3, -6.4]])
)


@pytest.mark.parametrize(
    ("geometry", "calculation"),
    [
        pytest.param(OXYGEN, Calculation("rolda,vwn", "6-31g", 0, 2), id="open shells"),
        pytest.param(OXYGEN, Calculation("lda,vwn", "6-31g", smearing=5000), id="restricted, smeared"),
        *(
            pytest.param(*case, id=f"{case[1]}", marks=pytest.mark.slow)
            for case in (
                (HYDROXYL, Calculation("roblyp", "def2-tzvp", 0, 1)),
                (torn(7, 7, 1.2), Calculation("ropbe", "6-31g*", 1, 1, cartesian=True)),
                (torn(7, 8, 1.5), Calculation("pbe", "def2-svp", 0, 1, smearing=4000)),
                (atom(26), Calculation("pbe", "6-31g*", 0, 4, smearing=3000)),
            )
        ),
    ],
)
def test_open_shells_and_temperatures_are_those_of_pyscf(geometry, calculation):
    found, expected = orbitile.solve(geometry, calculation, device="cpu"), pyscf.solve(geometry, calculation)
    # the singly occupied one of two equal orbitals of hydroxyl may lie anywhere between the points
    assert found.energy == pytest.approx(expected.energy, abs=1e-6)
    assert found.wavefunction.kind == expected.wavefunction.kind
    assert found.parts.keys() == expected.parts.keys()
    for name, value in expected.parts.items():
        assert found.parts[name] == pytest.approx(value, abs=1e-6)
    forces = orbitile.gradient(found.wavefunction, calculation, "cpu")
    differences = forces - np.reshape(pyscf.gradient(expected.wavefunction, calculation), (-1, 3))
    assert np.abs(differences).max() < 2e-5


@pytest.mark.slow
def test_what_extrapolation_does_not_converge_goes_down_in_free_energy():
    """Nickel between carbon monoxide that it almost left; neither DIIS converges."""
    calculation = Calculation("pbe", "lanl2dz", smearing=3000)
    found = orbitile.solve(CARBONYL, calculation, device="cpu")
    again = orbitile.solve(CARBONYL, calculation, [found.wavefunction], device="cpu")
    assert again.energy == pytest.approx(found.energy, abs=3e-7)  # in single precision


def test_unrestricted_orbitals_find_the_broken_symmetry():
    """Two hydrogen atoms far apart have the energy of two atoms, with an electron of another spin on each."""
    far = Geometry(np.array([1, 1]), np.array([[0, 0, 0], [0, 0, 8.0]]))
    one = orbitile.solve(atom(1), replace(LDA, unpaired=1), device="cpu").energy
    pair = orbitile.solve(far, replace(LDA, method="ulda,vwn"), device="cpu")
    assert pair.energy == pytest.approx(2 * one, abs=1e-3)
    assert orbitile.solve(far, LDA, device="cpu").energy > pair.energy + 0.05


@pytest.mark.slow
def test_frames_begin_close(device):
    """From orbitals of the same geometry there is nothing left to do; from those of another, the energy is the same."""
    alone = orbitile.solve(WATER, LDA, device=device)
    assert alone.energy == pytest.approx(pyscf.solve(WATER, LDA).energy, abs=1e-7)
    moved = replace(WATER, positions=WATER.positions + 0.01 * np.sin(np.arange(9).reshape(3, 3)))
    assert orbitile.solve(WATER, LDA, [alone.wavefunction], device).n_iterations <= 3
    after = orbitile.solve(moved, LDA, [alone.wavefunction], device)
    assert after.n_iterations < alone.n_iterations
    assert after.energy == pytest.approx(orbitile.solve(moved, LDA, device=device).energy, abs=1e-7)


@pytest.mark.parametrize(
    ("geometry", "calculation", "expected"),
    [
        (WATER, LDA, "orbitile"),
        (WATER, Calculation("pbe", "cc-pvqz"), "orbitile"),
        (HYDROXYL, Calculation("UPBE", "6-31g*", 0, 1), "orbitile"),
        (WATER, Calculation("hf", "sto-3g"), "pyscf"),
        (WATER, Calculation("b3lyp", "sto-3g"), "orbitile"),
        (WATER, Calculation("wb97x-v", "sto-3g"), "pyscf"),
        (HYDROXYL, Calculation("ropbe", "6-31g*", 0, 1), "orbitile"),
        (WATER, Calculation("pbe", "6-31g*", smearing=5000), "orbitile"),
        (HYDROXYL, Calculation("rohf", "6-31g*", 0, 1), "pyscf"),
        (atom(53), Calculation("pbe", "def2-svp", 0, 1), "orbitile"),
    ],
)
def test_auto_chooses_what_serves(geometry, calculation, expected):
    assert engine_of("auto", geometry, calculation).engine is engines()[expected]


@pytest.mark.parametrize(
    ("name", "geometry", "calculation", "message"),
    [
        ("orbitile", WATER, Calculation("wb97x-v", "sto-3g"), "engine orbitile: method 'wb97x-v' is no functional of"),
        ("orbitile", HYDROXYL, Calculation("ropbe", "sto-3g", 0, 1, smearing=1000), "open shells have no smearing"),
        ("qchem", WATER, LDA, "engine: expected auto, orbitile, gpu4pyscf, pyscf, xtb, got 'qchem'"),
        ("gpu4pyscf", WATER, LDA, "engine gpu4pyscf: the package gpu4pyscf is missing|no NVIDIA GPU"),
    ],
)
def test_engines_that_do_not_serve(name, geometry, calculation, message):
    with pytest.raises(OrbitileError, match=message):
        engine_of(name, geometry, calculation)


def test_auto_says_why_it_is_that_engine():
    assert chosen("auto", WATER, LDA) == ("orbitile", "the first engine that serves")
    name, why = chosen("auto", WATER, Calculation("wb97x-v", "sto-3g"))
    assert name == "pyscf"
    assert chosen("auto", WATER, Calculation("uhf", "sto-3g"))[1].startswith("engine orbitile: slower for hf; ")
    assert re.match(r"engine orbitile: method 'wb97x-v' .*; engine gpu4pyscf: (the package|there is)", why)


def test_without_pyscf_what_is_ours_goes_on(monkeypatch):
    monkeypatch.setattr(pyscf, "find_spec", lambda name: None)
    assert engine_of("auto", WATER, LDA).engine is engines()["orbitile"]
    with pytest.raises(OrbitileError, match=r"engine orbitile: .*; engine gpu4pyscf: .*; engine pyscf: .*pip install"):
        engine_of("auto", WATER, Calculation("wb97x-v", "sto-3g"))


def test_refusals_come_before_anything_long(monkeypatch):
    monkeypatch.setattr(orbitile, "Hamiltonian", None)
    for calculation, message in (
        (replace(LDA, charge=1), "9 electrons, so an odd number .* got 0 unpaired"),
        (replace(LDA, unpaired=12), "up to 10 of them is unpaired; got 12"),
        (replace(LDA, charge=-6), "8 alpha electrons do not fit into the 7 orbitals"),
        (replace(LDA, charge=20), "there are -10 electrons"),
        (replace(LDA, basis="no-such-basis"), "basis set 'no-such-basis': expected one"),
        (Calculation("wb97x-v", "sto-3g"), "engine orbitile: method 'wb97x-v' is no functional"),
    ):
        with pytest.raises(OrbitileError, match=message):
            orbitile.solve(WATER, calculation)
    monkeypatch.setattr("orbitile.base.memory.available_memory", lambda: 10_000_000)
    with pytest.raises(OrbitileError, match=r"lda,vwn/sto-3g.* of 7 functions needs 0.0 GB .* choose a smaller basis"):
        orbitile.solve(WATER, LDA)


def test_what_does_not_converge_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr("orbitile.scf.kohn_sham._MOST", (2, 4))
    with pytest.raises(NotConverged, match="did not converge in 11 iterations"):
        orbitile.solve(WATER, LDA, device="cpu")
    told = []
    with pytest.raises(OrbitileError, match="no frame could be computed"):
        compute_series(write_water(tmp_path / "w.xyz", 2), tmp_path / "w.h5", LDA, report=told.append)
    assert [line.partition(":")[0] for line in told] == ["frame 1 left out", "frame 2 left out"]


def test_a_series_is_continued_by_the_engine_that_began_it(tmp_path):
    both, first = write_water(tmp_path / "both.xyz", 2), write_water(tmp_path / "first.xyz", 1)
    compute_series(first, tmp_path / "s.h5", LDA, engine="pyscf")
    with pytest.raises(FileError, match=r"was begun by PySCF .*, and cannot be continued by engine 'orbitile'"):
        compute_series(both, tmp_path / "s.h5", LDA, engine="orbitile")
    frames = compute_series(both, tmp_path / "s.h5", LDA)
    assert [frame.program.split()[0] for frame in frames] == ["PySCF"] * 2


@pytest.mark.linux
@pytest.mark.slow
def test_killed_and_taken_up_it_ends_with_the_same_file(tmp_path):
    """With the history of the frames before: a series is the same to the bit, wherever it was cut."""
    geometries = write_water(tmp_path / "water.xyz", 12)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    work = (
        "import sys; from orbitile.scf.calculation import *; from orbitile.scf.series import *; "
        f"compute_series(sys.argv[1], sys.argv[2], {LDA!r}, engine='orbitile', device='cpu', "
        "progress=lambda share: print(share, flush=True))"
    )

    def run(name):
        arguments = [sys.executable, "-c", work, str(geometries), str(tmp_path / name)]
        return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment)

    assert run("whole.h5").wait() == 0
    for stop in (3, 8):
        process = run("killed.h5")
        for line in process.stdout:
            if round(12 * float(line)) >= stop:
                break
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert run("killed.h5").wait() == 0
    expected, found = (ob.load_trajectory(tmp_path / name) for name in ("whole.h5", "killed.h5"))
    assert len(expected) == len(found) == 12
    for a, b in zip(expected, found, strict=True):
        assert_same(a, b)


@pytest.mark.parametrize("precision", [pytest.param("single", marks=pytest.mark.slow), "double"])
def test_a_torn_molecule(precision):
    """Energies, those of empty orbitals too, are PySCF's from a start of broken symmetry."""
    b88 = orbitile.solve(torn(1, 1, 3.0), Calculation("ublyp", "cc-pvdz"), device="cpu", precision=precision)
    assert b88.energy == pytest.approx(-0.9941956892, abs=1e-8)
    pbe = orbitile.solve(torn(1, 1, 4.0), Calculation("upbe", "cc-pvdz"), device="cpu", precision=precision)
    assert pbe.energy == pytest.approx(-0.9972888169, abs=1e-8)
    expected = [-0.274869, 0.199310, 0.383661, 1.148071]
    for orbitals in (pbe.wavefunction.alpha, pbe.wavefunction.beta):
        np.testing.assert_allclose(orbitals.energies[:4], expected, atol=3e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("geometry", "calculation", "energy"),
    [
        (torn(3, 1, 5.0), Calculation("ublyp", "6-31g*"), -7.9781384995),
        (torn(29, 8, 1.75), Calculation("ropbe", "6-31g*", 0, 1), -1715.0073878745),
    ],
    ids=["lithium hydride", "copper oxide"],
)
def test_what_extrapolation_does_not_converge_goes_down_in_energy(geometry, calculation, energy):
    """To PySCF's; without a push the oxide ends on a saddle point, 0.04 hartree above."""
    found = orbitile.solve(geometry, calculation, device="cpu", precision="double")
    assert found.energy == pytest.approx(energy, abs=3e-7)
    assert found.n_iterations < 100


@pytest.mark.slow
def test_functions_that_nearly_depend_on_others_are_computed_in_double_precision():
    """Six hydrogen atoms in a row, with diffuse functions: eigenvalues of the overlap from 1e-10 on."""
    row = Geometry(np.ones(6, int), np.arange(6)[:, None] * np.array([0, 0, 0.74 * angstrom]))
    found = orbitile.solve(row, Calculation("pbe", "d-aug-cc-pvdz"), device="cpu", precision="single")
    assert found.energy == pytest.approx(-3.3092685071, abs=1e-7)
