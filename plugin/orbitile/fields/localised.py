"""Localised orbitals: `ibo:12`, `ibo:12:beta`, `pm:3`, `pm_iao:3`, `boys:3`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..base.caches import Derived
from ..base.errors import FieldError
from ..gaussians.localised.localisation import SCHEMES, Scheme, count_of, localised, why_not
from ..model.wavefunction import Spin, Wavefunction
from . import References
from .orbital import TransformedOrbital, name_in_family, of_spin, size_of, spin_of

PRIORITY = 95
GROUP = "Localised orbitals"
NAMES = (
    ("ibo:N", "Intrinsic bond orbital N: bonds and lone pairs as chemists draw them, occupied ones first"),
    ("ibo:N:alpha", "The same, of one spin (:alpha or :beta, also of those below)"),
    ("pm:N", "Pipek-Mezey orbital N: on as few atoms as possible, by Löwdin populations"),
    ("pm_iao:N", "Pipek-Mezey orbital N by the populations of intrinsic atomic orbitals"),
    ("boys:N", "Foster-Boys orbital N: smallest spread; double bonds become two bent bonds"),
)

_NAME = re.compile(rf"({'|'.join(SCHEMES)}):(\d{{1,18}})(?::(a|alpha|b|beta))?")

_SHORT = {"ibo": "IBO", "pm": "Pipek-Mezey orbital", "pm_iao": "Pipek-Mezey orbital", "boys": "Boys orbital"}


@dataclass(frozen=True, eq=False, kw_only=True)
class LocalisedOrbital(TransformedOrbital):
    """A localised orbital: its family is the scheme of the localisation."""

    family: Scheme

    def neighbour(self, step: int) -> str:
        """Name of the localised orbital some places further on; unoccupied ones follow the occupied ones.

        Raises
        ------
        FieldError
            When there is none so far on.
        """
        name = name_in_family(self.canonical, self.family, self.index + step, self.spin)
        _, total = count_of(self.canonical, self.family, self.spin)
        if not 0 <= self.index + step < total:
            raise FieldError(_none(self.canonical, self.family, self.spin, name))
        return name


_ORBITALS = Derived[LocalisedOrbital]("orbitals", size=size_of)
"""By name."""


def unavailable(wavefunction: Wavefunction) -> dict[str, str]:
    """Names of the schemes that a wavefunction cannot be localised by, each with the reason."""
    reasons = {scheme: why_not(wavefunction, scheme) for scheme in SCHEMES}
    missing = {name: reasons[scheme] for scheme in SCHEMES for name, _ in NAMES if name.partition(":")[0] == scheme}
    return {name: reason for name, reason in missing.items() if reason}


def resolve(wavefunction: Wavefunction, name: str, references: References) -> LocalisedOrbital | None:
    """The localised orbital that a name stands for, or None; see `localised_orbital`."""
    return localised_orbital(wavefunction, name)


def localised_orbital(wavefunction: Wavefunction, name: str) -> LocalisedOrbital | None:
    """The localised orbital that a name stands for, or None for a name that is not one of such an orbital.

    Without a spin the alpha set is meant where there are two.

    Raises
    ------
    FieldError
        When there is no such orbital.
    OrbitileError
        When the wavefunction cannot be localised.
    """
    wanted = name.strip().lower()
    match = _NAME.fullmatch(wanted)
    if match is None:
        return None
    return _ORBITALS.of(wavefunction, wanted, lambda: _find(wavefunction, wanted, match))


def _find(wavefunction: Wavefunction, name: str, match: re.Match[str]) -> LocalisedOrbital:
    scheme = next(name for name in SCHEMES if name == match[1])
    spin = spin_of(match[3])
    index = int(match[2]) - 1
    occupied, total = count_of(wavefunction, scheme, spin)
    if not 0 <= index < total:
        raise FieldError(_none(wavefunction, scheme, spin, name))
    made = wavefunction
    if wavefunction.localised != scheme or index >= len(wavefunction.orbitals(spin)):  # else it is followed, as it is
        made = localised(wavefunction, scheme, "occupied" if index < occupied else "all")
    quantity = f"{_SHORT[scheme]} {index + 1}{of_spin(wavefunction, spin)}: {made.orbitals(spin).irreps[index]}"
    return LocalisedOrbital(made, spin, index, quantity, canonical=wavefunction, family=scheme)


def _none(wavefunction: Wavefunction, scheme: Scheme, spin: Spin, name: str) -> str:
    occupied, total = count_of(wavefunction, scheme, spin)
    return f"field {name!r}: there are orbitals 1 to {total}, of which 1 to {occupied} are occupied"
