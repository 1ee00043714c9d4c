"""Several orbitals at once: as exact as each alone, whatever they share."""

import os
from dataclasses import replace

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import Cancelled, FieldError
from orbitile.commandline import main
from orbitile.fields.orbital import orbital_list
from tests.commandline.test_cli import BENZENE
from tests.conftest import SAMPLES, random_wavefunction
from tests.oracle import orbital

LIMIT = {"single": 2e-6, "double": 1e-12}


def lattices() -> list[ob.Lattice]:
    turned = np.array([[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
    return [
        ob.Lattice([-5.0, -5.5, -6.0], np.diag([0.7, 0.6, 0.5]), (15, 19, 23)),
        ob.Lattice([-2.0, -6.0, -5.0], turned * 0.5, (18, 17, 20)),
        ob.Lattice([-4.0, -4.0, -4.0], [[0.6, 0, 0], [0.1, 0.5, 0], [0.0, 0.2, 0.6]], (13, 14, 15)),
    ]


@pytest.mark.slow_on("vulkan")
@pytest.mark.parametrize("lattice", lattices(), ids=["orthogonal", "turned", "skewed"])
def test_each_is_as_exact_as_alone(device, precision, lattice):
    wavefunction = random_wavefunction(5, n_orbitals=5)
    # one orbital is small: its error is bounded by a share of its own largest value
    coefficients = wavefunction.alpha.coefficients * [1, 1e-3, 1, 30, 1]
    wavefunction = ob.Wavefunction(
        wavefunction.atomic_numbers,
        wavefunction.positions,
        wavefunction.shells,
        ob.Orbitals(coefficients, [2.0, 0, 0, 0, 0]),
    )
    names = [f"mo:{n + 1}" for n in range(5)]
    found = list(ob.compute_many(wavefunction, names, lattice, device=device, precision=precision))
    assert [volume.quantity for volume in found] == [f"orbital {n + 1}" for n in range(5)]
    for n, volume in enumerate(found):
        expected = orbital(wavefunction, n, lattice.points()).reshape(lattice.shape)
        assert np.abs(volume.values - expected).max() < LIMIT[precision] * np.abs(expected).max()


def test_groups_of_any_size_and_other_fields_between(monkeypatch, benzene):
    names = ["homo-2", "homo-1", "density", "homo", "lumo", "lumo+1", "esp"]
    lattice = ob.Lattice.around(benzene, 1.0, 2.5)
    monkeypatch.setattr("orbitile.evaluation.lattices._TOGETHER", 2 * lattice.n_points)
    shares: list[float] = []
    volumes = list(ob.compute_many(benzene, names, lattice, device="cpu", progress=shares.append))
    for name, volume in zip(names, volumes, strict=True):
        alone = ob.compute(benzene, name, lattice, device="cpu")
        assert volume.quantity == alone.quantity
        np.testing.assert_allclose(volume.values, alone.values, atol=2e-6)
    assert shares == sorted(shares)
    for share in (2 / 7, 3 / 7, 5 / 7, 6 / 7, 1):  # and others in between, where the machine is slow
        assert any(abs(told - share) < 1e-9 for told in shares)


def test_orbitals_that_cancel_are_summed_in_double_precision():
    """Beside an orbital that need not: nothing is shared then."""
    shells = [ob.Shell(0, 0, False, [0.05], [1.0]), ob.Shell(0, 0, False, [0.0501], [1.0])]
    orbitals = ob.Orbitals([[1000.0, 1.0], [-1000.0, 0.0]], [1.0, 0.0])
    wavefunction = ob.Wavefunction([1], [[0, 0, 0]], shells, orbitals)
    lattice = ob.Lattice.around(wavefunction, 0.5, 6.0)
    for n, volume in enumerate(ob.compute_many(wavefunction, ["mo:1", "mo:2"], lattice, device="cpu")):
        expected = orbital(wavefunction, n, lattice.points()).reshape(lattice.shape)
        assert np.abs(volume.values - expected).max() < 2e-6 * np.abs(expected).max()


def test_unknown_fields_are_refused_before_the_work_and_cancelling_stops(benzene):
    lattice = ob.Lattice.around(benzene, 1.0, 2.5)
    with pytest.raises(FieldError, match="homoo"):
        ob.compute_many(benzene, ["homo", "homoo"], lattice, device="cpu")
    stop: list[bool] = []
    volumes = ob.compute_many(benzene, ["homo", "esp"], lattice, device="cpu", cancelled=lambda: bool(stop))
    next(volumes)
    stop.append(True)
    with pytest.raises(Cancelled):
        next(volumes)


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("mo:3-5", [3, 4, 5]),
        ("mo:3..mo:5", [3, 4, 5]),
        ("homo-1..lumo", [20, 21, 22]),
        ("homo, mo:7", [21, 7]),
        ("mo:2,mo:1-3", [2, 1, 3]),
        ("homo-1", None),
        ("density:homo-1..homo", None),
        ("difference:a.molden,b.molden", None),
    ],
)
def test_lists_of_orbitals(text, numbers, benzene):
    found = orbital_list(benzene, text)
    assert (None if found is None else [one.index + 1 for one in found]) == numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("homo-1..lumo", [20, 22, 21]),
        ("mo:20-22", [20, 21, 22]),
        ("mo:20..mo:21", [20, 22, 21]),
    ],
)
def test_ranges_run_by_energy_or_by_number(text, numbers, benzene):
    """In a file that lists the LUMO before the HOMO."""
    order = np.arange(31)
    order[[20, 21]] = 21, 20
    old = benzene.alpha
    exchanged = replace(
        benzene, alpha=ob.Orbitals(old.coefficients[:, order], old.occupations[order], old.energies[order])
    )
    assert [one.index + 1 for one in orbital_list(exchanged, text)] == numbers
    points = exchanged.positions + 0.3
    both = ob.evaluate(exchanged, "density:homo-1..homo", points, device="cpu")
    np.testing.assert_allclose(both, ob.evaluate(benzene, "density:mo:20-21", points, device="cpu"), rtol=1e-5)


