"""Transition densities and natural transition orbitals, against PySCF."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import orbitile as ob
from orbitile.evaluation.requests import field_of
from orbitile.fields.transition import natural_transition_orbitals
from orbitile.gaussians.expansion import integrals
from orbitile.model.wavefunction import Excitation
from orbitile.readers._logs import PROGRAMS
from orbitile.readers.cclib import excitations_of, with_deexcitations
from tests.excited import formaldehyde

gto = pytest.importorskip("pyscf.gto")


@pytest.fixture(scope="module", params=["restricted", "unrestricted"])
def excited(request, tmp_path_factory):
    """Formaldehyde, or its cation; the first excited states by configuration interaction of singles."""
    return formaldehyde(0 if request.param == "restricted" else 1, "TDA", tmp_path_factory.mktemp("excited"))


def test_transition_density_has_the_transition_dipole(excited):
    _, states, wavefunction = excited
    lattice = ob.enclosing_lattice(wavefunction, "transition:1", 1e-6, spacing=0.2)
    for number in (1, 2, 3):
        volume = ob.compute(wavefunction, f"transition:{number}", lattice, device="cpu")
        weights = volume.values.reshape(-1).astype(float) * lattice.cell_volume
        dipole = weights @ lattice.points()
        expected = states.transition_dipole()[number - 1]
        # the sign of a state is nobody's business
        assert min(np.abs(dipole - expected).max(), np.abs(dipole + expected).max()) < 2e-3
        assert abs(weights.sum()) < 2e-3


def test_natural_orbitals_against_pyscf(excited):
    mol, states, wavefunction = excited
    if wavefunction.beta is not None:
        pairs = natural_transition_orbitals(wavefunction, wavefunction.excitations[0])
        assert sum(share for share, *_ in pairs) == pytest.approx(1)
        return
    for state in (1, 2, 3):
        weights, orbitals = states.get_nto(state=state)
        ours = natural_transition_orbitals(wavefunction, wavefunction.excitations[state - 1])
        assert [share for share, *_ in ours] == pytest.approx(weights[: len(ours)], abs=1e-8)
        points = wavefunction.positions + np.array([0.5, 0.3, 0.4])
        values = mol.eval_gto("GTOval", points) @ orbitals
        n_occupied = mol.nelectron // 2
        for part, column in (("hole", 0), ("electron", n_occupied)):
            field = ob.evaluate(wavefunction, f"nto:{state}:{part}", points, device="cpu", precision="double")
            # the sign is free: that of the product of hole and electron is not, but the two are drawn apart
            assert min(np.abs(field - values[:, column]).max(), np.abs(field + values[:, column]).max()) < 1e-6


@pytest.fixture(scope="module")
def responding(tmp_path_factory):
    """Butadiene by time-dependent Hartree-Fock, with de-excitations; and the program's oscillator strength."""
    from pyscf import scf, tdscf
    from pyscf.tools import molden

    mol = gto.M(
        atom="C 0.6 1.74 0; C -0.6 0.4 0; C 0.6 -0.4 0; C -0.6 -1.74 0; H 0.1 2.7 0; H 1.66 1.6 0; H -1.66 0.5 0; "
        "H 1.66 -0.5 0; H -0.1 -2.7 0; H -1.66 -1.6 0",
        basis="sto-3g",
        verbose=0,
    )
    mean_field = scf.RHF(mol).run(conv_tol=1e-11)
    states = tdscf.TDHF(mean_field)
    states.nstates = 4
    states.kernel()
    path = tmp_path_factory.mktemp("responding") / "m.molden"
    molden.from_scf(mean_field, str(path), ignore_h=False)
    strongest = int(np.argmax(states.oscillator_strength()))
    return ob.load(path), states, strongest


