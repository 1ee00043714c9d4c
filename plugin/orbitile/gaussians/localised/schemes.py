"""What orbitals can be localised by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Scheme = Literal["ibo", "pm", "pm_iao", "boys"]

SCHEMES: Mapping[Scheme, str] = {
    "ibo": "Intrinsic bond orbitals",
    "pm": "Pipek-Mezey orbitals by Löwdin populations",
    "pm_iao": "Pipek-Mezey orbitals by intrinsic populations",
    "boys": "Foster-Boys orbitals",
}
"""All schemes, each with the title of its orbitals."""

INTRINSIC: tuple[Scheme, ...] = ("ibo", "pm_iao")
"""Those on intrinsic atomic orbitals."""
