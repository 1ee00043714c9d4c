"""The benchmarks themselves: molecules, references, and that the command runs. Nothing here is timed."""

import json
import sys
from collections import Counter

import numpy as np
import pytest

import orbitile as ob
from orbitile.commandline import main
from orbitile_benchmarks import fragments, measurement, orbitile_rows, peaks, peers, report, strand, systems
from orbitile_benchmarks.lattice_work import latest_work
from taichi_kernels.devices import probe
from taichi_kernels.layout import layout
from taichi_kernels.session import session
from tests.conftest import random_wavefunction
from tests.oracle import orbital


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """One cache folder for the molecules of all tests."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _in_cache(cache, monkeypatch):
    # not by XDG_CACHE_HOME, where compiled kernels are found
    monkeypatch.setattr(systems, "cache_folder", lambda: cache)
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")


def case_of(system):
    path = systems.path_of(system)
    wavefunction = ob.load(path)
    return measurement.Case(system, path, wavefunction, system.lattice(wavefunction))


@pytest.mark.slow
def test_command_measures_and_writes(tmp_path, capsys):
    file, plots = tmp_path / "bench.json", tmp_path / "plots"
    arguments = ["bench", "--quick", "--systems", "Kr-a", "--device", "cpu", "--json", str(file), "--plots", str(plots)]
    assert main([*arguments, "--quiet"]) == 0
    text = capsys.readouterr().out
    assert "One orbital, the HOMO, on a lattice" in text
    assert "Table 4 of Stone et al." in text
    found = json.loads(file.read_text())
    rows = {(row["part"], row["precision"]): row for row in found["rows"] if "kernel" not in row["program"]}
    kernels = {row["program"].split()[-1]: row for row in found["rows"] if "kernel" in row["program"]}
    assert 0 < kernels["direct"]["error"] < 1e-12  # the last of them is in double precision
    assert "expected a GPU" in kernels["shared-memory"]["note"]
    assert rows["orbital", "single"]["points"] == 108**3
    assert 0 < rows["orbital", "single"]["error"] < 2e-6
    assert rows["orbital", "double"]["error"] < 1e-12
    # the density of a heavy atom is large at its nucleus
    assert rows["density", "single"]["error"] < 1e-5
    assert rows["potential", "single"]["error"] < 1e-5
    assert found["environment"]["versions"]["taichi"]
    (share,) = found["shares"]
    assert share["pairs"] > 0
    assert share["operations"] > 2 * 1024 * share["pairs"]
    assert [one["atoms"] for one in found["atoms"]] == [3, 24]
    assert [one["points"] for one in found["atoms"]] == [21**3, 42**3]
    assert {file.name for file in plots.iterdir()} == {"cost-atoms.png", "cost-points.png", "orbital-programs.png"}


def test_help_and_refusals(tmp_path, capsys, monkeypatch):
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    text = capsys.readouterr().out
    for option in ("--peers", "--device", "--json", "--systems", "--quick", "--data", "--plots"):
        assert option in text
    assert main(["bench", "--systems", "C61"]) == 2
    assert "expected some of C60-a" in capsys.readouterr().err
    assert main(["bench", "--device", "abacus"]) == 2
    assert "got 'abacus'" in capsys.readouterr().err
    assert main(["bench", "--data", str(tmp_path / "nowhere")]) == 2
    assert "expected a folder" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["bench", "--quick", "--plots", str(tmp_path / "plots")]) == 2
    assert "-m pip install 'matplotlib" in capsys.readouterr().err
    assert not (tmp_path / "plots").exists()


@pytest.mark.slow
def test_molecules_need_pyscf_or_a_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(systems, "cache_folder", lambda: tmp_path)
    monkeypatch.setitem(sys.modules, "pyscf", None)
    assert main(["bench", "--quick", "--systems", "Kr-a"]) == 2
    assert "-m pip install 'pyscf" in capsys.readouterr().err
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "kra.molden").write_text("")
    assert systems.path_of(systems.SYSTEMS["Kr-a"], tmp_path / "data") == tmp_path / "data" / "kra.molden"


def test_missing_peer_gives_a_row_that_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "avogadro", None)
    monkeypatch.setitem(sys.modules, "avogadro.core", None)
    case = case_of(systems.SYSTEMS["Kr-a"])
    monkeypatch.setattr(peers, "PEERS", {"Avogadro": peers.avogadro})
    (row,) = peers.peer_rows(case, case.sample_points[:0], gpu=False)
    assert row.seconds is None
    assert "not installed" in row.note
    assert "not installed" in report.line_of(row)


@pytest.mark.slow
def test_strand_has_the_composition_of_the_paper():
    from pyscf import gto

    atoms = [item.split() for item in strand.geometry().split(";")]
    assert Counter(atom[0] for atom in atoms) == {"C": 77, "P": 8, "N": 31, "H": 91, "O": 49}
    places = np.array([[float(x) for x in atom[1:]] for atom in atoms])
    apart = np.linalg.norm(places[:, None] - places, axis=2) + 9 * np.eye(len(places))
    heavy = np.array([atom[0] != "H" for atom in atoms])
    nearest = apart.min(axis=1)
    assert nearest.min() > 0.95
    assert nearest[~heavy].max() < 1.12
    assert apart[np.ix_(heavy, heavy)].min() > 1.2
    assert strand.backbone()[1] < 0.05  # bonds, in Angstrom
    # a chain: sugar and phosphate of each residue bind the next one, and so all atoms hang together
    reach = (apart < np.where(heavy[:, None] & heavy, 1.75, 1.2)).astype(int) + np.eye(len(places), dtype=int)
    assert np.all(np.linalg.matrix_power(np.minimum(reach, 1).astype(float), 256)[0] > 0)
    # the paper's number of basis functions in 3-21G
    molecule = gto.M(atom=strand.geometry(), basis="3-21g", charge=-8, spin=None, verbose=0)
    assert molecule.nao_nr() == 1699


def test_rotated_orbitals_are_those_of_the_rotated_molecule():
    from pyscf import gto, scf

    rotation = fragments.random_rotation(np.random.default_rng(1))
    assert np.linalg.det(rotation) == pytest.approx(1)
    molecule = gto.M(atom=systems.WATER, basis="6-31g*", cart=True, verbose=0)
    orbitals = scf.RHF(molecule).run().mo_coeff
    turned = fragments.rotated_coefficients(molecule, orbitals[:, :5], rotation)
    atoms = [
        (molecule.atom_symbol(i), place) for i, place in enumerate(molecule.atom_coords(unit="Angstrom") @ rotation.T)
    ]
    other = gto.M(atom=atoms, basis="6-31g*", cart=True, verbose=0)
    points = np.random.default_rng(2).normal(scale=2, size=(200, 3))
    there = other.eval_gto("GTOval_cart", points @ rotation.T) @ turned
    here = molecule.eval_gto("GTOval_cart", points) @ orbitals[:, :5]
    np.testing.assert_allclose(there, here, atol=1e-12)
    overlap = turned.T @ other.intor_symmetric("int1e_ovlp") @ turned
    np.testing.assert_allclose(overlap, np.eye(5), atol=1e-10)
    # and the field of the rotated molecule has the same orbital
    again = scf.RHF(other).run()
    same = np.abs(again.mo_coeff[:, 4] @ other.intor_symmetric("int1e_ovlp") @ turned[:, 4])
    assert same == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_rotations_of_monomials_compose(degree):
    generator = np.random.default_rng(degree)
    a, b = fragments.random_rotation(generator), fragments.random_rotation(generator)
    one = fragments.rotation_of_monomials(a, degree) @ fragments.rotation_of_monomials(b, degree)
    np.testing.assert_allclose(one, fragments.rotation_of_monomials(a @ b, degree), atol=1e-10)


def test_water_cluster():
    wavefunction = case_of(systems.CLUSTERS[2]).wavefunction
    assert Counter(wavefunction.atomic_numbers.tolist()) == {8: 8, 1: 16}
    assert wavefunction.n_basis == 8 * 19
    coefficients = wavefunction.alpha.coefficients
    overlap = coefficients.T @ (ob.overlap_matrix(wavefunction) @ coefficients)
    np.testing.assert_allclose(overlap, np.eye(8), atol=1e-6)
    # four orbitals of one molecule each, then four spread over all: shares of the molecules in their squares
    shares = (coefficients * (ob.overlap_matrix(wavefunction) @ coefficients)).reshape(8, 19, 8).sum(axis=1)
    assert np.all(shares[:, :4].max(axis=0) > 0.97)
    np.testing.assert_allclose(shares[:, 7], 1 / 8, atol=0.02)
    assert case_of(systems.CLUSTERS[2]).homo == 7


def test_liquid_density():
    _, centres = systems.water_places(7)
    assert len(centres) * 3 == 1029
    volume = systems.WATER_EDGE**3 * 1e-24  # cubic centimetres a molecule
    assert 18.015 / 6.02214e23 / volume == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("pure", [False, True])
def test_plain_sum_is_the_definition(pure):
    wavefunction = random_wavefunction(3)
    shells = tuple(ob.Shell(s.atom, s.angular_momentum, pure, s.exponents, s.coefficients) for s in wavefunction.shells)
    n = sum(shell.n_functions for shell in shells)
    coefficients = np.random.default_rng(0).normal(size=(n, 2))
    one = ob.Wavefunction(
        wavefunction.atomic_numbers, wavefunction.positions, shells, ob.Orbitals(coefficients, np.array([2.0, 0.0]))
    )
    points = np.random.default_rng(1).normal(scale=3, size=(50, 3))
    found = measurement.plain_sum(one, coefficients, points)
    for index in range(2):
        np.testing.assert_allclose(found[:, index], orbital(one, index, points), atol=1e-12)


def test_peaks_are_positive(device, precision):
    if not probe(device).double and precision == "double":
        pytest.skip(f"{device} has no double precision here")
    with session(device, precision):
        assert peaks.copied_bytes_per_second(precision, megabytes=4) > 1e6
        assert peaks.multiply_adds_per_second(precision, share=1e-3) > 1e6


def test_work_of_one_primitive_is_counted_exactly():
    """One broad s Gaussian on one brick: one row, and per point of its columns one product, per point one addition."""
    shell = ob.Shell(0, 0, False, [0.05], [1.0])
    one = ob.Wavefunction([1], [[0, 0, 0]], (shell,), ob.Orbitals([[1.0]], [2.0]))
    lattice = ob.Lattice((-1, -1, -1), 0.1 * np.eye(3), (8, 8, 16))
    ob.compute(one, "homo", lattice, device="cpu", kernel="separable")
    work = latest_work(layout(np.array([0])), "single")
    assert (work.pairs, work.multiply_adds) == (1, 8 * 8 + 8 * 8 * 16)
    larger = ob.Lattice((-1, -1, -1), 0.1 * np.eye(3), (16, 8, 17))
    ob.compute(one, "homo", larger, device="cpu", kernel="separable")
    assert latest_work(layout(np.array([0])), "single").pairs == 4
    with pytest.raises(ValueError, match="another one"):
        latest_work(layout(np.array([1])), "single")


def test_kernels_besides_the_usual_one_are_measured():
    assert {"direct", "fast-gaussian", "radial-table"} <= set(orbitile_rows.other_kernels())
    assert "separable" not in orbitile_rows.other_kernels()
