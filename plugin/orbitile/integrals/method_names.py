"""Names of methods that ask for more than orbitals and a functional: refused wherever a method is named."""

from __future__ import annotations

import re

from ..base.errors import OrbitileError

_LIBXC = re.compile(r"(?:hyb_)?(?:lda|gga|mgga)_(?:x|c|xc|k)_\w+", re.IGNORECASE)
"""Names of libxc in full, which are functionals and nothing else."""

_DAMPING = r"(?:[-_]?\(?(?:bj|zero|0|op|mbj|m|2b|atm|abc|s)\)?)*"
_DISPERSION = re.compile(
    rf"(?P<name>.+?)(?P<correction>[-_+ ]\(?(?:g?d|g?d[2-4]|dftd[2-4]){_DAMPING}\)?|g?d[2-4]{_DAMPING}"
    r"|[-_+](?:ts|mbd|mbd@\w+|xdm|many-body|nl|disp\w*))"
)
_NAMED_AFTER = re.compile(r"(?:ro|u|r)?(?:(?:w?b97\w*-?d.*)|apf-?d|wb97xd)")
"""Functionals whose parameters were made to go with their correction, so that no other name is the same without it."""

_COMPOSITE = re.compile(r".+-?3c")
_DOUBLE_HYBRID = re.compile(
    r"(?:rev|x|d|s)*(?:dsd|dod)[-_].+|.*plyp.*|.*[-_](?:0?dh|qidh|cidh)|xyg.*|xdh.*|pwpb95.*|pbe0-2|wb97x-2.*|"
    r"wb97m\(2\)|wpbepp86|wb88pp86|b2pi.*|dldf\+d.*|sos\d.*"
)
_SOLVENT = re.compile(
    r".+?(?:[-_,;/ (]+(?:c?-?pcm|iefpcm|smd|cosmo|cosmo-rs|alpb|gbsa|ddcosmo|ddpcm|scrf|sm\d+)\b.*"
    r"|\((?!2\)|bj\)|zero\)).+\))"
)


def without_correction(name: str) -> str:
    """A method without its dispersion correction, on which orbitals do not depend; empty where it has none."""
    found = _DISPERSION.fullmatch(name.strip().lower())
    return "" if found is None else found["name"]


def check_name(name: str, what: str = "method") -> None:
    """Refuse a name that asks for a part of the energy or the surroundings that is not computed.

    Parameters
    ----------
    name
        A functional, or a method.
    what
        What is named so, for the message.

    Raises
    ------
    OrbitileError
        For a dispersion correction, a composite method (3c), a double hybrid, a solvent, or a basis set in the name.
    """
    short = name.strip().lower()
    if _LIBXC.fullmatch(short):
        return
    corrected = _DISPERSION.fullmatch(short)
    if _COMPOSITE.fullmatch(short):
        reason = "the corrections of a composite method (3c) are not computed; choose a functional such as pbe"
    elif _DOUBLE_HYBRID.fullmatch(short):
        reason = "the perturbation theory of a double hybrid is not computed; choose a functional such as b3lyp"
    elif corrected or _NAMED_AFTER.fullmatch(short):
        plain = "pbe or wb97x-v" if not corrected or _NAMED_AFTER.fullmatch(short) else corrected["name"]
        reason = (
            "a correction for dispersion is not computed, so energies and forces would lack it (orbitals do not depend "
            f"on it); choose a functional without, such as {plain}"
        )
    elif _SOLVENT.fullmatch(short):
        reason = "a solvent is not computed; expected the name of a method alone, for a molecule in vacuum"
    elif "/" in short and short[-2:] != "/g":
        reason = "expected the name of a method alone; the basis set is stated by itself"
    else:
        return
    raise OrbitileError(f"{what} {name!r}: {reason}")
