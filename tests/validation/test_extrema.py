"""Extrema of the electrostatic potential on a surface of the density, which do not depend on the lattice."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.colouring import coloured, extrema
from orbitile.units import angstrom

gto = pytest.importorskip("pyscf.gto")


@pytest.mark.parametrize(
    ("atoms", "maxima", "minima"),
    [
        # the lone pairs are 1.3 Angstrom apart; of the hydrogen atoms the place between them is left
        ("C 0 0 0; O 0 0 1.2; H 0 0.94 -0.59; H 0 -0.94 -0.59", 1, 2),
        # the minimum is a ring about the bond
        ("H 0 0 0; F 0 0 0.92", 1, 1),
    ],
    ids=["formaldehyde", "hydrogen fluoride"],
)
def test_extrema_are_those_of_the_exact_fields(tmp_path, atoms, maxima, minima):
    from pyscf import scf
    from pyscf.tools import molden

    mean_field = scf.RHF(gto.M(atom=atoms, basis="6-31g*", verbose=0)).run()
    molden.from_scf(mean_field, str(tmp_path / "m.molden"), ignore_h=False)
    wavefunction = ob.load(tmp_path / "m.molden")
    values = {}
    for spacing in (0.25, 0.17):
        lattice = ob.enclosing_lattice(wavefunction, "density", 0.001, spacing=spacing * angstrom)
        surface = ob.isosurface(ob.compute(wavefunction, "density", lattice, device="cpu"), 0.001)
        found = extrema(
            coloured(surface, wavefunction, "esp", device="cpu"), wavefunction, "density", "esp", device="cpu"
        )
        assert [one.kind for one in found].count("minimum") == minima
        assert [one.kind for one in found].count("maximum") >= maxima
        places = np.array([one.position for one in found])
        density = ob.evaluate(wavefunction, "density", places, device="cpu", precision="double")
        assert density == pytest.approx(0.001, rel=1e-3)
        values[spacing] = [one.value for one in found]
    assert values[0.25] == pytest.approx(values[0.17], abs=1e-5)
