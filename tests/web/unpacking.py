"""The inverse of `orbitile.scenes.web`, as `unpack.js` has it."""

import base64
import json
import re
import zlib
from functools import cache

import numpy as np


def unpacked(content: bytes) -> dict:
    """A document from its bytes, with arrays in place of their numbers."""
    length = int.from_bytes(content[:4], "little")
    found = json.loads(content[4 : 4 + length])

    def array(number):
        begin, size, kind = found["arrays"][number]
        return np.frombuffer(content, np.dtype("<" + kind), size, 4 + length + begin)

    once = cache(array)
    for slide in found["slides"]:
        for name in ("centres", "radii", "colours", "bonds", "sticks"):
            slide[name] = array(slide[name])
        for mesh in slide["meshes"]:
            places = array(mesh["vertices"]).reshape(-1, 3).cumsum(axis=0, dtype=np.uint16)
            mesh["vertices"] = np.array(mesh["low"]) + np.array(mesh["step"]) * places
            mesh["normals"] = array(mesh["normals"]).reshape(-1, 3).cumsum(axis=0, dtype=np.int8)
            mesh["colours"] = array(mesh["colours"]).reshape(-1, 4)
            mesh["faces"] = _corners(array(mesh["faces"]))
    for given in found["computing"]:
        for name in ("centre", "exponent", "degree", "matrix", "columns", "counts", "unit"):
            given[name] = once(given[name])
        given["planes"] = [once(plane) for plane in given["planes"]]
    found["levels"] = [[once(number) for number in frame] for frame in found["levels"]]
    return found


def _corners(below):
    found, new = [], 0
    for value in below.tolist():
        found.append((new - value) % 2**32)
        new = max(new, found[-1] + 1)
    return np.array(found).reshape(-1, 3)


def documents_in(page: str) -> list[dict]:
    """The documents in the text of a page."""
    coded = re.findall(r'<script[^<>]* type="text/plain">([^<]*)</script>', page)
    return [unpacked(zlib.decompress(base64.b64decode(text))) for text in coded]


def document_in(page: str) -> dict:
    """The document in the text of a page of one."""
    (document,) = documents_in(page)
    return document
