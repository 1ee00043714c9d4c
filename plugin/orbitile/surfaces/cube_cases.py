"""The cases of marching cubes, as tables in which a kernel looks up the triangles of a cell.

The corners of a cell are numbered 0 to 7: bit c of its *pattern* is set where the value at corner c exceeds the
isovalue. A pattern does not say everything. On a face with two corners above the isovalue, at opposite ends of a
diagonal, and two below, the parts above may be joined or separated, and so may parts inside the cell. E. V. Chernyaev
(CERN CN 95-17, 1995) tells 33 cases apart, T. Lewiner et al. (J. Graph. Tools 2003, 8, 1) tabulate their triangles, and
scikit-image brings these tables as data. Here they are worked up for every outcome of the tests, so that a kernel
makes the tests and nothing else.
"""

from __future__ import annotations

import base64
import importlib
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_FACES = ((0, 4, 5, 1), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 4, 0), (0, 3, 2, 1), (4, 7, 6, 5))
"""Corners of the faces of a cell, one after the other around each; face 1 of the tables comes first."""

# Edges 0 to 11 and the centre of the cell: axis along which an edge runs, and its first point relative to corner 0,
# as axis | k << 2 | j << 3 | i << 4. The last axis of the lattice is the first one of the tables.
_PLACES = (2, 5, 10, 1, 18, 21, 26, 17, 0, 4, 12, 8, 3)

_CENTRE = 12
"""Number of the centre of a cell where the tables have the numbers of edges."""

INTERIOR = 64
"""Flag of a pattern for which the inside of the cell may have to be tested."""


@dataclass(frozen=True, eq=False)
class CubeCases:
    """Tables of the cases.

    Attributes
    ----------
    faces : ndarray of int32, shape (24,)
        Corners of the six faces, one after the other around each.
    tests : ndarray of int32, shape (256,)
        For each pattern: bit f is set where face f is ambiguous, and `INTERIOR` where the inside may be.
    interior : ndarray of int32, shape (256 * 64,)
        For each pattern, times 64, plus the set of ambiguous faces on which the parts above the isovalue are joined:
        what to test inside. 0: nothing. 1: whether they are joined in a plane across the first axis. 2 + place: whether
        they are joined in the plane across an edge, through where the surface meets the edge.
    tiling : ndarray of int32, shape (2 * 256 * 64,)
        For the same, times 2, plus 1 if they are joined inside: where the triangles begin in `corners`, times 32, plus
        twice their number, plus 1 if the centre of the cell is a corner of some.
    corners : ndarray of int32, shape (n,)
        Corners of triangles, as axis | k << 2 | j << 3 | i << 4 of an edge; axis 3 stands for the centre.
    """

    faces: NDArray[np.int32]
    tests: NDArray[np.int32]
    interior: NDArray[np.int32]
    tiling: NDArray[np.int32]
    corners: NDArray[np.int32]


@lru_cache(maxsize=1)
def cube_cases() -> CubeCases:
    """The tables, worked up once."""
    tests = np.array([_ambiguous_faces(pattern) for pattern in range(256)], np.int32)
    interior, tiling = np.zeros(256 * 64, np.int32), np.zeros((256 * 64, 2), np.int32)
    found: dict[_Tiling, int] = {}
    corners: list[int] = []

    def place(rows: _Tiling) -> int:
        """The entry of `tiling` for a row of a table."""
        name, index = rows
        if not name:
            return 0
        edges = _table(name)[index].tolist()
        if rows not in found:
            found[rows] = len(corners)
            corners.extend(_PLACES[edge] for edge in edges)
        return found[rows] << 5 | len(edges) // 3 << 1 | (_CENTRE in edges)

    for pattern in range(256):
        ambiguous = [face for face in range(6) if tests[pattern] >> face & 1]
        for outcome in range(1 << len(ambiguous)):
            joined = {face: outcome >> place & 1 for place, face in enumerate(ambiguous)}
            entry = pattern * 64 + sum(bit << face for face, bit in joined.items())
            kind, apart, together = _resolved(pattern, joined)
            interior[entry] = kind
            tiling[entry] = [place(apart), place(together)]
            if kind:
                tests[pattern] |= INTERIOR
    tables = CubeCases(
        np.array(_FACES, np.int32).reshape(-1), tests, interior, tiling.reshape(-1), np.array(corners, np.int32)
    )
    for array in (tables.faces, tables.tests, tables.interior, tables.tiling, tables.corners):
        array.setflags(write=False)
    return tables


