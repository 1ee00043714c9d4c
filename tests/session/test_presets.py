"""Presets: what they show, and of which wavefunctions."""

from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile import Orbitals
from orbitile.base.errors import FieldError, OrbitileError
from orbitile.evaluation.requests import field_of
from orbitile.fields import currents, hirshfeld_surface, surroundings, transition, unavailable, voids
from orbitile.fields import modes as vibrating
from orbitile.session.presets import PRESETS, preset_named, surfaces_of, why_not


def with_spins(wavefunction, n_alpha, n_beta):
    """Unrestricted orbitals from restricted ones, the lowest occupied."""

    def filled(n):
        occupations = np.zeros(len(wavefunction.alpha))
        occupations[:n] = 1
        return replace(wavefunction.alpha, occupations=occupations)

    return replace(wavefunction, alpha=filled(n_alpha), beta=filled(n_beta))


def fields_of(preset, wavefunction, file=""):
    return [surface.field for surface in surfaces_of(preset_named(preset), wavefunction, file)]


def test_what_a_preset_shows_can_be_shown(benzene):
    there = [preset for preset in PRESETS if not preset.needs_file and not why_not(preset, benzene)]
    assert [preset.name for preset in there] == ["frontier", "ibo", "potential", "nci", "elf", "ionisation"]
    for preset in there:
        for surface in surfaces_of(preset, benzene):
            for name in filter(None, (surface.field, surface.color_by)):
                assert field_of(benzene, name).quantity


def test_names_of_presets():
    assert preset_named(" NCI ").title == "Weak interactions (NCI)"
    with pytest.raises(OrbitileError, match=r"expected frontier, ibo, potential, .* or difference, got 'esp'"):
        preset_named("esp")


def test_frontier_orbitals_of_closed_shells_and_radicals(benzene):
    assert fields_of("frontier", benzene) == ["homo", "lumo"]
    radical = with_spins(benzene, 21, 20)
    assert fields_of("frontier", radical) == ["homo:alpha", "lumo:alpha", "homo:beta", "lumo:beta"]
    atom = with_spins(benzene, 1, 0)
    assert fields_of("frontier", atom) == ["homo:alpha", "lumo:alpha", "lumo:beta"]
    for name in fields_of("frontier", atom):
        assert field_of(atom, name).quantity


def test_a_file_without_unoccupied_orbitals_has_no_lumo(benzene):
    orbitals = benzene.alpha
    alone = replace(benzene, alpha=Orbitals(orbitals.coefficients[:, :21], orbitals.occupations[:21]))
    with pytest.raises(
        OrbitileError, match="HOMO and LUMO: the file holds no unoccupied orbitals, so there is no LUMO"
    ):
        surfaces_of(preset_named("frontier"), alone)
    assert unavailable(alone)["lumo+N"] == "the file holds no unoccupied orbitals"
    assert "homo" not in unavailable(alone)
    assert "orbital energies" in why_not(preset_named("ionisation"), alone)


def test_only_open_shells_have_a_spin_density(benzene):
    spin = preset_named("spin")
    assert why_not(spin, benzene) == "all electrons are paired, so there is no spin density"
    assert why_not(spin, with_spins(benzene, 21, 21)) == why_not(spin, benzene)
    radical = with_spins(benzene, 21, 20)
    assert why_not(spin, radical) == ""
    assert fields_of("spin", radical) == ["spin"]
    natural = np.linspace(1.99, 0.01, len(benzene.alpha))
    shared = replace(benzene, alpha=replace(benzene.alpha, occupations=natural), natural=True)
    assert "both spins" in why_not(spin, shared)


def test_what_is_unavailable_is_what_is_refused(benzene):
    """For the same reason."""
    missing = unavailable(benzene)
    families = (transition, surroundings, vibrating, currents, hirshfeld_surface, voids)
    others = {name for family in families for name in dict(family.NAMES)}
    assert set(missing) == {"spin", "magnetisation", "magnetisation:x", "phase:homo", *others}
    for name, reason in missing.items():
        with pytest.raises(FieldError, match=reason):
            field_of(benzene, name.replace("N", "1"))
    assert "excited states" in why_not(preset_named("excitation"), benzene)


def test_a_preset_that_compares_takes_a_file(benzene):
    assert fields_of("difference", benzene, "cation.molden") == ["difference:cation.molden"]
    with pytest.raises(OrbitileError, match="Density difference: expected another file"):
        surfaces_of(preset_named("difference"), benzene)
    with pytest.raises(OrbitileError, match="it takes no file"):
        surfaces_of(preset_named("elf"), benzene, "cation.molden")


def test_the_potential_is_shown_on_the_usual_density(benzene):
    (surface,) = surfaces_of(preset_named("potential"), benzene)
    assert (surface.field, surface.isovalue, surface.color_by) == ("density", 0.001, "esp")
    assert ob.default_isovalue(benzene, surface.color_by) > 0
