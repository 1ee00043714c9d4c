"""Molden files of xtb and tblite, whose orbitals and core charges are those of the valence."""

from pathlib import Path

import numpy as np
import pytest

import orbitile as ob
from orbitile.analysis._quadrature import analytic_moments
from orbitile.fields.density import density_of
from orbitile.model.conventions import angular_normalization, pure_from_cartesian, radial_normalization
from orbitile.model.core_potentials import settled_charges
from orbitile.model.geometry import Geometry
from orbitile.model.units import debye
from orbitile.scf.calculation import Calculation
from orbitile.scf.engines import xtb

FILES = Path(__file__).parent / "xtb"


@pytest.mark.parametrize(
    ("name", "homo", "lumo", "dipole"),
    [("water", -0.4475113, 0.0826850, 2.292), ("hocl", -0.4289798, -0.2536769, 1.573)],
)
def test_energies_and_dipole_are_those_that_xtb_prints(name, homo, lumo, dipole):
    w = ob.load(FILES / f"{name}.molden.input")
    energies, n = w.alpha.energies, round(w.n_electrons / 2)
    assert energies[n - 1 : n + 1] == pytest.approx([homo, lumo], abs=1e-7)
    assert w.charge == pytest.approx(0)
    found = np.linalg.norm(analytic_moments(w, density_of(w)).dipole) / debye
    assert found == pytest.approx(dipole, abs=1e-3)
    assert any("charges of the valence" in remark for remark in w.remarks)


@pytest.mark.parametrize(("electrons", "charge"), [(8, 0), (7, 1), (10, -2)])
def test_valence_is_no_matter_of_the_charge(electrons, charge):
    """The electrons of a dianion of the valence are as many as those of the whole neutral molecule."""
    numbers = np.array([8, 1, 1])
    charges, remarks = settled_charges(numbers, [numbers], electrons, coreless=True)
    assert charges.sum() - electrons == charge
    assert len(remarks) == 1
    stated, none = settled_charges(numbers, [np.array([6, 1, 1]), numbers], electrons, coreless=True)
    assert np.array_equal(stated, charges)
    assert not none


def test_the_molden_file_of_tblite(tmp_path):
    """Written by its rules: norms of primitives are those of xx, for xy too: it has coefficients times sqrt(3)."""
    pytest.importorskip("tblite")
    places = np.array([[0, 0, 0], [1.5, 2.1, 2.2], [3.0, 1.0, 2.7]])
    w = xtb.solve(Geometry(np.array([17, 8, 1]), places), Calculation("gfn2", charge=1, unpaired=1)).wavefunction
    lines = ["[Molden Format]", "[Title]", "tblite version 0.8.0", "[Atoms] AU"]
    for n, (symbol, number, place) in enumerate(zip(("Cl", "O", "H"), (17, 8, 1), places, strict=True), 1):
        lines.append(f"{symbol} {n} {number} " + " ".join(map(str, place)))
    lines += ["[Core]", "Cl : 10", "O  : 2", "H  : 0", "[Pseudo]", "Cl 1 7", "O 2 6", "H 3 1"]
    lines += ["[Nval]", "Cl 7", "O 6", "H 1", "[GTO]"]
    rows, start = [], 0
    for atom in range(3):
        lines.append(f"{atom + 1} 0")
        for shell in (shell for shell in w.shells if shell.atom == atom):
            l = shell.angular_momentum
            norms = radial_normalization(shell.exponents, l) * angular_normalization((l, 0, 0))
            lines.append(f"{'spd'[l]} {len(norms)} 1.00")
            values = np.column_stack([shell.exponents, shell.coefficients * norms]).tolist()
            lines += [f"{exponent!r} {coefficient!r}" for exponent, coefficient in values]
            ours = w.alpha.coefficients[start : start + 2 * l + 1]
            if l == 2:  # ours: xx xy xz yy yz zz
                ours = (pure_from_cartesian(2).T @ ours)[[0, 3, 5, 1, 2, 4]] * np.sqrt([1, 1, 1, 3, 3, 3])[:, None]
            rows += list(ours)
            start += 2 * l + 1
        lines.append("")
    lines += ["[6D]", "[MO]"]
    for spin, least in (("Alpha", 0.5), ("Beta", 1.5)):
        for n, (energy, occupation) in enumerate(zip(w.alpha.energies, w.alpha.occupations, strict=True)):
            held = float(occupation > least)
            lines += [f"Sym= {n + 1}a ({spin.lower()})", f"Ene= {energy}", f"Spin= {spin}", f"Occup= {held}"]
            lines += [f"{k} {row[n]:.16e}" for k, row in enumerate(rows, 1)]
    path = tmp_path / "tblite.molden"
    path.write_text("\n".join(lines) + "\n")
    found = ob.load(path)
    assert "tblite" in found.program
    assert (found.charge, found.core_charges.tolist(), found.remarks) == (1, [7, 6, 1], ())
    points = np.random.default_rng(0).normal(size=(20, 3)) * 2 + 1
    for name in ("homo", "lumo"):
        one, other = (np.abs(ob.evaluate(which, name, points, precision="double")) for which in (w, found))
        assert one == pytest.approx(other, abs=1e-9)
