"""Names of methods: what they ask for beside a functional, which is a dispersion correction, or is refused."""

from __future__ import annotations

import re

from ..base.errors import OrbitileError

_LIBXC = re.compile(r"(?:ro|u|r)?(?:hyb_)?(?:lda|gga|mgga)_(?:x|c|xc|k)_\w+", re.IGNORECASE)
"""Names of libxc in full, which are functionals and nothing else."""

_DAMPING = r"(?:[-_]?\(?(?:bj|zero|0|op|mbj|m|2b|atm|abc|s)\)?)*"
_DISPERSION = re.compile(
    rf"(?P<name>.+?)(?P<correction>[-_+ ]\(?(?:g?d|g?d[2-4]|dftd[2-4]){_DAMPING}\)?|g?d[2-4]{_DAMPING}"
    r"|[-_+](?:ts|mbd|mbd@\w+|xdm|many-body|nl|disp\w*))"
)
_CORRECTIONS = {"d3": "d3", "d3bj": "d3bj", "gd3bj": "d3bj", "d3zero": "d3zero", "d30": "d3zero", "gd3": "d3zero"}
_CORRECTIONS |= {"dftd3": "d3", "dftd3bj": "d3bj", "dftd4": "d4", "d4": "d4"}
"""Corrections that are computed, by their names without signs between; Gaussian's GD3 is zero damping."""

WITHOUT_VV10 = " without vv10"
"""Ends the name of a functional whose nonlocal correlation is left out."""

_FITTED = {
    "b97-d3": ("gga_xc_b97_d", "d3"),
    "b97-d3bj": ("gga_xc_b97_d", "d3bj"),
    "b97m-d3bj": (f"b97m_v{WITHOUT_VV10}", "d3bj"),
    "b97m-d4": (f"b97m_v{WITHOUT_VV10}", "d4"),
    "wb97m-d3bj": (f"wb97m_v{WITHOUT_VV10}", "d3bj"),
    "wb97m-d4": (f"wb97m_v{WITHOUT_VV10}", "d4"),
    "wb97x-d3": ("hyb_gga_xc_wb97x_d3", "d3zero"),
    "wb97x-d3bj": (f"wb97x_v{WITHOUT_VV10}", "d3bj"),
    "wb97x-d4": (f"wb97x_v{WITHOUT_VV10}", "d4"),
}
"""Functionals that were fitted with their correction, or whose correction was fitted to take the place of another one:
B97-D3 (S. Grimme, S. Ehrlich, L. Goerigk, J. Comput. Chem. 2011, 32, 1456), omega-B97X-D3 (Y.-S. Lin et al., J. Chem.
Theory Comput. 2013, 9, 263), the others (A. Najibi, L. Goerigk, J. Chem. Theory Comput. 2018, 14, 5725; J. Comput.
Chem. 2020, 41, 2562)."""

_NAMED_AFTER = re.compile(
    r"(?:ro|u|r)?(?:(?:w?b97\w*-?d.*)|w?b97[mx]?[-_][vr].*-g?d.+|(?:hyb_)?m?gga_xc?_.+|apf-?d|wb97xd)"
)
"""Names that are those of other functionals without the correction, or of none."""

_COMPOSITE = re.compile(r".+-?3c")
_DOUBLE_HYBRID = re.compile(
    r"(?:rev|x|d|s)*(?:dsd|dod)[-_].+|.*plyp.*|.*[-_](?:0?dh|qidh|cidh)|xyg.*|xdh.*|pwpb95.*|pbe0-2|wb97x-2.*|"
    r"wb97m\(2\)|wpbepp86|wb88pp86|b2pi.*|dldf\+d.*|sos\d.*"
)
_SOLVENT = re.compile(
    r".+?(?:[-_,;/ (]+(?:c?-?pcm|iefpcm|smd|cosmo|cosmo-rs|alpb|gbsa|ddcosmo|ddpcm|scrf|sm\d+)\b.*"
    r"|\((?!2\)|bj\)|zero\)).+\))"
)


SEMIEMPIRICAL = ("gfn1", "gfn2", "gfn1-xtb", "gfn2-xtb")
"""Methods with functions and parameters of their own, by the names that they are asked for."""


def semiempirical(name: str) -> str:
    """GFN1-xTB or GFN2-xTB where that is the name of one of them, otherwise nothing."""
    short = name.strip().lower()
    return f"GFN{short[3]}-xTB" if short in SEMIEMPIRICAL else ""


def without_correction(name: str) -> str:
    """A method without its dispersion correction, on which orbitals do not depend; empty where it has none."""
    found = _DISPERSION.fullmatch(name.strip().lower())
    return "" if found is None else found["name"]


def split_name(name: str, what: str = "method") -> tuple[str, str]:
    """A method without its dispersion correction, and that correction.

    Parameters
    ----------
    name
        A method: "b3lyp-d3bj", "B3LYP-D3(BJ)", "pbe0-d4", or one without a correction.
    what
        What is named so, for the message.

    Returns
    -------
    tuple
        The method as it is written, or the functional that it stands for; and "d3bj" (damped as by Becke and Johnson),
        "d3zero" (damped to zero), "d3" (the former where the functional has parameters for it, otherwise the latter),
        "d4", or nothing.

    Raises
    ------
    OrbitileError
        For a name that asks for a part of the energy or the surroundings that is not computed: another dispersion
        correction, a composite method (3c), a double hybrid, a solvent, or a basis set in the name.
    """
    short = name.strip().lower()
    if _LIBXC.fullmatch(short):
        return name, ""
    corrected = _DISPERSION.fullmatch(short)
    for kind in ("", "ro", "u", "r"):
        fitted = _FITTED.get(re.sub("[()]", "", short).removeprefix(kind))
        if fitted and short.startswith(kind):
            return kind + fitted[0], fitted[1]
    if _COMPOSITE.fullmatch(short):
        reason = "the corrections of a composite method (3c) are not computed; choose a functional such as pbe"
    elif _DOUBLE_HYBRID.fullmatch(short):
        reason = "the perturbation theory of a double hybrid is not computed; choose a functional such as b3lyp"
    elif _NAMED_AFTER.fullmatch(short):
        reason = (
            "this functional was made together with another correction for dispersion, which is not computed; choose "
            "one such as wb97x-d3bj or b3lyp-d3bj"
        )
    elif corrected:
        correction = _CORRECTIONS.get(re.sub("[^a-z0-9]", "", corrected["correction"]))
        if correction:
            return name.strip()[: len(corrected["name"])], correction
        plain = corrected["name"]
        choice = ", ".join(f"{plain}-{correction}" for correction in ("d3bj", "d3zero", "d4"))
        reason = f"this correction for dispersion is not computed; choose {choice}, or {plain} without"
    elif _SOLVENT.fullmatch(short):
        reason = "expected the name of a method alone; a solvent is stated by itself (--solvent, solvent=)"
    elif "/" in short and short[-2:] != "/g":
        reason = "expected the name of a method alone; the basis set is stated by itself"
    else:
        return name, ""
    raise OrbitileError(f"{what} {name!r}: {reason}")


def check_name(name: str, what: str = "functional") -> None:
    """Refuse a name that is more than that of a functional: as `split_name`, and a dispersion correction.

    Raises
    ------
    OrbitileError
    """
    plain, correction = split_name(name, what)
    if correction:
        raise OrbitileError(
            f"{what} {name!r}: a correction for dispersion is no part of a functional of the density; expected {plain}"
        )
