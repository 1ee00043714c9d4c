"""Excited states in numbers, against PySCF's amplitudes and integrals, and where they are known."""

from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.excitations import (
    absorption,
    charge_transfer_numbers,
    contributions,
    deexcitations,
    densities_of,
)
from orbitile.fields.transition import moved_density
from orbitile.gaussians.expansion import integrals
from orbitile.model.units import electronvolt, wavenumber
from orbitile.model.wavefunction import Excitation, Orbitals, Shell, Wavefunction
from tests.excited import formaldehyde


@pytest.fixture(scope="module", params=[(0, "TDHF"), (1, "TDHF"), (0, "TDA")], ids=["response", "radical", "singles"])
def computed(request, tmp_path_factory):
    pytest.importorskip("pyscf")
    return formaldehyde(*request.param, tmp_path_factory.mktemp("excited"))


def blocks_of(mol, states, number):
    """Of each spin the coefficients of occupied and unoccupied orbitals, X and Y, in all normalised to 1."""
    x, y = states.xy[number]
    coefficients = states._scf.mo_coeff
    restricted = np.ndim(coefficients) == 2
    found = []
    for c, one, other in [(coefficients, x, y)] if restricted else zip(coefficients, x, y, strict=True):
        n = one.shape[0]
        found.append((c[:, :n], c[:, n:], one, other if np.ndim(other) else np.zeros_like(one)))
    norm = np.sqrt(sum((one**2).sum() - (other**2).sum() for *_, one, other in found))
    return [(low, high, one / norm, other / norm) for low, high, one, other in found]


def matrices_of(mol, states, number):
    """Detachment, attachment, hole, electron over atomic orbitals; and the transition density matrix of each spin."""
    found, transitions = dict.fromkeys(("detachment", "attachment", "hole", "electron"), 0.0), []
    for low, high, x, y in blocks_of(mol, states, number):
        for names, sign in ((("detachment", "attachment"), 1), (("hole", "electron"), -1)):
            found[names[0]] = found[names[0]] + low @ (x @ x.T + sign * y @ y.T) @ low.T
            found[names[1]] = found[names[1]] + high @ (x.T @ x + sign * y.T @ y) @ high.T
        transitions.append(low @ x @ high.T)
    return found, transitions


