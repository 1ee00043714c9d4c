"""Words that people read, wherever they are asked or told: what there is, what is the default, what went wrong."""

from __future__ import annotations

import re

from ..base.arguments import alternatives
from ..base.errors import OrbitileError
from ..model.lattice import QUALITIES
from ..model.units import angstrom
from ..surfaces.isovalue import SHARE


def plain_fields() -> list[str]:
    """Names of fields that are complete as they stand: without a number, a spin or a file."""
    from ..fields import field_names  # which the help of a command need not wait for

    return [name for name, _ in field_names() if name.isalpha()]


def quality_spacings() -> str:
    """Spacings of the lattices of all qualities, in Angstrom."""
    return alternatives([f"{spacing / angstrom:g}" for spacing in QUALITIES.values()])


def share_in_words(share: float = SHARE) -> str:
    """A share that a surface encloses, as it is written: 90 %."""
    return f"{100 * share:g} %"


DEFAULT_ISOVALUE = f"the default of the field; for an orbital, the one that encloses {share_in_words()} of its density"
"""Which isovalue a surface has where none is given."""


_RAISED = str.maketrans("0123456789+-/", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ᐟ")


def unit_in_print(unit: str) -> str:
    """A unit with its exponents raised, as it is printed: bohr^-3/2 as bohr⁻³ᐟ²."""
    return re.sub(r"\^([-+0-9/]+)", lambda found: found[1].translate(_RAISED), unit)


def of_error(error: Exception) -> str:
    """What to tell of an error."""
    text = str(error).strip() or type(error).__name__
    return text if isinstance(error, OrbitileError) else text.removeprefix("Error: ").strip()
