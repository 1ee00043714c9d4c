"""A molecule that came from a file is live as it is there, and is again what it was afterwards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.scf.calculation import Calculation
from orbitile.session.commands import orb_iso, orb_live, orb_load, orb_mo, orb_path, orb_settle
from orbitile.session.session import Session
from tests.scf.test_from_file import molden
from tests.session.live.moving_viewer import MovingViewer

pytest.importorskip("pyscf", reason="basis sets and Hartree-Fock are PySCF's (extra scf)")
pytest.importorskip("h5py", reason="series files need h5py (extra trajectories)")


@pytest.fixture
def session(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    session = Session(MovingViewer())
    yield session
    session.live.end()
    session.player.close()
    session.computing.close()


def overlap(first, second, field) -> float:
    """Overlap in space of the same orbital of two wavefunctions, by a lattice."""
    lattice = ob.Lattice.around(first, spacing=0.4, margin=6.0)
    one, other = (ob.compute(w, field, lattice).values for w in (first, second))
    return float(np.vdot(one, other) / np.linalg.norm(one) / np.linalg.norm(other))


@pytest.mark.slow
def test_a_radical_cation_is_live_as_such_and_comes_back(session, tmp_path):
    atoms = "N 0 0 0.1; H 0.94 0 0; H -0.47 0.81 0; H -0.47 -0.81 0"
    wavefunction = molden(tmp_path / "ammonia.molden", atoms, "sto-3g", 1, 1)
    orb_load.run(session, [str(tmp_path / "ammonia.molden")])
    source, before = session.host.molecules()["ammonia"], session.host.positions("ammonia").copy()
    orb_mo.run(session, ["ammonia", "homo", "", "coarse"])
    shown, vertices = session.shelf["ammonia_homo"], session.host.surfaces["ammonia_homo"].vertices
    answer = orb_live.run(session, ["ammonia"], {"method": "hf"})
    assert session.live.now.level.calculation == Calculation("hf", "sto-3g", 1, 1)
    assert "charge 1, unpaired electrons 1" in answer.text
    assert session.live.settle().stage == "converged"
    found = session.live.now.found.wavefunction
    assert (round(found.charge), found.n_unpaired) == (1, 1)
    assert overlap(wavefunction, found, "homo") > 0.999  # its phase included
    moved = before.copy()
    moved[1, 0] += 0.2
    session.host.place(moved, "ammonia")
    orb_settle.run(session)
    orb_iso.run(session, [0.07, "ammonia_homo"])
    orb_mo.run(session, ["ammonia", "lumo", "", "coarse"])
    answer = orb_live.run(session)
    assert "is again as in its file" in answer.text
    assert session.host.molecules()["ammonia"] == source
    np.testing.assert_array_equal(session.host.positions("ammonia"), before)
    assert session.shelf["ammonia_homo"].request == shown.request
    assert session.shelf["ammonia_homo"].isovalue == shown.isovalue
    np.testing.assert_array_equal(session.host.surfaces["ammonia_homo"].vertices, vertices)
    assert {session.shelf[name].request.path for name in session.shelf} == {source}
    assert len(session.shelf) == 2
    orb_path.run(session, [str(tmp_path / "path.h5")])
    np.testing.assert_allclose(ob.load_trajectory(tmp_path / "path.h5")[-1].positions, moved, atol=1e-9)
    orb_live.run(session, ["ammonia"], {"method": "hf"})
    molden(tmp_path / "neutral.molden", atoms, "sto-3g", method="RHF")
    orb_load.run(session, [str(tmp_path / "neutral.molden"), "ammonia"])
    with pytest.raises(ob.OrbitileError, match="loaded from another file: it is no longer live"):
        session.live.settle()


def test_phases_and_degenerate_orbitals_are_those_of_the_file_in_another_basis_set(tmp_path):
    from orbitile.trajectories.tracking import with_phases_of

    atoms = "C 0 0 0; C 0 0 1.2; H 0 0 -1.06; H 0 0 2.26"
    one = molden(tmp_path / "one.molden", atoms, "6-31g*", method="RHF")
    other = molden(tmp_path / "other.molden", atoms, "sto-3g", method="RHF")
    rng = np.random.default_rng(1)
    turn = np.diag(rng.choice([-1.0, 1.0], len(other.alpha)))
    pi = np.flatnonzero(np.abs(np.diff(other.alpha.energies)) < 1e-6)[0]
    c, s = np.cos(0.7), np.sin(0.7)
    turn[pi : pi + 2, pi : pi + 2] = [[c, -s], [s, c]]
    mixed = replace(other, alpha=replace(other.alpha, coefficients=other.alpha.coefficients @ turn))
    found = with_phases_of(one, mixed)
    for n in range(7):
        assert overlap(one, found, f"mo:{n + 1}") > 0.9


def test_formal_charges_are_those_of_a_molecule_without_orbitals(session):
    from orbitile.session.live.order import Level
    from tests.session.live.moving_viewer import atoms_of

    session.host.atoms = {"m": atoms_of("O 0 0 0; H 0 0 0.97")}
    session.host.formal_charge = lambda name: -1
    level, remarks = session.live.level_of("m", {}, Level(Calculation("pbe", "sto-3g")))
    assert (level.calculation, remarks) == (Calculation("pbe", "sto-3g", -1), ())
    assert session.live.level_of("m", {"charge": 1}, level)[0].calculation.charge == 1
