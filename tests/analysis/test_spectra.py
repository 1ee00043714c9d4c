"""Spectra of vibrations: areas and shapes of bands, sticks that stand for modes, and measured curves beside them."""

import json

import numpy as np
import pytest
from scipy.integrate import trapezoid

import orbitile as ob
from orbitile.analysis.excitations import absorption
from orbitile.analysis.measured import read_measured
from orbitile.analysis.spectra import KINDS, SHAPES, band, broadened
from orbitile.base.errors import FileError, OrbitileError
from orbitile.model.units import electronvolt
from orbitile.model.vibrations import Vibrations, motion_of, positions_along

MODES = np.random.default_rng(1).normal(size=(3, 3, 3))


@pytest.fixture(scope="module")
def water():
    return Vibrations(
        atomic_numbers=np.array([8, 1, 1]),
        positions=np.array([[0, 0, 0.22], [0, 1.43, -0.89], [0, -1.43, -0.89]]),
        masses=np.array([15.999, 1.008, 1.008]),
        wavenumbers=np.array([-300.0, 1700.0, 3700.0]),
        displacements=MODES / np.linalg.norm(MODES, axis=(1, 2))[:, None, None],
        infrared=np.array([5.0, 70.0, 40.0]),
        rotatory=np.array([1.0, -2.0, 3.0]),
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_a_band_has_the_area_1_and_the_width_that_was_asked_for(shape):
    at = np.linspace(-4000, 4000, 400001)
    assert trapezoid(band(at, 10.0, shape), at) == pytest.approx(1, abs=2e-3)  # a Lorentzian ends far away
    half = band(np.array([0.0, 5.0]), 10.0, shape)
    assert half[1] / half[0] == pytest.approx(0.5, abs=1e-3)


def test_infrared_intensities_are_naperian_and_ultraviolet_bands_those_of_mulliken(water):
    """A of km/mol is ln 10 times the area of the decadic molar absorption; 1 km/mol is 100 L mol^-1 cm^-2."""
    report = ob.vibrations(water, shape="gaussian")
    (plot,) = (one for one in report.plots if one.name == "infrared")
    sticks, curve = plot.curves
    assert plot.x_range == (4000.0, 0.0)
    assert np.log(10) * trapezoid(curve.y, curve.x) / 100 == pytest.approx(110, rel=1e-3)  # without the imaginary one
    assert sticks.fields == ("mode:2", "mode:3")
    assert sticks.y[0] / sticks.y[1] == pytest.approx(70 / 40)
    energies, strengths, at = np.array([0.2, 0.25]), np.array([0.3, 0.1]), np.linspace(0.15, 0.3, 50)
    ours = broadened(
        energies / electronvolt,
        KINDS["uv"].area(energies / electronvolt, strengths),
        at / electronvolt,
        0.4,
        "gaussian",
    )
    np.testing.assert_allclose(ours, absorption(energies, strengths, at, 0.4 * electronvolt), rtol=1e-6)


def test_the_table_names_what_moves_and_a_transmittance_hangs_from_the_top(water):
    report = ob.vibrations(water, scale=0.5, infrared="transmittance")
    table = report.table("modes")
    np.testing.assert_allclose(table["wavenumber"], [-150, 850, 1850])
    shares = (water.displacements[1] ** 2).sum(axis=1) * water.masses
    first = ("O1", "H2", "H3")[int(np.argmax(shares))]
    assert table["atoms"][1].startswith(f"{first} {100 * shares.max() / shares.sum():.0f} %")
    sticks, curve = report.plots[0].curves
    assert curve.y.min() == pytest.approx(10, rel=1e-2)
    assert sticks.foot == 100
    assert [plot.name for plot in report.plots] == ["infrared", "vcd"]
    assert any("imaginary" in remark for remark in report.remarks)
    assert "Infinity" not in json.dumps(report.as_dictionary())


def test_a_period_of_a_mode_begins_and_ends_at_rest(water):
    places = positions_along(water, 2, 0.5, 8)
    np.testing.assert_allclose(places[[0, 4]], [water.positions] * 2, atol=1e-12)
    np.testing.assert_allclose(places[2] - water.positions, 0.5 * motion_of(water, 2))
    assert np.linalg.norm(places[2] - water.positions, axis=1).max() == pytest.approx(0.5)
    with pytest.raises(OrbitileError, match="from 1 to 3, got 4"):
        motion_of(water, 4)


def jcamp(values, first, last):
    """JCAMP-DX in its most compressed form: squeezed values, differences and repetitions, and a check in each line."""

    def digits(number, positive, negative):
        text = str(abs(number))
        return (negative[int(text[0]) - 1] if number < 0 else positive[int(text[0])]) + text[1:]

    def squeezed(number):
        return digits(number, "@ABCDEFGHI", "abcdefghi")

    lines, here = [], 0
    while here < len(values) - 1:
        end = min(here + 7, len(values) - 1)
        differences = np.diff(values[here : end + 1]).tolist()
        text, n = "", 0
        while n < len(differences):
            same = n
            while same + 1 < len(differences) and differences[same + 1] == differences[n]:
                same += 1
            text += digits(differences[n], "%JKLMNOPQR", "jklmnopqr")
            text += "_STUVWXYZ"[same - n + 1] if same > n else ""
            n = same + 1
        lines.append(f"{first + here * (last - first) / (len(values) - 1):.0f}{squeezed(values[here])}{text}")
        here = end
    head = {
        "TITLE": "a band",
        "JCAMP-DX": "4.24",
        "DATA TYPE": "INFRARED SPECTRUM",
        "XUNITS": "1/CM",
        "YUNITS": "TRANSMITTANCE",
        "XFACTOR": "1",
        "YFACTOR": "0.001",
        "FIRSTX": first,
        "LASTX": last,
        "NPOINTS": len(values),
        "XYDATA": "(X++(Y..Y))",
    }
    return "\n".join([*(f"##{name}={value}" for name, value in head.items()), *lines, "##END="]) + "\n"


def test_measured_spectra_are_absorptions_scaled_to_the_computed_curve(water, tmp_path):
    pytest.importorskip("jcamp", reason="jcamp (extra spectra) is not installed")
    at = np.arange(1600, 1801, 5)
    values = np.round(1000 - 900 * np.exp(-(((at - 1700) / 30) ** 2))).astype(int).tolist()
    file = tmp_path / "band.jdx"
    file.write_text(jcamp(values, 1600, 1800))
    found = read_measured(file)
    np.testing.assert_allclose(found.absorption, -np.log10(np.array(values) / 1000), atol=1e-9)
    np.testing.assert_allclose(found.positions, at)
    plot = ob.vibrations(water, files=[file]).plots[0]
    assert plot.curves[2].name == "band, measured"
    assert plot.curves[2].y.max() == pytest.approx(plot.curves[1].y.max())
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*lines[:-3], *lines[-2:]]))
    with pytest.raises(FileError, match="damaged"):
        read_measured(file)


def test_two_columns_are_read_with_decimal_commas_and_say_how_they_were_understood(tmp_path):
    file = tmp_path / "band.txt"
    file.write_text("cm-1;T\n" + "".join(f"{x},5;{98 - 90 * (x == 1700)},0\n" for x in range(4000, 500, -100)))
    found = read_measured(file)
    assert found.positions[0] == 600.5
    assert found.absorption.max() == pytest.approx(-np.log10(0.08))
    assert "transmittance" in found.remark
    file.write_text("nothing here\n")
    with pytest.raises(FileError, match="at least two points"):
        read_measured(file)
