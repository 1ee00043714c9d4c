"""Names of orbitals in the label file of a job (.46), which NBO 6 and 7 write.

After a line with the sort of the orbitals, their spin where there are two, and their number, names follow in columns of
ten characters: `Li 1(cr)`, `Li 1- H 2`, `Li 1- H 2*`, ` H 2( 1s )`. Core orbitals, lone pairs and bonds are given the
names that NBO prints: `CR (1) Li 1`, `BD (1) Li 1 - H 2`, `BD*(1) Li 1 - H 2`, numbered by the atoms that they are on.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

SORTS = {"NAO": "NAO", "NHO": "NHO", "NBO": "NBO", "NLMO": "NBO"}
"""Names that orbitals have, pre-orthogonal ones like the others: NLMOs those of the bonds that they come from."""

_HEAD = re.compile(r"^\s*(AO|NAO|NHO|NBO)\s+(?:(ALPHA|BETA)\s+)?(\d+)\s*$")
_WIDTH = 10
_ON_ONE = re.compile(r"([A-Z][a-z]?)\s*(\d+)\s*\((cr|lp|lv|ry|val)\)")
_ON_SEVERAL = re.compile(r"([A-Z][a-z]?\s*\d+(?:\s*-\s*[A-Z][a-z]?\s*\d+)+)\s*(\*?)")

_BOND, _THREE_CENTRES = "BD", "3C"


def read_names(path: Path) -> dict[tuple[str, int], tuple[str, ...]]:
    """Names by sort and spin, 0 for alpha or both and 1 for beta; what is cut off or damaged is left out."""
    found: dict[tuple[str, int], tuple[str, ...]] = {}
    head, texts = None, list[str]()
    for line in [*path.read_text(encoding="utf-8", errors="replace").split("\n"), " AO 0"]:
        begins = _HEAD.match(line)
        if begins is None:
            row = line[1:].rstrip()
            texts += [row[n : n + _WIDTH] for n in range(0, len(row), _WIDTH)]
            continue
        if head is not None and len(texts) == int(head[3]):
            found[head[1], int(head[2] == "BETA")] = _printed(texts)
        head, texts = begins, []
    return found


def _printed(texts: list[str]) -> tuple[str, ...]:
    """Names as NBO prints them."""
    serial: Counter[str] = Counter()
    names = []
    for text in texts:
        one, several = _ON_ONE.fullmatch(text.strip()), _ON_SEVERAL.fullmatch(text.strip())
        if one is not None:
            kind, atoms = f"{one[3].upper()} ", f"{one[1]} {one[2]}"
        elif several is not None:
            places = [re.sub(r"([A-Za-z])\s*(\d)", r"\1 \2", part.strip()) for part in several[1].split("-")]
            kind, atoms = (_BOND if len(places) == 2 else _THREE_CENTRES) + (several[2] or " "), " - ".join(places)
        else:
            names.append(" ".join(re.sub(r"\s*([()])\s*", r" \1", text).replace("( ", "(").replace(" )", ")").split()))
            continue
        serial[kind + atoms] += 1
        names.append(f"{kind}({serial[kind + atoms]}) {atoms}")
    return tuple(names)