_Tiling = tuple[str, tuple[int, ...]]
"""Name of a table of triangles, and the indices of a row."""

_NOTHING: _Tiling = ("", ())


def _resolved(pattern: int, joined: dict[int, int]) -> tuple[int, _Tiling, _Tiling]:
    """What to test inside a cell, and its triangles where parts are apart and where they are joined there.

    `joined` says for each ambiguous face whether the parts above the isovalue are joined on it.
    """
    case, number = _table("CASES")[pattern].tolist()
    if case == 0:
        return 0, _NOTHING, _NOTHING

    def tests() -> list[int]:
        return [int(code) for code in _table(f"TEST{case}")[number].reshape(-1)]

    def positive(code: int) -> int:
        """Outcome of the test of a face: its number, negative where it asks whether the parts below are joined."""
        return joined[abs(code) - 1] ^ (code < 0)

    def inside(code: int, kind: int, yes: _Tiling, no: _Tiling) -> tuple[int, _Tiling, _Tiling]:
        """Two tilings, by the test inside: a positive code asks whether the parts above are apart."""
        return (kind, yes, no) if code > 0 else (kind, no, yes)

    def only(name: str, *index: int) -> tuple[int, _Tiling, _Tiling]:
        return 0, (name, index), (name, index)

    if case in (3, 4, 6, 7, 10, 12, 13):
        code = tests()
    if case == 3:
        return only("TILING3_2" if positive(code[0]) else "TILING3_1", number)
    if case == 4:
        return inside(code[0], 1, ("TILING4_1", (number,)), ("TILING4_2", (number,)))
    if case == 6:
        if positive(code[0]):
            return only("TILING6_2", number)
        return inside(code[1], 2 + _PLACES[code[2]], ("TILING6_1_1", (number,)), ("TILING6_1_2", (number,)))
    if case == 7:
        outcome = [positive(case) for case in code[:3]]
        if sum(outcome) == 3:
            return inside(code[3], 2 + _PLACES[code[4]], ("TILING7_4_2", (number,)), ("TILING7_4_1", (number,)))
        if sum(outcome) == 2:
            return only("TILING7_3", number, 2 - outcome.index(0))
        if sum(outcome) == 1:
            return only("TILING7_2", number, outcome.index(1))
        return only("TILING7_1", number)
    if case in (10, 12):
        outcome = [positive(case) for case in code[:2]]
        name = f"TILING{case}"
        if outcome == [1, 1]:
            return only(f"{name}_1_1_", number)
        if outcome != [0, 0]:
            return only(f"{name}_2" if outcome[0] else f"{name}_2_", number)
        kind = 1 if case == 10 else 2 + _PLACES[code[3]]
        return inside(code[2], kind, (f"{name}_1_1", (number,)), (f"{name}_1_2", (number,)))
    if case == 13:
        outcome = [positive(case) for case in code[:6]]
        which = int(_table("SUBCONFIG13")[sum(bit << place for place, bit in enumerate(outcome))])
        for first, stop, name in (
            (1, 7, "TILING13_2"),
            (7, 19, "TILING13_3"),
            (19, 23, "TILING13_4"),
            (27, 39, "TILING13_3_"),
            (39, 45, "TILING13_2_"),
        ):
            if first <= which < stop:
                return only(name, number, which - first)
        if 23 <= which < 27:
            row = number, which - 23
            kind = 2 + _PLACES[int(_table("TILING13_5_1")[row][0])]
            return inside(code[6], kind, ("TILING13_5_1", row), ("TILING13_5_2", row))
        if which < 0:  # no values of eight corners have this outcome
            return 0, _NOTHING, _NOTHING
        return only("TILING13_1" if which == 0 else "TILING13_1_", number)
    return only(f"TILING{case}", number)


def _ambiguous_faces(pattern: int) -> int:
    """Set of the faces with two corners above the isovalue at opposite ends of a diagonal."""
    above = [pattern >> corner & 1 for corner in range(8)]
    return sum(
        1 << number
        for number, (a, b, c, d) in enumerate(_FACES)
        if above[a] == above[c] != above[b] and above[b] == above[d]
    )


@lru_cache
def _table(name: str) -> NDArray[np.int8]:
    """A table of scikit-image: they are kept there as a shape and text in base 64."""
    shape, text = getattr(importlib.import_module("skimage.measure._marching_cubes_lewiner_luts"), name)
    return np.frombuffer(base64.decodebytes(text.encode()), np.int8).reshape(shape)
