"""Logs of ORCA 6, written here from molecules of PySCF: cclib stumbles over them, we read them."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import FileError
from orbitile.model.units import wavenumber
from tests.oracle import orbital
from tests.readers.orca_files import log_text, sample

STATES = """
------------------------------------
TD-DFT/TDA EXCITED STATES (SINGLETS)
------------------------------------

STATE  1:  E=   0.300000 au      8.163 eV    65842.4 cm**-1 <S**2> =   0.000000 Sym: Bu Mult 1
     3a ->   5a  :     0.640000 (c=  0.80000000)
     4a ->   6a  :     0.360000 (c= -0.60000000)
     4a <-   6a  :     0.010000 (c= -0.10000000)

STATE  2:  E=   0.400000 au     10.885 eV    87789.9 cm**-1 <S**2> =   0.000000 Mult 1
     3a <-   5a  :     0.640000 (c=  0.80000000)

------------------------------------
TD-DFT/TDA EXCITED STATES (TRIPLETS)
------------------------------------

STATE  3:  E=   0.200000 au      5.442 eV    43894.9 cm**-1 <S**2> =   2.000000 Sym: Ag Mult 3
     4a ->   5a  :     1.000000 (c=  1.00000000)
"""
ITERATIONS = "SCF CONVERGED\n  Last Energy change         ...   -1.0  Tolerance :   1.0e-08\n"
"""What cclib expects in another form."""


def load(tmp_path, text):
    path = tmp_path / "job.out"
    path.write_text(text)
    return ob.load(path)


def agree(wavefunction, made, digits=2e-5):
    points = np.random.default_rng(1).uniform(-2, 3, (40, 3))
    values = made.molecule.eval_gto("GTOval_sph", points)
    for spin, coefficients, occupations, energies in zip(
        ("alpha", "beta"), made.orbitals, made.occupations, made.energies, strict=False
    ):
        read = wavefunction.orbitals(spin)
        np.testing.assert_array_equal(read.occupations, occupations)
        np.testing.assert_allclose(read.energies, energies, atol=6e-6)
        for n in (0, len(energies) - 1):
            expected = values @ coefficients[:, n]
            np.testing.assert_allclose(orbital(wavefunction, n, points, spin), expected, atol=digits)


@pytest.mark.parametrize(
    ("atoms", "basis", "spins", "ecp"),
    [
        ("O 0 0 0.1; H 0.1 0.8 -0.5; H 0 -0.7 -0.55", "6-31g*", 1, None),
        ("I 0 0 0; H 0.2 0.9 1.3", "def2-svp", 2, "def2-svp"),
        (
            "H 0 0 0; H 0.7 0.4 0.9",
            {"H": [[0, [1.1, 0.7], [0.4, 0.5]], *([l, [0.9, 1]] for l in range(1, 6))]},
            1,
            None,
        ),
    ],
)
def test_orbitals_of_logs_are_those_of_pyscf(tmp_path, atoms, basis, spins, ecp):
    made = sample(atoms, basis, spins=spins, ecp=ecp)
    wavefunction = load(tmp_path, log_text(made, states=ITERATIONS))
    agree(wavefunction, made)
    assert wavefunction.program.startswith("ORCA 6.0.1 log")
    assert wavefunction.core_charges.tolist() == made.molecule.atom_charges().tolist()
    assert wavefunction.stated.charge == 0


def test_excited_states(tmp_path):
    made = sample("O 0 0 0.1; H 0.1 0.8 -0.5; H 0 -0.7 -0.55", "sto-3g")
    wavefunction = load(tmp_path, log_text(made, states=ITERATIONS + STATES))
    first, second = wavefunction.excitations  # that with nothing but a de-excitation is left out
    assert (first.label, second.label) == ("Singlet-Bu", "Triplet-Ag")
    assert first.energy == pytest.approx(0.3)
    assert (first.source.tolist(), first.target.tolist()) == ([3, 4, 6], [5, 6, 4])
    np.testing.assert_allclose(first.amplitudes, np.array([0.8, -0.6, -0.1]) / 0.99**0.5)
    assert second.energy / wavenumber == pytest.approx(43894.9, abs=0.1)


def test_natural_orbitals(tmp_path):
    made = sample("O 0 0 0.1; H 0.1 0.8 -0.5; H 0 -0.7 -0.55", "sto-3g")
    made.occupations[0][:] = [2, 2, 2, 1.95, 1.9, 0.1, 0.05]
    wavefunction = load(tmp_path, log_text(made, states=ITERATIONS))
    assert wavefunction.kind == "natural"
    np.testing.assert_array_equal(wavefunction.alpha.occupations, made.occupations[0])


def test_what_is_refused(tmp_path):
    made = sample("O 0 0 0.1; H 0.1 0.8 -0.5; H 0 -0.7 -0.55", "sto-3g")
    text = log_text(made, states=ITERATIONS)
    with pytest.raises(FileError, match=r"job\.out.*cut off"):
        load(tmp_path, text[: text.index("MOLECULAR ORBITALS") + 700])
    with pytest.raises(FileError, match=r"no basis set.*PrintBasis, or open the \.gbw"):
        load(tmp_path, text.replace("BASIS SET IN INPUT FORMAT", ""))
    twice = text[text.index(" NewGTO O") : text.index(" # Basis set for element : H")].replace("130.7", "131.7")
    with pytest.raises(FileError, match=r"two basis sets for O.*\.gbw"):
        load(tmp_path, text.replace(" # Basis set for element : H", twice + " # Basis set for element : H"))
    made.occupations[0][:] = [2, 2, 2, 2, 0, 2, 0]
    with pytest.raises(FileError, match=r"not filled from below.*\.gbw"):
        load(tmp_path, log_text(made, states=ITERATIONS))
