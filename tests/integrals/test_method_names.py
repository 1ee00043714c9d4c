"""Names of methods that ask for what is not computed, at every door where a method is named."""

import pytest

import orbitile as ob
from orbitile.base.errors import OrbitileError
from orbitile.integrals.functionals import functional
from orbitile.integrals.method_names import check_name, split_name

REFUSED = {
    "dispersion": "pbe-ts pbe-mbd pbe-xdm b3lyp-nl b3lyp-d b3lyp-gd2 pbe-d2 pbe-d3m(bj) pbe-d3(bj)-abc pbe-d3op b97-d "
    "b97d wb97x-d wb97xd uwb97xd wb97x-v-d3bj hyb_gga_xc_wb97x_d3-d3bj apfd ub97-d b97-d4",
    "composite": "b97-3c r2scan-3c hf-3c PBEh-3c",
    "double hybrid": "b2plyp b2-plyp dsd-pbep86 revdsd-pbep86-d4 xyg3 pbe0-dh wb97x-2 mpw2plyp pwpb95 b2plyp-d3",
    "solvent": "b3lyp-cpcm pbe(water) hf/pcm b3lyp_smd pbe,cosmo",
    "basis set": "pbe/def2-svp b3lyp/6-31g*",
}
CORRECTED = {
    "pbe-d3": ("pbe", "d3"),
    "PBE-D3(BJ)": ("PBE", "d3bj"),
    "rob3lyp-gd3bj": ("rob3lyp", "d3bj"),
    "b3lyp-gd3": ("b3lyp", "d3zero"),
    "b3lypd3": ("b3lyp", "d3"),
    "pbe+d3": ("pbe", "d3"),
    "pw6b95d3": ("pw6b95", "d3"),
    "b3lyp_d3": ("b3lyp", "d3"),
    "m06-2x-d3zero": ("m06-2x", "d3zero"),
    "m06-2x-d3(0)": ("m06-2x", "d3zero"),
    "cam-b3lyp-d4": ("cam-b3lyp", "d4"),
    "wB97X-D3": ("hyb_gga_xc_wb97x_d3", "d3zero"),
    "uwb97m-d3(bj)": ("uwb97m_v without vv10", "d3bj"),
    "b97-d3(bj)": ("gga_xc_b97_d", "d3bj"),
}
TAKEN = """
    hf uhf rohf pbe b3lyp b3lyp/g wb97x-v wb97m-v lda,vwn ,pw b97-1 b97-3 m06-2x m11-l cam-b3lyp hse06 rpbe revpbe scan
    r2scan sogga11-x mn15-l vv10 gga_xc_b97_d HYB_GGA_XC_WB97X_D .2*hf+.8*b88,lyp bp86 edf1 pbe0 rob3lyp lc_wpbe n12-sx
    ugga_xc_b97_d
"""


@pytest.mark.parametrize(("reason", "name"), [(why, name) for why, names in REFUSED.items() for name in names.split()])
def test_what_would_be_missing_is_refused(reason, name):
    with pytest.raises(OrbitileError, match=reason) as caught:
        check_name(name)
    assert repr(name) in str(caught.value)
    with pytest.raises(OrbitileError, match=reason):
        ob.Calculation(name)
    with pytest.raises(OrbitileError, match=reason):
        functional(name)


@pytest.mark.parametrize(("name", "parts"), CORRECTED.items())
def test_corrections_for_dispersion_are_parts_of_methods_but_not_of_functionals(name, parts):
    assert split_name(name) == parts
    assert ob.Calculation(name).method == name
    with pytest.raises(OrbitileError, match=f"dispersion is no part of a functional .*; expected {parts[0]}"):
        functional(name)


@pytest.mark.parametrize("name", TAKEN.split())
def test_other_names_are_taken(name):
    check_name(name)
    assert split_name(name) == (name, "")
