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
from orbitile.base.errors import Cancelled, FileError, OrbitileError
from orbitile.model.geometry import Geometry
from orbitile.readers import load_geometries
from orbitile.readers.series import SeriesFrames
from orbitile.scf.calculation import Calculation
from orbitile.scf.engines.pyscf import wavefunction_of
from orbitile.scf.level_of_theory import functional, molecule_of
from orbitile.scf.series import compute_series
from tests.molecules import gto, scf, shuffled, trajectory_of, with_orbitals
from tests.trajectories.test_series import assert_same

pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")

STO = Calculation("hf", "sto-3g")
OPEN_SHELL = Calculation("rohf", "6-31g*", 1, 1, cartesian=True)


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


def written(path, *atoms):
    """An xyz file of one frame."""
    path.write_text(f"{len(atoms)}\n\n" + "\n".join(atoms) + "\n")
    return path


@pytest.mark.parametrize("cartesian", [False, True])
def test_the_basis_functions_of_pyscf_are_ours(cartesian):
    mol = gto.M(atom="O 0 0.1 0; H 0 0.8 0.6; H 0.3 -0.8 0.6", basis="cc-pvqz", cart=cartesian, verbose=0)
    _, orbitals = np.linalg.eigh(mol.intor("int1e_ovlp"))  # any combinations will do that have all of g, f and d
    orbitals /= np.sqrt(np.einsum("mi,mn,ni->i", orbitals, mol.intor("int1e_ovlp"), orbitals))
    n = mol.nao
    w = wavefunction_of(mol, orbitals, np.repeat([2.0, 0.0], [5, n - 5]), np.arange(n))
    assert {shell.pure for shell in w.shells if shell.angular_momentum > 1} == {not cartesian}
    assert max(shell.angular_momentum for shell in w.shells) == 4
    points = np.random.default_rng(0).normal(size=(30, 3)) * 1.5
    expected = mol.eval_gto("GTOval_cart" if cartesian else "GTOval_sph", points) @ orbitals
    for one in range(0, n, 9):
        values = ob.evaluate(w, f"mo:{one + 1}", points, precision="double", device="cpu")
        np.testing.assert_allclose(values, expected[:, one], atol=1e-10)


@pytest.mark.linux
@pytest.mark.slow
@pytest.mark.parametrize("calculation", [STO, OPEN_SHELL], ids=str)
def test_killed_and_taken_up_it_ends_with_the_same_file(tmp_path, calculation):
    geometries = write_water(tmp_path / "water.xyz")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    work = (
        "import sys; from orbitile.scf.calculation import *; from orbitile.scf.series import *; "
        f"compute_series(sys.argv[1], sys.argv[2], {calculation!r}, "
        "progress=lambda share: (print(share, flush=True), sys.stdin.readline()))"
    )

    def run(name):
        """Begin a series that waits after each frame for a line, or for the end of its input."""
        arguments = [sys.executable, "-c", work, str(geometries), str(tmp_path / name)]
        pipe = subprocess.PIPE
        return subprocess.Popen(arguments, stdin=pipe, stdout=pipe, text=True, env=environment)

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
        while told < stop:
            told = round(12 * float(process.stdout.readline()))
            process.stdin.write("\n")
            process.stdin.flush()
        time.sleep(rng.uniform(0, 0.03))  # within the next frame, which is the last it may do
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


def integral(wavefunction, field):
    lattice = ob.Lattice.around(wavefunction, spacing=0.15, margin=8.0)
    values = ob.compute(wavefunction, field, lattice, device="cpu", precision="double").values
    return float(values.sum()) * 0.15**3


def test_a_restricted_open_shell(tmp_path):
    """Orbitals of both spins occupied by 2, 1 and 0 electrons; the spin density holds those that are unpaired."""
    path = written(tmp_path / "o2.xyz", "O 0 0 0", "O 0 0 1.21")
    (w,) = compute_series(path, tmp_path / "o2.h5", Calculation("rohf", "6-31g*", 0, 2, cartesian=True))
    assert (w.kind, w.multiplicity, w.n_electrons) == ("restricted open-shell", 3, 16)
    assert w.alpha.occupations[:10].tolist() == [2] * 7 + [1] * 2 + [0]
    assert sum(shell.n_functions for shell in w.shells if shell.angular_momentum == 2) == 12

    mol = gto.M(atom="O 0 0 0; O 0 0 1.21", basis="6-31g*", cart=True, spin=2, verbose=0)
    field = scf.ROHF(mol).run()
    np.testing.assert_allclose(w.alpha.energies, field.mo_energy, atol=1e-5)
    points = np.random.default_rng(1).normal(size=(40, 3)) * 1.5
    functions = mol.eval_gto("GTOval_cart", points)
    alpha, beta = (np.einsum("pm,mn,pn->p", functions, matrix, functions) for matrix in field.make_rdm1())
    for name, expected in (("density", alpha + beta), ("spin", alpha - beta), ("density:beta", beta)):
        values = ob.evaluate(w, name, points, precision="double", device="cpu")
        np.testing.assert_allclose(values, expected, atol=2e-6)
    assert integral(w, "spin") == pytest.approx(2, abs=1e-3)


