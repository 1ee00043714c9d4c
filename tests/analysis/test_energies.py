"""Energies of wavefunctions against PySCF, and the command that prints them."""

import json

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis.energies import remarks_on
from orbitile.commandline import main

pytest.importorskip("pyscf")

KEYS = [
    "electrons",
    "kinetic",
    "nuclear_attraction",
    "coulomb",
    "exchange_correlation",
    "nuclear_repulsion",
    "total",
    "virial_ratio",
]


def calculated(folder, atoms: str, basis: str, functional: str, spin: int = 0, **more):
    """A calculation by PySCF, and its file."""
    from pyscf import dft, gto
    from pyscf.tools import molden

    mol = gto.M(atom=atoms, basis=basis, spin=spin, unit="bohr", verbose=0, **more)
    method = (dft.UKS if spin else dft.RKS)(mol)
    method.xc = functional
    method.kernel()
    path = folder / f"{functional.replace(',', '_')}_{spin}.molden"
    molden.from_scf(method, str(path), ignore_h=False)
    return method, path


WATER = "O 0.1 0.2 0.3; H 1.5 0.2 1.4; H -1.3 0.3 1.4"


@pytest.fixture(scope="module")
def water(tmp_path_factory):
    return calculated(tmp_path_factory.mktemp("water"), WATER, "sto-3g", "pbe")


def expected(method) -> dict[str, float]:
    mol, matrices = method.mol, method.make_rdm1()
    total = matrices if matrices.ndim == 2 else matrices.sum(axis=0)
    by_grid = method._numint.nr_rks if matrices.ndim == 2 else method._numint.nr_uks
    electrons, energy, _ = by_grid(mol, method.grids, method.xc, matrices)
    return {
        "electrons": float(np.sum(electrons)),
        "kinetic": np.vdot(total, mol.intor("int1e_kin")),
        "nuclear_attraction": np.vdot(total, mol.intor("int1e_nuc")),
        "coulomb": 0.5 * np.vdot(total, method.get_j(mol, total)),
        "exchange_correlation": energy,
        "nuclear_repulsion": mol.energy_nuc(),
        "total": method.e_tot,
    }


@pytest.mark.parametrize(("precision", "limit"), [("double", 1e-7), ("single", 1e-6)])
def test_closed_shell(water, precision: str, limit: float) -> None:
    method, path = water
    found = ob.energies(ob.load(path), "pbe", device="cpu", precision=precision).as_dictionary()
    for name, value in expected(method).items():
        assert found[name] == pytest.approx(value, abs=limit), name
    assert found["virial_ratio"] == pytest.approx(1 - found["total"] / found["kinetic"])


def test_dispersion_and_solvation_are_parts_of_the_total(water, capsys) -> None:
    correction = pytest.importorskip("dftd3.pyscf", reason="dftd3 is not installed (extra dispersion)")
    method, path = water
    density = method.make_rdm1()
    solvated = method.PCM()
    solvated.with_solvent.eps = 46.826
    energy = float(solvated.with_solvent.kernel(density)[0])
    dispersion = float(correction.DFTD3Dispersion(method.mol, xc="pbe").kernel()[0])
    command = ["energy", str(path), "--functional", "PBE-D3(BJ)", "--solvent", "dmso", "--device", "cpu"]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["dispersion"] == pytest.approx(dispersion, abs=1e-10)
    assert found["solvation"] == pytest.approx(energy, abs=1e-7)
    assert found["total"] == pytest.approx(method.e_tot + dispersion + energy, abs=2e-7)
    assert main(command) == 0
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["solvation", f"{found['solvation']:.8f}"] in [words[:2] for words in printed]
    with pytest.raises(ob.OrbitileError, match="no parameters"):
        ob.energies(ob.load(path), "lda,vwn-d4")


@pytest.mark.slow
@pytest.mark.parametrize("functional", ["lda,vwn", "pbe", "blyp", "pw91", "r2scan"])
def test_open_shell(tmp_path, functional: str) -> None:
    method, path = calculated(tmp_path, "O 0 0 0; O 0 0 2.28", "def2-svp", functional, spin=2)
    found = ob.energies(ob.load(path), functional, device="cpu").as_dictionary()
    for name, value in expected(method).items():
        assert found[name] == pytest.approx(value, abs=1e-7), name


@pytest.mark.slow
def test_restricted_open_shell_has_two_densities(tmp_path) -> None:
    from pyscf import dft, gto
    from pyscf.tools import molden

    method = dft.ROKS(gto.M(atom="N 0 0 0; O 0 0 2.2", basis="6-31g", spin=1, unit="bohr", verbose=0))
    method.xc = "pbe"
    method.kernel()
    molden.from_scf(method, str(tmp_path / "no.molden"))
    wavefunction = ob.load(tmp_path / "no.molden")
    assert ob.energies(wavefunction, device="cpu").total == pytest.approx(method.e_tot, abs=1e-6)
    assert remarks_on(wavefunction) == ()


@pytest.mark.slow
def test_core_potentials_are_remarked_upon(tmp_path) -> None:
    method, path = calculated(tmp_path, "H 0 0 3.04; I 0 0 0", "def2-svp", "pbe", ecp={"I": "def2-svp"})
    wavefunction = ob.load(path)
    found = ob.energies(wavefunction, device="cpu")
    core = np.vdot(method.make_rdm1(), method.mol.intor("ECPscalar"))
    assert found.total + core == pytest.approx(method.e_tot, abs=1e-6)
    assert "core potentials replace some electrons" in remarks_on(wavefunction)[0]


def test_spins_that_are_not_told_apart_are_remarked_upon(water) -> None:
    from dataclasses import replace

    wavefunction = ob.load(water[1])
    natural = replace(wavefunction.alpha, occupations=np.array([2, 2, 2, 1.9, 1.7, 0.3, 0.1]))
    remark, *others = remarks_on(replace(wavefunction, alpha=natural, natural=True))
    assert "takes half of the density for each spin" in remark
    assert not others
    assert remarks_on(wavefunction) == ()


def test_command(water, capsys) -> None:
    _, path = water
    assert main(["energy", str(path), "--device", "cpu", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert list(found) == KEYS
    assert main(["energy", str(path), "--device", "cpu", "--functional", "lda,vwn", "--level", "0"]) == 0
    out = capsys.readouterr().out
    assert "functional lda,vwn" in out
    assert f"{found['kinetic']:.8f}" in out
    assert "choose a higher --level" in out


def test_what_cannot_be_done_is_said_in_a_line(water, capsys) -> None:
    _, path = water
    assert main(["energy", str(path), "--functional", "wb97x-v"]) == 2
    assert "nonlocal" in capsys.readouterr().err
    assert main(["energy", str(path), "--level", "12"]) == 2
    assert "from 0 to 9" in capsys.readouterr().err
