"""`orbitile region`: a molecule in water, at one geometry and along a trajectory in a periodic box."""

import csv
import json

import numpy as np
import pytest

import orbitile as ob
from orbitile.commandline import main
from orbitile.scf.region_file import region_of

pytest.importorskip("MDAnalysis", reason="MDAnalysis (extra region) is not installed")
pytest.importorskip("h5py", reason="h5py (extra trajectories) is not installed")

WATER = np.array([[0, 0, 0], [0.757, 0.586, 0], [-0.757, 0.586, 0]])
SIDE = 9.0
OPTIONS = ("--select", "resi 1", "--method", "hf", "--basis", "sto-3g", "--bond", "O,H1", "-q", "--json")


@pytest.fixture(scope="module")
def box(tmp_path_factory):
    """Two times two times two molecules of water with charges, and frames in which all of them move, wrapped."""
    mdtraj = pytest.importorskip("mdtraj", reason="MDTraj (extra dynamics) is not installed")
    folder = tmp_path_factory.mktemp("box")
    corners = np.array([(0.5, 0.5, 0.5), *(c for c in np.ndindex(2, 2, 2) if any(c))]) * 3.7
    positions = (corners[:, None] + WATER).reshape(-1, 3)
    rows = zip(
        np.tile(["O", "H1", "H2"], 8), np.arange(24) // 3 + 1, positions, np.tile([-0.8, 0.4, 0.4], 8), strict=True
    )
    lines = [f"ATOM {n} {a} HOH A {r} {x:.4f} {y:.4f} {z:.4f} {q} 1" for n, (a, r, (x, y, z), q) in enumerate(rows, 1)]
    (folder / "box.pqr").write_text("\n".join(lines))
    topology = mdtraj.Topology()
    residue = topology.add_residue("ALL", topology.add_chain())
    for _ in positions:
        topology.add_atom("X", mdtraj.element.virtual, residue)
    moved = np.array([(positions + shift) % SIDE for shift in ([0, 0, 0], [5.1, 0.3, 7.7], [2.2, 2.2, 6.3])])
    frames = mdtraj.Trajectory(moved / 10, topology, np.arange(3), np.full((3, 3), SIDE / 10), np.full((3, 3), 90.0))
    frames.save(str(folder / "run.dcd"))
    return folder


def _run(capsys, *arguments):
    assert main(["region", *map(str, arguments), *OPTIONS]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_region_is_computed_in_its_field_and_found_again(box, capsys):
    out = box / "one.h5"
    report = _run(capsys, box / "box.pqr", "-o", out, "--vacuum")
    wavefunction = ob.load(out)
    region = region_of(wavefunction)
    assert np.array_equal(region.geometry.positions, wavefunction.positions)
    assert region.external.charges.sum() == pytest.approx(0)
    assert len({str(region.structure.residues[n]) for n in region.structure.residue_of[region.owners]}) == 7
    vacuum = ob.load(box / "one-vacuum.h5")
    assert "field" not in vacuum.method
    columns = report["tables"]["energies"]["columns"]
    pyscf = pytest.importorskip("pyscf", reason="PySCF (extra scf) is not installed")
    atoms = list(zip(wavefunction.atomic_numbers.tolist(), wavefunction.positions, strict=True))
    field = pyscf.scf.RHF(pyscf.gto.M(atom=atoms, unit="B", basis="sto-3g", verbose=0))
    field = pyscf.qmmm.mm_charge(field, region.external.positions, region.external.charges, unit="B").run()
    # with the charges that are in the file, whatever computed it
    assert columns["value"][0] == pytest.approx(field.e_tot, abs=1e-7)
    closures = report["tables"]["residues"]["closures"]
    assert all(closure["found"] == pytest.approx(closure["expected"]) for closure in closures)


@pytest.mark.slow
def test_a_region_relaxes_before_it_is_computed(box, capsys):
    pytest.importorskip("ase", reason="ASE (extra optimisation) is not installed")
    report = _run(capsys, box / "box.pqr", "-o", box / "still.h5", "--relax")
    assert any("Relaxed (still-steps.h5): its atoms moved by" in remark for remark in report["remarks"])
    steps, relaxed = ob.load_trajectory(box / "still-steps.h5"), ob.load(box / "still.h5")
    assert np.array_equal(steps[-1].positions, relaxed.positions)
    np.testing.assert_allclose(region_of(relaxed).structure.positions[:3], relaxed.positions)
    assert "Lennard-Jones" in steps[0].method
    assert "Lennard-Jones" not in relaxed.method


def test_frames_of_a_box_are_rows(box, capsys):
    report = _run(
        capsys, box / "box.pqr", "-o", box / "run.h5", "--frames", box / "run.dcd", "--tables", box / "run.csv"
    )
    with (box / "run.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    columns = report["tables"]["frames"]["columns"]
    assert [float(row["energy"]) for row in rows] == columns["energy"]
    assert columns["frame"] == [1, 2, 3]
    assert np.ptp(columns["energy"]) < 1e-6  # the same molecules, in single precision and wrapped
    assert np.ptp(columns["field"]) < 1e-3
    third = _run(capsys, box / "box.pqr", "-o", box / "third.h5", "--frames", box / "run.dcd", "--frame", "3")
    assert third["tables"]["energies"]["columns"]["value"][0] == pytest.approx(columns["energy"][2], abs=1e-8)
    assert region_of(ob.load(box / "third.h5")).external is not None
    series = ob.load_trajectory(box / "run.h5")
    assert np.ptp(np.diff(series.geometries(), axis=1), axis=0).max() < 1e-4  # molecules are whole


def test_what_is_missing_is_told(box, capsys):
    for arguments, told in (
        (("--select", "resn LIG"), "expected one atom or more"),
        (("--frame", "2"), "expected a trajectory too"),
        (("--bond", "O"), "expected two atoms"),
        (("--bond", "O,N7"), "expected an atom of the region by its name"),
        (("--charges", "none", "--bond", "O,H1"), "expected surroundings"),
        (("--charges", "none", "--relax"), "--relax: expected one geometry among charges"),
    ):
        assert main(["region", str(box / "box.pqr"), "-o", str(box / "no.h5"), *OPTIONS, *arguments]) == 2
        assert told in capsys.readouterr().err
    (box / "no-vacuum.h5").write_text("somebody's")
    assert main(["region", str(box / "box.pqr"), "-o", str(box / "no.h5"), *OPTIONS, "--vacuum"]) == 2
    assert "no-vacuum.h5: exists already and is no series file" in capsys.readouterr().err
    (box / "no.region").write_text("somebody's")
    assert main(["region", str(box / "box.pqr"), "-o", str(box / "no.h5"), *OPTIONS]) == 2
    assert "no.region: is there already, and no region" in capsys.readouterr().err