@pytest.mark.slow
def test_kohn_sham_orbitals_of_a_restricted_open_shell(tmp_path):
    path = written(tmp_path / "oh.xyz", "O 0 0 0", "H 0 0 0.97")
    (w,) = compute_series(path, tmp_path / "oh.h5", Calculation("ROB3LYP", "sto-3g", 0, 1))
    assert (w.kind, w.n_unpaired) == ("restricted open-shell", 1)
    reference = pytest.importorskip("pyscf.dft", reason="PySCF (extra scf) is not installed").ROKS(
        gto.M(atom="O 0 0 0; H 0 0 0.97", basis="sto-3g", spin=1, verbose=0)
    )
    reference.xc = "b3lyp"
    reference.kernel()
    np.testing.assert_allclose(w.alpha.energies, reference.mo_energy, atol=1e-5)


@pytest.mark.parametrize(("basis", "core"), [pytest.param("def2-svp", 28, marks=pytest.mark.slow), ("lanl2dz", 46)])
def test_effective_core_potentials_count_once(tmp_path, basis, core):
    """Electrons and potential are those of the valence electrons and the charges that they see."""
    path = written(tmp_path / "hi.xyz", "H 0 0 0", "I 0 0 1.61")
    (w,) = compute_series(path, tmp_path / "hi.h5", Calculation("hf", basis))
    assert w.core_charges.tolist() == [1, 53 - core]
    assert (w.n_electrons, w.charge) == (54 - core, 0)
    assert integral(w, "density") == pytest.approx(54 - core, abs=2e-3)

    mol = molecule_of(load_geometries(path).read(0), Calculation("hf", basis))
    matrix = scf.RHF(mol).run().make_rdm1()
    points = np.random.default_rng(2).normal(size=(20, 3)) * 6
    expected = []
    for point in points:
        with mol.with_rinv_origin(point):
            electrons = np.einsum("mn,mn->", mol.intor("int1e_rinv"), matrix)
        expected.append((w.core_charges / np.linalg.norm(w.positions - point, axis=1)).sum() - electrons)
    values = ob.evaluate(w, "esp", points, precision="double", device="cpu")
    np.testing.assert_allclose(values, expected, atol=2e-6)


@pytest.mark.parametrize(
    ("name", "unpaired", "expected"),
    [
        ("HF", 0, ("r", "hf")),
        ("hf", 1, ("u", "hf")),
        ("rhf", 0, ("r", "hf")),
        ("uhf", 0, ("u", "hf")),
        ("rohf", 2, ("ro", "hf")),
        ("b3lyp", 0, ("r", "b3lyp")),
        ("UB3LYP", 0, ("u", "b3lyp")),
        ("rob3lyp", 1, ("ro", "b3lyp")),
        ("pbe0", 1, ("u", "pbe0")),
        ("rpbe", 0, ("r", "rpbe")),
        ("hyb_gga_xc_wb97x_d", 0, ("r", "hyb_gga_xc_wb97x_d")),
    ],
)
def test_names_of_methods(name, unpaired, expected):
    assert functional(Calculation(name, unpaired=unpaired)) == expected


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("b3ylp", "did you mean b3lyp"),
        ("mp2", "expected hf, gfn1, gfn2, or a functional"),
        ("ro-pbe", "expected hf, gfn1, gfn2, or a functional"),
        ("1", "expected hf, gfn1, gfn2, or a functional"),
    ],
)
def test_names_that_are_no_methods(name, message):
    with pytest.raises(OrbitileError, match=message):
        functional(Calculation(name))


def test_an_augmented_basis_set_has_the_core_potential_of_the_plain_one(tmp_path):
    path = written(tmp_path / "ag.xyz", "Ag 0 0 0")
    (w,) = compute_series(path, tmp_path / "ag.h5", Calculation("hf", "aug-cc-pvdz-pp", 1))
    assert w.core_charges.tolist() == [19]


def test_ghosts_have_no_functions(tmp_path, capfd):
    alone = compute_series(write_water(tmp_path / "a.xyz", 1), tmp_path / "a.h5", STO)[0]
    text = (tmp_path / "a.xyz").read_text()
    (tmp_path / "b.xyz").write_text(text.replace("3", "4", 1) + "X 0 0 4\n")
    (w,) = compute_series(tmp_path / "b.xyz", tmp_path / "b.h5", STO)
    assert (w.atomic_numbers.tolist(), w.n_basis) == ([8, 1, 1, 0], alone.n_basis)
    np.testing.assert_allclose(w.alpha.energies, alone.alpha.energies, atol=1e-7)
    assert "Warning" not in capfd.readouterr().err


