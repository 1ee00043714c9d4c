"""Hybrid functionals: sums of exact exchange and of formulas that stand in other files.

B3LYP (P. J. Stephens, F. J. Devlin, C. F. Chabalowski and M. J. Frisch, J. Phys. Chem. 1994, 98, 11623) as Gaussian and
PySCF have it, and `b3lyp5` with formula V of Vosko, Wilk and Nusair; PBE0 (C. Adamo and V. Barone, J. Chem. Phys. 1999,
110, 6158); CAM-B3LYP (T. Yanai, D. P. Tew and N. C. Handy, Chem. Phys. Lett. 2004, 393, 51); half and half (A. D.
Becke, J. Chem. Phys. 1993, 98, 1372).
"""

_B3 = "0.2*hf+0.08*slater+0.72*b88"

COMPOUND = {
    "b3lyp": f"{_B3},0.81*lyp+0.19*vwn_rpa",
    "b3lypg": f"{_B3},0.81*lyp+0.19*vwn_rpa",
    "b3lyp5": f"{_B3},0.81*lyp+0.19*vwn",
    "bhandhlyp": "0.5*hf+0.5*b88,lyp",
    "camb3lyp": "0.19*hf+0.46*lr_hf(0.33)+0.35*b88+0.46*sr_b88(0.33),0.81*lyp+0.19*vwn",
    "pbe0": "0.25*hf+0.75*pbe,pbe",
    "pbeh": "0.25*hf+0.75*pbe,pbe",
    "pbe1pbe": "0.25*hf+0.75*pbe,pbe",
}
