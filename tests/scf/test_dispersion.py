"""Dispersion corrections, against the drivers that their packages bring for PySCF, and differences of energies."""

from dataclasses import replace

import numpy as np
import pytest

from orbitile.base.errors import OrbitileError
from orbitile.model.elements import SYMBOLS
from orbitile.model.geometry import Geometry
from orbitile.scf.calculation import Calculation
from orbitile.scf.dispersion import correction_of
from orbitile.scf.engines import engine_of

gto = pytest.importorskip("pyscf.gto", reason="PySCF is not installed")
dft = pytest.importorskip("pyscf.dft", reason="PySCF is not installed")
d3 = pytest.importorskip("dftd3.pyscf", reason="dftd3 is not installed (extra dispersion)")
d4 = pytest.importorskip("dftd4.pyscf", reason="dftd4 is not installed (extra dispersion)")

WATERS = Geometry(
    np.array([8, 1, 1, 8, 1, 1, 0]),
    np.array(
        [[0, 0, 0], [0, 1.43, 1.11], [0, -1.43, 1.11], [0.2, 0, 5.5], [1.6, 0.3, 6.6], [-1.3, -0.2, 6.7], [0, 0, 9]],
        np.float64,
    ),
)
CHLORIDE = Geometry(  # beside methane
    np.array([17, 6, 1, 1, 1, 1]),
    np.array([[0, 0, -7], [0, 0, 0], [0, 0, -2.06], [1.94, 0, 0.69], [-0.97, 1.68, 0.69], [-0.97, -1.68, 0.69]]),
)


def by_their_driver(geometry, kind, functional, charge):
    atoms = [(SYMBOLS[n], xyz) for n, xyz in zip(geometry.atomic_numbers, geometry.positions, strict=True) if n]
    n_electrons = int(geometry.atomic_numbers.sum()) - charge
    mol = gto.M(atom=atoms, unit="bohr", charge=charge, spin=n_electrons % 2, verbose=0)
    if kind == "d4":
        return d4.DFTD4Dispersion(mol, xc=functional).kernel()
    return d3.DFTD3Dispersion(mol, xc=functional, version=kind).kernel()[:2]


@pytest.mark.parametrize(
    ("method", "kind", "functional"),
    [
        ("b3lyp-d3bj", "d3bj", "b3lyp"),
        ("UB3LYP-D3(BJ)", "d3bj", "b3lyp"),
        ("pbe0-d4", "d4", "pbe0"),
        ("roPBE-D3", "d3bj", "pbe"),
        ("pbe-gd3", "d3zero", "pbe"),
        ("M06-2X-D3", "d3zero", "m062x"),
        ("bp86-d4", "d4", "bp"),
        ("bhandhlyp-d3bj", "d3bj", "bhlyp"),
        ("hf-d3bj", "d3bj", "hf"),
        ("rpbe-d4", "d4", "rpbe"),
        ("lc_wpbe-d3(bj)", "d3bj", "lcwpbe"),
        ("r2scan-d4", "d4", "r2scan"),
        ("wb97x-d3", "d3zero", "wb97x"),
        ("wb97m-d4", "d4", "wb97m"),
        ("rob97-d3(bj)", "d3bj", "b97d"),
    ],
)
@pytest.mark.parametrize(("geometry", "charge"), [(WATERS, 0), (CHLORIDE, -1)])
def test_energies_and_gradients_are_those_of_the_packages(geometry, charge, method, kind, functional):
    correction = correction_of(Calculation(method))
    energy, gradient = correction.energy(geometry, charge), correction.gradient(geometry, charge)
    expected, slope = by_their_driver(geometry, kind, functional, charge)
    assert energy == pytest.approx(expected, abs=1e-10)
    np.testing.assert_allclose(gradient[geometry.atomic_numbers > 0], slope, atol=1e-10)
    assert not gradient[geometry.atomic_numbers == 0].any()


@pytest.mark.slow
@pytest.mark.parametrize(("engine", "method"), [("pyscf", "pbe-d4"), ("orbitile", "pbe-d3bj")])
def test_every_engine_adds_it_to_energies_and_forces(engine, method):
    calculation = Calculation(method, "sto-3g")
    plain, corrected = (engine_of(engine, CHLORIDE, replace(calculation, charge=-1, method=m)) for m in ("pbe", method))
    anion, bare = replace(calculation, charge=-1), Calculation("pbe", "sto-3g", -1)
    found, without = corrected.solve(CHLORIDE, anion), plain.solve(CHLORIDE, bare)
    expected, slope = by_their_driver(CHLORIDE, method[4:], "pbe", -1)
    assert found.parts == {"dispersion": pytest.approx(expected, abs=1e-10)}
    assert found.energy - without.energy == pytest.approx(expected, abs=1e-9)
    assert found.wavefunction.method.startswith(f"{method}/sto-3g")
    difference = corrected.gradient(found.wavefunction, anion) - plain.gradient(without.wavefunction, bare)
    np.testing.assert_allclose(difference, slope, atol=1e-7)


def test_the_correction_takes_the_place_of_nonlocal_correlation():
    """In omega-B97M-D3(BJ), whose functional is that of omega-B97M-V without it."""
    hydrogen, calculation = Geometry(np.array([1, 1]), np.diag([0, 0, 1.4])[1:]), Calculation("wb97m-d3bj", "sto-3g")
    found = engine_of("pyscf", hydrogen, calculation).solve(hydrogen, calculation)
    field = dft.RKS(gto.M(atom=[("H", row) for row in hydrogen.positions], unit="bohr", basis="sto-3g", verbose=0))
    field.xc, field.nlc = "wb97m_v", False
    assert found.energy - found.parts["dispersion"] == pytest.approx(field.kernel(), abs=1e-8)


@pytest.mark.parametrize("method", ["pbe-d3bj", "pbe-d3zero", "pbe-d4"])
def test_gradients_are_derivatives_of_the_energy(method):
    correction, step = correction_of(Calculation(method)), 1e-3
    gradient = correction.gradient(CHLORIDE, -1)
    for atom, axis in ((0, 2), (2, 0), (3, 1)):
        energies = []
        for sign in (1, -1):
            positions = CHLORIDE.positions.copy()
            positions[atom, axis] += sign * step
            energies.append(correction.energy(Geometry(CHLORIDE.atomic_numbers, positions), -1))
        assert gradient[atom, axis] == pytest.approx((energies[0] - energies[1]) / (2 * step), abs=1e-8)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("m06-2x-d3bj", r"no parameters of D3\(BJ\) for m06-2x; choose m06-2x without, or .*m06-2x-d3zero"),
        ("svwn-d3bj", "no parameters of .* for svwn; choose svwn without, or for example pbe-d3bj"),
        ("b3lip-d4", "b3lyp-d4"),
        ("b88,lyp-d3bj", "no parameters"),
    ],
)
def test_functionals_without_parameters_are_refused(method, message):
    with pytest.raises(OrbitileError, match=message):
        correction_of(Calculation(method))


def test_a_missing_package_is_named_with_its_command(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "dftd4.interface", None)
    with pytest.raises(OrbitileError, match=r"D4 needs the package dftd4: .*pip install"):
        engine_of("auto", WATERS, Calculation("pbe-d4"))