def test_frames_that_do_not_converge_are_left_out(tmp_path, monkeypatch):
    geometries = write_water(tmp_path / "water.xyz", 3)
    monkeypatch.setattr(scf.hf.SCF, "max_cycle", 1)  # too few for any molecule, from atomic densities
    told = []
    with pytest.raises(OrbitileError, match="no frame could be computed with hf/sto-3g"):
        compute_series(geometries, tmp_path / "t.h5", STO, report=told.append)
    assert [line.split(":")[0] for line in told] == [f"frame {n} left out" for n in (1, 2, 3)]
    assert "did not converge, by DIIS nor to second order" in told[0]
    assert not (tmp_path / "t.h5").exists()


def test_orbitals_of_a_restricted_open_shell_are_followed(tmp_path):
    """Singly occupied orbitals keep their place, though programs rotate them among themselves as they please."""
    path = tmp_path / "o2.xyz"
    path.write_text("".join(f"2\n\nO 0 0 0\nO 0 0 {1.1 + 0.04 * n}\n" for n in range(6)))
    given = compute_series(path, tmp_path / "o2.h5", Calculation("rohf", "6-31g", 0, 2))
    rng = np.random.default_rng(3)
    spoilt = [given[0]]
    for n in range(1, 6):
        coefficients = given[n].alpha.coefficients.copy()
        angle = rng.uniform(0, 2 * np.pi)
        coefficients[:, 7:9] @= [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        spoilt.append(shuffled(with_orbitals(given[n], coefficients), rng))
    tracking = ob.track(trajectory_of(spoilt))
    assert tracking.confidence()[:, :9].min() > 0.98
    for occupations in tracking.occupations():
        np.testing.assert_allclose(occupations, [2] * 7 + [1] * 2 + [0] * 9, atol=1e-9)
    for n in range(6):
        assert tracking.followed(n).kind == "restricted open-shell"
        assert tracking.followed(n).n_unpaired == 2


def test_refusals(tmp_path):
    geometries = write_water(tmp_path / "water.xyz", 2)
    for calculation, message in (
        (Calculation("hf", "no-such-basis"), "expected one that PySCF knows"),
        (Calculation("hf", "cc-pvdzz"), "did you mean ccpvdz"),
        (Calculation("hf", "gth-szv"), "no functions for the inner electrons of O"),
        (Calculation("no-such-functional", "sto-3g"), "a functional that PySCF knows"),
        (Calculation("hf", "sto-3g", 1), "a charge of .1 there are 9 electrons, so an odd .* got 0 unpaired"),
        (Calculation("hf", "sto-3g", 0, 12), "up to 10 of them is unpaired; got 12"),
        (Calculation("hf", "sto-3g", 20), "there are -10 electrons"),
        (Calculation("hf", "sto-3g", 0, 10), "10 alpha electrons do not fit into the 7 orbitals"),
        (Calculation("rhf", "sto-3g", 1, 1), r"ask for rohf .* or uhf"),
    ):
        with pytest.raises(OrbitileError, match=message):
            compute_series(geometries, tmp_path / "s.h5", calculation)
    assert not (tmp_path / "s.h5").exists()
    compute_series(geometries, tmp_path / "s.h5", STO)
    with pytest.raises(FileError, match="other settings"):
        compute_series(geometries, tmp_path / "s.h5", Calculation("hf", "6-31g"))
    for other in ("O 0 0 1", "S 0 0 0"):
        (tmp_path / "other.xyz").write_text(geometries.read_text().replace("O 0 0 0", other))
        with pytest.raises(FileError, match="another geometry"):
            compute_series(tmp_path / "other.xyz", tmp_path / "s.h5", STO)
    for arguments in ({"method": " "}, {"method": "gfn2", "basis": "sto-3g"}, {"unpaired": -1}):
        with pytest.raises(OrbitileError, match="expected"):
            Calculation(**arguments)


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
        "frame 3 left out: its atoms differ from those before, or are in another order",
        "frame 4 left out: atoms 1 and 2 are at one place",
        "frame 5 left out: its atoms differ from those before, or are in another order",
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


def test_a_file_with_a_basis_set_that_changes_is_read_again(tmp_path):
    geometry = Geometry(np.array([2]), np.zeros((1, 3)))
    basis = tmp_path / "basis.nw"
    exponents = [13.6, 2.5, 0.67, 40.0]
    for n_functions in (3, 4):
        shells = "".join(f"He S\n {exponent} 1.0\n" for exponent in exponents[:n_functions])
        basis.write_text(f"BASIS\n{shells}END\n")
        assert molecule_of(geometry, Calculation("hf", str(basis))).nao == n_functions
