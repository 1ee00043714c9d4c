"""Excited states and shieldings in the layouts of several programs."""

import numpy as np
import pytest

import orbitile as ob
from orbitile.base.errors import FileError

COORDINATES = """CARTESIAN COORDINATES (A.U.)
----------------------------
  NO LB      ZA    FRAG     MASS         X           Y           Z
   0 O     8.0000    0    15.999    0.000000    0.000000    0.225300
   1 H     1.0000    0     1.008    0.000000    1.442300   -0.901400
   2 H     1.0000    0     1.008    0.000000   -1.442300   -0.901400

INTERNAL COORDINATES (ANGSTROEM)
"""


def orca(version):
    """Two states of water, of which one is a triplet, twice: the first table is of an earlier geometry."""

    def table(heading, values):
        if version < 6:
            heads = "State Energy Wavelength fosc\n (cm-1) (nm)\n"
            rows = [f"   1  56460.4  177.1  {values[0]}", "   2  64525.5  155.0   spin forbidden (mult=3)"]
        else:
            heads = "Transition Energy Energy Wavelength\n (eV) (cm-1) (nm)\n"
            rows = [
                f"  0-1A1  ->  1-1B1    7.000173   56460.4   177.1   {values[0]}   0.00000",
                f"  0-1A1  ->  2-3B1    8.000115   64525.5   155.0   {values[1]}   0.00000",
            ]
        line = "-" * 70
        return f"{line}\n        {heading}        \n{line}\n{heads}{line}\n" + "\n".join(rows) + "\n\n"

    absorption = "ABSORPTION SPECTRUM VIA TRANSITION ELECTRIC DIPOLE MOMENTS"
    circular = "CD SPECTRUM" if version < 6 else "CD SPECTRUM VIA TRANSITION ELECTRIC DIPOLE MOMENTS"
    return (
        "                                 * O   R   C   A *\n\n"
        + COORDINATES
        + table(absorption, ("0.900000000", "0.0"))
        + table(absorption, ("0.012500000", "0.0"))
        + table("ABSORPTION SPECTRUM VIA TRANSITION VELOCITY DIPOLE MOMENTS", ("0.500000000", "0.0"))
        + table(circular, ("-1.25000", "0.0"))
    )


@pytest.mark.parametrize("version", [5, 6])
def test_excited_states_of_orca(version, tmp_path):
    file = tmp_path / "water.out"
    file.write_text(orca(version))
    uv, ecd = ob.load_spectra(file)
    assert (uv.kind, ecd.kind) == ("uv", "ecd")
    np.testing.assert_allclose(uv.positions, [7.000173, 8.000115], atol=1e-4)
    np.testing.assert_array_equal(uv.strengths, [0.0125, 0])
    np.testing.assert_array_equal(ecd.strengths, [-1.25, 0])
    assert uv.labels == (() if version < 6 else ("1B1", "3B1"))
    np.testing.assert_allclose(uv.geometry.positions[0], [0, 0, 0.2253], atol=1e-6)


SHIELDINGS = {
    "orca": "                 * O   R   C   A *\n\n" + COORDINATES + """
CHEMICAL SHIELDING SUMMARY (ppm)
--------------------------------
  Nucleus  Element    Isotropic     Anisotropy
      0       O          321.250         50.100
      2       H           31.500         18.000
      1       H           30.500         19.000
""",
    "gaussian": """ SCF GIAO Magnetic shielding tensor (ppm):
      1  O    Isotropic =   321.2500   Anisotropy =    50.1000
   XX=   350.0000   YX=     0.0000   ZX=     0.0000
      2  H    Isotropic =    30.5000   Anisotropy =    19.0000
      3  H    Isotropic =    31.5000   Anisotropy =    18.0000
""",
    "turbomole": """ATOM  o    1      ISOTROPIC:      321.2500000       ANISOTROPIC:       50.1000000
ATOM  h    2      ISOTROPIC:       30.5000000       ANISOTROPIC:       19.0000000
ATOM  h    3      ISOTROPIC:       31.5000000       ANISOTROPIC:       18.0000000
""",
}  # fmt: skip


@pytest.mark.parametrize("program", SHIELDINGS)
def test_shieldings_of_nuclei(program, tmp_path):
    file = tmp_path / "water.out"
    file.write_text(SHIELDINGS[program])
    hydrogens, oxygen = ob.load_spectra(file)
    assert (hydrogens.kind, hydrogens.labels, oxygen.labels) == ("nmr:H", ("H2", "H3"), ("O1",))
    np.testing.assert_array_equal(hydrogens.positions, [30.5, 31.5])
    assert oxygen.positions[0] == 321.25


def test_a_file_that_is_no_text_has_none(tmp_path):
    (tmp_path / "region.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(range(256)) * 100)
    with pytest.raises(FileError, match="it is no text"):
        ob.load_spectra(tmp_path / "region.h5")
