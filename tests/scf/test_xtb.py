"""GFN1-xTB and GFN2-xTB: functions, energies, forces and orbitals are those of tblite."""

from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis._quadrature import analytic_moments
from orbitile.analysis.energies import energies
from orbitile.base.errors import OrbitileError
from orbitile.commandline import main
from orbitile.fields.density import density_of
from orbitile.gaussians.overlap import shell_overlap
from orbitile.model.core_potentials import valence_charges
from orbitile.model.geometry import Geometry
from orbitile.model.units import kelvin
from orbitile.scf import charges_for_tblite
from orbitile.scf.calculation import Calculation, NotConverged
from orbitile.scf.engines import chosen, engine_of, xtb
from orbitile.scf.from_file import altered
from orbitile.scf.slater import is_slater_expansion
from orbitile.session.live.calculating import converged
from orbitile.session.live.order import Level, Order, Relaxation
from orbitile.session.source import OneFile

interface = pytest.importorskip("tblite.interface")

PLACES = np.array([[0, 0, 0], [1.5, 2.1, 3.2], [-2.0, 1.0, -1.7]])


def theirs(numbers, positions, method, charge=0, unpaired=0, solvent="", kelvins=0.0):
    """The same by tblite alone."""
    calculator = interface.Calculator(f"{method.upper()}-xTB", numbers, positions, charge, unpaired)
    calculator.set("verbosity", 0)
    calculator.set("save-integrals", 1)
    if solvent:
        calculator.add(*(("gbe-solvation", 30.0, "p16") if solvent == "30" else ("alpb-solvation", solvent)))
    if kelvins:
        calculator.set("temperature", kelvins * kelvin)
    return calculator.singlepoint()


@pytest.mark.parametrize("method", ["gfn1", "gfn2"])
def test_functions_of_all_elements_are_those_of_tblite(method):
    """Overlap matrices with chlorine and hydrogen; electrons of neutral atoms; dipoles in a group."""
    for number in range(1, 87):
        numbers = np.array([number, 17, 1])
        calculation = Calculation(method, unpaired=int(valence_charges(numbers).sum()) % 2)
        geometry = Geometry(numbers, PLACES)
        expected = theirs(numbers, PLACES, method, unpaired=calculation.unpaired)
        shells = xtb.shells_of(geometry, calculation)
        rows = xtb._rows(shells)
        ours = shell_overlap(shells, PLACES, shells, PLACES)
        assert np.abs(expected.get("overlap-matrix")[np.ix_(rows, rows)] - ours).max() < 1e-6, number
        assert expected.get("orbital-occupations").sum() == pytest.approx(valence_charges(numbers).sum())
        if number in (6, 14, 32, 50, 82):
            found = xtb.solve(geometry, calculation)
            assert found.energy == pytest.approx(expected.get("energy"), abs=1e-9)
            dipole = analytic_moments(found.wavefunction, density_of(found.wavefunction)).dipole
            assert dipole == pytest.approx(expected.get("dipole"), abs=1e-6), number


@pytest.mark.parametrize(
    ("charge", "unpaired", "solvent", "kelvins"),
    [(0, 0, "", 0.0), (1, 1, "", 0.0), (0, 2, "dmso", 0.0), (-1, 1, "", 3000.0), (0, 0, "30", 0.0)],
)
def test_energies_and_forces_are_those_of_tblite(charge, unpaired, solvent, kelvins):
    numbers, places = np.array([16, 8, 8]), np.array([[0, 0, 0], [0, 2.4, 1.3], [0.1, -2.3, 1.4]])
    calculation = Calculation("gfn2", "", charge, unpaired, solvent=solvent, smearing=kelvins)
    solver = engine_of("auto", Geometry(numbers, places), calculation)
    found = solver.solve(Geometry(numbers, places), calculation)
    expected = theirs(numbers, places, "gfn2", charge, unpaired, solvent, kelvins)
    assert found.energy == pytest.approx(expected.get("energy"), abs=1e-9)
    assert solver.gradient(found.wavefunction, calculation) == pytest.approx(expected.get("gradient"), abs=1e-9)
    assert found.wavefunction.n_unpaired == pytest.approx(unpaired, abs=1e-6) or kelvins
    assert found.wavefunction.charge == pytest.approx(charge, abs=1e-9)