def log_of(states, number):
    """Lines of Gaussian's log about a state: amplitudes whose squares add up to 1/2, occupied orbitals on the left."""
    (x, y), n_occupied = states.xy[number], states.xy[number][0].shape[0]
    lines = [" Excited State   1:      Singlet-BU     6.0000 eV  200.00 nm  f=0.5000  <S**2>=0.000"]
    for arrow, block in (("->", x), ("<-", y)):
        for i, a in np.ndindex(block.shape):
            lines.append(f"{i + 1:8d} {arrow} {n_occupied + a + 1:2d}      {block[i, a]:11.7f}")
    return "\n".join(lines) + "\n \n"


def test_amplitudes_with_deexcitations(responding, tmp_path):
    """X^2 - Y^2 is 1; de-excitations, which cclib passes over, are read; the strength is that of the program."""

    wavefunction, states, number = responding
    x, y = states.xy[number]
    assert (y**2).sum() > 1e-3
    n_occupied = x.shape[0]
    log = tmp_path / "job.log"
    log.write_text(log_of(states, number))
    rows = [[(i, 0), (n_occupied + a, 0), np.sqrt(2) * x[i, a]] for i, a in np.ndindex(x.shape)]
    strength = float(states.oscillator_strength()[number])

    def data():
        wavenumbers = states.e[number] / 4.556335252912e-6
        return SimpleNamespace(
            etsecs=[list(rows)],
            etenergies=[wavenumbers],
            etoscs=[strength],
            etsyms=["Singlet-BU"],
            homos=[n_occupied - 1],
        )

    kept = [np.ones(len(wavefunction.alpha), bool)]
    (whole,) = excitations_of(with_deexcitations(data(), PROGRAMS["Gaussian"], log), kept)
    assert (whole.amplitudes[: x.size] ** 2).sum() - (whole.amplitudes[x.size :] ** 2).sum() == pytest.approx(1)
    assert whole.amplitudes[: x.size].reshape(x.shape) == pytest.approx(np.sqrt(2) * x, abs=1e-5)
    field = field_of(replace(wavefunction, excitations=(whole,)), "transition:1")
    dipole = integrals(field.parts[0])[1]
    assert 2 / 3 * states.e[number] * dipole @ dipole == pytest.approx(strength, rel=1e-4)
    assert "oscillator" not in field.quantity
    # without them the strength is another one, and that is said
    (part,) = excitations_of(data(), kept)
    field = field_of(replace(wavefunction, excitations=(part,)), "transition:1")
    assert f"from its amplitudes, {strength:.3f} in the file" in field.quantity
    pairs = natural_transition_orbitals(wavefunction, whole)
    assert sum(share for share, *_ in pairs) == pytest.approx(1)


@pytest.mark.parametrize("program", ["GAMESS", "ORCA"])
def test_deexcitations_of_other_programs(responding, tmp_path, program):
    """Tables with X and Y in a row, of which cclib keeps X, and with arrows, of which cclib reads one direction."""
    wavefunction, states, number = responding
    x, y = (np.sqrt(2) * part for part in states.xy[number])
    n_occupied, pairs = len(x), list(np.ndindex(x.shape))
    if program == "GAMESS":
        lines = [
            " STATE #   1  ENERGY =    6.000000 EV",
            " OSCILLATOR STRENGTH =    0.500000",
            "     ---     ---   --------",
        ]
        lines += [f"{i + 1:7d}{n_occupied + a + 1:8d}{x[i, a]:12.6f}{y[i, a]:15.6f}" for i, a in pairs]
    else:
        lines = ["STATE  1:  E=   0.220000 au      6.000 eV    48393.3 cm**-1 <S**2> =   0.000000"]
        for arrow, block in (("->", x), ("<-", y)):
            lines += [
                f"{i:6d}a {arrow} {n_occupied + a:3d}a  : {block[i, a] ** 2:12.6f} (c= {block[i, a]:.8f})"
                for i, a in pairs
            ]
        lines += ["     Symmetry: Bu"]
    log = tmp_path / "job.log"
    log.write_text("\n".join([*lines, "", "    36      37   -1.000000  0.500000", ""]))
    of_cclib = [[(i, 0), (n_occupied + a, 0), x[i, a]] for i, a in pairs]
    if program == "ORCA":
        of_cclib += [[(i, 0), (n_occupied + a, 0), y[i, a]] for i, a in pairs]
    data = SimpleNamespace(
        etsecs=[of_cclib], etenergies=[states.e[number] / 4.556335252912e-6], homos=[n_occupied - 1], etoscs=[0.5]
    )
    kept = [np.ones(len(wavefunction.alpha), bool)]
    (whole,) = excitations_of(with_deexcitations(data, PROGRAMS[program], log), kept)
    back = whole.source > whole.target
    assert back.sum() == x.size
    np.testing.assert_allclose(whole.amplitudes[~back].reshape(x.shape), x, atol=1e-5)
    np.testing.assert_allclose(whole.amplitudes[back].reshape(x.shape), y, atol=1e-5)


