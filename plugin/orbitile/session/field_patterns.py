"""Patterns of names of fields, as `mo:N:alpha`, taken apart into what a window can ask for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ..fields._frontier import frontier_order
from ..gaussians.localised.localisation import SCHEMES, count_of, why_not
from ..model.wavefunction import Wavefunction


@dataclass(frozen=True)
class Part:
    """A part of a pattern.

    Attributes
    ----------
    kind : str
        text, which stands as it is; number, file or choice, which are asked for.
    text : str
        As it stands in the pattern.
    options : tuple of str
        What a choice is made from.
    """

    kind: str
    text: str
    options: tuple[str, ...] = ()


_OPTIONS = {
    ":alpha": (":alpha", ":beta"),
    ":x": (":x", ":y", ":z"),
    ":xy": (":xx", ":yy", ":zz", ":xy", ":xz", ":yz"),
}
"""Endings of patterns that stand for one of several."""

_RANGE = "homo-2..homo"
"""What stands in a pattern for a range of orbitals."""

_ASKED = re.compile(r"(?<![A-Za-z])(?:(?P<file>FILE)|(?P<number>N))(?![A-Za-z])|(?P<choice>:alpha|:xy|:x)$")


def parts_of(pattern: str) -> tuple[Part, ...]:
    """The parts of a pattern, in their order: one text where the name is complete as it stands."""
    pattern = pattern.replace(_RANGE, "mo:N..mo:N")
    parts, at = [], 0
    for found in _ASKED.finditer(pattern):
        parts.append(Part("text", pattern[at : found.start()]))
        parts.append(Part(str(found.lastgroup), found[0], _OPTIONS.get(found[0], ())))
        at = found.end()
    parts.append(Part("text", pattern[at:]))
    return tuple(part for part in parts if part.text)


def asked_for(pattern: str) -> list[Part]:
    """The parts of a pattern that the user has to give."""
    return [part for part in parts_of(pattern) if part.kind != "text"]


def completed(pattern: str, answers: Sequence[str]) -> str:
    """The name of a field: a pattern with an answer in place of each part that is asked for."""
    left = iter(answers)
    return "".join(part.text if part.kind == "text" else next(left) for part in parts_of(pattern))


def takes_several_files(pattern: str, sentence: str) -> bool:
    """Whether a pattern that names one file may be given several, with commas between."""
    return pattern.count("FILE") == 1 and "FILE,FILE" in sentence


def number_titles(pattern: str) -> tuple[str, ...]:
    """What the numbers are that are asked for, in their order."""
    if pattern.startswith("density:"):
        return "From orbital", "To orbital"
    titles = {"homo": "Orbitals below the HOMO", "lumo": "Orbitals above the LUMO", "mo": "Orbital"}
    titles |= dict.fromkeys(SCHEMES, "Localised orbital")
    return (titles.get(re.split(r"[-+:]", pattern)[0], "Excited state"),)


def largest(pattern: str, wavefunction: Wavefunction) -> int:
    """Largest number that a pattern makes sense with for a wavefunction; 0 where there is none."""
    occupied, unoccupied = (len(those) for those in frontier_order(wavefunction, "alpha"))
    if pattern.startswith("homo"):
        return max(occupied - 1, 0)
    if pattern.startswith("lumo"):
        return max(unoccupied - 1, 0)
    if pattern.startswith(("mo:", "density:")):
        return len(wavefunction.alpha)
    for scheme in SCHEMES:
        if pattern.startswith(f"{scheme}:"):
            return 0 if why_not(wavefunction, scheme) else count_of(wavefunction, scheme)[1]
    return len(wavefunction.excitations)