@pytest.mark.parametrize("method", ["gfn1", "gfn2"])
def test_external_charges(method):
    """Far ones are tblite's homogeneous field, forces on atoms and charges derivatives; zero ones change nothing.

    Moments are where they are looked for: energies stay as they are when all is turned.
    """
    numbers, places = np.array([8, 6, 1, 1]), np.array([[0, 0, 2.3], [0, 0, 0], [0.3, 1.7, -1.1], [0, -1.8, -1.0]])

    def solved(charges, positions, widths=0.0, places=places):
        calculation = Calculation(method, external_charges=ob.ExternalCharges(positions, charges, widths))
        geometry = Geometry(numbers, places)
        solver = engine_of("auto", geometry, calculation)
        found = solver.solve(geometry, calculation)
        return found, solver.gradient(found.wavefunction, calculation), calculation.external_charges

    field, far = np.array([0.004, 0.003, -0.005]), 1e5
    calculator = interface.Calculator(f"{method.upper()}-xTB", numbers, places)
    calculator.set("verbosity", 0)
    ffi = pytest.importorskip("tblite.library").ffi
    calculator.add("electric-field", ffi.new("double[3]", list(field)))
    expected = calculator.singlepoint()
    along = far * field / np.linalg.norm(field)
    found, slopes, _ = solved(np.linalg.norm(field) * far**2 / 2 * np.array([1, -1]), np.array([-along, along]))
    assert found.energy == pytest.approx(expected.get("energy"), abs=1e-8)
    assert slopes == pytest.approx(expected.get("gradient"), abs=1e-7)

    none, vacuum = solved([0.0], [[0, 0, 5]])[0], theirs(numbers, places, method)
    assert none.energy == pytest.approx(vacuum.get("energy"), abs=1e-12)

    charges, widths = [0.5, -0.7, 0.4], [0.0, 2.5, 0.4]
    around = np.array([[4, 1, 3], [-3, -2, 4], [1, 4.0, -4]])
    found, slopes, external = solved(charges, around, widths)
    on_charges = ob.forces_on_charges(found.wavefunction, external)
    assert slopes.sum(0) == pytest.approx(on_charges.sum(0), abs=1e-12)
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    assert solved(charges, around @ turn, widths, places @ turn)[0].energy == pytest.approx(found.energy, abs=1e-8)
    step_of_atoms, step_of_charges = np.random.default_rng(1).normal(size=(2, 4, 3)) * 0.01
    energies = [
        solved(charges, around + t * step_of_charges[:3], widths, places + t * step_of_atoms)[0].energy
        for t in (-2, -1, 1, 2)
    ]
    slope = (slopes * step_of_atoms).sum() - (on_charges * step_of_charges[:3]).sum()
    assert slope == pytest.approx(np.dot(energies, [1, -8, 8, -1]) / 12, abs=2e-8)


def test_the_next_geometry_begins_from_the_charges_of_the_last():
    numbers, calculation = np.array([17, 8, 1]), Calculation("gfn2")
    first = xtb.solve(Geometry(numbers, PLACES), calculation)
    moved = Geometry(numbers, PLACES + np.array([[0, 0, 0], [0, 0.01, 0], [0, 0, 0]]))
    anew, again = xtb.solve(moved, calculation), xtb.solve(moved, calculation, response=first.response)
    assert again.n_iterations < anew.n_iterations
    assert again.energy == pytest.approx(anew.energy, abs=1e-6)
    other = xtb.solve(moved, Calculation("gfn1"), response=first.response)  # of another method: not begun from
    assert other.energy == pytest.approx(xtb.solve(moved, Calculation("gfn1")).energy, abs=1e-12)


