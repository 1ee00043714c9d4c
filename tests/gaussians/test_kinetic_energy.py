"""The kinetic energy against formulas and what programs print."""

import numpy as np
import pytest

import orbitile as ob
from orbitile import Orbitals, Shell, Wavefunction
from orbitile.analysis.information import notes
from orbitile.gaussians.overlap import kinetic_energy
from tests.conftest import SAMPLES


@pytest.mark.parametrize("exponent", [0.02, 1.3, 5e6])
@pytest.mark.parametrize(("momentum", "pure"), [(0, False), (1, False), (2, True), (3, True)])
def test_of_one_gaussian(momentum, pure, exponent):
    """(l + 3/2) times the exponent, whatever m."""
    shell = Shell(0, momentum, pure, np.array([exponent]), np.ones(1))
    n = shell.n_functions
    orbitals = Orbitals(np.eye(n), 2 * np.eye(n)[n - 1])
    wavefunction = Wavefunction(np.array([8]), np.array([[0.3, -1.0, 2.0]]), (shell,), orbitals)
    assert kinetic_energy(wavefunction) == pytest.approx(2 * (momentum + 1.5) * exponent, rel=1e-12)


@pytest.mark.parametrize(
    "name",
    ["water_ccpvdz_pure_hf_g03.fchk", "ch3_hf_sto3g.fchk", "lih_cation_uhf.wfn", "o2_uhf.wfn", "h2_ub3lyp_ccpvtz.wfx"],
)
def test_it_is_that_of_the_file(name):
    wavefunction = ob.load(SAMPLES / name)
    assert kinetic_energy(wavefunction) == pytest.approx(wavefunction.stated.kinetic, rel=2e-6)
    assert not any("kinetic" in note for note in notes(wavefunction))


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("h2o_sto3g.wfn", "2.0000000  ORB. ENERGY =   -0.392617", "1.0000000  ORB. ENERGY =   -0.392617"),
        ("water_sto3g_hf_g03.fchk", "2.00471701", "2.00481701"),
        ("lih_cation_uhf.wfx", "1.98438554271430E+00", "1.98448554271430E+00"),
    ],
)
def test_a_number_that_no_longer_goes_with_the_others_is_noted(tmp_path, name, old, new):
    text = (SAMPLES / name).read_text()
    assert text.count(old) == 1
    (tmp_path / name).write_text(text.replace(old, new))
    assert any("kinetic energy" in note for note in notes(ob.load(tmp_path / name)))


def test_shells_elsewhere_than_their_atoms_are_noted(tmp_path):
    """A digit of a coordinate that leaves the orbitals normalised, or of the copy of it that the shells have."""
    name = "water_sto3g_hf_g03.fchk"
    text = (SAMPLES / name).read_text()
    for heading in ("Current cartesian coordinates", "Coordinates of each shell"):
        before, _, after = text.partition(heading)
        first, _, rest = after.partition("\n")
        x = rest.split()[0]
        changed = f"{float(x) + 2e-5:.8E}".rjust(len(x))
        (tmp_path / name).write_text(f"{before}{heading}{first}\n{rest.replace(x, changed, 1)}")
        assert any("elsewhere than the atom" in note for note in notes(ob.load(tmp_path / name)))
    assert not any("elsewhere" in note for note in notes(ob.load(SAMPLES / name)))
