"""Sections of Molden files, and several files one after another in one."""

from __future__ import annotations

import re

from ..errors import OrbitileError


def sections(data: bytes) -> list[tuple[str, int, int]]:
    """Names of the sections in small letters, and where their lines begin and end."""
    headings: list[tuple[str, int, int]] = []  # and where their own lines begin and end
    bracket = data.find(b"[")
    while bracket >= 0:  # an expression would look at every line
        start = data.rfind(b"\n", 0, bracket) + 1
        newline = data.find(b"\n", bracket)
        end = len(data) if newline < 0 else newline + 1
        name, closed, _ = data[bracket + 1 : end].partition(b"]")
        if closed and not data[start:bracket].strip():
            headings.append((name.decode("latin-1").strip().lower(), start, end))
        bracket = data.find(b"[", end)
    ends = [*(start for _, start, _ in headings[1:]), len(data)]
    return [(name, begin, end) for (name, _, begin), end in zip(headings, ends, strict=False)]


def of_both_spins(data: bytes) -> bytes:
    """The file, or one with the orbitals of both spins, of two in one with those of one spin each, as of Molpro.

    Raises
    ------
    OrbitileError
        When several calculations follow one another in the file, or its orbitals are those of spin beta alone.
    """
    found = sections(data)
    spins = _spins(data, found)
    if spins == {b"b"}:
        raise OrbitileError("its orbitals are those of spin beta alone; those of spin alpha are not in the file")
    if [name for name, _, _ in found].count("mo") < 2:
        return data
    starts = [data.rfind(b"[", 0, start) for name, start, _ in found if name == "molden format"]
    if len(starts) < 2:
        raise OrbitileError("it has several sections [MO]; keep the one that is wanted")
    first, second = (data[starts[0] : starts[1]], data[starts[1] :])
    parts = [sections(part) for part in (first, second)]
    if len(starts) == 2 and [_spins(*one) for one in zip((first, second), parts, strict=True)] == [{b"a"}, {b"b"}]:
        same = [
            [part[start:end] for name, start, end in found if name in ("atoms", "gto")]
            for part, found in zip((first, second), parts, strict=True)
        ]
        if same[0] == same[1]:
            (_, alpha), (start, end) = (next(at for name, *at in found if name == "mo") for found in parts)
            return first[:alpha] + second[start:end] + first[alpha:]
    raise OrbitileError(
        f"it is {len(starts)} Molden files one after another; each starts at a line [Molden Format]: keep the one that "
        "is wanted in a file of its own"
    )


def _spins(data: bytes, found: list[tuple[str, int, int]]) -> set[bytes]:
    """First letters of the spins of the orbitals."""
    letters = (re.findall(rb"^[ \t]*spin[ \t]*=[ \t]*([ab])", data[start:end].lower(), re.MULTILINE)
             for name, start, end in found if name == "mo")  # fmt: skip
    return {letter for some in letters for letter in some}