def test_one_orbital_of_two_names_comes_once(benzene):
    assert [one.name for one in orbital_list(benzene, "homo:alpha,mo:21,lumo:beta,homo:beta")] == ["mo:21", "mo:22"]
    two = replace(benzene, beta=benzene.alpha)
    found = orbital_list(two, "homo:alpha,lumo:beta,homo:beta,mo:21:beta")
    assert [one.name for one in found] == ["mo:21:alpha", "mo:22:beta", "mo:21:beta"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mo:5-3", "lower orbital first"),
        ("lumo..homo", "lower orbital first"),
        ("mo:30-40", "1 to 31"),
        ("homo,lumo+99", "lumo"),
    ],
)
def test_lists_that_cannot_be_met(text, words, benzene):
    with pytest.raises(FieldError, match=words):
        orbital_list(benzene, text)


def test_the_command_writes_a_file_for_each(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORBITILE_DEVICE", "cpu")
    assert main(["volume", BENZENE, "homo-1..lumo", "--quality", "coarse", "-o", "mo%03d.npz"]) == 0
    assert capsys.readouterr().out.split() == ["mo020.npz", "mo021.npz", "mo022.npz"]
    (homo,) = ob.load_volumes("mo021.npz")
    (lumo,) = ob.load_volumes("mo022.npz")
    assert homo.lattice.shape == lumo.lattice.shape
    expected = ob.evaluate(ob.load(BENZENE), "homo", homo.lattice.points(), device="cpu")
    assert np.abs(homo.values.ravel() - expected).max() < 1e-6
    edge = np.abs(np.concatenate([homo.values[[0, -1]].ravel(), lumo.values[:, [0, -1]].ravel()]))
    assert edge.max() < 0.03  # the lattice holds the surfaces of all
    for name in os.listdir("."):
        os.remove(name)
    assert main(["volume", BENZENE, "homo,lumo", "-o", "mo.npz"]) == 2
    assert "%d" in capsys.readouterr().err
    assert os.listdir(".") == []
    unrestricted = str(SAMPLES / "ch3_hf_sto3g.fchk")
    assert main(["volume", unrestricted, "mo:5:alpha,mo:5:beta", "-o", "mo%d.npz"]) == 2
    assert "one spin at a time" in capsys.readouterr().err
    assert main(["volume", BENZENE, "homo,lumo", "--isovalue", "0", "-o", "mo%d.npz"]) == 2
    assert "isovalue: expected a positive number" in capsys.readouterr().err
    assert os.listdir(".") == []
    assert main(["volume", BENZENE, "homo:alpha,homo:beta", "--spacing", "1", "-o", "mo%d.npz"]) == 0
    assert os.listdir(".") == ["mo21.npz"]
