"""Thermochemistry against PySCF's, and symmetry numbers."""

from dataclasses import replace

import numpy as np
import pytest

from orbitile import Vibrations
from orbitile.analysis.thermochemistry import symmetry_number_of, thermochemistry
from orbitile.model.elements import MASSES, NUMBERS
from orbitile.model.units import angstrom, kilocalorie_per_mole, wavenumber


def _at(symbols: str, positions: np.ndarray, wavenumbers: list[float]) -> Vibrations:
    numbers = np.array([NUMBERS[symbol] for symbol in symbols.split()])
    n = len(wavenumbers)
    displacements = np.zeros((n, len(numbers), 3))
    displacements[:, 0, 0] = 1.0
    return Vibrations(numbers, positions, np.array(MASSES)[numbers], np.array(wavenumbers), displacements)


_TETRAHEDRON = 1.19 * np.array([[0, 0, 0], [1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], float)
_RING = np.array([[np.cos(a), np.sin(a), 0] for a in np.arange(6) * np.pi / 3])
_BENZENE = "C C C C C C H H H H H H", np.concatenate([2.64 * _RING, 4.69 * _RING])
_WATER = "O H H", np.array([[0.0, 0.0, 0.1192], [0.0, 0.7632, -0.477], [0.0, -0.7632, -0.477]]) * angstrom
_MODES = [1600.0, 3700.0, 3800.0]


@pytest.mark.parametrize(
    ("molecule", "expected"),
    [
        (("He", np.zeros((1, 3))), 1),
        (("C O", np.array([[0, 0, 0], [0, 0, 2.1]])), 1),
        (("O C O", np.array([[0, 0, -2.2], [0, 0, 0], [0, 0, 2.2]])), 2),
        (_WATER, 2),
        (("C H H H H", _TETRAHEDRON), 12),
        (("C H H H F", _TETRAHEDRON), 3),
        (("C H H F F", _TETRAHEDRON), 2),
        (("C H F Cl Br", _TETRAHEDRON), 1),
        (_BENZENE, 12),
        (("S F F F F F F", np.concatenate([np.zeros((1, 3)), 3 * np.eye(3), -3 * np.eye(3)])), 24),
    ],
)
def test_symmetry_number(molecule, expected):
    found = _at(*molecule, [])
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    rattled = found.positions @ turn + np.random.default_rng(2).normal(scale=0.005, size=found.positions.shape)
    rattled = rattled if len(rattled) > 1 else found.positions
    assert symmetry_number_of(replace(found, positions=rattled)) == expected


def test_partition_functions_agree_with_pyscf():
    gto = pytest.importorskip("pyscf", reason="PySCF (extra scf) is not installed").gto
    from pyscf.hessian import thermo

    symbols, positions = _WATER
    molecule = gto.M(
        atom=list(zip(symbols.split(), positions.tolist(), strict=True)), unit="Bohr", spin=2, symmetry=True
    )
    model = type("Model", (), {"mol": molecule, "e_tot": -76.0})
    au = np.array(_MODES) * wavenumber * np.sqrt(1822.888486209)  # PySCF's unit
    expected = thermo.thermo(model, au, 350.0, 2e5)
    water = replace(_at(symbols, positions, _MODES), energy=-76.0, multiplicity=3)
    found = thermochemistry(water, 350.0, 2e5)
    assert found.symmetry_number == expected["sym_number"][0] == 2
    assert found.zero_point_energy == pytest.approx(expected["ZPE"][0], rel=1e-6)
    assert -76 + found.enthalpy_correction == pytest.approx(expected["H_tot"][0], abs=1e-7)
    assert -76 + found.free_energy_correction == pytest.approx(expected["G_tot"][0], abs=2e-7)
    assert found.entropy == pytest.approx(expected["S_tot"][0], rel=1e-5)
    assert found.heat_capacity == pytest.approx(expected["Cp_tot"][0], rel=1e-5)


def test_low_modes_have_less_entropy_than_a_harmonic_oscillator():
    symbols, positions = _WATER
    water = _at(symbols, positions, [10.0, 1600.0, 3700.0])
    found = {
        name: thermochemistry(water, low_modes=name).contributions[2] for name in ("harmonic", "grimme", "truhlar")
    }
    units = 1000 / kilocalorie_per_mole
    # R (1 + ln kT/hv) for kT >> hv; a rotor of 1e-44 kg m^2 by hand: R (1/2 + ln sqrt(8 pi^3 I kT)/h) = 4.36 R
    assert found["harmonic"].entropy * units == pytest.approx(1.98720 * (1 + np.log(207.2 / 10.0)), abs=0.03)
    assert found["truhlar"].entropy * units == pytest.approx(1.98720 * (1 + np.log(207.2 / 100.0)), abs=0.05)
    assert found["truhlar"].entropy < found["grimme"].entropy < found["harmonic"].entropy