def test_states_whose_amplitudes_are_not_printed():
    """ORCA's full TDDFT may print weights only: such a state is left out, and none is shown that is no number."""
    data = SimpleNamespace(etsecs=[[[(0, 0), (1, 0), np.nan]]], etenergies=[4e4])
    assert excitations_of(data, [np.ones(2, bool)]) == ()


def test_amplitudes_of_another_strength_than_the_printed_are_told_of(excited):
    _, _, wavefunction = excited
    states = wavefunction.excitations
    bright = max(range(3), key=lambda k: states[k].strength)

    def quantity(**changes):
        changed = [replace(state, **changes) if k == bright else state for k, state in enumerate(states)]
        return field_of(replace(wavefunction, excitations=tuple(changed)), f"transition:{bright + 1}").quantity

    assert "oscillator strength" not in quantity()
    twice = 2 * states[bright].strength + 0.1
    assert f"{twice:.3f} in the file" in quantity(strength=twice)
    for silent in ({"strength": np.nan}, {"strength": twice, "label": "Triplet-A"}):
        assert "oscillator strength" not in quantity(**silent)


def test_names(excited, benzene):
    _, _, wavefunction = excited
    for wrong, message in (
        ("transition:4", r"holds 3 excited state\(s\)"),
        ("nto:1:hole:99", "has .* pair"),
        ("nto:1", "there is no"),
    ):
        with pytest.raises(ob.errors.FieldError, match=message):
            ob.evaluate(wavefunction, wrong, np.zeros((1, 3)))
    with pytest.raises(ob.errors.FieldError, match="no excited states"):
        ob.evaluate(benzene, "transition:1", np.zeros((1, 3)))


def test_what_the_reader_makes_of_amplitudes():
    """Orbitals whose coefficients are not printed are missing from ours; states that need them are left out."""
    data = SimpleNamespace(
        etsecs=[
            [((3, 0), (5, 0), 0.8), ((4, 0), (6, 0), -0.6), ((5, 0), (4, 0), 0.1)],
            [((0, 0), (5, 0), 1.0)],
            [((4, 0), (9, 0), 1.0)],
            [],
        ],
        etenergies=[40000.0, 41000.0, 42000.0, 43000.0],
        etoscs=[0.5],
        etsyms=["Singlet-Bu"],
    )
    kept = [np.array([False, True, True, True, True, True, True])]
    (one,) = excitations_of(data, kept)
    assert one.source.tolist() == [2, 3, 4]
    assert one.target.tolist() == [4, 5, 3]
    assert (one.amplitudes**2 * [1, 1, -1]).sum() == pytest.approx(1)  # the last one is a de-excitation
    assert one.amplitudes[1] / one.amplitudes[0] == pytest.approx(-0.75)
    assert one.energy == pytest.approx(0.18225341)  # 40,000 per cm
    assert (one.strength, one.label) == (0.5, "Singlet-Bu")
    assert excitations_of(SimpleNamespace(), kept) == ()


def test_amplitudes_of_orbitals_that_are_not_there(benzene):
    n = len(benzene.alpha)
    wrong = Excitation(np.array([0]), np.array([n]), np.array([0]), np.ones(1), 0.2)
    with pytest.raises(ob.errors.OrbitileError, match=f"expected orbitals below {n}"):
        replace(benzene, excitations=(wrong,))
