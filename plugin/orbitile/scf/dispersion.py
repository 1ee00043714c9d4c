"""Dispersion corrections, by the packages dftd3 and dftd4 (extra `orbitile[dispersion]`): energies and gradients.

D3 with damping as by Becke and Johnson (S. Grimme, S. Ehrlich, L. Goerigk, J. Comput. Chem. 2011, 32, 1456) or to zero
(S. Grimme, J. Antony, S. Ehrlich, H. Krieg, J. Chem. Phys. 2010, 132, 154104), both of pairs of atoms only, as is
usual; D4 with terms of three atoms and the charge of the molecule (E. Caldeweyher et al., J. Chem. Phys. 2019, 150,
154122).
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import numpy as np

from ..base.arrays import Reals
from ..base.errors import OrbitileError
from ..base.packages import required
from ..integrals.method_names import WITHOUT_VV10, split_name
from ..model.geometry import Geometry
from .calculation import Calculation, method_of

KINDS = {"d3bj": "D3(BJ)", "d3zero": "D3(0)", "d4": "D4"}

_FUNCTIONALS = (
    *("hf", "pbe", "blyp", "bp86", "revpbe", "rpbe", "pbesol", "pw91", "olyp", "opbe", "xlyp", "tpss", "revtpss"),
    *("scan", "rscan", "r2scan", "m06-l", "mn15-l", "mn12-l", "b3lyp", "b3lypg", "b3lyp5", "b3pw91", "b3p86", "x3lyp"),
    *("o3lyp", "b1lyp", "b1b95", "pbe0", "pbeh", "pbe1pbe", "revpbe0", "bhandhlyp", "tpssh", "tpss0", "revtpssh"),
    *("r2scanh", "r2scan0", "r2scan50", "cam-b3lyp", "lc-wpbe", "hse03", "hse06", "m05", "m05-2x", "m06", "m06-2x"),
    *("mn15", "mn12-sx", "n12-sx", "pw6b95", "pwb6k", "mpw1b95", "mpwb1k"),
    *("gga_xc_b97_d", "hyb_gga_xc_wb97x_d3", *(f"{name}_v{WITHOUT_VV10}" for name in ("wb97x", "wb97m", "b97m"))),
)
"""Functionals, as we name them, whose parameters are asked for: a name may be that of another functional there."""

_THEIR_NAMES = {"bp86": "bp", "bhandhlyp": "bhlyp", "pbeh": "pbe0", "pbe1pbe": "pbe0", "b3lypg": "b3lyp"}
_THEIR_NAMES |= {"b3lyp5": "b3lyp", "gga_xc_b97_d": "b97d", "hyb_gga_xc_wb97x_d3": "wb97x"}
_THEIR_NAMES |= {f"{name}_v{WITHOUT_VV10}": name for name in ("wb97x", "wb97m", "b97m")}


@dataclass(frozen=True)
class Correction:
    """A dispersion correction.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    functional : str
        Whose parameters are used, by its name in dftd3 and dftd4.
    """

    kind: str
    functional: str

    def energy(self, geometry: Geometry, charge: int) -> float:
        """Energy in hartree.

        Raises
        ------
        OrbitileError
            When there are no parameters for an element.
        """
        return float(self._computed(geometry, charge, grad=False)["energy"])

    def gradient(self, geometry: Geometry, charge: int) -> Reals:
        """Derivatives of the energy with respect to the positions, shape (n_atoms, 3), in hartree/bohr."""
        gradient = np.zeros_like(geometry.positions)
        gradient[geometry.atomic_numbers > 0] = self._computed(geometry, charge, grad=True)["gradient"]
        return gradient

    def _computed(self, geometry: Geometry, charge: int, *, grad: bool) -> dict[str, Any]:
        atoms = geometry.atomic_numbers > 0  # ghosts have no dispersion
        what: dict[str, Any] = {"numbers": geometry.atomic_numbers[atoms], "positions": geometry.positions[atoms]}
        if self.kind == "d4":
            what["charge"] = float(charge)
        try:
            model = _interface(self.kind).DispersionModel(**what)
            return model.get_dispersion(_damping(self.kind, self.functional), grad=grad)
        except RuntimeError as error:
            raise OrbitileError(f"{KINDS[self.kind]} cannot be computed for these atoms: {error}") from error


def correction_of(calculation: Calculation) -> Correction | None:
    """The dispersion correction of a calculation, None where its method has none.

    Raises
    ------
    OrbitileError
        When the package is missing, or has no parameters for the functional.
    """
    plain, asked = split_name(calculation.method)
    if not asked:
        return None
    kinds = ("d3bj", "d3zero") if asked == "d3" else (asked,)
    _interface(kinds[0])
    _, name = method_of(replace(calculation, method=plain), _known) or ("", "")
    for kind in kinds:
        if name and _has(kind, name):
            return Correction(kind, _their_name(name))
    other = [f"{plain}-{kind}" for kind in KINDS if name and _has(kind, name)]
    close = get_close_matches(plain.lower(), [name for name in _FUNCTIONALS if _has(kinds[0], name)], 3)
    hint = other or [f"{name}-{kinds[0]}" for name in close or ("pbe", "b3lyp")]
    raise OrbitileError(
        f"method {calculation.method!r}: there are no parameters of {KINDS[kinds[0]]} for {plain}; choose {plain} "
        f"without, or for example {', '.join(hint)}"
    )


def _known(name: str) -> str:
    """The functional of a name, however it is hyphenated; empty where it is none whose parameters are asked for."""
    short = re.sub("[-_]", "", name)
    return next((name for name in _FUNCTIONALS if re.sub("[-_]", "", name) == short), "")


def _their_name(functional: str) -> str:
    return _THEIR_NAMES.get(functional, functional.replace("-", ""))


def _has(kind: str, functional: str) -> bool:
    with suppress(RuntimeError, OrbitileError):  # no such functional; the other package is missing
        _damping(kind, _their_name(functional))
        return True
    return False


def _damping(kind: str, functional: str) -> Any:
    interface = _interface(kind)
    if kind == "d4":
        return interface.DampingParam(method=functional, atm=True)
    damping = interface.RationalDampingParam if kind == "d3bj" else interface.ZeroDampingParam
    return damping(method=functional, atm=False)


def _interface(kind: str) -> Any:
    """The package that computes a kind of correction.

    Raises
    ------
    OrbitileError
        When it is missing.
    """
    package = "dftd4" if kind == "d4" else "dftd3"
    what = f"the dispersion correction {KINDS[kind]} needs the package {package}"
    return required(f"{package}.interface", OrbitileError, what, package)
