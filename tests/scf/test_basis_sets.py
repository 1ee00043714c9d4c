"""Basis sets by name: those of PySCF and of basis-set-exchange have the same functions."""

from __future__ import annotations

import numpy as np
import pytest

from orbitile.base.errors import OrbitileError
from orbitile.model.geometry import Geometry
from orbitile.scf import level_of_theory
from orbitile.scf.calculation import Calculation
from orbitile.scf.engines.pyscf import wavefunction_of
from orbitile.scf.level_of_theory import core_electrons, molecule_of, shells_of

USUAL = ("sto-3g", "3-21g", "6-31g*", "6-31+g*", "def2-svp", "def2-tzvp", "cc-pvdz", "aug-cc-pvdz")


def atom(number):
    return Geometry(np.array([number]), np.zeros((1, 3)))


@pytest.fixture
def without_pyscf(monkeypatch):
    pytest.importorskip("basis_set_exchange", reason="basis-set-exchange (extra scf) is not installed")
    monkeypatch.setattr(level_of_theory, "find_spec", lambda name: None if name == "pyscf" else object())


@pytest.mark.parametrize("name", USUAL)
def test_functions_are_those_of_pyscf(name):
    for number in (1, 6, 8, 16):
        calculation = Calculation("pbe", name, unpaired=number % 2, cartesian=name.startswith("6"))
        mol = molecule_of(atom(number), calculation)
        values, vectors = np.linalg.eigh(mol.intor("int1e_ovlp"))
        expected = wavefunction_of(mol, vectors / np.sqrt(values), np.zeros(mol.nao), np.zeros(mol.nao)).shells
        for ours, theirs in zip(shells_of(atom(number), calculation), expected, strict=True):
            there = theirs.coefficients != 0
            assert (ours.angular_momentum, ours.pure) == (theirs.angular_momentum, theirs.pure)
            np.testing.assert_allclose(ours.exponents, theirs.exponents[there], rtol=1e-12)
            np.testing.assert_allclose(ours.coefficients, theirs.coefficients[there], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", USUAL)
def test_both_sources_agree(name, without_pyscf, monkeypatch):
    """To the digits that the older of them has."""
    for number in (1, 7, 8, 9, 17):
        calculation = Calculation("pbe", name)
        theirs = shells_of(atom(number), calculation)
        with monkeypatch.context() as there:
            there.setattr(level_of_theory, "find_spec", lambda name: object())
            ours = shells_of(atom(number), calculation)
        order = [sorted(shells, key=lambda s: (s.angular_momentum, -s.exponents[0], -abs(s.coefficients[0])))
                 for shells in (ours, theirs)]  # fmt: skip
        for one, other in zip(*order, strict=True):
            assert one.angular_momentum == other.angular_momentum
            np.testing.assert_allclose(one.exponents, other.exponents, rtol=3e-6)
            np.testing.assert_allclose(one.coefficients, other.coefficients, atol=4e-6)


@pytest.mark.slow
def test_names_are_varied_as_people_do(without_pyscf):
    for name in ("6-31G(d,p)", "6-31g**", "def2svp", "ccpvdz"):
        assert len(shells_of(atom(6), Calculation("pbe", name))) == 6


def test_core_potentials_count_electrons(without_pyscf):
    assert core_electrons(atom(53), Calculation("pbe", "def2-svp")) == 28
    assert core_electrons(atom(8), Calculation("pbe", "def2-svp")) == 0


def test_refusals(without_pyscf, monkeypatch):
    for name, number, message in (
        ("def2-svpp", 6, "expected one that basis-set-exchange knows; did you mean def2-SVP"),
        ("qwertz", 6, "such as def2-svp"),
        ("6-31g*", 79, "has no functions of it for Au"),
        ("def2-universal-jfit", 6, "expected one for orbitals, got one for jfit"),
    ):
        with pytest.raises(OrbitileError, match=message):
            shells_of(atom(number), Calculation("pbe", name))
    monkeypatch.setitem(__import__("sys").modules, "basis_set_exchange", None)
    with pytest.raises(OrbitileError, match=r"-m pip install '?(basis-set-exchange|pyscf)"):
        level_of_theory._from_basis_set_exchange.__wrapped__("sto-3g", 1)
