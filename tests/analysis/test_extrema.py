"""Extrema of the electrostatic potential on a surface of the density, which do not depend on the lattice."""

import dataclasses

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.surface_statistics import extrema
from orbitile.evaluation.surfaces import coloured
from orbitile.model.surface import Colouring, Surface
from orbitile.model.units import angstrom
from tests.conftest import random_wavefunction

gto = pytest.importorskip("pyscf.gto")


@pytest.mark.parametrize(
    ("atoms", "maxima", "minima"),
    [
        # the lone pairs are 1.3 Angstrom apart; of the hydrogen atoms the place between them is left
        pytest.param("C 0 0 0; O 0 0 1.2; H 0 0.94 -0.59; H 0 -0.94 -0.59", 1, 2, marks=pytest.mark.slow),
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


def test_equals_count_together():
    """Of two hills of one height the mesh makes one a little less than deep enough; a lower one is not."""
    along = [0, 1, 0.4, 0.5, 0.4975, 0.8, 0.4, 0.5, 0.4985, 0.7, 0.2, 0.3, 0.2985, 0.9, 0.1]
    values = np.repeat(along, 2).astype(np.float32)
    n = np.arange(len(along) - 1)[:, None]
    faces = np.concatenate([2 * n + [0, 1, 2], 2 * n + [1, 3, 2]]).astype(np.int32)
    vertices = np.stack([np.repeat(np.arange(len(along)), 2), np.tile([0, 1], len(along)), 0 * values], axis=1)
    normals, phases = np.tile([0.0, 0, 1], (len(values), 1)), np.ones(len(values), np.int8)
    surface = Surface(vertices.astype(np.float32), faces, normals.astype(np.float32), phases, 0.0)
    surface = dataclasses.replace(surface, colouring=Colouring(values, 0.0, 1.0, "height", ""))
    found = extrema(surface, random_wavefunction(0))
    assert sorted(round(one.value, 2) for one in found if one.kind == "maximum") == [0.5, 0.5, 0.7, 0.8, 0.9, 1.0]
