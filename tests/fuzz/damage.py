"""Damage to bytes, at random but repeatable."""

from __future__ import annotations

import re

import numpy as np

NUMBER = re.compile(rb"[-+]?\d+(?:\.\d*)?(?:[EeDd][-+]?\d+)?")
NUMBERS = [
    word.encode()
    for word in (
        "nan NaN inf -Infinity 1e308 -1.0D+308 1e-308 1e999 1e30 0 -1 2 99999 999999999 -999999999 0.0 ***** 1.0D 1.5 "
        "0x10 1_000 ² 1e1 3.7E-05 -0.0 + . abc 118 119"
    ).split()
] + [b"", b"1 2", b"9" * 19, b"9" * 400, b"9" * 5000]


def mutated(data: bytes, random: np.random.Generator) -> bytes:
    """The file with one piece of damage, or with two or three."""
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        data = DAMAGES[random.integers(len(DAMAGES))](data, random)
    return data


def _place(data: bytes, random: np.random.Generator) -> int:
    """Half of all places are within the first kilobytes, where headers are."""
    return int(random.integers(len(data) + 1 if random.random() < 0.5 else min(len(data), 2000) + 1))


def _flip(data, random):
    if not data:
        return data
    place = min(_place(data, random), len(data) - 1)
    return data[:place] + bytes([data[place] ^ (1 << int(random.integers(8)))]) + data[place + 1 :]


def _junk(data, random):
    place = _place(data, random)
    return data[:place] + random.bytes(int(random.integers(1, 9))) + data[place + int(random.integers(9)) :]


def _delete(data, random):
    place = _place(data, random)
    return data[:place] + data[place + int(10 ** random.uniform(0, 3)) :]


def _repeat(data, random):
    place = _place(data, random)
    piece = data[place : place + int(10 ** random.uniform(0, 3))]
    return data[:place] + piece * int(random.integers(2, 5)) + data[place + len(piece) :]


def _truncate(data, random):
    return data[: _place(data, random)]


def _lines(data, random):
    lines = data.split(b"\n")
    i, j = (int(random.integers(len(lines))) for _ in range(2))
    kind = random.integers(4)
    if kind == 0:
        lines[i], lines[j] = lines[j], lines[i]
    elif kind == 1:
        del lines[i : i + int(random.integers(1, 6))]
    elif kind == 2:
        lines[i:i] = lines[j : j + int(random.integers(1, 6))]
    else:
        lines.insert(i, b"")
    return b"\n".join(lines)


def _number(data, random):
    place = _place(data, random)
    found = NUMBER.search(data, place) or NUMBER.search(data)
    if found is None:
        return data
    old = found[0]
    if random.random() < 0.4:
        new = bytearray(old)
        digit = int(random.integers(len(new)))
        new[digit] = b"0123456789.-+eED "[random.integers(17)]
        replacement = bytes(new)
    else:
        replacement = NUMBERS[random.integers(len(NUMBERS))]
        if random.random() < 0.5:
            replacement = replacement.rjust(len(old))  # columns stay where they are
    return data[: found.start()] + replacement + data[found.end() :]


def _encoding(data, random):
    kind = random.integers(7)
    place = _place(data, random)
    if kind == 0:
        return b"\xef\xbb\xbf" + data
    if kind == 1:
        return data[:place] + "Münster · Å".encode(["utf-8", "utf-16", "cp1252"][random.integers(3)]) + data[place:]
    if kind == 2:
        return data.replace(b"\n", [b"\r", b"\r\n", b"\n\n"][random.integers(3)])
    if kind == 3:
        return data.decode("latin-1").encode("utf-16")
    if kind == 4:
        return data.replace(b" ", b"\t", int(random.integers(1, 100)))
    if kind == 5:
        return b"\n" * int(random.integers(1, 4)) + data
    return data[:place] + b"\0" + data[place:]


DAMAGES = [_flip, _junk, _delete, _repeat, _truncate, _lines, _number, _number, _number, _encoding]
