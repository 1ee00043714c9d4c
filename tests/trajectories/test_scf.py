"""Orbitals of geometries, frame by frame: interrupted by SIGKILL and taken up, the series is the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import orbitile as ob
from orbitile.errors import Cancelled, FileError, OrbitileError
from orbitile.readers import load_geometries
from orbitile.scf import Calculation, compute_series, wavefunction_of
from orbitile.series import SeriesFrames

from .conftest import gto, scf
from .test_series import assert_same

pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")

STO = Calculation("hf", "sto-3g")


def write_water(path, n_frames=12):
    lines = []
    for n in range(n_frames):
        r = 0.85 + 0.03 * n
        lines += [
            "3",
            f"frame {n}",
            "O 0 0 0",
            f"H 0 {0.79 * r:.6f} {0.61 * r:.6f}",
            f"H 0 {-0.79 * r:.6f} {0.61 * r:.6f}",
        ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_basis_functions_of_pyscf_are_ours():
    mol = gto.M(atom="O 0 0.1 0; H 0 0.8 0.6; H 0.3 -0.8 0.6", basis="cc-pvtz", verbose=0)
    field = scf.RHF(mol).run()
    w = wavefunction_of(mol, field.mo_coeff, field.mo_occ, field.mo_energy)
    points = np.random.default_rng(0).normal(size=(30, 3)) * 1.5
    expected = mol.eval_gto("GTOval_sph", points) @ field.mo_coeff
    for n in (0, 4, 30, 57):
        values = ob.evaluate(w, f"mo:{n + 1}", points, precision="double", device="cpu")
        np.testing.assert_allclose(values, expected[:, n], atol=1e-10)


def test_killed_and_taken_up_it_ends_with_the_same_file(tmp_path):
    geometries = write_water(tmp_path / "water.xyz")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    work = (
        "import sys; from orbitile.scf import *; "
        "compute_series(sys.argv[1], sys.argv[2], Calculation('hf', 'sto-3g'), "
        "progress=lambda share: print(share, flush=True))"
    )

    def run(name):
        arguments = [sys.executable, "-c", work, str(geometries), str(tmp_path / name)]
        return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment)

    whole = run("whole.h5")
    whole.communicate()
    assert whole.returncode == 0
    expected = ob.load_trajectory(tmp_path / "whole.h5")
    assert len(expected) == 12
    rng = np.random.default_rng()
    lengths = []
    for stop in (3, 7, 9):
        process = run("killed.h5")
        told = 0
        for line in process.stdout:
            told = round(12 * float(line))
            if told >= stop:
                break
        time.sleep(rng.uniform(0, 0.03))
        process.send_signal(signal.SIGKILL)
        rest = process.stdout.read().split()
        process.wait()
        told = round(12 * float(rest[-1])) if rest else told
        lengths.append(len(SeriesFrames(tmp_path / "killed.h5")))
        assert told <= lengths[-1] <= told + 1
    assert lengths == sorted(lengths)
    last = run("killed.h5")
    shares = last.communicate()[0].split()
    assert float(shares[0]) == (lengths[-1] + 1) / 12  # it went on, and did not begin again
    assert shares[-1] == "1.0"
    found = ob.load_trajectory(tmp_path / "killed.h5")
    assert len(found) == 12
    for a, b in zip(expected, found, strict=True):
        assert_same(a, b)
    again = run("whole.h5")
    assert again.communicate()[0] == ""
    assert again.returncode == 0


def test_frames_begin_from_the_one_before(tmp_path, monkeypatch):
    """A geometry that comes twice is done the second time after one look."""
    matrices = []
    original = scf.hf.SCF.get_fock
    monkeypatch.setattr(scf.hf.SCF, "get_fock", lambda self, *a, **k: (matrices.append(1), original(self, *a, **k))[1])
    one = write_water(tmp_path / "water.xyz", 1)
    compute_series(one, tmp_path / "one.h5", STO)
    alone = len(matrices)
    one.write_text(one.read_text() * 2)
    compute_series(one, tmp_path / "two.h5", STO)
    assert len(matrices) - alone < alone + 6


def test_unrestricted_and_functionals(tmp_path):
    (tmp_path / "oh.xyz").write_text("2\n\nO 0 0 0\nH 0 0 0.97\n")
    (w,) = compute_series(tmp_path / "oh.xyz", tmp_path / "oh.h5", Calculation("pbe", "sto-3g", 0, 1))
    assert w.kind == "unrestricted"
    assert (w.n_electrons, w.n_unpaired) == (9, 1)
    reference = pytest.importorskip("pyscf.dft", reason="PySCF (extra scf) is not installed").UKS(
        gto.M(atom="O 0 0 0; H 0 0 0.97", basis="sto-3g", spin=1, verbose=0)
    )
    reference.xc = "pbe"
    reference.kernel()
    np.testing.assert_allclose(w.alpha.energies, reference.mo_energy[0], atol=1e-5)


def test_refusals(tmp_path):
    geometries = write_water(tmp_path / "water.xyz", 2)
    for calculation, message in (
        (Calculation("hf", "no-such-basis"), "is the basis set known"),
        (Calculation("no-such-functional", "sto-3g"), "a functional that PySCF knows"),
        (Calculation("hf", "sto-3g", 1), "do charge and unpaired electrons go together"),
    ):
        with pytest.raises(OrbitileError, match=message):
            compute_series(geometries, tmp_path / "s.h5", calculation)
    assert not (tmp_path / "s.h5").exists()
    compute_series(geometries, tmp_path / "s.h5", STO)
    with pytest.raises(FileError, match="other settings"):
        compute_series(geometries, tmp_path / "s.h5", Calculation("hf", "6-31g"))
    (tmp_path / "other.xyz").write_text(geometries.read_text().replace("O 0 0 0", "O 0 0 1", 1))
    with pytest.raises(FileError, match="another geometry"):
        compute_series(tmp_path / "other.xyz", tmp_path / "s.h5", STO)


def test_cancelled_it_keeps_what_is_done(tmp_path):
    geometries = write_water(tmp_path / "water.xyz", 4)
    done = []
    with pytest.raises(Cancelled):
        compute_series(geometries, tmp_path / "s.h5", STO, progress=done.append, cancelled=lambda: len(done) == 2)
    assert len(ob.load_trajectory(tmp_path / "s.h5")) == 2
    assert len(compute_series(geometries, tmp_path / "s.h5", STO)) == 4


def test_damaged_geometries_are_left_out(tmp_path):
    text = write_water(tmp_path / "water.xyz", 3).read_text()
    (tmp_path / "water.xyz").write_text(text.replace("frame 1\nO 0 0 0", "frame 1\nO 0 zero 0"))
    told = []
    trajectory = compute_series(tmp_path / "water.xyz", tmp_path / "s.h5", STO, report=told.append)
    assert len(trajectory) == 2
    assert "line 8: expected an element and three coordinates, got 'O 0 zero 0'" in told[0]
    assert [trajectory.source.number(n) for n in range(2)] == [0, 2]


def test_frames_of_other_atoms_or_atoms_at_one_place_are_left_out(tmp_path):
    frames = ["H 0 0 0\nH 0 0 1e-9", "H 0 0 0\nH 0 0 0.74", "He 0 0 0\nHe 0 0 0.74", "H 0 0 0\nH 0 0 0", "H 0 0 0"]
    frames.append("H 0 0 0\nH 0 0 0.8")
    path = tmp_path / "h2.xyz"
    path.write_text("".join(f"{frame.count('H')}\n\n{frame}\n" for frame in frames))
    told = []
    trajectory = compute_series(path, tmp_path / "s.h5", STO, report=told.append)
    assert [trajectory.source.number(n) for n in range(len(trajectory))] == [1, 5]
    assert told == [
        "frame 1 left out: atoms 1 and 2 are at one place",
        "frame 3 left out: its atoms are others than those before, or in another order",
        "frame 4 left out: atoms 1 and 2 are at one place",
        "frame 5 left out: its atoms are others than those before, or in another order",
    ]
    path.write_text(f"2\n\n{frames[0]}\n")
    with pytest.raises(OrbitileError, match="no frame could be computed"):
        compute_series(path, tmp_path / "none.h5", STO)
    assert not (tmp_path / "none.h5").exists()


def test_extended_xyz(tmp_path):
    ase = pytest.importorskip("ase", reason="ASE is not installed")
    from ase.io import write

    frames = [ase.Atoms("OH", [[0, 0, 0], [0, 0.1 * n, 0.97]]) for n in range(3)]
    for frame in frames:
        frame.arrays["forces"] = np.full((2, 3), 0.5)
    write(tmp_path / "a.extxyz", frames, format="extxyz", columns=["forces", "symbols", "positions"])
    geometries = load_geometries(tmp_path / "a.extxyz")
    assert len(geometries) == 3
    for n, frame in enumerate(frames):
        one = geometries.read(n)
        assert one.atomic_numbers.tolist() == [8, 1]
        np.testing.assert_allclose(one.positions, frame.positions / 0.529177210903, atol=1e-7)


@pytest.mark.parametrize("suffix", [".dcd", ".xtc"])
def test_trajectories_of_molecular_dynamics(tmp_path, suffix):
    mdtraj = pytest.importorskip("mdtraj", reason="MDTraj (extra dynamics) is not installed")
    geometries = load_geometries(write_water(tmp_path / "water.xyz", 3))
    positions = np.array([geometries.read(n).positions for n in range(3)])
    topology = mdtraj.Topology()
    residue = topology.add_residue("HOH", topology.add_chain())
    for name, symbol in (("O", "O"), ("H1", "H"), ("H2", "H")):
        topology.add_atom(name, mdtraj.element.get_by_symbol(symbol), residue)
    written = mdtraj.Trajectory((positions * 0.0529177210903).astype(np.float32), topology)
    written.save(str(tmp_path / f"water{suffix}"))
    written[0].save_pdb(str(tmp_path / "water.pdb"))
    with pytest.raises(FileError, match="give a topology"):
        load_geometries(tmp_path / f"water{suffix}")
    found = load_geometries(tmp_path / f"water{suffix}", tmp_path / "water.pdb")
    assert len(found) == 3
    for n in range(3):
        assert found.read(n).atomic_numbers.tolist() == [8, 1, 1]
        np.testing.assert_allclose(found.read(n).positions, positions[n], atol=0.012 if suffix == ".xtc" else 1e-5)
    (tmp_path / "broken.xtc").write_bytes(b"nothing")
    with pytest.raises(FileError, match="MDTraj cannot read it"):
        load_geometries(tmp_path / "broken.xtc", tmp_path / "water.pdb")
