"""Every sample file of qc-iodata against qc-gbasis, an independent evaluator, and against the plain oracle.

The screening of qc-gbasis is switched off: it leaves out more than these tests allow.
"""

import numpy as np
import pytest
from iodata import load_one

import orbitile as ob
from orbitile.readers.iodata import dialects_of_iodata
from tests.conftest import OTHER_DEVICES, SAMPLES, points_near, sample_parameters
from tests.oracle import orbital

AGREEMENT = 1e-12
LIMIT = {"single": 2e-6, "double": 1e-12}
evaluate_basis = pytest.importorskip("gbasis.evals.eval", reason="qc-gbasis has no wheels here").evaluate_basis
from_iodata = pytest.importorskip("gbasis.wrappers").from_iodata


pytestmark = pytest.mark.filterwarnings("ignore::iodata.utils.LoadWarning")  # repairs are tested with the readers


def indices(orbitals: ob.Orbitals) -> list[int]:
    """First, last and a middle orbital."""
    return sorted({0, len(orbitals) // 2, len(orbitals) - 1})


def by_gbasis(path, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Alpha and beta orbitals at points by qc-gbasis, each of shape (n_orbitals, n_points)."""
    with dialects_of_iodata(package="iodata"):
        data = load_one(str(path))
    places = ob.load(path).positions
    assert places == pytest.approx(data.atcoords, rel=1e-8, abs=1e-12)  # it has another Angstrom
    data.atcoords = places
    functions = evaluate_basis(from_iodata(data), points, screen_basis=False)
    mo = data.mo
    alpha = mo.coeffs if mo.kind == "restricted" else mo.coeffsa
    beta = mo.coeffs if mo.kind == "restricted" else mo.coeffsb
    return alpha.T @ functions, beta.T @ functions


@pytest.mark.parametrize("path", sample_parameters())
def test_orbitals_at_points(path):
    assert_orbitals_at_points("cpu", path)


@pytest.mark.slow_on("vulkan")
@pytest.mark.parametrize("device", OTHER_DEVICES)
@pytest.mark.parametrize(
    "name",
    [
        *("he_spdfgh_orbital.fchk", "h_gonly_cart_cfour.molden", "nh3_orca.molden", "nh3_molden_cart.molden"),
        *("h2o_sto3g.wfn", "lih_cation_uhf.wfx", "psi4_cuh_cc_pvqz_pure.molden", "2h-azirine-cc.fchk"),
    ],
)
def test_orbitals_at_points_on_other_devices(device, name):
    """All degrees, pure and Cartesian, contracted and not, few and many: how a file was read is the same there."""
    assert_orbitals_at_points(device, SAMPLES / name)


def assert_orbitals_at_points(device, path):
    wavefunction = ob.load(path)
    points = points_near(wavefunction)
    expected = dict(zip(("alpha", "beta"), by_gbasis(path, points), strict=True))
    for spin in ("alpha", "beta"):
        orbitals = wavefunction.orbitals(spin)
        if len(orbitals) == 0:
            continue
        for index in indices(orbitals):
            name = f"mo:{index + 1}:{spin}"
            reference = expected[spin][index]
            plain = orbital(wavefunction, index, points, spin)
            scale = np.abs(reference).max()
            double = ob.evaluate(wavefunction, name, points, device=device, precision="double")
            single = ob.evaluate(wavefunction, name, points, device=device, precision="single")
            assert np.abs(double - reference).max() < AGREEMENT * scale, name
            assert np.abs(double - plain).max() < LIMIT["double"] * scale, name
            assert np.abs(single - plain).max() < LIMIT["single"] * scale, name


@pytest.mark.parametrize("path", sample_parameters())
def test_orbitals_on_lattices(path):
    """The lattice kernel, on a small lattice through the nucleus at which the orbital is largest."""
    wavefunction = ob.load(path)
    orbitals = wavefunction.alpha
    index = indices(orbitals)[len(indices(orbitals)) // 2]
    trial = points_near(wavefunction)
    values = np.abs(orbital(wavefunction, index, trial))
    centre = trial[np.argmax(values)]
    lattice = ob.Lattice(centre - [2.0, 2.2, 2.4], np.diag([0.2, 0.22, 0.24]), (21, 21, 21))
    expected = orbital(wavefunction, index, lattice.points()).reshape(lattice.shape)
    scale = max(np.abs(expected).max(), values.max())
    for precision in ("single", "double"):
        volume = ob.compute(wavefunction, f"mo:{index + 1}", lattice, device="cpu", precision=precision)
        assert np.abs(volume.values - expected).max() < LIMIT[precision] * scale