@pytest.mark.slow
def test_densities_are_those_of_the_amplitudes(computed):
    mol, states, wavefunction = computed
    points = np.random.default_rng(3).normal(0, 2, (40, 3))
    values = mol.eval_gto("GTOval", points)
    for number in (1, 2):
        matrices, _ = matrices_of(mol, states, number - 1)
        matrices["change"] = matrices["attachment"] - matrices["detachment"]
        for name, matrix in matrices.items():
            field = ob.evaluate(wavefunction, f"{name}:{number}", points, device="cpu", precision="double")
            assert field == pytest.approx(np.einsum("pi,ij,pj->p", values, matrix, values), abs=1e-8)
        back = deexcitations(wavefunction, wavefunction.excitations[number - 1])
        for name, expected in (("hole", 1), ("electron", 1), ("attachment", 1 + 2 * back), ("change", 0)):
            assert integrals(moved_density(wavefunction, number, name))[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
def test_distances_against_dipole_integrals(computed):
    mol, states, wavefunction = computed
    positions = mol.intor("int1e_r")
    for number, ours in enumerate(densities_of(wavefunction, (1, 2, 3), "cpu")):
        matrices, _ = matrices_of(mol, states, number)
        hole, electron = (np.einsum("xij,ij->x", positions, matrices[name]) for name in ("hole", "electron"))
        assert ours.distance == pytest.approx(np.linalg.norm(electron - hole), abs=2e-4)
        assert (ours.hole, ours.electron) == pytest.approx((1, 1), abs=1e-4)
        assert 0 < ours.overlap < 1


@pytest.mark.slow
def test_charge_transfer_numbers_as_they_are_defined(computed):
    mol, states, wavefunction = computed
    overlap = mol.intor("int1e_ovlp")
    values, axes = np.linalg.eigh(overlap)
    root = (axes * np.sqrt(values)) @ axes.T
    atoms = np.array([label[0] for label in mol.ao_labels(fmt=False)])
    groups = np.array([0, 1, 0, 2])
    members = (groups[atoms][None] == np.arange(3)[:, None]).astype(float)
    for number, excitation in enumerate(wavefunction.excitations):
        _, transitions = matrices_of(mol, states, number)
        loewdin = sum(members @ (root @ d @ root) ** 2 @ members.T for d in transitions)
        entries = (((d @ overlap) * (overlap @ d) + d * (overlap @ d @ overlap)) / 2 for d in transitions)
        mulliken = sum(members @ entry @ members.T for entry in entries)
        for scheme, expected in (("loewdin", loewdin), ("mulliken", mulliken)):
            ours = charge_transfer_numbers(wavefunction, excitation, groups, scheme)
            assert ours == pytest.approx(expected / expected.sum(), abs=1e-6)
            assert ours.sum() == pytest.approx(1, abs=1e-8)


@pytest.fixture(scope="module")
def apart():
    """Two hydrogen molecules 20 bohr apart with the excitations of an electron of the first: to itself, to the other.

    Orbitals are bonding and antibonding combinations of each molecule.
    """
    positions = np.array([[0, 0, 0], [1.4, 0, 0], [0, 0, 20.0], [1.4, 0, 20.0]])
    shells = tuple(Shell(atom, 0, False, [0.6], [1.0]) for atom in range(4))
    overlap = np.exp(-0.3 * 1.4**2)
    plus, minus = 1 / np.sqrt(2 + 2 * overlap), 1 / np.sqrt(2 - 2 * overlap)
    columns = [[plus, plus, 0, 0], [0, 0, plus, plus], [minus, -minus, 0, 0], [0, 0, minus, -minus]]
    orbitals = Orbitals(np.array(columns).T, [2, 2, 0, 0], [-0.5, -0.4, 0.3, 0.4])

    def excitation(targets, amplitudes, printed=1.0):
        n = len(targets)
        return Excitation([0] * n, targets, [0] * n, amplitudes, 0.4, 0.5, "Singlet", printed)

    states = (excitation([2], [1.0]), excitation([3], [1.0]), excitation([2, 3], [0.6, 0.8], 0.7))
    return Wavefunction([1, 1, 1, 1], positions, shells, orbitals, excitations=states)


def test_an_electron_that_stays_and_one_that_goes(apart):
    """Within a molecule nothing is transferred; to the other one all is, over the distance between them."""
    local, far, both = densities_of(apart, (1, 2, 3), "cpu")
    assert local.distance == pytest.approx(0, abs=1e-4)
    assert far.distance == pytest.approx(20, abs=1e-3)
    assert far.overlap == pytest.approx(0, abs=1e-6)
    assert local.overlap > 0.5
    assert both.distance == pytest.approx(0.64 * 20, abs=1e-3)
    found = ob.excitations(apart, fragments="one=1,2; other=3,4", device="cpu")
    states = found.table("states")
    assert states["transfer"] == pytest.approx([0, 1, 0.64], abs=1e-8)
    assert states["pairs"] == pytest.approx([1, 1, 1])
    assert states["orbitals"].tolist() == [
        "HOMO-1 -> LUMO 100 %",
        "HOMO-1 -> LUMO+1 100 %",
        "HOMO-1 -> LUMO+1 64 %, HOMO-1 -> LUMO 36 %",
    ]
    assert states["wavelength"][0] == pytest.approx(45.5633525 / 0.4, rel=1e-6)  # of 1 hartree 45.56 nm
    printed = states.closures[0]
    assert (printed.found, printed.holds) == (0.7, False)
    assert all(closure.holds for closure in states.closures[1:])
    assert any("0.70 to 1.00 instead of 1" in remark for remark in found.remarks)
    transfer = ob.excitations(apart, fragments="one=1,2; other=3,4", state=2, device="cpu").table("transfer")
    assert (transfer["from"][0], transfer["to"][0], transfer["share"][0]) == ("one", "other", pytest.approx(1))
    assert found.tables[1].fields[:2] == ("nto:1:hole:1", "nto:1:electron:1")
    assert states.fields == ("change:1", "change:2", "change:3")


def test_what_is_refused(apart):
    with pytest.raises(ob.errors.OrbitileError, match="from 1 to 3, got 4"):
        ob.excitations(apart, state=4)
    with pytest.raises(ob.errors.OrbitileError, match="no excited states with amplitudes"):
        ob.excitations(replace(apart, excitations=()))
    with pytest.raises(ob.errors.OrbitileError, match="expected atoms from 1 to 4"):
        ob.excitations(apart, fragments="1-9")
    one = apart.excitations[0]
    back = Excitation(one.target, one.source, one.spins, one.amplitudes, 0.4)
    assert contributions(apart, back)[0].share == -1
    with pytest.raises(ob.errors.OrbitileError, match="de-excitations only"):
        charge_transfer_numbers(apart, back, np.zeros(4, int))


def test_area_of_a_band():
    """The oscillator strength is 4.319e-9 times the area under the band, in L mol^-1 cm^-2."""
    at = np.linspace(0.05, 0.45, 4001)
    band = absorption(np.array([0.25]), np.array([0.3]), at, 0.4 * electronvolt)
    assert 4.319e-9 * np.sum(band) * (at[1] - at[0]) / wavenumber == pytest.approx(0.3, rel=1e-6)
    half = absorption(
        np.array([0.25]), np.array([0.3]), np.array([0.25, 0.25 + 0.2 * electronvolt]), 0.4 * electronvolt
    )
    assert half[1] / half[0] == pytest.approx(0.5)
