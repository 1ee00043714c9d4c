"""Text in whatever encoding it comes, and characters that fonts and file formats lack, in letters: λ₂ is lambda2.

Byte order marks say it; text in UTF-16 or UTF-32 without one is known by its zeros, since most of what programs write
is ASCII. What is none of these nor valid UTF-8 is from before Unicode: Shift-JIS where it has Japanese kana, otherwise
Windows-1252, which has the letters of Latin-1. It is then titles and names that may come out wrong, never numbers.
"""

from __future__ import annotations

import codecs
import re
import unicodedata

_MARKS = (  # that of UTF-32 begins like that of UTF-16
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

_WIDE = (("utf-32-le", 4, 0), ("utf-32-be", 4, 3), ("utf-16-le", 2, 0), ("utf-16-be", 2, 1))
"""Encoding, bytes of a character, and the place of the byte that is not zero in one of ASCII."""

_SHORTEST = 4
"""Characters by which an encoding without a mark is known, at least."""

_ZEROS = 0.7
"""Part of the other bytes that are zero then, at least."""

_KANA = re.compile("[\u3041-\u30fe]")
_UNPRINTABLE = re.compile("[\0-\x08\x0e-\x1f\x7f\ufffd]")
_LOOKED_AT = 4096


def unicode_encoding(head: bytes) -> str:
    """Encoding of a file that is not in UTF-8 by its first bytes: UTF-8 with a mark, UTF-16, UTF-32, or none."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            # binary numbers may begin like a mark
            return encoding if "\0" not in head.decode(encoding, "replace") else ""
    head = head[: min(len(head), _LOOKED_AT) // 4 * 4]
    for encoding, width, place in _WIDE:
        others = [head[n::width] for n in range(width) if n != place]
        zeros = sum(part.count(0) for part in others)
        if len(head) < _SHORTEST * width or zeros < _ZEROS * len(head) * (width - 1) / width:
            continue
        if not _UNPRINTABLE.search(head.decode(encoding, "replace")):
            return encoding
    return ""


def is_binary(head: bytes) -> bool:
    """Whether a file of such a beginning is no text."""
    return b"\0" in head and not unicode_encoding(head)


def text_of(data: bytes) -> str:
    """Text in UTF-8, or in what it is in otherwise. All line ends become line feeds.

    Two carriage returns before a line feed, which come of a conversion done twice, are one line end.
    """
    text = _decoded(data)
    return text.replace("\r\r\n", "\n").replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def beginning_of_text(data: bytes) -> str:
    """The same of the first bytes of a file, which may end within a character."""
    encoding = unicode_encoding(data) or "utf-8"
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        text = decoder.decode(data)  # not final: what is cut off at the end is left out
    except UnicodeDecodeError:
        return text_of(data)
    return text_of(text.encode())


def _decoded(data: bytes) -> str:
    encoding = unicode_encoding(data[:_LOOKED_AT]) or "utf-8"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        if encoding != "utf-8":
            return data.decode(encoding, "replace")
    try:
        japanese = data.decode("cp932")
        if _KANA.search(japanese):
            return japanese
    except UnicodeDecodeError:
        pass
    return data.decode("cp1252", "replace")


_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_POWERS = {"²": "^2", "³": "^3"}


def in_words(text: str) -> str:
    """Text with names in place of Greek letters and ∇: sign(lambda₂)rho."""
    return "".join("del " if character == "∇" else _greek(character) for character in text)


def plain(text: str) -> str:
    """Text in words, and with indices and powers in line: sign(lambda2)rho, r^2."""
    return "".join(_POWERS.get(character, character) for character in in_words(text).translate(_DIGITS))


def _greek(character: str) -> str:
    """Name of a Greek letter ("alpha"); any other character as it is."""
    name = unicodedata.name(character, "")
    if not name.startswith("GREEK "):
        return character
    letter = name.split()[-1].replace("LAMDA", "LAMBDA")  # as Unicode spells it
    return letter.capitalize() if "CAPITAL" in name else letter.lower()
