"""Dielectric constants of solvents, by their names.

Static relative permittivities at 298 K, from the Minnesota solvent descriptor database (P. Winget, D. M. Dolney, D. J.
Giesen, C. J. Cramer, D. G. Truhlar, University of Minnesota, 1999); that of water is 78.3553.
"""

from __future__ import annotations

import math
import re
from difflib import get_close_matches

from ..base.errors import OrbitileError

_CONSTANTS = {
    "acetic acid": 6.2528,
    "acetone": 20.493,
    "acetonitrile": 35.688,
    "aniline": 6.8882,
    "anisole": 4.2247,
    "benzene": 2.2706,
    "benzonitrile": 25.592,
    "1-butanol": 17.332,
    "butanone": 18.246,
    "carbon disulfide": 2.6105,
    "carbon tetrachloride": 2.228,
    "chlorobenzene": 5.6968,
    "chloroform": 4.7113,
    "cyclohexane": 2.0165,
    "decane": 1.9846,
    "1,2-dichloroethane": 10.125,
    "dichloromethane": 8.93,
    "diethyl ether": 4.24,
    "dimethylacetamide": 37.781,
    "dimethylformamide": 37.219,
    "dimethyl sulfoxide": 46.826,
    "1,4-dioxane": 2.2099,
    "ethanol": 24.852,
    "ethyl acetate": 5.9867,
    "1,2-ethanediol": 40.245,
    "fluorobenzene": 5.42,
    "formamide": 108.94,
    "formic acid": 51.1,
    "heptane": 1.9113,
    "hexadecane": 2.0402,
    "hexane": 1.8819,
    "methanol": 32.613,
    "methyl acetate": 6.8615,
    "nitrobenzene": 34.809,
    "nitromethane": 36.562,
    "octane": 1.9406,
    "1-octanol": 9.8629,
    "pentane": 1.8371,
    "1-propanol": 20.524,
    "2-propanol": 19.264,
    "pyridine": 12.978,
    "sulfolane": 43.962,
    "tert-butanol": 12.47,
    "tetrahydrofuran": 7.4257,
    "thiophene": 2.727,
    "toluene": 2.3741,
    "trichloroethene": 3.422,
    "triethylamine": 2.3832,
    "2,2,2-trifluoroethanol": 26.726,
    "water": 78.3553,
    "m-xylene": 2.3478,
    "o-xylene": 2.5454,
    "p-xylene": 2.2705,
}

_OTHER_NAMES = {
    "ccl4": "carbon tetrachloride",
    "chcl3": "chloroform",
    "ch2cl2": "dichloromethane",
    "cs2": "carbon disulfide",
    "dce": "1,2-dichloroethane",
    "dcm": "dichloromethane",
    "dioxane": "1,4-dioxane",
    "dma": "dimethylacetamide",
    "dmf": "dimethylformamide",
    "dmso": "dimethyl sulfoxide",
    "ether": "diethyl ether",
    "ethylene glycol": "1,2-ethanediol",
    "h2o": "water",
    "isopropanol": "2-propanol",
    "mecn": "acetonitrile",
    "meoh": "methanol",
    "etoh": "ethanol",
    "octanol": "1-octanol",
    "thf": "tetrahydrofuran",
}


def dielectric_constant(solvent: str) -> float:
    """Static dielectric constant of a solvent, relative to vacuum.

    Parameters
    ----------
    solvent
        Its name, in which capitals, spaces and hyphens do not count, or the constant itself, "78.4".

    Raises
    ------
    OrbitileError
        When the name is not known, or the constant is not above 1.
    """
    try:
        constant = float(solvent)
    except ValueError:
        return _CONSTANTS[_known(solvent)]
    if not (math.isfinite(constant) and constant > 1):
        raise OrbitileError(f"solvent: expected a dielectric constant above 1 (1 is vacuum), got {solvent}")
    return constant


def full_name(solvent: str) -> str:
    """The name by which a solvent is known here; nothing where its dielectric constant stands in its place.

    Raises
    ------
    OrbitileError
        When the name is not known.
    """
    try:
        float(solvent)
    except ValueError:
        return _known(solvent)
    return ""


def _known(name: str) -> str:
    known = {_short(full): full for full in _CONSTANTS} | {_short(one): full for one, full in _OTHER_NAMES.items()}
    short = _short(name)
    if short in known:
        return known[short]
    close = dict.fromkeys(known[name] for name in get_close_matches(short, known, 3))
    hint = f"did you mean {', '.join(close)}? Otherwise give" if close else "give"
    raise OrbitileError(f"solvent {name!r}: no dielectric constant is known for it; {hint} its dielectric constant")


def _short(name: str) -> str:
    """A name as it is looked for: "n-Hexane" and "hexane" are the same, and so are "1-octanol" and "1 octanol"."""
    return re.sub("[-_ ]", "", re.sub("^n-", "", name.strip().lower()))