def test_a_series_and_its_minimum(tmp_path, capsys):
    path, series, minimum = tmp_path / "water.xyz", tmp_path / "water.h5", tmp_path / "minimum.h5"
    path.write_text("3\n\nO 0 0 0.119\nH 0 0.8 -0.477\nH 0 -0.757 -0.477\n")
    main(["scf", str(path), "--method", "gfn2", "-o", str(series)])
    w = ob.load(series)
    assert w.method == "gfn2, charge 0, unpaired electrons 0"
    assert ob.calculation_for(w) == (Calculation("gfn2"), ())
    unnamed = replace(w, method="")  # as in xtb's own files
    told = "the file does not name its method: its functions are those of gfn2"
    assert ob.calculation_for(unnamed) == (Calculation("gfn2"), (told,))
    assert all(is_slater_expansion(shell.angular_momentum, shell.exponents) for shell in w.shells)
    with pytest.raises(OrbitileError, match="orbitals of gfn2"):
        energies(unnamed)
    main(["optimise", str(series), "-o", str(minimum)])  # by the method of the file
    pytest.importorskip("ase")
    last = ob.load_trajectory(minimum)[-1]
    assert last.method == w.method
    assert np.linalg.norm(last.positions[1] - last.positions[0]) == pytest.approx(1.8129, abs=5e-3)
    assert "steps to the minimum, gfn2" in capsys.readouterr().out


def test_a_live_molecule(tmp_path):
    numbers, level = np.array([8, 1, 1]), Level(Calculation("gfn2"), "auto", "cpu")
    places, moved = PLACES * 0.5, PLACES * 0.5 + np.array([[0, 0, 0.05], [0, 0, 0], [0, 0, 0]])

    def at(positions, **more):
        return converged(Order(str(tmp_path), level, numbers, positions, "m", str(tmp_path), **more))

    first = at(places)
    assert OneFile.read(first.source) == OneFile.read(first.source).noted()  # known without reading the file
    found = at(moved, after=first, relaxation=Relaxation(1.0))
    expected = theirs(numbers, moved, "gfn2")
    assert found.energy == pytest.approx(expected.get("energy"), abs=1e-6)
    assert found.n_iterations < first.n_iterations
    passed = at(moved, after=first, rough=True)
    assert passed.n_iterations < found.n_iterations
    assert passed.energy == pytest.approx(found.energy, abs=1e-6)
    assert found.largest_force == pytest.approx(np.linalg.norm(expected.get("gradient"), axis=1).max(), abs=1e-4)


def test_refusals():
    water = Geometry(np.array([8, 1, 1]), PLACES)
    with pytest.raises(OrbitileError, match=r"functions of its own.*got 'def2-svp'"):
        Calculation("gfn2", "def2-svp")
    assert altered(Calculation("pbe"), {"method": "gfn2"}) == Calculation("gfn2")
    with pytest.raises(OrbitileError, match="its methods are gfn1 and gfn2, got 'pbe'"):
        chosen("xtb", water, Calculation("pbe"))
    with pytest.raises(OrbitileError, match=r"no parameters for heptane.*1\.9113"):
        chosen("auto", water, Calculation("gfn2", solvent="heptane"))
    with pytest.raises(OrbitileError, match="up to Rn, got U"):
        chosen("auto", Geometry(np.array([92]), PLACES[:1]), Calculation("gfn2"))
    with pytest.raises(OrbitileError, match="8 electrons, so an even number"):
        xtb.solve(water, Calculation("gfn2", unpaired=1))
    with pytest.raises(OrbitileError, match="built in another way"):  # nothing is read of arrays of another shape
        charges_for_tblite._array(PLACES.ctypes.data, (3,))
    with pytest.raises(NotConverged, match="not converged"):
        xtb.solve(Geometry(np.array([8, 1, 1]), PLACES * 5), Calculation("gfn2"))
